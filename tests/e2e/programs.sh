#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Real programs behave counted as they do natively: same stdout, stderr, exit status and files.
# Each runs twice in a folder of the same name, once natively and once under `anyperf stat`.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/twice.bash
. "$(dirname "$0")/twice.bash"

coreutils()
{
	text
	cat >run.sh <<-'END'
	set -eu
	mkdir -p a/b && cp text a/b/copy && ln -s b/copy a/link && ln a/b/copy a/hard
	chmod 640 a/b/copy && mv a/hard a/moved && ls -1RF a && stat -c '%n %s %a %h' a/b/copy
	sort -k1,1n -k2 text | uniq -c -w 3 | head -n 5 || :
	cut -d' ' -f2 text | tr a-z A-Z | paste -sd, - | fold -w 60 | tail -n 2
	wc text && md5sum text && sha512sum text && cksum text && b2sum text
	split -l 5000 text part. && cat part.* | cmp - text
	seq 1 3 100 | tac | nl | expand | od -c | head -n 4
	join <(sort text | head -n 50) <(sort text | head -n 50) | wc -l
	comm -12 <(sort text) <(sort -r text | sort) | wc -l
	dd if=text of=dd bs=777 skip=3 count=9 status=none && base64 dd | md5sum
	shuf --random-source=text text | md5sum && factor 1234567890123 && numfmt --to=iec 123456
	truncate -s 1000000 sparse && du --apparent-size -b sparse && date -u -d @0 +%F
	printf '%s %05d %q\n' a 7 'b c' && env -i A=1 env && expr 6 '*' 7 && test -f text
	rm -r a && touch -d @100 stamp && readlink -f . >/dev/null && echo done | tee tee
	ls nowhere
	END
}

bash_jobs()
{
	cat >run.sh <<-'END'
	set -u
	trap 'echo exit trap' EXIT
	trap 'echo usr1 >>log' USR1
	trap 'echo term in child; exit 7' TERM
	f() { local i; for ((i = 0; i < $1; i++)); do :; done; echo "f $1"; }
	for i in 1 2 3; do (f $((i * 1000)) >"job.$i"; exit "$i") & pids[i]=$!; done
	for i in 1 2 3; do wait "${pids[i]}"; echo "job $i ended with $?"; done
	cat job.*
	for i in 1 2 3; do kill -USR1 $$; done; wc -l <log
	(trap 'exit 9' TERM; : >ready; while :; do sleep 0.01; done) &
	until [ -e ready ]; do sleep 0.01; done
	kill -TERM $!; wait $!; echo "killed: $?"
	sleep 100 & kill -KILL $!; wait $! 2>/dev/null; echo "killed: $?"
	coproc cat; echo through >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"
	exec {COPROC[1]}>&-; wait
	echo "$(echo a | tr a b; (exit 3)) $?"; seq 100000 | head -n 1; echo "${PIPESTATUS[@]}"
	set -m; sleep 0.05 & fg >/dev/null; echo "fg $?"
	mapfile -t lines < <(seq 5); echo "${lines[@]/%/x}"; declare -A m=([a]=1); echo "${m[@]}"
	cat <<<"here $((1 << 40))"; ulimit -n; ulimit -s; echo "$BASH_SUBSHELL"
	exit 42
	END
}

dash_script()
{
	cat >run.sh <<-'END'
	fib() { if [ "$1" -lt 2 ]; then echo "$1"; else echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); fi; }
	fib 8
	trap 'echo int' INT; kill -INT $$; (kill -SEGV $$) ; echo unreachable
	END
}

