"""USDT sites of Debian's CPython, PHP and libstdc++: counts and times equal the programs' own."""

import json
import os
import socket
import subprocess
import time
import unittest
import urllib.request

from exporter import Exporter, each_tier, setUpModule
from usdt import (DURATION, HITS, account, config, example, not_attached, pair, private_copy,
                  settled)
from victim import Victim, wait_until

VICTIMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "victims")


def since(before, now):
    """What became of a pair's starts and ends between two accounts."""
    return {key: value - before.get(key, 0) for key, value in now.items()
            if value != before.get(key, 0)}


@each_tier
class Python(unittest.TestCase):
    """3.11: function__entry is passed by generators that an exception resumes, and under a
    profiler, but not by calls."""

    COLLECTIONS, CALLS, THROWS = 6, 1000, 3

    @classmethod
    def setUpClass(cls):
        cls.binary = private_copy(os.path.realpath("/usr/bin/python3"), "python:gc__start")
        if not cls.binary:
            raise unittest.SkipTest("/usr/bin/python3 is built without USDT")
        cls.is_311 = subprocess.run([cls.binary, "-V"], capture_output=True, text=True,
                                    check=True).stdout.startswith("Python 3.11.")

    def script(self):
        return Victim(self.binary, os.path.join(VICTIMS, "collects.py"), self.COLLECTIONS,
                      self.CALLS)

    def tier_collections(self, tier):
        """Pairs, and both ends; the time is that between the callbacks before and after."""
        sites = ("python:gc__start", "python:gc__done")
        with Exporter(config(self.binary, *sites, pair("gc", *sites)), tier) as e, \
                self.script() as v:
            parts = []
            for _ in range(2):
                was, before = account(e, "gc"), e.scrape()
                told = v.round()
                self.assertGreaterEqual(told["collections"], self.COLLECTIONS)
                self.assertEqual(told["callbacks"], 2 * told["collections"])
                self.assertEqual(since(was, account(e, "gc")), {"observed": told["collections"]})
                now = e.scrape()
                for site in sites:
                    self.assertEqual(now.value(HITS, probe=site) - before.value(HITS, probe=site),
                                     told["collections"])
                took = (now.histogram(DURATION, probe="gc").sum
                        - before.histogram(DURATION, probe="gc").sum)
                print(f"   {told}, measured {took * 1e3:.3f} ms", flush=True)
                self.assertLess(took, told["ns"] / 1e9)
                parts.append(took / (told["ns"] / 1e9))
            # a busy machine may hold it up between its clock and ours
            self.assertGreater(max(parts), 0.8)
            self.assertEqual(v.end(), 0)

    def tier_returns(self, tier):
        """Each return, each time a generator yields, each exception that leaves a function."""
        site = "python:function__return"
        with Exporter(config(self.binary, site), tier) as e, self.script() as v:
            for _ in range(2):
                before = e.scrape().value(HITS, probe=site)
                told = v.round()
                self.assertGreater(told["calls"], 3 * self.CALLS)
                self.assertEqual(e.scrape().value(HITS, probe=site) - before, told["calls"])

    def tier_starts_that_are_not_passed(self, tier):
        """A pair whose start is hardly ever passed: ends without a start, and no wrong times."""
        if not self.is_311:
            self.skipTest("calls pass function__entry in this version")
        probe = pair("call", "python:function__entry", "python:function__return")
        with Exporter(config(self.binary, probe), tier) as e, self.script() as v:
            was, before = account(e, "call"), e.scrape().histogram(DURATION, probe="call")
            told = v.round()
            self.assertEqual(since(was, account(e, "call")),
                             {"observed": self.THROWS,
                              "unmatched": told["calls"] - self.THROWS})
            # the generator leaves at once
            took = e.scrape().histogram(DURATION, probe="call").sum - before.sum
            self.assertLess(took, self.THROWS * 0.1)

    def tier_started_before(self, tier):
        """A process that runs already, by its number."""
        with self.script() as chosen, self.script() as other:
            chosen.round()
            with Exporter(config(self.binary, "python:gc__start", process={"pid": chosen.pid}),
                          tier) as e:
                other.round()
                told = chosen.round()
                self.assertEqual(e.scrape().value(HITS, probe="python:gc__start"),
                                 told["collections"])


    def test_example(self):
        """config/python.yaml. Imports inside imports are not timed, as it says."""
        with Exporter(example("python.yaml", self.binary)) as e:
            self.assertEqual(not_attached(e), {})
            with self.script() as v:
                told = v.round()
                self.assertGreaterEqual(account(e, "gc")["observed"], told["collections"])
                imports = account(e, "import")
                self.assertGreater(imports["observed"], 10)
                self.assertGreater(imports["overwritten"], 0)
                self.assertEqual(imports["overwritten"], imports["unmatched"])
                self.assertGreater(e.scrape().value(HITS, probe="python:audit"), 0)


