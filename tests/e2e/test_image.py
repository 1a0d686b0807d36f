"""The container image: what is in it, and that it measures with what the DaemonSet gives it."""

import functools
import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest
import uuid

import kube
import machine
import scrape
import victim
from exporter import DURATION, TIERS, config, setUpModule, target, tier_missing
from machine import run
from victim import Victim, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IMAGE, BASE = "localhost/uprobe-test", "localhost/uprobe-test-base"
PROGRAM = "localhost/uprobe-test-program"  # an image that holds a program and nothing else
MEMORY_LIMIT = "256m"  # the DaemonSet's
SIZE_MOST = 40e6
POD_LOGS = "/var/log/pods"


def import_image(folder, image, *names):
    tar = subprocess.Popen(["tar", "-C", folder, "-c", *names], stdout=subprocess.PIPE)
    imported = subprocess.run(["podman", "import", "-q", "-", image], stdin=tar.stdout,
                              capture_output=True, check=False)
    tar.stdout.close()
    assert tar.wait() == 0 and imported.returncode == 0, imported.stderr


def build_image():
    """As `make image` does it, on the clean root in the place of a registry's image."""
    import_image(machine.base_root(), BASE, ".")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    built = subprocess.run(
        ["make", "image", "IMAGE_TOOL=podman", f"IMAGE={IMAGE}", f"BASE={BASE}",
         "IMAGE_FLAGS=--isolation chroot --network=host --layers=false"],
        cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert built.returncode == 0, (built.stdout + built.stderr)[-4000:]


def is_removed(path):
    """Whether the cgroup is gone, with those below it; they may be in use for a moment yet."""
    for folder, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            pass
    return not os.path.exists(path)


class Container:
    """A running container of the image, without a network of its own."""

    def __init__(self, *flags, image=IMAGE, command=(), uid=None):
        self.name = f"uprobe-test-{uuid.uuid4().hex[:12]}"
        self.parent = f"/kubepods/burstable/pod{uid or uuid.uuid4()}"
        run("podman", "run", "--detach", "--name", self.name, "--runtime=runc",
            "--cgroup-manager=cgroupfs", f"--cgroup-parent={self.parent}", "--network=none",
            "--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096", *flags, image, *command)
        self.pid = int(self.inspect()["State"]["Pid"])

    def inspect(self):
        return json.loads(run("podman", "inspect", self.name).stdout)[0]

    def exec(self, *command):
        return run("podman", "exec", "--runtime=runc", "--cgroup-manager=cgroupfs", self.name,
                   *command, check=False)

    def logs(self):
        result = run("podman", "logs", self.name, check=False)
        return result.stdout + result.stderr

    def curl(self, path):
        return run("nsenter", "-t", str(self.pid), "-n", "curl", "-sS", "--max-time", "20",
                   "http://127.0.0.1:10435" + path, check=False).stdout

    def scrape(self):
        return scrape.parse(self.curl("/metrics").encode())

    def wait_ready(self):
        try:
            wait_until(lambda: "Ready" in self.curl("/-/ready"), 30, "ready", step=0.1)
        except AssertionError:
            raise AssertionError(self.logs()) from None

    def stop(self):
        """Its exit status."""
        run("podman", "stop", "--time=20", self.name)
        return self.inspect()["State"]["ExitCode"]

    def make_calls(self):
        """Of a victim that waits for a line."""
        wait_until(lambda: "ready" in self.logs(), 20, "the program is ready")
        subprocess.run(["podman", "attach", "--runtime=runc", self.name], input=b"\n",
                       capture_output=True, check=False, timeout=60)

    def remove(self):
        run("podman", "rm", "--force", "--time=1", self.name, check=False)
        for hierarchy in glob.glob("/sys/fs/cgroup/") + glob.glob("/sys/fs/cgroup/*/"):
            wait_until(lambda top=hierarchy: is_removed(top + self.parent.lstrip("/")), 20, hierarchy)
            for path in ("kubepods/burstable", "kubepods"):
                try:
                    os.rmdir(hierarchy + path)
                except OSError:
                    break  # another one's


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lacking = [name for name in ("podman", "runc") if not shutil.which(name)]
        if lacking or machine.missing():
            raise unittest.SkipTest(machine.missing() or f"not installed: {' '.join(lacking)}")
        build_image()
        cls.addClassCleanup(run, "podman", "rmi", "--force", IMAGE, BASE, PROGRAM, check=False)
        cls.folder = tempfile.mkdtemp(prefix="uprobe-test-image-")
        os.chmod(cls.folder, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        if not os.path.exists(POD_LOGS):
            os.mkdir(POD_LOGS)
            cls.addClassCleanup(os.rmdir, POD_LOGS)

    def write(self, text):
        """As the kubelet does: a link to a folder is switched."""
        folder = os.path.join(self.folder, "config")
        os.makedirs(folder, exist_ok=True)
        data = tempfile.mkdtemp(prefix="..data-", dir=folder)
        os.chmod(data, 0o755)
        with open(data + "/uprobe_exporter.yaml", "w", encoding="utf-8") as out:
            out.write(text)
        os.symlink(os.path.basename(data), folder + "/..new")
        os.rename(folder + "/..new", folder + "/..data")
        if not os.path.lexists(folder + "/uprobe_exporter.yaml"):
            os.symlink("..data/uprobe_exporter.yaml", folder + "/uprobe_exporter.yaml")
        return folder

    def daemon(self, text, tier="auto", more=()):
        (daemonset,) = kube.documents("base/daemonset.yaml")
        flags, arguments = kube.podman_arguments(daemonset, self.write(text))
        if tier == "perf":  # as overlays/perf-tier has it
            flags = [*flags, "--cap-add=CAP_SYS_ADMIN"]
        container = Container(f"--memory={MEMORY_LIMIT}", *flags, *more,
                              command=[*arguments, f"--kernel.tier={tier}"])
        self.addCleanup(container.remove)
        container.wait_ready()
        return container

    def pod(self, name):
        """A container of a pod of that name, with the folder that the kubelet makes before."""
        uid = uuid.uuid4()
        logs = f"{POD_LOGS}/uprobe-test_{name}_{uid}"
        os.mkdir(logs)
        self.addCleanup(os.rmdir, logs)
        pod = Container("--interactive", image=PROGRAM, command=("/threads.static", "50", "2"),
                        uid=uid)
        self.addCleanup(pod.remove)
        return pod

    def is_attached(self, daemon):
        return daemon.scrape().value("uprobe_exporter_probe_attached", function="work") == 1

    def counted(self, daemon):
        return {labels["pod"]: value
                for labels, value in daemon.scrape().find(DURATION + "_count")}

    def test_content(self):
        said = json.loads(run("podman", "image", "inspect", IMAGE).stdout)[0]
        self.assertLess(said["Size"], SIZE_MOST)
        self.assertIn("org.opencontainers.image.version", said["Labels"])
        self.assertEqual(said["Config"]["Entrypoint"], ["/usr/bin/uprobe_exporter"])
        self.assertIn("healthcheck", str(said["HealthCheck"] if "HealthCheck" in said
                                         else said["Healthcheck"]))
        for shell in ("/bin/sh", "/bin/bash", "/usr/bin/apt-get"):
            result = run("podman", "run", "--rm", "--runtime=runc", "--cgroup-manager=cgroupfs",
                         "--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096",
                         f"--entrypoint={shell}", IMAGE, check=False)
            self.assertEqual(result.returncode, 127, shell)

    def test_with_the_daemonsets_privileges(self):
        """A host's program and a container's, which find themselves below /host."""
        program = os.path.join(self.folder, "threads")
        shutil.copy(victim.path("threads"), program)
        os.chmod(program, 0o755)
        daemon = self.daemon(config(target("/host" + program, "work")))
        with open(f"/proc/{daemon.pid}/status", encoding="utf-8") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        self.assertEqual(int(status["CapEff"], 16), 1 << 2 | 1 << 19 | 1 << 38 | 1 << 39)
        self.assertEqual(int(status["CapBnd"], 16), int(status["CapEff"], 16))
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")  # its own filter: the runtime set none
        self.assertNotIn('"level":"warn"', daemon.logs())
        with open(f"/proc/{daemon.pid}/cgroup", encoding="utf-8") as file:
            self.assertIn("/kubepods/burstable/pod", file.read())
        with Victim(program, 100, 2) as v:
            v.round()
        self.assertEqual(daemon.scrape().value(DURATION + "_count", function="work"), 200)
        other = Container("--interactive", f"--volume={self.folder}:/programs:ro",
                          "--entrypoint=/programs/threads", command=("50", "2"))
        self.addCleanup(other.remove)
        other.make_calls()
        wait_until(lambda: daemon.scrape().value(DURATION + "_count", function="work") == 300, 20,
                   "the container's calls")
        self.assertEqual(daemon.exec("/usr/bin/uprobe_exporter", "healthcheck").returncode, 0)
        self.assertEqual(daemon.stop(), 0)

    def test_each_tier(self):
        """A host's program, and one that is in another container's image only."""
        program = os.path.join(self.folder, "tiers")
        shutil.copy(victim.path("threads"), program)
        os.chmod(program, 0o755)
        import_image(os.path.dirname(victim.path("threads.static")), PROGRAM, "threads.static")
        text = config(target("/host" + program, "work", name="host"),
                      target("/threads.static", "work", name="other",
                             process={"exe": "/threads.static"}))
        for tier in TIERS:
            if tier_missing(tier):
                self.skipTest(tier_missing(tier))
            with self.subTest(tier=tier):
                daemon = self.daemon(text, tier)
                other = Container("--interactive", image=PROGRAM,
                                  command=("/threads.static", "50", "2"))
                self.addCleanup(other.remove)
                wait_until(lambda d=daemon: d.scrape().value(
                    "uprobe_exporter_probe_attached", target="other") == 1, 60, "attached")
                with Victim(program, 100, 2) as v:
                    v.round()
                other.make_calls()
                for name, calls in (("host", 200), ("other", 100)):
                    wait_until(lambda d=daemon, n=name, c=calls: d.scrape().value(
                        DURATION + "_count", target=n) == c, 60, name)
                self.assertEqual(daemon.scrape().value("uprobe_exporter_kernel_tier_info",
                                                       tier=tier), 1)
                self.assertEqual(daemon.stop(), 0)

    def test_programs_that_containers_have_themselves(self):
        """A path of theirs, which is none of the exporter's: the filter leads to them."""
        folder = os.path.dirname(victim.path("threads.static"))
        import_image(folder, PROGRAM, "threads.static")
        daemon = self.daemon(config(target("/threads.static", "work",
                                           process={"exe": "/threads.static"})))
        others = [Container("--interactive", image=PROGRAM,
                            command=("/threads.static", "50", "2")) for _ in range(2)]
        for other in others:
            self.addCleanup(other.remove)
        wait_until(lambda: self.is_attached(daemon), 20, "attached")
        for other in others:
            other.make_calls()
        wait_until(lambda: daemon.scrape().value(DURATION + "_count", function="work") == 200, 20,
                   "the containers' calls")

    def test_pods_are_told_apart(self):
        """By the names in the kubelet's folder, whichever part of the cgroups the exporter sees:
        runtimes give it a namespace of its own where cgroups are v2."""
        import_image(os.path.dirname(victim.path("threads.static")), PROGRAM, "threads.static")
        selected = {"namespace": "uprobe-test", "pod": "shop-*"}
        for cgroupns in ("host", "private"):
            with self.subTest(cgroupns=cgroupns):
                daemon = self.daemon(config(target("/threads.static", "work", process=selected,
                                                   labels_from=["namespace", "pod"])),
                                     more=[f"--cgroupns={cgroupns}"])
                shop, other = self.pod("shop-0"), self.pod("other-0")
                wait_until(functools.partial(self.is_attached, daemon), 60, "attached")
                wait_until(lambda d=daemon: "shop-0" in self.counted(d), 60, "its series")
                other.make_calls()
                shop.make_calls()
                wait_until(lambda d=daemon: self.counted(d)["shop-0"] >= 100, 60, "its calls")
                self.assertEqual(self.counted(daemon), {"shop-0": 100, "other": 0})
                self.assertEqual(daemon.stop(), 0)

    def test_an_edited_configmap_is_a_reload(self):
        program = os.path.join(self.folder, "sleeps")
        shutil.copy(victim.path("sleeps"), program)
        daemon = self.daemon(config(target("/host" + program, "sleep_1ms")))
        self.write(config(target("/host" + program, "sleep_1ms", "sleep_10ms")))
        wait_until(lambda: daemon.scrape().find("uprobe_exporter_probe_attached",
                                                function="sleep_10ms"), 20, "reloaded")
        self.assertEqual(daemon.stop(), 0)

    def test_health_check(self):
        container = Container(*kube.security(kube.documents("base/daemonset.yaml")[0]["spec"]
                                             ["template"]["spec"]["containers"][0]
                                             ["securityContext"]))
        self.addCleanup(container.remove)
        container.wait_ready()  # with the config that the image brings
        result = run("podman", "healthcheck", "run", container.name, check=False)
        self.assertEqual(result.returncode, 0, result)
