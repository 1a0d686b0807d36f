"""Several probes on one function: each of them counts every call, whatever the others are."""

import unittest

from exporter import Exporter, config, each_tier, function, setUpModule, target
from survival import Accounts
from victim import Victim

BUCKETS = ((1e-6, 1e-3), (1e-5, 1.0), (2e-6, 2e-5, 2e-4), (5.0,), (7e-6,))  # seconds
PLACES = 4  # UP_SITE_PROBES of bpf/contract.h


def sharers(binary, symbol, exits):
    """A target for each exit strategy, all on one function, each with buckets of its own."""
    return [target(binary, function(symbol, exit=how, **(
        {} if how == "none" else {"buckets": [f"{1e6 * edge:.0f}us" for edge in BUCKETS[i]]})),
                   name=f"{binary}{i}") for i, how in enumerate(exits)]


EXITS = {"return_probes": ("uretprobe",) * PLACES, "two": ("uretprobe",) * 2,
         "return_sites": ("return-sites",) * PLACES,
         "mixed": ("uretprobe", "return-sites", "none", "uretprobe")}
# victim and arguments, function, its calls and how many of them return: recursion, a leaf that
# many threads call, and a function that is left by longjmp every second time
ROUNDS = ((("shapes", 50, 20), "recurse", 1000, 1000), (("threads", 4, 2000), "work", 8000, 8000),
          (("leaves", "jump", 400), "leave", 400, 200))


@each_tier
class Shared(unittest.TestCase):
    def each_counts(self, tier, exits):
        """Every sharer's account after a round of each victim, whatever it is and with whom."""
        targets = [t for (victim, *_), symbol, _, _ in ROUNDS
                   for t in sharers(victim, symbol, exits)]
        with Exporter(config(*targets), tier) as e:
            self.assertEqual(e.scrape().total("uprobe_exporter_probe_attached"), len(targets),
                             e.log_text())
            for victim, symbol, calls, returned in ROUNDS:
                before = [Accounts(e, [symbol], target=f"{victim[0]}{i}")
                          for i in range(len(exits))]
                with Victim(*victim) as v:
                    v.round()
                    self.assertEqual(v.end(), 0)
                for how, accounts in zip(exits, before):
                    account = accounts.settled()[symbol]
                    with self.subTest(function=symbol, exit=how):
                        self.assertEqual(account["all"], calls, account)
                        self.assertEqual(account.get("observed", returned), returned, account)
                        self.assertEqual(account.get("lost", 0), 0, account)

    def tier_two_return_probes(self, tier):
        self.each_counts(tier, EXITS["two"])

    def tier_four_return_probes(self, tier):
        self.each_counts(tier, EXITS["return_probes"])

    def tier_four_with_return_sites(self, tier):
        self.each_counts(tier, EXITS["return_sites"])

    def tier_four_of_every_kind(self, tier):
        self.each_counts(tier, EXITS["mixed"])

    def tier_each_has_its_own_buckets(self, tier):
        with Victim("shapes", 3, 5, 1000) as v, \
                Exporter(config(*sharers("shapes", "inner", EXITS["return_probes"])), tier) as e:
            v.round()
            sums = []
            for i in range(PLACES):
                h = e.histogram("inner", target=f"shapes{i}")
                self.assertEqual(tuple(le for le, _ in h.buckets[:-1]), BUCKETS[i])
                # every call lasts more than 1 ms, and less than 1 s
                self.assertEqual([n for _, n in h.buckets], [10 * (le >= 1) for le, _ in h.buckets])
                sums.append(h.sum)
            # one frame, one start: they differ by no more than their programs take
            self.assertLess(max(sums) - min(sums), 0.1 * min(sums))

    def tier_a_fifth_is_refused(self, tier):
        targets = sharers("threads", "work", ("uretprobe",) * (PLACES + 1))
        with Victim("threads", 2, 500) as v, Exporter(config(*targets), tier) as e:
            now = e.scrape()
            failed = now.find("uprobe_exporter_probe_failure_info")
            self.assertEqual([(labels["target"], labels["reason"]) for labels, _ in failed],
                             [(f"threads{PLACES}", "limit")])
            self.assertEqual(now.value("uprobe_exporter_probe_attached", target=f"threads{PLACES}"), 0)
            v.round()
            for i in range(PLACES):
                self.assertEqual(e.account("work", target=f"threads{i}")["all"], 1000)
            self.assertEqual(e.account("work", target=f"threads{PLACES}")["all"], 0)

    def tier_one_filtered_one_not(self, tier):
        for how in ("uretprobe", "return-sites"):
            with self.subTest(exit=how), Victim("shapes", 50, 4) as chosen, \
                    Victim("shapes", 50, 7) as other:
                probe = function("recurse", exit=how)
                targets = [target("shapes", probe, name="all"),
                           target("shapes", probe, name="one", process={"pid": chosen.pid})]
                with Exporter(config(*targets), tier) as e:
                    chosen.round()
                    other.round()
                    chosen.round()
                    for name, calls in (("all", 50 * (4 + 7 + 4)), ("one", 50 * (4 + 4))):
                        account = e.account("recurse", target=name)
                        self.assertEqual((account["observed"], account["all"]), (calls, calls),
                                         (name, account))
