#!/bin/bash
# SPDX-License-Identifier: MIT
#
# More real programs of Debian's that behave counted as they do natively (tests/e2e/twice.bash): runtimes with collectors,
# fibers and rings of their own, sanitizers, debuggers of a program, linkers, servers, browsers.  By hand, some of them: bash tests/e2e/more_programs.long.sh WORD...

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/twice.bash
. "$(dirname "$0")/twice.bash"
# shellcheck source=tests/e2e/small.bash
. "$(dirname "$0")/small.bash"
# shellcheck disable=SC2034
chosen=("$@")
port=$((30000 + $$ % 10000))

memcached_server()
{
	cat >run.sh <<-END
	memcached -u root -l 127.0.0.1 -p $port -U 0 -t 3 & server=\$!
	until exec 3<>/dev/tcp/127.0.0.1/$port; do sleep 0.02; done 2>/dev/null
	ask() { printf "\$1\r\n" >&3; until read -r line <&3; echo "\${line%?}"; [[ \$line =~ ^(STORED|END|DELETED|NOT_FOUND|ERROR|[0-9]) ]]; do :; done; }
	ask 'set a 0 0 5\r\nhello'; ask 'get a'; ask 'set n 0 0 1\r\n7'; ask 'incr n 35'; ask 'delete a'; ask 'delete a'; ask wrong
	for i in \$(seq 300); do ask "set k\$i 0 0 3\r\n\$((i + 99))"; done | sort | uniq -c
	for i in \$(seq 8); do (exec 3<>/dev/tcp/127.0.0.1/$port; for j in \$(seq 40); do ask "get k\$j"; done | md5sum) & others+=(\$!); done
	wait "\${others[@]}"; kill -TERM \$server; wait \$server; echo "server \$?"
	END
}

apache_server()
{
	text
	mkdir cgi && printf '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\n$QUERY_STRING of cgi\\n"\n' >cgi/a && chmod +x cgi/a
	cat >a.conf <<-END
	ServerRoot $tmp/w
	ServerName localhost
	Listen 127.0.0.1:$port
	PidFile $tmp/w/pid
	DefaultRuntimeDir $tmp/w
	Mutex fcntl:$tmp/w
	ErrorLog /dev/null
	$(for m in mpm_event authz_core cgid mime dir alias deflate filter unixd; do
		[ ! -e /usr/lib/apache2/modules/mod_$m.so ] || echo "LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so"
	done)
	ScriptSock $tmp/w/sock
	TypesConfig /dev/null
	StartServers 2
	ThreadsPerChild 8
	MaxRequestWorkers 32
	DocumentRoot $tmp/w
	ScriptAlias /cgi/ $tmp/w/cgi/
	AddOutputFilterByType DEFLATE text/plain
	END
	cat >run.sh <<-END
	apache2 -f \$PWD/a.conf -DFOREGROUND & url=http://127.0.0.1:$port
	until curl -s \$url/text -o /dev/null; do sleep 0.02; done
	ab -q -n 300 -c 8 -k \$url/text | grep -E '^(Complete|Failed|Document Length)'
	ab -q -n 40 -c 4 "\$url/cgi/a?x" | grep -E '^(Complete|Failed|Document Length)'
	curl -sS \$url/text | md5sum; curl -sS --compressed -H 'Accept-Encoding: gzip' \$url/text | md5sum
	curl -sS "\$url/cgi/a?hello"; curl -sS -o /dev/null -w '%{http_code}\n' \$url/none
	apache2 -f \$PWD/a.conf -k graceful; curl -sS \$url/text | md5sum
	apache2 -f \$PWD/a.conf -k stop; wait; echo "server \$?"; rm -f pid sock*
	END
}

