"""The command line as a user meets it: every command, its output and its exit status."""

import glob
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import victim
from exporter import (BINARY, Exporter, config, function, run, setUpModule, target,
                      unit_command)
from victim import Victim, wait_until

LIBRARIES = glob.glob("/usr/lib/*-linux-gnu/libstdc++.so.6") + \
            glob.glob("/usr/lib/jvm/*17*/lib/server/libjvm.so")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, text, name="config.yaml"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def check(self, text, *arguments):
        return run("check", f"--config.file={self.write(text)}", *arguments)

    def test_version(self):
        with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as file:
            version = file.read().strip()
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertIn(version, result.stdout)

    def test_help_of_every_command(self):
        for command in ([], ["serve"], ["check"], ["list"], ["doctor"]):
            result = run(*command, "--help")
            self.assertEqual(result.returncode, 0, command)
            self.assertIn("--help", result.stdout)
            self.assertEqual(result.stderr, "")

    def test_wrong_usage_is_status_2(self):
        for arguments in (["--no.such.flag"], ["nonsense"], [], ["check"], ["list"],
                          ["--kernel.tier=best", "--config.file=x"],
                          ["--log.level=loud", "--config.file=x"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, (arguments, result))
            self.assertTrue(result.stderr.strip(), arguments)

    def test_config_errors_name_line_and_column(self):
        text = config(target("threads", function("work", exit="sometimes"))) + "colour: red\n"
        for command in (["check"], ["serve", "--web.listen-address=127.0.0.1:0"], []):
            result = run(*command, f"--config.file={self.write(text)}")
            self.assertEqual(result.returncode, 2, result)
            said = result.stdout + result.stderr
            self.assertRegex(said, r"config\.yaml:\d+:\d+: .*sometimes")
            self.assertRegex(said, rf"config\.yaml:{text.count(chr(10))}:1: .*colour")
            self.assertIn("^", said)

    def test_missing_config_file(self):
        for command in (["check"], []):
            result = run(*command, f"--config.file={self.folder}/nothing.yaml")
            self.assertEqual(result.returncode, 2, result)
            self.assertIn("nothing.yaml", result.stdout + result.stderr)

    def test_check_all_well(self):
        result = self.check(config(target("shapes", "recurse", function("inner", exit="auto"),
                                          function("outer", exit="none"))))
        self.assertEqual(result.returncode, 0, result)
        address = victim.symbols(victim.path("shapes"))["recurse"][0]
        lines = [line for line in result.stdout.splitlines() if "recurse" in line]
        self.assertTrue(any(f"{address:x}" in line for line in lines), (address, result.stdout))
        self.assertEqual(len(re.findall("uretprobe", result.stdout)), 2, result.stdout)

    def test_check_some_cannot(self):
        result = self.check(config(target("shapes", "recurse", "recruse"),
                                   target("/no/such/file", "x", name="gone")))
        self.assertEqual(result.returncode, 1, result)
        for part in ("symbol_not_found", "recurse", "binary_not_found"):
            self.assertIn(part, result.stdout)

    def test_check_json(self):
        result = self.check(config(target("shapes", "recurse", "recruse")), "--json")
        self.assertEqual(result.returncode, 1, result)
        json.loads(result.stdout)
        self.assertIn("symbol_not_found", result.stdout)

    def test_check_attaches_nothing(self):
        with Victim("threads", 1, 10) as v:
            self.assertEqual(self.check(config(target("threads", "work"))).returncode, 0)
            self.assertFalse(v.is_probed("work"))

    def test_list(self):
        result = run("list", victim.path("shapes"), "*return*")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("many_returns", result.stdout)
        self.assertNotIn("recurse", result.stdout)
        everything = run("list", victim.path("shapes"))
        for name in ("recurse", "ping", "main"):
            self.assertIn(name, everything.stdout)
        self.assertEqual(run("list", victim.path("shapes"), "no_such_*").returncode, 1)
        self.assertEqual(run("list", "/no/such/file").returncode, 2)
        self.assertEqual(run("list", self.write("#!/bin/sh\n", "script")).returncode, 2)

    def test_list_usdt(self):
        """The sites that readelf finds, all arguments readable, of programs from anywhere."""
        programs = [victim.path("marks"), victim.path("operands"), "/usr/bin/python3.11",
                    "/usr/lib/postgresql/15/bin/postgres", *LIBRARIES]
        for program in programs:
            if not os.path.exists(program):
                continue
            with self.subTest(program):
                notes = subprocess.run(["readelf", "-nW", program], text=True, check=True,
                                       capture_output=True, errors="replace").stdout
                wanted = sorted(set(zip(re.findall(r"Provider: (.*)", notes),
                                        re.findall(r"Name: (.*)", notes),
                                        re.findall(r"Location: (\S+)", notes))))
                result = run("list", program, "--usdt", "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                sites = json.loads(result.stdout)
                self.assertEqual([(s["provider"], s["name"]) for s in sites],
                                 [(provider, name) for provider, name, _ in wanted])
                self.assertEqual([s["problem"] for s in sites], [None] * len(sites))
                if program.startswith("/usr"):
                    unread = [a for s in sites for a in s["arguments"] if a["problem"]]
                    self.assertEqual(unread, [])
        result = run("list", victim.path("marks"), "marks:*__start", "--usdt")
        self.assertEqual(result.returncode, 0)
        self.assertIn("marks:work__start\n", result.stdout)
        self.assertNotIn("__done", result.stdout)
        self.assertEqual(run("list", victim.path("marks"), "no_such_*", "--usdt").returncode, 1)
        result = run("list", victim.path("shapes"), "--usdt")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no stapsdt notes", result.stderr)

    def test_list_of_many(self):
        result = run("list", victim.path("libmany10000.so"), "fn_0*")
        self.assertEqual(len(re.findall(r"\bfn_0\d{4}\b", result.stdout)), 10000)

    def test_list_json(self):
        result = run("list", victim.path("shapes"), "recurse", "--json")
        self.assertEqual(result.returncode, 0, result)
        json.loads(result.stdout)
        self.assertIn('"recurse"', result.stdout)

    def test_doctor(self):
        result = run("doctor")
        self.assertEqual(result.returncode, 0, result)
        for part in ("session", "multi", "perf"):
            self.assertIn(part, result.stdout)
        findings = [json.loads(line) for line in run("doctor", "--json").stdout.splitlines()]
        self.assertIn("tier session", [finding["name"] for finding in findings])

    def test_example_configs_are_valid(self):
        """Whatever the machine has of their targets, their spelling is right."""
        for example in glob.glob(os.path.join(ROOT, "config", "*.yaml")):
            result = run("check", f"--config.file={example}")
            self.assertIn(result.returncode, (0, 1), (example, result))

    def test_strange_paths(self):
        strange = os.path.join(self.folder, "we ird,na:me")
        shutil.copy(victim.path("threads"), strange)
        with Exporter(config(target(strange, "work"))) as e, Victim(strange, 2, 50) as v:
            v.round()
            self.assertEqual(e.histogram("work").count, 100)
            e.scrape(openmetrics=True)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Serving(unittest.TestCase):
    """How `serve` starts, or says why not; and that nobody's reading its log holds it up."""

    def setUp(self):
        self.text = config(target("threads", "work"))
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.config = os.path.join(self.folder, "config.yaml")
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(self.text)

    def serve(self, *arguments, wrap=()):
        return run(f"--config.file={self.config}", *arguments, wrap=[*wrap, *unit_command()])

    def test_malformed_listen_addresses_are_usage(self):
        for address in ("", "10435", "::1:9000", ":65536", "http://:10435"):
            with self.subTest(address=address):
                result = self.serve("--web.listen-address=127.0.0.1:0",
                                    f"--web.listen-address={address}")
                self.assertEqual(result.returncode, 2, result)
                self.assertIn("listen address", result.stderr)
                self.assertIn(address, result.stderr)

    def test_addresses_that_are_taken_or_not_here(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            for address, why in ((f"127.0.0.1:{taken.getsockname()[1]}", "in use"),
                                 ("192.0.2.1:0", "no such address")):  # TEST-NET-1
                with self.subTest(address=address):
                    result = self.serve(f"--web.listen-address={address}")
                    self.assertEqual(result.returncode, 1, result)
                    self.assertIn(address, result.stderr)
                    self.assertIn(why, result.stderr)

    def test_telemetry_paths(self):
        for path in ("", "/", "metrics", "/-/metrics", "/-/ready", "/a b", "/<b>", "/a?b", "/a%20"):
            with self.subTest(path=path):
                result = self.serve(f"--web.telemetry-path={path}",
                                    "--web.listen-address=127.0.0.1:0")
                self.assertEqual(result.returncode, 2, result)
                self.assertIn("web.telemetry-path", result.stderr)
        with Exporter(self.text, arguments=["--web.telemetry-path=/some/where_else-1.txt"]) as e:
            status, _, body = e.get("/some/where_else-1.txt")
            self.assertEqual(status, 200)
            self.assertIn(b"uprobe_exporter_probe_attached", body)
            self.assertEqual(e.get("/metrics")[0], 404)
            self.assertEqual(e.get("/-/ready")[0], 200)
            self.assertIn(b'href="/some/where_else-1.txt"', e.get("/")[2])

    def test_too_few_open_files_to_start(self):
        wrap = ["bash", "-c", 'ulimit -n 8; exec "$0" "$@"']
        result = self.serve("--web.listen-address=127.0.0.1:0", "--log.format=json", wrap=wrap)
        self.assertEqual(result.returncode, 1, result)
        errors = [json.loads(line) for line in result.stderr.splitlines()]
        told = [line for line in errors if line.get("reason")]
        self.assertEqual([line["reason"] for line in told], ["out_of_resources"], errors)
        self.assertIn("RLIMIT_NOFILE", told[0]["error"])

    def test_closed_standard_descriptors(self):
        """What it opens itself does not get their numbers: the log would be written there."""
        address = f"127.0.0.1:{free_port()}"
        with subprocess.Popen([*unit_command(), "/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh",
                               BINARY, f"--config.file={self.config}",
                               f"--web.listen-address={address}"],
                              stdin=subprocess.DEVNULL) as child:
            try:
                wait_until(lambda: not run("healthcheck", f"--web.listen-address={address}")
                           .returncode, 60, "ready", step=0.1)
                self.assertEqual([os.readlink(f"/proc/{child.pid}/fd/{n}") for n in range(3)],
                                 ["/"] * 3)
                child.terminate()
                self.assertEqual(child.wait(20), 0)
            finally:
                child.kill()

    def test_a_log_that_nobody_reads(self):
        """It works, and ends when it is told to, though the log's pipe is full."""
        reader, writer = os.pipe()
        room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b"x" * room)
        port = free_port()
        with subprocess.Popen([*unit_command(), BINARY, f"--config.file={self.config}",
                               f"--web.listen-address=127.0.0.1:{port}"],
                              stdin=subprocess.DEVNULL, stderr=writer) as child:
            try:
                os.close(writer)

                def answers():
                    try:
                        socket.create_connection(("127.0.0.1", port), 1).close()
                        return True
                    except OSError:
                        return False
                wait_until(answers, 60, "listening")
                for _ in range(3):
                    child.send_signal(signal.SIGHUP)  # each is a line of the log
                    time.sleep(0.05)
                child.send_signal(signal.SIGTERM)
                self.assertEqual(child.wait(20), 0)
                self.assertEqual(os.read(reader, 2 * room), b"x" * room)
            finally:
                child.kill()
                os.close(reader)
