"""Processes that start in ways that the kernel programs cannot decide on by themselves."""

import contextlib
import os
import shutil
import subprocess
import unittest

import victim
from exporter import Exporter, setUpModule
from test_processes import copied, count, counting
from victim import Victim, wait_until


def traced(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return "TracerPid:\t0\n" not in status.read()


class Starts(unittest.TestCase):
    def test_forks_before_the_decision(self):
        """A server forks its workers as it starts, when what the kernel cannot tell of it is not
        decided yet: they are like it, and so are the children of those that end at once."""
        file = copied("trees")
        with Exporter(counting(file, exe='"*/tree?"')) as e:
            for depth, total in ((1, 50), (2, 100)):
                with Victim(file, "early", 10, 5, depth) as v:
                    e.settle()
                    self.assertEqual(v.round()["well"], 10 * depth)
                self.assertEqual(count(e), total)

    def test_descendants_forked_before_the_decision(self):
        """What they start is a descendant's program."""
        file = copied("lingers")
        with Exporter(counting(file, exe='"*/tree?"', children="true")) as e:
            for depth, total in ((1, 50), (2, 100)):
                with Victim(copied("trees"), "early", 10, 5, depth, file) as v:
                    e.settle()
                    self.assertEqual(v.round()["well"], 10 * depth)
                self.assertEqual(count(e), total)
            with Victim(copied("others"), "early", 10, 5, 1, file) as v:
                e.settle()
                v.round()
            self.assertEqual(count(e), 100)

    def test_whose_first_thread_has_ended(self):
        """/proc says nothing of its program any more, but the other threads go on."""
        file = copied("headless", "threads")
        for process in ({"exe": file}, {"exe": '"*/headles?"'}, {"cmdline": '"headless 1 10 h"'}):
            with self.subTest(**process), Victim(file, 1, 10, "headless") as before, \
                    Exporter(counting(file, **process)) as e, \
                    Victim(file, 1, 10, "headless") as after:
                e.settle()
                for v in (before, after):
                    v.round()
                self.assertEqual(count(e), 20)
                e.child.send_signal(1)  # everyone is looked at
                wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()), 30)
                e.settle()
                for v in (before, after):
                    v.round()
                self.assertEqual(count(e), 40)

    def test_a_file_mounted_by_itself(self):
        """Its path is the place where it is mounted, as containers have single files; the kernel
        has the name that it has in its own folder."""
        here, there = copied("mounted.from", "threads"), copied("mounted.at", "threads")
        with Exporter(counting(there, exe=there)) as e:
            with Victim("/usr/bin/unshare", "--mount", "sh", "-c",
                        'mount --bind "$0" "$1" && exec "$1" 1 100 early', here, there) as v:
                e.settle()
                v.round()
                self.assertEqual(count(e), 100)

    def test_the_same_name_in_another_folder(self):
        """The kernel knows the file and its name; that it is at another path is found out."""
        folder = victim.path("threads") + ".folders"
        for name in ("a", "b"):
            os.makedirs(f"{folder}/{name}", exist_ok=True)
        file, other = folder + "/a/program", folder + "/b/program"
        shutil.copy(victim.path("threads"), file)
        os.link(file, other)
        with Exporter(counting(file, exe=file)) as e:
            with Victim(file, 1, 100, "early") as a, Victim(other, 1, 7, "early") as b:
                a.round()
                e.settle(1)
                self.assertEqual(count(e), 100)
                b.round()
                a.round()
                self.assertEqual(count(e), 200)

    def test_another_program_before_the_decision(self):
        """One that matches becomes one that the kernel programs know not to, while the exporter,
        held up between its look and its decision, selects it."""
        other = copied("becomes", "threads")
        shell = shutil.copy("/bin/bash", os.path.join(os.path.dirname(other), "shell"))
        with Exporter(counting(other, comm="shell", cmdline='"as wanted"')) as e, \
                contextlib.ExitStack() as stack:
            slow = subprocess.Popen(
                ["strace", "-qq", "-f", "-e", "trace=bpf", "-e", "inject=bpf:delay_enter=60000",
                 "-o", "/dev/null", "-p", str(e.pid)])
            try:
                wait_until(lambda: traced(e.pid), 20)
                victims = [stack.enter_context(Victim(
                    shell, "-c", f"sleep {n / 200}; exec '{other}' 1 10 early # as wanted"))
                           for n in range(40)]
                e.settle(1)
            finally:
                slow.terminate()
                slow.wait()
            for v in victims:
                v.round()
            self.assertEqual(count(e), 0)

    def test_a_long_name(self):
        """The kernel programs look at its start, and the exporter at the rest."""
        file = copied("n" * 200 + "a", "once")
        with Exporter(counting(file, exe=file)) as e:
            with Victim(copied("starter"), "spawn", file, 500, 1) as v:
                self.assertEqual(v.round()["well"], 500)
            self.assertEqual(count(e), 500)
        file, other = copied("n" * 200 + "b", "threads"), copied("n" * 200 + "c", "threads")
        os.remove(other)
        os.link(file, other)
        with Exporter(counting(file, exe=file)) as e:
            with Victim(file, 1, 100, "early") as a, Victim(other, 1, 7, "early") as b:
                e.settle(1)
                for v in (a, b):
                    v.round()
                self.assertEqual(count(e), 100)

    def test_a_pidfile_before_its_process(self):
        """It is written first, or left by one that has ended: its number is given again."""
        file = victim.path("threads") + ".pid"
        with open(file, "w", encoding="utf-8") as out:
            out.write("4194303\n")
        with Exporter(counting(victim.path("threads"), pidfile=file)) as e:
            with Victim("threads", 1, 10, "early") as v:
                with open(file, "w", encoding="utf-8") as out:
                    out.write(f"{v.pid}\n")
                e.settle(1)
                v.round()
                self.assertEqual(count(e), 10)
            e.settle(1)
            wait_until(lambda: self.give_again(e, v.pid), 60)

    def give_again(self, e, pid):
        """Have the next process get this number (proc(5), ns_last_pid); whether it came so."""
        before = count(e)
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as out:
            out.write(str(pid - 1))
        with Victim("threads", 1, 10, "early") as v:
            e.settle(1)
            v.round()
            self.assertEqual(count(e) - before, 10 if v.pid == pid else 0)
            return v.pid == pid


if __name__ == "__main__":
    unittest.main()
