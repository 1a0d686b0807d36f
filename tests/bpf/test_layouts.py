"""Histograms of two slots, few copies of them, and a table of open calls that is full."""

import bisect
import threading
import unittest

from exporter import DURATION, Exporter, config, each_tier, function, setUpModule, target
from victim import Victim, wait_until

NAPS, CALLS = 80, 2
# 230 bounds up to 115 us and 25 above: with those of the native layout, more than 368 cells, the
# most that one slot holds, lie below 3 ms; naps.c sleeps for less and for more than that
WIDE = ([f"{100 + i * 500}ns" for i in range(230)] +
        ["250us", *(f"{ms}ms" for ms in range(1, 25))])
EDGES = [float(text[:-2]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[text[-2:]] for text in WIDE]


def names():
    return [f"nap_{i:02d}" for i in range(NAPS)]


def wide_config(narrow=(), **keys):
    """Every nap with 255 buckets; those of `narrow` with one, which takes one slot."""
    return config(target("naps", *(function(name, buckets=["1s"] if name in narrow else WIDE)
                                   for name in names())), **keys)


def naps(victim):
    """A round: what the victim says of every nap."""
    victim.begin()
    return [victim.result() for _ in range(NAPS)]


class Wide(unittest.TestCase):
    """Not in the perf tier: it shares the code, and takes 20 seconds to detach as many."""

    def placed_right(self, histogram, said):
        """Every call is in a bucket that its duration, known from both sides, can be in."""
        self.assertEqual(histogram.count, CALLS)
        least, most = [0] * (len(EDGES) + 1), [0] * (len(EDGES) + 1)
        for inside, around in zip(said["inside_ns"], said["around_ns"]):
            for i in range(bisect.bisect_left(EDGES, around / 1e9), len(EDGES) + 1):
                least[i] += 1  # cumulative: by then it must have been counted
            for i in range(bisect.bisect_left(EDGES, inside / 1e9), len(EDGES) + 1):
                most[i] += 1
        seen = [n for _, n in histogram.buckets]
        for i, n in enumerate(seen):
            self.assertTrue(least[i] <= n <= most[i], (i, histogram.buckets[i], said))
        self.assertLessEqual(sum(said["inside_ns"]) / 1e9, histogram.sum + 1e-9)
        self.assertGreaterEqual(sum(said["around_ns"]) / 1e9 + 1e-9, histogram.sum)
        return least == most

    def right_with(self, tier, narrow, **keys):
        with Victim("naps", CALLS) as v, \
                Exporter(wide_config(narrow, **keys), tier) as e:
            said = naps(v)
            now = e.scrape()
            sure = 0
            for name, one in zip(names(), said):
                histogram = now.histogram(DURATION, function=name)
                if name in narrow:
                    self.assertEqual([n for _, n in histogram.buckets], [CALLS, CALLS])
                else:
                    sure += self.placed_right(histogram, one)
            # the bounds from both sides are nearly always in one bucket: this says something
            self.assertGreater(sure, NAPS / 2)

    # A chunk has 64 slots. Whichever number the first one here has, after one series of one slot
    # in the middle the parity is the other, and some series begins where a chunk ends.

    def test_in_one_chunk_and_in_two_session(self):
        self.right_with("session", ("nap_39",))

    def test_in_one_chunk_and_in_two_multi(self):
        self.right_with("multi", ("nap_39",), limits={"shards": 1})


@each_tier
class Shards(unittest.TestCase):
    def tier_sums_are_exact(self, tier):
        """One copy that every CPU uses, and two, against what the threads did."""
        for shards in (1, 2):
            limits = {"shards": shards}
            with self.subTest(shards=shards), Victim("threads", 4, 3000) as v, \
                    Exporter(config(target("threads", "work"), limits=limits), tier) as e:
                v.round()
                v.round()
                self.assertEqual(e.histogram("work").count, 24000)
                self.assertEqual(e.account("work")["all"], 24000)


LIMIT = 2


class Watch(threading.Thread):
    """Scrapes without a pause; in every scrape each call that was entered is somewhere."""

    def __init__(self, exporter, name):
        super().__init__()
        self.exporter, self.function, self.wrong, self.times = exporter, name, [], 0
        self.done = threading.Event()

    def look(self):
        now, wanted = self.exporter.scrape(), {"function": self.function}
        entries = now.value("uprobe_function_entries_total", **wanted)
        parts = (now.value(DURATION + "_count", **wanted),
                 now.total("uprobe_function_abandoned_calls_total", **wanted),
                 now.total("uprobe_exporter_events_lost_total", **wanted),
                 now.value("uprobe_function_in_flight", **wanted))
        self.times += 1
        if entries != sum(parts):
            self.wrong.append((entries, parts))
        return parts

    def run(self):
        while not self.done.is_set():
            try:
                self.look()
            except (OSError, AssertionError) as error:
                self.wrong.append(error)
                return
            self.done.wait(0.005)


@each_tier
class Full(unittest.TestCase):
    def tier_more_open_calls_than_there_is_room_for(self, tier):
        text = config(target("shapes", function("recurse", exit="return-sites")),
                      limits={"in_flight": LIMIT})
        with Victim("shapes", 50, 20, 200) as v, Exporter(text, tier) as e:
            watch = Watch(e, "recurse")
            watch.start()
            v.round()
            while watch.times < 20 and watch.is_alive():
                watch.done.wait(0.01)
            watch.done.set()
            watch.join()
            self.assertEqual(watch.wrong, [])
            lost = wait_until(lambda: e.account("recurse").get("lost_in_flight_full"), what="lost")
            account = e.account("recurse")
            self.assertEqual(account["all"], 1000, account)
            self.assertEqual(account["in_flight"], 0, account)
            self.assertGreaterEqual(account["observed"], LIMIT * 20, account)
            self.assertGreaterEqual(lost, 20, account)
            v.round()
            again = e.account("recurse")
            self.assertEqual(again["all"], 2000, again)
            self.assertGreater(again["lost_in_flight_full"], lost)
