"""From start to end: signals, files that come later, faults that are named, nothing left behind."""

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import time
import unittest

import victim
from exporter import (BINARY, STOP_SECONDS, Exporter, config, each_tier, run,
                      setUpModule, target)
from victim import Victim, wait_until

RETRY_SECONDS = 30  # "every few seconds", on a slow machine
TRIES = 3  # the machine may be busy with something else: the best of three counts


@each_tier
class Ends(unittest.TestCase):
    def ends_cleanly(self, tier, signum):
        took = []
        with Victim("threads", 1, 100) as v:
            while len(took) < TRIES and not (took and min(took) < STOP_SECONDS):
                with Exporter(config(target("threads", "work")), tier) as e:
                    v.round()
                    status, seconds = e.stop(signum)
                    took.append(seconds)
                    self.assertEqual(status, 0)
                    e.assert_nothing_left()
                    self.assertFalse(v.is_probed("work"))
        self.assertLess(min(took), STOP_SECONDS)

    def tier_sigterm(self, tier):
        self.ends_cleanly(tier, signal.SIGTERM)

    def tier_sigint(self, tier):
        self.ends_cleanly(tier, signal.SIGINT)

    def tier_sigterm_under_load(self, tier):
        with Victim("threads", 4, 2000000) as v, \
                Exporter(config(target("threads", "work")), tier) as e:
            v.begin()
            wait_until(lambda: e.account("work")["all"] > 1000, what="calls")
            status, _ = e.stop()
            self.assertEqual(status, 0)
            self.assertEqual(v.result(300)["calls"]["work"], 8000000)

    def tier_kill_9_leaves_no_breakpoint(self, tier):
        """In none of the processes that map the probed files, and none that start later."""
        names = ("work", "recurse", "inner")
        text = config(target("threads", "work", name="threads"), target("shapes", "recurse", "inner"))
        with contextlib.ExitStack() as stack, Exporter(text, tier) as e:
            victims = [stack.enter_context(Victim(*arguments)) for arguments in
                       5 * [("threads", 2, 100)] + 5 * [("shapes", 10, 10)]]

            def code():
                """Of every probed function in every process: its first bytes in memory."""
                return {(v.pid, name): v.code(name)
                        for v in victims for name in names if name in victim.symbols(v.file)}
            before = code()
            self.assertEqual(len(before), 5 * 1 + 5 * 2)
            for (pid, name), (memory, file) in before.items():
                self.assertNotEqual(memory, file, (pid, name))
            for v in victims:
                v.round()
            self.assertTrue(any(kind == "prog" for kind, _ in e.held))
            status, _ = e.stop(signal.SIGKILL)
            self.assertEqual(status, -signal.SIGKILL)
            e.assert_nothing_left()
            wait_until(lambda: all(memory == file for memory, file in code().values()),
                       what="breakpoints gone")
            for v in victims:
                v.round()
            later = stack.enter_context(Victim("shapes", 10, 10))
            self.assertFalse(later.is_probed("recurse"))


class Signals(unittest.TestCase):
    def test_sigpipe_is_ignored(self):
        with Exporter(config(target("threads", "work"))) as e:
            e.child.send_signal(signal.SIGPIPE)
            time.sleep(0.1)
            self.assertTrue(e.is_ready())

    def test_sigterm_with_open_connections(self):
        took = []
        while len(took) < TRIES and not (took and min(took) < STOP_SECONDS):
            with Exporter(config(target("threads", "work"))) as e:
                clients = [socket.create_connection(("127.0.0.1", e.port)) for _ in range(20)]
                for client in clients[:10]:
                    client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
                status, seconds = e.stop()
                took.append(seconds)
                self.assertEqual(status, 0)
                for client in clients:
                    client.close()
        self.assertLess(min(took), STOP_SECONDS)

    def test_restarts_on_the_same_port(self):
        with Exporter(config(target("threads", "work"))) as e:
            port = e.port
        for _ in range(8):
            with Exporter(config(target("threads", "work")),
                          listen=[f"127.0.0.1:{port}"]) as e:
                client = socket.create_connection(("127.0.0.1", port))
                client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                client.recv(100)
                self.assertEqual(e.port, port)
                e.stop()
                client.close()