python_threads()
{
	cat >run.py <<-'END'
	import threading, queue, concurrent.futures, time
	q, total, lock = queue.Queue(), [0], threading.Lock()
	def work():
	    while (n := q.get()) is not None:
	        s = sum(i * i for i in range(n))
	        with lock:
	            total[0] += s
	threads = [threading.Thread(target=work) for _ in range(8)]
	for t in threads: t.start()
	for n in range(300): q.put(n)
	for t in threads: q.put(None)
	for t in threads: t.join()
	print(total[0])
	with concurrent.futures.ThreadPoolExecutor(4) as pool:
	    print(list(pool.map(lambda n: n ** 5 % 1009, range(50))))
	local = threading.local()
	def storage(n):
	    local.n = n; time.sleep(0.001); assert local.n == n
	for _ in range(50):
	    ts = [threading.Thread(target=storage, args=(n,)) for n in range(4)]
	    [t.start() for t in ts]; [t.join() for t in ts]
	b = threading.Barrier(3)
	ts = [threading.Thread(target=b.wait) for _ in range(3)]
	[t.start() for t in ts]; [t.join() for t in ts]
	print("done")
	END
}

python_signals()
{
	cat >run.py <<-'END'
	import os, signal, sys, time
	seen = []
	signal.signal(signal.SIGUSR1, lambda s, f: seen.append(s))
	for _ in range(100): os.kill(os.getpid(), signal.SIGUSR1)
	print(len(seen))
	ticks = 0
	def tick(s, f):
	    global ticks
	    ticks += 1
	signal.signal(signal.SIGALRM, tick)
	signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
	n = 0
	while ticks < 200: n += 1
	signal.setitimer(signal.ITIMER_REAL, 0)
	print("ticked")
	def raises(s, f): raise KeyboardInterrupt
	signal.signal(signal.SIGALRM, raises)
	signal.alarm(1)
	try:
	    time.sleep(10)
	except KeyboardInterrupt:
	    print("interrupted")
	signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
	os.kill(os.getpid(), signal.SIGUSR2)
	print(signal.sigpending() == {signal.SIGUSR2}, signal.sigwait([signal.SIGUSR2]))
	r, w = os.pipe(); os.set_blocking(w, False)
	signal.set_wakeup_fd(w); signal.raise_signal(signal.SIGUSR1); print(os.read(r, 9))
	pid = os.fork()
	if pid == 0:
	    signal.signal(signal.SIGTERM, signal.SIG_DFL); signal.pause()
	time.sleep(0.05); os.kill(pid, signal.SIGTERM); print(os.waitpid(pid, 0)[1])
	sys.stdout.flush()
	signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)
	END
}

python_subprocess()
{
	cat >run.py <<-'END'
	import multiprocessing, os, subprocess, sys
	def square(n): return n * n
	if __name__ == "__main__":
	    print(subprocess.run(["tr", "a-z", "A-Z"], input=b"hello", capture_output=True).stdout)
	    for cmd in ("exit 5", "kill -9 $$", "kill -ABRT $$", "echo err >&2"):
	        p = subprocess.run(cmd, shell=True, capture_output=True)
	        print(p.returncode, p.stderr)
	    try: subprocess.run(["/nonexistent"])
	    except FileNotFoundError as e: print(e)
	    try: subprocess.run(["sleep", "9"], timeout=0.05)
	    except subprocess.TimeoutExpired as e: print(type(e))
	    with multiprocessing.Pool(3) as pool: print(pool.map(square, range(20)))
	    ctx = multiprocessing.get_context("spawn")
	    with ctx.Pool(2) as pool: print(pool.map(square, range(5)))
	    pid = os.posix_spawn("/bin/echo", ["echo", "spawned"], {})
	    print(os.waitpid(pid, 0)[1]); sys.stdout.flush()
	    children = [os.fork() or os._exit(n) for n in range(5)]
	    print(sorted(os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children))
	    pid = os.fork()
	    if pid == 0: os.execv("/bin/sh", ["sh", "-c", "echo execed; exit 3"])
	    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
}

