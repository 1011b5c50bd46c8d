# SPDX-License-Identifier: MIT
"""Pure Python: classes, dicts, strings, generators, closures, exceptions, sorting."""
import sys


class Vec:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)


def queens(n):
    def place(row, cols, diag, anti):
        if row == n:
            return 1
        found = 0
        for col in range(n):
            if not (cols >> col & 1 or diag >> (row + col) & 1 or anti >> (row - col + n) & 1):
                found += place(row + 1, cols | 1 << col, diag | 1 << (row + col),
                               anti | 1 << (row - col + n))
        return found
    return place(0, 0, 0, 0)


def words(n):
    counts = {}
    state = 1
    for _ in range(n):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        word = "w%d" % (state >> 16 & 1023)
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def vectors(n):
    total = Vec(0, 0)
    for i in range(n):
        total = total + Vec(i & 7, i % 3)
    return total.x, total.y


def failures(n):
    caught = 0
    for i in range(n):
        try:
            if i % 3 == 0:
                raise ValueError(i)
            caught += (yield_sum(i & 15))
        except ValueError as error:
            caught += error.args[0] & 1
    return caught


def yield_sum(n):
    return sum(i * i for i in range(n))


def text(n):
    lines = ["%05d,%s,%x" % (i, "ab" * (i % 5), i * 7) for i in range(n)]
    return len("".join(sorted(line.upper().replace("A", "-") for line in lines)).split(","))


for _ in range(int(sys.argv[1])):
    print(queens(6), words(20000), vectors(20000), failures(10000), text(10000))