class Interrupted(unittest.TestCase):
    """Where starting and stopping take long: in the perf tier every function takes a quarter of a
    second to detach, which the kernel does also for a process that has exited."""

    DETACH_SECONDS = 0.25
    SLACK = 10  # a busy machine
    MANY = 1000  # attached in a second or two, detached in minutes

    def text(self, count):
        return config(target(victim.path("libmany1000.so"), *(f"fn_{i:05d}" for i in range(count))))

    @staticmethod
    def files(exporter):
        return len(os.listdir(f"/proc/{exporter.pid}/fd"))

    def end(self, exporter, seconds):
        try:
            return exporter.child.wait(seconds)
        finally:
            print(exporter.log_text()[-1000:])

    @contextlib.contextmanager
    def while_attaching(self, files=8):
        """An exporter that has attached some functions of many."""
        for _ in range(3):
            with Exporter(self.text(self.MANY), "perf", arguments=["--kernel.perf-force"],
                          ready=False) as e:
                wait_until(lambda: "listening" in e.log_text(), 60, "listening", step=0.005)
                before = self.files(e)
                wait_until(lambda: self.files(e) > before + files, 60, "attaching", step=0.001)
                e.child.send_signal(signal.SIGSTOP)
                if self.files(e) - before < self.MANY / 4:
                    yield e  # who lets it go on
                    return
                e.stop(signal.SIGKILL)  # a busy machine did not let us look before: once more
        self.fail("the machine is too busy to say anything")

    def test_second_sigint_cuts_the_stop_short(self):
        count = 12
        with Exporter(self.text(count), "perf") as e:
            before = self.files(e)
            e.child.send_signal(signal.SIGINT)
            wait_until(lambda: self.files(e) < before - 4, 60, "detaching", step=0.005)
            self.assertIsNone(e.child.poll())
            e.child.send_signal(signal.SIGINT)
            self.assertEqual(self.end(e, self.SLACK * self.DETACH_SECONDS * count), 130)
            self.assertNotIn('"stopped"', e.log_text())

    def test_sigterm_while_attaching(self):
        """What is not attached yet is left alone: else the end would take minutes."""
        with self.while_attaching() as e:
            e.child.send_signal(signal.SIGTERM)
            e.child.send_signal(signal.SIGCONT)
            self.assertEqual(self.end(e, self.DETACH_SECONDS * self.MANY / 2), 0)
            self.assertIn('"stopped"', e.log_text())
            self.assertNotIn("probe attached", e.log_text())
            self.assertNotIn("probe not attached", e.log_text())

    def test_second_sigint_while_attaching(self):
        with self.while_attaching(files=60) as e:  # enough to take a while to detach
            e.child.send_signal(signal.SIGTERM)
            e.child.send_signal(signal.SIGCONT)
            time.sleep(0.05)
            self.assertIsNone(e.child.poll())
            e.child.send_signal(signal.SIGINT)
            self.assertEqual(self.end(e, self.DETACH_SECONDS * self.MANY / 2), 130)
            self.assertNotIn('"stopped"', e.log_text())


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def reason(self, exporter, name):
        found = exporter.scrape().find("uprobe_exporter_probe_failure_info", function=name)
        return [labels["reason"] for labels, _ in found]

    def test_binary_that_appears_later(self):
        later = os.path.join(self.folder, "later")
        text = config(target(later, "work", name="later"), target("ticker", "tick", name="ticker"))
        with Exporter(text) as e:
            self.assertEqual(self.reason(e, "work"), ["binary_not_found"])
            self.assertEqual(e.attached(function="tick"), 1)
            self.assertEqual(e.histogram("work").count, 0)
            shutil.copy(victim.path("threads"), later + ".new")
            os.rename(later + ".new", later)
            wait_until(lambda: e.attached(function="work"), RETRY_SECONDS, "attached")
            self.assertEqual(self.reason(e, "work"), [])
            with Victim(later, 2, 100) as v:
                v.round()
            self.assertEqual(e.histogram("work").count, 200)

    def test_a_missing_binary_is_not_told_again_and_again(self):
        text = config(target(os.path.join(self.folder, "never"), "work", name="never"),
                      target("ticker", "tick", "tock", name="ticker"))
        with Exporter(text) as e:
            told = len(e.logs())
            time.sleep(15)
            self.assertLessEqual(len(e.logs()) - told, 1, e.log_text())

    def test_misspelt_symbol(self):
        text = config(target("shapes", "recurse", "outer", "inner", "many_retruns"))
        with Victim("shapes", 5, 1) as v, Exporter(text) as e:
            v.round()
            for name, count in (("recurse", 5), ("outer", 1), ("inner", 2)):
                self.assertEqual(e.histogram(name).count, count)
                self.assertEqual(e.attached(function=name), 1)
            self.assertEqual(e.attached(function="many_retruns"), 0)
            self.assertEqual(self.reason(e, "many_retruns"), ["symbol_not_found"])
            self.assertIn("many_returns", e.log_text())
            checked = run("check", f"--config.file={e.config}")
            self.assertEqual(checked.returncode, 1, checked)
            self.assertIn("many_returns", checked.stdout + checked.stderr)

    def test_each_probe_is_logged_once(self):
        text = config(target("shapes", "recurse", "outer", "wrong_name"))
        with Exporter(text) as e:
            for name in ("recurse", "outer", "wrong_name"):
                lines = [entry for entry in e.logs() if entry.get("function") == name]
                self.assertEqual(len(lines), 1, lines)

    def test_port_taken(self):
        with Exporter(config(target("threads", "work"))) as e:
            again = run(f"--config.file={e.config}", f"--web.listen-address=127.0.0.1:{e.port}")
            self.assertEqual(again.returncode, 1, again)
            self.assertIn(str(e.port), again.stderr)
            self.assertEqual(e.get("/-/healthy")[0], 200)


