"""Ask the kernel, by bpf(2), whether BPF programs, maps and links still exist."""

import ctypes
import errno
import os
import platform
import re

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