python_memory()
{
	cat >run.py <<-'END'
	import ctypes, mmap, os, resource, sys
	m = mmap.mmap(-1, 1 << 20)
	m[5:10] = b"hello"; print(m.find(b"llo"), m.resize(1 << 21), len(m))
	with open("file", "w+b") as f:
	    f.truncate(8192)
	    s = mmap.mmap(f.fileno(), 8192); s[4000:4200] = b"x" * 200; s.flush()
	    if os.fork() == 0: s[0:2] = b"ok"; os._exit(0)
	    os.wait(); print(s[0:2], hash(s[:100]) == hash(s[:100]))
	code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
	addr = ctypes.addressof(ctypes.c_char.from_buffer(code))
	call = ctypes.CFUNCTYPE(ctypes.c_int)(addr)
	total = 0
	for n in range(200):
	    code[0:6] = b"\xb8" + n.to_bytes(4, "little") + b"\xc3"; total += call()
	print("self-modified", total)
	libc = ctypes.CDLL(None)
	@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
	def compare(a, b): return a[0] - b[0]
	a = (ctypes.c_int * 20)(*[(i * 7919) % 101 for i in range(20)])
	libc.qsort(a, 20, 4, compare); print(list(a))
	libm = ctypes.CDLL("libm.so.6"); libm.pow.restype = ctypes.c_double
	libm.pow.argtypes = [ctypes.c_double] * 2; print(libm.pow(2.0, 0.5))
	print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_AS))
	names = {line.split()[-1] for line in open("/proc/self/maps") if len(line.split()) > 5}
	print(sorted(n for n in names if "/" not in n))
	print(sum("rwxp" in line for line in open("/proc/self/maps")), os.readlink("/proc/self/exe"))
	print(sorted(os.listdir("/proc/self/fd"))[:3], open("/proc/self/comm").read())
	sys.stdout.flush(); sys.setrecursionlimit(10 ** 6)
	print(sum(1 for _ in range(10 ** 5)), bytearray(50 << 20).count(0)); sys.stdout.flush()
	ctypes.string_at(16)
	END
}

python_async()
{
	cat >run.py <<-'END'
	import asyncio, pty, os, select, socket, ssl, json, zlib, hashlib, decimal, random, re, signal
	async def echo(r, w):
	    w.write((await r.readline()).upper()); await w.drain(); w.close()
	async def main():
	    server = await asyncio.start_server(echo, "127.0.0.1", 0)
	    port = server.sockets[0].getsockname()[1]
	    async def ask(n):
	        r, w = await asyncio.open_connection("127.0.0.1", port)
	        w.write(b"hello %d\n" % n); return await r.readline()
	    print(await asyncio.gather(*(ask(n) for n in range(10))))
	    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
	    print(await p.communicate(b"through cat")); server.close()
	    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print, "signal")
	    os.kill(os.getpid(), signal.SIGUSR1); await asyncio.sleep(0.01)
	asyncio.run(main())
	pid, fd = pty.fork()
	if pid == 0: os.execvp("sh", ["sh", "-c", "test -t 0 && echo terminal; stty size"])
	out = b""
	try:
	    while chunk := os.read(fd, 99): out += chunk
	except OSError: pass
	print(out, os.waitpid(pid, 0)[1])
	a, b = socket.socketpair(); a.send(b"x"); print(select.select([b], [], [], 1)[0] == [b])
	random.seed(7); data = json.dumps([random.random() for _ in range(5000)])
	print(zlib.crc32(zlib.compress(data.encode())), hashlib.sha3_256(data.encode()).hexdigest())
	print(decimal.Decimal(2).sqrt(), re.sub(r"(\d)(\d)", r"\2\1", data)[:60])
	END
}

