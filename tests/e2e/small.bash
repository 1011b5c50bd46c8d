# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Real programs that are small and tell much (tests/e2e/small_programs.sh, more_programs.long.sh): programs with a
# sanitizer in them, tools that trace or translate a program, stacks that programs switch themselves, a collector that
# stops threads by signals, rings of the kernel's, linkers and packers, namespaces.  To be read after twice.bash.

# What differs from run to run in what tools print: process ids, addresses, folders of the runtime's sources.
heavy=0 # 1: with what takes long
steady='s/==[0-9]+==/==PID==/g; s/\(?pid=[0-9]+\)?/PID/g; s/0x[0-9a-f]{4,}/ADDR/g; s/\[pid +[0-9]+\]/[pid]/; s/Build(I|i)d: [0-9a-f]+//'

# once COMPILER...: makes a of a.cc, where the same was not made for the run before
once()
{
	cmp -s a.cc "$tmp/once.cc" || { "$@" && cp a "$tmp/once" && cp a.cc "$tmp/once.cc"; } || return
	cp "$tmp/once" a
}

# sanitized SANITIZER COMPILER: a.c, built with it, and run.sh
sanitized()
{
	"$2" -g -O1 -pthread -fno-omit-frame-pointer -fsanitize="$1" -o a a.c || return
	cat >run.sh <<-END
	for i in 0 1 2; do ./a \$i >out 2>err; echo "\$i: \$?"; sed -E '$steady' out err | grep -v '^ *$'; done; rm -f out err
	END
}

asan_program()
{
	cat >a.c <<-'END'
	#include <pthread.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	static char *kept;
	static void *frees(void *p) { free(p); return NULL; }
	int main(int argc, char **argv)
	{
		pthread_t t;
		char *p = malloc(100), on_stack[10];
		int n = atoi(argv[1]);
		(void)argc;
		memset(p, 1, 100);
		kept = p;
		pthread_create(&t, NULL, frees, n == 1 ? p : malloc(5));
		pthread_join(t, NULL);
		memset(on_stack, 2, 10);
		printf("%d\n", kept[5] + on_stack[n == 2 ? 10 + n : 3]);
		if (n != 1)
			free(p);
		return 0;
	}
	END
	sanitized address "${1:-gcc}"
}

lsan_program()
{
	cat >a.c <<-'END'
	#include <pthread.h>
	#include <semaphore.h>
	#include <stdio.h>
	#include <stdlib.h>
	/* what a thread holds in a register or on its stack while it waits is no leak */
	static sem_t ready, never;
	static void *holds(void *arg)
	{
		char *p = malloc(77);
		sem_post(&ready);
		sem_wait(&never);
		printf("%s%p", p, arg);
		return NULL;
	}
	static __attribute__((noinline)) void leak(int n)
	{
		for (volatile int i = 0; i < n; i++)
			*(char *volatile *)&(char *){ malloc(1000 + i) } = NULL;
	}
	static __attribute__((noinline)) void scrub(void)
	{
		volatile char room[8192];
		for (unsigned i = 0; i < sizeof(room); i++)
			room[i] = 0;
	}
	int main(int argc, char **argv)
	{
		pthread_t t;
		(void)argc;
		for (int i = 0; i < 3; i++) {
			pthread_create(&t, NULL, holds, malloc(33));
			sem_wait(&ready);
		}
		leak(atoi(argv[1]));
		scrub();
		printf("leaks %s\n", argv[1]);
		return 0;
	}
	END
	sanitized leak "${1:-gcc}"
}

tsan_program()
{
	cat >a.c <<-'END'
	#include <pthread.h>
	#include <signal.h>
	#include <stdio.h>
	#include <stdlib.h>
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int n, total;
	static volatile int got;
	static void on(int sig) { got = sig; }
	static void *adds(void *arg)
	{
		for (int i = 0; i < 2000; i++) {
			if (n != 1)
				pthread_mutex_lock(&lock);
			total += arg != NULL;
			if (n != 1)
				pthread_mutex_unlock(&lock);
		}
		return NULL;
	}
	int main(int argc, char **argv)
	{
		pthread_t t[3];
		(void)argc;
		n = atoi(argv[1]);
		signal(SIGUSR1, on);
		raise(SIGUSR1);
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, adds, &lock);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		printf("%s %d\n", n == 1 ? "raced" : "locked", n == 1 ? got : total);
		if (n == 2)
			pthread_mutex_unlock(&lock);
		return 0;
	}
	END
	sanitized thread "${1:-gcc}" || return
	# how often a race is seen, and between which of the threads, is chance; that it is seen is not
	cat >run.sh <<-'END'
	for i in 0 1 2; do setarch -R ./a $i >out 2>err; echo "$i: $?"; cat out; grep -o 'WARNING: .*(' err | sort -u; done; rm -f out err
	END
}

