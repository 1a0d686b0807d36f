"""USDT sites on the real kernel: hits, pairs, arguments, semaphores, with exact counts."""

import os
import shutil
import signal
import subprocess
import unittest

import victim
from exporter import Exporter, each_tier, run, setUpModule, yaml
from usdt import DURATION, HITS, config, pair, settled
from victim import Victim, wait_until

CALLS = 500
MARKS = ("marks:hit", "other:hit", "marks:gated",
         pair("work", "marks:work__start", "marks:work__done"),
         pair("request", "marks:request__start", "marks:request__done", ("arg1", "arg2")),
         pair("again", "marks:again__start", "marks:again__done"),
         pair("orphan", "marks:orphan__start", "marks:orphan__done"),
         pair("nap", "marks:nap__start", "marks:nap__done"))


@each_tier
class Marks(unittest.TestCase):
    def tier_counts(self, tier):
        """Sites of one name are counted together, those of one name elsewhere are not; pairs by
        thread and by argument; what has no end or no start is told."""
        with Exporter(config(victim.path("marks"), *MARKS), tier) as e:
            with Victim("marks", CALLS, 4) as v:
                first, told = v.round(), v.round()
                self.assertEqual(first["gates"], [1, 1])
                self.assertEqual(first["gated"], 2 * CALLS)
                now = e.scrape()
                self.assertEqual(now.value(HITS, probe="marks:hit"), 2 * told["hit"])
                self.assertEqual(now.value(HITS, probe="other:hit"), 2 * told["other"])
                self.assertEqual(now.value(HITS, probe="marks:gated"), 2 * told["gated"])
                settled(e, "work", observed=2 * told["work"])
                settled(e, "request", observed=2 * told["request"])
                settled(e, "again", observed=2 * told["again"], overwritten=2 * told["again"])
                settled(e, "orphan", observed=2, unmatched=2 * told["orphan"])
                histogram = e.scrape().histogram(DURATION, probe="nap")
                self.assertEqual(histogram.count, 2 * told["nap"])
                took = (first["nap_ns"] + told["nap_ns"]) / 1e9
                self.assertAlmostEqual(histogram.sum / took, 1, delta=0.02)
                v.end()
            self.assertEqual([line for line in e.logs() if line["level"] == "error"], [])

    def tier_operands(self, tier):
        """Every form of argument is read to the value that it has: its end finds its start."""
        names = subprocess.run([victim.path("operands"), "1", "names"], text=True, check=True,
                               capture_output=True).stdout.split()
        self.assertGreater(len(names), 30)
        probes = [pair(name, f"operands:{name}__start", f"operands:{name}__end",
                       ({"many": "arg14", "odd": "arg4"}.get(name, "arg1"), "arg1"))
                  for name in names]
        arguments = ("--kernel.perf-force",)
        if tier == "perf":  # a quarter of a second for each site
            probes = probes[::6]
        with Exporter(config(victim.path("operands"), *probes), tier, arguments) as e:
            with Victim("operands", CALLS) as v:
                v.round()
                for probe in probes:
                    settled(e, probe["name"], observed=CALLS)
                v.end()

    def tier_started_before_and_filtered(self, tier):
        """A process that runs already has its semaphore raised too; another one than the filter's
        neither that nor counts."""
        with Victim("marks", 10, 1) as chosen, Victim("marks", 10, 1) as other:
            self.assertEqual(chosen.round()["gates"], [0, 0])
            text = config(victim.path("marks"), "marks:gated", "marks:hit",
                          process={"pid": chosen.pid})
            with Exporter(text, tier) as e:
                told = chosen.round()
                self.assertEqual(told["gates"], [1, 1])
                self.assertEqual(told["gated"], 20)
                self.assertEqual(other.round()["gates"], [0, 0])
                now = e.scrape()
                self.assertEqual(now.value(HITS, probe="marks:gated"), 20)
                self.assertEqual(now.value(HITS, probe="marks:hit"), told["hit"])
            wait_until(lambda: chosen.round()["gates"] == [0, 0], 20)

    def tier_semaphores_fall(self, tier):
        """Whichever way the exporter ends, for running and for later processes."""
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with Victim("marks", 10, 1) as early:
                with Exporter(config(victim.path("marks"), "marks:gated"), tier) as e:
                    with Victim("marks", 10, 1) as late:
                        self.assertEqual(early.round()["gates"], [1, 1])
                        self.assertEqual(late.round()["gates"], [1, 1])
                        e.stop(signum)
                        for v in (early, late):
                            wait_until(lambda v=v: v.round()["gates"] == [0, 0], 20)
                            self.assertEqual(v.round()["gated"], 0)
                            self.assertEqual(v.end(), 0)
                with Victim("marks", 10, 1) as after:
                    self.assertEqual(after.round()["gates"], [0, 0])

    def tier_two_exporters(self, tier):
        """A semaphore counts its listeners."""
        text = config(victim.path("marks"), "marks:gated")
        with Victim("marks", 10, 1) as v, Exporter(text, tier) as first:
            with Exporter(text, tier) as second:
                v.round()
                for e in (first, second):
                    self.assertEqual(e.scrape().value(HITS, probe="marks:gated"), 20)
            self.assertEqual(v.round()["gates"], [1, 1])
            self.assertEqual(first.scrape().value(HITS, probe="marks:gated"), 40)

    def tier_threads_that_end(self, tier):
        """A start is abandoned when its thread ends, one named by an argument with the process."""
        probes = (pair("thread", "marks:work__start", "marks:nap__start"),
                  pair("argument", "marks:request__start", "marks:request__done",
                       ("arg1", "arg1")))
        with Exporter(config(victim.path("marks"), *probes), tier) as e:
            with Victim("marks", CALLS, 4) as v:
                v.round()
                settled(e, "thread", overwritten=4 * (CALLS - 1), thread_exit=4, unmatched=20)
                settled(e, "argument", in_flight=CALLS, unmatched=CALLS)
                v.end()
            settled(e, "argument", thread_exit=CALLS, unmatched=CALLS)


