"""Start the programs of tests/victims, tell them to make their calls, look into their memory."""

import atexit
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

BUILD = os.environ.get("UP_BUILD") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build")


@functools.lru_cache(None)
def _own_folder():
    folder = tempfile.mkdtemp(prefix="uprobe-victims-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(None)
def path(name):
    """A victim's file, or any other by its absolute path: a copy of this process' own, for a probe
    is on the file, and whoever else runs or probes the original would be counted as well."""
    return shutil.copy(os.path.join(BUILD, "victims", name), _own_folder())


def wait_until(condition, seconds=20, what="", step=0.02):
    """Poll until condition() is true and return its value; fail after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what or condition}")
        time.sleep(step)


def symbols(file, dynamic=False):
    """{function: (address, size)} of an ELF file, as nm has it."""
    command = ["nm", "--defined-only", "-S"] + (["-D"] if dynamic else []) + [file]
    found = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n"):
        match = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (\S+)$", line)
        if match:
            found[match.group(3).split("@")[0]] = (int(match.group(1), 16), int(match.group(2), 16))
    return found


class Victim:
    """A running victim. Use it as a context manager: it ends with the block."""

    def __init__(self, name, *arguments, env=None, wait=True):
        self.file = name if "/" in name else path(name)
        self.child = subprocess.Popen(
            [self.file, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=dict(os.environ, **(env or {})))
        self.buffer = b""
        self.pid = self.child.pid
        if wait:
            try:
                self.wait_ready()
            except BaseException:
                self.kill()
                raise

    def line(self, seconds=120):
        """The next line of its output."""
        end = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            if not select.select([self.child.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{self.file} said nothing for {seconds} s")
            more = os.read(self.child.stdout.fileno(), 65536)
            if not more:
                raise AssertionError(f"{self.file} ended: status {self.child.wait()}")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def wait_ready(self):
        line = self.line()
        assert line == f"ready {self.pid}", line

    def begin(self):
        self.child.stdin.write(b"\n")
        self.child.stdin.flush()

    def result(self, seconds=120):
        return json.loads(self.line(seconds))

    def round(self):
        """One round of calls; what it says about them."""
        self.begin()
        return self.result()

    def end(self, seconds=20):
        """Close its input and wait for its end; the exit status."""
        if self.child.stdin and not self.child.stdin.closed:
            self.child.stdin.close()
        try:
            return self.child.wait(seconds)
        finally:
            self.child.stdout.close()

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def maps(self, file=None):
        """[(start, end, file offset)] of the mappings of a file, lowest first."""
        file = os.path.realpath(file or self.file)
        found = []
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as lines:
            for line in lines:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].rstrip("\n") == file:
                    start, end = (int(x, 16) for x in fields[0].split("-"))
                    found.append((start, end, int(fields[2], 16)))
        return found

    def code(self, symbol, file=None, dynamic=False):
        """The code of a function: (in the process' memory, in the file)."""
        file = file or self.file
        address, size = symbols(file, dynamic)[symbol]
        with open(file, "rb") as image:
            content = image.read()
        base = 0 if content[16] == 2 else self.maps(file)[0][0]  # ET_EXEC is where it says
        start, _, offset = next(m for m in self.maps(file) if m[0] <= base + address < m[1])
        at = base + address - start + offset
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(base + address)
            return memory.read(size), content[at:at + size]

    def is_probed(self, symbol, file=None, dynamic=False):
        """Whether the code of a function in memory differs from the file's: a breakpoint."""
        memory, content = self.code(symbol, file, dynamic)
        return memory != content

    def private_text_kib(self, file):
        """KiB of the file's executable mappings that are no longer shared with others."""
        total, inside = 0, False
        with open(f"/proc/{self.pid}/smaps", encoding="utf-8") as lines:
            for line in lines:
                if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                    fields = line.split(None, 5)
                    inside = "x" in fields[1] and len(fields) == 6 and fields[5].strip() == file
                elif inside and line.startswith("Anonymous:"):
                    total += int(line.split()[1])
        return total

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.kill()
        for stream in (self.child.stdin, self.child.stdout):
            try:
                stream.close()
            except OSError:
                pass