perl_script()
{
	text
	cat >run.pl <<-'END'
	use strict; use warnings; use Socket; use POSIX ":sys_wait_h";
	my %n; open(my $f, "<", "text") or die; while (<$f>) { $n{$1} .= $2 if /^(\d+) line (\d+)/ }
	print join(",", map { "$_:" . length $n{$_} } (sort { $a <=> $b } keys %n)[0 .. 20]), "\n";
	pipe(my $r, my $w); my $pid = fork // die;
	if (!$pid) { close $r; print $w "from child\n"; close $w; exit 6 }
	close $w; print <$r>; waitpid($pid, 0); print $? >> 8, "\n";
	$SIG{ALRM} = sub { die "alarm\n" }; alarm 1; eval { select undef, undef, undef, 9 }; print $@;
	local $SIG{__WARN__} = sub { print "warned: @_" }; warn "careful\n";
	print `echo from shell; exit 4`, $? >> 8, "\n"; my @s = sort map { $_ ** 2 % 17 } 1 .. 30;
	print "@s ", sprintf("%.3e %s %b", 12345.678, "x" x 5, 77), "\n";
	socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC); syswrite $a, "sock"; sysread $b, my $x, 4;
	print "$x\n"; open(my $o, ">", "out.txt"); print $o reverse <$f>, pack("N*", 1 .. 9); close $o;
	eval 'sub made { return $_[0] * 2 }'; print made(21), "\n"; kill "TERM", $$; sleep 1;
	END
}

c_project()
{
	mkdir src
	cat >src/a.h <<-'END'
	int add(int a, int b);
	double norm(const double *v, int n);
	END
	cat >src/a.c <<-'END'
	#include <math.h>
	#include "a.h"
	int add(int a, int b) { return a + b; }
	double norm(const double *v, int n)
	{
		double s = 0;
		for (int i = 0; i < n; i++)
			s += v[i] * v[i];
		return sqrt(s);
	}
	END
	cat >src/main.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	#include "a.h"
	int main(void)
	{
		double v[3] = { 1, 2, 3 };
		int unused;
		printf("%d %.9f\n", add(1, 2), norm(v, 3));
		return EXIT_SUCCESS;
	}
	END
	cat >Makefile <<-'END'
	.RECIPEPREFIX = >
	all: prog
	>./prog
	>objdump -d --no-show-raw-insn prog | grep -c ret
	>nm liba.a
	>strip -o stripped prog && size stripped >/dev/null
	prog: src/main.o liba.a
	>gcc -o $@ src/main.o liba.a -lm
	liba.a: src/a.o
	>ar rcsD $@ $^
	%.o: %.c src/a.h
	>gcc -O2 -g -Wall -c -o $@ $<
	END
}

cxx_exceptions()
{
	cat >a.cc <<-'END'
	#include <exception>
	#include <future>
	#include <iostream>
	#include <map>
	#include <sstream>
	#include <stdexcept>
	#include <thread>
	#include <typeinfo>
	#include <vector>
	struct Guard { std::string n; ~Guard() { std::cout << "~" << n << "\n"; } };
	static int deep(int n)
	{
		Guard g{ n % 10 == 0 ? std::to_string(n) : "" };
		if (n == 0)
			throw std::out_of_range("bottom");
		return deep(n - 1) + 1;
	}
	int main()
	{
		try { deep(30); } catch (const std::logic_error &e) { std::cout << e.what() << "\n"; }
		try {
			try { std::vector<int>().at(3); }
			catch (...) { std::throw_with_nested(std::runtime_error("outer")); }
		} catch (const std::exception &e) {
			std::cout << e.what() << " " << typeid(e).name() << "\n";
		}
		auto f = std::async(std::launch::async, []() -> int { throw 42; });
		try { f.get(); } catch (int n) { std::cout << n << "\n"; }
		std::map<std::string, std::vector<double>> m;
		for (int i = 0; i < 5000; i++)
			m["k" + std::to_string(i % 13)].push_back(i / 3.0);
		std::ostringstream s;
		for (auto &[k, v] : m)
			s << k << "=" << v.back() << ";";
		std::cout << s.str() << std::endl;
		std::set_terminate([] { std::cout << "terminate" << std::endl; std::abort(); });
		std::thread([] { throw std::bad_alloc(); }).join();
	}
	END
	g++ -O2 -o a a.cc -pthread
}

