"""Files in containers: overlay roots with mount, pid and cgroup namespaces of their own."""

import contextlib
import os
import shutil
import subprocess
import unittest

import bpfsys
import victim
from container import PATH, Container, Image
from exporter import Exporter, config, function, setUpModule, target
from manager import Manager
from victim import Victim, wait_until

CALLS = "uprobe_function_calls_total"
JOB = PATH + ".job"
JOBS_COUNTED = config(target(JOB, {"symbol": "work", "exit": "none"}, process={"exe": JOB}))
CALLS_OF_JOB = 5


def text(**process):
    return config(target(PATH, {"symbol": "work", "exit": "none"}, process=process))


def count(e):
    return e.scrape().value(CALLS, function="work")


def links(e):
    return len([item for item in bpfsys.held_by(e.pid) if item[0] == "link"])


class Job:
    """A program that is run in a container, beside what goes on there."""

    def __init__(self, container):
        self.command = ["nsenter", "-t", str(container.first()), "-m", JOB, "1",
                        str(CALLS_OF_JOB), "late"]

    def run(self):
        subprocess.run(self.command, input=b"\n", stdout=subprocess.DEVNULL, check=True)

    def is_seen_by(self, e):
        """It lives for long enough to be looked at."""
        with subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
            job.stdout.readline()
            e.settle(1)
            wait_until(lambda: e.attached(function="work") == 1, 30)
            before = count(e)
            job.stdin.write(b"\n")
            job.stdin.flush()
            wait_until(lambda: count(e) == before + CALLS_OF_JOB, 30)
            job.stdin.close()


