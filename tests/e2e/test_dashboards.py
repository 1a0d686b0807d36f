"""Dashboards and rules: as generated, right by promtool, and every query of every panel returns
data from a real Prometheus that scrapes the exporter at work."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import victim
from exporter import Exporter, function, setUpModule, yaml
from prometheus import Prometheus
from usdt import pair
from victim import Victim, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "dashboards")
RULES = os.path.join(FOLDER, "rules")
NAMES = ("overview", "function", "exporter")
FUNCTIONS = ("parse_request", "run_query", "flush_log")
RATE_SECONDS = 10
# What stands for the variables: everything, as when "All" is chosen.
VARIABLES = {"$__rate_interval": f"{RATE_SECONDS}s", "$__range": "60s", "$job": ".*",
             "$instance": ".*", "$target": ".*", "$function": ".*", "$probe": ".*"}


def dashboards():
    for name in NAMES:
        with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
            yield name, json.load(file)


def queries():
    """(dashboard, panel's title, query)"""
    for name, board in dashboards():
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield name, panel["title"], target


def expanded(expression):
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression, expression
    return expression


def workload_config():
    """Timed, counted, one that is not there, USDT probes of both kinds, and one by container."""
    return yaml({"limits": {"labels_keep": "500ms"}, "targets": [
        {"name": "demo", "binary": victim.path("demo"), "functions": [
            *map(function, FUNCTIONS), function("hash_key", exit="none"), function("not_there")]},
        {"name": "marks", "binary": victim.path("marks"), "usdt": [
            {"probe": "marks:hit"}, pair("work", "marks:work__start", "marks:work__done")]},
        {"name": "boxes", "binary": victim.path("threads"), "functions": [function("work")],
         "process": {"exe": victim.path("threads")}, "labels_from": ["container"]}]})


@contextlib.contextmanager
def contained(letter):
    """A program that calls work(), in a cgroup as Docker makes it for a container."""
    root = next(root for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(
        os.path.join(root, "cgroup.controllers")))
    cgroup = os.path.join(root, "docker", letter * 64)
    os.makedirs(cgroup)
    try:
        with Victim("/bin/sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"', cgroup,
                    victim.path("threads"), 2, 50, "early") as program:
            yield program
            program.end()
    finally:
        wait_until(lambda: not open(cgroup + "/cgroup.procs", encoding="ascii").read(), 10)
        os.rmdir(cgroup)
        with contextlib.suppress(OSError):  # others' may be there
            os.rmdir(os.path.dirname(cgroup))


class Workload:
    """The exporter, Prometheus and the programs that are measured."""

    def __init__(self, seconds, rules=()):
        self.exporter = Exporter(workload_config())
        self.prometheus = Prometheus({"uprobe": self.exporter.port}, rules)
        time.sleep(2)  # the first scrapes see zeros
        with Victim("demo", seconds) as demo, Victim("marks", 50, 2) as marks, \
                contained("a") as stays:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                with contained("b") as passes:
                    for _ in range(10):
                        for program in (marks, stays, passes):
                            program.round()
                        time.sleep(0.3)
                time.sleep(1)  # longer than labels_keep
            demo.result(60 + seconds)
            demo.end()
            marks.end()

    def stop(self):
        self.prometheus.stop()
        self.exporter.__exit__(None)


class Files(unittest.TestCase):
    def test_as_generated(self):
        subprocess.run([sys.executable, FOLDER + "/generate.py", "--check"], check=True)

    def test_check_notices_a_change(self):
        with tempfile.TemporaryDirectory() as folder:
            generate = [sys.executable, FOLDER + "/generate.py", folder]
            subprocess.run(generate, check=True)
            subprocess.run([*generate, "--check"], check=True)
            with open(folder + "/overview.json", "a", encoding="utf-8") as out:
                out.write("\n")
            self.assertNotEqual(subprocess.run([*generate, "--check"], check=False,
                                               capture_output=True).returncode, 0)

    def test_promtool(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed")
        rules = [os.path.join(RULES, name) for name in os.listdir(RULES) if name != "tests.yaml"]
        for command in (["check", "rules", *rules], ["test", "rules", RULES + "/tests.yaml"]):
            result = subprocess.run(["promtool", *command], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_every_alert_is_tested_and_has_a_runbook(self):
        with open(RULES + "/alerts.yaml", encoding="utf-8") as alerts, \
                open(RULES + "/tests.yaml", encoding="utf-8") as tests:
            text, tests = alerts.read(), tests.read()
        names = re.findall(r"- alert: (\w+)", text)
        self.assertGreater(len(names), 5)
        for name, body in zip(names, text.split("- alert: ")[1:]):
            self.assertRegex(tests, rf"alertname: {name}\n +exp_alerts", name)
            self.assertRegex(tests, rf"alertname: {name}}}", name)  # and when it does not fire
            self.assertRegex(body, r"runbook: >-\n +\S", name)

    def test_panels_do_not_overlap(self):
        for name, board in dashboards():
            taken = set()
            for panel in board["panels"]:
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                         for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(taken & cells, (name, panel["title"]))
                self.assertLessEqual(at["x"] + at["w"], 24)
                taken |= cells


class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("prometheus"):
            raise unittest.SkipTest("Prometheus is not installed")
        cls.rules = tempfile.mkdtemp(prefix="uprobe-test-rules-")
        cls.addClassCleanup(shutil.rmtree, cls.rules)
        path = os.path.join(cls.rules, "recording.yaml")
        with open(RULES + "/recording.yaml", encoding="utf-8") as file, \
                open(path, "w", encoding="utf-8") as out:
            out.write(file.read().replace("[5m]", f"[{RATE_SECONDS}s]"))
        cls.workload = Workload(RATE_SECONDS, [path])
        cls.addClassCleanup(cls.workload.stop)
        cls.prometheus = cls.workload.prometheus
        # a scrape that a busy machine keeps for a second has failed, and its series are stale
        wait_until(lambda: cls.prometheus.query("up == 1"), 30, "the last scrape is well")
        cls.at = time.time()  # the queries look back from here, however long the tests take

    def data(self, expression):
        found = [(item["metric"], float(item["value"][1])) for item in self.prometheus.api(
            "query", query=expression, time=self.at)["result"]]
        return [(labels, value) for labels, value in found
                if value == value]  # a quantile of nothing is NaN

    def test_every_query_returns_data(self):
        count = 0
        for name, title, query in queries():
            with self.subTest(dashboard=name, panel=title, query=query["refId"]):
                self.assertTrue(self.data(expanded(query["expr"])), query["expr"])
            count += 1
        self.assertGreater(count, 50)

    def test_nothing_is_left_out(self):
        """Each family that the exporter publishes is asked for by a panel."""
        asked = " ".join(query["expr"] for _, _, query in queries())
        published = {name for name in self.prometheus.api("metadata")
                     if name.startswith("uprobe_")}
        self.assertGreater(len(published), 20)
        families = {name.removesuffix("_total").removesuffix("_info") for name in published}
        self.assertEqual({name for name in families if not re.search(
            rf"\b{name}(_(total|info|bucket|sum|count))?\b", asked)}, set())

    def test_legends_and_columns_name_labels_that_are_there(self):
        for name, title, query in queries():
            wanted = re.findall(r"{{(\w+)}}", query["legendFormat"])
            for labels, _ in self.data(expanded(query["expr"])):
                self.assertLessEqual(set(wanted), set(labels), (name, title))

    def test_tables_show_labels_that_are_there(self):
        for name, board in dashboards():
            for panel in board["panels"]:
                if panel["type"] != "table":
                    continue
                columns = next(t for t in panel["transformations"]
                               if t["id"] == "filterFieldsByName")["options"]["include"]["names"]
                found = [labels for target in panel["targets"]
                         for labels, _ in self.data(expanded(target["expr"]))]
                known = set().union(*found)
                missing = set(columns) - known - {"probe"}
                self.assertFalse(missing, (name, panel["title"]))

    def test_variables_offer_something(self):
        for name, board in dashboards():
            for variable in board["templating"]["list"]:
                if variable["type"] != "query":
                    continue
                selector, label = re.match(r"label_values\((.*), (\w+)\)",
                                           variable["query"]["query"]).groups()
                found = {labels.get(label) for labels, _ in self.prometheus.query(expanded(selector))}
                self.assertTrue(found - {None}, (name, variable["name"]))

    def test_numbers_are_the_workloads(self):
        """Not just any data: what the panels show is what the program did."""
        def one(title, dashboard, ref, **labels):
            query = next(q for d, t, q in queries()
                         if (d, t, q["refId"]) == (dashboard, title, ref))
            found = [v for have, v in self.data(expanded(query["expr"]))
                     if labels.items() <= have.items()]
            self.assertEqual(len(found), 1, (title, labels, found))
            return found[0]
        self.assertEqual(one("Configured", "overview", "A"), 8)
        self.assertEqual(one("Attached", "overview", "A"), 7)
        self.assertEqual(one("Not attached", "overview", "A"), 1)
        # the demo's flush_log sleeps 10 to 40 ms, run_query 0.5 to 2 ms
        for title in ("p50", "p90", "p99"):
            for name, low, high in (("flush_log", 0.01, 5), ("run_query", 0.0005, 0.25)):
                seen = one(title, "overview", "A", function=name)
                self.assertTrue(low <= seen <= high, (title, name, seen))
        self.assertEqual(
            one("Not attached, and why", "overview", "A", reason="symbol_not_found",
                function="not_there"), 1)

    def test_cost_of_the_probes_is_of_all_kinds(self):
        """Calls that are timed and that are counted, pairs and single hits."""
        query = next(q for d, t, q in queries()
                     if (d, t) == ("exporter", "CPU of the probes, estimated"))
        rates = [self.data(f"sum(rate({metric}[{RATE_SECONDS}s]))")[0][1] for metric in (
            "uprobe_function_entries_total", "uprobe_function_calls_total",
            "uprobe_usdt_starts_total", "uprobe_usdt_hits_total")]
        self.assertGreater(min(rates), 0)
        floor = self.data("max(uprobe_exporter_probe_floor_seconds)")[0][1]
        [(_, estimate)] = self.data(expanded(query["expr"]))
        self.assertAlmostEqual(estimate / (sum(rates) * floor), 1)

    def test_recorded(self):
        for q in ("mean5m", "p50", "p90", "p99"):
            for record, labels in ((f"target_function:uprobe_function_duration_seconds:{q}",
                                    {"target": "demo", "function": "flush_log"}),
                                   (f"target_probe:uprobe_usdt_duration_seconds:{q}",
                                    {"target": "marks", "probe": "work"})):
                wait_until(lambda record=record, labels=labels: [
                    v for have, v in self.prometheus.query(f"last_over_time({record}[60s])")
                    if labels.items() <= have.items()], 10, record)
