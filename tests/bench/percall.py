"""What one call costs under each tool: all of them attached at once, each to a copy of its own,
while rounds alternate."""

import os
import subprocess
import sys
import time

import stats
import tools
from tools import Missing

# contender: the copy of each function that it gets. The order is that of the tables.
COPY = {"unprobed": 0, "limit": 1, "session": 2, "multi": 3, "perf": 4, "return-sites": 5,
        "none": 6, "limit, entry": 7, "bpftrace": 8, "BCC": 9, "BCC -p": 10, "libbpf-tools": 11,
        "bpftrace count": 12, "uretprobe": 13}
KINDS = {"calls": ("push", "endbr", "sub", "lea", "nop5", "nop"), "callsxx": ("cxx",)}
GO_COPY = {"unprobed": 0, "none": 1, "limit, entry": 2, "bpftrace count": 3}
REFERENCES = ("limit", "limit, entry", "bpftrace", "BCC", "BCC -p", "libbpf-tools",
              "bpftrace count")
TURN_NS, CALLS_LEAST, CALLS_MOST = 8e6, 500, 20000
READY_SECONDS = 90
PROBED_NS = 250  # a call that takes this much longer than an unprobed one is probed


class Calls:
    """A running build/bench/calls and the like."""

    def __init__(self, name):
        self.file = tools.copy_of(name)
        self.child = subprocess.Popen([self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        self.made = {}
        assert self.child.stdout.readline() == "ready\n"

    def ask(self, kind, copy, calls, threads=1):
        """Nanoseconds a call."""
        self.child.stdin.write(f"{kind} {copy} {calls} {threads}\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.file} ended with {self.child.wait()}")
        self.made[copy] = self.made.get(copy, 0) + calls * threads
        return float(answer)

    def end(self):
        self.child.stdin.close()
        return self.child.wait(30)


class Bench:
    """One program, and the contenders that work on it."""

    def __init__(self, name, kinds, copies, prefix=""):
        self.calls = Calls(name)
        self.kinds, self.copies, self.prefix = kinds, copies, prefix
        self.running, self.skipped, self.early, self.entries = {}, {}, {}, {}

    def functions(self, contender):
        return [f"{self.prefix}{kind}_{self.copies[contender]}" for kind in self.kinds]

    def offsets(self, contender):
        """Where our own entry probe would stand: the limit is for the best place."""
        how = "none" if contender == "limit, entry" else "auto"
        plan = tools.resolve(self.calls.file, [(f, how) for f in self.functions(contender)])
        self.entries = self.entries or plan
        return [plan[f]["entry_offset"] for f in self.functions(contender)]

    def start_one(self, contender):
        file, names = self.calls.file, self.functions(contender)
        if contender.startswith("limit"):
            kind = "entry" if "entry" in contender else "session"
            return tools.Empty(kind, file, self.offsets(contender))
        if contender in ("session", "return-sites", "none", "uretprobe"):
            how = "auto" if contender == "session" else contender
            return tools.Ours(file, [(name, how) for name in names], "session")
        if contender in ("multi", "perf"):
            return tools.Ours(file, [(name, "auto") for name in names], contender)
        start = {"bpftrace": tools.bpftrace, "BCC": tools.bcc, "BCC -p": tools.bcc,
                 "libbpf-tools": tools.libbpf_tools, "bpftrace count": tools.bpftrace_count}
        pid = self.calls.child.pid if contender == "BCC -p" else None
        return start[contender](file, names, pid)

    def start(self):
        for contender in self.copies:
            if contender == "unprobed":
                continue
            try:
                self.running[contender] = self.start_one(contender)
            except Missing as why:
                self.skip(contender, str(why))
        for contender in list(self.running):
            self.wait_probed(contender)
            self.early[contender] = self.calls.made.get(self.copies[contender], 0)

    def skip(self, contender, why):
        print(f"{contender}: skipped: {why}", file=sys.stderr)
        self.skipped[contender] = why

    def wait_probed(self, contender):
        end = time.monotonic() + READY_SECONDS
        tool, copy = self.running[contender], self.copies[contender]
        while True:
            extra = min(self.calls.ask(kind, copy, 2000) - self.calls.ask(kind, 0, 2000)
                        for kind in self.kinds)
            if extra > PROBED_NS:
                return
            if not tool.alive() or time.monotonic() > end:
                text = tool.text().strip().splitlines()[-3:]
                tool.stop()
                del self.running[contender]
                self.skip(contender, "its probes did not come: " + " / ".join(text))
                return
            time.sleep(0.3)

    def contenders(self):
        return ["unprobed", *self.running]

    def turn(self, kind, contender, threads=1):
        """One turn of one contender, as long as others' turns."""
        copy = self.copies[contender]
        guess = max(1.0, self.calls.ask(kind, copy, 200, threads))
        calls = int(min(max(TURN_NS / guess, CALLS_LEAST), CALLS_MOST))
        return self.calls.ask(kind, copy, calls, threads)

    def rounds(self, kind, n, threads=1):
        """{contender: [cost]}"""
        costs = {contender: [] for contender in self.contenders()}
        order = list(costs)
        for i in range(n):
            at = i % len(order)
            for contender in order[at:] + order[:at]:
                costs[contender].append(self.turn(kind, contender, threads))
        return costs

    def paired(self, kind, contender, n):
        """[(cost with one thread, cost with two)], alternately."""
        return [(self.turn(kind, contender), self.turn(kind, contender, 2)) for _ in range(n)]

    def stop(self):
        """{contender: (calls made, counted)}; calls from before it attached are not in `made`."""
        counts = {}
        for contender, tool in self.running.items():
            made = self.calls.made.get(self.copies[contender], 0)
            try:
                counted = tool.stop()
            except Exception as fault:  # pylint: disable=broad-except
                self.skip(contender, f"cannot be stopped: {fault}")  # the others must be
                continue
            if counted is not None:
                counts[contender] = {"made": made, "early": self.early.get(contender, 0),
                                     "counted": counted}
        status = self.calls.end()
        if status:
            raise RuntimeError(f"{self.calls.file}: status {status}")
        return counts


def check_counts(counts, ours=("session", "multi", "perf", "return-sites", "none", "uretprobe")):
    """Ours count every call; the others at least those since they were seen to be attached."""
    for contender, count in counts.items():
        least = count["made"] if contender in ours else count["made"] - count["early"]
        count["complete"] = least <= count["counted"] <= count["made"]


def measure_program(name, kinds, copies, options, prefix=""):
    bench = Bench(name, kinds, copies, prefix)
    result = {"kinds": {}, "threads": {}}
    try:
        bench.start()
        for kind in kinds:
            costs = bench.rounds(kind, options.rounds)
            result["kinds"][kind] = stats.against(costs, REFERENCES)
        if name == "calls" and (os.cpu_count() or 1) > 1:
            for contender in bench.contenders():
                pairs = bench.paired("push", contender, options.rounds)
                one, two = zip(*pairs)
                result["threads"][contender] = {"one": stats.summary(one),
                                                "two": stats.summary(two),
                                                "ratio": stats.ratio(two, one)}
    finally:
        result["counts"] = bench.stop()
        check_counts(result["counts"])
    result["skipped"] = bench.skipped
    result["entries"] = {kind: {"class": probe["entry"]["class"], "exit": probe["exit_strategy"],
                                "symbol": probe["entry"]["at_symbol"],
                                "site": probe["entry"]["at_site"]}
                         for kind, probe in zip(kinds, bench.entries.values())}
    return result


def measure(options):
    """{program: what measure_program says}"""
    found = {}
    for name, kinds in KINDS.items():
        print(f"per call: {name}", file=sys.stderr)
        found[name] = measure_program(name, kinds, COPY, options)
    if os.path.exists(os.path.join(tools.BENCH, "callsgo")):
        print("per call: callsgo", file=sys.stderr)
        found["callsgo"] = measure_program("callsgo", ("go",), GO_COPY, options, "main.")
    return found
