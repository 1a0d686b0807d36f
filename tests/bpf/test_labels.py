"""`labels_from`: series by container and pod."""

import contextlib
import os
import subprocess
import time
import unittest

import bpfsys
import victim
from container import PATH, Container, Image
from exporter import DURATION, Exporter, config, function, setUpModule, target
from test_processes import cgroup
from victim import Victim, wait_until

CALLS = "uprobe_function_calls_total"
IDS = {name: name * 64 for name in "abcdef"}
UIDS = {name: f"{name * 8}-{name * 4}-{name * 4}-{name * 4}-{name * 12}" for name in "abcdef"}


@contextlib.contextmanager
def pod(name, driver="cgroupfs"):
    """The cgroup of the container `name` in the pod `name`, as the kubelet makes it."""
    paths = {
        "cgroupfs": ["kubepods", f"kubepods/pod{UIDS[name]}",
                     f"kubepods/pod{UIDS[name]}/{IDS[name]}"],
        "systemd": ["kubepods.slice",
                    f"kubepods.slice/kubepods-pod{UIDS[name].replace('-', '_')}.slice",
                    f"kubepods.slice/kubepods-pod{UIDS[name].replace('-', '_')}.slice/"
                    f"cri-containerd-{IDS[name]}.scope"],
    }[driver]
    with contextlib.ExitStack() as stack:
        path = None
        for part in paths:
            path = stack.enter_context(shared(part))
        yield path


