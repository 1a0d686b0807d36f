"""What a probe costs real programs: PostgreSQL's PortalRun and the C library's malloc.

There are as many processes as contenders, each running a copy of the file. All contenders are
attached at once and take turns of a millisecond; then all move on to the next process, until each
has been on every one: two processes of one program differ by more than two tools do. The cost is the
processor time of the process, from the kernel's scheduler, which does not count what others do.
"""

import glob
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import tools
from tools import Missing, victim

CONTENDERS = ("unprobed", "limit", "session", "bpftrace", "BCC", "libbpf-tools")
STATEMENTS, CALLS = 200, 2000  # a turn
ROUNDS = 150  # of turns, before all move on
READY_SECONDS = 90


def cpu_ns(pid):
    """Nanoseconds that the threads of a process have run (proc(5), schedstat)."""
    total = 0
    for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(task, encoding="ascii") as line:
            total += int(line.read().split()[0])
    return total


class Server:
    """A PostgreSQL server that runs a copy of the executable, and one session in it."""

    symbol = "PortalRun"
    calls = STATEMENTS

    def __init__(self, folder, name):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        if not found:
            raise Missing("PostgreSQL is not installed")
        self.folder = os.path.join(folder, name)
        # it finds its libraries and files from where it lies
        home = self.folder + os.path.dirname(os.path.dirname(found[-1]))
        version = os.path.basename(home)
        os.makedirs(home + "/bin")
        os.makedirs(self.folder + "/usr/share/postgresql")
        os.symlink(os.path.dirname(os.path.dirname(found[-1])) + "/lib", home + "/lib")
        os.symlink("/usr/share/postgresql/" + version,
                   f"{self.folder}/usr/share/postgresql/{version}")
        self.file = shutil.copy(found[-1], home + "/bin/postgres")
        shutil.chown(self.folder, "postgres", "postgres")
        make_data(os.path.dirname(found[-1]), self.folder)
        self.session = None
        with open(self.folder + "/log", "wb") as log:
            self.child = subprocess.Popen(
                [*as_postgres(), self.file, "-D", self.folder + "/data", "-k", self.folder,
                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off",
                 "-c", "shared_buffers=8MB", "-c", "max_connections=10"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.statements = "\\;".join(["SELECT WHERE false"] * self.calls) + ";\n"

    def connect(self):
        victim.wait_until(lambda: os.path.exists(self.folder + "/.s.PGSQL.5432"), 60, self.file)
        for _ in range(50):
            self.session = subprocess.Popen(
                [*as_postgres(), "psql", "-XqAt", "-h", self.folder, "postgres"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            answer = self.say("SELECT pg_backend_pid();\n")
            if answer.strip().isdigit():
                self.pid = int(answer)
                return
            self.session.wait()
            time.sleep(0.2)
        raise Missing("PostgreSQL does not answer")

    def say(self, text):
        try:
            self.session.stdin.write(text)
            self.session.stdin.flush()
        except OSError:
            return ""
        return self.session.stdout.readline()

    def turn(self):
        """Nanoseconds of processor time a statement."""
        before = cpu_ns(self.pid)
        self.say(self.statements + "\\echo done\n")
        return (cpu_ns(self.pid) - before) / self.calls

    def stop(self):
        if self.session:
            self.session.stdin.close()
            self.session.wait(30)
        self.child.send_signal(signal.SIGINT)  # fast shutdown
        self.child.wait(60)


def as_postgres():
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", "LC_ALL=C"]


def make_data(programs, folder):
    subprocess.run([*as_postgres(), programs + "/initdb", "-D", folder + "/data", "-A", "trust",
                    "-N", "--locale=C"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


class Mallocs:
    """tests/victims/mallocs on a copy of the C library; a turn calls malloc and free CALLS times."""

    symbol = "malloc"
    calls = CALLS

    def __init__(self, folder, name):
        folder = os.path.join(folder, name)
        os.mkdir(folder)
        self.file = shutil.copy(c_library(), folder)
        self.victim = victim.Victim("mallocs", 1, CALLS, env={"LD_LIBRARY_PATH": folder})
        self.pid = self.victim.pid

    def connect(self):
        assert self.victim.maps(self.file), "it runs on the library's copy"

    def turn(self):
        before = cpu_ns(self.pid)
        self.victim.round()
        return (cpu_ns(self.pid) - before) / CALLS

    def stop(self):
        self.victim.end()
        self.victim.child.stdout.close()


def filter_of(process, filtered):
    return {"process": {"pid": process.pid}} if filtered else {}


def start_tool(contender, process, filtered):
    pid = process.pid if filtered else None
    keys = filter_of(process, filtered)
    if contender == "session":
        return tools.Ours(process.file, [(process.symbol, "auto")], "session", **keys)
    if contender == "limit":
        plan = tools.resolve(process.file, [(process.symbol, "auto")], **keys)
        return tools.Empty("session", process.file, [plan[process.symbol]["entry_offset"]])
    start = {"bpftrace": tools.bpftrace, "BCC": tools.bcc, "libbpf-tools": tools.libbpf_tools}
    return start[contender](process.file, [process.symbol], pid)


def wait_probed(process, tool):
    """The file's code in the process changes when the breakpoint comes."""
    end = time.monotonic() + READY_SECONDS
    running = process.victim if isinstance(process, Mallocs) else None
    while time.monotonic() < end and tool.alive():
        if is_probed(process, running):
            time.sleep(0.5)  # the other direction, where a tool attaches them one by one
            return
        time.sleep(0.2)
    raise Missing("its probes did not come: " + " / ".join(tool.text().strip().splitlines()[-3:]))


def is_probed(process, running):
    looker = running or victim.Victim.__new__(victim.Victim)
    looker.pid = process.pid
    return looker.is_probed(process.symbol, process.file, dynamic=True)


class Table:
    """The turns of all contenders, as they move from process to process."""

    def __init__(self, processes, filtered):
        self.processes, self.filtered = processes, filtered
        self.costs = [[] for _ in processes]  # of each move, each round: {contender: ns}
        self.skipped, self.complete = {}, {}

    def process_of(self, contender, move):
        at = CONTENDERS.index(contender)
        return self.processes[(at + move) % len(self.processes)]

    def attach(self, move):
        running = {}
        for contender in CONTENDERS[1:]:
            if contender in self.skipped:
                continue
            try:
                running[contender] = start_tool(contender, self.process_of(contender, move),
                                                self.filtered)
            except Missing as why:
                self.skip(contender, why)
        for contender, tool in list(running.items()):
            try:
                wait_probed(self.process_of(contender, move), tool)
            except Missing as why:
                running.pop(contender).stop()
                self.skip(contender, why)
        return running

    def skip(self, contender, why):
        print(f"{contender}: skipped: {why}", file=sys.stderr)
        self.skipped[contender] = str(why)

    def move(self, move):
        """All contenders on one process each."""
        running = {}
        try:
            running = self.attach(move)
            chosen = ["unprobed", *running]
            for i in range(ROUNDS):
                at = i % len(chosen)
                costs = {c: self.process_of(c, move).turn() for c in chosen[at:] + chosen[:at]}
                self.costs[move].append(costs)
        finally:
            for contender, tool in running.items():
                counted = tool.stop()
                made = ROUNDS * self.process_of(contender, move).calls
                if counted is not None:
                    self.complete[contender] = (self.complete.get(contender, True) and
                                                counted >= made)

    def added(self):
        """{contender: what its probe adds to a call}, also as multiples of what others add."""
        table = {}
        for name in CONTENDERS[1:]:
            if name in self.skipped:
                continue
            extra = [statistics.median(cost[name] - cost["unprobed"] for cost in move)
                     for move in self.costs]
            table[name] = {"added": statistics.mean(extra), "least": min(extra),
                           "most": max(extra), "complete": self.complete.get(name, True)}
        for row in table.values():
            row["to"] = {other: row["added"] / table[other]["added"] for other in table}
        return table


def compare(make, filtered):
    """One program under every contender."""
    folder = tempfile.mkdtemp(prefix="uprobe-bench-")
    os.chmod(folder, 0o755)
    processes = []
    try:
        for name in CONTENDERS:
            processes.append(make(folder, name))
        for process in processes:
            process.connect()
        some = processes[0]
        plan = tools.resolve(some.file, [(make.symbol, "auto")], **filter_of(some, filtered))
        table = Table(processes, filtered)
        for move in range(len(processes)):
            table.move(move)
        return {"costs": table.added(), "skipped": table.skipped,
                "exit": plan[make.symbol]["exit_strategy"], "why": plan[make.symbol]["detail"]}
    finally:
        for process in processes:
            process.stop()
        shutil.rmtree(folder, ignore_errors=True)


def c_library():
    for line in subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if line.strip().startswith("libc.so.6 => "):
            return line.split()[2]
    raise Missing("no C library found")


def measure(_options):
    found = {}
    for name, make, filtered in (("PostgreSQL PortalRun", Server, False),
                                 ("libc malloc", Mallocs, True)):
        print(f"program: {name}", file=sys.stderr)
        try:
            found[name] = compare(make, filtered)
        except Missing as why:
            found[name] = {"missing": str(why)}
    return found