class Links(unittest.TestCase):
    def test_one_link_for_a_file(self):
        with Exporter(config(victim.path("marks"), *MARKS)) as e:
            links = [item for item in e.held if item[0] == "link"]
            self.assertEqual(len(links), 1 + 4, e.held)  # the marks, and what follows processes

    def test_functions_and_sites_together(self):
        """They are told apart, and the same place counts for both."""
        text = yaml({"targets": [
            {"name": "a", "binary": victim.path("marks"),
             "functions": [{"symbol": "hits", "exit": "uretprobe"}],
             "usdt": [{"probe": "other:hit"}]},
            {"name": "b", "binary": victim.path("marks"), "usdt": [{"probe": "other:hit"}]}]})
        with Exporter(text) as e, Victim("marks", CALLS, 1) as v:
            v.round()
            self.assertEqual(e.histogram("hits").count, CALLS)
            now = e.scrape()
            for target in "ab":
                self.assertEqual(now.value(HITS, target=target, probe="other:hit"), CALLS)

    def test_in_a_library_and_in_the_program(self):
        """The same name in two files: two targets, each with its own."""
        library, program = victim.path("libmarks.so"), victim.path("marks")
        text = yaml({"targets": [
            {"name": "library", "binary": library, "usdt": [{"probe": "marks:hit"}]},
            {"name": "program", "binary": program, "usdt": [{"probe": "marks:hit"}]}]})
        with Exporter(text) as e:
            with Victim("marks", CALLS, 1, library) as v:
                told = v.round()
                now = e.scrape()
                self.assertEqual(now.value(HITS, target="program"), told["hit"])
                self.assertEqual(now.value(HITS, target="library"), told["library"])
                v.end()

    def test_copies(self):
        """An unlinked, a stripped and a static file have their notes all the same."""
        for name in ("marks.stripped", "marks.nopie", "marks.static"):
            with self.subTest(name):
                if name == "marks.stripped":
                    file = os.path.join(os.path.dirname(victim.path("marks")), name)
                    subprocess.run(["strip", "-o", file, victim.path("marks")], check=True)
                else:
                    file = victim.path(name)
                with Exporter(config(file, *MARKS)) as e, Victim(file, CALLS, 2) as v:
                    told = v.round()
                    self.assertEqual(e.scrape().value(HITS, probe="marks:hit"), told["hit"])
                    self.assertEqual(told["gated"], 2 * CALLS)
                    settled(e, "request", observed=CALLS)


