#!/usr/bin/python3
"""What every source file has: an opening comment, at most 500 lines, and in headers a guard."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_LINES = 500
C_GLOBS = ("exporter/**/*.[chS]", "bpf/*.[ch]", "tests/unit/**/*.[ch]", "tests/fuzz/*.[ch]",
           "tests/victims/*.[ch]", "tests/bench/**/*.[ch]", "tests/kernels/**/*.[ch]")
SCRIPT_GLOBS = ("tests/**/*.py", "tests/**/*.sh", "deploy/**/*.sh", "deploy/**/*.py", "dashboards/*.py", ".ci/run")
SPDX = re.compile(r"(/\* SPDX-[^\n]*\*/|// SPDX-[^\n]*)\n")
C_COMMENT = re.compile(r"/\*.{10,}?\*/", re.S)
# the comment may come after the license line, a shebang or a coding line
SCRIPT_COMMENT = re.compile(r'(#![^\n]*\n)?("""|#\s*[\w`])')
PUBLIC = ("exporter/config/config.h", "exporter/target/resolve.h", "exporter/kernel/attach.h",
          "exporter/collect/collect.h", "exporter/render/render.h", "exporter/http/server.h")


def find(globs):
    return sorted({path for pattern in globs for path in glob.glob(pattern, recursive=True)})


def faults(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.count("\n")
    if lines > MOST_LINES:
        yield f"{path}: {lines} lines, more than {MOST_LINES}"
    if re.search(r"[ \t]+$", text, re.M):
        yield f"{path}: trailing blanks"
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    if path.endswith((".c", ".h", ".S")):
        if not C_COMMENT.match(SPDX.sub("", text, count=1)):
            yield f"{path}: does not open with a comment that says what it is for"
        if path.endswith(".h") and not re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M):
            yield f"{path}: no include guard"
    elif not SCRIPT_COMMENT.match(text):
        yield f"{path}: does not open with a comment that says what it is for"


def undocumented(path):
    """Public functions without a comment before them (one comment may stand before several)."""
    with open(path, encoding="utf-8") as file:
        blocks = re.split(r"\n\s*\n", file.read())
    for block in blocks:
        prototype = re.search(r"^[a-z][\w \*]*?\b(\w+)\([^;{}]*\)[^;{}]*;", block, re.M)
        if prototype and "/*" not in block:
            yield f"{path}: {prototype.group(1)}() has no comment"


def main():
    os.chdir(ROOT)
    sources = find(C_GLOBS + SCRIPT_GLOBS)
    found = [fault for path in sources for fault in faults(path)]
    found += [fault for path in PUBLIC for fault in undocumented(path)]
    print("\n".join(found) or f"{len(sources)} files")
    sys.exit(bool(found) or not sources)


main()
