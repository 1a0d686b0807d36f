"""Run the exporter as a user does: a config file, a process, its log and its HTTP side."""

import functools
import http.client
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import as_unit
import bpfsys
import scrape
import victim
from victim import wait_until

BINARY = os.path.join(victim.BUILD, "uprobe_exporter")
TIERS = ("session", "multi", "perf")
TIER_KERNEL = {"session": (6, 13), "multi": (6, 6), "perf": (5, 15)}
OPENMETRICS = ("application/openmetrics-text;version=1.0.0,"
               "application/openmetrics-text;version=0.0.1;q=0.75,"
               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
DURATION = "uprobe_function_duration_seconds"
STOP_SECONDS = 2.0


def yaml(value, indent=0):
    """Plain block YAML of dicts, lists and scalars; strings are written as they are."""
    pad = "  " * indent
    if isinstance(value, dict):
        return "".join(f"{pad}{key}:{_nested(item, indent)}" for key, item in value.items())
    return "".join(f"{pad}-{_nested(item, indent)}" for item in value)


def _nested(item, indent):
    if isinstance(item, (dict, list)) and item:
        if isinstance(item, list) and not isinstance(item[0], (dict, list)):
            return " [" + ", ".join(map(str, item)) + "]\n"
        return "\n" + yaml(item, indent + 1)
    return f" {item}\n"


def function(symbol, **keys):
    return {"symbol": symbol, "exit": "uretprobe", **keys}


def target(binary, *functions, name="victim", **keys):
    """A target of the config; functions are names or function()s."""
    return {"name": name,
            "binary": binary if "/" in binary else victim.path(binary), **keys,
            "functions": [function(f) if isinstance(f, str) else f for f in functions]}


def config(*targets, **keys):
    return yaml({**keys, "targets": list(targets)})


def run(*arguments, seconds=60, wrap=(), env=None, binary=BINARY):
    """A command that ends by itself: subprocess.CompletedProcess with text output."""
    return subprocess.run([*wrap, binary, *arguments], capture_output=True, text=True,
                          timeout=seconds, stdin=subprocess.DEVNULL, check=False, env=env)


def tier_missing(tier):
    """Why a tier cannot be tried on this kernel, or ''."""
    release = tuple(int(x) for x in re.findall(r"\d+", platform.release())[:2])
    if release < TIER_KERNEL[tier]:
        return f"kernel {platform.release()} is older than the {tier} tier needs"
    return ""


def default_tier():
    """The first that this kernel has."""
    return next((tier for tier in TIERS if not tier_missing(tier)), TIERS[-1])


def unit_command(tier=None):
    """What starts the exporter as the unit does, put before it."""
    return as_unit.command(perf=(tier or default_tier()) == "perf")


def _tier_test(method, tier):
    @functools.wraps(method)
    def test(self):
        if tier_missing(tier):
            self.skipTest(tier_missing(tier))
        method(self, tier)
    return test


def each_tier(cls):
    """Class decorator: a method `tier_X(self, tier)` becomes test_X_session, _multi and _perf."""
    for name in [name for name in dir(cls) if name.startswith("tier_")]:
        for tier in TIERS:
            setattr(cls, f"test_{name[len('tier_'):]}_{tier}", _tier_test(getattr(cls, name), tier))
    return cls


class Exporter:
    """A running exporter. Leaving the block stops it and requires a clean, quick, full end.

    The release build runs as its systemd unit starts it (as_unit.py), with perf-tier.conf where
    the tier is that one. `as_root` is for tests of what starting as root does, and for what looks
    into it or times it; builds for looking into (sanitizers) are other binaries and start as root.
    """

    def __init__(self, text, tier=None, arguments=(), wrap=(), binary=BINARY, env=None,
                 ready=True, listen=("127.0.0.1:0",), start_seconds=60, as_root=False):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-")
        os.chmod(self.folder, 0o755)  # for an exporter that is not root
        self.config = os.path.join(self.folder, "config.yaml")
        self.log = os.path.join(self.folder, "log")
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(text)
        if binary == BINARY and not as_root:
            wrap = [*wrap, *unit_command(tier)]
        command = [*wrap, binary, f"--config.file={self.config}", "--log.format=json",
                   *(f"--web.listen-address={address}" for address in listen), *arguments]
        if tier:
            command.append(f"--kernel.tier={tier}")
        self.began = time.monotonic()
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=log, env=env)
        self.pid = self.child.pid
        self.held = set()
        self.ready_seconds = None
        if not ready:
            return
        try:
            self.ports = [self._port(i, start_seconds) for i in range(len(listen))]
            self.port = self.ports[0]
            wait_until(self.is_ready, start_seconds, "ready", step=0.01)
            self.ready_seconds = time.monotonic() - self.began
            self.held = bpfsys.held_by(self.pid)
        except BaseException:
            self.discard()
            raise

    # -- its log ------------------------------------------------------------------------------

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as lines:
            return lines.read()

    def logs(self):
        """The log as dicts; lines that are not JSON (a sanitizer's, say) are left out."""
        found = []
        for line in self.log_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                pass
        return found

    def _port(self, n, seconds):
        def look():
            addresses = [entry["address"] for entry in self.logs() if "address" in entry]
            if len(addresses) <= n and self.child.poll() is not None:
                raise AssertionError(f"exporter ended: {self.child.returncode}\n{self.log_text()}")
            return len(addresses) > n and int(addresses[n].rsplit(":", 1)[1])
        return wait_until(look, seconds, "listening")

    # -- its HTTP side ------------------------------------------------------------------------

    def get(self, path="/metrics", method="GET", headers=None, host="127.0.0.1", port=None,
            timeout=20):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection(host, port or self.port, timeout=timeout)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def is_ready(self):
        if self.child.poll() is not None:
            raise AssertionError(f"exporter ended: {self.child.returncode}\n{self.log_text()}")
        try:
            return self.get("/-/ready")[0] == 200
        except OSError:
            return False

    def scrape(self, openmetrics=False):
        status, headers, body = self.get(headers={"Accept": OPENMETRICS} if openmetrics else {})
        assert status == 200, status
        wanted = "application/openmetrics-text" if openmetrics else "text/plain"
        assert headers["Content-Type"].startswith(wanted), headers["Content-Type"]
        return scrape.parse(body, openmetrics)

    def histogram(self, name, **labels):
        return self.scrape().histogram(DURATION, function=name, **labels)

    def account(self, name, **labels):
        """Where the calls of a function went: counts by fate, and their sum."""
        now = self.scrape()
        fates = {"observed": now.value(DURATION + "_count", function=name, **labels),
                 "in_flight": now.value("uprobe_function_in_flight", function=name, **labels)}
        for metric, prefix in (("uprobe_function_abandoned_calls_total", ""),
                               ("uprobe_exporter_events_lost_total", "lost_")):
            for found, value in now.find(metric, function=name, **labels):
                fates[prefix + found["reason"]] = value
        fates["all"] = sum(fates.values())
        return fates

    def attached(self, **labels):
        return self.scrape().value("uprobe_exporter_probe_attached", **labels)

    def open_files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def turns(self):
        """How often its main thread has gone to sleep: four times a second, and for each event."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as text:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text.read(), re.M).group(1))

    def settle(self, seconds=0.6, turns=3):
        """Give it that long, and its main loop so many turns: a busy machine may allow none."""
        before = self.turns()
        time.sleep(seconds)
        wait_until(lambda: self.turns() >= before + turns, 60, "turns of the loop")

    # -- its end ------------------------------------------------------------------------------

    def stop(self, signum=signal.SIGTERM, seconds=300):
        """Signal it and wait: (exit status, seconds it took)."""
        if self.child.poll() is None:
            self.held |= bpfsys.held_by(self.pid)
        begin = time.monotonic()
        self.child.send_signal(signum)
        try:
            status = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise AssertionError(f"still there {seconds} s after {signum!r}") from None
        return status, time.monotonic() - begin

    def assert_nothing_left(self):
        """The kernel frees what a process held a moment after its end."""
        try:
            wait_until(lambda: not any(bpfsys.exists(*item) for item in self.held), 90)
        except AssertionError:
            left = {item for item in self.held if bpfsys.exists(*item)}
            raise AssertionError(f"left behind: {left}, held by {bpfsys.holders(left)}") from None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self.child.poll() is None and kind is None:
                status, _seconds = self.stop()
                assert status == 0, f"status {status}\n{self.log_text()}"
            if kind is None:
                self.assert_nothing_left()
            else:
                print(self.log_text()[-8000:])
        finally:
            self.discard()

    def discard(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def setUpModule():  # pylint: disable=invalid-name
    """For the test modules: `from exporter import setUpModule`."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("attaching probes needs root")
    assert os.access(BINARY, os.X_OK), f"{BINARY} is not built"
