"""Calls inside calls: recursion to any depth, nesting, tail calls, calls that stay open."""

import unittest

from exporter import DURATION, Exporter, config, each_tier, setUpModule, target
from victim import Victim, wait_until

SHAPES = ("recurse", "ping", "pong", "outer", "inner", "tail_begin", "tail_end", "many_returns")
KERNEL_DEPTH = 64  # MAX_URETPROBE_DEPTH: pending returns that the kernel keeps for a thread


@each_tier
class Shapes(unittest.TestCase):
    def tier_every_shape_is_exact(self, tier):
        """Depth 50 by itself: the kernel's 64 pending returns hold all probed frames."""
        with Victim("shapes", 50, 20) as v, Exporter(config(target("shapes", *SHAPES)), tier) as e:
            truth = v.round()["calls"]
            now = e.scrape()
            seen = {name: now.value(DURATION + "_count", function=name) for name in SHAPES}
            self.assertEqual(seen, truth)
            for name in SHAPES:
                self.assertEqual(e.account(name)["all"], truth[name], name)

    def tier_recursion_nests_durations(self, tier):
        """50 levels that pause 1 ms each: level k lasts at least k ms."""
        text = config(target("shapes", {"symbol": "recurse", "exit": "uretprobe", "buckets":
                                        ["500us", "10ms", "20ms", "30ms", "40ms", "10s"]}))
        with Victim("shapes", 50, 1, 1000) as v, Exporter(text, tier) as e:
            v.round()
            h = e.histogram("recurse")
            self.assertEqual(h.count, 50)
            self.assertEqual(h.between(0, 0.0005), 0)
            # sum over k of k ms, at least
            self.assertGreaterEqual(h.sum, 50 * 51 / 2 / 1000)
            at_most = {0.01: 9, 0.02: 19, 0.03: 29, 0.04: 39}
            for le, most in at_most.items():
                self.assertLessEqual(dict(h.buckets)[le], most)
            self.assertGreaterEqual(h.between(0.04, 10), 11)

    def tier_deep_recursion(self, tier):
        """1,000 deep: harmless, the surplus is told, and what comes later is measured again."""
        with Victim("shapes", 1000, 1) as v, \
                Exporter(config(target("shapes", "recurse", "inner")), tier) as e:
            v.round()
            account = e.account("recurse")
            self.assertEqual(account["all"], 1000, account)
            self.assertEqual(account["in_flight"], 0, account)
            self.assertLessEqual(account["observed"], KERNEL_DEPTH)
            self.assertGreater(account["observed"], 0)
            self.assertEqual(account["depth"], 1000 - account["observed"], account)
            v.round()
            again = e.account("recurse")
            self.assertEqual(again["all"], 2000)
            self.assertEqual(again["observed"], 2 * account["observed"])
            self.assertEqual(e.account("inner")["observed"], 4)

    def tier_tail_call_contains_what_it_calls(self, tier):
        """By uretprobe the time of a tail call includes the callee, which pauses 1 ms too."""
        with Victim("shapes", 1, 5, 1000) as v, \
                Exporter(config(target("shapes", "tail_begin", "tail_end")), tier) as e:
            v.round()
            begin, end = e.histogram("tail_begin"), e.histogram("tail_end")
            self.assertEqual((begin.count, end.count), (5, 5))
            self.assertGreaterEqual(begin.sum, end.sum + 0.005)


@each_tier
class Open(unittest.TestCase):
    def tier_open_calls_are_in_flight(self, tier):
        with Victim("blocked", 7) as v, Exporter(config(target("blocked", "hold")), tier) as e:
            v.begin()
            self.assertTrue(v.result()["holding"])
            account = e.account("hold")
            self.assertEqual((account["observed"], account["in_flight"]), (0, 7))
            v.round()
            account = e.account("hold")
            self.assertEqual((account["observed"], account["in_flight"], account["all"]), (7, 0, 7))

    def tier_a_call_that_began_before_attach(self, tier):
        """Its return is not ours: neither counted nor matched to a later entry."""
        with Victim("blocked", 3) as v:
            v.begin()
            v.result()
            with Exporter(config(target("blocked", "hold")), tier) as e:
                v.round()
                self.assertEqual(e.account("hold")["all"], 0)
                v.begin()
                v.result()
                v.round()
                account = e.account("hold")
                self.assertEqual((account["observed"], account["all"]), (3, 3))

    def tier_killed_in_the_call(self, tier):
        with Exporter(config(target("blocked", "hold")), tier) as e:
            with Victim("blocked", 5) as v:
                v.begin()
                v.result()
                v.kill()
            account = wait_until(lambda: (lambda a: not a["in_flight"] and a)(e.account("hold")),
                                 what="abandoned")
            self.assertEqual(account["thread_exit"], 5, account)
            self.assertEqual(account["all"], 5, account)

    def tier_detached_in_the_call(self, tier):
        """The victim returns unharmed from calls whose probe is gone."""
        with Victim("blocked", 40) as v:
            with Exporter(config(target("blocked", "hold")), tier):
                v.begin()
                v.result()
            self.assertEqual(v.round()["calls"]["hold"], 40)
            self.assertEqual(v.end(), 0)
