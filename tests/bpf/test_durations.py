"""Durations are right: by the victim's own clock, in the buckets that contain them."""

import unittest

from exporter import Exporter, config, each_tier, function, setUpModule, target
from victim import Victim

CALLS = 10
TRIES = 5  # between its clock and ours the machine may do something else: the best counts
SLEEPS = {"sleep_1ms": 0.001, "sleep_10ms": 0.010, "sleep_100ms": 0.100}


@each_tier
class Durations(unittest.TestCase):
    def tier_sleeps(self, tier):
        text = config(target("sleeps", *SLEEPS, "sleep_never"))
        with Victim("sleeps", CALLS) as v, Exporter(text, tier) as e:
            apart, sums, longest_of = {name: [] for name in SLEEPS}, dict.fromkeys(SLEEPS, 0), {}
            for n in range(1, TRIES + 1):
                truth = v.round()
                now = e.scrape()
                for name in SLEEPS:
                    h = now.histogram("uprobe_function_duration_seconds", function=name)
                    own = truth["ns"][name] / 1e9
                    apart[name].append(abs(h.sum - sums[name] - own) / own)
                    sums[name] = h.sum
                    longest_of[name] = max(longest_of.get(name, 0), truth["max_ns"][name])
                if max(map(min, apart.values())) < 0.02:
                    break
            for name, seconds in SLEEPS.items():
                h = now.histogram("uprobe_function_duration_seconds", function=name)
                self.assertEqual(h.count, CALLS * n, name)
                # a busy machine wakes sleepers late, which is their own time: by their own clock
                # none took longer than `longest`, which lies in the bucket up to `high`
                longest = longest_of[name] / 1e9
                high = next(le for le, _ in h.buckets if le >= longest)
                self.assertEqual(h.between(seconds, high), CALLS * n, (name, longest, h.buckets))
                self.assertLess(min(apart[name]), 0.02, (name, apart))
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
