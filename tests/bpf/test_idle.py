"""What the exporter takes of a CPU while nothing calls the probed functions: 2,000 processes that
filters select, and 50 programs a second that start and are nobody's business.

Measured for as long as the environment's UP_IDLE_SECONDS says.
"""

import contextlib
import os
import re
import subprocess
import sys
import time
import unittest

import victim
from exporter import Exporter, config, setUpModule, target
from test_processes import named

SECONDS = int(os.environ.get("UP_IDLE_SECONDS", 10))
PROCESSES, STARTS = 2000, 50
AT_MOST = 2.0  # percent, where 0.2 is wanted of a machine that does nothing else
READS_PER_START = 1.5  # of /proc: the arguments, which no filter is content with
PASS_SECONDS = 60  # between looks at everyone, who are read the same way

CROWD = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
for _ in range(int(sys.argv[1])):
    os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=quiet)
print("there", flush=True)
sys.stdin.read()
"""
STARTER = """
import os, sys, time
began, n = time.monotonic(), 0
while (now := time.monotonic() - began) < float(sys.argv[1]):
    for _ in range(int(now * float(sys.argv[2])) - n):
        os.posix_spawn(sys.argv[3], sys.argv[3:], os.environ)
        n += 1
    time.sleep(0.02)
print(n)
"""


def cpu_seconds(pid):
    """Of all its threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as text:
            total += int(text.read().split()[0])
    return total / 1e9


def reads(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as text:
        return int(re.search(r"^syscr: (\d+)", text.read(), re.M).group(1))


def forks():
    """Of the whole machine: others may be busy."""
    with open("/proc/stat", encoding="ascii") as text:
        return int(re.search(r"^processes (\d+)", text.read(), re.M).group(1))


def python(script, *arguments):
    return subprocess.Popen([sys.executable, "-S", "-c", script, *map(str, arguments)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def crowd(file):
    """So many processes that wait for the end of their input."""
    with python(CROWD, PROCESSES, file, 1, 1, "early") as parent:
        parent.stdout.readline()
        try:
            yield
        finally:
            parent.stdin.close()


class Idle(unittest.TestCase):
    def test_many_processes_and_starts(self):
        file, counting = victim.path("threads"), {"symbol": "work", "exit": "none"}
        text = config(
            target(file, counting, name="labelled", process={"exe": named("chosen")},
                   labels_from=["container"]),
            target(file, counting, name="other", process={"cmdline": "'^nobody'"}))
        with crowd(named("chosen")), Exporter(text) as e:
            time.sleep(1)
            cpu, read, began = cpu_seconds(e.pid), reads(e.pid), time.monotonic()
            starts = -forks()
            with python(STARTER, SECONDS, STARTS, "/bin/sleep", 1) as starter:
                starter.stdout.readline()
            starts += forks()
            seconds = time.monotonic() - began
            share = (cpu_seconds(e.pid) - cpu) / seconds * 100
            # the last one was up to a few seconds before
            passes = (seconds + 5) // PASS_SECONDS * PROCESSES
            read = reads(e.pid) - read - passes
            print(f"{share:.3f}% of a CPU over {seconds:.0f} s; {starts} starts, {read / starts:.2f} "
                  "reads each", file=sys.stderr)
            self.assertLess(read / starts, READS_PER_START)
            self.assertLess(share, AT_MOST)


if __name__ == "__main__":
    unittest.main()