class Refused(unittest.TestCase):
    def why(self, *probes, file=None):
        """{probe: (reason, detail)} of what cannot be attached."""
        with Exporter(config(file or victim.path("marks"), *probes)) as e:
            return {line["probe"]: (line["reason"], line["detail"]) for line in e.logs()
                    if line["msg"] == "probe not attached"}

    def test_messages(self):
        found = self.why("marks:hits", "marks:hit", "mark:hit", "marks:work_start", "nobody:knows",
                         "libc:work_start",
                         pair("key", "marks:hit", "marks:request__done", ("arg2", "arg1")))
        self.assertEqual(sorted(found), ["key", "libc:work_start", "mark:hit", "marks:hits",
                                         "marks:work_start", "nobody:knows"])
        self.assertEqual({reason for name, (reason, _) in found.items() if name != "key"},
                         {"usdt_not_found"})
        self.assertIn("marks:hit", found["marks:hits"][1])
        self.assertIn("function", found["marks:work_start"][1])
        self.assertIn("function", found["libc:work_start"][1])
        self.assertEqual(found["key"][0], "usdt_argument")

    def test_one_instruction_with_several_semaphores(self):
        """The first of them is probed, the others are not, and all else in the file is."""
        found = self.why("clash:plain", "clash:gated", "clash:same", "clash:gated__too",
                         "clash:other", file=victim.path("clash"))
        self.assertEqual({name: reason for name, (reason, _) in found.items()},
                         {name: "kernel_refused" for name in ("clash:gated", "clash:gated__too")})
        for _, detail in found.values():
            self.assertIn("semaphore", detail)

    def test_beside_another_tool(self):
        """One that probes the place without the semaphore: that is told."""
        with open(victim.path("clash"), "rb") as file:
            at = next(line.split()[0] for line in run("list", "--usdt", victim.path("clash"))
                      .stdout.splitlines() if line.endswith("clash:alone"))
        text = yaml({"targets": [{"name": "tool", "binary": file.name, "functions": [
            {"offset": at, "name": "place", "exit": "none"}]}]})
        with Exporter(text) as e:
            self.assertEqual(e.attached(function="place"), 1)
            found = self.why("clash:alone", "clash:other", file=file.name)
            self.assertEqual(list(found), ["clash:alone"])
            self.assertIn("another tool", found["clash:alone"][1])

    def test_no_notes(self):
        file = os.path.join(os.path.dirname(victim.path("marks")), "marks.bare")
        subprocess.run(["objcopy", "-R", ".note.stapsdt", victim.path("marks"), file], check=True)
        reason, detail = self.why("marks:hit", file=file)["marks:hit"]
        self.assertEqual(reason, "usdt_not_found")
        self.assertIn("no stapsdt notes", detail)

    def test_check(self):
        """From the files alone, with the exit status for scripts."""
        folder = os.path.dirname(victim.path("marks"))
        for probes, status in ((MARKS, 0), (("marks:hit", "marks:none"), 1)):
            path = os.path.join(folder, "check.yaml")
            with open(path, "w", encoding="utf-8") as out:
                out.write(config(victim.path("marks"), *probes))
            result = run("check", f"--config.file={path}")
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)


class Endurance(unittest.TestCase):
    def test_written_to_in_place(self):
        """Semaphores fall when the file is let go of, and rise when it is probed again."""
        file = shutil.copy(victim.path("marks"), victim.path("marks") + ".changing")
        with Exporter(config(file, "marks:gated")) as e:
            self.assertEqual(e.attached(probe="marks:gated"), 1)
            with open(file, "r+b") as out:
                out.seek(0, os.SEEK_END)
                out.write(b"\0")
            wait_until(lambda: e.attached(probe="marks:gated") == 0, 20)
            wait_until(lambda: e.attached(probe="marks:gated") == 1, 30)
            with Victim(file, CALLS, 1) as v:
                self.assertEqual(v.round()["gates"], [1, 1])
                self.assertEqual(e.scrape().value(HITS, probe="marks:gated"), 2 * CALLS)

    def test_detached_while_open(self):
        """What has begun when the file is let go of is told as detached."""
        file = shutil.copy(victim.path("libmarks.so"), victim.path("marks") + ".library")
        probe = pair("open", "marks:open__start", "marks:open__done", ("arg1", "arg1"))
        with Exporter(config(file, probe)) as e, Victim("marks", CALLS, 1, file) as v:
            v.round()
            settled(e, "open", in_flight=CALLS, unmatched=1)
            with open(file, "r+b") as out:
                out.seek(0, os.SEEK_END)
                out.write(b"\0")
            settled(e, "open", detached=CALLS, unmatched=1)
            wait_until(lambda: e.attached(probe="open") == 1, 30)
            v.round()
            settled(e, "open", detached=CALLS, in_flight=CALLS, unmatched=2)
            self.assertEqual(v.end(), 0)


if __name__ == "__main__":
    unittest.main()
