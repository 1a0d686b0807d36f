"""Reloads and upgrades again and again under load: what the exporter holds does not grow.

As often as the environment's UP_LONG_CYCLES says, else as CI has time for.
"""

import collections
import os
import re
import struct
import sys
import unittest

import bpfsys
import victim
from exporter import Exporter, config, function, setUpModule, target
from test_reload import Load, write
from test_upgrade import UPGRADES, builds, program, replace_by_rename
from victim import Victim, wait_until

CYCLES = int(os.environ.get("UP_LONG_CYCLES", 150))
RECORD = 64  # sizeof(struct up_probe); its words: slot, bounds, flags, generation
NO_GENERATION = 0xffffffff
# The heap is not given back to the last page: this much for all cycles, however many they are.
ANONYMOUS_MORE = 256 << 10

Held = collections.namedtuple("Held", "bpf descriptors records slots memory anonymous")


def anonymous(pid):
    """Resident memory less what is mapped of files and maps, in bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return int(re.search(r"^RssAnon:\s*(\d+) kB$", lines.read(), re.M).group(1)) << 10


def records_in_use(e):
    """(records, slots) that the table of probe records gives to something."""
    table = bpfsys.borrow_map(e.pid, map_type=2, value_size=RECORD)
    try:
        records, slots, n = 0, set(), 0
        while (value := bpfsys.map_get(table, struct.pack("=I", n), RECORD)) is not None:
            slot, _bounds, _flags, generation = struct.unpack_from("=4I", value)
            if generation not in (0, NO_GENERATION):
                records += 1
                slots.add(slot)
            n += 1
        return records, len(slots)
    finally:
        os.close(table)


class Long(unittest.TestCase):
    def held(self, e):
        """What it holds, when connections of before are closed."""
        now = e.scrape()
        least = min(e.scrape().value("process_open_fds") for _ in range(5))
        kinds = collections.Counter(kind for kind, _ in bpfsys.held_by(e.pid))
        return Held(kinds, least, *records_in_use(e),
                    now.value("uprobe_exporter_map_memory_bytes"),
                    anonymous(e.pid))

    def test_reloads_and_upgrades(self):
        """Each cycle is an upgrade and a reload to another config, with processes of both files."""
        file = program(into="long")
        texts = [config(target(file, "work", name="upgraded"), target("threads", "work", name="same"),
                        target("shapes", *names, name="p"),
                        target("marks", name="m", usdt=[{"probe": "marks:hit"}]))
                 .replace("    functions: []\n", "")
                 for names in (["outer"], ["outer", "recurse"],
                               [function("outer", buckets=["3ms"]), "recurse"])]
        total, held, early = 0, [], max(CYCLES // 10, 60) // 3 * 3
        with Exporter(texts[0], arguments=("--web.enable-lifecycle",)) as e, \
                Load("threads", 1, 2000, "early") as load:
            for n in range(1, CYCLES // 3 * 3 + 1):
                with Victim(file, 1, 20, "early") as old:
                    replace_by_rename(file, n)
                    write(e, texts[n % len(texts)])
                    self.assertEqual(e.get("/-/reload", "POST")[0], 200)
                    with Victim(file, 1, 20, "early") as new:
                        for v in (old, new):
                            total += v.round()["calls"]["work"]
                now = e.scrape()
                self.assertEqual(now.value(UPGRADES, target="upgraded"), n)
                count = now.histogram("uprobe_function_duration_seconds", target="upgraded")
                self.assertEqual(count.count, total, n)
                if n in (early, CYCLES // 3 * 3):
                    wait_until(lambda: len({labels["build_id"] for labels, _ in e.scrape().find(
                        "uprobe_exporter_probe_info", target="upgraded")}) == 1, 30)
                    held.append(self.held(e))
            load.finish()
            print(f"after {early} and {CYCLES // 3 * 3} cycles:", *held, sep="\n", file=sys.stderr)
            self.assertEqual(held[0][:-1], held[1][:-1])
            self.assertLess(held[1].anonymous - held[0].anonymous, ANONYMOUS_MORE)
            self.assertEqual(e.histogram("work", target="same").count, load.told["work"])

    def test_upgrades_under_load(self):
        """A process that calls all the time through upgrades of its file, and its successors: all
        is counted once the new file has been probed, and nothing goes down."""
        file = program(into="many")
        last, total, held, gaps = 0, 0, [], []
        cycles = max(CYCLES * 3 // 10, 30)  # 600 where the other has 2000
        early = cycles // 10 + 10
        with Exporter(config(target(file, function("work", exit="return-sites")))) as e:
            for n in range(1, cycles + 1):
                with Load(file, 2, 500, "early") as load:
                    wait_until(lambda l=load: l.rounds > 0, 30, step=0.005)
                    replace_by_rename(file, n)
                    wait_until(lambda n=n: e.scrape().value(UPGRADES) == n and
                               e.attached() == 1, 30, step=0.01)
                    gaps.append(e.scrape().value("uprobe_exporter_target_upgrade_gap_seconds"))
                    load.finish()
                    total += load.told["work"]
                now = e.histogram("work").count
                self.assertGreaterEqual(now, last)
                self.assertEqual(now, total)
                last = now
                if n in (early, cycles):
                    wait_until(lambda: len(builds(e)) == 1, 30)
                    held.append(self.held(e))
            # others have the machine now and then, but not half of the times
            self.assertLess(sorted(gaps)[len(gaps) // 2], 1)
            print(f"after {early} and {cycles} upgrades:", *held, sep="\n", file=sys.stderr)
            self.assertEqual(held[0][:-1], held[1][:-1])
            self.assertLess(held[1].anonymous - held[0].anonymous, ANONYMOUS_MORE)

    def test_killed_and_started_again(self):
        """With a thousand functions: ready and counting within a second, with room to spare."""
        text = config(target("libmany1000.so", {"match": "f*", "max": 2000, "exit": "none"}),
                      target("threads", "work", name="t"))
        with Victim("threads", 1, 100, "early") as v:
            e = Exporter(text)
            try:
                v.round()
                self.assertEqual(e.histogram("work").count, 100)
                e.child.kill()
                e.child.wait()
            finally:
                e.discard()
            with Exporter(text) as again:
                print(f"ready again in {again.ready_seconds:.2f} s", file=sys.stderr)
                self.assertLess(again.ready_seconds, 10)
                v.round()
                self.assertEqual(again.histogram("work").count, 100)
                attached = [value for _, value in
                            again.scrape().find("uprobe_exporter_probe_attached")]
                self.assertGreaterEqual(len(attached), 1000)
                self.assertEqual(set(attached), {1})


if __name__ == "__main__":
    unittest.main()