class WebServer:
    """`php -S` on requests.php, which answers requests one after the other."""

    def __init__(self, binary, trace):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{s.getsockname()[1]}"
        self.child = subprocess.Popen(
            [binary, "-n", "-S", self.address, os.path.join(VICTIMS, "requests.php")],
            env=dict(os.environ, USE_ZEND_DTRACE=trace, PHP_CLI_SERVER_WORKERS="1"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_ready(self):
        host, port = self.address.split(":")
        with socket.socket() as s:
            return s.connect_ex((host, int(port))) == 0

    def request(self, calls, microseconds):
        """What the script says, and the nanoseconds that the answer took."""
        began = time.monotonic_ns()
        url = f"http://{self.address}/?n={calls}&us={microseconds}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            told = json.load(answer)
        return told, time.monotonic_ns() - began

    def __enter__(self):
        try:
            wait_until(self.is_ready, 30, "PHP listens")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


@each_tier
class Php(unittest.TestCase):
    REQUESTS, CALLS = 10, 200
    FUNCTIONS = ("php:function__entry", "php:function__return")
    EXCEPTIONS = ("php:exception__thrown", "php:exception__caught")
    REQUEST = pair("request", "php:request__startup", "php:request__shutdown")

    @classmethod
    def setUpClass(cls):
        cls.binary = private_copy(os.path.realpath("/usr/bin/php"), "php:request__startup")
        if not cls.binary:
            raise unittest.SkipTest("no PHP with USDT is installed")

    def tier_counts_and_times(self, tier):
        with Exporter(config(self.binary, *self.FUNCTIONS, *self.EXCEPTIONS, self.REQUEST),
                      tier) as e:
            with WebServer(self.binary, "1") as server:
                answers = [server.request(self.CALLS, 20000) for _ in range(self.REQUESTS)]
                settled(e, "request", observed=self.REQUESTS)
            now = e.scrape()
            # the script is a function as well
            calls = sum(told["calls"] for told, _ in answers) + self.REQUESTS
            self.assertEqual(calls, self.REQUESTS * (5 * self.CALLS + 1))
            for site in self.FUNCTIONS:
                self.assertEqual(now.value(HITS, probe=site), calls)
            for site in self.EXCEPTIONS:
                self.assertEqual(now.value(HITS, probe=site),
                                 sum(told["thrown"] for told, _ in answers))
            took = now.histogram(DURATION, probe="request").sum
            own = sum(told["ns"] for told, _ in answers) / 1e9
            print(f"   {took * 1e3:.3f} ms, the script's {own * 1e3:.3f} ms", flush=True)
            self.assertLess(own, took)
            self.assertLess(took, own * 1.3)

    def tier_without_the_variable(self, tier):
        """Requests and exceptions are marked all the same, functions are not."""
        with Exporter(config(self.binary, *self.FUNCTIONS, *self.EXCEPTIONS, self.REQUEST),
                      tier) as e:
            with WebServer(self.binary, "0") as server:
                told, _ = server.request(self.CALLS, 0)
                settled(e, "request", observed=1)
            now = e.scrape()
            for site in self.FUNCTIONS:
                self.assertEqual(now.value(HITS, probe=site), 0)
            for site in self.EXCEPTIONS:
                self.assertEqual(now.value(HITS, probe=site), told["thrown"])


    def test_example(self):
        with Exporter(example("php.yaml", self.binary)) as e:
            self.assertEqual(not_attached(e), {})
            with WebServer(self.binary, "1") as server:
                answers = [server.request(self.CALLS, 0) for _ in range(3)]
                settled(e, "request", observed=3)
                settled(e, "compile", observed=3)
            now = e.scrape()
            self.assertEqual(now.value(HITS, probe="php:function__entry"),
                             3 + sum(told["calls"] for told, _ in answers))
            self.assertEqual(now.value(HITS, probe="php:exception__thrown"),
                             sum(told["thrown"] for told, _ in answers))


@each_tier
class Libstdcxx(unittest.TestCase):
    """The victim's library alone is probed: it loads a copy."""

    CALLS = 2000
    THROWN = CALLS // 2  # every second call
    SITES = ("libstdcxx:throw", "libstdcxx:rethrow", "libstdcxx:catch")
    FIRST = pair("unwound", "libstdcxx:throw", "libstdcxx:catch", ("arg1", "arg1"))
    AGAIN = pair("again", "libstdcxx:rethrow", "libstdcxx:catch", ("arg1", "arg1"))
    BY_THREAD = pair("thread", "libstdcxx:throw", "libstdcxx:catch")

    @classmethod
    def setUpClass(cls):
        said = subprocess.run(["g++", "-print-file-name=libstdc++.so.6"], capture_output=True,
                              text=True, check=True).stdout.strip()
        cls.library = private_copy(said, cls.SITES[0])
        if not cls.library:
            raise unittest.SkipTest("libstdc++ is built without USDT")

    def run_victim(self, tier, mode):
        """Counts of throw, rethrow and catch, and the accounts of the pairs."""
        environment = {"LD_LIBRARY_PATH": os.path.dirname(self.library)}
        with Exporter(config(self.library, *self.SITES, self.FIRST, self.AGAIN, self.BY_THREAD),
                      tier) as e:
            with Victim("throws", mode, self.CALLS, env=environment) as v:
                began = time.monotonic()
                v.round()
                took = time.monotonic() - began
                now = e.scrape()
                counts = [now.value(HITS, probe=site) for site in self.SITES]
                accounts = [account(e, name) for name in ("unwound", "again", "thread")]
                self.assertLess(now.histogram(DURATION, probe="unwound").sum, took)
                self.assertEqual(v.end(), 0)
        return counts, accounts

    def tier_thrown_and_caught(self, tier):
        n = self.THROWN
        counts, accounts = self.run_victim(tier, "leave")
        self.assertEqual(counts, [n, 0, n])
        self.assertEqual(accounts, [{"observed": n}, {"unmatched": n}, {"observed": n}])

    def tier_thrown_again(self, tier):
        """By the object's address, an exception is followed from each throw to its handler."""
        n = self.THROWN
        counts, accounts = self.run_victim(tier, "rethrow")
        self.assertEqual(counts, [n, n, 2 * n])
        self.assertEqual(accounts, [{"observed": n, "unmatched": n}] * 3)

    def tier_thrown_from_a_pointer(self, tier):
        """std::rethrow_exception, as coroutines and futures do, passes no site: one throw, and
        what catches it there and later."""
        n = self.THROWN
        counts, accounts = self.run_victim(tier, "resumed")
        self.assertEqual(counts, [n, 0, 2 * n])
        self.assertEqual(accounts[0], {"observed": n, "unmatched": n})

    def test_example(self):
        """config/cplusplus.yaml: one process of two."""
        environment = {"LD_LIBRARY_PATH": os.path.dirname(self.library)}
        with Victim("throws", "rethrow", self.CALLS, env=environment) as chosen, \
                Victim("throws", "rethrow", self.CALLS, env=environment) as other, \
                Exporter(example("cplusplus.yaml", self.library, chosen.pid)) as e:
            self.assertEqual(not_attached(e), {})
            for v in (chosen, other):
                v.round()
            n = self.THROWN
            settled(e, "unwinding", observed=n, unmatched=n)
            self.assertEqual(e.scrape().value(HITS, probe="libstdcxx:rethrow"), n)


if __name__ == "__main__":
    unittest.main()
