"""A program that is replaced while it is probed: the old processes and the new ones are counted."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import bpfsys
import victim
from exporter import Exporter, config, function, setUpModule, target
from victim import Victim, wait_until

INFO = "uprobe_exporter_probe_info"
UPGRADES = "uprobe_exporter_target_upgrades_total"
GAP = "uprobe_exporter_target_upgrade_gap_seconds"
GAP_SECONDS = 10  # a quarter of a second, but for what others take of the machine (see test_long)


def program(name="threads", into="upgrade"):
    """A copy that a test may replace."""
    return shutil.copy(victim.path(name), f"{victim.path(name)}.{into}")


def other_build(file, number):
    """The same program with another build id: as a package upgrade brings it."""
    new = f"{file}.{number}"
    subprocess.run(["cp", victim.path("threads"), new], check=True)
    with open(new, "r+b") as out:
        content = out.read()
        note = content.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
        assert note >= 0, "no build id"
        at = note + 16
        out.seek(at)
        out.write(number.to_bytes(4, "little"))
    return new


def replace_by_rename(file, number):
    os.rename(other_build(file, number), file)


def replace_by_unlink(file, number):
    new = other_build(file, number)
    os.unlink(file)
    shutil.copy(new, file)
    os.unlink(new)


def builds(e):
    return {labels["build_id"] for labels, _ in e.scrape().find(INFO)}


class Upgrade(unittest.TestCase):
    def replaced(self, replace, strategy="uretprobe"):
        file = program()
        with Exporter(config(target(file, function("work", exit=strategy)))) as e:
            with Victim(file, 1, 1000, "early") as old:
                total = old.round()["calls"]["work"]
                before = builds(e)
                replace(file, 1)
                wait_until(lambda: e.scrape().value(UPGRADES) == 1 and e.attached() == 1, 30)
                self.assertLess(e.scrape().value(GAP), GAP_SECONDS)
                self.assertEqual(len(builds(e)), 2)
                with Victim(file, 1, 1000, "early") as new:
                    for v in (old, new, old, new):
                        total += v.round()["calls"]["work"]
                    self.assertEqual(e.histogram("work").count, total)
                    old.end()
                    wait_until(lambda: len(builds(e)) == 1, 30)
                    self.assertNotEqual(builds(e), before)
                    total += new.round()["calls"]["work"]
                    self.assertEqual(e.histogram("work").count, total)
                    new.end()

    def test_by_rename(self):
        self.replaced(replace_by_rename)

    def test_by_unlink_and_create(self):
        self.replaced(replace_by_unlink)

    def test_probed_exits(self):
        self.replaced(replace_by_rename, "return-sites")

    def test_by_symbolic_link(self):
        """`current` is switched to another version, and back."""
        versions = [other_build(program(), n) for n in (1, 2)]
        link = victim.path("threads") + ".current"
        os.symlink(versions[0], link)

        def switch(to):
            os.symlink(to, link + ".new")
            os.rename(link + ".new", link)

        total = 0
        with Exporter(config(target(link, "work"))) as e:
            time.sleep(2)  # the versions are older than the switches
            for n, version in enumerate((versions[1], versions[0], versions[1])):
                with Victim(link, 1, 1000, "early") as old:
                    total += old.round()["calls"]["work"]
                    switch(version)
                    wait_until(lambda n=n: e.scrape().value(UPGRADES) == n + 1 and
                               e.attached() == 1, 30)
                    self.assertLess(e.scrape().value(GAP), GAP_SECONDS)
                    with Victim(link, 1, 1000, "early") as new:
                        for v in (old, new):
                            total += v.round()["calls"]["work"]
                        self.assertEqual(e.histogram("work").count, total)

    def test_gone_and_back(self):
        file = program()
        with Exporter(config(target(file, "work"))) as e, Victim(file, 1, 1000, "early") as v:
            total = v.round()["calls"]["work"]
            new = other_build(file, 1)
            os.unlink(file)
            wait_until(lambda: e.scrape().find("uprobe_exporter_probe_failure_info",
                                               reason="binary_not_found"), 30)
            total += v.round()["calls"]["work"]
            self.assertEqual(e.histogram("work").count, total)
            os.rename(new, file)
            wait_until(lambda: e.attached() == 1, 30)
            with Victim(file, 1, 1000, "early") as after:
                for each in (v, after):
                    total += each.round()["calls"]["work"]
            self.assertEqual(e.histogram("work").count, total)

    def test_the_symbol_is_gone(self):
        """That is loud; the processes of the old version go on."""
        file = program()
        with Exporter(config(target(file, "work"))) as e, Victim(file, 1, 1000, "early") as v:
            v.round()
            os.rename(shutil.copy(victim.path("plain"), file + ".new"), file)
            wait_until(lambda: e.scrape().find("uprobe_exporter_probe_failure_info",
                                               reason="symbol_not_found"), 30)
            v.round()
            self.assertEqual(e.histogram("work").count, 2000)
            warnings = [line for line in e.logs() if line["msg"] == "probe not attached"]
            self.assertEqual([line["reason"] for line in warnings], ["symbol_not_found"])

    def test_in_place(self):
        """Let go of within a second; programs that start then are unharmed; probed again after."""
        file = program()
        with Exporter(config(target(file, "work"))) as e:
            with open(other_build(file, 1), "rb") as new, open(file, "r+b") as out:
                out.write(new.read())
            wait_until(lambda: e.attached() == 0, 30)
            with Victim(file, 1, 1000, "early") as v:
                v.round()
                self.assertEqual(v.end(), 0)
            wait_until(lambda: e.attached() == 1, 20)
            before = e.histogram("work").count
            with Victim(file, 1, 1000, "early") as v:
                v.round()
                self.assertEqual(e.histogram("work").count, before + 1000)

    def test_in_place_within_a_second(self):
        """The quickest of five, which takes a tenth of that: others wait for the machine."""
        file, took = program(), []
        with Exporter(config(target(file, "work"))) as e:
            for n in range(5):
                with open(other_build(file, n % 2 + 1), "rb") as new:
                    content = new.read()
                began = time.monotonic()
                with open(file, "r+b") as out:
                    out.write(content)
                wait_until(lambda: e.attached() == 0, 20, step=0.005)
                took.append(time.monotonic() - began)
                wait_until(lambda: e.attached() == 1, 30)
        print("let go of after", *(f"{seconds * 1000:.0f}" for seconds in took), "ms",
              file=sys.stderr)
        self.assertLess(min(took), 1)

    def test_two_targets(self):
        """A measurement that two targets show is taken once, also when they were let go of."""
        file = program()
        with Exporter(config(*(target(file, "work", name=name) for name in "ab"))) as e:
            def both(wanted):
                wait_until(lambda: all(e.attached(target=name) == wanted for name in "ab"), 20)
            for n in range(1, 4):
                replace_by_rename(file, n)
                wait_until(lambda n=n: all(e.scrape().value(UPGRADES, target=name) == n
                                           for name in "ab"), 30)
                both(1)
            with open(file, "r+b") as out:
                out.seek(0, os.SEEK_END)
                out.write(b"\0")
            both(0)
            both(1)
            with Victim(file, 1, 1000, "early") as v:
                v.round()
                for name in "ab":
                    self.assertEqual(e.histogram("work", target=name).count, 1000)

    def test_two_paths(self):
        """Of two names of one file, one comes to mean another file: each shows its own."""
        file = program()
        other, link = other_build(file, 1), file + ".link"
        os.symlink(file, link)
        with Exporter(config(target(link, "work", name="link"),
                             target(file, "work", name="file"))) as e:
            os.symlink(other, link + ".new")
            os.rename(link + ".new", link)
            wait_until(lambda: e.scrape().value(UPGRADES, target="link") == 1 and
                       e.attached(target="link") == 1, 30)
            wait_until(lambda: len(builds(e)) == 2, 30)
            for name, calls in ((file, 100), (other, 200)):
                with Victim(name, 1, calls, "early") as v:
                    v.round()
            self.assertEqual(e.histogram("work", target="link").count, 200)
            self.assertEqual(e.histogram("work", target="file").count, 100)
        os.unlink(link)

    def test_replaced_while_it_is_opened(self):
        """What is opened is another file than the path leads to before and after: at start, after
        an upgrade, at a reload. It is let go of, and the right one is probed."""
        file = program()
        others, go = [other_build(file, n) for n in (1, 2)], file + ".go"
        env = {"SWAP_FILE": file, "SWAP_OTHER": others[0], "SWAP_GO": go,
               "LD_PRELOAD": os.path.join(victim.BUILD, "victims", "libswaps.so")}

        def swap_then(do):
            with open(go, "w", encoding="utf-8"):
                pass
            do()
            wait_until(lambda: not os.path.exists(go), 30)

        def count_then(calls, **labels):
            wait_until(lambda: len(builds(e)) == 1 and [1] == [value for _, value in e.scrape().find(
                "uprobe_exporter_probe_attached", **labels)], 30)
            e.settle()
            with Victim(file, 1, 1000, "early") as v:
                v.round()
            self.assertEqual(e.histogram("work", **labels).count, calls)

        with open(go, "w", encoding="utf-8"):
            pass
        # libswaps, in the exporter, renames and removes files: the unit lets nothing be written
        with Exporter(config(target(file, "work")), env=dict(os.environ, **env), as_root=True,
                      arguments=["--security.confine=capabilities"]) as e:
            self.assertFalse(os.path.exists(go))
            count_then(1000)
            swap_then(lambda: os.rename(others[1], file))
            count_then(2000)
            with open(e.config, "w", encoding="utf-8") as out:
                out.write(config(target(file, "work", name="renamed")))
            swap_then(lambda: e.child.send_signal(signal.SIGHUP))
            count_then(1000, target="renamed")

    def test_there_and_back_at_once(self):
        """A path that leads back to the old file while that still runs, noticed by a reload: USDT
        sites, of which nothing else would tell that they are probed already."""
        versions = []
        for n in (1, 2):
            versions.append(shutil.copy(victim.path("marks"), f"{victim.path('marks')}.v{n}"))
        link = victim.path("marks") + ".current"
        os.symlink(versions[0], link)

        def switch(to):
            os.symlink(to, link + ".new")
            os.rename(link + ".new", link)

        text = config({"name": "t", "binary": link, "usdt": [{"probe": "marks:hit"}],
                       "functions": [{"symbol": "hits", "name": "marks:hit", "exit": "none"}]})
        with Exporter(text) as e, Victim(link, 10, 1) as old:
            switch(versions[1])
            wait_until(lambda: e.scrape().value(UPGRADES) == 1, 30)
            with Victim(link, 10, 1) as new:
                switch(versions[0])
                e.child.send_signal(signal.SIGHUP)
                wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()))
                wait_until(lambda: e.attached(probe="marks:hit") == 1)
                e.settle()
                for v in (old, new):
                    v.round()
                now = e.scrape()
                self.assertEqual(now.value("uprobe_usdt_hits_total", probe="marks:hit"), 60)
                self.assertEqual(now.value("uprobe_function_calls_total", function="marks:hit"),
                                 20)

    def test_open_calls(self):
        """A call that is open when its file is let go of ends as it should, or as detached."""
        file = program("blocked")
        with Exporter(config(target(file, "hold"))) as e, Victim(file) as v:
            v.begin()
            wait_until(lambda: e.account("hold")["in_flight"] >= 1)
            os.rename(shutil.copy(victim.path("blocked"), file + ".new"), file)
            wait_until(lambda: e.scrape().value(UPGRADES) == 1, 30)
            self.assertGreaterEqual(e.account("hold")["in_flight"], 1)
            v.kill()
            wait_until(lambda: e.account("hold")["in_flight"] == 0, 20)
            account = e.account("hold")
            self.assertEqual(account["all"], account["thread_exit"] + account["observed"])

    def test_many_times_under_load(self):
        """Nothing piles up, nothing goes down, every call of a probed process is counted."""
        file = program()
        with Exporter(config(target(file, "work", function("main", exit="none")))) as e:
            total, held, last, files = 0, [], 0, 0
            for n in range(1, 121):
                with Victim(file, 1, 200, "early") as v:
                    total += v.round()["calls"]["work"]
                    replace_by_rename(file, n)
                    wait_until(lambda n=n: e.scrape().value(UPGRADES) == n and
                               e.attached(function="work") == 1, 30, step=0.01)
                    total += v.round()["calls"]["work"]
                now = e.histogram("work").count
                self.assertGreaterEqual(now, last)
                last = now
                if n in (20, 120):
                    wait_until(lambda: len(builds(e)) == 1, 30)
                    held.append((len(bpfsys.held_by(e.pid)),
                                 e.scrape().value("uprobe_exporter_map_memory_bytes")))
                    files = e.open_files() if n == 20 else files
            self.assertEqual(last, total)
            self.assertEqual(held[0], held[1])
            wait_until(lambda: e.open_files() <= files, 10)  # connections are closed in a while

    def test_while_it_is_not_running(self):
        """A file without processes is let go of at once when it is replaced."""
        file = program()
        with Exporter(config(target(file, "work"))) as e:
            for n in range(1, 6):
                replace_by_rename(file, n)
                wait_until(lambda n=n: e.scrape().value(UPGRADES) == n and e.attached() == 1, 30)
            wait_until(lambda: len(builds(e)) == 1, 30)
            e.settle()
            self.assertEqual(e.attached(), 1)


if __name__ == "__main__":
    unittest.main()
