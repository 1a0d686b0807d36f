#!/usr/bin/python3
"""The documents hold together: every link leads somewhere, every reason is explained."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOT_OF_PROBES = {"config", ""}  # reasons that are never a label


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(text):
    """As GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def link_faults(path):
    text = re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        where = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(where):
            yield f"{path}: {link}: no such file"
        elif anchor and anchor not in anchors(read(where)):
            yield f"{path}: {link}: no such heading"


def reason_faults():
    source = read("exporter/base/err.c")
    table = source[source.index("reason_names[REASON_COUNT]"):]
    reasons = set(re.findall(r'= "(\w*)"', table[:table.index("};")])) - NOT_OF_PROBES
    headings = set(re.findall(r"^### (\w+)$", read("docs/troubleshooting.md"), re.M))
    listed = set(re.findall(r"^\| `(\w+)` \|", read("docs/metrics.md"), re.M))
    for reason in sorted(reasons - headings):
        yield f"docs/troubleshooting.md: nothing about the reason {reason}"
    for reason in sorted(headings - reasons):
        yield f"docs/troubleshooting.md: {reason} is no reason"
    for reason in sorted(reasons - listed):
        yield f"docs/metrics.md: nothing about the reason {reason}"
    if not reasons:
        yield "exporter/base/err.c: no reasons found"


def main():
    os.chdir(ROOT)
    documents = sorted(glob.glob("*.md") + glob.glob("docs/*.md") + glob.glob("dashboards/*.md"))
    found = [fault for path in documents for fault in link_faults(path)] + list(reason_faults())
    print("\n".join(found) or f"{len(documents)} documents")
    sys.exit(bool(found) or not documents)


main()
