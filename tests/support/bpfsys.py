"""Ask the kernel, by bpf(2), whether BPF programs, maps and links still exist."""

import ctypes
import errno
import os
import platform
import re

SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
GET_FD_BY_ID = {"prog": 13, "map": 14, "link": 30}  # enum bpf_cmd
_libc = ctypes.CDLL(None, use_errno=True)


def exists(kind, number):
    """Whether the object of this kind with this id is still in the kernel."""
    attr = (ctypes.c_uint32 * 32)(number)
    fd = _libc.syscall(SYS_BPF, GET_FD_BY_ID[kind], attr, ctypes.sizeof(attr))
    if fd >= 0:
        os.close(fd)
        return True
    error = ctypes.get_errno()
    if error != errno.ENOENT:
        raise OSError(error, f"bpf get {kind} {number}")
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