msan_program()
{
	cat >a.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	int main(int argc, char **argv)
	{
		int *p = malloc(40), n = atoi(argv[1]);
		(void)argc;
		if (n != 1)
			memset(p, 0, n == 2 ? 12 : 40);
		if (p[3])
			puts("set");
		printf("%d\n", n);
		free(p);
		return 0;
	}
	END
	sanitized memory clang
}

ubsan_program()
{
	cat >a.c <<-'END'
	#include <limits.h>
	#include <stdio.h>
	#include <stdlib.h>
	int main(int argc, char **argv)
	{
		int n = atoi(argv[1]), a[4] = { 1, 2, 3, 4 };
		printf("%d\n", INT_MAX - 1 + n);
		printf("%d\n", a[(argc + n) % 3] << (31 + (n == 1)));
		return n;
	}
	END
	sanitized undefined "${1:-gcc}"
}

# traced_program: a, which has threads, a child, a handler and a file
traced_program()
{
	cat >a.c <<-'END'
	#include <pthread.h>
	#include <signal.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/wait.h>
	#include <unistd.h>
	int watched;
	static void on(int sig) { watched += sig; }
	static int leaf(int n)
	{
		watched = n;
		return n * 3;
	}
	static void *work(void *arg)
	{
		return (char *)arg + leaf(4);
	}
	int main(void)
	{
		pthread_t t;
		int st;
		FILE *f = fopen("made", "w");
		signal(SIGUSR1, on);
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
		raise(SIGUSR1);
		if (fork() == 0)
			_exit(leaf(2));
		wait(&st);
		fprintf(f, "%d %d\n", watched, WEXITSTATUS(st));
		fclose(f);
		execl("/bin/echo", "echo", "from exec", NULL);
		return 1;
	}
	END
	gcc -g -O0 -no-pie -pthread -o a a.c
}

valgrind_of()
{
	traced_program || return
	cat >b.c <<-'END'
	#include <stdlib.h>
	#include <stdio.h>
	int main(void) { int *p = malloc(40); if (p[2] == 3) puts("three"); p[10] = 1; p = NULL; return p != NULL; }
	END
	gcc -g -O0 -o b b.c
	cat >run.sh <<-END
	valgrind -q --tool=none --trace-children=yes ./a; echo "none \$?"; cat made
	valgrind --tool=callgrind --callgrind-out-file=cg /bin/true 2>err; echo "callgrind \$?"; grep -c Collected err; rm -f cg err
	$([ "$heavy" = 1 ] || echo exit 0)
	valgrind -q --leak-check=full --error-exitcode=9 ./b 2>err; echo "memcheck \$?"; sed -E '$steady' err
	valgrind -q --tool=helgrind --error-exitcode=9 ./a >out 2>&1; echo "helgrind \$?"; cat made; rm -f out err
	END
}

gdb_of()
{
	traced_program || return
	cat >cmds <<-'END'
	set pagination off
	set confirm off
	set debuginfod enabled off
	break leaf
	run
	printf "n is %d\n", n
	bt 2
	info breakpoints
	delete
	watch watched
	continue
	delete
	catch signal SIGUSR1
	continue
	p watched
	stepi
	p $_siginfo.si_signo
	delete
	break on
	continue
	finish
	p watched
	call leaf(100)
	set var watched = 7
	catch fork
	continue
	delete
	set follow-fork-mode parent
	continue
	END
	cat >run.sh <<-'END'
	gdb -nx -q -batch -x cmds ./a >out 2>&1; echo "gdb $?"; cat made
	sed -E 's/0x[0-9a-f]{5,}/ADDR/g; s/(LWP|process|Thread) [0-9a-z]+/\1/g; s/\(LWP [0-9]+\)//; s/(\.\.|\.\/)[^ ]*sysdeps[^ ]*/FILE/g' out | grep -vE '^\[(New|Thread|Switching|Inferior|Detaching)|warning|^Using host'
	rm -f out
	END
}

