"""Of every function in some real files: can it be probed, where, and how is its exit seen."""

import collections
import glob
import json
import resource
import subprocess
import sys
import tempfile

import tools
from tools import exporter, victim


def files():
    """{name: file}, of those that are there."""
    wanted = {"libc": "/lib/*-linux-gnu/libc.so.6", "libstdc++": "/usr/lib/*-linux-gnu/libstdc++.so.6",
              "PostgreSQL": "/usr/lib/postgresql/*/bin/postgres", "python3": "/usr/bin/python3.[0-9]*",
              "Rust victim": victim.BUILD + "/victims/panics",
              "C++ victim": victim.BUILD + "/victims/throws",
              "Go victim": victim.BUILD + "/victims/stacks"}
    found = {name: sorted(path for path in glob.glob(pattern) if not path.endswith("-config"))
             for name, pattern in wanted.items()}
    return {name: paths[-1] for name, paths in found.items() if paths}


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def decide(file, how):
    """What `check` says of every function of a file, and the processor time that it took."""
    every = {"match": '"*"', "max": 65536, "exit": how}
    text = exporter.config({"name": "t", "binary": file, "host_cost": "allow", "functions": [every]},
                           limits={"series": 65000})
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(text)
        config.flush()
        before = children_seconds()
        said = subprocess.run([exporter.BINARY, "check", "--json", f"--config.file={config.name}"],
                              capture_output=True, text=True, check=False, timeout=300)
        seconds = children_seconds() - before
    if said.returncode not in (0, 1):
        raise tools.Missing(f"check: status {said.returncode}: {said.stderr[:300]}")
    return json.loads(said.stdout), seconds


def share(file, how="auto"):
    probes, seconds = decide(file, how)
    good = [probe for probe in probes if probe["ok"]]
    return {"file": file, "functions": len(probes), "seconds": seconds, "can": len(good),
            "classes": collections.Counter(probe["entry"]["class"] for probe in good),
            "exits": collections.Counter(probe["exit_strategy"] for probe in good),
            "reasons": collections.Counter(probe["reason"] for probe in probes if not probe["ok"])}


def measure(_options):
    print("shares", file=sys.stderr)
    found = {}
    for name, file in files().items():
        found[name] = share(file)
        if name.startswith("Go"):
            found[name + ", exit: none"] = share(file, "none")
    return found
