"""What the running exporter gave up: capabilities, new privileges, system calls; in every thread."""

import os
import subprocess
import unittest

import as_unit
from exporter import Exporter, config, each_tier, setUpModule, target
from victim import Victim

BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYS_ADMIN = 39, 38, 19, 2, 21
RUNNING = (BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH)
UNIT_FILTERS = 4  # one for each setting that makes one, see as_unit.py
INFO = "uprobe_exporter_confinement_info"


def mask(*capabilities):
    return sum(1 << capability for capability in capabilities)


def threads(pid):
    """The status of each thread, as dicts."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as lines:
            found.append(dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line))
    return found


class Confined(unittest.TestCase):
    def assert_confined(self, e, kept, filters):
        all_threads = threads(e.pid)
        self.assertGreater(len(all_threads), 3)
        for status in all_threads:
            for name, expected in (("CapEff", kept), ("CapPrm", kept), ("CapBnd", kept),
                                   ("CapInh", 0), ("CapAmb", 0)):
                self.assertEqual(int(status[name], 16), expected, (name, status["Name"]))
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(int(status["Seccomp_filters"]), filters)

    def kept(self, tier):
        return mask(*RUNNING, *([SYS_ADMIN] if tier == "perf" else []))

    def assert_all_confined(self, tier, filters, **keys):
        """Everything is given up, and it measures; the status of a thread."""
        with Victim("threads", 1, 100) as v, \
                Exporter(config(target("threads", "work")), tier, **keys) as e:
            self.assert_confined(e, self.kept(tier), filters)
            self.assertEqual(
                e.scrape().value(INFO, capabilities="dropped", syscalls="filtered"), 1)
            v.round()
            self.assertEqual(e.account("work")["all"], 100)
            self.assertNotIn("cannot drop", e.log_text())
            self.assertNotIn("cannot filter", e.log_text())
            return threads(e.pid)[0]


@each_tier
class AsUnit(Confined):
    """As the systemd unit starts it, and nearly all tests of this folder."""

    def tier_every_thread(self, tier):
        status = self.assert_all_confined(tier, UNIT_FILTERS + 1)
        for name in ("Uid", "Gid"):
            self.assertEqual(set(status[name].split()), {str(as_unit.USER)})
        self.assertEqual(status["Groups"].split(), [])

    def tier_what_it_begins_with(self, tier):
        """The unit's capabilities and filters, before the daemon does anything."""
        said = subprocess.run([*as_unit.command(tier == "perf"), "/bin/cat", "/proc/self/status"],
                              capture_output=True, text=True, check=True).stdout
        status = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
        for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
            self.assertEqual(int(status[name], 16), self.kept(tier), name)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp_filters"]),
                         ("1", str(UNIT_FILTERS)))


@each_tier
class AsRoot(Confined):
    """Started by root, it has more to give up: everything here is about that."""

    def tier_every_thread(self, tier):
        self.assert_all_confined(tier, 1, as_root=True)

    def test_capabilities_only(self):
        with Exporter(config(target("threads", "work")), as_root=True,
                      arguments=["--security.confine=capabilities"]) as e:
            self.assert_confined(e, self.kept(self.tier(e)), 0)
            self.assertEqual(e.scrape().value(INFO, capabilities="dropped", syscalls="any"), 1)

    def test_none(self):
        with open("/proc/self/status", encoding="utf-8") as lines:
            ours = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        with Exporter(config(target("threads", "work")), as_root=True,
                      arguments=["--security.confine=none"]) as e:
            for status in threads(e.pid):
                for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"):
                    self.assertEqual(status[name], ours[name], name)
            self.assertEqual(e.scrape().value(INFO, capabilities="kept", syscalls="any"), 1)

    def tier(self, e):
        return next(entry["tier"] for entry in e.logs() if "tier" in entry)

    def test_only_what_was_given(self):
        """Without CAP_BPF and CAP_PERFMON, CAP_SYS_ADMIN stands for them; no SYS_PTRACE comes."""
        wrap = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_ptrace"]
        with Exporter(config(target("threads", "work")), wrap=wrap, as_root=True) as e:
            self.assert_confined(e, mask(DAC_READ_SEARCH, SYS_ADMIN), 1)


if __name__ == "__main__":
    unittest.main()
