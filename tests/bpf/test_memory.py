"""No leak and no bad access over a whole life: start, load, 100 scrapes, SIGTERM."""

import os
import re
import shutil
import unittest

import victim
from exporter import OPENMETRICS, Exporter, config, each_tier, setUpModule, target
from victim import Victim

SCRAPES = 100
ASAN = os.path.join(victim.BUILD, "gcc-asan", "uprobe_exporter")
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "valgrind.supp")
FAULTS = re.compile(r"ERROR: |runtime error|LeakSanitizer|definitely lost: [1-9]|"
                    r"ERROR SUMMARY: [1-9]")


def life(test, tier, **keys):
    """One life under a checker; what it wrote. The config has probes that work and some that
    do not, for the paths of failure leak as well as others."""
    text = config(target("shapes", "recurse", "outer", "inner", "no_such_function"),
                  target("threads", {"symbol": "work", "exit": "none"}, name="threads"),
                  target("/no/such/file", "x", name="gone"))
    with Victim("shapes", 20, 10) as shapes, Victim("threads", 2, 1000) as threads, \
            Exporter(text, tier, start_seconds=120, **keys) as e:
        for i in range(SCRAPES):
            if i % 10 == 0:
                shapes.round()
                threads.round()
            status, _, _ = e.get(headers={"Accept": OPENMETRICS} if i % 2 else {})
            test.assertEqual(status, 200)
        for path in ("/", "/x", "/-/healthy"):
            e.get(path)
        test.assertEqual(e.account("recurse")["all"], 2000)
        status, _ = e.stop(seconds=120)
        said = e.log_text()
        test.assertEqual(status, 0, said[-6000:])
        test.assertIsNone(FAULTS.search(said), said[-6000:])
        return said


class Valgrind(unittest.TestCase):
    def test_whole_life(self):
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed")
        said = life(self, None, wrap=[
            "valgrind", "--leak-check=full", "--errors-for-leak-kinds=definite",
            "--error-exitcode=99", "--num-callers=30", f"--suppressions={SUPPRESSIONS}"])
        self.assertIn("ERROR SUMMARY: 0 errors", said)


@each_tier
class Sanitizers(unittest.TestCase):
    def tier_whole_life(self, tier):
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1",
                           UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        life(self, tier, binary=ASAN, env=environment)


class Steady(unittest.TestCase):
    def test_memory_does_not_grow_with_scrapes(self):
        with Exporter(config(target("shapes", "recurse", "outer"))) as e:
            def resident():
                return e.scrape().value("process_resident_memory_bytes")
            for _ in range(200):
                e.get()
            before, files = resident(), e.open_files()
            for _ in range(1000):
                e.get()
            self.assertLess(resident() - before, 1 << 20)
            self.assertLessEqual(e.open_files(), files + 2)
