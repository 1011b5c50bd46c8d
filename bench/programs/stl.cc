// SPDX-License-Identifier: MIT
// C++ containers, strings, virtual calls, std::function and exceptions.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

uint32_t state = 12345;

uint32_t next()
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
};

struct Square : Shape {
	double side;
	explicit Square(double s) : side(s)
	{
	}
	double area() const override
	{
		return side * side;
	}
};

struct Disc : Shape {
	double radius;
	explicit Disc(double r) : radius(r)
	{
	}
	double area() const override
	{
		return 3.0 * radius * radius;
	}
};

int checked(uint32_t v)
{
	if (v % 16 == 0)
		throw std::runtime_error("value " + std::to_string(v % 1000));
	return static_cast<int>(v & 15);
}

uint64_t words(int n)
{
	std::map<std::string, int> ordered;
	std::unordered_map<std::string, int> hashed;
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		std::string w = "w" + std::to_string(next() % 5000);
		ordered[w]++;
		hashed[w + "x"] += i & 3;
	}
	for (const auto &[w, count] : ordered)
		sum = sum * 31 + w.size() * count + hashed[w + "x"];
	return sum;
}

uint64_t sorting(int n)
{
	std::vector<std::pair<uint32_t, std::string>> v;
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		v.emplace_back(next() % 1000, std::to_string(next()));
	std::sort(v.begin(), v.end(), [](const auto &a, const auto &b) {
		return a.first != b.first ? a.first < b.first : a.second < b.second;
	});
	for (size_t i = 0; i < v.size(); i++)
		sum = sum * 33 + v[i].second[0] + i * v[i].first;
	return sum;
}

double shapes(int n)
{
	std::vector<std::unique_ptr<Shape>> v;
	std::function<double(const Shape &)> f = [](const Shape &s) { return s.area() / 2; };
	double sum = 0;

	for (int i = 0; i < n; i++) {
		if (next() & 1)
			v.push_back(std::make_unique<Square>(i % 10));
		else
			v.push_back(std::make_unique<Disc>(i % 7));
	}
	for (int round = 0; round < 20; round++)
		for (const auto &s : v)
			sum += f(*s);
	return sum;
}

uint64_t exceptions(int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			sum += checked(next());
		} catch (const std::exception &e) {
			sum = sum * 3 + std::string(e.what()).size();
		}
	}
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < n; i++)
		printf("%llu %llu %.1f %llu\n", static_cast<unsigned long long>(words(20000)),
		       static_cast<unsigned long long>(sorting(20000)), shapes(20000),
		       static_cast<unsigned long long>(exceptions(20000)));
	return 0;
}
