"""Exact counts: every call of every thread and process, in every tier, whoever scrapes meanwhile."""

import threading
import unittest

import victim
from exporter import DURATION, Exporter, config, each_tier, function, setUpModule, target
from scrape import Monotonic
from victim import Victim

THREADS = 4


class Scraper(threading.Thread):
    """Scrapes without a pause until told to stop; each answer is checked as it comes."""

    def __init__(self, exporter):
        super().__init__()
        self.exporter, self.error, self.times = exporter, None, 0
        self.watch, self.done = Monotonic(), threading.Event()

    def run(self):
        try:
            while not self.done.is_set():
                self.watch.see(self.exporter.scrape(openmetrics=False))
                self.times += 1
                self.done.wait(0.01)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def finish(self):
        self.done.set()
        self.join()
        if self.error:
            raise self.error
        return self.times


@each_tier
class MillionCalls(unittest.TestCase):
    def exact(self, tier, calls, when):
        total = THREADS * calls
        with Victim("threads", THREADS, calls, when) as v, \
                Exporter(config(target("threads", "work")), tier) as e:
            scraper = Scraper(e)
            scraper.start()
            v.begin()
            result = v.result(300)
            while scraper.times < 50 and scraper.is_alive():
                scraper.done.wait(0.05)
            times = scraper.finish()
            self.assertEqual(result["calls"]["work"], total)
            self.assertGreaterEqual(times, 50)
            self.assertEqual(e.histogram("work").count, total)
            self.assertEqual(e.account("work")["all"], total)

    def tier_threads_that_are_there_already(self, tier):
        self.exact(tier, 250000, "early")

    def tier_threads_that_come_later(self, tier):
        self.exact(tier, 25000, "late")


@each_tier
class Counts(unittest.TestCase):
    def tier_nothing_called_shows_zero(self, tier):
        with Exporter(config(target("sleeps", "sleep_never")), tier) as e:
            h = e.histogram("sleep_never")
            self.assertEqual((h.count, h.sum, h.buckets[0][1]), (0, 0, 0))
            self.assertEqual(e.attached(function="sleep_never"), 1)

    def tier_processes_started_after_attach(self, tier):
        with Exporter(config(target("ticker", "tick")), tier) as e:
            for _ in range(20):
                with Victim("ticker", 0, 5) as v:
                    v.result()
                    self.assertEqual(v.end(), 0)
            self.assertEqual(e.histogram("tick").count, 100)

    def tier_two_processes_share_one_series(self, tier):
        with Victim("threads", 2, 1000) as a, Victim("threads", 3, 1000) as b, \
                Exporter(config(target("threads", "work")), tier) as e:
            a.begin()
            b.begin()
            a.result()
            b.result()
            self.assertEqual(e.histogram("work").count, 5000)

    def tier_every_kind_of_executable(self, tier):
        kinds = ("threads", "threads.nopie", "threads.static", "threads.staticpie", "threads.endbr")
        targets = [target(kind, "work", name=kind) for kind in kinds]
        with Exporter(config(*targets), tier) as e:
            for kind in kinds:
                with Victim(kind, 2, 500) as v:
                    v.round()
                self.assertEqual(e.histogram("work", target=kind).count, 1000, kind)

    def tier_count_only(self, tier):
        with Victim("threads", 4, 10000) as v, \
                Exporter(config(target("threads", function("work", exit="none"))), tier) as e:
            v.round()
            now = e.scrape()
            self.assertEqual(now.value("uprobe_function_calls_total", function="work"), 40000)
            self.assertEqual(now.find(DURATION + "_count", function="work"), [])

    def tier_library_opened_before_attach(self, tier):
        library = victim.path("libmany1000.so")
        with Victim("library", library, 1000, 7) as v, \
                Exporter(config(target(library, "fn_00000", "fn_00999")), tier) as e:
            v.round()
            self.assertEqual(e.histogram("fn_00000").count, 7)
            self.assertEqual(e.histogram("fn_00999").count, 7)

    def tier_detached_at_the_end(self, tier):
        with Victim("threads", 1, 10) as v:
            with Exporter(config(target("threads", "work")), tier):
                self.assertTrue(v.is_probed("work"))
            victim.wait_until(lambda: not v.is_probed("work"), what="breakpoint gone")
            self.assertEqual(v.round()["calls"]["work"], 10)

    def tier_two_exporters_do_not_disturb_each_other(self, tier):
        text = config(target("threads", "work"))
        with Victim("threads", 2, 1000) as v, Exporter(text, tier) as a:
            with Exporter(text, tier) as b:
                v.round()
                self.assertEqual(b.histogram("work").count, 2000)
            v.round()
            self.assertEqual(a.histogram("work").count, 4000)


class AutoExit(unittest.TestCase):
    def test_auto_measures_a_plain_c_program(self):
        with Victim("threads", 2, 100) as v, \
                Exporter(config(target("threads", function("work", exit="auto")))) as e:
            v.round()
            self.assertEqual(e.histogram("work").count, 200)
            self.assertEqual(
                e.scrape().find("uprobe_exporter_probe_info", function="work")[0][0]["exit_strategy"],
                "uretprobe")

    def test_auto_measures_a_leaf_of_a_library(self):
        """Whoever calls it, nothing unwinds through a function that calls nothing."""
        library = victim.path("libmany1000.so")
        with Victim("library", library, 1000, 7) as v, \
                Exporter(config(target(library, function("fn_00000", exit="auto")))) as e:
            v.round()
            self.assertEqual(e.histogram("fn_00000").count, 7)

    def test_which_tier_is_used_is_told(self):
        for tier in ("session", "multi", "perf"):
            with self.subTest(tier=tier), Exporter(config(target("threads", "work")), tier) as e:
                info = e.scrape().find("uprobe_exporter_probe_info", function="work")[0][0]
                self.assertEqual(info["attach_kind"], tier)
