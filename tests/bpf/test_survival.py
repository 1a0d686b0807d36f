"""Nothing that a program does inside a probed call harms it, and no such call is miscounted.

Every victim runs once without probes and, with the default config, in every tier: the same
output, the same exit status, and each call accounted for.
"""

import concurrent.futures
import os
import random
import signal
import threading
import time
import unittest

import victim
from exporter import Exporter, config, each_tier, function, setUpModule, target
from survival import (Accounts, Case, Group, check_case, check_groups, merged, resolved, run, strategy_of,
                      unprobed)
from victim import Victim

PLAIN = ("leave", "never", "recurse", "hand_over", "bounce", "choose", "rare")
PLAIN_FUNCTIONS = " ".join(PLAIN) + " take_over bounce_back"
# outermost calls: each of these makes 1,000 and 20
PLAIN_CALLS = {"recurse": 10, "bounce": 1000}


def plain_cases(**deep):
    """Recursion goes deeper than return probes see."""
    return [Case(name, PLAIN_CALLS.get(name, 10000), **(deep if name == "recurse" else {}))
            for name in PLAIN]


def process_cases(tier):
    """Forks take long, and no tier sees them differently: the full number once."""
    calls = 10000 if tier == "session" else 1000
    return Case("fork", calls), Case("vfork", calls), Case("vfork-exec", calls // 10)


CALL_OUT = (("plain.risky", "leave"), ("plain.risky", "never"), ("procs.risky", "spawn"),
            ("leaves", "leave"))


def needs(binary, package):
    if not os.path.exists(os.path.join(victim.BUILD, "victims", binary)):
        raise unittest.SkipTest(f"{binary} is not built: {package} is not installed")


ENDBR_CASES = Case("leave", 10000), Case("hand_over", 10000)
SITES = ("callee if_tail if_tail_stack by_register rep_ret bnd_ret two_rets frame pops "
         "loop_push loop_nop loop_cold nop_start nop_endbr red_zone long_way")


@each_tier
class PlainC(unittest.TestCase):
    """Programs in which nothing unwinds."""

    def tier_by_return_probes(self, tier):
        check_groups(
            self, tier,
            Group("plain", PLAIN_FUNCTIONS + " align", *plain_cases(observes="some"),
                  Case("align", 10000), strategy="uretprobe"),
            Group("plain.endbr", "leave hand_over take_over", *ENDBR_CASES, strategy="uretprobe"),
            Group("procs", "spawn child_work", *process_cases(tier), strategy="uretprobe"))

    def tier_by_return_sites(self, tier):
        check_groups(
            self, tier,
            Group("plain", PLAIN_FUNCTIONS + " align", *plain_cases(), Case("align", 10000),
                  exit="return-sites"),
            Group("plain.endbr", "leave hand_over take_over", *ENDBR_CASES, exit="return-sites"),
            Group("procs", "spawn child_work", Case("fork", 1000), Case("vfork", 1000),
                  Case("vfork-exec", 100), exit="return-sites"))


@each_tier
class Sites(unittest.TestCase):
    """Functions written by hand: exits of every kind; a loop's head, another function or data
    below the stack pointer where the probe would like to stand. A turn of a loop is no call."""

    def tier_by_default(self, tier):
        check_groups(self, tier, Group("sites", SITES + " by_memory", Case(2000), strategy=None))

    def tier_by_return_sites(self, tier):
        check_groups(self, tier, Group("sites", SITES, Case(2000), exit="return-sites"))


@each_tier
class Leaving(unittest.TestCase):
    """What unwinds, cancels and ends threads."""

    def tier_exceptions(self, tier):
        check_groups(
            self, tier,
            Group("throws", "leave guarded catcher rethrow nested",
                  *(Case(mode, 10000) for mode in ("leave", "guarded", "catcher", "rethrow",
                                                   "deep", "resumed"))))

    def tier_exceptions_through_a_c_library(self, tier):
        check_groups(self, tier, Group("throws", "visit", Case("visit", 10000, "libvisit.so"),
                                       probed="libvisit.so"))

    def tier_panics(self, tier):
        needs("panics", "rustc")
        check_groups(self, tier, Group("panics", "leave guarded catcher", Case(10000)))

    def tier_threads(self, tier):
        check_groups(
            self, tier,
            Group("cancels", "leave", Case("self", 10000), Case("other", 10000),
                  Case("async", 500)),
            Group("leaves", "leave middle leave_deepest after", Case("jump", 10000),
                  Case("deep", 10000), Case("thread", 10000), Case("raw", 10000), strategy=None),
            Group("crowd", "finish ends_thread", Case(100000 if tier == "session" else 10000)))

    def tier_plugin_that_throws(self, tier):
        """A plain C program, but what it has opened, or opens once it is probed, calls it, and
        throws through its frames."""
        for mode in ("early", "late"):
            with self.subTest(plugin=mode):
                self.plugin(tier, mode)

    def plugin(self, tier, mode):
        arguments = (mode, "libplugin.so", 10000)
        (wanted,), _ = unprobed("host", arguments)
        with Victim("host", *(resolved(a) for a in arguments)) as v, \
                Exporter(config(target("host", function("relay", exit="auto"))), tier) as e:
            self.assertEqual(strategy_of(e, "relay"), "return-sites")
            accounts = Accounts(e, ["relay"])
            self.assertEqual(v.round(), wanted)
            self.assertEqual(v.end(), 0)
            account = accounts.settled()["relay"]
            self.assertEqual((account["observed"], account["all"]), (5000, 10000), account)


@each_tier
class Stacks(unittest.TestCase):
    """What has more than one stack."""

    def tier_coroutines_and_signals(self, tier):
        check_groups(
            self, tier,
            Group("switches", "step substep", Case("one", 10000), Case("two", 10000),
                  Case("orphans", 10000, observes="some")),
            Group("signals", "work", Case("alternate", 10000), Case("same", 10000),
                  Case("leap", 10000), Case("timer", 10000, varies=True)))

    def tier_coroutines_of_its_own_making(self, tier):
        """A stack switch in assembler: only the code itself tells."""
        check_groups(self, tier, Group("switches.private", "step substep", Case("one", 10000),
                                       Case("two", 10000)))

    def tier_go_stacks_that_grow(self, tier):
        """A function that has to grow the stack begins again; it is one call."""
        needs("stacks", "golang-go")
        check_groups(self, tier, Group("stacks", "main.small main.grow main.deep", Case(10000),
                                       exit="none"))


class Risky(unittest.TestCase):
    """Plain C programs with something in them that unwinds: the function decides."""

    def test_by_default(self):
        check_groups(
            self, "session",
            Group("plain.risky", PLAIN_FUNCTIONS, *plain_cases(observes="some"), strategy=None),
            Group("procs.risky", "spawn", Case("fork", 1000), Case("vfork", 1000)))

    def test_functions_that_call_out_get_no_return_probe(self):
        with Exporter(config(*(target(binary, function(name, exit="auto"), name=binary + name)
                               for binary, name in CALL_OUT))) as e:
            for binary, name in CALL_OUT:
                self.assertEqual(strategy_of(e, name, target=binary + name), "return-sites")

    def test_return_probes_by_name(self):
        """Where nothing does unwind; it is warned of, and works."""
        group = Group("plain.risky", PLAIN_FUNCTIONS, *plain_cases(observes="some"),
                      exit="uretprobe")
        check_groups(self, "session", group)
        with Exporter(config(group.target())) as e:
            warned = [line for line in e.logs() if line["level"] == "warn"]
            self.assertTrue(any("pthread_cancel" in str(line) for line in warned), e.log_text())


class Refused(unittest.TestCase):
    """Probes that would do harm or never fire: refused with a reason, the rest is attached."""

    def refused(self, binary, probe, *reasons):
        """The probe is refused and the victim unharmed; what the failure's detail says."""
        before = run(binary, (1000,))
        with Exporter(config(target(binary, probe, function("callee", exit="none")))) as e:
            name = probe.get("name") or probe["symbol"]
            self.assertEqual(e.attached(function=name), 0, e.log_text())
            self.assertEqual(e.attached(function="callee"), 1)
            found = e.scrape().find("uprobe_exporter_probe_failure_info", function=name)
            self.assertIn(found[0][0]["reason"], reasons)
            self.assertEqual(run(binary, (1000,)), before)
            return next(line["detail"] for line in e.logs() if line.get("function") == name)

    def place(self, symbol, beyond=0):
        """A config entry for a place so many bytes beyond a symbol."""
        address = victim.symbols(victim.path("sites"))[symbol][0] + beyond
        return {"address": hex(address), "name": "there", "exit": "none"}

    def test_nop_over_a_red_zone(self):
        detail = self.refused("sites", self.place("red_zone", 10), "unsafe_site")
        self.assertRegex(detail, "nop")

    def test_inside_an_instruction(self):
        detail = self.refused("sites", self.place("red_zone", 7), "not_an_instruction")
        self.assertIn(hex(victim.symbols(victim.path("sites"))["red_zone"][0] + 5), detail)

    def test_locked_first_instruction(self):
        detail = self.refused("sites", function("locked", exit="none"), "kernel_refused",
                              "unsafe_site")
        self.assertIn("lock", detail)

    def test_prefixed_first_instruction(self):
        self.refused("sites", function("prefixed", exit="none"), "kernel_refused", "unsafe_site")

    def test_loop_that_begins_with_the_function(self):
        """Whether a turn is a call cannot be told: refused, or else counted right."""
        text = config(target("sites", function("loop_start", exit="none")))
        with Exporter(text) as e:
            if e.attached(function="loop_start"):
                run("sites", (1000,))
                calls = e.scrape().value("uprobe_function_calls_total", function="loop_start")
                self.assertEqual(calls, 1000)

    def test_go_returns(self):
        needs("stacks", "golang-go")
        text = config(target("stacks", function("main.grow", exit="auto"),
                             function("main.small", exit="uretprobe"),
                             function("main.deep", exit="none")))
        with Exporter(text) as e:
            for name in ("main.grow", "main.small"):
                self.assertEqual(e.attached(function=name), 0)
                e.scrape().value("uprobe_exporter_probe_failure_info", function=name,
                                 reason="go_unsupported")
            self.assertEqual(e.attached(function="main.deep"), 1)


MIXED = (("plain", ("leave", 20000), "leave"), ("throws", ("guarded", 10000), "guarded"),
         ("switches", ("two", 10000), "step"), ("signals", ("alternate", 10000), "work"),
         ("plain.risky", ("choose", 20000), "choose"), ("cancels", ("self", 2000), "leave"))


def mixed_config(**keys):
    return config(*(target(binary, function(name, exit="auto"), name=binary)
                    for binary, _, name in MIXED), **keys)


def run_at_once(times=1):
    """Every victim of MIXED, at the same time, several times in a row."""
    jobs = [(binary, arguments) for binary, arguments, _ in MIXED]
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        return [list(pool.map(lambda job: run(*job), jobs)) for _ in range(times)]


@each_tier
class AtOnce(unittest.TestCase):
    def tier_victims_side_by_side(self, tier):
        wanted = [unprobed(binary, arguments) for binary, arguments, _ in MIXED]
        with Exporter(mixed_config(), tier) as e:
            before = [Accounts(e, [name], target=binary) for binary, _, name in MIXED]
            self.assertEqual(run_at_once(), [wanted])
            for (binary, _, name), accounts, (lines, _) in zip(MIXED, before, wanted):
                with self.subTest(binary=binary):
                    account = accounts.settled()[name]
                    self.assertEqual(account["all"], merged(lines, "calls")[name], account)
                    self.assertEqual(account["observed"], merged(lines, "returned")[name], account)
                    self.assertEqual((account["in_flight"], account["lost"]), (0, 0), account)

    def tier_swept_meanwhile(self, tier):
        """The sweep after threads that ended, held up at any moment, takes none of the calls that
        have begun on their stacks since."""
        group = Group("crowd", "finish ends_thread", Case(40000))
        unprobed("crowd", (40000,))
        over = threading.Event()

        def hold_up(pid):
            while not over.is_set():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(random.random() / 500)
                os.kill(pid, signal.SIGCONT)
                time.sleep(random.random() / 500)

        def keep_sweeping(e):
            while not over.is_set():
                e.scrape()

        with Exporter(config(group.target()), tier) as e:
            accounts = Accounts(e, group.functions)
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                jobs = [pool.submit(hold_up, e.pid), *(pool.submit(keep_sweeping, e) for _ in "12")]
                try:
                    check_case(self, group, group.cases[0], accounts)
                finally:
                    over.set()
                for job in jobs:
                    job.result()

    def tier_two_probes_on_one_instruction(self, tier):
        ways = [("leave", "auto"), ("leave", "return-sites")]
        if tier != "perf":  # which takes its time to detach
            ways += [("bounce", "auto"), ("recurse", "return-sites"), ("choose", "return-sites")]
        for name, strategy in ways:
            with self.subTest(function=name, exit=strategy):
                self.two_probes(tier, name, strategy)

    def two_probes(self, tier, name, strategy):
        one = function(name, exit=strategy, buckets=["1us", "1ms"])
        other = function(name, exit=strategy, buckets=["10us", "1s"])
        arguments = (name, PLAIN_CALLS.get(name, 10000))
        wanted = unprobed("plain", arguments)
        calls, returned = (merged(wanted[0], key)[name] for key in ("calls", "returned"))
        with Exporter(config(target("plain", one, name="one"),
                             target("plain", other, name="other")), tier) as e:
            accounts = [Accounts(e, [name], target=label) for label in ("one", "other")]
            self.assertEqual(run("plain", arguments), wanted)
            for account in (a.settled()[name] for a in accounts):
                self.assertEqual((account["all"], account["observed"]), (calls, returned), account)

    def tier_killed_in_the_middle(self, tier):
        """kill -9 of the exporter, while every victim has calls open."""
        wanted = [unprobed(binary, arguments) for binary, arguments, _ in MIXED]
        for delay in (0.05, 0.3):
            with Exporter(mixed_config(), tier) as e:
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    running = pool.submit(run_at_once)
                    time.sleep(delay)
                    e.stop(signal.SIGKILL)
                    self.assertEqual(running.result(), [wanted])
                e.assert_nothing_left()


class ComeAndGo(unittest.TestCase):
    """Exporters that start and stop while the victims run."""

    TIMES = 50

    def come_and_go(self, tier, times):
        wanted = [unprobed(binary, arguments) for binary, arguments, _ in MIXED]
        done = threading.Event()

        def keep_running():
            while not done.is_set():
                self.assertEqual(run_at_once(), [wanted])

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(keep_running)
            try:
                for i in range(times):
                    with Exporter(mixed_config(), tier) as e:
                        time.sleep(0.01 * (i % 5))
                        e.stop(signal.SIGKILL if i % 3 == 2 else signal.SIGTERM)
            finally:
                done.set()
            running.result()

    def test_session(self):
        self.come_and_go("session", self.TIMES)

    def test_multi(self):
        self.come_and_go("multi", 6)

    def test_perf(self):
        self.come_and_go("perf", 2)
