"""What a service manager sees: notifications, sockets it opened, and the health check."""

import contextlib
import ctypes
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import unittest

from exporter import Exporter, config, run, setUpModule, target
from manager import Manager
from victim import wait_until

# Opens a listening socket of the kind that is asked for, as systemd does for a socket unit.
PASS_SOCKETS = """
import os, socket, sys
kind, n = sys.argv[1], int(sys.argv[2])
if kind == "tcp":
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
elif kind == "tcp6":
    sockets = [socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)]
elif kind == "unix":
    sockets = [socket.socket(socket.AF_UNIX)]
    sockets[0].bind("\\0uprobe-test-%d" % os.getpid())
    sockets[0].listen()
elif kind == "udp":
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
else:
    sockets = [open("/dev/null")]
copies = [os.dup(s.fileno()) for s in sockets]
high = [os.dup(fd) for fd in copies]
for i, s in enumerate(sockets):
    s.close()
import fcntl
high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in high]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
os.environ.update(LISTEN_FDS=str(len(high)), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[3], sys.argv[3:])
"""


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17


@contextlib.contextmanager
def stopped_thread(tid):
    """One thread stands still; signals stop whole processes."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    assert not ptrace(PTRACE_SEIZE, tid, None, None), os.strerror(ctypes.get_errno())
    assert not ptrace(PTRACE_INTERRUPT, tid, None, None), os.strerror(ctypes.get_errno())
    os.waitpid(tid, 0x40000000)  # __WALL: threads and other people's children too
    try:
        yield
    finally:
        assert not ptrace(PTRACE_DETACH, tid, None, None), os.strerror(ctypes.get_errno())


class Notifications(unittest.TestCase):
    def setUp(self):
        self.manager = Manager()
        self.addCleanup(self.manager.close)

    def exporter(self, text, **environment):
        return Exporter(text, env={**os.environ, "NOTIFY_SOCKET": self.manager.path, **environment})

    def test_life(self):
        with self.exporter(config(target("threads", "work", "not_there"))) as e:
            self.manager.wait("READY=1")
            self.assertIn("STATUS=1 of 2 probes attached", self.manager.heard)
            self.assertEqual(e.attached(function="work"), 1)
            self.assertNotIn("WATCHDOG=1", self.manager.heard)
            before = len(self.manager.heard)
            os.kill(e.pid, signal.SIGHUP)
            wait_until(lambda: self.manager.listen()[before:].count("READY=1"), 20, "reloaded")
            reload, ready = self.manager.heard[before:][:2]
            self.assertRegex(reload, r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertEqual(ready, "READY=1")
        self.assertEqual(self.manager.listen()[-1], "STOPPING=1")

    def test_a_wrong_config_ends_the_reload_too(self):
        with self.exporter(config(target("threads", "work"))) as e:
            self.manager.wait("READY=1")
            before = len(self.manager.heard)
            with open(e.config, "w", encoding="utf-8") as out:
                out.write("targets: nonsense\n")
            os.kill(e.pid, signal.SIGHUP)
            wait_until(lambda: self.manager.listen()[before:].count("READY=1"), 20, "reloaded")
            self.assertRegex(self.manager.heard[before], "^RELOADING=1")

    def test_status_follows(self):
        with self.exporter(config(target("threads", "work"))) as e:
            self.manager.wait("STATUS=1 of 1 probes attached")
            with open(e.config, "w", encoding="utf-8") as out:
                out.write(config(target("threads", "work", "not_there")))
            os.kill(e.pid, signal.SIGHUP)
            self.manager.wait("STATUS=1 of 2 probes attached")

    def test_watchdog(self):
        wrap = ("sh", "-c", 'WATCHDOG_PID=$$ exec "$@"', "sh")
        with Exporter(config(target("threads", "work")), wrap=wrap, env={
                **os.environ, "NOTIFY_SOCKET": self.manager.path, "WATCHDOG_USEC": "1500000"}) as e:
            wait_until(lambda: self.manager.listen().count("WATCHDOG=1") >= 3, 20, "fed")
            os.kill(e.pid, signal.SIGSTOP)
            self.manager.listen()
            count = self.manager.heard.count("WATCHDOG=1")
            try:
                with self.assertRaises(AssertionError):
                    wait_until(lambda: self.manager.listen().count("WATCHDOG=1") > count, 2)
            finally:
                os.kill(e.pid, signal.SIGCONT)

    def test_unhealthy_when_the_main_thread_hangs(self):
        """What a liveness probe asks; the other threads go on answering."""
        with Exporter(config(target("threads", "work")),
                      env={**os.environ, "WATCHDOG_USEC": "1500000"}) as e:
            self.assertEqual(e.get("/-/healthy")[0], 200)
            with stopped_thread(e.pid):
                wait_until(lambda: e.get("/-/healthy")[0] == 503, 20, "unhealthy", step=0.1)
                self.assertIn(b"hangs", e.get("/-/healthy")[2])
            wait_until(lambda: e.get("/-/healthy")[0] == 200, 20, "healthy again", step=0.1)

    def test_reloads_that_wait_leave_threads_to_others(self):
        """Clients that give up and ask again, while one reload takes its time."""
        with Exporter(config(target("threads", "work")), arguments=("--web.enable-lifecycle",)) as e:
            answers = []
            threads = [threading.Thread(
                target=lambda: answers.append(e.get("/-/reload", "POST")[0])) for _ in range(12)]
            with stopped_thread(e.pid):
                for thread in threads:
                    thread.start()
                wait_until(lambda: answers.count(503) == 8, 20, "refused")
                self.assertEqual(e.get("/-/healthy", timeout=5)[0], 200)
                self.assertEqual(e.get("/metrics", timeout=5)[0], 200)
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(answers), [200] * 4 + [503] * 8)
            self.assertEqual(e.get("/-/reload", "POST")[0], 200)

    def test_a_manager_that_hangs(self):
        """Its queue is full: the exporter reloads and stops all the same."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, self.exporter(
                config(target("threads", "work"))) as e:
            other.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    other.sendto(b"X=1", self.manager.path)
            os.kill(e.pid, signal.SIGHUP)
            wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()), 60)

    def test_healthy_with_a_watchdog_quicker_than_the_loop(self):
        with Exporter(config(target("threads", "work")),
                      env={**os.environ, "WATCHDOG_USEC": "1"}) as e:
            self.assertEqual({e.get("/-/healthy")[0] for _ in range(20)}, {200})

    def test_not_ready_when_it_cannot_start(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.NamedTemporaryFile("w") as f:
            f.write(config(target("threads", "work")))
            f.flush()
            result = run(f"--config.file={f.name}",
                         f"--web.listen-address=127.0.0.1:{taken.getsockname()[1]}",
                         env={**os.environ, "NOTIFY_SOCKET": self.manager.path})
        self.assertEqual(result.returncode, 1, result)
        self.assertNotIn("READY=1", self.manager.listen())


class SocketActivation(unittest.TestCase):
    FLAG = ("--web.systemd-socket",)

    def wrap(self, kind, n=1):
        return (sys.executable, "-c", PASS_SOCKETS, kind, str(n))

    def exporter(self, kind, n=1):
        # the addresses that it logs are those of the sockets; none is given
        e = Exporter(config(target("threads", "work")), arguments=self.FLAG, ready=False, listen=(),
                     wrap=self.wrap(kind, n))
        try:
            e.ports = [e._port(i, 60) for i in range(n)]  # pylint: disable=protected-access
            e.port = e.ports[0]
            wait_until(e.is_ready, 60, "ready")
        except BaseException:
            e.discard()
            raise
        return e

    def test_serves_on_what_it_is_given(self):
        for kind, n in (("tcp", 1), ("tcp", 3), ("tcp6", 1)):
            with self.subTest(kind=kind, n=n), self.exporter(kind, n) as e:
                for port in e.ports:
                    self.assertEqual(e.get(port=port)[0], 200)
                self.assertEqual(e.attached(function="work"), 1)
                with open(f"/proc/{e.pid}/environ", encoding="utf-8") as f:
                    self.assertIn("LISTEN_FDS", f.read())  # the test passed them that way

    def test_refuses_other_descriptors(self):
        for kind in ("unix", "udp", "file"):
            with self.subTest(kind=kind), tempfile.NamedTemporaryFile("w") as f:
                f.write(config(target("threads", "work")))
                f.flush()
                result = run(f"--config.file={f.name}", *self.FLAG, wrap=self.wrap(kind))
                self.assertEqual(result.returncode, 1, result)
                self.assertIn("is not a listening TCP socket", result.stderr)

    def test_refuses_too_many(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(config(target("threads", "work")))
            f.flush()
            result = run(f"--config.file={f.name}", *self.FLAG, wrap=self.wrap("tcp", 70))
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("passed 70 sockets", result.stderr)

    def test_says_when_there_are_none(self):
        for environment in ({}, {"LISTEN_FDS": "1", "LISTEN_PID": "1"},
                            {"LISTEN_FDS": "x"}, {"LISTEN_FDS": "99999999"}):
            with self.subTest(environment), tempfile.NamedTemporaryFile("w") as f:
                f.write(config(target("threads", "work")))
                f.flush()
                result = run(f"--config.file={f.name}", *self.FLAG,
                             env={**os.environ, **environment})
                self.assertEqual(result.returncode, 1, result)
                self.assertIn("passed no sockets", result.stderr)


class HealthCheck(unittest.TestCase):
    def check(self, address):
        return run("healthcheck", f"--web.listen-address={address}")

    def test_ready(self):
        addresses = ("127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0", ":0")
        with Exporter(config(target("threads", "work")), listen=addresses) as e:
            for address, port in zip(addresses, e.ports):
                result = self.check(re.sub(":0$", f":{port}", address))
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            result = self.check(f"localhost:{e.port}")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_nobody_there(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            result = self.check(f"127.0.0.1:{closed.getsockname()[1]}")
        self.assertEqual(result.returncode, 1)
        self.assertIn("Connection refused", result.stderr)

    def test_no_room(self):
        with socket.socket() as server, contextlib.ExitStack() as stack:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            for _ in range(3):  # more than are taken without anybody accepting them
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(server.getsockname())
            result = self.check(f"127.0.0.1:{server.getsockname()[1]}")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no answer in time", result.stderr)

    def answer(self, content):
        """What the check says of a server that answers so (None: not at all)."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            pid = os.fork()
            if not pid:
                peer, _ = server.accept()
                peer.recv(1000)
                if content is None:
                    signal.pause()
                peer.sendall(content)
                os._exit(0)
            try:
                return self.check(f"127.0.0.1:{server.getsockname()[1]}")
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def test_other_answers(self):
        for content, why in ((b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "still attaching"),
                             (b"HTTP/1.1 404 Not Found\r\n\r\n", "another answer"),
                             (b"SSH-2.0-OpenSSH\r\n", "Protocol error"),
                             (b"", "Protocol error"), (b"HTTP/1.1 20", "another answer"),
                             (None, "no answer in time")):
            with self.subTest(content=content):
                result = self.answer(content)
                self.assertEqual(result.returncode, 1)
                self.assertIn(why, result.stderr)

    def test_usage(self):
        self.assertEqual(self.check("9000").returncode, 2)
        self.assertEqual(run("healthcheck", "--json").returncode, 2)
