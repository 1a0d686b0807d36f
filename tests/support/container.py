"""Containers of a test's own: an overlay of an image in mount, pid and cgroup namespaces."""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import tempfile

import victim

PATH = f"/app/threads{os.getpid()}"  # not that of another run beside this one

_libc = ctypes.CDLL(None, use_errno=True)
NEW_NS, NEW_CGROUP, NEW_PID = 0x00020000, 0x02000000, 0x20000000  # CLONE_* of sched.h
MS_REC_PRIVATE, MNT_DETACH = 0x4000 | 0x40000, 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[platform.machine()]


def _must(result):
    if result:
        raise OSError(ctypes.get_errno(), "container")


def enter(root):
    """Become a process of a container, as runtimes do it: pivot_root, not chroot."""
    _must(_libc.unshare(NEW_NS | NEW_CGROUP | NEW_PID))
    _must(_libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None))
    os.chdir(root)
    _must(_libc.syscall(SYS_PIVOT_ROOT, b".", b"."))
    _must(_libc.umount2(b".", MNT_DETACH))
    os.chdir("/")
    pid = os.fork()  # the first process of the new pid namespace
    if pid:
        os.closerange(0, 1024)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xff)
    _libc.prctl(1, 9)  # PR_SET_PDEATHSIG: SIGKILL


class Image:
    """A folder with a program in it, which containers have as their lowest layer."""

    def __init__(self, path=PATH):
        self.folder = tempfile.mkdtemp(prefix="uprobe-image-")
        self.path = path
        os.makedirs(os.path.dirname(self.folder + path))
        shutil.copy(victim.path("threads.static"), self.folder + path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class Container:
    """The program of an image in namespaces of its own, on an overlay."""

    def __init__(self, image, change=False, calls=100, program=None, cgroup=None, apart=False):
        """`program`: else the image's, with `calls` a round; `cgroup`: the path of one to be in;
        `apart`: its own layer is on another file system than the image."""
        self.folder, self.apart = tempfile.mkdtemp(prefix="uprobe-container-"), apart
        if apart:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.folder], check=True)
        parts = {part: os.path.join(self.folder, part) for part in ("upper", "work", "root")}
        for part in parts.values():
            os.mkdir(part)
        self.root = parts["root"]
        options = f"lowerdir={image.folder},upperdir={parts['upper']},workdir={parts['work']}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.root], check=True)
        if change:  # copied up: another file from now on
            with open(self.root + image.path, "ab") as out:
                out.write(b"changed")
        def begin():
            if cgroup:
                with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as out:
                    out.write("0")
            enter(self.root)
        self.child = subprocess.Popen(
            program or [image.path, "1", str(calls), "early"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, preexec_fn=begin)
        self.child.stdout.readline()  # ready 1

    def first(self):
        """The pid of its first process."""
        with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children", "rb") as children:
            return int(children.read())

    def round(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())["calls"]["work"]

    def end(self):
        self.child.stdin.close()
        self.child.wait(20)

    def unmount(self):
        """Plainly, not lazily: it fails while anybody has a file of it open."""
        return subprocess.run(["umount", self.root], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            stream.close()
        for mounted in [self.root] + [self.folder] * self.apart:
            subprocess.run(["umount", "-l", mounted], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