git_repository()
{
	text
	cat >run.sh <<-'END'
	set -e
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='@1000000000 +0000' \
		GIT_COMMITTER_DATE='@1000000000 +0000'
	git init -q -b main r && cd r && git config user.name n && git config user.email e@e
	git config gc.auto 0 && git config core.fsmonitor false
	cp ../text . && git add . && git commit -q -m first
	git checkout -q -b side && sed -i 5,50d text && git commit -q -am side
	git checkout -q main && echo more >>text && git commit -q -am more
	git merge -q -m merge side && git log --oneline --graph --stat && git diff --stat HEAD~1
	git blame text | tail -n 2 && git gc -q && git fsck --strict 2>&1 && git rev-parse HEAD
	git clone -q . ../clone && git -C ../clone status -s -b && git archive HEAD | md5sum
	git grep -c 'line 1[0-9]*' && git bundle create -q ../b main && git show HEAD:text | md5sum
	rm -rf .git/index ../clone/.git/index .git/objects/pack .git/logs
	git rev-parse nothing
	END
}

sqlite_database()
{
	cat >run.sh <<-'END'
	sqlite3 db <<-SQL
	.mode csv
	create table t(a integer primary key, b text, c real);
	with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, printf('row %d', i * 7919 % 1000), i / 7.0 from n;
	create index ib on t(b); select b, count(*), sum(c) from t group by b order by 3 desc limit 5;
	begin; delete from t where a % 3 = 0; rollback; select count(*) from t;
	create virtual table f using fts5(x); insert into f select b from t limit 500;
	select count(*) from f where f match '"row 7*"'; pragma integrity_check; vacuum;
	select json_extract('{"a":[1,2]}', '$.a[1]'); select no_such_column from t;
	SQL
	echo $?; sqlite3 db .dump | md5sum
	END
}

compressors()
{
	text
	cat >run.sh <<-'END'
	set -e
	for c in 'gzip -n -9' 'bzip2 -9' 'xz -6 -T2'; do
		name=${c%% *}
		$c -k -c text >text.$name && $c -t <text.$name && $name -dc <text.$name | cmp - text
		md5sum text.$name
		head -c 500 text.$name >cut && ! $name -dc <cut >/dev/null && echo "$name refuses"
	done
	tar --sort=name --mtime=@0 --owner=0 --group=0 -cJf t.tar.xz text text.gzip && tar -tvf t.tar.xz
	tar -xOf t.tar.xz text | md5sum
	gzip -dc text.bzip2
	END
}

openssl_tool()
{
	text
	cat >run.sh <<-'END'
	for d in md5 sha1 sha256 sha512 sha3-256 blake2b512 sm3; do openssl dgst -$d text; done
	for c in aes-128-cbc aes-256-ctr camellia-192-cfb chacha20 des-ede3-cbc; do
		openssl enc -$c -pbkdf2 -iter 1000 -S 0011223344556677 -pass pass:x -in text -out $c
		openssl enc -d -$c -pbkdf2 -iter 1000 -S 0011223344556677 -pass pass:x -in $c | md5sum
	done
	openssl prime 170141183460469231731687303715884105727; openssl prime -hex 10001
	openssl dgst -hmac key text; openssl ciphers -v HIGH | sort | head -n 3
	openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out k 2>/dev/null
	openssl dgst -sha256 -sign k -out sig text && openssl rsa -in k -pubout -out p 2>/dev/null
	openssl dgst -sha256 -verify p -signature sig text
	openssl req -x509 -new -key k -subj /CN=x -out cert && openssl verify -CAfile cert cert
	rm -f k p sig cert; openssl enc -d -aes-128-cbc -pbkdf2 -pass pass:wrong -in text -out /dev/null
	END
}

