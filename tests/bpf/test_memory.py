"""No leak and no bad access over a whole life: start, load, 100 scrapes, SIGTERM."""

import concurrent.futures
import os
import re
import shutil
import signal
import tempfile
import threading
import unittest

import victim
from exporter import OPENMETRICS, Exporter, config, each_tier, function, setUpModule, target
from victim import Victim, wait_until

SCRAPES = 100
TSAN = os.path.join(victim.BUILD, "tsan", "uprobe_exporter")
ASAN = os.path.join(victim.BUILD, "gcc-asan", "uprobe_exporter")
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "valgrind.supp")
FAULTS = re.compile(r"ERROR: |runtime error|LeakSanitizer|definitely lost: [1-9]|"
                    r"ERROR SUMMARY: [1-9]")


def reload(e, text):
    """Another config, several times: each of them may leak as well."""
    for n in range(1, 4):
        with open(e.config, "w", encoding="utf-8") as out:
            out.write(text if n % 2 else text.replace("inner", "outer2"))
        e.child.send_signal(signal.SIGHUP)
        wait_until(lambda n=n: e.log_text().count("config reloaded") >= n, 60)


def replace(e, file):
    os.rename(shutil.copy(file, file + ".new"), file)
    wait_until(lambda: e.scrape().value("uprobe_exporter_target_upgrades_total",
                                        target="replaced") == 1 and
               e.attached(target="replaced") == 1, 60)


def life(test, tier, **keys):
    """One life under a checker; what it wrote. The config has probes that work and some that
    do not, for the paths of failure leak as well as others."""
    replaced = shutil.copy(victim.path("sites"), victim.path("sites") + ".replaced")
    text = config(target("shapes", "recurse", "outer", "inner", "no_such_function"),
                  target("threads", {"symbol": "work", "exit": "none"}, name="threads"),
                  target(replaced, "two_rets", name="replaced"),
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
        replace(e, replaced)
        reload(e, text)
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
        # as root: valgrind maps memory that is written and executed, which the unit forbids
        said = life(self, None, as_root=True, arguments=["--security.confine=capabilities"], wrap=[
            "valgrind", "--leak-check=full", "--errors-for-leak-kinds=definite",
            "--error-exitcode=99", "--num-callers=30", f"--suppressions={SUPPRESSIONS}"])
        self.assertIn("ERROR SUMMARY: 0 errors", said)


@each_tier
class Sanitizers(unittest.TestCase):
    def tier_whole_life(self, tier):
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1",
                           UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        life(self, tier, binary=ASAN, env=environment)


class Threads(unittest.TestCase):
    """No data race between the main thread, which attaches, and those that answer scrapes."""

    SCRAPERS, FILES, FUNCTIONS = 4, 2, 200

    def scrape_until(self, done, exporter, openmetrics):
        """Not looking at the answers, which would take longer than making them."""
        times = 0
        while not done.is_set():
            status, _, _ = exporter.get(headers={"Accept": OPENMETRICS} if openmetrics else {})
            self.assertEqual(status, 200)
            times += 1
            done.wait(0.01)  # or attaching, which locks for each probe, hardly gets its turn
        return times

    def test_a_file_that_appears_while_scrapes_go_on(self):
        folder = tempfile.mkdtemp(prefix="uprobe-test-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        later, done = [f"{folder}/later{i}.so" for i in range(self.FILES)], threading.Event()
        names = [f"fn_{i:05d}" for i in range(self.FUNCTIONS)]
        text = config(*(target(file, *names, name=os.path.basename(file)) for file in later),
                      target("leaves", function("leave", exit="return-sites"), name="leaves"))
        environment = dict(os.environ, TSAN_OPTIONS="halt_on_error=0:exitcode=66")
        # the sanitizer of older compilers does not work with all of the kernel's randomness
        with Exporter(text, binary=TSAN, env=environment, start_seconds=120,
                      wrap=["setarch", "-R"]) as e, \
                concurrent.futures.ThreadPoolExecutor(self.SCRAPERS) as pool:
            scrapers = [pool.submit(self.scrape_until, done, e, i % 2)
                        for i in range(self.SCRAPERS)]
            try:
                for file in later:
                    shutil.copy(victim.path("libmany1000.so"), file + ".new")
                    os.rename(file + ".new", file)
                with Victim("leaves", "raw", 100) as v:
                    v.round()
                    wait_until(lambda: e.scrape().total("uprobe_exporter_probe_attached") ==
                               self.FILES * self.FUNCTIONS + 1, 120, "attached")
                    with Victim("library", later[0], self.FUNCTIONS, 2) as library:
                        library.round()
                    v.round()
                e.child.send_signal(signal.SIGHUP)
            finally:
                done.set()
            self.assertTrue(all(scraper.result() for scraper in scrapers))
            self.assertEqual(e.account("fn_00199", target="later0.so")["all"], 2)
            status, _ = e.stop(seconds=120)
            said = e.log_text()
            self.assertNotIn("ThreadSanitizer", said)
            self.assertEqual(status, 0, said[-6000:])


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
            wait_until(lambda: e.open_files() <= files + 2, 30)  # connections are closed in a while
