"""Links per process: a filtered target on a file that the whole host maps.

The library is a private copy of the machine's libc, so that nothing but the victims meets a probe.
"""

import os
import shutil
import signal
import tempfile
import unittest

import bpfsys
import victim
from exporter import Exporter, config, function, run, setUpModule, target, tier_missing, yaml
from test_filter import PrivateLibc
from test_processes import cgroup
from test_reload import reload
from victim import Victim, wait_until

MOST = 16
NAME = f"pick{os.getpid()}"  # nobody else on the machine has it
TIERS = [tier for tier in ("session", "multi") if not tier_missing(tier)]


def links(e):
    return {item for item in bpfsys.held_by(e.pid) if item[0] == "link"}


def failure(e, name="malloc"):
    found = e.scrape().find("uprobe_exporter_probe_failure_info", function=name)
    return [labels["reason"] for labels, _ in found]


class PidLinks(PrivateLibc):
    """Nine programs map the library; the filter is about one of them."""

    def setUp(self):
        super().setUp()
        self.others = [self.program(f"other{i}", 1, 10) for i in range(8)]
        self.chosen = self.copy(NAME)

    def copy(self, name, of="mallocs"):
        return shutil.copy(victim.path(of), os.path.join(self.folder, name))

    def program(self, name, *arguments):
        return self.victim(self.copy(name), *arguments)

    def select(self, *arguments):
        return self.victim(self.chosen, *arguments)

    def text(self, *functions, process=None, **keys):
        return config(target(self.libc, *(functions or ("malloc",)), **keys,
                             process=process or {"comm": NAME}))

    def assert_untouched(self, *processes):
        for v in processes:
            self.assertFalse(v.is_probed("malloc", self.libc, dynamic=True))
            self.assertEqual(v.private_text_kib(self.libc), 0)

    def probed(self, v):
        return v.is_probed("malloc", self.libc, dynamic=True)

    def measured(self, e, *processes):
        wait_until(lambda: all(self.probed(v) for v in processes), 30, "probed", step=0.01)
        before = e.account("malloc")["all"]
        for v in processes:
            v.begin()
        want = sum(v.result()["calls"]["malloc"] for v in processes)
        account = e.account("malloc")
        self.assertEqual(account["all"] - before, want, account)
        self.assertEqual(account["in_flight"], 0, account)

    def test_two_of_them_and_one_more_later(self):
        for tier in TIERS:
            for exit_ in ("uretprobe", "return-sites", "none"):
                with self.subTest(tier=tier, exit=exit_):
                    self.two(tier, exit_)

    def two(self, tier, exit_):
        a, b = self.select(3, 2000), self.select(4, 1000)
        with Exporter(self.text(function("malloc", exit=exit_)), tier) as e:
            self.assertEqual(e.attached(function="malloc"), 1)
            calls = (lambda: e.scrape().value("uprobe_function_calls_total", function="malloc")) \
                if exit_ == "none" else (lambda: e.account("malloc")["all"])
            begin = calls()
            for v in (a, b, *self.others):
                v.begin()
            for v in (a, b, *self.others):
                v.result()
            self.assertEqual(calls() - begin, 10000)
            self.assert_untouched(*self.others)
            later, other = self.select(2, 500), self.victim(self.folder + "/other0", 1, 10)
            wait_until(lambda: self.probed(later), 30, "probed", step=0.01)
            begin = calls()
            later.round()
            other.round()
            self.assertEqual(calls() - begin, 1000)
            self.assert_untouched(*self.others, other)
            self.assertRegex(e.log_text(), r'"placed_in": ?"each selected process"')
            self.assertRegex(e.log_text(), r'"links per process".*"processes": ?2\b')
        for v in (a, b, later):
            wait_until(lambda v=v: not self.probed(v), 30, "breakpoints gone")
            v.end()

    def test_nobody_is_selected(self):
        with Exporter(self.text()) as e:
            self.assertEqual(e.attached(function="malloc"), 1)
            before = len(links(e))
            v = self.select(2, 100)
            self.measured(e, v)
            self.assertGreater(len(links(e)), before)
            v.end()
            wait_until(lambda: len(links(e)) == before, 30, "closed")

    def test_exec_by_another_thread(self):
        """The process is the same, but the kernel's filter goes by its first thread's task."""
        for tier in TIERS:
            with self.subTest(tier=tier):
                v = self.select(2, 100, "exec", "exec")
                with Exporter(self.text(), tier) as e:
                    wait_until(lambda: self.probed(v), 30, "probed")
                    before = len(links(e))
                    for _ in range(2):
                        v.begin()
                        v.wait_ready()
                        wait_until(lambda: self.probed(v) and len(links(e)) == before, 3,
                                   "probed again, by as many links")
                    self.measured(e, v)
                    self.measured(e, v)
                v.end()

    def test_a_file_with_few_programs_has_one_link(self):
        for v in self.others[1:]:
            v.end()
        library = shutil.copy(victim.path("libmarks.so"), self.folder)
        text = config(target(library, function("library_marks", exit="none"),
                             process={"comm": "marks"}))
        with Victim("marks", 1, 1, library), Victim(self.copy("other", "marks"), 1, 1, library) as b:
            with Exporter(text) as e:
                self.assertEqual(e.attached(function="library_marks"), 1)
                self.assertTrue(b.is_probed("library_marks", library))

    def test_many_one_after_another(self):
        with Exporter(self.text(function("malloc", exit="return-sites"))) as e:
            self.measured(e, self.select(1, 10))
            base_files, base_links = e.open_files(), len(links(e))
            for _ in range(50):
                with Victim(self.chosen, 1, 10, env=self.env) as v:
                    wait_until(lambda v=v: self.probed(v), 30, "probed", step=0.01)
                    v.round()
            wait_until(lambda: len(links(e)) == base_links, 30, "links closed")
            # connections are closed in a while, of before as well
            wait_until(lambda: e.open_files() <= base_files, 30)
            self.assertGreaterEqual(e.account("malloc")["all"], 510)

    def test_seventeen(self):
        chosen = [self.select(1, 100) for _ in range(MOST)]
        with Exporter(self.text()) as e:
            self.assertEqual(e.attached(function="malloc"), 1)
            self.measured(e, *chosen)
            one_more = self.select(1, 100)
            wait_until(lambda: e.attached(function="malloc") == 0, 30, "held back")
            self.assertEqual(failure(e), ["host_cost"])
            self.assertRegex(e.log_text(), "17 processes are selected")
            self.assert_untouched(one_more)
            chosen.pop().end()
            wait_until(lambda: e.attached(function="malloc") == 1, 30, "mended")
            self.assertEqual(failure(e), [])
            self.measured(e, one_more, *chosen)

    def test_whose_first_thread_has_ended(self):
        """The kernel would place nothing in it: that shows, and the others are measured."""
        headless = self.victim(self.copy(NAME + "h", of="threads"), 1, 10, "headless")
        well = self.select(1, 100)
        with Exporter(self.text(process={"comm": f'"{NAME}*"'})) as e:
            self.measured(e, well)
            wait_until(lambda: failure(e) == ["process_not_found"], 30)
            headless.end()
            wait_until(lambda: not failure(e), 30)
            self.measured(e, well)

    def test_seventeen_from_the_start(self):
        chosen = [self.select(1, 10) for _ in range(MOST + 1)]
        with Exporter(self.text()) as e:
            self.assertEqual(e.attached(function="malloc"), 0)
            self.assertEqual(failure(e), ["host_cost"])
            self.assertEqual(sum(map(self.probed, chosen)), MOST)

    def test_reload(self):
        a = self.select(2, 100)
        text = self.text()
        with Exporter(text) as e:
            self.measured(e, a)
            held = links(e)
            reload(e, text)
            self.assertEqual(links(e), held)
            self.measured(e, a)
            reload(e, self.text("malloc", "calloc"))
            self.assertEqual(e.attached(function="calloc"), 1)
            wait_until(lambda: a.is_probed("calloc", self.libc, dynamic=True), 30, "probed")
            self.measured(e, a)
            reload(e, self.text("calloc"))
            reload(e, config(target("ticker", "tick")))
            wait_until(lambda: not self.probed(a), 30, "breakpoints gone")
            self.assertTrue(held - links(e))
            reload(e, text)
            self.measured(e, a)

    def test_host_cost_after_a_reload(self):
        """Whether the whole host may pay is another way of linking: the links are made anew."""
        v = self.select(2, 100)
        with Exporter(self.text(host_cost="allow")) as e:
            self.measured(e, v)
            self.assertTrue(all(self.probed(other) for other in self.others))
            reload(e, self.text())
            wait_until(lambda: not any(self.probed(other) for other in self.others), 30)
            self.measured(e, v)
            reload(e, self.text(host_cost="allow"))
            wait_until(lambda: all(self.probed(other) for other in self.others), 30)
            self.measured(e, v)

    def test_another_filter_after_a_reload(self):
        a = self.select(1, 100)
        with Exporter(self.text()) as e:
            self.measured(e, a)
            reload(e, self.text(process={"exe": f"{self.folder}/other1"}))
            wait_until(lambda: self.probed(self.others[1]), 30, "probed")
            wait_until(lambda: not self.probed(a), 30, "breakpoints gone")
            self.measured(e, self.others[1])

    def test_the_same_process_in_two_targets(self):
        a = self.select(2, 100)
        text = config(target(self.libc, "malloc", name="one", process={"comm": NAME}),
                      target(self.libc, function("malloc", buckets=["1ms"]), name="two",
                             process={"exe": self.chosen}))
        with Exporter(text) as e:
            wait_until(lambda: self.probed(a), 30)
            before = [e.histogram("malloc", target=name).count for name in ("one", "two")]
            a.round()
            after = [e.histogram("malloc", target=name).count for name in ("one", "two")]
            self.assertEqual([now - then for now, then in zip(after, before)], [200, 200])

    def test_the_library_is_replaced(self):
        a = self.select(1, 100)
        with Exporter(self.text()) as e:
            self.measured(e, a)
            fresh = shutil.copy(self.libc, self.libc + ".new")
            os.rename(fresh, self.libc)
            for i in range(9):  # the whole host maps the new one as well
                self.victim(f"{self.folder}/other{i % 8}", 1, 10)
            wait_until(lambda: e.attached(function="malloc") == 1, 30)
            b = self.select(1, 100)
            wait_until(lambda: self.probed(b), 30, "probed")
            before = e.account("malloc")["all"]
            a.round()
            b.round()
            self.assertEqual(e.account("malloc")["all"] - before, 200)

    def test_usdt_in_a_library_that_is_opened_later(self):
        library = shutil.copy(victim.path("libmarks.so"), self.folder)
        text = yaml({"limits": {"host_programs": 1}, "targets": [
            {"name": "t", "binary": library, "usdt": [{"probe": "marks:hit"}],
             "process": {"exe": f"{self.folder}/marks.a"}}]})
        a, b = self.copy("marks.a", "marks"), self.copy("marks.b", "marks")
        with Victim(b, 50, 1, library) as other, Victim(self.copy("marks.c", "marks"), 50, 1, library):
            with Exporter(text) as e, Victim(a, 50, 1, library) as v:
                wait_until(lambda: v.private_text_kib(library), 30, "probed")
                other.round()
                told = v.round()
                self.assertEqual(e.scrape().value("uprobe_usdt_hits_total", probe="marks:hit"),
                                 told["library"])
                self.assertEqual(other.private_text_kib(library), 0)

    def test_moved_away(self):
        """One that is deselected is let go of, though it lives; calls stay counted once."""
        a = self.select(1, 100)
        with cgroup("uprobe-exporter-pidlinks") as path:
            if not path:
                self.skipTest("no unified cgroup hierarchy")

            def move(to):
                with open(os.path.join(to, "cgroup.procs"), "w", encoding="utf-8") as out:
                    out.write(str(a.pid))

            move(path)
            with Exporter(self.text(process={"cgroup": "/uprobe-exporter-pidlinks"})) as e:
                self.measured(e, a)
                move(os.path.dirname(path))
                wait_until(lambda: not self.probed(a), 30, "breakpoints gone")
                before = e.account("malloc")["all"]
                a.round()
                self.assertEqual(e.account("malloc")["all"], before)
                move(path)
                wait_until(lambda: self.probed(a), 30, "probed again")
                self.measured(e, a)
                move(os.path.dirname(path))

    def test_killed(self):
        a = self.select(1, 100)
        e = Exporter(self.text())
        self.addCleanup(e.discard)
        wait_until(lambda: self.probed(a), 30)
        e.stop(signal.SIGKILL)
        e.assert_nothing_left()
        wait_until(lambda: not self.probed(a), 30, "breakpoints gone")

    def test_perf_refuses(self):
        if tier_missing("perf"):
            self.skipTest("no perf tier")
        with Exporter(self.text(), "perf") as e:
            self.assertEqual(failure(e), ["host_cost"])
            self.assertIn("links of their own", e.log_text())

    def test_check(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(self.text())
            file.flush()
            told = run("check", f"--config.file={file.name}")
        self.assertEqual(told.returncode, 0, told)
        self.assertIn("1 in each process that is selected", told.stdout)


if __name__ == "__main__":
    unittest.main()
