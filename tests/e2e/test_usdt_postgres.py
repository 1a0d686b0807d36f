"""USDT sites of Debian's PostgreSQL: counts equal the server's own statistics, and times agree."""

import contextlib
import re
import subprocess
import time
import unittest

from exporter import Exporter, each_tier, setUpModule
from postgres import CLIENTS, TRANSACTIONS, Postgres, server_folder
from usdt import (DURATION, HITS, account, config, example, names_in, not_attached, pair,
                  settled)
from victim import wait_until

QUERY = pair("query", "postgresql:query__start", "postgresql:query__done")
EXECUTE = pair("execute", "postgresql:query__execute__start", "postgresql:query__execute__done")
COMMIT = pair("commit", "postgresql:transaction__start", "postgresql:transaction__commit")
ABORT = pair("abort", "postgresql:transaction__start", "postgresql:transaction__abort")
LOCK = pair("lock", "postgresql:lock__wait__start", "postgresql:lock__wait__done")
SORT = pair("sort", "postgresql:sort__start", "postgresql:sort__done")
CHECKPOINT = pair("checkpoint", "postgresql:checkpoint__start", "postgresql:checkpoint__done")
# The number of buffers there are: in a register at the start, and at the end a symbol's value.
SYNC = pair("sync", "postgresql:buffer__sync__start", "postgresql:buffer__sync__done",
            ("arg1", "arg1"))

TRIES = 3  # between the server's clock and ours others may have the machine: the best counts
# Nothing but the test's sessions makes transactions or checkpoints.
SETTINGS = ("shared_preload_libraries=pg_stat_statements", "max_logical_replication_workers=0",
            "max_parallel_workers=0", "checkpoint_timeout=1d", "max_wal_size=10GB",
            "log_checkpoints=on", "jit=off")


class Server(Postgres):
    def __init__(self):
        super().__init__(*SETTINGS)
        self.sql("CREATE EXTENSION pg_stat_statements")
        self.sql("CREATE DATABASE bench")
        self.environment["PGDATABASE"] = "bench"
        self.command("pgbench", "-i", "-s", "1", "-q")

    def value(self, query):
        """One row of numbers, asked in another database than the one that is measured."""
        said = self.command("psql", "-X", "-A", "-t", "-q", "-d", "postgres", "-c", query).stdout
        return [float(field) for field in said.strip().split("|")]

    def idle(self):
        """No session is left in the measured database: their statistics are written by then."""
        wait_until(lambda: self.value("SELECT count(*) FROM pg_stat_activity "
                                      "WHERE datname = 'bench'") == [0], 20, "no session")

    def transactions(self):
        """Committed and rolled back ones in the measured database."""
        self.idle()
        return self.value("SELECT xact_commit, xact_rollback FROM pg_stat_database "
                          "WHERE datname = 'bench'")

    def forget_statements(self):
        self.value("SELECT 1 FROM pg_stat_statements_reset()")

    def statements(self, like):
        """(calls, mean seconds) by pg_stat_statements."""
        calls, total = self.value(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0) "
            "FROM pg_stat_statements s JOIN pg_database d ON d.oid = dbid "
            f"WHERE datname = 'bench' AND query LIKE '{like}'")
        return calls, total / 1000 / max(calls, 1)

    def log(self):
        with open(self.folder + "/log", encoding="utf-8") as lines:
            return lines.read()


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not server_folder():
            raise unittest.SkipTest("PostgreSQL is not installed")
        if "postgresql:query__start" not in names_in(server_folder() + "/postgres"):
            raise unittest.SkipTest("PostgreSQL is built without USDT")
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.binary = cls.server.bin + "/postgres"

    def exporter(self, tier, *probes):
        return Exporter(config(self.binary, *probes, name="postgres"), tier)


