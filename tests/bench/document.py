"""The results as text: the tables for the terminal, and docs/benchmarks.md around them."""

import os
import platform
import time

import tools

CALLS_FROM = {"unprobed": "not probed", "limit": "**the limit**: an empty session pair",
              "session": "**ours**, default, session tier", "multi": "ours, default, multi tier",
              "perf": "ours, default, perf tier", "return-sites": "ours, `exit: return-sites`",
              "uretprobe": "ours, `exit: uretprobe` by name", "none": "ours, `exit: none`",
              "limit, entry": "the limit of an entry alone", "bpftrace": "bpftrace `hist()`",
              "bpftrace count": "bpftrace `count()` of entries", "BCC": "BCC `funclatency`",
              "BCC -p": "BCC `funclatency -p PID`", "libbpf-tools": "libbpf-tools `funclatency`"}
KIND_TITLES = {"push": "push", "endbr": "endbr64; push", "sub": "sub rsp", "lea": "lea",
               "nop5": "5-byte nop", "nop": "nop (as USDT)", "cxx": "C++", "go": "Go"}
UNSAFE = ("bpftrace", "BCC", "BCC -p", "libbpf-tools", "uretprobe", "limit")


def table(head, rows):
    """A table of Markdown, readable as it is."""
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]

    def line(row):
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        return "| " + " | ".join(cells) + " |"
    rule = "|" + "|".join(["-" * (widths[0] + 2)] +
                          ["-" * (width + 1) + ":" for width in widths[1:]]) + "|"
    return "\n".join([line(rows[0]), rule, *map(line, rows[1:])]) + "\n"


def kinds_of(percall):
    """[(program, kind, {contender: summary})]"""
    return [(name, kind, rounds) for name, program in percall.items()
            for kind, rounds in program["kinds"].items()]


def cost_table(percall):
    columns = kinds_of(percall)
    head = ["nanoseconds a call, this machine", *[KIND_TITLES[kind] for _, kind, _ in columns]]
    rows = []
    for contender, title in CALLS_FROM.items():
        row = [title]
        for name, kind, rounds in columns:
            if contender in rounds:
                unsafe = " !" if kind == "cxx" and contender in UNSAFE else ""
                row.append(f"{rounds[contender]['median']:,.0f}{unsafe}")
            else:
                row.append("skipped" if contender in percall[name]["skipped"] else "–")
        rows.append(row)
    return table(head, rows)


def spread(ratio):
    low, high = ratio["quartiles"]
    return f"{ratio['median']:.2f} ({low:.2f}–{high:.2f})"


def ratio_table(percall):
    others = ("limit", "bpftrace", "BCC", "BCC -p", "libbpf-tools")
    rows = []
    for name, kind, rounds in kinds_of(percall):
        if "session" not in rounds:
            continue
        entry = percall[name]["entries"][kind]
        rows.append([KIND_TITLES[kind], entry["site"], entry["class"], entry["exit"],
                     *[spread(rounds["session"]["to"][o]) if o in rounds["session"]["to"]
                       else "skipped" for o in others]])
    return table(["ours ÷ another", "probe on", "class", "exit", "limit", *others[1:]], rows)


def count_table(percall):
    rows = []
    for contender, title in list(CALLS_FROM.items()):
        if contender in ("none", "limit, entry", "bpftrace count"):
            cells = []
            for _, _, rounds in kinds_of(percall):
                to = rounds.get(contender, {}).get("to", {}).get("bpftrace count")
                cells.append(spread(to) if to else "–")
            rows.append([title, *cells])
    return table(["÷ bpftrace `count()`", *[KIND_TITLES[k] for _, k, _ in kinds_of(percall)]], rows)


def thread_table(percall):
    rows = [[CALLS_FROM[name], f"{row['one']['median']:,.0f}", f"{row['two']['median']:,.0f}",
             spread(row["ratio"])] for name, row in percall["calls"]["threads"].items()]
    return table(["`push`, nanoseconds a call", "one thread", "two threads", "two ÷ one"], rows)


def program_tables(programs):
    text = ""
    for name, found in programs.items():
        text += f"\n**{name}**: "
        if "missing" in found:
            text += f"*skipped*: {found['missing']}\n"
            continue
        text += f"`{found['exit']}`, {found['why']}.\n\n"
        rows = []
        for contender, row in found["costs"].items():
            spread_ = f"({row['least']:,.0f}–{row['most']:,.0f})"
            rows.append([CALLS_FROM[contender], f"{row['added']:,.0f} {spread_}",
                         *[f"{row['to'][o]:.2f}" if o in row["to"] else "–"
                           for o in ("limit", "bpftrace", "BCC", "libbpf-tools")]])
        rows += [[CALLS_FROM[name], "*skipped*: " + why, "", "", "", ""]
                 for name, why in found["skipped"].items()]
        text += table(["", "added a call, ns", "÷ limit", "÷ bpftrace", "÷ BCC", "÷ libbpf-tools"],
                      rows)
    return text


def mib(bytes_):
    return f"{bytes_ / (1 << 20):.1f}"


