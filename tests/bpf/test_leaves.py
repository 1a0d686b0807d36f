"""Calls without a return: longjmp, thread ends, fork, exec. Every entry is accounted for."""

import unittest

from exporter import DURATION, Exporter, config, each_tier, setUpModule, target
from victim import Victim, wait_until

CALLS = 200


@each_tier
class Leaves(unittest.TestCase):
    def account_after(self, tier, mode, *functions):
        with Victim("leaves", mode, CALLS) as v, \
                Exporter(config(target("leaves", *functions)), tier) as e:
            self.assertEqual(v.round()["calls"]["leave"], CALLS)
            accounts = {name: wait_until(lambda name=name: self.settled(e, name), what=name)
                        for name in functions}
            self.assertEqual(v.end(), 0)
            return accounts

    @staticmethod
    def settled(exporter, name):
        account = exporter.account(name)
        return not account["in_flight"] and account

    def tier_longjmp(self, tier):
        leave = self.account_after(tier, "jump", "leave", "after")["leave"]
        self.assertEqual(leave["observed"], CALLS / 2, leave)
        self.assertEqual(leave["unwound"], CALLS / 2, leave)
        self.assertEqual(leave["all"], CALLS, leave)

    def tier_longjmp_over_several_frames(self, tier):
        accounts = self.account_after(tier, "deep", "leave", "middle", "leave_deepest", "after")
        for name in ("middle", "leave_deepest"):
            self.assertEqual(accounts[name]["observed"], 0, accounts)
            self.assertEqual(accounts[name]["unwound"], CALLS / 2, accounts)
        self.assertEqual(accounts["leave"]["observed"], CALLS / 2, accounts)
        self.assertEqual(accounts["leave"]["all"], CALLS, accounts)
        self.assertEqual(accounts["after"]["observed"], 1, accounts)

    def tier_pthread_exit(self, tier):
        leave = self.account_after(tier, "thread", "leave")["leave"]
        self.assertEqual(leave["observed"], CALLS / 2, leave)
        self.assertEqual(leave["thread_exit"], CALLS / 2, leave)

    def tier_exit_system_call(self, tier):
        leave = self.account_after(tier, "raw", "leave")["leave"]
        self.assertEqual(leave["observed"], CALLS / 2, leave)
        self.assertEqual(leave["thread_exit"], CALLS / 2, leave)


@each_tier
class Processes(unittest.TestCase):
    def tier_fork_in_the_call(self, tier):
        """The child returns from the call too, but did not enter it."""
        with Victim("procs", "fork", 30) as v, \
                Exporter(config(target("procs", "spawn", "child_work")), tier) as e:
            v.round()
            for name in ("spawn", "child_work"):
                account = e.account(name)
                self.assertEqual((account["observed"], account["all"]), (30, 30), (name, account))

    def tier_vfork_in_the_call(self, tier):
        with Victim("procs", "vfork", 30) as v, \
                Exporter(config(target("procs", "spawn")), tier) as e:
            v.round()
            account = e.account("spawn")
            self.assertEqual((account["observed"], account["all"]), (30, 30), account)

    def exec_in(self, tier, mode):
        with Victim("procs", mode, 10) as v, \
                Exporter(config(target("procs", "spawn")), tier) as e:
            v.begin()
            v.wait_ready()  # the new image's
            account = e.account("spawn")
            self.assertEqual((account["observed"], account["exec"], account["in_flight"]),
                             (0, 1, 0), account)
            v.round()
            account = e.account("spawn")
            self.assertEqual((account["observed"], account["all"]), (10, 11), account)

    def tier_exec_in_the_call(self, tier):
        self.exec_in(tier, "exec")

    def tier_exec_from_another_thread(self, tier):
        self.exec_in(tier, "exec-thread")

    def tier_forked_child_after_attach_is_counted(self, tier):
        """A file's probes cover processes that are forked later."""
        with Victim("procs", "fork", 5) as v, \
                Exporter(config(target("procs", "child_work")), tier) as e:
            v.round()
            self.assertEqual(e.scrape().value(DURATION + "_count", function="child_work"), 5)
