"""`process: {pid: N}`: exactly that process, all its threads; and what a shared file costs.

The library under test is a private copy of the machine's libc, so that nothing but the victims
ever meets a probe.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

import victim
from exporter import Exporter, config, each_tier, function, run, setUpModule, target
from victim import Victim, wait_until


def machine_libc():
    text = subprocess.run(["ldd", victim.path("mallocs")], capture_output=True, text=True,
                          check=True).stdout
    return next(line.split()[2] for line in text.splitlines() if "libc.so" in line)


class PrivateLibc(unittest.TestCase):
    """Victims that map a copy of libc which no other process maps."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-libc-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.libc = shutil.copy(os.path.realpath(machine_libc()), self.folder + "/libc.so.6")
        self.env = {"LD_LIBRARY_PATH": self.folder}

    def victim(self, *arguments):
        v = Victim(*arguments, env=self.env)
        self.addCleanup(v.__exit__)
        return v


@each_tier
class PidFilter(PrivateLibc):
    def tier_malloc_of_one_process(self, tier):
        chosen, other = self.victim("mallocs", 3, 10000), self.victim("mallocs", 2, 5000)
        text = config(target(self.libc, "malloc", process={"pid": chosen.pid}))
        with Exporter(text, tier) as e:
            other.begin()
            chosen.begin()
            self.assertEqual(chosen.result()["calls"]["malloc"], 30000)
            other.result()
            account = e.account("malloc")
            self.assertEqual((account["observed"], account["all"]), (30000, 30000), account)
            self.assertGreater(chosen.private_text_kib(self.libc), 0)
            self.assertEqual(other.private_text_kib(self.libc), 0)
            self.assertFalse(other.is_probed("malloc", self.libc, dynamic=True))
            self.assertRegex(e.log_text(), r'"placed_in": ?"the selected process"')
            # a process started later gets no probe either
            later = self.victim("mallocs", 1, 10)
            later.round()
            self.assertEqual(later.private_text_kib(self.libc), 0)
            self.assertEqual(e.account("malloc")["all"], 30000)

    def tier_threads_started_later(self, tier):
        with Victim("threads", 4, 1000, "late") as v, Victim("threads", 4, 1000, "late") as other:
            text = config(target("threads", "work", process={"pid": v.pid}))
            with Exporter(text, tier) as e:
                v.round()
                other.round()
                v.round()
                self.assertEqual(e.account("work")["all"], 8000)

    def tier_forked_children_are_other_processes(self, tier):
        with Victim("procs", "fork", 10) as v:
            text = config(target("procs", "spawn", "child_work", process={"pid": v.pid}))
            with Exporter(text, tier) as e:
                v.round()
                self.assertEqual(e.account("spawn")["all"], 10)
                self.assertEqual(e.account("child_work")["all"], 0)

    def tier_the_process_ends(self, tier):
        with Victim("threads", 2, 1000) as v:
            text = config(target("threads", "work", process={"pid": v.pid}))
            with Exporter(text, tier) as e:
                v.round()
                v.end()
                wait_until(lambda: not e.attached(function="work"), 30, "detached")
                self.assertEqual(e.account("work")["all"], 2000)
                e.scrape().value("uprobe_exporter_probe_failure_info", function="work",
                                 reason="process_not_found")

    def tier_two_processes_two_targets(self, tier):
        with Victim("threads", 1, 100) as a, Victim("threads", 1, 10) as b:
            text = config(target("threads", "work", name="a", process={"pid": a.pid}),
                          target("threads", "work", name="b", process={"pid": b.pid}))
            with Exporter(text, tier) as e:
                a.round()
                b.round()
                self.assertEqual(e.histogram("work", target="a").count, 100)
                self.assertEqual(e.histogram("work", target="b").count, 10)


class HostCost(PrivateLibc):
    """A file that many programs map is not probed for all of them unless asked for."""

    def text(self, binary, **keys):
        return config(target(binary, "malloc", **keys), target("ticker", "tick", name="ticker"),
                      limits={"host_programs": 1})

    def test_refused_without_a_filter(self):
        self.victim("mallocs", 1, 10)
        self.victim("threads", 1, 10)
        with Exporter(self.text(self.libc)) as e:
            self.assertEqual(e.attached(function="malloc"), 0)
            self.assertEqual(e.attached(function="tick"), 1)
            e.scrape().value("uprobe_exporter_probe_failure_info", function="malloc",
                             reason="host_cost")

    def test_forced(self):
        v = self.victim("mallocs", 2, 10)
        other = self.victim("threads", 1, 10)
        with Exporter(self.text(self.libc, host_cost="allow")) as e:
            self.assertEqual(e.attached(function="malloc"), 1)
            before = e.account("malloc")["all"]
            v.round()
            self.assertGreaterEqual(e.account("malloc")["all"], before + 20)
            self.assertTrue(other.is_probed("malloc", self.libc, dynamic=True))
            self.assertRegex(e.log_text(), r'"placed_in": ?"every process that maps the file"')

    def check(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return run("check", f"--config.file={file.name}")

    def test_check_on_the_machines_libc(self):
        """check attaches nothing, so here the real one may be named."""
        self.victim("ticker", 1000)
        self.victim("sleeps")
        libc = os.path.realpath(machine_libc())
        refused = self.check(self.text(libc))
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("host_cost", refused.stdout)
        forced = self.check(self.text(libc, host_cost="allow"))
        self.assertEqual(forced.returncode, 0, forced)
        self.assertRegex(forced.stdout, r"\d+ process")
        self.assertIn("; 1 probe placed in every process that maps it, 0 in one ", forced.stdout)
        with Victim("ticker", 1000) as v:
            chosen = self.check(self.text(libc, process={"pid": v.pid}))
            self.assertEqual(chosen.returncode, 0, chosen)
            self.assertIn("; 0 probes placed in every process that maps it, 1 in one ",
                          chosen.stdout)

    def test_pid_that_does_not_exist(self):
        text = config(target("threads", function("work"), process={"pid": 4194304}),
                      target("ticker", "tick", name="ticker"))
        with Exporter(text) as e:
            self.assertEqual(e.attached(function="work"), 0)
            e.scrape().value("uprobe_exporter_probe_failure_info", function="work",
                             reason="process_not_found")
