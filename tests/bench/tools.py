"""The contenders: how each tool is started on given functions, stopped, and what it counted.

Every tool of the kernel's perf interface takes a quarter of a second a function to detach, so
stopping takes a while.
"""

import atexit
import glob
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))

import exporter  # pylint: disable=wrong-import-position
import victim  # pylint: disable=wrong-import-position

BENCH = os.path.join(victim.BUILD, "bench")
STOP_SECONDS = 60
# `12 |@@@ |` or `: 12 |***`: a row of a histogram that a tool prints at its end
HISTOGRAM_ROW = re.compile(r"(?::\s+|\)\s+|\]\s+)(\d+)\s+\|")
COUNTER = re.compile(r"^@\w*: (\d+)$", re.M)

TIME = "{ @start[tid] = nsecs; }"
TAKE = "{ @ = hist(nsecs - @start[tid]); }"


class Missing(Exception):
    """A tool that is not there or does not work here; the text says why."""


def program(*names):
    for name in names:
        found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
        if found:
            return found
    raise Missing(f"{names[0]} is not installed")


def copy_of(name):
    """A file of build/bench, copied: nobody else's probes are on it."""
    folder = tempfile.mkdtemp(prefix="uprobe-bench-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copy(os.path.join(BENCH, name), folder)


class Tool:
    """A running peer. Its output goes to a file, so that it never waits for a reader."""

    def __init__(self, command, env=None, stdin=subprocess.DEVNULL):
        self.out = tempfile.TemporaryFile()  # closed by stop()
        self.child = subprocess.Popen(command, stdin=stdin, stdout=self.out,
                                      stderr=subprocess.STDOUT, env=dict(os.environ, **(env or {})))

    def text(self):
        self.out.seek(0)
        return self.out.read().decode(errors="replace")

    def alive(self):
        return self.child.poll() is None

    def interrupt(self):
        if self.alive():
            self.child.send_signal(signal.SIGINT)

    def stop(self):
        """What it counted in all."""
        self.interrupt()
        try:
            self.child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        text = self.text()
        self.out.close()
        return (sum(map(int, HISTOGRAM_ROW.findall(text))) +
                sum(map(int, COUNTER.findall(text))))


class Several:
    """Tools that take one function each, seen as one."""

    def __init__(self, tools):
        self.tools = tools

    def alive(self):
        return all(tool.alive() for tool in self.tools)

    def text(self):
        return "".join(tool.text() for tool in self.tools)

    def stop(self):
        for tool in self.tools:  # all at once: each takes half a second
            tool.interrupt()
        return sum(tool.stop() for tool in self.tools)


class Empty(Tool):
    """An empty program on the sites: the limit. Ends with its input."""

    def __init__(self, kind, file, offsets):
        super().__init__([os.path.join(BENCH, "empty"), os.path.join(BENCH, "empty.bpf.o"), kind,
                          file, *map(str, offsets)], stdin=subprocess.PIPE)

    def stop(self):
        self.child.stdin.close()
        super().stop()


def bpftrace(file, functions, pid=None):
    points = [f"{file}:{name}" for name in functions]
    script = (",".join("uprobe:" + point for point in points) + " " + TIME + " " +
              ",".join("uretprobe:" + point for point in points) + " " + TAKE +
              " END { clear(@start); }")
    return Tool([program("bpftrace"), *(["-p", str(pid)] if pid else []), "-e", script])


def bpftrace_count(file, functions, pid=None):
    del pid
    points = ",".join(f"uprobe:{file}:{name}" for name in functions)
    return Tool([program("bpftrace"), "-e", points + " { @ = count(); }"])


def bcc(file, functions, pid=None):
    pattern = "^(" + "|".join(functions) + ")$"
    return Tool([program("funclatency-bpfcc"), *(["-p", str(pid)] if pid else []), "-r",
                 f"{file}:{pattern}"], env=bcc_environment())


def libbpf_tools(file, functions, pid=None):
    command = [program("funclatency"), *(["-p", str(pid)] if pid else [])]
    library = re.match(r"lib(\w+)[.-]", os.path.basename(file))
    if pid and library:
        file = library.group(1)  # it finds the file in the process itself
    return Several([Tool([*command, f"{file}:{name}"]) for name in functions])


def bcc_environment():
    """BCC compiles at run time and needs a kernel's headers. On a kernel without its own, those
    of the distribution do: a uprobe uses nothing of them that differs."""
    own = f"/lib/modules/{platform.release()}/build"
    if os.path.isdir(own) or os.path.exists("/sys/kernel/kheaders.tar.xz"):
        return {}
    folder = os.path.join(BENCH, "headers")
    if not os.path.isdir(os.path.join(folder, "include", "linux")):
        merge_headers(folder)
    return {"BCC_KERNEL_SOURCE": folder}


def merge_headers(folder):
    """Debian divides the headers into a part for all flavours and one for each: put together."""
    flavours = [path for path in sorted(glob.glob("/usr/src/linux-headers-*"))
                if os.path.isdir(path + "/include/generated")]
    if not flavours:
        raise Missing("BCC needs kernel headers and there are none in /usr/src")
    common = re.sub(r"-[a-z0-9]+$", "-common", flavours[-1])
    for part in (common, flavours[-1]):
        for tree in ("arch", "include"):
            if os.path.isdir(f"{part}/{tree}"):
                shutil.copytree(f"{part}/{tree}", f"{folder}/{tree}", symlinks=True,
                                dirs_exist_ok=True)


def version_of(package):
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True,
                          text=True, check=False)
    return said.stdout if said.returncode == 0 else "not installed"


class Ours:
    """The exporter on functions of one file: [(name, exit)]."""

    def __init__(self, file, functions, tier=None, **keys):
        self.names = [name for name, _ in functions]
        self.exits = dict(functions)
        entries = [exporter.function(name, exit=how) for name, how in functions]
        text = exporter.config(exporter.target(file, *entries, name="bench", **keys))
        self.exporter = exporter.Exporter(text, tier, as_root=True)  # as the tools beside it

    def alive(self):
        return self.exporter.child.poll() is None

    def text(self):
        return self.exporter.log_text()

    def counted(self, names):
        total = 0
        for name in names:
            if self.exits[name] == "none":
                total += self.exporter.scrape().value("uprobe_function_calls_total", function=name)
            else:
                total += self.exporter.account(name)["observed"]
        return int(total)

    def stop(self):
        try:
            counted = self.counted(self.names)
            self.exporter.stop(seconds=STOP_SECONDS)
            return counted
        finally:
            self.exporter.discard()


def resolve(file, functions, **keys):
    """What `check` decides: {function: its object}. Functions are [(name, exit)]."""
    entries = [exporter.function(name, exit=how) for name, how in functions]
    text = exporter.config(exporter.target(file, *entries, name="bench", **keys))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(text)
        config.flush()
        said = exporter.run("check", "--json", f"--config.file={config.name}", seconds=120).stdout
    return {probe["function"]: probe for probe in json.loads(said)}
