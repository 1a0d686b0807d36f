"""Start a program as the systemd unit starts the daemon: user, capabilities, limits, filters.

What the unit says is read from deploy/systemd. A command of command() replaces itself by the
program, so that the process is the one that was started. What systemd adds by options that are
not read here (SETTINGS has those that are) only takes away more of what nothing of ours does; the
service itself runs in tests/e2e/test_machine.py.
"""

import atexit
import ctypes
import errno
import functools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

UNITS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "deploy", "systemd")
USER = 61000  # of nobody, and of no other process
CAPABILITIES = {"CAP_DAC_READ_SEARCH": 2, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21,
                "CAP_PERFMON": 38, "CAP_BPF": 39}
# Of the service's settings, those that are done here. Lists may be given in several lines.
SETTINGS = {"AmbientCapabilities", "CapabilityBoundingSet", "LimitNOFILE", "MemoryDenyWriteExecute",
            "NoNewPrivileges", "ProtectSystem", "RestrictAddressFamilies", "RestrictNamespaces",
            "SystemCallArchitectures", "SystemCallErrorNumber", "SystemCallFilter", "UMask"}
FILES = ("uprobe_exporter.service",)
PERF_FILES = ("uprobe_exporter.service", "perf-tier.conf")

# linux/prctl.h, linux/securebits.h, linux/capability.h, linux/mount.h
PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_READ, PR_CAPBSET_DROP = 8, 22, 23, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, SECCOMP_MODE_FILTER = 38, 47, 2, 2
CAPABILITY_VERSION_3 = 0x20080522
CLONE_NEWNS, MS_REC, MS_SLAVE, AT_FDCWD, AT_RECURSIVE = 0x20000, 0x4000, 0x80000, -100, 0x8000
MOUNT_ATTR_RDONLY, SYS_MOUNT_SETATTR = 1, 442
# CLONE_NEW* of sched.h, each of which RestrictNamespaces= refuses
NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
# seccomp.h
ALLOW, ERRNO, BAD_ARCHITECTURE, EQUAL, AT_LEAST, MASKED = 0x7fff0000, 0x00050000, 2, 4, 5, 7
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
FAMILY_LIMIT = 64  # more than there are


def settings(files):
    """{name: [value of each line]} of the unit's [Service]."""
    found = {name: [] for name in SETTINGS}
    for file in files:
        with open(os.path.join(UNITS, file), encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.strip().partition("=")
                if name in found:
                    found[name].append(value)
    return found


def _mask(lines):
    return sum(1 << CAPABILITIES[name] for line in lines for name in line.split())


# ---- the filters, as systemd makes them: one a setting ---------------------------------------------

class _Compare(ctypes.Structure):  # struct scmp_arg_cmp
    _fields_ = [("argument", ctypes.c_uint), ("op", ctypes.c_int),
                ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Filter:
    """A libseccomp filter; calls that this machine does not have are left out."""

    lib = None

    def __init__(self, default, bad_architecture=ALLOW):
        if not Filter.lib:
            Filter.lib = ctypes.CDLL("libseccomp.so.2")
            Filter.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(default))
        assert self.context
        if default != bad_architecture:
            self.must(self.lib.seccomp_attr_set(self.context, BAD_ARCHITECTURE, bad_architecture))

    @staticmethod
    def must(result):
        if result:
            raise OSError(-result, "libseccomp")

    def add(self, action, call, *compares):
        number = self.lib.seccomp_syscall_resolve_name(call.encode())
        if number < 0:  # __NR_SCMP_ERROR, or one of another architecture
            return
        array = (_Compare * max(1, len(compares)))(*(_Compare(*c) for c in compares))
        self.must(self.lib.seccomp_rule_add_array(self.context, action, number, len(compares),
                                                  array))

    def program(self):
        """What the kernel takes, as hexadecimal digits."""
        with tempfile.TemporaryFile() as file:
            self.must(self.lib.seccomp_export_bpf(self.context, file.fileno()))
            file.seek(0)
            self.lib.seccomp_release(self.context)
            return file.read().hex()


def _groups():
    """{@group: its members} of this machine's systemd."""
    text = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True,
                          check=True).stdout
    groups, members = {}, []
    for line in text.splitlines():
        if line.startswith("@"):
            groups[line] = members = []
        elif line.startswith("    ") and line[4] != "#":
            members.append(line.strip())
    return groups


def _expand(names, groups):
    return {call for name in names
            for call in (_expand(groups[name], groups) if name in groups else {name})}


def allowed_calls(lines):
    groups = _groups()
    allowed = _expand(["@default"], groups)
    for line in lines:
        calls = _expand(line.lstrip("~").split(), groups)
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def _call_filter(unit):
    refusal = ERRNO | getattr(errno, unit["SystemCallErrorNumber"][-1])
    made = Filter(refusal, bad_architecture=ERRNO | errno.EPERM
                  if unit["SystemCallArchitectures"] == ["native"] else ALLOW)
    for call in sorted(allowed_calls(unit["SystemCallFilter"])):
        made.add(ALLOW, call)
    return made


def _memory_filter():
    made, refusal = Filter(ALLOW), ERRNO | errno.EPERM
    both = PROT_WRITE | PROT_EXEC
    made.add(refusal, "mmap", (2, MASKED, both, both))
    made.add(refusal, "mprotect", (2, MASKED, PROT_EXEC, PROT_EXEC))
    made.add(refusal, "pkey_mprotect", (2, MASKED, PROT_EXEC, PROT_EXEC))
    made.add(refusal, "shmat", (2, MASKED, SHM_EXEC, SHM_EXEC))
    return made


