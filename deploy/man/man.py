#!/usr/bin/python3
"""Write a man page from a template and the reference that it includes.

    deploy/man/man.py --binary build/uprobe_exporter TEMPLATE >PAGE

A template is Markdown as docs/ has it, after a first line `% NAME(SECTION) TEXT`. Two lines are
special: `@include FILE [SECTION…]` stands for a file of docs/, or only for its sections of these
names (joined by `_`), and `@help` for the commands and flags as the program itself prints them. So
nothing is said twice, and a page cannot be older than what it describes. Tables become lists of
definitions: a terminal is too narrow for them.

What it writes is man(7), as groff_man(7) describes it.
"""

import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANUALS = {"5": "File Formats", "8": "System Administration"}
LINKED = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)]*)\)")
SPAN = re.compile(r"`` (.+?) ``|`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*")


def escape(text, literal=False):
    """Text for groff; in what is typed, a hyphen must stay one (not become a typographic one)."""
    text = text.replace("\\", "\\(rs")
    if literal:
        text = (text.replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
                .replace("'", "\\(aq").replace("`", "\\(ga"))
    return text


def inline(text):
    """Code and bold become bold, emphasis italic; of links the text remains."""
    text = LINKED.sub(r"\1", text)
    out, at = "", 0
    for match in SPAN.finditer(text):
        out += escape(text[at:match.start()])
        long_code, code, bold, italic = match.groups()
        if long_code or code:
            out += "\\fB" + escape(long_code or code, literal=True) + "\\fR"
        elif bold:
            out += "\\fB" + inline(bold).replace("\\fR", "\\fB") + "\\fR"
        else:
            out += "\\fI" + escape(italic) + "\\fR"
        at = match.end()
    return out + escape(text[at:])


def safe(text):
    """A line that begins with a full stop or an apostrophe would be a request."""
    return "\\&" + text if text.startswith((".", "'")) else text


def example(lines):
    return [".PP", ".RS 4", ".nf", *(safe(escape(line, literal=True)) for line in lines),
            ".fi", ".RE"]


def cells(row):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])]


def table(rows):
    """First column: the term; last: its text; those between stand behind the term."""
    head, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    out, above = [], ""
    for row in body:
        term = row[0] or above
        above = term
        between = [f"{name}: {cell}" if name and not cell.startswith(name) else cell
                   for name, cell in zip(head[1:-1], row[1:-1]) if cell]
        out += [".TP", safe(inline(term) + (" (" + inline("; ".join(between)) + ")"
                                            if between else "")),
                safe(inline(row[-1]) or "\\&")]
    return out


def is_contents(item):
    return re.fullmatch(r"\[[^\]]*\]\(#[^)]*\)", item) is not None


def listing(items):
    out = []
    for mark, lines in items:
        if is_contents(" ".join(lines)):
            continue  # a table of contents: man pages have none
        out += [f".IP {mark} 4", *blocks(lines)[1:]]
    return out


def take_list(lines, at):
    """[(mark, its lines)] of the list that begins here, and where it ends."""
    items, start = [], re.compile(r"(?:([*-])|(\d+\.)) +(.*)")
    while at < len(lines):
        match = start.match(lines[at])
        if match:
            items.append(("\\(bu" if match.group(1) else match.group(2), [match.group(3)]))
        elif lines[at].startswith("  ") and lines[at].strip():
            items[-1][1].append(lines[at].strip())
        elif lines[at].strip() or not any(start.match(line) for line in lines[at + 1:at + 2]):
            break
        at += 1
    return items, at


def blocks(lines):
    """The man page of a piece of Markdown; paragraphs begin with .PP."""
    out, at = [], 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.startswith("```"):
            end = lines.index("```", at + 1)
            out += example(lines[at + 1:end])
            at = end + 1
        elif line.startswith("    "):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or
                                        not lines[end].strip() and end + 1 < len(lines)
                                        and lines[end + 1].startswith("    ")):
                end += 1
            out += example([text[4:] for text in lines[at:end]])
            at = end
        elif line.startswith("#"):
            level, text = re.match(r"(#+) (.*)", line).groups()
            out.append((".SH " + inline(text).upper().replace("\\FB", "").replace("\\FR", "")
                        if len(level) == 1 else
                        (".SS " + re.sub(r"\\f[BR]", "", inline(text)))))
            at += 1
        elif line.startswith("|"):
            end = at
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            out += table(lines[at:end])
            at = end
        elif re.match(r"([*-]|\d+\.) ", line):
            items, at = take_list(lines, at)
            out += listing(items)
        else:
            end = at
            while (end < len(lines) and lines[end].strip() and
                   not re.match(r"```|#|\||([*-]|\d+\.) ", lines[end])):
                end += 1
            paragraph = inline(" ".join(text.strip() for text in lines[at:end]))
            out += [".PP", safe(paragraph)]
            at = end
    return out


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read().splitlines()


def include(path, sections):
    """A file without its title; with names, only the sections of these names."""
    lines, out, taken, fenced = read(path), [], not sections, False
    for line in lines:
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"(#{1,2}) (.*)", line)
        if heading:
            if len(heading.group(1)) == 1:
                continue
            taken = not sections or heading.group(2).replace(" ", "_") in sections
            if len(sections) == 1:
                continue
        if taken:
            out.append(line)
    missing = [name for name in sections if not any(
        line[3:].replace(" ", "_") == name for line in lines if line.startswith("## "))]
    assert not missing, f"{path} has no section {missing}"
    return out


def program_help(binary):
    """Each command's --help as Markdown: what it does, its flags as definitions, its statuses."""
    def said(*arguments):
        return subprocess.run([binary, *arguments, "--help"], capture_output=True, text=True,
                              check=True).stdout
    names = re.findall(r"^  (\w+) ", said().split("Commands (")[1], re.M)
    out = []
    for name in names:
        text = said(name)
        usage, does = re.match(r"usage: uprobe_exporter (.*)\n\n(.*)\n", text).groups()
        out += [f"## {name}", "", f"    uprobe_exporter {usage}", "", does, "",
                "| flag | meaning |", "|---|---|"]
        for flag, meaning in re.findall(r"^  (--\S+) +(.*)$", text, re.M):
            out.append(f"| `{flag}` | {meaning.replace('|', chr(92) + '|')} |")
        statuses = re.search(r"^Exit status: (.*)$", text, re.M).group(1)
        out += ["", f"Exit status: {statuses}", ""]
    return out


def page(template, binary, version):
    lines = read(template)
    name, section, text = re.match(r"% ([\w.]+)\((\d)\) (.*)", lines[0]).groups()
    body = []
    for line in lines[1:]:
        words = line.split()
        if line.startswith("@include "):
            body += include(words[1], words[2:])
        elif line == "@help":
            body += program_help(binary)
        else:
            body.append(line)
    return [f'.\\" Generated by deploy/man/man.py from {template}.',
            f'.TH {name.upper()} {section} "" "uprobe_exporter {version}" "{MANUALS[section]}"',
            ".ad l", ".nh", ".SH NAME", f"{name} \\- {text}", *blocks(body)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("template")
    options = parser.parse_args()
    version = read("VERSION")[0]
    sys.stdout.reconfigure(encoding="utf-8")
    print("\n".join(page(options.template, options.binary, version)))


if __name__ == "__main__":
    main()
