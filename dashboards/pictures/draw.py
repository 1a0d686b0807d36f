#!/usr/bin/python3
"""Draw the dashboards with Grafana's own components, from what a real Prometheus answers.

    dashboards/pictures/draw.py [--build DIR] [--seconds N] [OUT_FOLDER]     (as root; docs/pictures)

Starts the exporter, Prometheus and the programs that tests/e2e/test_dashboards.py measures, asks every
query of every dashboard, and lets headless Chromium draw the answers. Needs npm (600 MB go to
build/pictures), chromium and prometheus, so that it is not part of the tests.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WIDTH = 1500
ROW = 38  # pixels a row of Grafana's grid, as main.jsx has it
STEP = 2
SOURCES = ("package.json", "vite.config.js", "index.html", "main.jsx")


def build(folder):
    os.makedirs(folder, exist_ok=True)
    for name in SOURCES:
        shutil.copy(os.path.join(HERE, name), folder)
    if not os.path.isdir(folder + "/node_modules"):
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    subprocess.run(["npm", "run", "build"], cwd=folder, check=True)
    # a script of type module is not loaded from a file: URL
    page = os.path.join(folder, "dist", "index.html")
    with open(page, encoding="utf-8") as file:
        text = file.read().replace('type="module" crossorigin', "defer")
    with open(page, "w", encoding="utf-8") as out:
        out.write(text)


def answers(prometheus, board, begin, end, only):
    """The board's panels, each with what its queries return over the time."""
    from test_dashboards import VARIABLES  # pylint: disable=import-outside-toplevel
    panels = []
    for panel in board["panels"]:
        results = []
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in {**VARIABLES, **only}.items():
                expression = expression.replace(name, value)
            results.append(prometheus.api("query_range", query=expression, start=begin, end=end,
                                          step=STEP)["result"])
        panels.append({**panel, "results": results})
    return panels


def draw(folder, board, out):
    height = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in board["panels"]) * ROW + 10
    with open(os.path.join(folder, "dist", "data.js"), "w", encoding="utf-8") as file:
        file.write(f"window.DATA = {json.dumps(board)};\n")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--hide-scrollbars", f"--user-data-dir={profile}",
             f"--window-size={WIDTH},{height}", "--virtual-time-budget=15000",
             f"--screenshot={out}", f"file://{folder}/dist/index.html"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), type=os.path.abspath)
    parser.add_argument("--seconds", default=90, type=int)
    parser.add_argument("out", nargs="?", default=os.path.join(ROOT, "docs", "pictures"),
                        type=os.path.abspath)
    options = parser.parse_args()
    os.environ["UP_BUILD"] = options.build
    sys.path[:0] = [os.path.join(ROOT, "tests", "support"), os.path.join(ROOT, "tests", "e2e")]
    import test_dashboards as measured  # pylint: disable=import-outside-toplevel
    folder = os.path.join(options.build, "pictures")
    build(folder)
    os.makedirs(options.out, exist_ok=True)
    begin = time.time()
    workload = measured.Workload(options.seconds)
    try:
        end = time.time()  # drawing takes a while, in which nothing is measured
        for name, board in measured.dashboards():
            only = {"$function": "flush_log", "$probe": "work"} if name == "function" else {}
            panels = answers(workload.prometheus, board, begin + 12, end, only)
            for panel in panels:
                panel["title"] = panel["title"].replace("$function", "flush_log").replace(
                    "$probe", "work")
            draw(folder, {"from": begin + 12, "to": end, "width": WIDTH, "panels": panels},
                 os.path.join(options.out, name + ".png"))
    finally:
        workload.stop()


if __name__ == "__main__":
    main()
