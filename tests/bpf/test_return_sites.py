"""`exit: return-sites` by name on plain C programs: every exit is seen, whatever the call does.

One exporter a tier, with all victims: in the perf tier each instruction takes a quarter of a second
to detach.
"""

import json
import os
import select
import struct
import time
import unittest

import bpfsys
from exporter import Exporter, config, function, setUpModule, target, tier_missing
from survival import Accounts
from victim import Victim

CALLS = 400
PROBED = {
    "threads": ["work"],
    "plain": ["recurse", "choose"],
    "shapes": ["recurse", "ping", "pong", "outer", "inner", "tail_begin", "tail_end",
               "many_returns"],
    "sites": ["if_tail", "if_tail_stack", "two_rets", "callee"],
    "leaves": ["leave", "middle", "leave_deepest"],
    "blocked": ["hold"],
    "procs": ["spawn", "child_work"],
    "switches": ["step", "substep"],
}


class ReturnSites:
    tier = None

    @classmethod
    def setUpClass(cls):
        if tier_missing(cls.tier):
            raise unittest.SkipTest(tier_missing(cls.tier))
        cls.exporter = Exporter(config(*(
            target(binary, *(function(name, exit="return-sites") for name in names), name=binary)
            for binary, names in PROBED.items())), cls.tier)

    @classmethod
    def tearDownClass(cls):
        with cls.exporter as e:
            status, _ = e.stop(seconds=240)
            assert status == 0, e.log_text()

    def test_all_are_attached_so(self):
        """What the other tests are about."""
        info = self.exporter.scrape().find("uprobe_exporter_probe_info")
        self.assertEqual(len(info), sum(map(len, PROBED.values())), self.exporter.log_text())
        self.assertEqual({labels["exit_strategy"] for labels, _ in info}, {"return-sites"})

    def accounts(self, binary):
        return Accounts(self.exporter, PROBED[binary], target=binary)

    def calls_by_second_names(self):
        """What the kernel programs believe there is: their one variable."""
        variables = bpfsys.borrow_map(self.exporter.pid, map_type=2, value_size=4, max_entries=1,
                                      map_flags="0x400")  # BPF_F_MMAPABLE, and not read-only
        try:
            return struct.unpack("=I", bpfsys.map_get(variables, bytes(4), 4))[0]
        finally:
            os.close(variables)

    def no_longer_open(self, accounts):
        now = accounts.settled()
        for name, account in now.items():
            self.assertEqual((account["in_flight"], account["lost"]), (0, 0), (name, now))
        return now

    def all_observed(self, binary, *arguments):
        """Every call of every probed function, by what the victim says of itself."""
        before = self.accounts(binary)
        with Victim(binary, *arguments) as v:
            v.begin()
            v.child.stdin.close()
            lines = v.child.stdout.read().decode().splitlines()
            self.assertEqual(v.end(), 0)
        truth = {}
        for line in lines:
            truth.update(json.loads(line)["calls"])
        now = self.no_longer_open(before)
        told = [name for name in PROBED[binary] if name in truth]
        self.assertTrue(told, truth)
        for name in told:
            account = (now[name]["observed"], now[name]["all"])
            self.assertEqual(account, (truth[name], truth[name]), (name, now))

    def test_leaf(self):
        self.all_observed("threads", 4, 3000)

    def test_recursion_beyond_what_return_probes_see(self):
        self.all_observed("plain", "recurse", 5)  # 1,000 deep each

    def test_calls_in_calls(self):
        self.all_observed("shapes", 50, 10)

    def test_conditional_exits(self):
        """Jumps that leave the function when they are taken, several returns, tail calls."""
        self.all_observed("sites", 1200)
        self.all_observed("plain", "choose", 3600)

    def test_fork(self):
        """The child passes the exit too, without having entered."""
        self.all_observed("procs", "fork", 30)

    def test_coroutines(self):
        self.all_observed("switches", "one", 1600)
        self.all_observed("switches", "two", 1600)

    def test_coroutines_whose_thread_has_ended(self):
        """Entered in a thread that has ended when the call goes on in another one."""
        self.all_observed("switches", "orphans", 1600)

    def test_coroutines_swept_while_they_wait(self):
        """The same, while scrapes look for calls that have ended with their threads."""
        before, scrapes = self.accounts("switches"), 0
        with Victim("switches", "orphans", 3200) as v:
            v.begin()
            while not select.select([v.child.stdout], [], [], 0)[0]:
                self.exporter.scrape()
                scrapes += 1
            calls = v.result()["calls"]["step"]
        self.assertGreater(scrapes, 3)
        now = self.no_longer_open(before)
        self.assertEqual((now["step"]["observed"], now["step"]["all"]), (calls, calls), now)

    def test_tail_call_does_not_contain_what_it_calls(self):
        def sums():
            return [self.exporter.histogram(name, target="shapes").sum
                    for name in ("tail_begin", "tail_end")]
        more = []
        with Victim("shapes", 1, 5, 10000) as v:
            for _ in range(5):
                before = sums()
                v.round()
                begin, end = (now - then for now, then in zip(sums(), before))
                self.assertGreaterEqual(begin, 5 * 0.010)
                self.assertGreaterEqual(end, 5 * 0.010)
                more.append(begin - end)
        # with the callee it would be at least that every time; a busy machine holds either up
        self.assertLess(min(more), 5 * 0.010, more)

    def after_leaves(self, mode):
        before = self.accounts("leaves")
        with Victim("leaves", mode, CALLS) as v:
            v.round()
            self.assertEqual(v.end(), 0)
        now = self.no_longer_open(before)
        self.assertEqual(now["leave"]["observed"], CALLS / 2, now)
        self.assertEqual(now["leave"]["all"], CALLS, now)
        return now

    def test_longjmp(self):
        leave = self.after_leaves("jump")["leave"]
        # the last one's place on the stack is not entered again: it ends with the process
        self.assertGreaterEqual(leave["unwound"], CALLS / 2 - 1, leave)
        self.assertEqual(leave["unwound"] + leave["thread_exit"], CALLS / 2, leave)

    def test_names_that_are_not_free_yet(self):
        """What was left is about to be taken out, and whoever does so is held up: the calls that
        come meanwhile have the same names, and are measured all the same."""
        before = self.accounts("leaves")
        calls = bpfsys.borrow_map(self.exporter.pid, map_type=1, key_size=16, value_size=24)
        try:
            with Victim("leaves", "jump", CALLS) as v:
                v.round()
                self.assertEqual(before.read()["leave"]["in_flight"], 1)
                [key] = bpfsys.map_keys(calls, 16)
                left = bpfsys.map_get(calls, key, 24)
                bpfsys.map_put(calls, key, bytes(8) + left[8:])  # a start of 0: is being taken
                v.round()
                self.assertEqual(len(bpfsys.map_keys(calls, 16)), 2)
                self.assertEqual(self.calls_by_second_names(), 1)
                bpfsys.map_put(calls, key, left)
                v.round()
                self.assertEqual(len(bpfsys.map_keys(calls, 16)), 1)
            leave = self.no_longer_open(before)["leave"]
            self.assertEqual(bpfsys.map_keys(calls, 16), [])
        finally:
            os.close(calls)
        self.assertEqual((leave["observed"], leave["all"]), (CALLS * 3 / 2, CALLS * 3), leave)
        self.assertEqual((leave["unwound"], leave["thread_exit"]), (CALLS * 3 / 2 - 1, 1), leave)
        self.assertEqual(self.calls_by_second_names(), 0)

    def test_a_name_is_given_back_during_a_call(self):
        """Who was taking the old call out lets it be: what ends is the newer one."""
        calls = bpfsys.borrow_map(self.exporter.pid, map_type=1, key_size=16, value_size=24)
        try:
            with Victim("blocked", 1) as v:
                v.begin()
                v.result()
                [key] = bpfsys.map_keys(calls, 16)
                since_boot_ago = struct.pack("=Q", 1) + bpfsys.map_get(calls, key, 24)[8:]
                v.begin()
                v.result()
                before = self.exporter.histogram("hold", target="blocked")
                bpfsys.map_put(calls, key, bytes(24))
                v.begin()
                v.result()
                self.assertEqual(self.calls_by_second_names(), 1)
                bpfsys.map_put(calls, key, since_boot_ago)
                v.begin()
                v.result()
                now = self.exporter.histogram("hold", target="blocked")
                self.assertEqual(now.count - before.count, 1)
                self.assertLess(now.sum - before.sum, time.monotonic() / 2)
                self.assertEqual(bpfsys.map_keys(calls, 16), [key])
                bpfsys.map_delete(calls, key)
        finally:
            os.close(calls)
        self.assertEqual(self.calls_by_second_names(), 0)

    def test_longjmp_over_several_frames(self):
        now = self.after_leaves("deep")
        for name in ("middle", "leave_deepest"):
            self.assertEqual((now[name]["observed"], now[name]["all"]), (0, CALLS / 2), now)

    def thread_ends_inside(self, mode):
        """Nothing is in flight once the threads have ended, though the process lives on."""
        before = self.accounts("leaves")
        with Victim("leaves", mode, CALLS) as v:
            v.round()
            leave = self.no_longer_open(before)["leave"]
            self.assertIsNone(v.child.poll())
        self.assertEqual((leave["observed"], leave["all"]), (CALLS / 2, CALLS), leave)
        self.assertGreater(leave["thread_exit"], 0, leave)

    def test_pthread_exit(self):
        self.thread_ends_inside("thread")

    def test_exit_system_call(self):
        self.thread_ends_inside("raw")

    def test_killed_inside(self):
        before = self.accounts("blocked")
        with Victim("blocked", 70) as v:
            v.begin()
            v.result()
            self.assertEqual(before.read()["hold"]["in_flight"], 70)
            v.kill()
        hold = self.no_longer_open(before)["hold"]
        self.assertEqual((hold["thread_exit"], hold["all"]), (70, 70), hold)

    def exec_inside(self, mode):
        before = self.accounts("procs")
        with Victim("procs", mode, 10) as v:
            v.begin()
            v.wait_ready()  # the new image's
            spawn = self.no_longer_open(before)["spawn"]
            self.assertEqual((spawn["observed"], spawn["exec"], spawn["all"]), (0, 1, 1), spawn)
            v.round()
            spawn = self.no_longer_open(before)["spawn"]
            self.assertEqual((spawn["observed"], spawn["all"]), (10, 11), spawn)

    def test_exec(self):
        self.exec_inside("exec")

    def test_exec_from_another_thread(self):
        self.exec_inside("exec-thread")


class Session(ReturnSites, unittest.TestCase):
    tier = "session"


class Multi(ReturnSites, unittest.TestCase):
    tier = "multi"


class Perf(ReturnSites, unittest.TestCase):
    tier = "perf"
