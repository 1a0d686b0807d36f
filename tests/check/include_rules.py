#!/usr/bin/python3
"""Who may include whom (ARCHITECTURE.md): base ← model ← the rooms ← the files of exporter/.

Rooms do not include each other, and each foreign library is seen in one place only.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ("config", "target", "kernel", "collect", "render", "http")
MAY_INCLUDE = {"base": {"base"}, "model": {"base", "model", "bpf"},
               **{room: {"base", "model", "bpf", room} for room in ROOMS},
               "": {"base", "model", "bpf", "", *ROOMS}}
# foreign headers → the only files that may see them
LIBRARIES = {
    r"yaml\.h": r"exporter/config/yaml\.c",
    r"Zydis/.*": r"exporter/target/.*",
    r"(libelf|gelf|elfutils/.*|dwarf)\.h": r"exporter/target/.*",
    r"bpf/(bpf|libbpf|btf|libbpf_.*)\.h": r"exporter/kernel/.*",
    r"microhttpd\.h": r"exporter/http/.*",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def room_of(path):
    """exporter/http/server.c → http; exporter/main.c → ''."""
    return os.path.dirname(os.path.relpath(path, "exporter"))


def room_of_header(header, own):
    """The room that a quoted header belongs to; None for a foreign one."""
    first = header.split("/")[0]
    if "/" not in header:
        return own if os.path.exists(os.path.join("exporter", own, header)) else None
    return first if first in MAY_INCLUDE or (first == "bpf" and os.path.exists(header)) else None


def faults(path):
    own = room_of(path)
    with open(path, encoding="utf-8") as file:
        headers = INCLUDE.findall(file.read())
    for header in headers:
        room = room_of_header(header, own)
        if room is not None and room not in MAY_INCLUDE[own]:
            yield f"{path}: {own or 'exporter'} must not include {header}"
        for library, place in LIBRARIES.items():
            if re.fullmatch(library, header) and not re.fullmatch(place, path):
                yield f"{path}: {header} belongs only in {place}"


def main():
    os.chdir(ROOT)
    sources = sorted(glob.glob("exporter/**/*.[chS]", recursive=True))
    unknown = [f"{path}: no such room in {__file__}" for path in sources
               if room_of(path) not in MAY_INCLUDE]
    found = unknown or [fault for path in sources for fault in faults(path)]
    print("\n".join(found) or f"{len(sources)} files")
    sys.exit(bool(found) or not sources)


main()
