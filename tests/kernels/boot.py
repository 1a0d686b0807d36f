#!/usr/bin/python3
"""Boot one of Debian's kernels in an emulated machine and run the tests of guest/ in it.

    boot.py [--build DIR] KERNEL [RESULTS]

The machine has no disk: everything is in an initramfs, the exporter and the victims with the
libraries that they need, and as first process the test program. It tells its results over a
second serial port, a line each, and switches the machine off. RESULTS gets a line of JSON a test
case, as tests/run.py reads them; the kernel's messages are printed when something failed.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(TESTS + "/support")

import packages  # pylint: disable=wrong-import-position

MEMORY_MIB, CPUS, BOOT_SECONDS = 512, 2, 2400
VICTIMS = ("threads", "threads.nopie", "threads.static", "threads.endbr", "shapes", "leaves",
           "procs", "blocked", "library", "libmany1000.so", "marks")

# What each has: the tiers that must work, the best first, and those that must be refused clearly.
# The cloud flavour has the same features and a third of the size.
IMAGE = r"linux-(image|binary)-{}-cloud-amd64"
KERNELS = {
    "5.10": ("bullseye-security", IMAGE.format(r"5\.10\.0-\d+"), "", "auto,session,multi,perf"),
    "6.1": ("bookworm-security", IMAGE.format(r"6\.1\.0-\d+"), "perf", "session,multi"),
    "6.12": ("bookworm-security", IMAGE.format(r"6\.12\.\d+\S*"), "multi,perf", "session"),
    "sid": ("sid", IMAGE.format(r"\d+\.\S+"), "session,multi,perf", ""),
}


def libraries(program):
    """The files that the dynamic linker would load for a program, itself included."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", said)


def stage(build, root):
    """The guest's file system as a folder."""
    shutil.rmtree(root, ignore_errors=True)
    files = {f"{build}/kernels/guest": "/init",
             f"{build}/uprobe_exporter": "/bin/uprobe_exporter",
             **{f"{build}/victims/{name}": f"/victims/{name}" for name in VICTIMS}}
    needed = {library for program in files for library in libraries(program)}
    # pthread_exit loads this one by name, from beside the C library
    needed |= {os.path.dirname(library) + "/libgcc_s.so.1" for library in needed
               if os.path.basename(library) == "libc.so.6"}
    files.update({library: library for library in needed})
    for source, place in files.items():
        os.makedirs(os.path.dirname(root + place), exist_ok=True)
        shutil.copy(source, root + place)
    for folder in ("dev", "proc", "sys", "tmp"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)


def pack(root, archive):
    """An initramfs, as the kernel's Documentation/driver-api/early-userspace asks: cpio -H newc."""
    with open(archive, "wb") as out:
        subprocess.run("find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 | gzip -1",
                       shell=True, cwd=root, stdout=out, check=True)


def boot(image, initramfs, folder, words):
    """Run the machine to its end: (seconds, whether it ended by itself).

    One host thread makes both processors: with a thread for each, this emulator sometimes runs
    the instruction that was in a memory place before. Single-stepped probes (a thread's copy of
    the instruction in a place that others used before) then crash their process, on all kernels.
    """
    command = [
        "qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", str(CPUS),
        "-m", str(MEMORY_MIB), "-nodefaults", "-display", "none", "-no-reboot",
        "-serial", f"file:{folder}/console", "-serial", f"file:{folder}/said",
        "-kernel", image, "-initrd", initramfs,
        "-append", f"console=ttyS0 quiet panic=-1 rdinit=/init {words}"]
    began = time.monotonic()
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=BOOT_SECONDS, check=False)
        ended = True
    except subprocess.TimeoutExpired:
        ended = False
    return time.monotonic() - began, ended


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\r", "")
    except OSError:
        return ""


def parse(said):
    """What the guest said: cases, notes, and whether it came to its end."""
    cases, notes, ended = [], [], False
    for line in said.splitlines():
        match = re.match(r"case (pass|fail) (\S+) (.*)", line)
        if match:
            cases.append({"name": match.group(3), "status": match.group(1), "detail": ""})
        elif line.startswith("| ") and cases:
            cases[-1]["detail"] += line[2:] + "\n"
        elif line.startswith("end "):
            ended = True
        else:
            notes.append(line)
    return cases, notes, ended


def run(build, name):
    """Boot one kernel: a list of cases."""
    suite, pattern, tiers, missing = KERNELS[name]
    folder = f"{build}/kernels/{name}"
    began = time.monotonic()
    try:
        image, package = packages.kernel(folder, suite, pattern, time.time())
    except packages.Unavailable as error:
        return [{"name": f"kernel {name}", "status": "skip",
                 "detail": f"no kernel package from {suite}: {error}"}]
    had = time.monotonic()
    stage(build, f"{folder}/root")
    pack(f"{folder}/root", f"{folder}/initramfs")
    for old in glob.glob(f"{folder}/said") + glob.glob(f"{folder}/console"):
        os.remove(old)
    seconds, ended = boot(image, f"{folder}/initramfs", folder,
                          f"up_tiers={tiers} up_missing={missing}")
    cases, notes, complete = parse(read_text(f"{folder}/said"))
    print(f"{package}: fetched in {had - began:.1f} s, ran {seconds:.1f} s")
    print("\n".join(notes))
    problem = "" if complete else "the guest did not come to its end" if ended else \
        f"stopped after {BOOT_SECONDS} s"
    cases.insert(0, {"name": f"boots {package}", "status": "fail" if problem else "pass",
                     "detail": problem})
    if any(case["status"] == "fail" for case in cases):
        print(read_text(f"{folder}/console")[-6000:])
    return [dict(case, name=f"kernel {name} {case['name']}") for case in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=os.path.abspath,
                        default=os.path.join(os.path.dirname(TESTS), "build"))
    parser.add_argument("kernel", choices=KERNELS)
    parser.add_argument("results", nargs="?", type=argparse.FileType("w"), default=sys.stdout)
    options = parser.parse_args()
    cases = run(options.build, options.kernel)
    options.results.writelines(json.dumps(case) + "\n" for case in cases)
    return any(case["status"] == "fail" for case in cases)


if __name__ == "__main__":
    sys.exit(main())
