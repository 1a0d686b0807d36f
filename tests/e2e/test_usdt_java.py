"""USDT sites of Debian's OpenJDK: counts and times equal what the machine logs of itself."""

import re
import unittest

from exporter import Exporter, each_tier, setUpModule
from java import SLEEP_SECONDS, Java, home
from usdt import (DURATION, HITS, account, config, example, names_in, not_attached, pair,
                  settled)

N = 20
HOTSPOT = ("class__loaded", "gc__begin", "gc__end", "thread__sleep__begin", "thread__sleep__end",
           "thread__start", "thread__stop", "vm__shutdown", "method__entry", "method__return",
           "object__alloc")
SITES = tuple("hotspot:" + name for name in HOTSPOT) + (
    "hotspot_jni:CreateJavaVM__entry", "hotspot_jni:CallStaticVoidMethod__entry",
    "hotspot_jni:CallStaticVoidMethod__return")
PAIRS = (pair("gc", "hotspot:gc__begin", "hotspot:gc__end"),
         pair("sleep", "hotspot:thread__sleep__begin", "hotspot:thread__sleep__end"),
         pair("thread", "hotspot:thread__start", "hotspot:thread__stop"),
         pair("thread by id", "hotspot:thread__start", "hotspot:thread__stop", ("arg3", "arg3")),
         pair("main", "hotspot_jni:CallStaticVoidMethod__entry",
              "hotspot_jni:CallStaticVoidMethod__return"))


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not home():
            raise unittest.SkipTest("no Java with USDT is installed")
        cls.java = Java()
        cls.addClassCleanup(cls.java.remove)


@each_tier
class Jvm(Base):
    def seconds(self, log, tag, pattern):
        """The sum of what the machine's log says of times."""
        return sum(float(found.group(1)) for line in log[tag] if (found := re.search(pattern, line)))

    def tier_counts_and_times(self, tier):
        with Exporter(config(self.java.library, *SITES, *PAIRS), tier) as e:
            log = self.java.run(N, "-XX:+UseSerialGC")
            settled(e, "gc", observed=N)
            settled(e, "sleep", observed=N)
            settled(e, "main", observed=1)
            now = e.scrape()
            hits = {site.split(":")[1]: now.value(HITS, probe=site) for site in SITES}
            self.assertEqual(hits, {
                "class__loaded": len(log["class,load"]), "gc__begin": N, "gc__end": N,
                "thread__sleep__begin": N, "thread__sleep__end": N,
                "thread__start": hits["thread__start"], "thread__stop": N,
                "vm__shutdown": 1, "method__entry": 0, "method__return": 0, "object__alloc": 0,
                "CreateJavaVM__entry": 1, "CallStaticVoidMethod__entry": 1,
                "CallStaticVoidMethod__return": 1})
            self.check_threads(e, hits["thread__start"] - N)
            self.check_times(now, log)

    def check_threads(self, e, left):
        """The machine's own threads live to its end: they start, and do not stop."""
        self.assertGreater(left, 0)
        for name in ("thread", "thread by id"):
            settled(e, name, observed=N, thread_exit=left)

    def check_times(self, now, log):
        """A collection's pause is a part of ours, and ours of the safepoint that it needs."""
        ours = now.histogram(DURATION, probe="gc").sum
        pauses = self.seconds(log, "gc", r"Pause .* ([\d.]+)ms") / 1e3
        safepoints = self.seconds(log, "safepoint", r"Total: (\d+) ns") / 1e9
        print(f"   collections {ours * 1e3:.3f} ms, logged {pauses * 1e3:.3f} ms of "
              f"{safepoints * 1e3:.3f} ms", flush=True)
        self.assertLess(pauses, ours + N * 1e-6)  # the log rounds to microseconds
        self.assertLess(ours, safepoints)
        sleeps = now.histogram(DURATION, probe="sleep").sum
        self.assertGreater(sleeps, N * SLEEP_SECONDS)
        self.assertLess(sleeps, now.histogram(DURATION, probe="main").sum)

    def tier_extended_probes(self, tier):
        """Methods, objects and monitors are marked at a price, and only on demand."""
        with Exporter(config(self.java.library, *SITES), tier) as e:
            self.java.run(N, "-XX:+ExtendedDTraceProbes")
            now = e.scrape()
            entered, left, made = (now.value(HITS, probe=f"hotspot:{name}") for name in
                                   ("method__entry", "method__return", "object__alloc"))
            self.assertGreater(entered, 1000)
            self.assertGreater(left, 1000)
            self.assertLessEqual(left, entered)
            self.assertGreater(left, entered - 100)  # what was open when the process ended
            self.assertGreater(made, N)


class Collectors(Base):
    def test_pauses(self):
        """Each pause is marked, those of collections that go on beside the program included."""
        with Exporter(config(self.java.library, *PAIRS[:1])) as e:
            seen = 0
            for options, pauses in (
                    (("-XX:+UseSerialGC",), N), (("-XX:+UseG1GC",), N),
                    (("-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent"), 3 * N)):
                log = self.java.run(N, *options)
                logged = sum(" Pause " in line for line in log["gc"])
                now = account(e, "gc")
                self.assertEqual(set(now), {"observed"})
                self.assertEqual(now["observed"] - seen, logged, options)
                self.assertGreaterEqual(logged, pauses)
                seen = now["observed"]

    def test_example(self):
        with Exporter(example("java.yaml", self.java.library)) as e:
            self.assertEqual(not_attached(e), {})
            log = self.java.run(N)
            self.assertEqual(e.scrape().value(HITS, probe="hotspot:class__loaded"),
                             len(log["class,load"]))
            for name in ("gc", "sleep"):
                settled(e, name, observed=N)
            for name in ("thread", "vm operation", "safepoint"):
                self.assertGreaterEqual(account(e, name)["observed"], N)


class Everything(Base):
    def test_every_site(self):
        """Some 500 names in one link."""
        names = sorted(set(names_in(self.java.library)))
        self.assertGreater(len(names), 400)
        with Exporter(config(self.java.library, *names)) as e:
            now = e.scrape()
            for name in names:
                self.assertEqual(now.value("uprobe_exporter_probe_attached", probe=name), 1, name)
            log = self.java.run(N)
            now = e.scrape()
            hit = sum(now.value(HITS, probe=name) > 0 for name in names)
            print(f"   {len(names)} names, {hit} of them hit", flush=True)
            self.assertEqual(now.value(HITS, probe="hotspot:class__loaded"),
                             len(log["class,load"]))
            for name in names:  # a JNI function that does not return passes no second site
                if name.startswith("hotspot_jni:") and name.endswith("__return"):
                    entry = name.replace("__return", "__entry")
                    self.assertLessEqual(now.value(HITS, probe=name),
                                         now.value(HITS, probe=entry), name)


if __name__ == "__main__":
    unittest.main()
