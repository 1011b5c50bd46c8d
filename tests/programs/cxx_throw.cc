// SPDX-License-Identifier: MIT
/*
 * C++ exceptions: through frames with destructors, rethrown, nested, caught by base class, through
 * a callback of qsort, and with an argument in a thread too (whose join waits or not by chance).
 * The unwinder reads return addresses on the stack, so these must be the program's own.
 */
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int destroyed;

struct Guard {
	int id;
	explicit Guard(int i) : id(i)
	{
	}
	~Guard()
	{
		destroyed++;
	}
};

struct Base {
	virtual ~Base()
	{
	}
	virtual int code() const
	{
		return 1;
	}
};

struct Derived : Base {
	int code() const override
	{
		return 2;
	}
};

static void fail(const char *what)
{
	std::printf("wrong: %s\n", what);
	std::exit(1);
}

static int __attribute__((noinline)) descend(int depth)
{
	Guard guard(depth);

	if (depth == 0)
		throw std::runtime_error("bottom");
	return descend(depth - 1) + guard.id;
}

static void deep()
{
	destroyed = 0;
	try {
		descend(50);
		fail("nothing was thrown");
	} catch (const std::exception &e) {
		if (std::string(e.what()) != "bottom")
			fail("another exception");
	}
	if (destroyed != 51)
		fail("destructors were skipped");
}

static int rethrown(int depth)
{
	try {
		if (depth == 0)
			throw Derived();
		return rethrown(depth - 1);
	} catch (Derived &) {
		throw;
	}
}

static void by_base()
{
	try {
		rethrown(10);
	} catch (Base &b) {
		if (b.code() != 2)
			fail("sliced");
		return;
	}
	fail("not caught by base class");
}

static int throws_at_77(const void *a, const void *b)
{
	int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);

	if (x == 77 || y == 77)
		throw 77;
	return x - y;
}

static void through_c()
{
	std::vector<int> numbers;

	for (int i = 0; i < 100; i++)
		numbers.push_back(i * 7919 % 101);
	try {
		std::qsort(numbers.data(), numbers.size(), sizeof(int), throws_at_77);
	} catch (int i) {
		if (i != 77)
			fail("another int");
		return;
	}
	fail("nothing came through qsort");
}

static void nested()
{
	try {
		try {
			throw std::logic_error("inner");
		} catch (...) {
			std::throw_with_nested(std::runtime_error("outer"));
		}
	} catch (const std::exception &e) {
		try {
			std::rethrow_if_nested(e);
			fail("nothing nested");
		} catch (const std::logic_error &inner) {
			if (std::string(inner.what()) != "inner")
				fail("another nested exception");
		}
	}
}

static void in_thread()
{
	std::exception_ptr seen;
	std::thread thread([&] {
		try {
			descend(20);
		} catch (...) {
			seen = std::current_exception();
		}
	});

	thread.join();
	try {
		std::rethrow_exception(seen);
	} catch (const std::runtime_error &) {
		return;
	}
	fail("the thread's exception");
}

int main(int argc, char **)
{
	for (int i = 0; i < 2; i++) {
		deep();
		by_base();
		through_c();
		nested();
	}
	if (argc > 1)
		in_thread();
	std::printf("cxx_throw: ok\n");
	return 0;
}
