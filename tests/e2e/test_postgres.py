"""Debian's PostgreSQL, probed on exported executor functions: counts equal what pgbench reports."""

import unittest

from exporter import DURATION, Exporter, config, each_tier, setUpModule, target
from postgres import CLIENTS, TRANSACTIONS, Postgres, server_folder
from victim import wait_until

FUNCTIONS = ("PortalRun", "ExecutorRun", "raw_parser")


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
