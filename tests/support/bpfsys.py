"""Ask the kernel, by bpf(2), whether BPF programs, maps and links still exist."""

import ctypes
import errno
import os
import platform
import re
import struct

SYS_PIDFD_GETFD = 438
SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
GET_NEXT_ID = {"prog": 11, "map": 12, "link": 31}  # enum bpf_cmd
_libc = ctypes.CDLL(None, use_errno=True)


def exists(kind, number):
    """Whether the object of this kind with this id is still in the kernel.

    It is looked for without being opened. To open and close a map of programs (type PROG_ARRAY)
    just as its last user lets go of it leaves it in the kernel for ever: prog_array_map_clear
    takes a reference again, and its work is queued only once (seen on 6.18).
    """
    attr = (ctypes.c_uint32 * 32)(number - 1)
    if _libc.syscall(SYS_BPF, GET_NEXT_ID[kind], attr, ctypes.sizeof(attr)) == 0:
        return attr[1] == number
    error = ctypes.get_errno()
    if error != errno.ENOENT:
        raise OSError(error, f"bpf next {kind} after {number - 1}")
    return False


def held_by(pid):
    """{(kind, id)} of the BPF objects that a process has open."""
    held = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as lines:
                text = lines.read()
        except OSError:
            continue
        held |= {(kind, int(number))
                 for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)$", text, re.M)}
    return held


def borrow_map(pid, **wanted):
    """A descriptor of the map of a process whose fdinfo says so (value_size=…); close it soon."""
    pidfd = os.pidfd_open(pid)
    try:
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            try:
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as lines:
                    told = dict(re.findall(r"^(\w+):\s*(\S+)$", lines.read(), re.M))
            except OSError:  # a connection that was closed meanwhile
                continue
            if "map_id" in told and all(told[key] == str(wanted[key]) for key in wanted):
                return _libc.syscall(SYS_PIDFD_GETFD, pidfd, int(fd), 0)
    finally:
        os.close(pidfd)
    raise AssertionError(f"no map with {wanted}")


def _element(command, fd, key, value):
    key = ctypes.create_string_buffer(key, len(key)) if key else None
    attr = struct.pack("=IIQQQ", fd, 0, *(part and ctypes.addressof(part) or 0
                                          for part in (key, value)), 0)
    return _libc.syscall(SYS_BPF, command, attr, len(attr)) == 0


def map_has(fd, key, value_size):
    return _element(1, fd, key, ctypes.create_string_buffer(value_size))


def map_get(fd, key, value_size):
    """None where there is no such key."""
    value = ctypes.create_string_buffer(value_size)
    return value.raw if _element(1, fd, key, value) else None


def map_put(fd, key, value):
    if not _element(2, fd, key, ctypes.create_string_buffer(value, len(value))):
        raise OSError(ctypes.get_errno(), "bpf map update")


def map_delete(fd, key):
    if not _element(3, fd, key, None):
        raise OSError(ctypes.get_errno(), "bpf map delete")


def map_keys(fd, key_size):
    """All keys, in the map's order."""
    keys, following = [], ctypes.create_string_buffer(key_size)
    while _element(4, fd, keys[-1] if keys else None, following):
        keys.append(following.raw)
    return keys


def holders(objects):
    """{pid: command} of the processes that have any of the objects {(kind, id)} open."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if held_by(pid) & objects:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
                    found[int(pid)] = line.read().replace("\0", " ")
        except OSError:
            continue
    return found
