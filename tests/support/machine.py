"""A clean Debian of the test's own, with a real systemd: debootstrap, overlayfs, systemd-nspawn.

The root is made once a build folder (build/roots/CODENAME) and never written to: each machine has
an overlay over it. A machine shares the host's kernel, and nothing of its network.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile

import victim
from victim import wait_until

NEEDED = ("debootstrap", "systemd-nspawn", "nsenter")
INCLUDED = "systemd,systemd-sysv"


def missing():
    """Why there can be no machine here, or ''."""
    if os.geteuid() != 0:
        return "making a root needs root"
    lacking = [name for name in NEEDED if not shutil.which(name)]
    return f"not installed: {' '.join(lacking)}" if lacking else ""


def run(*command, check=True, **keys):
    result = subprocess.run(command, capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL, **keys)
    assert not check or result.returncode == 0, (command, result.stdout, result.stderr)
    return result


def codename():
    with open("/etc/os-release", encoding="utf-8") as file:
        return re.search(r"^VERSION_CODENAME=(\w+)", file.read(), re.M).group(1)


def sources():
    """Where this machine's apt gets its packages from: ["SITE RELEASE COMPONENT"]."""
    said = run("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)",
               "Created-By: Packages").stdout
    return [line for line in dict.fromkeys(said.splitlines()) if codename() in line]


def base_root():
    """The path of the clean root, made if it is not there."""
    path = os.path.join(victim.BUILD, "roots", codename())
    if os.path.isdir(path):
        return path
    making = path + ".making"
    shutil.rmtree(making, ignore_errors=True)
    os.makedirs(making)
    mirror = next(line.split()[0] for line in sources() if line.split()[1] == codename())
    run("debootstrap", "--variant=minbase", f"--include={INCLUDED}", codename(), making, mirror)
    with open(making + "/etc/apt/sources.list", "w", encoding="utf-8") as out:
        out.writelines(f"deb {line}\n" for line in sources())
    shutil.copy("/etc/resolv.conf", making + "/etc/resolv.conf")
    run("chroot", making, "apt-get", "update", "-q")
    os.rename(making, path)
    return path


class Root:
    """An overlay over the clean root, not running."""

    def __init__(self):
        base = base_root()
        self.folder = tempfile.mkdtemp(prefix="uprobe-machine-")
        os.chmod(self.folder, 0o755)
        for name in ("upper", "work", "root"):
            os.mkdir(os.path.join(self.folder, name))
        self.path = os.path.join(self.folder, "root")
        options = (f"lowerdir={base},upperdir={self.folder}/upper,workdir={self.folder}/work")
        run("mount", "-t", "overlay", "overlay", "-o", options, self.path)

    def chroot(self, *command, check=True):
        return run("chroot", self.path, *command, check=check)

    def inside(self, path):
        return self.path + path

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.inside(path)), exist_ok=True)
        with open(self.inside(path), "w", encoding="utf-8") as out:
            out.write(text)

    def files(self):
        """Every path in it, but for what is there while it runs."""
        found = set()
        for top, folders, names in os.walk(self.path):
            inner = top[len(self.path):]
            if re.fullmatch(r"/(proc|sys|dev|run|tmp|var/(tmp|cache|log|lib/(dpkg|apt)))", inner):
                folders.clear()
                continue
            found |= {inner + "/" + name for name in (*folders, *names)}
        return found

    def close(self):
        run("umount", self.path)
        shutil.rmtree(self.folder)


class Machine(Root):
    """The overlay, booted. Its network is its own loopback; packages must be fetched before."""

    def __init__(self, prepare=lambda root: None):
        super().__init__()
        self.child = None
        try:
            prepare(self)
            self.boot()
        except BaseException:
            self.close()
            raise

    def boot(self):
        with open(self.folder + "/console", "wb") as console:
            self.child = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network",
                 "--resolv-conf=off", "--console=pipe", "--capability=CAP_BPF,CAP_PERFMON",
                 "--system-call-filter=bpf perf_event_open", "-b", "-D", self.path],
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.leader = wait_until(self.find_leader, 30, "the machine's init")
        wait_until(lambda: self.run("systemctl", "is-system-running", check=False).stdout.strip()
                   in ("running", "degraded"), 60, "booted", step=0.2)

    def find_leader(self):
        assert self.child.poll() is None, self.console()
        with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children", encoding="utf-8") as f:
            children = f.read().split()
        # it is nspawn itself until it has become the machine's init
        for pid in children:
            with contextlib.suppress(FileNotFoundError):  # one that was there for a moment
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "systemd":
                    return int(pid)
        return None

    def console(self):
        with open(self.folder + "/console", encoding="utf-8", errors="replace") as file:
            return file.read()

    def run(self, *command, check=True, **keys):
        return run("nsenter", "-t", str(self.leader), "-a", *command, check=check, **keys)

    def popen(self, *command, **keys):
        return subprocess.Popen(["nsenter", "-t", str(self.leader), "-a", *command], **keys)

    def curl(self, url, check=True):
        """The host's curl on the machine's network: a clean Debian has none."""
        return run("nsenter", "-t", str(self.leader), "-n", "curl", "-sS", "--max-time", "20", url,
                   check=check).stdout

    def property(self, unit, name):
        return self.run("systemctl", "show", "--value", "-p", name, unit).stdout.strip()

    def close(self):
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(60)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        super().close()