@each_tier
class Statements(Base):
    def check_mean(self, tier, statement, like):
        """Latency of a statement, by the server's clock and by ours. The server's begins after
        parsing and planning and ends before the commit."""
        with self.exporter(tier, QUERY, EXECUTE) as e:
            for again in range(TRIES):
                apart = self.mean_apart(e, statement, like)
                if apart <= 0.1:
                    break
                print(f"   {apart:.3f} apart at try {again + 1}", flush=True)
            self.assertLessEqual(apart, 0.1)

    def mean_apart(self, e, statement, like):
        """By which part of the server's mean ours differs from it at most, over fifty."""
        self.server.forget_statements()
        before = account(e, "query")["observed"], account(e, "execute")["observed"]
        apart = 0
        sums = [e.scrape().histogram(DURATION, probe=name).sum for name in
                ("query", "execute")]
        made, latency = self.server.pgbench(self.server.script(statement + ";\n"), "-c", "1",
                                            transactions=50)
        now = e.scrape()
        calls, mean = self.server.statements(like)
        self.assertEqual(calls, made)
        for name, was, total in zip(("query", "execute"), before, sums):
            found = now.histogram(DURATION, probe=name)
            self.assertEqual(found.count - was, made, name)
            ours = (found.sum - total) / made
            print(f"   {name}: {ours * 1e3:.3f} ms, pg_stat_statements {mean * 1e3:.3f} ms, "
                  f"pgbench {latency * 1e3:.3f} ms", flush=True)
            self.assertGreater(mean, 0.001)
            apart = max(apart, abs(ours / mean - 1))
            self.assertLess(ours, latency)
        return apart

    def tier_mean_of_sleeps(self, tier):
        self.check_mean(tier, "SELECT pg_sleep(0.005)", "SELECT pg_sleep%")

    def tier_mean_of_work(self, tier):
        self.check_mean(tier, "SELECT sum(i * 2) FROM generate_series(1, 100000) AS i",
                        "SELECT sum(i%")

    @staticmethod
    def wait_none_open(e):
        wait_until(lambda: not any(account(e, name).get("in_flight")
                                   for name in ("query", "commit", "abort")), 20)

    def tier_transactions(self, tier):
        """Seven statements a transaction, half of them rolled back."""
        script = self.server.script(
            "\\set aid random(1, 100000)\n\\set delta random(-5000, 5000)\n"
            "\\set back random(0, 1)\nBEGIN;\n"
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
            "\\if :back\nROLLBACK;\n\\else\nEND;\n\\endif\n")
        sites = ("postgresql:transaction__start", "postgresql:transaction__commit",
                 "postgresql:transaction__abort")
        with self.exporter(tier, QUERY, COMMIT, ABORT, *sites) as e:
            was = self.server.transactions()
            self.server.forget_statements()
            # What a session left open as it ended is abandoned a moment later, not by ours.
            self.wait_none_open(e)
            before = {name: account(e, name) for name in ("query", "commit", "abort")}
            hits = [e.scrape().value(HITS, probe=site) for site in sites]
            made, _ = self.server.pgbench(script)
            self.assertEqual(made, TRANSACTIONS * CLIENTS)
            self.wait_none_open(e)
            after = {name: account(e, name) for name in before}
            counts = [e.scrape().value(HITS, probe=site) - hit for site, hit in zip(sites, hits)]
            committed, aborted = (a - b for a, b in zip(self.server.transactions(), was))
            print(f"   {made} transactions: {counts}, pg_stat_database {committed:.0f} committed, "
                  f"{aborted:.0f} rolled back", flush=True)
        self.assertGreater(aborted, made / 4)
        self.assertEqual(counts[1:], [committed, aborted])
        self.assertEqual(counts[0], committed + aborted)
        self.assertGreaterEqual(counts[0], made + CLIENTS)  # and one each to start a session
        self.assertEqual(after["query"]["observed"] - before["query"]["observed"], 4 * made)
        self.assertEqual(self.server.statements("%")[0], 4 * made)
        for name, ends, others in (("commit", committed, aborted), ("abort", aborted, committed)):
            self.assertEqual(after[name]["observed"] - before[name].get("observed", 0), ends)
            left = sum(after[name].get(fate, 0) - before[name].get(fate, 0)
                       for fate in ("overwritten", "thread_exit"))
            self.assertEqual(left, others)

    def tier_other_protocols(self, tier):
        """query__start is of the simple protocol alone; query__execute__start is of both."""
        with self.exporter(tier, QUERY, EXECUTE) as e:
            queries = account(e, "query")["observed"] if account(e, "query") else 0
            made, _ = self.server.pgbench(self.server.script("SELECT 1;\n"), "-M", "prepared")
            self.assertEqual(account(e, "query").get("observed", 0), queries)
            self.assertEqual(account(e, "execute")["observed"], made)

    def tier_errors(self, tier):
        """A statement that fails leaves by longjmp, and passes no query__done: it is abandoned at
        the session's next statement or with its end."""
        with self.exporter(tier, QUERY) as e:
            self.server.command("psql", "-X", "-q", "-c", "SELECT 1 / 0", "-c", "SELECT 1 / 0",
                                "-c", "SELECT 2", "-c", "SELECT 1 / 0", check=False)
            settled(e, "query", observed=1, overwritten=2, thread_exit=1)


    def tier_execute_inside(self, tier):
        """EXECUTE runs the prepared statement's portal inside its own."""
        with self.exporter(tier, EXECUTE) as e:
            self.server.command("psql", "-X", "-q", "-c", "PREPARE p AS SELECT 1", "-c", "EXECUTE p")
            settled(e, "execute", observed=2, overwritten=1, unmatched=1)


