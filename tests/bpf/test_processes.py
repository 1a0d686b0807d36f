"""Process filters: the selected processes are counted exactly, and nobody else."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import unittest

import bpfsys
import victim
from exporter import Exporter, config, each_tier, setUpModule, target
from victim import Victim, wait_until

CALLS = "uprobe_function_calls_total"


def named(name, of="threads"):
    """Another name of a victim's file: the same inode, so that probes are on it too."""
    folder = victim.path(of) + ".names"
    path = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(path):
        os.link(victim.path(of), path)
    return path


def copied(name, of="once"):
    path = os.path.join(os.path.dirname(victim.path(of)), name)
    return path if os.path.exists(path) else shutil.copy(victim.path(of), path)


def counting(file, **process):
    return config(target(file, {"symbol": "work", "exit": "none"}, process=process))


def count(e):
    return e.scrape().value(CALLS, function="work")


@contextlib.contextmanager
def cgroup(name):
    """A cgroup of the unified hierarchy; None where there is none."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(os.path.join(root, "cgroup.procs")) and \
                os.path.exists(os.path.join(root, "cgroup.controllers")):
            path = os.path.join(root, name)
            os.makedirs(path, exist_ok=True)
            try:
                yield path
            finally:
                wait_until(lambda: not open(os.path.join(path, "cgroup.procs")).read(), 10)
                os.rmdir(path)
            return
    yield None


@each_tier
class Selected(unittest.TestCase):
    def both(self, tier, chosen, other, file, process, arguments=(("1", "100", "early"),) * 2):
        """One process of each kind before the exporter, and one of each after."""
        with Victim(chosen, *arguments[0]) as a, Victim(other, *arguments[1]) as b:
            with Exporter(counting(file, **process), tier) as e:
                with Victim(chosen, *arguments[0]) as c, Victim(other, *arguments[1]) as d:
                    e.settle()  # what the kernel cannot tell is decided within a second
                    for v in (a, b, c, d, a):
                        v.round()
                    self.assertEqual(count(e), 300)

    def tier_comm(self, tier):
        self.both(tier, named("chosen"), named("other"), victim.path("threads"),
                  {"comm": "chosen"})

    def tier_comm_pattern(self, tier):
        self.both(tier, named("chosen"), named("other"), victim.path("threads"),
                  {"comm": '"cho*"'})

    def tier_cmdline(self, tier):
        self.both(tier, named("chosen"), named("chosen"), victim.path("threads"),
                  {"cmdline": '"100 early x[0-9]$"'},
                  (("1", "100", "early", "x1"), ("1", "100", "early", "y1")))

    def tier_user(self, tier):
        me = {"user": '"0"', "comm": "chosen"}
        self.both(tier, named("chosen"), named("other"), victim.path("threads"), me)

    def tier_exe(self, tier):
        """A library, in two programs."""
        library = victim.path("libmarks.so")
        files = [copied(name, "marks") for name in ("marks.a", "marks.b")]
        text = config(target(library, {"symbol": "library_marks", "exit": "none"},
                             process={"exe": files[0]}))
        with Victim(files[0], 1, 1, library) as a, Victim(files[1], 1, 1, library) as b:
            with Exporter(text, tier) as e:
                with Victim(files[0], 1, 1, library) as c, Victim(files[1], 1, 1, library) as d:
                    for v in (a, b, c, d):
                        v.round()
                    self.assertEqual(e.scrape().value(CALLS, function="library_marks"), 2)

    def tier_exe_of_many_names(self, tier):
        """Hard links of one file, as busybox has them, are told apart."""
        self.both(tier, named("chosen"), named("other"), victim.path("threads"),
                  {"exe": named("chosen")})

    def tier_nobody_else_is_timed(self, tier):
        """The kernel is asked for the returns of selected processes only."""
        text = config(target(victim.path("threads"), "work", process={"comm": "chosen"}))
        with Exporter(text, tier) as e:
            with Victim(named("chosen"), 1, 100, "early") as a, \
                    Victim(named("other"), 1, 100, "early") as b:
                a.round()
                b.round()
                self.assertEqual(e.account("work"), dict(e.account("work"), observed=100, all=100))

    def tier_two_targets(self, tier):
        """One function, a filter each: a target counts its own processes only."""
        text = config(*(target(victim.path("threads"), "work", name=name, process={"comm": name})
                        for name in ("chosen", "other")))
        with Exporter(text, tier) as e:
            with Victim(named("chosen"), 1, 100, "early") as a, \
                    Victim(named("other"), 1, 7, "early") as b:
                a.round()
                b.round()
                now = e.scrape()
                for name, calls in (("chosen", 100), ("other", 7)):
                    self.assertEqual(now.histogram("uprobe_function_duration_seconds",
                                                   target=name).count, calls)

    def tier_children(self, tier):
        """Descendants of a process, there before and started after, whatever they run."""
        with Victim(copied("tree"), "fork", 10, 5) as parent, \
                Victim(copied("tree"), "fork", 10, 5) as other:
            with Exporter(counting(copied("tree"), pid=parent.pid, children="true"), tier) as e:
                for v in (parent, other):
                    self.assertEqual(v.round()["well"], 10)
                self.assertEqual(count(e), 50)

    def tier_without_children(self, tier):
        with Victim(copied("tree"), "fork", 10, 5) as parent:
            with Exporter(counting(copied("tree"), pid=parent.pid), tier) as e:
                parent.round()
                self.assertEqual(count(e), 0)


class Following(unittest.TestCase):
    def test_short_processes_by_exe(self):
        """10,000 that start and end while another program does the same."""
        chosen, other = copied("short.a"), copied("short.b")
        with Exporter(counting(chosen, exe=chosen)) as e:
            with Victim(copied("starter"), "spawn", chosen, 10000, 1) as a:
                a.begin()
                self.assertEqual(a.result(600)["well"], 10000)
            self.assertEqual(count(e), 10000)
            with Victim(copied("starter"), "spawn", other, 100, 1) as b:
                b.round()
            self.assertEqual(count(e), 10000)

    def test_short_processes_by_comm(self):
        chosen, other = named("brief", "once"), named("short", "once")
        with Exporter(counting(victim.path("once"), comm="brief")) as e:
            with Victim(victim.path("once"), "spawn", chosen, 1000, 2) as a, \
                    Victim(victim.path("once"), "spawn", other, 1000, 2) as b:
                a.begin()
                b.begin()
                self.assertEqual((a.result()["well"], b.result()["well"]), (1000, 1000))
            self.assertEqual(count(e), 2000)

    def test_forks_and_exec(self):
        """A child is like its parent until it starts a program; then it is what it runs."""
        chosen, other = named("chosen", "once"), named("other", "once")
        with Exporter(counting(victim.path("once"), comm="chosen")) as e:
            with Victim(chosen, "fork", 20, 3) as v:
                v.round()
                self.assertEqual(count(e), 60)
            with Victim(chosen, "exec", other, 7, 100) as v:
                v.begin()
                v.end()
                self.assertEqual(count(e), 67)
            with Victim(other, "exec", chosen, 100, 7) as v:
                v.begin()
                v.end()
                self.assertEqual(count(e), 74)

    def test_exec_of_one_process(self):
        """One that is named is also asked for the rest when it starts another program."""
        chosen, other = named("chosen", "once"), named("other", "once")
        for condition in ({"comm": "chosen"}, {"cmdline": "'/chosen exec '"}):
            with Victim(chosen, "exec", other, 7, 100) as v:
                with Exporter(counting(victim.path("once"), pid=v.pid, **condition)) as e:
                    v.begin()
                    v.end()
                    self.assertEqual(count(e), 7, condition)
        with Victim(other, "exec", chosen, 100, 7) as v:
            with Exporter(counting(victim.path("once"), pid=v.pid, comm="chosen")) as e:
                v.begin()
                v.end()
                self.assertEqual(count(e), 7)

    def test_more_starts_than_are_told(self):
        """The queue of starts is full: that shows, and a pass finds what was not told."""
        lost = "uprobe_exporter_process_events_lost_total"
        with Exporter(counting(victim.path("threads"), cmdline='" early chosen$"')) as e:
            self.assertEqual([v for _, v in e.scrape().find(lost)], [0, 0])
            e.child.send_signal(signal.SIGSTOP)
            once = victim.path("once")
            storm = [subprocess.Popen([once, "again", "8300"]) for _ in range(2)]
            self.assertEqual([child.wait(600) for child in storm], [0, 0])
            with Victim("threads", 1, 10, "early", "chosen") as v:
                e.child.send_signal(signal.SIGCONT)
                wait_until(lambda: e.scrape().value(lost, reason="queue_full") > 0, 30)
                e.settle(1)
                before = count(e)
                v.round()
                self.assertEqual(count(e) - before, 10)
            self.assertEqual(e.scrape().value(lost, reason="too_many_processes"), 0)

    def test_more_processes_than_are_selected(self):
        """The table is full: that shows, and they are counted when there is room again."""
        size, room = 16 + 2 * 128, 65536
        lost = "uprobe_exporter_process_events_lost_total"
        with Exporter(counting(victim.path("threads"), comm="chosen")) as e:
            table = bpfsys.borrow_map(e.pid, value_size=size, max_entries=room)
            try:
                for n in range(room):  # pids that no process has
                    bpfsys.map_put(table, struct.pack("=I", (1 << 22) + 1 + n), bytes(size))
            finally:
                os.close(table)
            with Victim(named("chosen"), 1, 10, "early") as v:
                v.round()
                now = e.scrape()
                self.assertEqual(now.value(CALLS, function="work"), 0)
                self.assertGreater(now.value(lost, reason="too_many_processes"), 0)
                e.child.send_signal(1)  # a look at everyone, which finds the dead, and one after
                wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()), 30)
                v.round()
                self.assertEqual(count(e), 10)

    def test_children_of_a_program(self):
        """`children` with `comm`: also what the program starts, as another program."""
        starter, other = named("starter", "once"), named("other", "once")
        text = counting(victim.path("once"), comm="starter", children="true")
        with Victim(starter, "spawn", other, 50, 2) as before, Exporter(text) as e:
            before.round()
            self.assertEqual(count(e), 100)
            with Victim(starter, "spawn", other, 50, 2) as after:
                after.round()
            self.assertEqual(count(e), 200)
            with Victim(other, "spawn", other, 50, 2) as nobody:
                nobody.round()
            self.assertEqual(count(e), 200)

    def test_cgroup(self):
        """Processes moved into it, and out of it, and started in it."""
        with cgroup("uprobe-exporter-test") as path:
            if not path:
                self.skipTest("no unified cgroup hierarchy")
            inside = os.path.join(path, "cgroup.procs")
            outside = os.path.join(os.path.dirname(path), "cgroup.procs")

            def move(v, to):
                with open(to, "w", encoding="utf-8") as out:
                    out.write(str(v.pid))

            text = counting(victim.path("threads"), cgroup="/uprobe-exporter-test")
            with Victim("threads", 1, 10, "early") as a, Victim("threads", 1, 10, "early") as b:
                move(a, inside)
                with Exporter(text) as e:
                    for v in (a, b):
                        v.round()
                    self.assertEqual(count(e), 10)
                    move(b, inside)
                    e.settle(1)
                    for v in (a, b):
                        v.round()
                    self.assertEqual(count(e), 30)
                    move(a, outside)
                    e.settle(1)
                    for v in (a, b):
                        v.round()
                    self.assertEqual(count(e), 40)

    def test_cgroup_made_again(self):
        """As that of a service that is restarted: counted from the first instruction again."""
        name = "uprobe-exporter-again"
        unified = ("unshare", "--mount", "sh", "-c",
                   'mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"')
        once = victim.path("once")
        with Exporter(counting(once, cgroup="/" + name), wrap=unified) as e:
            for total in (10, 20, 30):
                with cgroup(name) as path:
                    if not path:
                        self.skipTest("no unified cgroup hierarchy")
                    e.settle(1)
                    subprocess.run(["sh", "-c", f"echo 0 > {path}/cgroup.procs; {once} 10; :"],
                                   check=True)
                    self.assertEqual(count(e), total)
                    e.settle(1)

    def test_pidfile(self):
        """It may be absent, and name another process later."""
        file = victim.path("threads") + ".pid"

        def write(v):
            with open(file + ".new", "w", encoding="utf-8") as out:
                out.write(f"{v.pid}\n/var/lib/more\n")
            os.rename(file + ".new", file)
            e.settle(1)

        with Victim("threads", 1, 10, "early") as a, Victim("threads", 1, 10, "early") as b:
            with Exporter(counting(victim.path("threads"), pidfile=file)) as e:
                a.round()
                self.assertEqual(count(e), 0)
                for chosen, expected in ((a, 10), (b, 20)):
                    write(chosen)
                    for v in (a, b):
                        v.round()
                    self.assertEqual(count(e), expected)
        os.unlink(file)

    def test_pid_reused(self):
        """Another process with the same pid is another process."""
        with Exporter(counting(victim.path("threads"), comm="chosen")) as e:
            with Victim(named("chosen"), 1, 10, "early") as v:
                v.round()
                pid = v.pid
                v.end()
            for _ in range(50):
                with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as out:
                    out.write(str(pid - 1))
                with Victim(named("other"), 1, 10, "early") as again:
                    again.round()
                    if again.pid == pid:
                        break
            self.assertEqual(count(e), 10)

    def test_exe_by_symbolic_link(self):
        """What the link leads to counts from the first instruction; when it leads elsewhere, that
        too, while processes of before go on, and over a reload. The exporter has a mount namespace
        of its own, as in its unit."""
        library = victim.path("libmarks.so")
        files = [copied(name, "marks") for name in ("linked.a", "linked.b", "linked.c")]
        link = victim.path("marks") + ".link"

        def switch(to):
            os.symlink(to, link + ".new")
            os.rename(link + ".new", link)

        text = config(target(library, {"symbol": "library_marks", "exit": "none"},
                             process={"exe": link}))
        switch(files[0])
        with contextlib.ExitStack() as stack:
            def start(file):
                return stack.enter_context(Victim(file, 1, 1, library))

            victims = [start(files[0])]
            e = stack.enter_context(Exporter(text))
            victims += [start(link), start(files[0])]
            start(files[1]).round()
            for v in victims:
                v.round()
            self.assertEqual(e.scrape().value(CALLS, function="library_marks"), 3)
            switch(files[1])
            e.settle(1)
            victims += [start(link), start(files[1])]
            start(files[2]).round()
            e.child.send_signal(signal.SIGHUP)
            wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()))
            for v in victims:
                v.round()
            self.assertEqual(e.scrape().value(CALLS, function="library_marks"), 8)

    def test_short_processes_by_a_linked_exe(self):
        once, link = copied("linked.once"), victim.path("once") + ".link"
        os.symlink(once, link)
        with Exporter(counting(once, exe=link)) as e:
            with Victim(copied("starter"), "spawn", link, 1000, 1) as v:
                self.assertEqual(v.round()["well"], 1000)
            self.assertEqual(count(e), 1000)

    def test_exe_inode_given_to_another_file(self):
        """Of the same name even: what is not at the path, and nobody runs, is forgotten."""
        library = victim.path("libmarks.so")
        folders = [victim.path("marks") + name for name in (".first", ".second")]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        first, second = (os.path.join(folder, "marks") for folder in folders)
        shutil.copy(victim.path("marks"), first)
        text = config(target(library, {"symbol": "library_marks", "exit": "none"},
                             process={"exe": first}))
        with Exporter(text) as e:
            with Victim(first, 1, 1, library) as v:
                v.round()
            self.assertEqual(e.scrape().value(CALLS, function="library_marks"), 1)
            number = os.stat(first).st_ino
            os.unlink(first)
            for n in range(200):  # until one gets the number
                other = shutil.copy(victim.path("marks"), f"{folders[1]}/{n}")
                if os.stat(other).st_ino == number:
                    break
            else:
                self.skipTest("this file system does not give numbers again")
            os.rename(other, second)
            e.settle(1)
            with Victim(second, 1, 1, library) as v:
                v.round()
            self.assertEqual(e.scrape().value(CALLS, function="library_marks"), 1)
            shutil.copy(victim.path("marks"), first)
            e.settle(1)
            with Victim(first, 1, 1, library) as v:
                v.round()
            self.assertEqual(e.scrape().value(CALLS, function="library_marks"), 2)

    def test_dead_entries(self):
        """What was written for a process that had ended meanwhile does not stay for ever."""
        size, dead = 16 + 2 * 128, (1 << 22) + 1  # struct up_selected; above all pids
        text = counting(victim.path("threads"), comm="chosen")
        with Exporter(text) as e, Victim(named("chosen"), 1, 10, "early") as v:
            table = bpfsys.borrow_map(e.pid, value_size=size, max_entries=65536)
            try:
                keys = [struct.pack("=I", pid) for pid in (dead, v.pid)]
                bpfsys.map_put(table, keys[0], b"\1" * size)
                self.assertTrue(bpfsys.map_has(table, keys[0], size))
                e.child.send_signal(1)  # the filters are set anew, with a look at everyone
                wait_until(lambda: not bpfsys.map_has(table, keys[0], size))
                self.assertTrue(bpfsys.map_has(table, keys[1], size))
            finally:
                os.close(table)
            v.round()
            self.assertEqual(count(e), 10)

    def test_reload(self):
        """Filters that stay keep what they have selected; others take their place."""
        file = victim.path("threads")

        def text(*names):
            return config(*(target(file, {"symbol": "work", "exit": "none"}, name=name,
                                   process={"comm": name}) for name in names))

        with Exporter(text("chosen", "other")) as e:
            with Victim(named("chosen"), 1, 10, "early") as a, \
                    Victim(named("other"), 1, 10, "early") as b, \
                    Victim(named("third"), 1, 10, "early") as c:
                for names in (("chosen", "other"), ("other", "third"), ("third", "chosen")):
                    with open(e.config, "w", encoding="utf-8") as out:
                        out.write(text(*names))
                    e.child.send_signal(1)
                    wait_until(lambda n=names: {labels["target"] for labels, _ in
                                                e.scrape().find(CALLS)} == set(n))
                    e.settle()
                    before = {n: e.scrape().value(CALLS, target=n) for n in names}
                    for v in (a, b, c):
                        v.round()
                    self.assertEqual({n: e.scrape().value(CALLS, target=n) - before[n]
                                      for n in names}, {n: 10 for n in names})


class Refused(unittest.TestCase):
    def test_in_a_pid_namespace(self):
        """Pids there are not the kernel's: said, not counted wrongly."""
        e = Exporter(counting(victim.path("threads"), comm="x"),
                     wrap=("unshare", "--pid", "--fork", "--mount-proc"))
        try:
            info = e.scrape().find("uprobe_exporter_probe_failure_info")
            self.assertEqual([labels["reason"] for labels, _ in info], ["kernel_unsupported"])
        finally:
            # Not by the end of unshare: who changes its user is not told of that (prctl(2)).
            with open(f"/proc/{e.pid}/task/{e.pid}/children", encoding="ascii") as text:
                inside = [int(pid) for pid in text.read().split()]
            self.assertTrue(inside)
            for pid in inside:
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside), 30)
            e.discard()


if __name__ == "__main__":
    unittest.main()
