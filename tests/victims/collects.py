"""What CPython marks, with known counts: a round for each line on standard input.

    collects.py COLLECTIONS CALLS

A round makes garbage and collects it, calls functions, generators and what raises, and says how
often by the interpreter's own counts: gc.get_stats(), gc.callbacks, and the profiler, which is
written in C. It reads and writes by system calls, since sys.stdin and json run Python code too.
"""

import _lsprof
import gc
import os
import sys
import time

COLLECTIONS, CALLS = int(sys.argv[1]), int(sys.argv[2])
NODES = 50000


class Node:
    """Each is part of a cycle."""

    def __init__(self):
        self.self = self


def leaf(i):
    return i + 1


def raises(i):
    raise ValueError(i)


def yields(n):
    for i in range(n):
        yield i


def calls():
    total = 0
    for i in range(CALLS):
        total = leaf(total)
        try:
            raises(i)
        except ValueError:
            pass
    return total + sum(yields(CALLS))


def throws(n):
    """Generators that are resumed by an exception: what function__entry marks in CPython 3.11."""
    for _ in range(n):
        generator = yields(2)
        next(generator)
        try:
            generator.throw(ValueError)
        except ValueError:
            pass


took = {"start": 0, "stop": 0, "n": 0}


def watch(phase, _info):
    took[phase] += time.perf_counter_ns()
    took["n"] += 1


def collect():
    """Collections on demand, and such as the interpreter begins by itself."""
    for i in range(COLLECTIONS):
        nodes = [Node() for _ in range(NODES)]
        del nodes
        gc.collect(i % 3)


def work():
    collect()
    calls()
    throws(3)


def counted_calls():
    """What the profiler counts in a round, without the calls of watch."""
    profiler, before = _lsprof.Profiler(builtins=False), took["n"]
    profiler.enable()
    work()
    profiler.disable()
    made = sum(entry.callcount for entry in profiler.getstats() if not isinstance(entry.code, str))
    return made - (took["n"] - before)


def main():
    """Apart from work() and watch(), no function is called in a round."""
    gc.callbacks.append(watch)
    made = counted_calls()
    os.write(1, b"ready %d\n" % os.getpid())
    while os.read(0, 1) == b"\n":
        took["start"] = took["stop"] = took["n"] = 0
        a, b, c = gc.get_stats()
        before = a["collections"] + b["collections"] + c["collections"]
        work()
        a, b, c = gc.get_stats()
        after = a["collections"] + b["collections"] + c["collections"]
        os.write(1, b'{"collections": %d, "callbacks": %d, "ns": %d, "calls": %d}\n' % (
            after - before, took["n"], took["stop"] - took["start"], made + took["n"]))


main()
