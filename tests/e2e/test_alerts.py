"""Each alert fires when its cause is really there, and clears when it is gone."""

import os
import re
import shutil
import signal
import struct
import tempfile
import time
import unittest

import bpfsys
import victim
from exporter import Exporter, config, function, setUpModule, target, yaml
from prometheus import Prometheus, free_port
from usdt import pair
from victim import Victim, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = os.path.join(ROOT, "dashboards", "rules")
# The rules' times, made short enough to be waited for; all else is as it is shipped.
SHORT = {"[5m]": "[4s]", "[1d]": "[8s]", "for: 1m": "for: 1s", "for: 5m": "for: 2s",
         "for: 10m": "for: 2s"}
SECONDS = 40


def shortened(folder):
    paths = []
    for name in ("recording.yaml", "alerts.yaml"):
        with open(os.path.join(RULES, name), encoding="utf-8") as file:
            text = file.read()
        for there, short in SHORT.items():
            text = text.replace(there, short)
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w", encoding="utf-8") as out:
            out.write(text)
    slo = os.path.join(folder, "slo.yaml")
    with open(slo, "w", encoding="utf-8") as out:
        out.write("groups:\n- name: slo\n  rules:\n" + "".join(
            f"  - {{record: uprobe_slo_p99_seconds, expr: vector({seconds}), labels: "
            f"{{target: {where}, {kind}: {name}}}}}\n" for where, kind, name, seconds in (
                ("demo", "function", "flush_log", 0.001), ("demo", "function", "run_query", 10),
                # beyond the largest bucket, see test_slow
                ("marks", "probe", "nap", 10), ("marks", "probe", "work", 10))))
    return [*paths, slo]


