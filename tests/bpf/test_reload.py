"""Another config while it counts: nothing that stays loses or doubles a call."""

import os
import signal
import threading
import time
import unittest

import bpfsys
import victim
from exporter import Exporter, config, function, setUpModule, target
from victim import Victim, wait_until

ATTACHED = "uprobe_exporter_probe_attached"
SUCCESSFUL = "uprobe_exporter_config_last_reload_successful"
LOADED = "uprobe_exporter_config_last_reload_success_timestamp_seconds"
ENTRIES = "uprobe_function_entries_total"


def write(e, text):
    """As careful editors do, by rename."""
    with open(e.config + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(e.config + ".new", e.config)


def reload(e, text=None, seconds=30):
    """By SIGHUP; wait until it is done."""
    if text is not None:
        write(e, text)
    before = len([line for line in e.logs() if "reloaded" in line["msg"]])
    e.child.send_signal(signal.SIGHUP)
    wait_until(lambda: len([line for line in e.logs() if "reloaded" in line["msg"]]) > before,
               seconds, "reload", step=0.005)


class Load:
    """A victim that goes on calling while something happens."""

    def __init__(self, *arguments):
        self.victim = Victim(*arguments)
        self.rounds, self.told, self.stop = 0, {}, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.is_set():
            for name, calls in self.victim.round()["calls"].items():
                self.told[name] = self.told.get(name, 0) + calls
            self.rounds += 1

    def __enter__(self):
        self.thread.start()
        return self

    def finish(self):
        self.stop.set()
        self.thread.join()

    def __exit__(self, *_):
        self.finish()
        self.victim.__exit__()


class Reload(unittest.TestCase):
    def test_the_same_under_load(self):
        """Ten reloads of the same file: every call is counted once."""
        text = config(target("threads", "work"))
        with Exporter(text) as e, Load("threads", 2, 5000, "early") as load:
            wait_until(lambda: load.rounds > 1)
            links = bpfsys.held_by(e.pid)
            for _ in range(10):
                reload(e)
                time.sleep(0.05)
            load.finish()
            self.assertEqual(e.histogram("work").count, load.told["work"])
            self.assertEqual(bpfsys.held_by(e.pid), links)
            self.assertEqual(e.scrape().value(SUCCESSFUL), 1)

    def test_added_and_removed(self):
        """What is added counts from then on, what is removed vanishes, the rest does not notice."""
        first = config(target("threads", "work"), target("shapes", "outer", "recurse", name="p"))
        second = config(target("threads", "work"), target("shapes", "recurse", name="p"),
                        target("sites", "two_rets", name="new"))
        with Exporter(first) as e, Load("threads", 2, 5000, "early") as load:
            wait_until(lambda: load.rounds > 1)
            for _ in range(3):
                reload(e, second)
                now = e.scrape()
                self.assertEqual(now.find(ATTACHED, function="outer"), [])
                self.assertEqual(now.value(ATTACHED, function="recurse"), 1)
                self.assertEqual(now.value(ATTACHED, function="two_rets"), 1)
                reload(e, first)
                now = e.scrape()
                self.assertEqual(now.value(ATTACHED, function="outer"), 1)
                self.assertEqual(now.value(ENTRIES, function="outer"), 0)
                self.assertEqual(now.find(ATTACHED, function="two_rets"), [])
            load.finish()
            self.assertEqual(e.histogram("work").count, load.told["work"])
            with Victim("shapes", 5, 20) as v:
                told = v.round()["calls"]
                self.assertEqual(e.histogram("outer").count, told["outer"])
                self.assertEqual(e.histogram("recurse").count, told["recurse"])

    def test_changed(self):
        """Other buckets, another strategy: a new series from zero. Other labels: the same counts."""
        def text(**keys):
            return config(target("shapes", function("outer", **keys)))
        with Exporter(text()) as e, Victim("shapes", 5, 20) as v:
            told = v.round()["calls"]["outer"]
            reload(e, text(labels={"team": "x"}))
            now = e.scrape().histogram("uprobe_function_duration_seconds", function="outer",
                                       team="x")
            self.assertEqual(now.count, told)
            reload(e, text(buckets=["7ms"]))
            histogram = e.histogram("outer")
            self.assertEqual(histogram.count, 0)
            v.round()
            self.assertEqual(e.histogram("outer").count, told)
            reload(e, text(exit="none"))
            v.round()
            now = e.scrape()
            self.assertEqual(now.value("uprobe_function_calls_total", function="outer"), told)
            self.assertEqual(now.find("uprobe_function_duration_seconds_count"), [])

    def test_broken(self):
        """A broken file changes nothing, and shows; the next right one makes it good."""
        text = config(target("shapes", "outer"))
        with Exporter(text) as e, Victim("shapes", 5, 20) as v:
            began = e.scrape().value(LOADED)
            told = v.round()["calls"]["outer"]
            write(e, text + "nonsense: 1\n")
            e.child.send_signal(signal.SIGHUP)
            wait_until(lambda: e.scrape().value(SUCCESSFUL) == 0)
            faults = [line["fault"] for line in e.logs() if "fault" in line]
            self.assertTrue(any("nonsense" in fault for fault in faults), faults)
            self.assertEqual(e.scrape().value(LOADED), began)
            v.round()
            self.assertEqual(e.histogram("outer").count, 2 * told)
            os.unlink(e.config)
            e.child.send_signal(signal.SIGHUP)
            v.round()
            reload(e, text)
            self.assertEqual(e.scrape().value(SUCCESSFUL), 1)
            self.assertGreater(e.scrape().value(LOADED), began)
            self.assertEqual(e.histogram("outer").count, 3 * told)

    def test_a_missing_binary(self):
        """Others go on; that one shows why, and is attached when it appears."""
        file = victim.path("threads") + ".later"
        text = config(target("shapes", "outer"), target(file, "work", name="later"))
        with Exporter(config(target("shapes", "outer"))) as e, Victim("shapes", 5, 20) as v:
            told = v.round()["calls"]["outer"]
            reload(e, text)
            now = e.scrape()
            self.assertEqual(now.value("uprobe_exporter_probe_failure_info", target="later",
                                       reason="binary_not_found"), 1)
            v.round()
            self.assertEqual(e.histogram("outer").count, 2 * told)
            os.link(victim.path("threads"), file)
            wait_until(lambda: e.attached(target="later") == 1)
            os.unlink(file)

    def test_open_calls(self):
        """A call that is open over a reload is observed; one of a function that goes is nobody's."""
        first = config(target("blocked", "hold"), target("shapes", "outer", name="p"))
        with Exporter(first) as e, Victim("blocked") as v:
            v.begin()
            wait_until(lambda: e.account("hold")["in_flight"] >= 1)
            reload(e, config(target("blocked", "hold")))
            self.assertGreaterEqual(e.account("hold")["in_flight"], 1)
            reload(e, config(target("shapes", "outer", name="p")))
            reload(e, first)
            self.assertEqual(e.account("hold")["all"], 0)

    def test_many_signals(self):
        """One reload answers all signals that came before it: a storm does not outlast itself."""
        text = config(target("libmany1000.so", {"match": "f*", "max": 2000, "exit": "none"}))
        with Exporter(text) as e:
            for _ in range(1000):
                e.child.send_signal(signal.SIGHUP)
                time.sleep(0.0005)
            e.child.send_signal(signal.SIGTERM)
            self.assertEqual(e.child.wait(100), 0)
            done = [line for line in e.logs() if line["msg"] == "config reloaded"]
            self.assertGreater(len(done), 0)
            self.assertLess(len(done), 500)

    def test_over_http(self):
        text = config(target("shapes", "outer"))
        with Exporter(text, arguments=("--web.enable-lifecycle",)) as e:
            began = e.scrape().value(LOADED)
            status, _, body = e.get("/-/reload", "POST")
            self.assertEqual((status, body), (200, b"Reloaded.\n"))
            self.assertGreater(e.scrape().value(LOADED), began)
            self.assertEqual(e.get("/-/reload")[0], 405)
            write(e, "targets: 1 # a secret\n")
            status, _, body = e.get("/-/reload", "PUT")
            self.assertEqual(status, 500)
            self.assertIn(b"config is wrong", body)
            self.assertNotIn(b"targets", body)  # that is for who may read the log
            self.assertTrue(any("targets" in line.get("fault", "") for line in e.logs()))
            write(e, text)
            threads = [threading.Thread(target=e.get, args=("/-/reload", "POST"))
                       for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(e.scrape().value(SUCCESSFUL), 1)
        with Exporter(text) as e:
            self.assertEqual(e.get("/-/reload", "POST")[0], 403)

    def test_when_the_file_changes(self):
        """Also as Kubernetes changes it: by a symbolic link to another folder."""
        first, second = config(target("shapes", "outer")), config(target("shapes", "recurse"))
        with Exporter(first, arguments=("--config.auto-reload",)) as e:
            write(e, second)
            wait_until(lambda: e.scrape().find(ATTACHED, function="recurse"))
            write(e, "targets: 1\n")
            wait_until(lambda: e.scrape().value(SUCCESSFUL) == 0)
            for name, text in (("a", first), ("b", second)):
                folder = os.path.join(e.folder, name)
                os.mkdir(folder)
                with open(os.path.join(folder, "config.yaml"), "w", encoding="utf-8") as out:
                    out.write(text)
            data = os.path.join(e.folder, "data")
            os.symlink("a", data)
            os.symlink("data/config.yaml", e.config + ".new")
            os.rename(e.config + ".new", e.config)
            wait_until(lambda: e.scrape().find(ATTACHED, function="outer"))
            os.symlink("b", data + ".new")
            os.rename(data + ".new", data)
            wait_until(lambda: e.scrape().find(ATTACHED, function="recurse"))
            self.assertEqual(e.scrape().value(SUCCESSFUL), 1)

    def test_file_that_changed_while_it_started(self):
        """After it was read, before anything was attached."""
        e = Exporter(config(target("shapes", "outer")), arguments=("--config.auto-reload",),
                     ready=False)
        try:
            wait_until(e.logs, 20, "started", step=0.001)
            write(e, config(target("shapes", "recurse")))
            wait_until(lambda: any(line["msg"] == "config reloaded" for line in e.logs()), 20)
            self.assertEqual(e.stop()[0], 0)
        finally:
            e.discard()

    def test_scrapes_while_links_are_closed(self):
        """Where closing takes long, nobody waits for it."""
        names = [f"fn_{n:05}" for n in range(16)]
        library = "libmany1000.so"
        many = config(target(library, *names))
        none = config(target("shapes", "outer"))
        with Exporter(many, "perf", arguments=("--web.enable-lifecycle",)) as e:
            write(e, none)
            began, longest = time.monotonic(), 0
            thread = threading.Thread(target=e.get, args=("/-/reload", "POST"))
            thread.start()
            while thread.is_alive():
                at = time.monotonic()
                e.scrape()
                longest = max(longest, time.monotonic() - at)
                time.sleep(0.01)
            took = time.monotonic() - began
            if took < 0.5:
                self.skipTest("this kernel closes perf events at once")
            self.assertLess(longest, took / 2)

    def test_nothing_piles_up(self):
        """Many reloads under load: what it holds stays the same."""
        texts = [config(target("threads", "work"),
                        target("shapes", *names, name="p"),
                        target("marks", name="m", usdt=[{"probe": "marks:hit"}]))
                 for names in (["outer"], ["outer", "recurse"],
                               [function("outer", buckets=["3ms"]), "recurse"])]
        texts = [text.replace("    functions: []\n", "") for text in texts]
        with Exporter(texts[0]) as e, Load("threads", 1, 2000, "early") as load:
            held, files = [], 0
            for i in range(300):
                reload(e, texts[i % len(texts)])
                if i in (99, 299):
                    reload(e, texts[0])
                    now = e.scrape()
                    held.append((len(bpfsys.held_by(e.pid)),
                                 now.value("uprobe_exporter_map_memory_bytes"),
                                 now.value("process_resident_memory_bytes")))
                    files = files or e.open_files()
            load.finish()
            self.assertEqual(held[0][:2], held[1][:2])
            self.assertLess(held[1][2] - held[0][2], 2 << 20)
            wait_until(lambda: e.open_files() <= files, 10)  # connections are closed in a while
            self.assertEqual(e.histogram("work").count, load.told["work"])


if __name__ == "__main__":
    unittest.main()