strace_of()
{
	traced_program || return
	cat >run.sh <<-END
	exec 3>&- 4>&- 5>&- # perf leaves one open
	strace -f -o log -e trace=openat,write,exit_group,execve,wait4,kill,tgkill ./a; echo "strace \$?"; cat made
	# who runs beside whom is chance
	awk '/<unfinished/ { sub(/ *<unfinished.*/, ""); begun[\$1] = \$0; next }
		/ resumed>/ { rest = \$0; sub(/.* resumed>/, "", rest); \$0 = begun[\$1] rest } 1' log |
		sed -E 's/^[0-9]+ +//; $steady; s/[0-9]{2,}/N/g; s/, */, /g; s/\) += /) = /' | grep -v SIGCHLD | sort
	strace -f -c -o log -U name,calls /bin/true; echo "counts \$?"; grep -cE '[a-z]' log; awk '{ print \$1, \$2 }' log | sort
	strace -qq -e inject=openat:error=EACCES:when=3 -o log cat made; echo "injected \$?"
	strace -qq -e trace=none -e signal=USR1 -f -o log ./a; sed -E 's/^[0-9]+ +//; s/si_pid=[0-9]+/PID/' log | grep USR1; rm -f log
	END
}

coroutines_program()
{
	cat >a.cc <<-'END'
	#include <coroutine>
	#include <cstdio>
	#include <exception>
	#include <stdexcept>
	#include <thread>
	#include <vector>
	template <typename T> struct generator {
		struct promise_type {
			T value; std::exception_ptr what;
			generator get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
			std::suspend_always initial_suspend() { return {}; }
			std::suspend_always final_suspend() noexcept { return {}; }
			std::suspend_always yield_value(T v) { value = v; return {}; }
			void return_void() {}
			void unhandled_exception() { what = std::current_exception(); }
		};
		std::coroutine_handle<promise_type> h;
		bool next() { h.resume(); if (h.promise().what) std::rethrow_exception(h.promise().what); return !h.done(); }
		~generator() { if (h) h.destroy(); }
		generator(std::coroutine_handle<promise_type> c) : h(c) {}
		generator(generator &&o) : h(o.h) { o.h = nullptr; }
	};
	struct task {
		struct promise_type {
			long value; std::coroutine_handle<> then = std::noop_coroutine();
			task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
			std::suspend_always initial_suspend() { return {}; }
			struct last {
				bool await_ready() noexcept { return false; }
				std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> c) noexcept { return c.promise().then; }
				void await_resume() noexcept {}
			};
			last final_suspend() noexcept { return {}; }
			void return_value(long v) { value = v; }
			void unhandled_exception() { std::terminate(); }
		};
		std::coroutine_handle<promise_type> h;
		bool await_ready() { return false; }
		std::coroutine_handle<> await_suspend(std::coroutine_handle<> c) { h.promise().then = c; return h; }
		long await_resume() { long v = h.promise().value; h.destroy(); return v; }
	};
	static generator<long> numbers(long n) { for (long i = 0; i < n; i++) co_yield i; throw std::runtime_error("the end"); }
	static task fib(long n) { if (n < 2) co_return n; long a = co_await fib(n - 1); co_return a + co_await fib(n - 2); }
	int main()
	{
		long sum = 0;
		auto g = numbers(50000);
		try { while (g.next()) sum += g.h.promise().value; } catch (std::runtime_error &e) { std::puts(e.what()); }
		std::vector<std::thread> ts; std::vector<generator<long>> gs; long sums[3] = {};
		for (int i = 0; i < 3; i++) { gs.push_back(numbers(9000)); for (int j = 0; j < 10; j++) gs[i].next(); }
		for (int i = 0; i < 3; i++) ts.emplace_back([&, i] { for (int j = 0; j < 5000; j++) { gs[i].next(); sums[i] += gs[i].h.promise().value; } });
		for (auto &t : ts) t.join();
		task t = fib(16); t.h.resume();
		std::printf("%ld %ld %ld %ld\n", sum, sums[0], sums[2], t.h.promise().value);
		t.h.destroy(); return 4;
	}
	END
	once g++ -std=c++20 -O2 -pthread -o a a.cc
}

