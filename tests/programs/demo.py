# SPDX-License-Identifier: MIT
# What `make demo` counts: python computing in its main thread, in a second thread, and in a
# child process that it runs.  The whole tree is one row of numbers.
import subprocess
import sys
import threading


def queens(n, columns=0, left=0, right=0):
    """Ways to put n queens on an n x n board so that none attacks another."""
    full = (1 << n) - 1
    if columns == full:
        return 1
    ways = 0
    free = full & ~(columns | left | right)
    while free:
        bit = free & -free
        free ^= bit
        ways += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return ways


def primes(limit):
    sieve = bytearray([1]) * (limit + 1)
    sieve[0:2] = b"\0\0"
    for i in range(2, int(limit**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = bytes(len(range(i * i, limit + 1, i)))
    return sum(sieve)


def main():
    found = {}
    thread = threading.Thread(target=lambda: found.update(primes=primes(1_000_000)))
    thread.start()
    found["queens"] = queens(8)
    thread.join()
    child = subprocess.run(
        [sys.executable, "-c", "print(sum(i * i for i in range(200000)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    print("8 queens: %d ways" % found["queens"])
    print("primes up to 1,000,000: %d" % found["primes"])
    print("a child process says: %s" % child.stdout.strip())


main()
