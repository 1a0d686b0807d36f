"""What a newcomer types: make run, help, install; and that set-up installs nothing twice."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.request

import scrape
import victim
from exporter import DURATION, setUpModule
from victim import wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEMO = ("hash_key", "parse_request", "run_query", "flush_log", "walk_tree")


class Demo:
    """deploy/demo.sh, which is all of `make run` but the build."""

    def __init__(self):
        self.child = subprocess.Popen(
            ["deploy/demo.sh", victim.BUILD], cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            # who runs the tests in the background has it ignored, and so would the script
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.said, self.url = "", None
        for line in self.child.stdout:
            self.said += line
            match = re.match(r"\s+(http://localhost:\d+/metrics)$", line)
            self.url = match.group(1) if match else self.url
            if "Ctrl-C" in line:
                break
        assert self.url, self.said
        # the two with a session of their own; another may be a sleep
        self.children = self.find_children()[:2]

    def find_children(self):
        with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children", encoding="utf-8") as f:
            return [int(pid) for pid in f.read().split()]

    def scrape(self):
        with urllib.request.urlopen(self.url, timeout=20) as answer:
            return scrape.parse(answer.read())

    def end(self):
        self.said += self.child.communicate(timeout=300)[0]
        return self.child.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            self.end()


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class MakeRun(unittest.TestCase):
    def assert_all_gone(self, demo):
        self.assertEqual(len(demo.children), 2, demo.children)
        wait_until(lambda: all(is_gone(pid) for pid in demo.children), 10, "both gone")

    def test_counts_rise_until_ctrl_c(self):
        with Demo() as demo:
            before = demo.scrape()
            for name in DEMO:
                was = before.value(DURATION + "_count", function=name)
                wait_until(lambda name=name, was=was: demo.scrape().value(
                    DURATION + "_count", function=name) > was, 30, name)
            demo.child.send_signal(signal.SIGINT)
            self.assertEqual(demo.end(), 0, demo.said)
            self.assert_all_gone(demo)

    def test_port_taken(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", 10435))
                taken.listen()
            except OSError:
                pass  # somebody else has it, which is as good
            with Demo() as demo:
                self.assertNotIn(":10435/", demo.url)
                self.assertIn("10435 is taken", demo.said)
                demo.scrape()

    def test_one_ends_when_the_other_dies(self):
        for which in (0, 1):
            with self.subTest(which=which), Demo() as demo:
                os.kill(demo.children[which], signal.SIGKILL)
                self.assertEqual(demo.end(), 1)
                self.assert_all_gone(demo)

    def test_killed_itself(self):
        with Demo() as demo:
            demo.child.kill()
            demo.end()
            self.assert_all_gone(demo)

    def test_needs_root(self):
        result = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash",
             "deploy/demo.sh", victim.BUILD], cwd=ROOT, capture_output=True, text=True, timeout=20,
            check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("sudo make run", result.stderr)


class MakeOthers(unittest.TestCase):
    def make(self, *arguments, **keys):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        return subprocess.run(["make", "-s", *arguments], cwd=ROOT, capture_output=True, text=True,
                              timeout=120, check=False, umask=keys.get("umask", -1),
                              env={**environment, **keys.get("env", {})})

    def test_help_names_the_targets(self):
        result = self.make("help")
        self.assertEqual(result.returncode, 0, result)
        for name in ("deps", "run", "test", "unit", "check", "fuzz", "install", "clean"):
            self.assertRegex(result.stdout, rf"\bmake {name}\b")

    def test_install(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.make("install", f"DESTDIR={folder}", "PREFIX=/opt/up")
            self.assertEqual(result.returncode, 0, result)
            binary = folder + "/opt/up/bin/uprobe_exporter"
            said = subprocess.run([binary, "--version"], capture_output=True, text=True,
                                  check=True).stdout
            self.assertIn("uprobe_exporter", said)
            self.assertIn("README.md", os.listdir(folder + "/opt/up/share/doc/uprobe_exporter"))

    def test_install_whatever_the_umask(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.make("install", f"DESTDIR={folder}/tree", "PREFIX=/opt/up", umask=0o077)
            self.assertEqual(result.returncode, 0, result)
            for top, _, files in os.walk(folder + "/tree/opt"):
                for path in (top, *(os.path.join(top, name) for name in files)):
                    self.assertEqual(os.stat(path).st_mode & 0o044, 0o044, path)

    def test_install_for_systemd(self):
        with tempfile.TemporaryDirectory() as folder:
            def read(path):
                with open(folder + path, encoding="utf-8") as file:
                    return file.read()
            arguments = ("install", f"DESTDIR={folder}", "PREFIX=/opt/up")
            self.assertEqual(self.make(*arguments).returncode, 0)
            for path in ("share/man/man8/uprobe_exporter.8.gz",
                         "share/man/man5/uprobe_exporter.yaml.5.gz",
                         "lib/systemd/system/uprobe_exporter.socket",
                         "lib/sysusers.d/uprobe_exporter.conf",
                         "lib/tmpfiles.d/uprobe_exporter.conf",
                         "share/uprobe_exporter/dashboards/overview.json",
                         "share/uprobe_exporter/rules/alerts.yaml"):
                self.assertTrue(os.path.isfile(f"{folder}/opt/up/{path}"), path)
            self.assertIn("ExecStart=/opt/up/bin/uprobe_exporter ",
                          read("/opt/up/lib/systemd/system/uprobe_exporter.service"))
            config = "/etc/uprobe_exporter/uprobe_exporter.yaml"
            self.assertIn("binary: /opt/up/bin/uprobe_exporter", read(config))
            for path in (config, "/etc/default/uprobe_exporter"):
                with open(folder + path, "w", encoding="utf-8") as out:
                    out.write("mine\n")
            self.assertEqual(self.make(*arguments).returncode, 0)
            for path in (config, "/etc/default/uprobe_exporter"):
                self.assertEqual(read(path), "mine\n")  # kept

    def test_nothing_is_installed_twice(self):
        """With everything there, apt is not even called: it works offline."""
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/apt-get", "w", encoding="utf-8") as stub:
                stub.write("#!/bin/sh\necho apt-get was called\nexit 1\n")
            os.chmod(folder + "/apt-get", 0o755)
            result = self.make("deps", env={"PATH": folder + ":" + os.environ["PATH"]})
            self.assertEqual((result.returncode, result.stdout), (0, ""), result)
