#!/usr/bin/python3
"""Measure what the exporter costs against the kernel's own limit and its peers.

    tests/bench/run.py [--build DIR] [--rounds N] [--document FILE] [--text] [PART...]

Parts: percall, programs, scale, shares; all of them unless named. Writes DIR/bench/results.json
and results.txt, keeping the parts that were measured before, and with --document the text of
docs/benchmarks.md. --text measures nothing and writes the texts anew.
"""

import argparse
import json
import os
import sys

PARTS = ("percall", "programs", "scale", "shares")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--document")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    options = parser.parse_args()
    os.environ["UP_BUILD"] = options.build = os.path.abspath(options.build)
    if os.geteuid() != 0:
        sys.exit("attaching probes needs root")
    if options.rounds < 9:
        sys.exit("at least 9 rounds")

    import document  # pylint: disable=import-outside-toplevel
    import percall  # pylint: disable=import-outside-toplevel
    import programs  # pylint: disable=import-outside-toplevel
    import scale  # pylint: disable=import-outside-toplevel
    import shares  # pylint: disable=import-outside-toplevel
    results = {}
    path = os.path.join(options.build, "bench", "results.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            results = json.load(old)
    measures = {"percall": percall.measure, "programs": programs.measure,
                "scale": scale.measure, "shares": shares.measure}
    for part in [] if options.text else options.parts or PARTS:
        load = os.getloadavg()[0]
        results[part] = measures[part](options)
        results.setdefault("loads", {})[part] = max(load, os.getloadavg()[0])
        results["machine"] = {**document.machine(), "rounds": options.rounds}
        with open(path, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    text = document.plain(results)
    print(text)
    with open(os.path.join(options.build, "bench", "results.txt"), "w", encoding="utf-8") as out:
        out.write(text)
    if options.document:
        with open(options.document, "w", encoding="utf-8") as out:
            out.write(document.document(results))


main()