context_program()
{
	cat >a.cc <<-'END'
	#include <boost/context/fiber.hpp>
	#include <boost/context/protected_fixedsize_stack.hpp>
	#include <cstdio>
	#include <stdexcept>
	#include <thread>
	namespace ctx = boost::context;
	static long run(int n)
	{
		long got = 0, value = 0;
		ctx::fiber f{ std::allocator_arg, ctx::protected_fixedsize_stack(65536), [&](ctx::fiber &&main) {
			for (int i = 0; i < n; i++) {
				try { if (i % 1000 == 0) throw std::runtime_error("inside"); value = i; }
				catch (std::exception &) { value = -1; }
				main = std::move(main).resume();
			}
			return std::move(main);
		} };
		while (f) { f = std::move(f).resume(); got += value; }
		return got;
	}
	int main()
	{
		long a = 0, b = 0;
		std::thread t([&] { a = run(30000); });
		b = run(20000); t.join();
		ctx::fiber f{ [](ctx::fiber &&m) { m = std::move(m).resume_with([](ctx::fiber &&x) { std::puts("on main"); return std::move(x); }); return std::move(m); } };
		f = std::move(f).resume();
		std::printf("%ld %ld\n", a, b); return 5;
	}
	END
	once g++ -std=c++17 -O2 -pthread -o a a.cc -lboost_context
}

uring_program()
{
	cat >a.c <<-'END'
	#include <fcntl.h>
	#include <liburing.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/socket.h>
	#include <unistd.h>
	static void go(struct io_uring *ring, const char *name, int n)
	{
		struct io_uring_cqe *cqe;
		io_uring_submit(ring);
		for (long sum = 0; n > 0; n--) {
			io_uring_wait_cqe(ring, &cqe);
			sum += cqe->res;
			io_uring_cqe_seen(ring, cqe);
			if (n == 1)
				printf("%s %ld\n", name, sum);
		}
	}
	static int all(unsigned flags)
	{
		struct io_uring ring;
		struct io_uring_sqe *s;
		struct __kernel_timespec ts = { .tv_nsec = 1000000 };
		char buf[4096], in[4096] = "";
		int fd, sv[2], st = io_uring_queue_init(64, &ring, flags);
		printf("ring %d\n", st);
		if (st)
			return st;
		memset(buf, 'x', sizeof(buf));
		fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (int i = 0; i < 16; i++)
			io_uring_prep_write(io_uring_get_sqe(&ring), fd, buf, sizeof(buf), i * 4096);
		go(&ring, "write", 16);
		io_uring_register_buffers(&ring, &(struct iovec){ in, sizeof(in) }, 1);
		io_uring_register_files(&ring, &fd, 1);
		s = io_uring_get_sqe(&ring);
		io_uring_prep_read_fixed(s, 0, in, sizeof(in), 4096, 0);
		s->flags |= IOSQE_FIXED_FILE;
		go(&ring, "read fixed", 1);
		printf("%d\n", memcmp(in, buf, sizeof(in)));
		s = io_uring_get_sqe(&ring);
		io_uring_prep_nop(s);
		s->flags |= IOSQE_IO_LINK;
		io_uring_prep_fsync(io_uring_get_sqe(&ring), fd, 0);
		go(&ring, "linked", 2);
		io_uring_prep_timeout(io_uring_get_sqe(&ring), &ts, 0, 0);
		go(&ring, "timeout", 1);
		socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
		io_uring_prep_recv(io_uring_get_sqe(&ring), sv[0], in, 100, 0);
		io_uring_prep_send(io_uring_get_sqe(&ring), sv[1], "hello", 5, 0);
		go(&ring, "recv", 2);
		io_uring_prep_openat(io_uring_get_sqe(&ring), AT_FDCWD, "nowhere", O_RDONLY, 0);
		go(&ring, "open", 1);
		printf("%.5s\n", in);
		close(fd);
		io_uring_queue_exit(&ring);
		return 0;
	}
	int main(void)
	{
		all(0);
		all(IORING_SETUP_SQPOLL);
		return 0;
	}
	END
	gcc -O2 -o a a.c -luring
}

