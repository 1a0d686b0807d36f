"""Debian's Prometheus scrapes the exporter that measures the demo; asserted through its API."""

import http.server
import os
import shutil
import subprocess
import threading
import unittest
import urllib.request

import victim
from exporter import DURATION, Exporter, setUpModule
from prometheus import Prometheus
from victim import Victim, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEMO_SECONDS = 8
QUANTILES = ("0.5", "0.9", "0.99")
# hash_key takes about as long as its probe, which is part of what is measured: not compared.
QUANTILE_FUNCTIONS = ("parse_request", "run_query", "flush_log")


class TextOnly(http.server.ThreadingHTTPServer):
    """Hands requests on to the exporter without their Accept header: Prometheus 2.42 has no
    setting for the text format, and asks for OpenMetrics."""

    def __init__(self, upstream):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                with urllib.request.urlopen(f"http://127.0.0.1:{upstream}{self.path}") as answer:
                    body = answer.read()
                self.send_response(200)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.shutdown()
        self.server_close()
        self.thread.join()


def demo_config():
    with open(os.path.join(ROOT, "config", "demo.yaml.in"), encoding="utf-8") as file:
        return file.read().replace("@DEMO@", victim.path("demo"))


class Demo(unittest.TestCase):
    """One run of the demo, seen by two jobs: `text` and `openmetrics`."""

    JOBS = ("text", "openmetrics")

    @classmethod
    def setUpClass(cls):
        if not shutil.which("prometheus"):
            raise unittest.SkipTest("Prometheus is not installed")
        cls.exporter = Exporter(demo_config())
        cls.addClassCleanup(cls.exporter.__exit__, None)
        cls.proxy = TextOnly(cls.exporter.port)
        cls.addClassCleanup(cls.proxy.stop)
        cls.prometheus = Prometheus({"openmetrics": cls.exporter.port,
                                     "text": cls.proxy.server_address[1]})
        cls.addClassCleanup(cls.prometheus.stop)
        # the first scrapes see zeros, so that rates over the whole run are exact
        wait_until(lambda: len(cls.prometheus.query(f"{DURATION}_count == 0")) == 10, 30,
                   "first scrapes", step=0.2)
        with Victim("demo", DEMO_SECONDS) as v:
            cls.truth = v.result(60 + DEMO_SECONDS)
            v.end()
        wait_until(lambda: all(  # the last counts have been scraped
            cls.prometheus.query(f'{DURATION}_count{{job="{job}",function="{name}"}} == {calls}')
            for job in cls.JOBS for name, calls in cls.truth["calls"].items()), 60, "scraped",
            step=0.5)

    def test_targets_are_up(self):
        # a scrape that a busy machine keeps for a second has failed; the next one is well
        wait_until(lambda: [value for _, value in self.prometheus.query("up")] == [1, 1], 30, "up")
        targets = self.prometheus.api("targets")["activeTargets"]
        self.assertEqual(sorted(t["labels"]["job"] for t in targets), ["openmetrics", "text"])
        for t in targets:
            self.assertEqual((t["health"], t["lastError"]), ("up", ""), t)

    def test_counts(self):
        for job in self.JOBS:
            for name, calls in self.truth["calls"].items():
                count = self.prometheus.one(f'{DURATION}_count{{job="{job}",function="{name}"}}')
                self.assertEqual(count, calls, (job, name))

    def test_both_jobs_have_the_same_series(self):
        def names(job):
            found = self.api_series(job)
            return {frozenset((k, v) for k, v in labels.items() if k not in ("job", "instance"))
                    for labels in found}
        self.assertEqual(names("text"), names("openmetrics"))

    def api_series(self, job):
        return self.prometheus.api("series", **{"match[]": f'{{job="{job}",'
                                                           f'__name__=~"uprobe_function_.*"}}'})

    def test_types_and_help(self):
        metadata = self.prometheus.api("metadata")
        self.assertEqual(metadata[DURATION][0]["type"], "histogram")
        self.assertTrue(metadata[DURATION][0]["help"])

    def bucket_of(self, bounds, seconds):
        return next(i for i, bound in enumerate(bounds) if seconds <= bound)

    def test_quantiles(self):
        for name in QUANTILE_FUNCTIONS:
            h = self.exporter.histogram(name)
            bounds = [le for le, _ in h.buckets]
            for quantile in QUANTILES:
                truth = self.truth["ns"][name][quantile] / 1e9
                for job in self.JOBS:
                    seen = self.prometheus.one(
                        f'histogram_quantile({quantile}, sum by (le) ('
                        f'{DURATION}_bucket{{job="{job}",function="{name}"}}))')
                    apart = abs(self.bucket_of(bounds, seen) - self.bucket_of(bounds, truth))
                    self.assertLessEqual(apart, 1, (name, quantile, job, seen, truth))

    def test_rates(self):
        """rate() sees every call: the series were there, with 0, before the first."""
        for name, calls in self.truth["calls"].items():
            seen = self.prometheus.one(
                f'{DURATION}_count{{job="text",function="{name}"}} - '
                f'min_over_time({DURATION}_count{{job="text",function="{name}"}}[10m])')
            self.assertEqual(seen, calls)

    def test_promtool_is_silent(self):
        status, _, body = self.exporter.get()
        self.assertEqual(status, 200)
        result = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True,
                                timeout=60, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))


class NativeHistogramScraper(unittest.TestCase):
    """With native histograms on, Prometheus asks for protobuf first and takes what it gets."""

    def test_up(self):
        if not shutil.which("prometheus"):
            self.skipTest("Prometheus is not installed")
        with Exporter(demo_config()) as e:
            accept = ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
                      "encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,"
                      "application/openmetrics-text;version=0.0.1;q=0.75,"
                      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
            status, headers, _ = e.get(headers={"Accept": accept})
            self.assertEqual(status, 200)
            self.assertTrue(headers["Content-Type"].startswith("application/openmetrics-text"))