class Containers(unittest.TestCase):
    def test_one_image_is_one_file(self):
        """Two containers of one image: one link. A third with a changed copy: one of its own. They
        count together; when they end, their links go and their roots can be unmounted."""
        with Image() as image, Exporter(text(exe=PATH)) as e:
            before = links(e)
            self.assertEqual(e.attached(function="work"), 0)
            with Container(image) as a, Container(image) as b:
                wait_until(lambda: e.attached(function="work") == 1, 30)
                e.settle()
                self.assertEqual(links(e), before + 1)
                total = a.round() + b.round()
                self.assertEqual(count(e), total)
                with Container(image, change=True) as c:
                    wait_until(lambda: links(e) == before + 2, 30)
                    for container in (a, b, c):
                        total += container.round()
                    self.assertEqual(count(e), total)
                    c.end()
                    wait_until(lambda: links(e) == before + 1, 30)
                    wait_until(c.unmount, 30)
                a.end()
                e.settle()
                total += b.round()
                self.assertEqual(count(e), total)
                b.end()
                wait_until(lambda: links(e) == before, 30)
                for container in (a, b):
                    wait_until(container.unmount, 30)
            wait_until(lambda: e.attached(function="work") == 0, 30)

    def test_jobs_that_come_and_go(self):
        """Containers whose first process is nobody's business start short programs: once one has
        been seen in each, all are counted, also after looks at everyone that met none of them."""
        with Image() as image, contextlib.ExitStack() as stack:
            os.link(image.folder + PATH, image.folder + JOB)
            containers = [stack.enter_context(Container(image, apart=n > 3)) for n in range(6)]
            jobs = [Job(container) for container in containers]
            e = stack.enter_context(Exporter(JOBS_COUNTED))
            before = links(e)
            for job in jobs:
                job.is_seen_by(e)
            for n in (1, 2, 3):
                e.child.send_signal(1)
                wait_until(lambda n=n: sum("reloaded" in l["msg"] for l in e.logs()) == n, 30)
                e.settle(2)
                now = count(e)
                for job in jobs * 5:
                    job.run()
                self.assertEqual(count(e), now + 5 * len(jobs) * CALLS_OF_JOB)
            for container in containers:
                container.end()
            wait_until(lambda: links(e) == before, 30)
            for container in containers:
                wait_until(container.unmount, 30)

    def test_a_job_is_replaced(self):
        """In a container that goes on: the old file is let go of, the new one is measured."""
        with Image() as image, Container(image) as container, Exporter(JOBS_COUNTED) as e:
            before, job = links(e), Job(container)
            for n in range(3):
                shutil.copy(image.folder + PATH, container.root + JOB + ".new")
                with open(container.root + JOB + ".new", "ab") as out:
                    out.write(b"." * n)
                os.rename(container.root + JOB + ".new", container.root + JOB)
                job.is_seen_by(e)
                now = count(e)
                for _ in range(10):
                    job.run()
                self.assertEqual(count(e), now + 10 * CALLS_OF_JOB)
                wait_until(lambda: links(e) == before + 1, 120, "the old file's links closed")
            os.remove(container.root + JOB)
            wait_until(lambda: links(e) == before, 120)

    def test_attached_where_the_file_is(self):
        """What the service manager is told is what the metric says."""
        manager = Manager()
        self.addCleanup(manager.close)
        with Image() as image, Container(image), Exporter(
                text(exe=PATH), env={**os.environ, "NOTIFY_SOCKET": manager.path}) as e:
            wait_until(lambda: e.attached(function="work") == 1, 30)
            manager.wait("STATUS=1 of 1 probes attached")

    def test_there_before(self):
        """Containers that run when the exporter starts, and over a reload."""
        with Image() as image, Container(image) as a:
            with Exporter(text(exe=PATH)) as e:
                total = a.round()
                self.assertEqual(count(e), total)
                before = links(e)
                e.child.send_signal(1)
                wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()))
                total += a.round()
                self.assertEqual((count(e), links(e)), (total, before))

    def test_rows_of_a_pattern(self):
        """A target that has more rows than the container's file: its link stays over a reload."""
        file = victim.path("threads.static")
        one = config(target(file, {"match": "w*k", "max": 50, "exit": "none"},
                            process={"exe": file}))
        with Image(file) as image:
            subprocess.run(["objcopy", "--add-symbol", "walk=.text:0,function,global", file,
                            file + ".more"], check=True)
            os.rename(file + ".more", file)
            with Container(image) as a, Exporter(one) as e:
                wait_until(lambda: links(e) > 0, 30)
                held = bpfsys.held_by(e.pid)
                total = count(e) + a.round()
                e.child.send_signal(1)
                wait_until(lambda: any("reloaded" in line["msg"] for line in e.logs()))
                self.assertEqual(bpfsys.held_by(e.pid), held)
                total += a.round()
                self.assertEqual(count(e), total)

    def test_other_buckets(self):
        """A reload that begins another series: the container's file feeds that one from then on,
        as the one of this machine does that has the same path."""
        file = victim.path("threads.static")
        def timed(**keys):
            return config(target(file, function("work", **keys), process={"exe": file}))
        with Image(file) as image, Container(image) as a, Victim(file, 1, 7, "early") as b, \
                Exporter(timed()) as e:
            for bound in (None, "7ms", "9ms"):
                if bound:
                    with open(e.config, "w", encoding="utf-8") as out:
                        out.write(timed(buckets=[bound]))
                    e.child.send_signal(1)
                    wait_until(lambda n=bound: e.histogram("work").buckets[0][0] == int(n[0]) / 1000)
                    e.settle(1)
                total = a.round() + b.round()["calls"]["work"]
                self.assertEqual(e.histogram("work").count, total)

    def test_nothing_to_probe(self):
        """A file that has not the function is looked at once, not for every process."""
        missing = config(target(PATH, {"symbol": "nothing", "exit": "none"}, process={"exe": PATH}))
        with Image() as image, Exporter(missing) as e:
            for _ in range(3):
                with Container(image) as a, Container(image) as b:
                    e.settle()
                    self.assertEqual(e.attached(function="nothing"), 0)
                    looks = [line for line in e.logs()
                             if line["msg"] == "the file of a container is probed"]
                    for container in (a, b):
                        container.end()
                    wait_until(a.unmount, 30)
                    wait_until(b.unmount, 30)
            self.assertLessEqual(len(looks), 3)

    def test_the_same_file_here(self):
        """A program of this machine in a mount namespace of its own: not another file."""
        file = victim.path("threads.static")
        command = ["unshare", "--mount", "--fork", "--kill-child", file, "1", "100", "early"]
        with Exporter(config(target(file, {"symbol": "work", "exit": "none"},
                                    process={"comm": os.path.basename(file)[:15]}))) as e:
            before = links(e)
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True) as child:
                child.stdout.readline()
                e.settle()
                child.stdin.write("\n")
                child.stdin.flush()
                child.stdout.readline()
                self.assertEqual((count(e), links(e)), (100, before))
                child.stdin.close()

    def test_a_file_that_leads_out(self):
        """A link in the image that leads to a path of its own root, and one that leads nowhere."""
        with Image() as image:
            os.rename(image.folder + PATH, image.folder + PATH + ".real")
            os.symlink(PATH + ".real", image.folder + PATH)
            with Exporter(text(exe=PATH + ".real")) as e, Container(image) as a:
                wait_until(lambda: e.attached(function="work") == 1, 30)
                self.assertEqual(count(e) + a.round(), count(e))
            # what the link leads to is on this machine, and not in the image
            shutil.copy(victim.path("threads.static"), image.folder + "/other")
            outside = victim.path("threads.static") + ".outside"
            shutil.copy(victim.path("threads.static"), outside)
            os.unlink(image.folder + PATH)
            os.symlink(outside, image.folder + PATH)
            image.path = "/other"
            with Exporter(text(exe="/other")) as e, Container(image) as a:
                before = links(e)
                e.settle()
                a.round()
                with Victim(outside, 1, 10, "early") as v:
                    v.round()
                self.assertEqual((e.attached(function="work"), count(e), links(e)),
                                 (0, 0, before))


if __name__ == "__main__":
    unittest.main()