def scale_tables(scale):
    rows = []
    for count, found in scale["counts"].items():
        rows.append([f"{int(count):,}", *[f"{found[key]['median']:.2f}"
                                          for key in ("attach", "detach", "ready", "start_cpu")],
                     found["links"], found["files"], mib(found["rss_kib"] * 1024),
                     mib(found["map_bytes"])])
    text = table(["functions", "attach, s", "detach, s", "start to ready, s", "of it CPU, s",
                  "links", "open files", "resident, MiB", "maps, MiB"], rows)
    used = scale["used"]
    rows = [[name, f"{found['cpu_ms']:.1f}", f"{found['wall_ms']:.1f}",
             f"{found['bytes']:,}", f"{found['gzip_bytes']:,}"]
            for name, found in used["scrape"].items()]
    text += "\n" + table(["1,000 functions × 22 buckets", "CPU a scrape, ms", "elapsed, ms", "bytes",
                          "bytes, gzip"], rows)
    text += (f"\nResident memory after these scrapes: {mib(used['rss_used_kib'] * 1024)} MiB; the "
             f"maps take {mib(used['map_bytes'])} MiB ({scale['cpus']} CPUs), and "
             f"{mib(used['map_bytes_most'])} MiB when every series of `limits.series` is in use. "
             f"Idle: {used['idle_percent']:.3f}% of a CPU.\n")
    return text


def share_table(shares):
    def part(n, of):
        return f"{100 * n / of:.1f}%" if of else "–"
    rows = []
    for name, found in shares.items():
        can, all_ = found["can"], found["functions"]
        rows.append([name, f"{all_:,}", part(can, all_),
                     *[part(found["classes"].get(c, 0), can) for c in
                       ("emulated", "five-byte nop", "single-stepped")],
                     *[part(found["exits"].get(e, 0), can) for e in
                       ("uretprobe", "return-sites", "none")],
                     ", ".join(f"{n} {reason}" for reason, n in found["reasons"].items()) or "none",
                     f"{found['seconds']:.1f}"])
    return table(["file", "functions", "probed", "emulated", "5-byte nop", "single-stepped",
                  "uretprobe", "return-sites", "none", "refused", "CPU, s"], rows)


def machine():
    """What the numbers were measured on."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines
                      if line.startswith("model name")), platform.machine())
    with open("/etc/os-release", encoding="utf-8") as lines:
        name = next(line.split("=")[1].strip().strip('"') for line in lines
                    if line.startswith("PRETTY_NAME"))
    return {"date": time.strftime("%Y-%m-%d"), "cpu": model, "cpus": os.cpu_count(),
            "kernel": platform.release(), "system": name, "virtual": is_virtual(),
            "versions": {package: tools.version_of(package) for package in
                         ("bpftrace", "bpfcc-tools", "libbpf-tools", "postgresql", "libc6")}}


def is_virtual():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        return " hypervisor" in lines.read()


def machine_table(where, loads):
    virtual = ", a virtual machine" if where["virtual"] else ""
    rows = [["processor", f"{where['cpus']} × {where['cpu']}{virtual}"],
            ["kernel", where["kernel"]], ["system", where["system"]],
            *[[package, version] for package, version in where["versions"].items()],
            ["measured on", where["date"]], ["rounds", where["rounds"]],
            ["load average meanwhile", f"{min(loads):.0f} to {max(loads):.0f}"]]
    return table(["", "this machine"], rows)


def tables(results):
    """{name: text} of the parts that were measured."""
    made = {}
    if "percall" in results:
        percall = results["percall"]
        made.update(costs=cost_table(percall), ratios=ratio_table(percall),
                    counts=count_table(percall), threads=thread_table(percall))
        skipped = {f"{CALLS_FROM[c]}: *skipped*: {why}" for p in percall.values()
                   for c, why in p["skipped"].items()}
        made["skipped"] = "\n".join(sorted(skipped))
    if "programs" in results:
        made["programs"] = program_tables(results["programs"])
    if "scale" in results:
        made["scale"] = scale_tables(results["scale"])
    if "shares" in results:
        made["shares"] = share_table(results["shares"])
    if "machine" in results:
        made["machine"] = machine_table(results["machine"], results["loads"].values())
    return made


def incomplete(percall):
    """Who did not count every call."""
    return [f"{CALLS_FROM[contender]} on {name}: {count['counted']:,} of {count['made']:,}"
            for name, program in percall.items()
            for contender, count in program["counts"].items() if not count["complete"]]


def words(results):
    """{name: text} within sentences."""
    if "percall" not in results:
        return {}
    push = results["percall"]["calls"]["kinds"]["push"]
    step = push["return-sites"]["median"] - push["none"]["median"]
    missing = incomplete(results["percall"])
    bpftrace = push.get("limit", {}).get("to", {}).get("bpftrace")
    return {"step": f"{step / 1000:.1f}",
            "floor": f"{bpftrace['median']:.2f}" if bpftrace else "some part",
            "complete": "Not all: " + "; ".join(missing) + "." if missing
                        else "All counted every call."}


def plain(results):
    return "\n".join(text for text in tables(results).values() if text)


def document(results):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "benchmarks.md.in"),
              encoding="utf-8") as template:
        text = template.read()
    for name, made in words(results).items():
        text = text.replace("@" + name + "@", made)
    for name, made in tables(results).items():
        text = text.replace("@" + name + "@\n", made.strip("\n") + ("\n" if made else ""))
    return text