gc_program()
{
	cat >a.c <<-'END'
	#define GC_THREADS
	#include <gc.h>
	#include <pthread.h>
	#include <stdio.h>
	struct node { struct node *next; long value; char room[48]; };
	static void *work(void *arg)
	{
		long sum = 0, n = (long)arg;
		for (int round = 0; round < 20; round++) {
			struct node *list = NULL;
			for (long i = 0; i < 1500; i++) {
				struct node *p = GC_MALLOC(sizeof(*p));
				*p = (struct node){ list, i * n, "" };
				list = p;
			}
			for (; list; list = list->next)
				sum += list->value;
		}
		return (void *)sum;
	}
	int main(void)
	{
		pthread_t t[4];
		void *sum;
		GC_INIT();
		for (long i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, work, (void *)(i + 1));
		for (int i = 0; i < 4; i++) {
			pthread_join(t[i], &sum);
			printf("%ld\n", (long)sum);
		}
		GC_gcollect();
		printf("collected %d\n", GC_get_gc_no() > 2);
		return 6;
	}
	END
	gcc -O2 -pthread -o a a.c -lgc
}

# linked LINKER: objects with C++ exceptions through a library, thread locals and constructors
linked()
{
	cat >lib.cc <<-'END'
	#include <stdexcept>
	thread_local int mine = 5;
	int thrower(int n) { mine += n; if (n > 3) throw std::out_of_range("big"); return mine; }
	END
	cat >a.cc <<-'END'
	#include <cstdio>
	#include <stdexcept>
	#include <thread>
	extern thread_local int mine;
	int thrower(int);
	static struct early { early() { std::puts("constructed"); } ~early() { std::puts("destroyed"); } } early;
	__attribute__((target_clones("avx2", "default"))) static int clones(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }
	int main()
	{
		std::thread t([] { std::printf("%d\n", thrower(1)); }); t.join();
		try { thrower(2); thrower(4); } catch (std::out_of_range &e) { std::printf("%s %d %d\n", e.what(), mine, clones(100)); }
		return 7;
	}
	END
	cat >run.sh <<-END
	g++ -O2 -fPIC -shared -fuse-ld=$1 -o lib.so lib.cc && g++ -O2 -pthread -fuse-ld=$1 -Wl,-rpath,. -o a a.cc ./lib.so; echo "dynamic \$?"; ./a; echo "\$?"
	g++ -O2 -pthread -static -fuse-ld=$1 -o b a.cc lib.cc; echo "static \$?"; ./b; echo "\$?"
	[ $1 = gold ] || { g++ -O2 -pthread -static-pie -fPIE -fuse-ld=$1 -o c a.cc lib.cc; echo "static pie \$?"; ./c; echo "\$?"; md5sum c; }
	md5sum lib.so a b
	END
}

mold_linked()
{
	linked mold
}

gold_linked()
{
	linked gold
}

upx_packed()
{
	cp /bin/ls packed && upx -q -q packed && cp "$(command -v busybox)" box && upx -q -q box
	printf './packed -1 /usr | head -n 3; echo "${PIPESTATUS[0]}"; ./packed /nowhere; echo "$?"; ./box echo packed\n' >run.sh
}

bwrap_box()
{
	cat >run.sh <<-'END'
	bwrap --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --unshare-all --die-with-parent --hostname box --clearenv --setenv A 1 \
		sh -c 'echo "$$ $A"; hostname 2>/dev/null || uname -n; ls /proc | grep -c "^[0-9]"; touch /etc/x; ls /tmp; ip addr 2>/dev/null | grep -c eth; exit 11'
	echo "box $?"; bwrap --ro-bind / / --dev /dev --unshare-pid --proc /proc sh -c 'sleep 100 & kill -9 $!; wait $!; echo "killed $?"; echo $$'; echo "box $?"
	bwrap --ro-bind / / --bind . /mnt --chdir /mnt --uid 7 --unshare-user sh -c 'id -u; echo in >here'; cat here; bwrap --bind /nowhere / true; echo "wrong $?"
	END
}