@contextlib.contextmanager
def shared(name):
    """cgroup(), of which there may be one already."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.isdir(os.path.join(root, name)):
            yield os.path.join(root, name)
            return
    with cgroup(name) as path:
        yield path


def text(*functions, labels=("container", "pod"), limits=None, **process):
    functions = functions or ({"symbol": "work", "exit": "none"},)
    keys = {"limits": limits} if limits else {}
    return config(target(PATH, *functions, process=process or {"exe": PATH},
                         labels_from=list(labels)), **keys)


def folded(e):
    return e.scrape().value("uprobe_exporter_label_sets_folded")


def count(e, name, **labels):
    """The calls of the container `name`; None while it has no series."""
    wanted = {"container": IDS.get(name, name), "function": "work", **labels}
    found = e.scrape().find(CALLS, **wanted)
    return found[0][1] if found else None


def move(pid, path):
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as out:
        out.write(str(pid))


def links(e):
    return len([item for item in bpfsys.held_by(e.pid) if item[0] == "link"])


def reload(e, new):
    with open(e.config, "w", encoding="utf-8") as out:
        out.write(new)
    n = len([line for line in e.logs() if "reloaded" in line["msg"]])
    e.child.send_signal(1)
    wait_until(lambda: len([line for line in e.logs() if "reloaded" in line["msg"]]) > n, 30)


class Labels(unittest.TestCase):
    def test_two_containers_of_one_image(self):
        """One link and a series each; a third with a changed copy has a link of its own."""
        with Image() as image, pod("a") as in_a, pod("b", "systemd") as in_b, pod("c") as in_c, \
                Exporter(text()) as e:
            before = links(e)
            with Container(image, cgroup=in_a) as a, Container(image, cgroup=in_b) as b, \
                    Container(image, cgroup=in_c, change=True, calls=3) as c:
                wait_until(lambda: links(e) == before + 2, 30)
                e.settle()
                totals = {"a": a.round(), "b": b.round() + b.round(), "c": c.round()}
                for name, total in totals.items():
                    self.assertEqual(count(e, name), total)
                    self.assertEqual(count(e, name, pod=UIDS[name]), total)
                self.assertEqual(count(e, "other"), 0)
                self.assertEqual(e.scrape().value("uprobe_exporter_label_sets", target="victim"), 3)

    def test_every_way_of_counting(self):
        """Histograms by return probes, by probed exits, and counts."""
        functions = (function("work"),)
        for exits in ("uretprobe", "return-sites"):
            functions = (function("work", exit=exits),)
            with Image() as image, pod("a") as in_a, Exporter(text(*functions)) as e, \
                    Container(image, cgroup=in_a, calls=1000) as a:
                wait_until(lambda: e.attached(function="work") == 1, 30)
                e.settle()
                total = a.round() + a.round()
                self.assertEqual(
                    e.histogram("work", container=IDS["a"]).count, total)
                self.assertEqual(e.histogram("work", container="other").count, 0)
                now = e.scrape()
                self.assertEqual(now.value("uprobe_function_entries_total", function="work"), total)
                self.assertEqual(now.value("uprobe_function_in_flight", function="work"), 0)

    def test_no_container(self):
        """A process in none has empty labels."""
        file = victim.path("threads.static")
        with Exporter(config(target(file, {"symbol": "work", "exit": "none"},
                                    process={"exe": file}, labels_from=["container"]))) as e, \
                Victim(file, 1, 7, "early") as a:
            e.settle()
            total = a.round()["calls"]["work"]
            self.assertEqual(count(e, ""), total)
            self.assertEqual(count(e, "other"), 0)

    def test_there_before(self):
        """A container that runs when the exporter starts, and over reloads with the same labels,
        none, and others."""
        with Image() as image, pod("a") as in_a, Container(image, cgroup=in_a) as a, \
                Exporter(text()) as e:
            total = a.round()
            self.assertEqual(count(e, "a"), total)
            reload(e, text())
            total += a.round()
            self.assertEqual(count(e, "a"), total)
            reload(e, text(labels=["pod_uid"]))
            wait_until(lambda: e.attached(function="work") == 1, 30)
            e.settle()
            total = a.round()
            self.assertEqual(e.scrape().value(CALLS, pod_uid=UIDS["a"]), total)
            plain = config(target(PATH, {"symbol": "work", "exit": "none"}, process={"exe": PATH}))
            reload(e, plain)
            wait_until(lambda: e.attached(function="work") == 1, 30)
            e.settle()
            total = a.round()
            self.assertEqual([labels for labels, value in e.scrape().find(CALLS)],
                             [{"target": "victim", "function": "work"}])
            self.assertEqual(e.scrape().value(CALLS), total)

    def test_more_than_fit(self):
        """What is beyond the bound counts as `other`, and shows."""
        with Image() as image, pod("a") as in_a, pod("b") as in_b, pod("c") as in_c, \
                Exporter(text(limits={"label_sets": 1})) as e:
            with Container(image, cgroup=in_a) as a:
                wait_until(lambda: count(e, "a") == 0, 30)
                with Container(image, cgroup=in_b) as b, Container(image, cgroup=in_c) as c:
                    e.settle()
                    total = b.round() + c.round()
                    in_one = a.round()
                    now = e.scrape()
                    self.assertEqual((count(e, "a"), count(e, "other")), (in_one, total))
                    self.assertEqual(now.value("uprobe_exporter_label_sets_folded"), 2)
                    self.assertEqual(now.value("uprobe_exporter_label_sets"), 1)
                    time.sleep(8)  # as long as their processes are there; others' may come
                    still = e.scrape().value("uprobe_exporter_label_sets_folded")
                    self.assertGreaterEqual(still, 2)

    def test_containers_of_one_namespace_come_and_go(self):
        """A set that goes on does not keep what has ended: every container counts in it."""
        kept = {"labels_keep": "300ms", "label_sets": 2, "series": 3}
        with Image() as image, Exporter(text(labels=["namespace"], limits=kept)) as e:
            total = 0
            with pod("f") as inside, Container(image, cgroup=inside, calls=1) as stays:
                for again in range(14):
                    name = "abcde"[again % 5]
                    with pod(name) as inside, Container(image, cgroup=inside, calls=3) as a:
                        e.settle()
                        total += a.round() + stays.round()
                        now = e.scrape()
                        self.assertEqual(now.value(CALLS, namespace=""), total)
                        self.assertEqual(now.value(CALLS, namespace="other"), 0)

    def test_limits_series(self):
        """No series left: `other` again, for the functions that got none."""
        with Image() as image, pod("a") as in_a, Exporter(text(limits={"series": 1})) as e, \
                Container(image, cgroup=in_a) as a:
            wait_until(lambda: e.attached(function="work") == 1, 30)
            e.settle()
            total = a.round()
            self.assertEqual((count(e, "a"), count(e, "other")), (None, total))
            self.assertEqual(folded(e), 1)
            warnings = [line for line in e.logs() if line["level"] == "warn"]
            self.assertEqual(len([w for w in warnings if "`other`" in w["msg"]]), 1, warnings)

    def test_room_that_becomes_free(self):
        """Who came when there was none gets it: a set's, and a series'."""
        for limits in ({"label_sets": 1}, {"series": 2}):
            with self.subTest(limits), Image() as image, pod("a") as in_a, pod("b") as in_b, \
                    Exporter(text(limits={**limits, "labels_keep": "200ms"})) as e, \
                    Container(image, cgroup=in_a) as a:
                wait_until(lambda: count(e, "a") == 0, 30)
                with Container(image, cgroup=in_b) as b:
                    wait_until(lambda: folded(e) == 1, 30)
                    total = b.round()
                    self.assertEqual((count(e, "b"), count(e, "other")), (None, total))
                    a.end()
                    wait_until(lambda: count(e, "b") == 0 and folded(e) == 0, 30)
                    calls = b.round()
                    self.assertEqual((count(e, "b"), count(e, "other")), (calls, total))

    def test_ends(self):
        """Some time after its last process, a container's series ends; not before, and what it
        counted stays in the sums. A container that comes again begins anew."""
        kept = {"labels_keep": "5s"}
        with Image() as image, pod("a") as in_a, \
                Exporter(text(function("work"), limits=kept)) as e:
            name = DURATION + "_count"
            total = 0
            for again in range(3):
                with Container(image, cgroup=in_a) as a:
                    wait_until(lambda: e.scrape().find(name, container=IDS["a"]), 30)
                    e.settle()
                    calls = a.round()
                    total += calls
                    now = e.scrape()
                    self.assertEqual(now.value(name, container=IDS["a"]), calls)
                    a.end()
                    e.settle()
                    self.assertEqual(e.scrape().value(name, container=IDS["a"]), calls)
                wait_until(lambda: not e.scrape().find(name, container=IDS["a"]), 30)
                now = e.scrape()
                ended = now.value("uprobe_exporter_label_sets_ended_calls_total")
                self.assertEqual((ended, again), (total, again))
                self.assertEqual(now.value("uprobe_function_entries_total"), total)
                self.assertEqual(now.value("uprobe_function_in_flight"), 0)
                self.assertEqual(now.value(name, container="other"), 0)

    def test_slots_come_back(self):
        """Many containers one after another need no more series than are there at once."""
        with Image() as image, Exporter(text(limits={"series": 2, "labels_keep": "100ms"})) as e:
            for again in range(6):
                with pod("abcdef"[again]) as inside, Container(image, cgroup=inside) as a:
                    wait_until(lambda n="abcdef"[again]: count(e, n) == 0, 30)
                    e.settle()
                    self.assertEqual(a.round(), count(e, "abcdef"[again]))
                wait_until(lambda n="abcdef"[again]: count(e, n) is None, 30)

    def test_from_the_first_instruction(self):
        """Programs that start in a container's cgroup are told apart at once, where cgroups are
        version 2: no call of them is `other`."""
        once = victim.path("once")
        unified = ("unshare", "--mount", "--propagation", "slave", "sh", "-c",
                   'mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"')
        setup = config(target(once, {"symbol": "work", "exit": "none"}, process={"exe": once},
                              labels_from=["container"]))
        with pod("a") as inside, Exporter(setup, wrap=unified) as e:
            def run(what):
                subprocess.run(["sh", "-c", f"echo 0 > {inside}/cgroup.procs; sleep 1; {what}; :"],
                               check=True, timeout=300, stdout=subprocess.DEVNULL)
            e.settle(1)
            first = 0
            while count(e, "a") is None and first < 60:  # it may have ended when it is looked at
                run(f"{once} 1")
                first += 1
                e.settle(1)
            run(f"for i in $(seq 200); do {once} 5; done")
            self.assertEqual(count(e, "a") + count(e, "other"), first + 1000)
            self.assertGreaterEqual(count(e, "a"), 1000)  # the first brings the series about

    def test_moved_inside_a_call(self):
        """A process that goes to another container's cgroup inside a call: that call stays where it
        began, and the sums are right."""
        blocked, name = victim.path("blocked"), DURATION + "_count"
        for exits in ("uretprobe", "return-sites"):
            setup = config(target(blocked, function("hold", exit=exits), process={"exe": blocked},
                                  labels_from=["container"]))
            with pod("a") as in_a, pod("b") as in_b, Exporter(setup) as e, \
                    Victim(blocked, 1) as held:
                move(held.pid, in_a)
                wait_until(lambda: e.scrape().find(name, container=IDS["a"]), 30)
                e.settle()
                held.round()
                self.assertEqual(e.scrape().value("uprobe_function_in_flight"), 1)
                move(held.pid, in_b)
                wait_until(lambda: e.scrape().find(name, container=IDS["b"]), 30)
                e.settle()
                held.round()
                now = e.scrape()
                self.assertEqual(now.value("uprobe_function_in_flight"), 0)
                self.assertEqual([now.value(name, container=value) for value in
                                  (IDS["a"], IDS["b"], "", "other")], [1, 0, 0, 0])
                held.round()
                held.round()
                now = e.scrape()
                self.assertEqual([now.value(name, container=value) for value in
                                  (IDS["a"], IDS["b"], "", "other")], [1, 1, 0, 0])
                held.end()


if __name__ == "__main__":
    unittest.main()
