"""Durations are right: by the victim's own clock, in the buckets that contain them."""

import unittest

from exporter import Exporter, config, each_tier, function, setUpModule, target
from victim import Victim

CALLS = 10
SLEEPS = {"sleep_1ms": 0.001, "sleep_10ms": 0.010, "sleep_100ms": 0.100}


@each_tier
class Durations(unittest.TestCase):
    def tier_sleeps(self, tier):
        text = config(target("sleeps", *SLEEPS, "sleep_never"))
        with Victim("sleeps", CALLS) as v, Exporter(text, tier) as e:
            truth = v.round()
            now = e.scrape()
            for name, seconds in SLEEPS.items():
                h = now.histogram("uprobe_function_duration_seconds", function=name)
                self.assertEqual(h.count, CALLS, name)
                # a busy machine wakes sleepers late, which is their own time: by their own clock
                # none took longer than `longest`, which lies in the bucket up to `high`
                longest = truth["max_ns"][name] / 1e9
                high = next(le for le, _ in h.buckets if le >= longest)
                self.assertEqual(h.between(seconds, high), CALLS, (name, longest, h.buckets))
                own = truth["ns"][name] / 1e9
                self.assertLess(abs(h.sum - own) / own, 0.02, (name, h.sum, own))
            self.assertEqual(now.value("uprobe_function_duration_seconds_count",
                                       function="sleep_never"), 0)

    def tier_own_buckets(self, tier):
        bounds = ["500us", "5ms", "50ms", "2s"]
        text = config(target("sleeps", *(function(name, buckets=bounds) for name in SLEEPS)))
        with Victim("sleeps", 3) as v, Exporter(text, tier) as e:
            longest = v.round()["max_ns"]
            for name, low, high in (("sleep_1ms", 0.0005, 0.005), ("sleep_10ms", 0.005, 0.05),
                                    ("sleep_100ms", 0.05, 2)):
                h = e.histogram(name)
                self.assertEqual([le for le, _ in h.buckets], [0.0005, 0.005, 0.05, 2, float("inf")])
                if longest[name] / 1e9 < high:
                    self.assertEqual(h.between(low, high), 3, (name, h.buckets))

    def tier_above_every_bucket(self, tier):
        text = config(target("sleeps", function("sleep_10ms", buckets=["1us", "1ms"])))
        with Victim("sleeps", 3) as v, Exporter(text, tier) as e:
            v.round()
            self.assertEqual([n for _, n in e.histogram("sleep_10ms").buckets], [0, 0, 3])

    def tier_both_formats_agree(self, tier):
        with Victim("sleeps", 2) as v, Exporter(config(target("sleeps", *SLEEPS)), tier) as e:
            v.round()
            text, om = e.scrape(), e.scrape(openmetrics=True)

            def durations(scrape):
                return {k: v for k, v in scrape.series.items() if k[0].startswith("uprobe_function")}
            self.assertEqual(durations(text), durations(om))