class Alerts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("prometheus"):
            raise unittest.SkipTest("Prometheus is not installed")
        cls.folder = tempfile.mkdtemp(prefix="uprobe-test-alerts-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.port = free_port()
        cls.prometheus = Prometheus({"uprobe": cls.port}, shortened(cls.folder))
        cls.addClassCleanup(cls.prometheus.stop)

    def exporter(self, text):
        return Exporter(text, listen=(f"127.0.0.1:{self.port}",))

    def firing(self, name):
        """The labels of those of this name that fire."""
        return [alert["labels"] for alert in self.prometheus.api("alerts")["alerts"]
                if alert["labels"]["alertname"] == name and alert["state"] == "firing"]

    def assert_fires(self, name, **labels):
        found = wait_until(lambda: self.firing(name), SECONDS, f"{name} fires", step=0.2)
        self.assertEqual(len(found), 1, found)
        self.assertLessEqual(labels.items(), found[0].items())
        alert = next(a for a in self.prometheus.api("alerts")["alerts"]
                     if a["labels"] == found[0])
        for text in alert["annotations"].values():
            self.assertNotRegex(text, r"{{|<no value>|<error")
        return found[0]

    def assert_clears(self, name):
        wait_until(lambda: not self.firing(name), SECONDS, f"{name} clears", step=0.2)

    def reload(self, e, text):
        with open(e.config, "w", encoding="utf-8") as out:
            out.write(text)
        os.kill(e.pid, signal.SIGHUP)

    def test_exporter_down(self):
        text = config(target("demo", "run_query"))
        with self.exporter(text):
            self.assert_clears("UprobeExporterDown")
        self.assert_fires("UprobeExporterDown", job="uprobe")
        with self.exporter(text):
            self.assert_clears("UprobeExporterDown")

    def test_no_exporter_to_ask(self):
        """What discovers targets finds none any more."""
        path = os.path.join(self.prometheus.folder, "prometheus.yml")
        with open(path, encoding="utf-8") as file:
            right = file.read()

        def configure(text):
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            self.prometheus.child.send_signal(signal.SIGHUP)
        self.addCleanup(configure, right)
        with self.exporter(config(target("demo", "run_query"))):
            wait_until(lambda: self.prometheus.query("up == 1") and
                       not self.firing("UprobeExporterDown"), SECONDS, "up")
            configure(re.sub(r'"targets": \[[^]]*\]', '"targets": []', right))
            labels = self.assert_fires("UprobeExporterDown", job="uprobe")
            self.assertNotIn("instance", labels)
            configure(right)
            self.assert_clears("UprobeExporterDown")

    def test_probe_not_attached(self):
        with self.exporter(config(target("demo", "run_query", "not_there"))) as e:
            self.assert_fires("UprobeProbeNotAttached", function="not_there",
                              reason="symbol_not_found")
            self.assertEqual(self.firing("UprobeNameGone"), [])
            self.reload(e, config(target("demo", "run_query")))
            self.assert_clears("UprobeProbeNotAttached")

    def replace(self, path, name):
        """As a package manager does: a new file takes the name."""
        shutil.copy(victim.path(name), path + ".new")
        os.rename(path + ".new", path)

    def stays(self, firing, silent, seconds):
        """One fires all the time and the other does not. A scrape that a busy machine keeps for a
        second has failed, and alerts begin anew: then that time, too."""
        for _ in range(5):
            end, faults = time.monotonic() + seconds, []
            while time.monotonic() < end and not faults:
                seen = len(self.firing(firing)), self.firing(silent)
                faults += [seen] if seen != (1, []) else []
                time.sleep(0.5)
            if not faults:
                return
            self.assertTrue(self.prometheus.query(f"min_over_time(up[{seconds}s]) == 0"), faults)
            wait_until(lambda: self.firing(firing), SECONDS, firing)
        self.fail("the machine is too busy to say anything")

    def test_name_gone_with_an_upgrade(self):
        path = os.path.join(self.folder, "program")
        self.replace(path, "demo")
        with self.exporter(config(target(path, "run_query"))):
            wait_until(lambda: self.prometheus.query("uprobe_exporter_probe_attached == 1"),
                       SECONDS, "attached")
            self.replace(path, "threads")
            self.assert_fires("UprobeNameGone", function="run_query", reason="symbol_not_found")
            self.stays("UprobeNameGone", "UprobeProbeNotAttached", 16)
            self.replace(path, "demo")
            self.assert_clears("UprobeNameGone")

    def test_events_lost(self):
        text = config(target("demo", function("walk_tree", exit="return-sites")),
                      limits={"in_flight": 1})
        with self.exporter(text):
            with Victim("demo", 10) as demo:
                self.assert_fires("UprobeEventsLost", function="walk_tree",
                                  reason="in_flight_full")
                demo.kill()
            self.assert_clears("UprobeEventsLost")

    def test_processes_lost(self):
        """More processes are selected than there is room for."""
        size, room = 16 + 2 * 128, 65536  # struct up_selected, UP_MAX_SELECTED
        path = os.path.join(self.folder, "alerts-crowd")  # a name that others' programs do not have
        self.replace(path, "threads")
        text = config(target(path, "work", process={"comm": "alerts-crowd"}))
        with self.exporter(text) as e:
            table = bpfsys.borrow_map(e.pid, value_size=size, max_entries=room)
            try:
                for n in range(room):  # pids that no process has
                    bpfsys.map_put(table, struct.pack("=I", (1 << 22) + 1 + n), bytes(size))
            finally:
                os.close(table)
            with Victim(path, 1, 10, "early"):
                labels = self.assert_fires("UprobeEventsLost", reason="too_many_processes")
                self.assertNotIn("target", labels)
                self.reload(e, text)  # a look at everyone, which finds the dead
                self.assert_clears("UprobeEventsLost")

    def test_config_reload_failed(self):
        right = config(target("demo", "run_query"))
        with self.exporter(right) as e:
            self.reload(e, "targets: [\n")
            self.assert_fires("UprobeConfigReloadFailed")
            self.reload(e, right)
            self.assert_clears("UprobeConfigReloadFailed")

    def test_slow(self):
        text = yaml({"targets": [
            {"name": "demo", "binary": victim.path("demo"),
             "functions": [function("flush_log"), function("run_query")]},
            {"name": "marks", "binary": victim.path("marks"), "usdt": [
                pair("work", "marks:work__start", "marks:work__done"),
                pair("nap", "marks:nap__start", "marks:nap__done", buckets=["1us"])]}]})
        with self.exporter(text):
            with Victim("demo", 60) as demo, Victim("marks", 20, 2) as marks:
                for name, labels in (("UprobeFunctionSlow", {"function": "flush_log"}),
                                     ("UprobeUsdtSlow", {"probe": "nap"})):
                    wait_until(lambda name=name: marks.round() and self.firing(name), SECONDS, name)
                    self.assert_fires(name, **labels)
                demo.kill()
                marks.end()
            self.assert_clears("UprobeFunctionSlow")
            self.assert_clears("UprobeUsdtSlow")

    def test_none_is_left_out(self):
        with open(RULES + "/alerts.yaml", encoding="utf-8") as file:
            names = set(re.findall(r"- alert: (\w+)", file.read()))
        with open(__file__, encoding="utf-8") as file:
            text = file.read()
        for name in names:
            self.assertRegex(text, rf'"{name}"')
