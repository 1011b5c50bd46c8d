# SPDX-License-Identifier: MIT
"""Writes the benchmark's inputs into a folder.  The same bytes on every machine and Python."""
import os
import sys


class Random:
    """A linear congruential generator of its own: the library's may change."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        return (self.state >> 33) * n >> 31


def vocabulary(rnd, n):
    syllables = [c + v + e for c in "bcdfghklmnprst" for v in "aeiou" for e in ("", "n", "r", "st")]
    return ["".join(syllables[rnd.below(len(syllables))] for _ in range(1 + rnd.below(4)))
            for _ in range(n)]


def text(path, size):
    """Prose-like: few words are frequent, phrases repeat, numbers and punctuation in between."""
    rnd = Random(1)
    words = vocabulary(rnd, 8000)
    phrases = [" ".join(words[rnd.below(1 + rnd.below(8000))] for _ in range(5))
               for _ in range(500)]
    written = 0
    with open(path, "w", encoding="ascii") as out:
        while written < size:
            parts = []
            for _ in range(8 + rnd.below(8)):
                kind = rnd.below(20)
                if kind == 0:
                    parts.append(str(rnd.below(100000)))
                elif kind == 1:
                    parts.append(phrases[rnd.below(500)] + ",")
                else:
                    parts.append(words[rnd.below(1 + rnd.below(8000))])
            line = " ".join(parts).capitalize() + ".\n"
            written += out.write(line)


def heads(path, sizes):
    """Shorter inputs are the beginning of the long one: PATH.2m and so on."""
    with open(path, "rb") as source:
        data = source.read()
    for name, size in sizes.items():
        with open(path + "." + name, "wb") as out:
            out.write(data[:size])


def table(path, lines):
    """Lines to be sorted: a number, a name, a hexadecimal number."""
    rnd = Random(2)
    names = vocabulary(rnd, 3000)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(lines):
            out.write("%d %s %x\n" % (rnd.below(5000), names[rnd.below(3000)],
                                      rnd.below(1 << 30)))


def c_function(rnd, n):
    """One function of C with loops, branches, arrays, a switch and calls to earlier ones."""
    lines = ["unsigned f%d(unsigned a, unsigned b, struct item *p)" % n, "{",
             "\tunsigned r = a * %du, v[8] = { b, %d };" % (rnd.below(99) + 1, rnd.below(99))]
    for _ in range(4 + rnd.below(5)):
        x, y = rnd.below(8), rnd.below(8)
        kind = rnd.below(5)
        if kind == 0:
            lines.append("\tfor (unsigned i = 0; i < b %% %du; i++)" % (rnd.below(50) + 2))
            lines.append("\t\tv[(i + %d) & 7] += p->key[i & 3] ^ r >> %d;" % (x, y + 1))
        elif kind == 1:
            lines.append("\tif (v[%d] > r %% %du && p->next)" % (x, rnd.below(1000) + 2))
            lines.append("\t\tr += p->next->key[%d] - v[%d];" % (y & 3, y))
            lines.append("\telse\n\t\tv[%d] -= a << %d;" % (y, x + 1))
        elif kind == 2:
            lines.append("\tswitch (r & 7) {")
            for case in range(6):
                lines.append("\tcase %d: v[%d] += %d; break;" % (case, rnd.below(8),
                                                                rnd.below(999)))
            lines.append("\tdefault: r ^= v[%d] * %du; }" % (x, rnd.below(999) + 1))
        elif kind == 3 and n:
            lines.append("\tr += f%d(v[%d], a & %d, p);" % (rnd.below(n), x, rnd.below(64)))
        else:
            lines.append("\tp->weight = p->weight * %d.5 + v[%d]; r += (unsigned)p->weight;"
                         % (y, x))
    return "\n".join(lines + ["\treturn r + v[a & 7];", "}", ""])


def c_source(path, functions):
    rnd = Random(3)
    with open(path, "w", encoding="ascii") as out:
        out.write("struct item { struct item *next; unsigned key[4]; double weight; };\n")
        for n in range(functions):
            out.write(c_function(rnd, n))


def sql(path, rows, queries):
    rnd = Random(4)
    names = vocabulary(rnd, 500)
    with open(path, "w", encoding="ascii") as out:
        out.write("create table t(id integer primary key, name text, a int, b real);\n"
                  "create table u(a int, note text);\nbegin;\n")
        for i in range(rows):
            out.write("insert into t values(%d,'%s',%d,%d.5);\n"
                      % (i, names[rnd.below(500)], rnd.below(1000), rnd.below(10000)))
        for i in range(1000):
            out.write("insert into u values(%d,'%s');\n" % (i, names[rnd.below(500)]))
        out.write("commit;\ncreate index ta on t(a);\n")
        for _ in range(queries):
            out.write("select name, count(*), sum(b) from t where a %% %d = 1 group by name"
                      " order by 3 desc, name limit 3;\n" % (rnd.below(9) + 2))
            out.write("select u.note, max(t.b) from t join u on t.a = u.a where t.name like"
                      " '%%%s%%' group by u.note order by 2 desc, 1 limit 2;\n"
                      % names[rnd.below(500)][:2])
            out.write("update t set b = b + 1 where a between %d and %d;\n"
                      % (lambda x: (x, x + 20))(rnd.below(900)))
        out.write("select count(*), sum(b), sum(a) from t;\n")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    text(os.path.join(folder, "text"), 14 << 20)
    heads(os.path.join(folder, "text"), {"2m": 2200000, "3m": 2900000, "8m": 8000000})
    table(os.path.join(folder, "table"), 1200000)
    c_source(os.path.join(folder, "big.c"), 110)
    sql(os.path.join(folder, "work.sql"), 60000, 31)


main()
