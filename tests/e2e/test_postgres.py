"""Debian's PostgreSQL, probed on exported executor functions: counts equal what pgbench reports."""

import subprocess
import unittest

from exporter import DURATION, Exporter, config, each_tier, setUpModule, target
from postgres import CLIENTS, TRANSACTIONS, Postgres, server_folder
from victim import wait_until

FUNCTIONS = ("PortalRun", "ExecutorRun", "raw_parser")


@each_tier
class OneOfTwo(unittest.TestCase):
    """Two servers run one program: of one, the postmaster and all that descends from it count."""

    def setUp(self):
        if not server_folder():
            self.skipTest("PostgreSQL is not installed")
        self.servers = [Postgres(), Postgres()]
        for server in self.servers:
            self.addCleanup(server.stop)

    def tier_backends_of_a_tree(self, tier):
        chosen, other = self.servers
        text = config(target(chosen.bin + "/postgres", "raw_parser", "PortalRun", name="postgres",
                             process={"pidfile": chosen.folder + "/data/postmaster.pid",
                                      "children": "true"}))
        # a backend that is there before, and goes on after
        early = subprocess.Popen([*chosen.user, chosen.bin + "/psql", "-X", "-q", "-A", "-t"],
                                 cwd=chosen.folder, env=chosen.environment, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def ask(n):
            for _ in range(n):
                early.stdin.write("select 1;\n")
                early.stdin.flush()
                self.assertEqual(early.stdout.readline(), "1\n")

        with early:
            ask(1)
            with Exporter(text, tier) as e:
                statements = 0
                for arguments in ((), ("-C",), ("-C",)):  # -C: a new backend each time
                    made = chosen.pgbench(chosen.script("SELECT 1;\n"), *arguments)[0]
                    other.pgbench(other.script("SELECT 1;\n"), *arguments, transactions=50)
                    ask(20)
                    statements += made + 20
                    for name in ("raw_parser", "PortalRun"):
                        self.assertEqual(e.account(name)["all"], statements, name)
                        self.assertEqual(e.histogram(name).count, statements, name)
            early.stdin.close()


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
