"""What the running exporter gave up: capabilities, new privileges, system calls; in every thread."""

import os
import unittest

from exporter import Exporter, config, each_tier, setUpModule, target
from victim import Victim

BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYS_ADMIN = 39, 38, 19, 2, 21
RUNNING = (BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH)
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


@each_tier
class Confined(unittest.TestCase):
    def assert_confined(self, e, kept, seccomp):
        all_threads = threads(e.pid)
        self.assertGreater(len(all_threads), 3)
        for status in all_threads:
            for name, expected in (("CapEff", kept), ("CapPrm", kept), ("CapBnd", kept),
                                   ("CapInh", 0), ("CapAmb", 0)):
                self.assertEqual(int(status[name], 16), expected, (name, status["Name"]))
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Seccomp"], seccomp)

    def tier_every_thread(self, tier):
        kept = mask(*RUNNING, *([SYS_ADMIN] if tier == "perf" else []))
        with Victim("threads", 1, 100) as v, Exporter(config(target("threads", "work")), tier) as e:
            self.assert_confined(e, kept, "2")
            self.assertEqual(
                e.scrape().value(INFO, capabilities="dropped", syscalls="filtered"), 1)
            v.round()
            self.assertEqual(e.account("work")["all"], 100)
            self.assertNotIn("cannot drop", e.log_text())
            self.assertNotIn("cannot filter", e.log_text())

    def test_capabilities_only(self):
        with Exporter(config(target("threads", "work")),
                      arguments=["--security.confine=capabilities"]) as e:
            kept = mask(*RUNNING) | (mask(SYS_ADMIN) if self.tier(e) == "perf" else 0)
            self.assert_confined(e, kept, "0")
            self.assertEqual(e.scrape().value(INFO, capabilities="dropped", syscalls="any"), 1)

    def test_none(self):
        with open("/proc/self/status", encoding="utf-8") as lines:
            ours = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        with Exporter(config(target("threads", "work")), arguments=["--security.confine=none"]) as e:
            for status in threads(e.pid):
                for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"):
                    self.assertEqual(status[name], ours[name], name)
            self.assertEqual(e.scrape().value(INFO, capabilities="kept", syscalls="any"), 1)

    def tier(self, e):
        return next(entry["tier"] for entry in e.logs() if "tier" in entry)

    def test_only_what_was_given(self):
        """Without CAP_BPF and CAP_PERFMON, CAP_SYS_ADMIN stands for them; no SYS_PTRACE comes."""
        wrap = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_ptrace"]
        with Exporter(config(target("threads", "work")), wrap=wrap) as e:
            self.assert_confined(e, mask(DAC_READ_SEARCH, SYS_ADMIN), "2")


if __name__ == "__main__":
    unittest.main()