def _family_filter(names):
    made, refusal = Filter(ALLOW), ERRNO | errno.EAFNOSUPPORT
    allowed = {FAMILIES[name] for name in names}
    for family in set(range(FAMILY_LIMIT)) - allowed:
        made.add(refusal, "socket", (0, EQUAL, family, 0))
    made.add(refusal, "socket", (0, AT_LEAST, FAMILY_LIMIT, 0))
    return made


def _namespace_filter():
    made, refusal = Filter(ALLOW), ERRNO | errno.EPERM
    made.add(ERRNO | errno.ENOSYS, "clone3")
    made.add(refusal, "setns", (1, EQUAL, 0, 0))
    for flag in NAMESPACES:
        made.add(refusal, "clone", (0, MASKED, flag, flag))
        made.add(refusal, "unshare", (0, MASKED, flag, flag))
        made.add(refusal, "setns", (1, MASKED, flag, flag))
    return made


def _filters(unit):
    made = []
    if unit["MemoryDenyWriteExecute"] == ["yes"]:
        made.append(_memory_filter())
    if unit["RestrictAddressFamilies"]:
        made.append(_family_filter(" ".join(unit["RestrictAddressFamilies"]).split()))
    if unit["RestrictNamespaces"] == ["yes"]:
        made.append(_namespace_filter())
    if unit["SystemCallFilter"]:
        made.append(_call_filter(unit))
    return [one.program() for one in made]


# ---- what a test uses ------------------------------------------------------------------------------

@functools.lru_cache(None)
def _folder():
    folder = tempfile.mkdtemp(prefix="uprobe-unit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(None)
def _plan(perf, without):
    """The file that says what is to be done, made once."""
    unit = settings(PERF_FILES if perf else FILES)
    lacks = _mask(without)
    plan = {"user": USER, "umask": int(unit["UMask"][-1], 8),
            "files": int(unit["LimitNOFILE"][-1]),
            "read_only": unit["ProtectSystem"] == ["strict"],
            "no_new_privileges": unit["NoNewPrivileges"] == ["yes"],
            "ambient": _mask(unit["AmbientCapabilities"]) & ~lacks,
            "bounding": _mask(unit["CapabilityBoundingSet"]) & ~lacks,
            "filters": _filters(unit)}
    path = os.path.join(_folder(), f"plan-{perf}-{lacks}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(plan, out)
    return path


def command(perf=False, without=()):
    """What to put before a program and its arguments; `perf`: with perf-tier.conf; `without`: names
    of capabilities that are taken away."""
    return [sys.executable, "-ISB", os.path.abspath(__file__), _plan(perf, tuple(without))]


def refusing(*calls):
    """The same for a program of root's, to which nothing is done but that these calls fail."""
    made = Filter(ALLOW)
    for call in calls:
        made.add(ERRNO | errno.EPERM, call)
    path = os.path.join(_folder(), f"refusing-{'-'.join(calls)}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"filters": [made.program()]}, out)
    return [sys.executable, "-ISB", os.path.abspath(__file__), path]


def capabilities(perf=False):
    """The names of those that the unit has."""
    lines = settings(PERF_FILES if perf else FILES)["AmbientCapabilities"]
    return tuple(name for line in lines for name in line.split())


# ---- what then runs --------------------------------------------------------------------------------

class _FilterProgram(ctypes.Structure):  # struct sock_fprog
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Here:
    """What is done to this process."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)

    def must(self, result, what):
        if result:
            raise OSError(ctypes.get_errno(), what)

    def prctl(self, *arguments):
        padded = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments[1:]]
        padded += [ctypes.c_ulong(0)] * (4 - len(padded))
        return self.libc.prctl(arguments[0], *padded)

    def limit_files(self, wanted):
        """Not more than a test allows, nor than the machine that it runs on."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = min(wanted, most) if most != resource.RLIM_INFINITY else wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))

    def make_read_only(self):
        """A mount namespace of its own, which gets the mounts that are made later."""
        self.must(self.libc.unshare(CLONE_NEWNS), "unshare")
        self.must(self.libc.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_SLAVE), None),
                  "mount")
        attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY)
        self.must(self.libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, attributes,
                                    ctypes.c_size_t(ctypes.sizeof(attributes))), "mount_setattr")

    def limit_capabilities(self, bounding):
        for number in range(64):
            there = self.prctl(PR_CAPBSET_READ, number)
            if there < 0:
                return
            if there and not bounding >> number & 1:
                self.must(self.prctl(PR_CAPBSET_DROP, number), "bounding set")

    def become(self, user, ambient):
        self.must(self.prctl(PR_SET_KEEPCAPS, 1), "keepcaps")
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        header = _CapabilityHeader(CAPABILITY_VERSION_3, 0)
        low, high = ambient & 0xffffffff, ambient >> 32
        self.must(self.libc.capset(ctypes.byref(header),
                                   (ctypes.c_uint32 * 6)(low, low, low, high, high, high)),
                  "capset")
        for number in range(64):
            if ambient >> number & 1:
                self.must(self.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number), "ambient set")

    def filter_calls(self, program):
        code = bytes.fromhex(program)
        self.must(self.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(
            _FilterProgram(len(code) // 8, code))), "seccomp")


def main(path, program):
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    here = _Here()
    if "user" in plan:
        here.limit_files(plan["files"])
        if plan["read_only"]:
            here.make_read_only()
        os.umask(plan["umask"])
        here.limit_capabilities(plan["bounding"])
        here.become(plan["user"], plan["ambient"])
        if plan["no_new_privileges"]:
            here.must(here.prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    for code in plan["filters"]:
        here.filter_calls(code)
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