node_script()
{
	cat >run.js <<-'END'
	const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
	const fs = require('fs'), cp = require('child_process'), crypto = require('crypto');
	function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
	if (!isMainThread) {
		parentPort.postMessage(hot(workerData));
		return;
	}
	async function main() {
		console.log(hot(3e6), [5, 1, 4].sort(), 'x'.repeat(3).replace(/x/g, (m, i) => i));
		const ask = (n) => new Promise((ok) => new Worker(__filename, { workerData: n }).on('message', ok));
		console.log(await Promise.all([1e5, 2e5, 3e5].map(ask)));
		console.log(cp.execSync('echo child; exit 0').toString());
		console.log(cp.spawnSync('sh', ['-c', 'kill -TERM $$']).signal);
		console.log(crypto.createHash('sha256').update('x'.repeat(1e6)).digest('hex'));
		fs.writeFileSync('out.json', JSON.stringify({ a: [1, { b: 2n.toString() }] }));
		const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0,
			7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
		const wasm = await WebAssembly.instantiate(bytes);
		let s = 0;
		for (let i = 0; i < 1e5; i++) s = wasm.instance.exports.add(s, i);
		console.log(s, eval('1+1'), new Function('a', 'return a * 2')(21));
		const signal = new Promise((ok) => process.on('SIGUSR2', ok));
		const awake = setInterval(() => {}, 1000);
		process.kill(process.pid, 'SIGUSR2');
		console.log(await signal);
		clearInterval(awake);
		process.exitCode = 3;
		const garbage = [];
		for (let i = 0; i < 2e5; i++) garbage.push({ i, s: `s${i}` });
		console.log(garbage.length);
		setTimeout(() => { try { null.x; } catch (e) { console.log(e.message); } }, 20);
	}
	main();
	END
}

# The server ends by itself once it has been asked for /quit.
curl_loopback()
{
	text
	cat >server.py <<-'END'
	import http.server, os, threading
	class Handler(http.server.SimpleHTTPRequestHandler):
	    def log_message(self, *args): pass
	    def do_POST(self):
	        data = self.rfile.read(int(self.headers["Content-Length"]))
	        self.send_response(201); self.end_headers(); self.wfile.write(data[::-1])
	        if self.path == "/quit": threading.Thread(target=server.shutdown).start()
	server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
	with open("port.new", "w") as f: f.write(str(server.server_address[1]))
	os.rename("port.new", "port")
	server.serve_forever()
	END
	cat >run.sh <<-'END'
	python3 server.py &
	until [ -e port ]; do sleep 0.02; done
	url=http://127.0.0.1:$(cat port)
	rm port
	curl -sS "$url/text" | md5sum
	curl -sS -w '%{http_code} %{size_download}\n' -o a "$url/text" -o b "$url/nothing"
	curl -sS --data-binary @text "$url/post" | md5sum
	curl -sS -r 100-199 "$url/text" | wc -c; curl -sS -f "$url/nothing"; echo $?
	curl -sS -d bye "$url/quit"; echo
	wait; echo "server: $?"; curl -sS http://127.0.0.1:1/ 2>/dev/null; echo "refused: $?"
	END
}

text_tools()
{
	text
	cat >run.sh <<-'END'
	awk '{ s[$1 % 7] += $3; gsub(/text/, "TEXT") } END { for (i = 0; i < 7; i++) print i, s[i], $0 }' text
	sed -n -E '/7$/{s/([0-9]+) line/\1-\1/;p}' text | head -n 5; sed -i.bak 's/line/LINE/2;1~2d' text
	grep -cE '([0-9])\1' text; grep -o 'te[x]t, [0-9a-f]*a$' text.bak | sort -u | wc -l
	grep -P '(?<=line )\d{4}(?= of)' text.bak | tail -n 1; find . -name 't*' -printf '%f %s\n' | sort
	find . -type f -print0 | sort -z | xargs -0 -n 1 -P 2 wc -c | sort; diff text text.bak | tail -n 3
	diff -u --label a --label b <(head -n 20 text) <(head -n 20 text.bak) >p; cp text q; cat p | wc -l; grep none text
	END
}

