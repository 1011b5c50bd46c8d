#!/bin/bash
# SPDX-License-Identifier: MIT
#
# More real programs that behave counted as they do natively: interpreters, just-in-time compilers,
# run-time systems with threads and signals of their own, and tools.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/twice.bash
. "$(dirname "$0")/twice.bash"

ruby_script()
{
	cat >a.rb <<-'END'
	h = Hash.new(0)
	50000.times { |i| h["k#{i % 97}"] += i }
	puts h.sort.first(5).inspect
	p 4.times.map { |n| Thread.new { (1..2000).inject(:+) * n } }.map(&:value)
	begin; raise "x"; rescue => e; puts e.message; end
	fork { exit 3 }; Process.wait; p $?.exitstatus
	f = Fiber.new { Fiber.yield 1; 2 }
	p f.resume, f.resume
	trap("USR1") { puts "usr1" }; Process.kill("USR1", $$); sleep 0.05
	GC.start; exit 4
	END
}

lua_script()
{
	cat >a.lua <<-'END'
	local t = {}
	for i = 1, 200000 do t[i] = (i * 7919) % 1009 end
	table.sort(t) print(t[1], t[#t])
	local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
	print(co(), co(), co())
	print(pcall(error, "x"), string.format("%.10g", math.sin(1)), #string.rep("ab", 1000):gsub("a", "b"))
	os.exit(6)
	END
}

luajit_script()
{
	cat >a.lua <<-'END'
	local bit, ffi, x = require "bit", require "ffi", 1
	for i = 1, 3e7 do x = bit.bxor(x * 3 + i, 0x55aa) % 65536 end
	print(x)
	ffi.cdef "int abs(int);"
	print(ffi.C.abs(-5))
	local a = ffi.new("double[1000]")
	for k = 1, 1000 do for i = 0, 999 do a[i] = a[i] + i * k end end
	print(a[999], jit.status())
	local cb = ffi.cast("int(*)(int)", function(n) return n * 2 end)
	print(cb(21))
	os.exit(9)
	END
}

php_script()
{
	cat >a.php <<-'END'
	<?php
	$a = [];
	for ($i = 0; $i < 100000; $i++)
	    $a[$i % 31] = ($a[$i % 31] ?? 0) + $i;
	ksort($a);
	echo json_encode($a), "\n", preg_replace('/(\d)(\d)/', '$2$1', implode(',', $a)), "\n";
	function g() { yield 1; yield 2; }
	foreach (g() as $x) echo $x;
	try { throw new Exception("e"); } catch (Exception $e) { echo $e->getMessage(); }
	exit(7);
	END
}

guile_script()
{
	cat >a.scm <<-'END'
	(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
	(display (fib 24)) (newline)
	(display (call/cc (lambda (k) (+ 1 (k 42))))) (newline)
	(display (expt 2 200)) (newline)
	(exit 5)
	END
}

tcl_script()
{
	cat >a.tcl <<-'END'
	proc fib n {expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}}
	puts [fib 20]; puts [exec echo hi]; puts [lsort -integer {3 1 2}]
	after 20 {puts late; exit 3}
	vwait forever
	END
}

sbcl_script()
{
	cat >a.lisp <<-'END'
	(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
	(print (fib 25)) (print (expt 3 200))
	(handler-case (error "x") (error (e) (print (type-of e))))
	(print (length (loop for i below 300000 collect (cons i i))))
	(sb-ext:gc :full t) (terpri)
	(sb-ext:exit :code 8)
	END
}

go_program()
{
	cat >a.go <<'END'
package main
import ("fmt"; "os"; "os/exec"; "sort"; "strings"; "sync"; "time")
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func main() {
	var wg sync.WaitGroup; var mu sync.Mutex; m := map[int]int{}
	for i := 0; i < 200; i++ {
		wg.Add(1)
		go func(i int) { defer wg.Done(); v := fib(i % 20); mu.Lock(); m[i%20] = v; mu.Unlock() }(i)
	}
	wg.Wait(); k := []int{}
	for x := range m { k = append(k, x) }
	sort.Ints(k); fmt.Println(k, m[19])
	func() { defer func() { fmt.Println(recover()) }(); var p *int; *p = 1 }()
	c := make(chan string); go func() { time.Sleep(5 * time.Millisecond); c <- "late" }()
	fmt.Println(<-c)
	o, _ := exec.Command("echo", "child").Output()
	fmt.Print(string(o), strings.Repeat("x", 3), "\n"); os.Exit(11)
}
END
	GO111MODULE=off go build -o a a.go
}

blob()
{
	text
	head -c 200000 "$ANYPERF" >blob
}

m4_input()
{
	cat >a.m4 <<-'END'
	define(`f', `ifelse($1, 0, 1, `eval($1 * f(decr($1)))')')f(9)
	syscmd(`echo from a shell; exit 3')sysval divert(1)last
	divert`'len(format(`%x', 255)) m4exit(2)
	END
}

export GOCACHE=$tmp/go GOFLAGS=-p=2
both "ruby: threads, fork, fibers, collection" 4 ruby_script ruby a.rb
both "lua: coroutines, sort" 6 lua_script lua5.4 a.lua
both "luajit: traces, foreign functions, callbacks" 9 luajit_script luajit a.lua
both "php" 7 php_script php a.php
both "guile: compiled on the fly, continuations" 5 guile_script guile --no-auto-compile a.scm
both "tclsh: exec, timers" 3 tcl_script tclsh a.tcl
both "sbcl: native code, signals as barriers" 8 sbcl_script sbcl --script a.lisp
both "go: goroutines, preemption by signals, raw system calls" 11 go_program ./a
both "go build" 0 go_program go build -o b a.go
both "busybox: a static program of many" 3 text busybox sh -c 'sort -r text | head -n 3; md5sum text; exit 3'
both "zstd with threads" 0 blob sh -c 'zstd -19 -qc blob | zstd -dc | cmp - blob && zstd -T2 -qc text | md5sum'
both "jq" 5 nothing jq -n '[range(20000)] | map(. * 3 % 7) | group_by(.) | map(length), error("x")'
both "bc: many digits" 0 nothing sh -c 'echo "scale=300; 4*a(1)" | bc -l'
both "m4" 2 m4_input m4 a.m4
both "vim" 6 nothing vim.tiny -es -u NONE -c 'put =range(1,9)' -c '%s/5/five/' -c 'w! out' -c 'cq 5'
both "ed" 0 nothing sh -c 'printf "a\nhello\n.\n,s/l/L/\n,p\nQ\n" | ed -s'
both "rsync" 0 text sh -c 'mkdir a && cp text a && touch -d @1 a/text && rsync -a --itemize-changes a/ b/ && echo x >>a/text && touch -d @2 a/text && rsync -ac --itemize-changes a/ b/'
both "gawk: arbitrary arithmetic, sockets not" 0 text gawk '{ s[$1 % 9] += $3 } END { n = asort(s); for (i = 1; i <= n; i++) print s[i], strtonum("0x" i) }' text
done_testing