apt_folder()
{
	mkdir -p repo pkg/DEBIAN pkg/usr/share/counted a/lists/partial a/cache/archives/partial a/etc/apt.conf.d a/etc/preferences.d root/var/lib/dpkg/updates root/var/lib/dpkg/info
	: >root/var/lib/dpkg/status
	printf 'Package: counted\nVersion: 1.2\nArchitecture: all\nMaintainer: Nobody <a@b.c>\nDescription: a package\n' | tee pkg/DEBIAN/control >control
	echo data >pkg/usr/share/counted/data
	printf '#!/bin/sh\necho "postinst $1"\n' >pkg/DEBIAN/postinst && chmod 755 pkg/DEBIAN/postinst
	cat >run.sh <<-'END'
	export SOURCE_DATE_EPOCH=0; dpkg-deb --root-owner-group -b pkg repo/counted.deb; echo "build $?"
	(cat control; echo "Filename: ./counted.deb"; echo "Size: $(stat -c %s repo/counted.deb)"; echo "SHA256: $(sha256sum <repo/counted.deb | cut -d' ' -f1)"; echo) >repo/Packages
	echo "deb [trusted=yes] file:$PWD/repo ./" >a/etc/sources.list
	o="-q -o Dir::Etc=$PWD/a/etc -o Dir::State=$PWD/a -o Dir::State::status=$PWD/root/var/lib/dpkg/status -o Dir::Cache=$PWD/a/cache -o APT::Sandbox::User= -o Dpkg::Use-Pty=0 -o Dir::Log=$PWD/a -o APT::Architecture=amd64"
	apt-get $o update 2>&1 | grep -E '^(Reading|E:)'; echo "update ${PIPESTATUS[0]}"; apt-cache $o policy counted; apt-get $o -s install counted | grep -E '^(Inst|Conf)'
	apt-get $o install nothing 2>&1 | tail -n 1; cd a && apt-get $o download counted >/dev/null 2>&1; echo "download $?"; ls *.deb; cd ..
	dpkg-deb -c repo/counted.deb | awk '{ print $1, $6 }'; dpkg-deb -x repo/counted.deb out && cat out/usr/share/counted/data; rm -rf a repo root out pkg
	END
}

# tracers: also in a session, under the system's perf, where the debuggers' tasks are those that counters are opened on
tracers()
{
	both_if "valgrind" "valgrind of a program$1" 0 valgrind_of bash run.sh
	both_if "gdb" "gdb of a program: breakpoints, watchpoints, calls$1" 0 gdb_of bash run.sh
	both_if "strace" "strace of a program: threads, faults injected$1" 0 strace_of bash run.sh
}

sanitizers()
{
	local lib
	lib=$(dirname "$(gcc -print-file-name=libasan.so)")
	both_if "$lib/libasan.so" "a program with AddressSanitizer" 0 asan_program bash run.sh
	both_if "$lib/liblsan.so" "a program with LeakSanitizer" 0 lsan_program bash run.sh
	both_if "$lib/libtsan.so" "a program with ThreadSanitizer" 0 tsan_program bash run.sh
	both_if "$lib/libubsan.so" "a program with UndefinedBehaviorSanitizer" 0 ubsan_program bash run.sh
}

# what is quick, and needs a compiler and small libraries alone
stacks_and_rings()
{
	both_if "g++" "C++20 coroutines" 4 coroutines_program ./a
	both_if "/usr/include/liburing.h" "liburing: buffers, links, SQPOLL" 0 uring_program ./a
	both_if "/usr/include/gc.h" "bdwgc: threads stopped by signals" 6 gc_program ./a
	both_if "apt-get dpkg-deb" "apt and dpkg-deb in a folder of their own" 0 apt_folder bash run.sh
}

# the rest
packed_and_boxed()
{
	both_if "/usr/include/boost/context/fiber.hpp" "boost.context: fibers, exceptions" 5 context_program ./a
	both_if "ld.gold" "ld.gold: dynamic, static" 0 gold_linked bash run.sh
	both_if "clang" "a program with MemorySanitizer" 0 msan_program bash run.sh
	both_if "mold" "mold: dynamic, static, static PIE" 0 mold_linked bash run.sh
	both_if "upx" "upx: packed programs" 0 upx_packed bash run.sh
	both_if "bwrap" "bubblewrap: namespaces" 0 bwrap_box bash run.sh
}

small_programs()
{
	# shellcheck disable=SC2034
	heavy=1
	sanitizers
	stacks_and_rings
	packed_and_boxed
	tracers ""
	if [ "${AP_TWICE:-}" != session ] && command -v perf >/dev/null; then
		# shellcheck disable=SC2034
		counted=("$ANYPERF" run -- perf stat)
		tracers ", in a session"
		# shellcheck disable=SC2034
		counted=("$ANYPERF" stat)
	fi
}
