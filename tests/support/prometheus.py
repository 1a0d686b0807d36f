"""Debian's Prometheus, started for a test and asked through its API."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from victim import wait_until


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    """A server of the test's own, with an empty database; it scrapes and evaluates each second.
    Jobs are ports by name, or further settings of scrape_config besides `port`."""

    def __init__(self, jobs, rules=()):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-prom-")
        self.port = free_port()
        configured = ("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
                      f"rule_files: {json.dumps(list(rules))}\nscrape_configs:\n")
        for name, job in jobs.items():
            job = dict(job) if isinstance(job, dict) else {"port": job}
            static = {"targets": [f"127.0.0.1:{job.pop('port')}"], "labels": job.pop("labels", {})}
            configured += "- " + json.dumps(
                {"job_name": name, "static_configs": [static], **job}) + "\n"
        path = os.path.join(self.folder, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(configured)
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.child = subprocess.Popen(
                ["prometheus", f"--config.file={path}", "--log.level=warn",
                 f"--storage.tsdb.path={self.folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(self.is_ready, 60, "Prometheus is ready")
        except BaseException:
            self.stop()
            raise

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as a:
                return a.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def api(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """[(labels, number)]"""
        return [(item["metric"], float(item["value"][1]))
                for item in self.api("query", query=expression)["result"]]

    def one(self, expression):
        found = self.query(expression)
        assert len(found) == 1, (expression, found)
        return found[0][1]

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
