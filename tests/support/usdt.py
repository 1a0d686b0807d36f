"""Configs for USDT probes, and what the exporter says became of them."""

import os
import re
import subprocess

import victim
from exporter import yaml
from victim import wait_until

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                        "config")
HITS = "uprobe_usdt_hits_total"
DURATION = "uprobe_usdt_duration_seconds"


def pair(name, start, end, argument=None, **keys):
    found = {"name": name, "start": start, "end": end, **keys}
    if argument:
        found["key"] = {"start": argument[0], "end": argument[1]}
    return found


def config(binary, *probes, name="victim", **keys):
    return yaml({"targets": [{
        "name": name, "binary": binary, **keys,
        "usdt": [{"probe": p} if isinstance(p, str) else p for p in probes]}]})


def account(e, probe):
    """What became of a pair's starts, and its ends without one."""
    now = e.scrape()
    found = {"observed": now.value(DURATION + "_count", probe=probe),
             "in_flight": now.value("uprobe_usdt_in_flight", probe=probe),
             "unmatched": now.value("uprobe_usdt_unmatched_ends_total", probe=probe)}
    for labels, value in now.find("uprobe_usdt_abandoned_starts_total", probe=probe):
        found[labels["reason"]] = value
    for labels, value in now.find("uprobe_exporter_events_lost_total", probe=probe):
        found["lost_" + labels["reason"]] = value
    fates = sum(value for key, value in found.items() if key != "unmatched")
    assert now.value("uprobe_usdt_starts_total", probe=probe) == fates, found
    return {key: value for key, value in found.items() if value}


def settled(e, probe, **wanted):
    """The account once it is as wanted: ends of threads are noticed a moment later."""
    try:
        wait_until(lambda: account(e, probe) == wanted, 20)
    except AssertionError:
        raise AssertionError(f"{probe}: {account(e, probe)}, wanted {wanted}") from None


def names_in(file):
    """["provider:name"] of a file's sites as readelf reads them; a name stands there once a site."""
    said = subprocess.run(["readelf", "-n", file], capture_output=True, text=True,
                          check=False).stdout
    return [":".join(found) for found in
            re.findall(r"^ +Provider: (\S+)\n +Name: (\S+)$", said, re.M)]


def private_copy(file, site):
    """A copy of a program or library, for no other process to be probed; None, if the file is not
    there or without that site."""
    return victim.path(file) if file and os.path.exists(file) and site in names_in(file) else None


def example(name, file, pid=None):
    """The text of config/NAME, for another file of the same kind, and another process."""
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as lines:
        text, n = re.subn(r"(?m)^( +binary: ).*$", rf"\g<1>{file}", lines.read())
    assert n == 1, name
    return re.sub(r"(pid: )1234\b", rf"\g<1>{pid}", text) if pid else text


def not_attached(e):
    """{probe: reason} of what a running exporter could not attach."""
    now = e.scrape()
    assert now.find("uprobe_exporter_probe_attached")
    return {labels["probe"]: labels["reason"]
            for labels, _ in now.find("uprobe_exporter_probe_failure_info")}
