"""Debian's PostgreSQL, probed on exported executor functions: counts equal what pgbench reports."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from exporter import DURATION, Exporter, config, each_tier, setUpModule, target
from victim import wait_until

FUNCTIONS = ("PortalRun", "ExecutorRun", "raw_parser")
TRANSACTIONS, CLIENTS = 200, 4


def server_folder():
    """Of the newest PostgreSQL that is installed, the folder of its programs."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"),
                   key=lambda path: int(path.split("/")[4]))
    return os.path.dirname(found[-1]) if found else None


class Postgres:
    """A server of our own in a temporary folder, reached by a Unix socket there."""

    def __init__(self):
        self.bin = server_folder()
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-pg-")
        shutil.chown(self.folder, "postgres", "postgres")
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PGHOST": self.folder,
                            "PGUSER": "postgres", "PGDATABASE": "postgres", "HOME": self.folder}
        self.child = None
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def command(self, name, *arguments, **keys):
        return subprocess.run([*self.user, f"{self.bin}/{name}", *arguments], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=120,
                              check=keys.pop("check", True), **keys)

    def start(self):
        data = os.path.join(self.folder, "data")
        self.command("initdb", "-D", data, "-A", "trust", "-N", "--locale=C")
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.child = subprocess.Popen(
                [*self.user, f"{self.bin}/postgres", "-D", data, "-k", self.folder,
                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off",
                 "-c", "shared_buffers=16MB", "-c", "max_connections=20"],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        wait_until(lambda: self.command("psql", "-c", "select 1", check=False).returncode == 0, 60,
                   "PostgreSQL answers")

    def sql(self, text, check=True):
        return self.command("psql", "-X", "-q", "-c", text, check=check)

    def script(self, text):
        path = os.path.join(self.folder, "script.sql")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(path, 0o644)
        return path

    def pgbench(self, script, *arguments):
        """Transactions that pgbench says it made, and their mean latency in seconds."""
        # a script of our own and -n: pgbench sends no statement but the script's
        said = self.command("pgbench", "-n", "-t", str(TRANSACTIONS), "-c", str(CLIENTS), "-j", "2",
                            *arguments, "-f", script).stdout
        made = re.search(r"number of transactions actually processed: (\d+)/(\d+)", said)
        latency = re.search(r"latency average = ([\d.]+) ms", said)
        assert made and latency and made.group(1) == made.group(2), said
        return int(made.group(1)), float(latency.group(1)) / 1000

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@each_tier
class PgBench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not server_folder():
            raise unittest.SkipTest("PostgreSQL is not installed")
        cls.server = Postgres()
        cls.addClassCleanup(cls.server.stop)
        cls.server.command("pgbench", "-i", "-s", "1", "-q")

    def exporter(self, tier):
        return Exporter(config(target(self.server.bin + "/postgres", *FUNCTIONS, name="postgres")),
                        tier)

    def tier_one_statement_a_transaction(self, tier):
        with self.exporter(tier) as e:
            made, latency = self.server.pgbench(self.server.script(
                "\\set aid random(1, 100000)\n"
                "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"))
            self.assertEqual(made, TRANSACTIONS * CLIENTS)
            now = e.scrape()
            for name in FUNCTIONS:
                h = now.histogram(DURATION, target="postgres", function=name)
                self.assertEqual(h.count, made, name)
                self.assertGreater(h.sum, 0)
                self.assertLess(h.sum, made * latency * 1.2, name)
                self.assertEqual(e.account(name)["all"], made, name)

    def tier_seven_statements_a_transaction(self, tier):
        script = self.server.script(
            "\\set aid random(1, 100000)\n\\set bid random(1, 1)\n\\set tid random(1, 10)\n"
            "\\set delta random(-5000, 5000)\nBEGIN;\n"
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
            "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n"
            "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
            "VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\nEND;\n")
        with self.exporter(tier) as e:
            made, _ = self.server.pgbench(script)
            now = e.scrape()
            # BEGIN and END run through a portal but not through the executor
            for name, statements in (("raw_parser", 7), ("PortalRun", 7),
                                     ("ExecutorRun", 5)):
                self.assertEqual(now.value(DURATION + "_count", function=name), made * statements)

    def tier_prepared_statements(self, tier):
        with self.exporter(tier) as e:
            made, _ = self.server.pgbench(self.server.script("SELECT 1;\n"), "-M", "extended")
            now = e.scrape()
            for name, statements in (("raw_parser", 1), ("PortalRun", 1),
                                     ("ExecutorRun", 1)):
                self.assertEqual(now.value(DURATION + "_count", function=name), made * statements)

    def tier_errors_leave_by_longjmp(self, tier):
        """An error in the executor unwinds it; the server lives and every call is accounted for."""
        with self.exporter(tier) as e:
            for _ in range(5):
                failed = self.server.sql("SELECT 1 / (random() * 0)::int", check=False)
                self.assertIn("division by zero", failed.stderr)
            self.server.sql("SELECT 1")
            for name in ("PortalRun", "ExecutorRun"):
                account = wait_until(
                    lambda name=name: (lambda a: not a["in_flight"] and a)(e.account(name)),
                    what=name)
                self.assertEqual(account["observed"], 1, account)
                self.assertEqual(account["all"], 6, account)
                self.assertEqual(account["unwound"] + account["thread_exit"], 5, account)