sshd_server()
{
	text
	ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key
	cat >sshd.conf <<-END
	Port $port
	ListenAddress 127.0.0.1
	HostKey $tmp/w/host
	AuthorizedKeysFile $tmp/w/key.pub
	StrictModes no
	UsePAM no
	PermitRootLogin yes
	PidFile none
	PrintLastLog no
	Subsystem sftp internal-sftp
	END
	cat >run.sh <<-END
	# the folder that Debian's sshd wants is not made on the machine itself
	[ "\${1:-}" = in ] || exec unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/sshd && exec bash run.sh in'
	/usr/sbin/sshd -D -q -f \$PWD/sshd.conf & server=\$!
	o="-F none -i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes"
	until (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do sleep 0.02; done
	ssh \$o -p $port 127.0.0.1 'echo hello; echo error >&2; exit 9'; echo "ssh \$?"
	ssh \$o -C -p $port 127.0.0.1 'cat | md5sum' <text
	ssh \$o -tt -p $port 127.0.0.1 'test -t 0 && echo terminal' 2>/dev/null | tr -d '\r'
	seq 4 | xargs -P 2 -I{} ssh \$o -p $port 127.0.0.1 'echo {}' | sort
	scp \$o -q -P $port 127.0.0.1:\$PWD/text copy && cmp text copy && echo copied
	ssh \$o -o PubkeyAuthentication=no -p $port 127.0.0.1 true 2>/dev/null; echo "refused \$?"
	kill \$server; wait \$server; echo "server \$?"; rm -f host* key*
	END
}

ocaml_program()
{
	cat >a.ml <<-'END'
	let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
	let rec deep n = 1 + deep (n + 1)
	module M = Map.Make (String)
	let () =
	  Printf.printf "%d\n" (fib 22);
	  let m = ref M.empty in
	  for i = 1 to 20000 do m := M.add (string_of_int (i * 7919 mod 10007)) i !m done;
	  Printf.printf "%d %d\n" (M.cardinal !m) (M.fold (fun _ v s -> v + s) !m 0);
	  (try ignore (deep 0) with Stack_overflow -> print_endline "overflow");
	  (try ignore (List.nth [1; 2] 5) with Failure s -> print_endline s);
	  (try ignore ([|1|].(Sys.opaque_identity 3)) with Invalid_argument s -> print_endline s);
	  Sys.set_signal Sys.sigint (Sys.Signal_handle (fun _ -> raise Exit));
	  Gc.compact (); Printf.printf "%.6f %d\n" (sqrt 2.0) (Hashtbl.hash "anyperf");
	  exit 3
	END
	cat >run.sh <<-'END'
	ocaml a.ml; echo "toplevel $?"; ocamlc -o byte a.ml && ./byte; echo "bytecode $?"
	ocamlopt -o native a.ml && ./native; echo "native $?"; rm -f a.c* a.o a.exe byte native
	END
}

erlang_program()
{
	cat >a.erl <<-'END'
	-module(a).
	-export([main/0]).
	ring(Next) -> receive {N, S} when N > 0 -> Next ! {N - 1, S + N}, ring(Next); {0, S} -> main ! {total, S} end.
	fib(N) when N < 2 -> N;
	fib(N) -> fib(N - 1) + fib(N - 2).
	main() ->
	    register(main, self()),
	    First = spawn(fun() -> receive {next, P} -> ring(P) end end),
	    Last = lists:foldl(fun(_, P) -> spawn(fun() -> ring(P) end) end, First, lists:seq(1, 200)),
	    First ! {next, Last}, Last ! {20000, 0},
	    receive {total, S} -> io:format("~p~n", [S]) end,
	    Self = self(),
	    [spawn(fun() -> Self ! {N, fib(N)} end) || N <- lists:seq(10, 24)],
	    io:format("~p~n", [[receive {N, F} -> F end || N <- lists:seq(10, 24)]]),
	    {_, R} = spawn_monitor(fun() -> exit({catch 1 = list_to_integer("2"), over}) end),
	    receive {'DOWN', R, _, _, {{_, {Why, _}}, over}} -> io:format("~p~n", [Why]) end,
	    io:format("~p ~p~n", [erlang:phash2(lists:seq(1, 1000)), erlang:crc32(<<"anyperf">>)]),
	    io:format("~s", [os:cmd("echo from a port")]),
	    T = ets:new(t, [public]), [ets:insert(T, {I, I * I}) || I <- lists:seq(1, 5000)],
	    io:format("~p~n", [ets:foldl(fun({_, V}, A) -> V + A end, 0, T)]), halt(4).
	END
	printf 'erlc a.erl && erl -noshell -s a main; echo "$?"; rm -f a.beam\n' >run.sh
}

numpy_threads()
{
	cat >run.py <<-'END'
	import os
	os.environ["OPENBLAS_NUM_THREADS"] = "3"
	import numpy as np, threading
	rng = np.random.default_rng(7)
	a, b = rng.integers(-9, 9, (300, 300)).astype(float), rng.integers(-9, 9, (300, 300)).astype(float)
	c = a @ b
	print(c.sum(), np.array_equal(c.astype(int), (a.astype(int) @ b.astype(int))))
	x = np.linalg.solve(a, b[:, 0]); print(np.allclose(a @ x, b[:, 0]), round(float(np.linalg.slogdet(a)[1]), 6))
	print(np.round(np.linalg.svd(a, compute_uv=False)[:3], 6), np.round(np.linalg.eigvalsh(a + a.T)[:3], 6))
	print(np.sort(rng.random(10000))[::2000], np.abs(np.fft.fft(np.arange(64.0)))[:3])
	out = [0.0] * 4
	def work(n): out[n] = float((a[n::4] @ b).trace())
	ts = [threading.Thread(target=work, args=(n,)) for n in range(4)]
	[t.start() for t in ts]; [t.join() for t in ts]; print(out)
	if (pid := os.fork()) == 0: os._exit(int((a @ b).sum() == c.sum()))
	print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	with np.errstate(all="raise"):
	    try: np.array([1e308]) * 10
	    except FloatingPointError as e: print(e)
	END
}

ffmpeg_codecs()
{
	cat >run.sh <<-'END'
	f="ffmpeg -nostdin -hide_banner -loglevel error -f lavfi -i testsrc=size=160x120:rate=10:duration=2"
	$f -c:v libx264 -threads 3 -preset fast -flags +bitexact -fflags +bitexact -y a.mkv; echo "x264 $?"
	$f -c:v libx265 -x265-params log-level=error:pools=2 -preset fast -flags +bitexact -fflags +bitexact -y b.mkv; echo "x265 $?"
	$f -f lavfi -i sine=frequency=440:duration=2 -c:v mpeg4 -c:a aac -flags +bitexact -fflags +bitexact -y c.mkv; echo "mpeg4 $?"
	for i in a b c; do ffmpeg -nostdin -loglevel error -i $i.mkv -vf scale=80:60,hue=s=0 -f framemd5 -; done
	ffmpeg -nostdin -loglevel error -i none.mkv -f null -; echo "none $?"; md5sum ?.mkv
	END
}

x264_tools()
{
	ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=size=160x120:rate=10:duration=2 -pix_fmt yuv420p in.y4m
	cat >run.sh <<-'END'
	x264 --quiet --no-progress --threads 2 -o a.264 in.y4m 2>/dev/null; echo "x264 $?"
	x265 --log-level error --no-progress --pools 2 -o a.265 in.y4m 2>/dev/null; echo "x265 $?"; md5sum a.264 a.265
	END
}

octave_script()
{
	cat >run.m <<-'END'
	a = magic(6); printf("%g ", a \ ones(6, 1)(:), sum(a(:)), rank(a)); printf("\n");
	printf("%.6f ", sort(abs(eig(toeplitz(1:8))))); printf("\n"); printf("%.4f ", abs(fft(1:8))); printf("\n");
	s = 0; for i = 1:20000; s += mod(i * 7919, 101); end; disp(s)
	try; error("my:id", "caught %d", 5); catch e; disp(e.message); end
	f = @(x) x .^ 2 - 2; printf("%.8f\n", fzero(f, [0 2])); disp(regexprep("abc123", '(\d)', '<$1>'));
	[q, r] = qr(hilb(5)); printf("%d\n", norm(q * r - hilb(5)) < 1e-12); c = cellfun(@(x) [x "!"], {"a", "b"}, "UniformOutput", false); disp(c)
	[st, out] = system("echo from a shell"); printf("%d %s", st, out); exit(6)
	END
}

r_script()
{
	cat >run.R <<-'END'
	set.seed(7); x <- rnorm(500); y <- 2 * x + rnorm(500)
	print(coef(lm(y ~ x))); print(summary(y)); print(head(sort(table(floor(x))), 3))
	f <- function(n) if (n < 2) n else f(n - 1) + f(n - 2); print(f(18))
	print(tryCatch(stop("oops"), error = function(e) conditionMessage(e), finally = cat("finally\n")))
	print(unlist(parallel::mclapply(1:6, function(i) i^2, mc.cores = 2)))
	m <- matrix(rnorm(10000), 100); print(dim(solve(m))); print(round(sum(svd(m)$d), 4))
	deep <- function(n) deep(n + 1); print(class(tryCatch(deep(1), error = function(e) e))[1])
	print(system("echo from a shell", intern = TRUE)); print(gsub("(a+)", "<\\1>", "baab", perl = TRUE)); quit(status = 7)
	END
}

emacs_batch()
{
	cat >a.el <<-'END'
	;;; -*- lexical-binding: t -*-
	(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
	(defvar got "")
	(message "%d" (fib 18))
	(with-temp-buffer (dotimes (i 2000) (insert (format "line %d\n" i))) (goto-char (point-min))
	  (message "%d %d" (how-many "7$") (progn (replace-regexp-in-region "line \\([0-9]\\)" "\\1") (buffer-size)))
	  (message "%s" (md5 (buffer-string))))
	(message "%s" (condition-case e (car (cons 1 (/ 1 0))) (error e)))
	(message "%s" (condition-case e (let ((max-lisp-eval-depth 300)) (letrec ((f (lambda () (+ 1 (funcall f))))) (funcall f))) (error (car e))))
	(message "%s" (shell-command-to-string "echo from a shell"))
	(let ((p (make-process :name "cat" :command '("cat") :filter (lambda (_ s) (setq got (concat got s))) :sentinel #'ignore)))
	  (process-send-string p "through cat\n") (process-send-eof p) (while (not (equal got "through cat\n")) (accept-process-output p 1)) (message "got %s" got))
	(let ((th (make-thread (lambda () (* 6 7))))) (message "%d" (thread-join th)))
	(garbage-collect) (kill-emacs 5)
	END
}

mariadb_server()
{
	cat >run.sh <<-'END'
	exec 2>/dev/null
	mkdir data; o="--no-defaults --datadir=$PWD/data --user=$(id -un) --innodb-buffer-pool-size=16M --innodb-log-file-size=8M"
	mariadb-install-db $o --skip-test-db --auth-root-authentication-method=normal >/dev/null; echo "install $?"
	mariadbd $o --skip-networking --skip-grant-tables --socket=$PWD/sock --pid-file=$PWD/pid >/dev/null & server=$!
	c="mariadb --no-defaults --socket=$PWD/sock -N -B"
	until $c -e 'select 1' >/dev/null; do kill -0 $server || exit 1; sleep 0.05; done
	$c -e "create database d; use d; create table t(a int primary key, b varchar(40), key(b)) engine=innodb;
	insert into t select seq, md5(seq) from seq_1_to_5000; select count(*), min(b) from t where a % 7 = 0;
	begin; delete from t; rollback; select sum(a) from t t1 join t t2 using (a);"
	for i in 1 2 3 4; do $c d -e "update t set b = md5(b) where a % 4 = $i - 1" & w+=($!); done; wait "${w[@]}"
	$c d -e 'select md5(group_concat(b order by a)) from t where a < 20; select nothing'; echo "client $?"
	$c -e shutdown; wait $server; echo "server $?"; rm -rf data sock pid
	END
}

clang_lld()
{
	for i in 1 2 3; do
		echo "template<int N> struct F { static constexpr long v = F<N - 1>::v + N; }; template<> struct F<0> { static constexpr long v = 0; };
		long f$i(long x) { return x * F<$((i * 50))>::v; }"
	done | awk '/^template/ { n++ } { print > ("f" n ".cc") }'
	printf '#include <iostream>\n#include <map>\nlong f1(long), f2(long), f3(long);\nint main() { std::map<int, long> m;\n%s\n' \
		'for (int i = 0; i < 9; i++) m[i] = f1(i) + f2(i) + f3(i); for (auto &e : m) std::cout << e.second << "\n"; try { throw 5; } catch (int e) { return e; } }' >m.cc
	cat >run.sh <<-'END'
	for l in '' -flto=thin; do
		clang++ -O2 -g $l -fuse-ld=lld -o a f1.cc f2.cc f3.cc m.cc; echo "build $?"; ./a; echo "run $?"; md5sum a
	done
	echo 'int main() { return x; }' >bad.c; clang bad.c; echo "bad $?"; ld.lld -o b none.o; echo "lld $?"
	END
}

rust_program()
{
	mkdir src
	printf '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
	cat >src/main.rs <<-'END'
	use std::{collections::BTreeMap, panic, sync::{mpsc, Arc, Mutex}, thread};
	fn main() {
	    let (tx, rx) = mpsc::channel();
	    let total = Arc::new(Mutex::new(0u64));
	    let ts: Vec<_> = (0..4u64).map(|n| { let (tx, total) = (tx.clone(), total.clone());
	        thread::spawn(move || for i in 0..500 { *total.lock().unwrap() += i * n; tx.send(i).unwrap(); }) }).collect();
	    drop(tx);
	    let got: u64 = rx.iter().sum();
	    for t in ts { t.join().unwrap(); }
	    println!("{} {}", got, total.lock().unwrap());
	    panic::set_hook(Box::new(|_| {}));
	    println!("{}", panic::catch_unwind(|| { let v: Vec<i32> = vec![]; v[std::hint::black_box(3)] }).is_err());
	    let mut m = BTreeMap::new();
	    for i in 0..5000u32 { *m.entry(i.wrapping_mul(2654435761) % 13).or_insert(0) += i; }
	    println!("{:?}", m); std::process::exit(9);
	}
	#[test] fn adds() { assert_eq!(1 + 1, 2); }
	END
	cat >run.sh <<-'END'
	export CARGO_HOME=$PWD/home; cargo build -q --offline --release; echo "build $?"; ./target/release/a; echo "run $?"
	cargo test -q --offline | grep -c '1 passed'; rustc -O -o a src/main.rs && ./a | md5sum; echo 'fn main() { x }' >bad.rs; rustc bad.rs 2>&1 | grep -c E0425
	rm -rf target home a Cargo.lock
	END
}

ghc_program()
{
	cat >a.hs <<-'END'
	import Control.Concurrent
	import Control.Exception
	import qualified Data.Map.Strict as M
	import System.Exit
	import System.IO
	main :: IO ()
	main = do
	  hSetBuffering stdout LineBuffering
	  vs <- mapM (\n -> do { v <- newEmptyMVar; _ <- forkIO (putMVar v $! sum [x * x | x <- [1 .. n * 100]]); return v }) [1 .. 50 :: Int]
	  rs <- mapM takeMVar vs
	  print (sum rs)
	  print (M.size (M.fromListWith (+) [(i * 7919 `mod` 1009, i) | i <- [1 .. 20000 :: Int]]))
	  r <- try (evaluate (1 `div` (0 :: Int))) :: IO (Either ArithException Int)
	  print r
	  m <- newEmptyMVar :: IO (MVar ())
	  b <- try (takeMVar m) :: IO (Either BlockedIndefinitelyOnMVar ())
	  print b
	  exitWith (ExitFailure 6)
	END
	cat >run.sh <<-'END'
	ghc -v0 -O -threaded -rtsopts -o a a.hs; echo "ghc $?"; ./a +RTS -N2 -A1m; echo "threaded $?"
	ghc -v0 -e 'foldr (+) 0 [1..1000]'; rm -f a a.o a.hi
	END
}

qemu_boot()
{
	cat >boot.S <<-'END'
		.code16
		.globl _start
	_start:	xorw %ax, %ax
		movw %ax, %ds
		movw $0x7c00, %sp
		movw $msg, %si
		movw $0x3f8, %dx
	1:	lodsb
		testb %al, %al
		jz 2f
		outb %al, %dx
		jmp 1b
	2:	xorl %ebx, %ebx
		movl $300000, %ecx
	3:	addl %ecx, %ebx
		rorl $3, %ebx
		loopl 3b
		cmpl $0, %ebx
		movb $3, %al
		movw $0x501, %dx
		outb %al, %dx
		hlt
	msg:	.asciz "booted\r\n"
		.org 510
		.word 0xaa55
	END
	gcc -c -m32 boot.S && ld -m elf_i386 -Ttext 0x7c00 --oformat binary -o boot.bin boot.o
}

pdflatex_paper()
{
	cat >a.tex <<-'END'
	\documentclass{article}
	\begin{document}
	\title{Counted}\author{Nobody}\date{1970}\maketitle\tableofcontents
	\section{One}\label{one} See section~\ref{one}: $\sum_{i=1}^n i = \frac{n(n+1)}{2}$.
	\newcount\n \n=0 \loop \advance\n by 1 \the\n, \ifnum\n<500 \repeat
	\begin{tabular}{ll} a & b \\ c & d \end{tabular}
	\end{document}
	END
	cat >run.sh <<-'END'
	export SOURCE_DATE_EPOCH=0 FORCE_SOURCE_DATE=1
	for i in 1 2; do pdflatex -interaction=batchmode a >/dev/null; echo "pdflatex $?"; done; md5sum a.pdf a.aux a.toc
	sed -i 's/maketitle/nothing/' a.tex; pdflatex -interaction=batchmode -halt-on-error a >/dev/null; echo "wrong $?"; rm -f a.log
	END
}

libreoffice_convert()
{
	printf '<html><body><h1>Counted</h1><p>A paragraph.</p><table><tr><td>1</td><td>2</td></tr></table></body></html>' >a.html
	cat >run.sh <<-'END'
	soffice -env:UserInstallation=file://$PWD/profile --headless --convert-to txt:Text a.html >/dev/null 2>&1; echo "soffice $?"; cat a.txt
	soffice -env:UserInstallation=file://$PWD/profile --headless --convert-to odt --writer a.html >/dev/null 2>&1; echo "soffice $?"
	unzip -p a.odt content.xml 2>/dev/null | grep -c Counted; rm -rf profile a.odt
	END
}

browser_page()
{
	cat >a.html <<-'END'
	<html><body><p id=p>before</p><script>
	function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	let m = new Map(); for (let i = 0; i < 20000; i++) m.set(i * 7919 % 1009, i);
	document.getElementById("p").textContent = [fib(20), m.size, [3, 1, 2].sort().join(), "x".padStart(3, "-")].join(" ");
	</script></body></html>
	END
	cat >chromium.sh <<-'END'
	chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$PWD/p --dump-dom file://$PWD/a.html 2>/dev/null; echo "chromium $?"; rm -rf p
	END
	cat >firefox.sh <<-'END'
	export HOME=$PWD/home; mkdir -p home p
	firefox-esr --headless --profile p --window-size 200,100 --screenshot $PWD/a.png file://$PWD/a.html >/dev/null 2>&1; echo "firefox $?"
	file -b a.png 2>/dev/null || head -c 8 a.png | od -c; rm -rf home p
	END
}

wine_cmd()
{
	cat >run.sh <<-'END'
	export WINEPREFIX=$PWD/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree=;mshtml=;winemenubuilder.exe='
	wine cmd /c 'echo hello & set /a 6*7 & exit 5' 2>/dev/null | tr -d '\r'; echo "cmd ${PIPESTATUS[0]}"
	wine cmd /c 'for /l %i in (1,1,5) do @echo %i' 2>/dev/null | tr -d '\r'; wineserver -w; rm -rf prefix
	END
}

small_programs
both_if "memcached" "memcached: threads, eight clients" 0 memcached_server bash run.sh
both_if "apache2 ab" "apache2 and ab: event workers, CGI" 0 apache_server bash run.sh
if [ "$(id -u)" = 0 ]; then
	both_if "sshd unshare" "sshd: commands, a terminal, scp" 0 sshd_server bash run.sh
fi
both_if "ocaml" "ocaml: toplevel, bytecode, native code" 0 ocaml_program bash run.sh
both_if "erl" "erlang: processes, its JIT, ports" 0 erlang_program bash run.sh
both_if "/usr/lib/python3/dist-packages/numpy" "numpy with OpenBLAS's threads" 0 numpy_threads /usr/bin/python3 run.py
both_if "ffmpeg" "ffmpeg: x264, x265, filters" 0 ffmpeg_codecs bash run.sh
both_if "x264 x265 ffmpeg" "x264 and x265" 0 x264_tools bash run.sh
both_if "octave-cli" "octave: matrices, a shell" 6 octave_script octave-cli -q --norc run.m
both_if "Rscript" "R: regressions, forks" 7 r_script Rscript --vanilla run.R
both_if "emacs" "emacs: Lisp, processes, threads" 5 emacs_batch emacs -Q --batch -l ./a.el
both_if "mariadbd mariadb mariadb-install-db" "mariadb: install, a server, clients" 0 mariadb_server bash run.sh
both_if "clang++ ld.lld" "clang++ and lld: templates, thin LTO" 0 clang_lld bash run.sh
both_if "/usr/bin/rustc /usr/bin/cargo" "rustc and cargo" 0 rust_program bash run.sh
both_if "ghc" "ghc: threads, exceptions" 0 ghc_program bash run.sh
both_if "qemu-system-x86_64" "qemu-system-x86_64: a boot sector" 7 qemu_boot qemu-system-x86_64 -accel tcg -nodefaults -display none \
	-serial stdio -device isa-debug-exit -drive file=boot.bin,format=raw
both_if "pdflatex" "pdflatex: a paper" 0 pdflatex_paper bash run.sh
both_if "soffice" "libreoffice: conversion" 0 libreoffice_convert bash run.sh
both_if "chromium" "chromium: a page's DOM" 0 browser_page bash chromium.sh
both_if "firefox-esr" "firefox: a screenshot" 0 browser_page bash firefox.sh
both_if "wine" "wine: cmd" 0 wine_cmd bash run.sh
done_testing