@each_tier
class Waits(Base):
    def psql(self, *arguments, **keys):
        return subprocess.Popen(
            [*self.server.user, f"{self.server.bin}/psql", "-X", "-A", "-t", "-q", *arguments],
            cwd=self.server.folder, env=self.server.environment, text=True, **keys)

    @contextlib.contextmanager
    def held(self):
        """A session has the lock 1 until the end of the block."""
        self.server.idle()  # who had it before lets go of it as its session ends, which is later
        with self.psql(stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdin.write("SELECT true FROM pg_advisory_lock(1);\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), "t\n")
            yield
            holder.stdin.close()
            self.assertEqual(holder.wait(60), 0)

    def tier_lock_waits(self, tier):
        """Two sessions and one lock; who does not wait passes no site."""
        with self.exporter(tier, LOCK) as e:
            self.server.forget_statements()
            for _ in range(3):
                with self.held():
                    waits = self.psql("-c", "SELECT pg_advisory_lock(1)", stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL)
                    wait_until(lambda: self.server.value(
                        "SELECT count(*) FROM pg_locks WHERE NOT granted "
                        "AND locktype = 'advisory'") == [1], 60, "somebody waits")
                    time.sleep(0.3)
                self.assertEqual(waits.wait(60), 0)
            settled(e, "lock", observed=3)
            calls, mean = self.server.statements("SELECT pg_advisory_lock%")
            self.assertEqual(calls, 3)
            ours = e.scrape().histogram(DURATION, probe="lock").sum / 3
            print(f"   {ours * 1e3:.3f} ms, pg_stat_statements {mean * 1e3:.3f} ms", flush=True)
            self.assertAlmostEqual(ours / mean, 1, delta=0.1)
            self.server.idle()
            self.server.sql("SELECT pg_advisory_lock(1)")
            settled(e, "lock", observed=3)

    def tier_lock_waits_given_up(self, tier):
        """A wait that is cancelled passes no lock__wait__done."""
        with self.exporter(tier, LOCK) as e:
            with self.held():
                self.server.command("psql", "-X", "-q", "-c", "SET lock_timeout = 100", "-c",
                                    "SELECT pg_advisory_lock(1)", check=False)
                settled(e, "lock", thread_exit=1)

    def tier_sorts(self, tier):
        """One place begins each kind of sort, one ends all of them."""
        with self.exporter(tier, SORT, QUERY) as e:
            made, _ = self.server.pgbench(self.server.script(
                "SELECT abalance FROM pgbench_accounts ORDER BY filler, aid OFFSET 99999;\n"),
                transactions=3)
            now = e.scrape()
            sorts = now.histogram(DURATION, probe="sort")
            self.assertEqual(sorts.count, made)
            queries = now.histogram(DURATION, probe="query")
            self.assertEqual(queries.count, made)
            self.assertLess(sorts.sum, queries.sum)
            self.assertGreater(sorts.sum, queries.sum * 0.2)

    def tier_checkpoints(self, tier):
        """In a process of their own. The arguments of checkpoint__done are the values of symbols."""
        with self.exporter(tier, CHECKPOINT, SYNC, "postgresql:checkpoint__start",
                           "postgresql:checkpoint__done") as e:
            logged, requested = len(self.server.log()), self.requested()
            for _ in range(3):
                self.server.sql("UPDATE pgbench_accounts SET abalance = abalance + 1")
                self.server.sql("CHECKPOINT")
            settled(e, "checkpoint", observed=3)
            settled(e, "sync", observed=3)
            now = e.scrape()
            for site in ("start", "done"):
                self.assertEqual(now.value(HITS, probe=f"postgresql:checkpoint__{site}"), 3)
            wait_until(lambda: self.requested() - requested == 3, 20, "pg_stat_bgwriter")
            told = re.findall(r"checkpoint complete: .* total=([\d.]+) s",
                              self.server.log()[logged:])
            self.assertEqual(len(told), 3, told)
            own = sum(map(float, told))
            ours = now.histogram(DURATION, probe="checkpoint").sum
            print(f"   {ours * 1e3:.3f} ms, the server's log {own * 1e3:.0f} ms", flush=True)
            self.assertAlmostEqual(ours, own, delta=0.1 * own + 0.003)  # it logs milliseconds

    def requested(self):
        """Checkpoints that were asked for; the checkpointer tells it a little later."""
        return self.server.value("SELECT checkpoints_req FROM pg_stat_bgwriter")[0]


class Everything(Base):
    def test_every_site(self):
        """All names at once."""
        names = sorted(set(names_in(self.binary)))
        self.assertGreater(len(names), 50)
        with self.exporter(None, *names) as e:
            for name in names:
                self.assertEqual(e.attached(probe=name), 1, name)
            made, _ = self.server.pgbench(self.server.script("SELECT 1;\n"))
            now = e.scrape()
            for name in ("query__start", "query__done", "query__parse__start",
                         "query__rewrite__done", "query__plan__start", "query__execute__done"):
                self.assertEqual(now.value(HITS, probe="postgresql:" + name), made, name)

    def test_example(self):
        with Exporter(example("postgres-usdt.yaml", self.binary)) as e:
            self.assertEqual(not_attached(e), {})
            before = account(e, "query")
            made, _ = self.server.pgbench(self.server.script(
                "UPDATE pgbench_branches SET bbalance = bbalance + 1;\n"))
            for name in ("query", "execute", "parse", "plan"):
                self.assertEqual(account(e, name)["observed"] - before.get("observed", 0), made)
            self.assertGreaterEqual(account(e, "transaction")["observed"], made)
            self.assertGreater(account(e, "lock wait")["observed"], 0)


if __name__ == "__main__":
    unittest.main()