class Privileges(unittest.TestCase):
    """The binary and the victim in a folder that everybody may read, run as nobody."""

    NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    SOME = ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon",
            "--bounding-set=-all,+bpf,+perfmon"]

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.binary = shutil.copy(BINARY, self.folder)
        self.threads = shutil.copy(victim.path("threads"), self.folder)
        self.config = os.path.join(self.folder, "config.yaml")
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(config(target(self.threads, "work")))

    def run_as(self, wrap, *arguments):
        return run(*arguments, f"--config.file={self.config}", wrap=wrap, binary=self.binary)

    def test_without_any_capability(self):
        wrap = [*self.NOBODY, "--inh-caps=-all", "--bounding-set=-all"]
        result = self.run_as(wrap, "--web.listen-address=127.0.0.1:0")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("CAP_BPF", result.stderr)

    def test_check_needs_no_privilege(self):
        wrap = [*self.NOBODY, "--inh-caps=-all", "--bounding-set=-all"]
        result = self.run_as(wrap, "check")
        self.assertEqual(result.returncode, 0, result)

    def test_perf_tier_needs_sys_admin(self):
        result = self.run_as([*self.NOBODY, *self.SOME], "--kernel.tier=perf",
                             "--web.listen-address=127.0.0.1:0")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("CAP_SYS_ADMIN", result.stderr)

    def test_bpf_and_perfmon_suffice_otherwise(self):
        for tier in ("session", "multi"):
            with self.subTest(tier=tier), Victim(self.threads, 2, 100) as v, \
                    Exporter(config(target(self.threads, "work")), tier, binary=self.binary,
                             wrap=[*self.NOBODY, *self.SOME]) as e:
                v.round()
                self.assertEqual(e.account("work")["all"], 200)

    def test_doctor_tells_the_missing_capability(self):
        wrap = [*self.NOBODY, "--inh-caps=-all", "--bounding-set=-all"]
        result = run("doctor", wrap=wrap, binary=self.binary)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("CAP_BPF", result.stdout)