statuses()
{
	cat >run.sh <<-'END'
	for c in 'exit 0' 'exit 255' 'kill -HUP $$' 'kill -KILL $$' 'kill -RTMIN+3 $$' 'ulimit -c 0; kill -QUIT $$' \
		'exec /nonexistent' 'exec /etc/passwd' 'timeout 0.1 sleep 9' 'timeout -s KILL 0.1 sleep 9' \
		'nice -n 3 nice' 'setsid -w sh -c "exit 8"' 'env -u HOME sh -c "echo [\$HOME]"' \
		'ulimit -n 12; cat run.sh | wc -c' 'ulimit -v 600000; echo limited' 'exec 3<>x; echo y >&3; cat x' \
		'exec 0<&- 1>&- 2>&-; exec sh -c "exit 9"' '/lib64/ld-linux-x86-64.so.2 /bin/echo by loader'; do
		sh -c "$c"; echo "$c: $?"
	done 2>err
	sed -E 's/^(run.sh: line [0-9]+: ) *[0-9]+ /\1/' err; rm err
	END
}

static_program()
{
	cat >a.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	int main(int argc, char **argv)
	{
		char *p = malloc(100000);
		memset(p, argc, 100000);
		printf("%s %d %s\n", argv[0], p[99999], getenv("LC_ALL"));
		return 17;
	}
	END
	gcc -static -O2 -o a a.c
}

java_program()
{
	cat >A.java <<-'END'
	import java.util.*;
	import java.util.concurrent.*;
	public class A {
		static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		public static void main(String[] args) throws Exception {
			ExecutorService pool = Executors.newFixedThreadPool(3);
			List<Future<Integer>> list = new ArrayList<>();
			for (int i = 20; i < 28; i++) { final int n = i; list.add(pool.submit(() -> fib(n))); }
			for (Future<Integer> f : list) System.out.println(f.get());
			pool.shutdown();
			try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("npe"); }
			try { deep(0); } catch (StackOverflowError e) { System.out.println("overflow"); }
			Map<String, Integer> m = new TreeMap<>();
			for (int i = 0; i < 100000; i++) m.merge("k" + i % 17, i, Integer::sum);
			System.out.println(m);
			System.exit(5);
		}
		static int deep(int n) { return deep(n + 1) + 1; }
	}
	END
	javac A.java
}

both "coreutils" 2 coreutils bash run.sh
both "bash: jobs, traps, coprocesses" 42 bash_jobs bash run.sh
both "dash: recursion, a fatal signal" 139 dash_script sh run.sh
both "python3: threads" 0 python_threads python3 run.py
both "python3: signals and timers" 130 python_signals python3 run.py
both "python3: subprocess, multiprocessing" 3 python_subprocess python3 run.py
both "python3: mmap, ctypes, generated code, a fault" 139 python_memory python3 run.py
both "python3: asyncio, pty, sockets, hashes" 0 python_async python3 run.py
both "perl: fork, pipes, signals, eval" 143 perl_script perl run.pl
both "make and gcc: a small project" 0 c_project make -j2
both "g++: exceptions, threads, terminate" 134 cxx_exceptions ./a
both "git: commit, merge, gc, clone" 128 git_repository bash run.sh
both "sqlite3: a database" 0 sqlite_database bash run.sh
both "gzip, bzip2, xz, tar" 1 compressors bash run.sh
both "openssl: digests, ciphers, signatures" 1 openssl_tool bash run.sh
both "node: JIT, workers, WebAssembly" 3 node_script node run.js
both "curl and an HTTP server on loopback" 0 curl_loopback bash run.sh
both "awk, sed, grep, find, xargs, diff" 1 text_tools bash run.sh
both "exit statuses, limits, odd ways to start" 0 statuses bash run.sh
both "a static program" 17 static_program ./a
both "java: JIT, threads, implicit null checks" 5 java_program java -Xmx256m A
both "gdb --version" 0 nothing gdb -nx --version
both "gdb: expressions" 0 nothing gdb -nx -batch -ex 'p 6*7' -ex 'python print(2**70)'
both "ldconfig: a static PIE" 0 nothing /sbin/ldconfig -p
both "strace --version" 0 nothing strace --version
done_testing
