"""What many functions cost: attaching, detaching, memory, scraping, and doing nothing."""

import glob
import gzip
import os
import re
import sys
import time

import stats
from tools import exporter, victim

COUNTS = (1, 1000, 10000)
PROCESSES = 4  # that map the file
REPEATS, SCRAPES, IDLE_SECONDS = 5, 50, 20
CALLS_OF_EACH = 3


def status_kib(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(re.search(rf"^{field}:\s+(\d+)", lines.read(), re.M).group(1))


def cpu_seconds(pid):
    """User and system time of a process, ended threads included; in steps of 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as line:
        fields = line.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_seconds(pid):
    """The same to the nanosecond, of the threads that are there."""
    total = 0
    for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(task, encoding="ascii") as line:
            total += int(line.read().split()[0])
    return total / 1e9


def open_files(pid):
    """What the kernel tells of each open file."""
    texts = []
    for info in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(info, encoding="utf-8") as lines:
                texts.append(lines.read())
        except OSError:
            pass  # closed meanwhile
    return texts


def probe_links(texts):
    """Links other than the two on thread ends."""
    return sum("link_id:" in text and "raw_tracepoint" not in text for text in texts)


def map_bytes(texts):
    """What the kernel has charged for the maps among them."""
    sizes = {}
    for text in texts:
        number = re.search(r"^map_id:\s+(\d+)", text, re.M)
        if number:
            sizes[number.group(1)] = int(re.search(r"^memlock:\s+(\d+)", text, re.M).group(1))
    return sum(sizes.values())


def between(logs, first, last):
    """Seconds from the log line `first` to the line `last`."""
    def when(message):
        line = next(line for line in logs if line["msg"] == message)
        clock, rest = line["ts"].rstrip("Z").split(".")
        return time.mktime(time.strptime(clock, "%Y-%m-%dT%H:%M:%S")) + float("0." + rest)
    return when(last) - when(first)


def names(count):
    return [f"fn_{i:05d}" for i in range(count)]


def once(count, library, use=None):
    """One life of an exporter with `count` functions."""
    text = exporter.config(exporter.target(library, *names(count)),
                           limits={"series": max(count, 1024)})
    e = exporter.Exporter(text, "session", as_root=True)  # its CPU time is counted from the start
    try:
        cpu, logs = cpu_seconds(e.pid), e.logs()
        files = open_files(e.pid)
        loaded = next(line for line in logs if "map_memory_bytes" in line)
        life = {"ready": e.ready_seconds, "start_cpu": cpu,
                "attach": between(logs, "listening", "ready"),
                "links": probe_links(files), "files": len(files), "rss_kib": status_kib(e.pid, "VmRSS"),
                "peak_kib": status_kib(e.pid, "VmHWM"), "map_bytes": map_bytes(files),
                "map_bytes_most": loaded["map_memory_at_most_bytes"]}
        if use:
            life.update(use(e))
            life["rss_used_kib"] = status_kib(e.pid, "VmRSS")
        _, life["detach"] = e.stop(seconds=120)
        return life
    finally:
        e.discard()


def attach_and_detach(count):
    library = victim.path(f"libmany{max(count, 1000)}.so")
    users = [victim.Victim("library", library, max(count, 1000), 1) for _ in range(PROCESSES)]
    try:
        lives = [once(count, library) for _ in range(REPEATS)]
    finally:
        for user in users:
            user.kill()
    result = {key: stats.summary([life[key] for life in lives])
              for key in ("ready", "start_cpu", "attach", "detach")}
    result.update({key: lives[-1][key] for key in
                   ("links", "files", "rss_kib", "peak_kib", "map_bytes", "map_bytes_most")})
    return result


def scrapes_and_idle(e):
    """Scrapes of the whole, in both formats, then nothing for a while."""
    found = {}
    for name, accept in (("text", {}), ("openmetrics", {"Accept": exporter.OPENMETRICS})):
        e.get(headers=accept)
        before = cpu_seconds(e.pid)
        begin = time.monotonic()
        for _ in range(SCRAPES):
            _, _, body = e.get(headers=accept)
        found[name] = {"cpu_ms": (cpu_seconds(e.pid) - before) / SCRAPES * 1e3,
                       "wall_ms": (time.monotonic() - begin) / SCRAPES * 1e3, "bytes": len(body),
                       "gzip_bytes": len(gzip.compress(body))}
    time.sleep(1)
    before = run_seconds(e.pid)
    time.sleep(IDLE_SECONDS)
    return {"scrape": found, "idle_percent": (run_seconds(e.pid) - before) / IDLE_SECONDS * 100}


def used():
    """A thousand functions that have been called, scraped."""
    library = victim.path("libmany1000.so")
    with victim.Victim("library", library, 1000, CALLS_OF_EACH) as user:
        def use(e):
            user.round()
            return scrapes_and_idle(e)
        return once(1000, library, use)


def measure(_options):
    result = {"counts": {}}
    for count in COUNTS:
        print(f"scale: {count} functions", file=sys.stderr)
        result["counts"][str(count)] = attach_and_detach(count)
    print("scale: scrapes, idle", file=sys.stderr)
    result["used"] = used()
    result["cpus"] = os.cpu_count()
    return result
