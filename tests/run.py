#!/usr/bin/python3
"""Run test suites and count every test case.

    tests/run.py [--build DIR] [--fuzz-seconds N] SUITE...

Suites: unit (cmocka programs under both sanitizers), fuzz (the corpora, or N seconds of fuzzing
each target), check (house rules), bpf (real kernel), e2e (real PostgreSQL and Prometheus) and
kernels (other kernels, in an emulated machine).
Prints what each program said when a test of it failed, and as the very last line
`N passed, N failed, N skipped`. Exit status 1 when a test failed or none ran.
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
UNIT_VARIANTS = ("gcc-asan", "clang-asan")
SKIPPED_STATUS = 77  # a rule of tests/check that cannot run here, as automake has it
# Against what hangs: the longest take 15 s, 150 s, 420 s and 1 s, and a kernel 200 s.
UNIT_SECONDS, CHECK_SECONDS, MODULE_SECONDS, REPLAY_SECONDS = 600, 2400, 5400, 300
KERNEL_SECONDS = 3600  # to fetch and run one; the machine has a limit of its own
KERNELS = ("5.10", "6.1", "6.12", "sid")

Case = collections.namedtuple("Case", "name status detail")


def finish(command, seconds, env=None):
    """Run to the end or to the limit: (exit status or None, output)."""
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = child.communicate(timeout=seconds)
        return child.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGTERM)
    try:
        output, _ = child.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
    return None, output.decode(errors="replace") + f"\nstopped after {seconds} s\n"


def status_text(status):
    if status is None:
        return "did not end in time"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def cmocka_cases(program, status, output):
    """One case per test function; what ran without a result failed, as did a bad end."""
    found = {kind: collections.Counter(re.findall(pattern, output, re.M)) for kind, pattern in (
        ("run", r"^\[ RUN      \] (\S+)$"),
        ("ok", r"\[       OK \] (\S+)$"),
        ("skip", r"\[  SKIPPED \] (\S+)$"))}
    cases = []
    for test, times in found["run"].items():
        passed = min(times, found["ok"][test])
        skipped = min(times - passed, found["skip"][test])
        failed = times - passed - skipped
        for kind, n in (("pass", passed), ("skip", skipped), ("fail", failed)):
            cases += [Case(f"{program} {test}", kind, "")] * n
    if status != 0 and not any(case.status == "fail" for case in cases):
        cases.append(Case(program, "fail", status_text(status)))
    if not cases:
        cases.append(Case(program, "fail", "no test ran"))
    return cases, output


def run_unit(options):
    """Every build/VARIANT/tests/unit/*/*_test, two at a time."""
    sources = sorted(glob.glob("unit/*/*_test.c", root_dir=TESTS))
    programs = [os.path.join(options.build, variant, "tests", source[:-2])
                for variant in UNIT_VARIANTS for source in sources]

    def one(program):
        name = os.path.relpath(program, options.build).replace("/tests/unit/", " ")
        if not os.access(program, os.X_OK):
            return name, [Case(name, "fail", "not built")], ""
        return (name, *cmocka_cases(name, *finish([program], UNIT_SECONDS)))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one, programs)


def run_fuzz(options):
    """Replay tests/fuzz/corpus/NAME through build/fuzz/NAME_fuzz, or go on from it."""
    for source in sorted(glob.glob("fuzz/*_fuzz.c", root_dir=TESTS)):
        name = os.path.basename(source)[:-len("_fuzz.c")]
        corpus = os.path.join(TESTS, "fuzz", "corpus", name)
        inputs = sorted(glob.glob(corpus + "/*"))
        program = os.path.join(options.build, "fuzz", name + "_fuzz")
        title = f"fuzz {name} ({len(inputs)} inputs)"
        if not inputs or not os.access(program, os.X_OK):
            yield title, [Case(title, "fail", "no corpus" if not inputs else "not built")], ""
            continue
        work = os.path.join(options.build, "fuzz", "work", name)
        os.makedirs(work, exist_ok=True)
        command = [program, f"-artifact_prefix={work}/found-", "-rss_limit_mb=1024", "-timeout=20"]
        if options.fuzz_seconds:
            command += [f"-max_total_time={options.fuzz_seconds}", work, corpus]
        else:
            command += inputs
        status, output = finish(command, options.fuzz_seconds + REPLAY_SECONDS)
        kind = "pass" if status == 0 else "fail"
        yield title, [Case(title, kind, status_text(status))], output[-20000:]


def run_check(_options):
    """Every program of tests/check is one rule."""
    for rule in sorted(glob.glob(TESTS + "/check/*")):
        if not os.access(rule, os.X_OK) or os.path.isdir(rule):
            continue
        title = "check " + os.path.splitext(os.path.basename(rule))[0]
        status, output = finish([rule], CHECK_SECONDS)
        kind = {0: "pass", SKIPPED_STATUS: "skip"}.get(status, "fail")
        detail = output.strip().splitlines()[-1] if kind == "skip" and output.strip() else ""
        yield title, [Case(title, kind, detail)], output


def run_worker(title, command, only, seconds, env=None):
    """A program that writes each case as a line of JSON to the file it is given."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as results:
        status, output = finish([sys.executable, *command, results.name, *only], seconds, env)
        cases = [Case(**json.loads(line)) for line in results]
    if status != 0 and not any(case.status == "fail" for case in cases):
        cases.append(Case(title, "fail", status_text(status)))
    if not cases and not only:
        cases.append(Case(title, "fail", "no test ran"))
    return title, cases, output


def run_modules(options, folder):
    """Every tests/FOLDER/test_*.py in a process of its own."""
    env = dict(os.environ, UP_BUILD=options.build, PYTHONDONTWRITEBYTECODE="1")
    for module in sorted(glob.glob(f"{TESTS}/{folder}/test_*.py")):
        yield run_worker(f"{folder} {os.path.basename(module)[5:-3]}",
                         [TESTS + "/support/worker.py", module], options.only, MODULE_SECONDS, env)


def run_kernels(options):
    """Each kernel boots in an emulated machine and is told the same tests (tests/kernels)."""
    for kernel in options.kernels:
        yield run_worker(f"kernel {kernel}",
                         ["-B", TESTS + "/kernels/boot.py", f"--build={options.build}", kernel],
                         (), KERNEL_SECONDS)


SUITES = {
    "unit": run_unit,
    "fuzz": run_fuzz,
    "check": run_check,
    "bpf": lambda options: run_modules(options, "bpf"),
    "e2e": lambda options: run_modules(options, "e2e"),
    "kernels": run_kernels,
}


def report(title, cases, output, seconds):
    """One line a program; its output and the names when a case of it did not pass."""
    count = collections.Counter(case.status for case in cases)
    counts = ", ".join(f"{count[kind]} {word}" for kind, word in (
        ("pass", "passed"), ("fail", "failed"), ("skip", "skipped")) if count[kind])
    print(f"{title}: {counts} ({seconds:.1f} s)", flush=True)
    if count["fail"]:
        print("    | " + output.rstrip().replace("\n", "\n    | "))
    for case in cases:
        if case.status != "pass":
            word = "FAILED" if case.status == "fail" else "skipped"
            detail = "".join(f"\n        {line}" for line in case.detail.splitlines())
            print(f"    {word}: {case.name}{detail}", flush=True)
    return count


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), type=os.path.abspath)
    parser.add_argument("--fuzz-seconds", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="of bpf and e2e, only tests whose name contains TEXT")
    parser.add_argument("--kernels", type=str.split, default=KERNELS, metavar="'NAME…'",
                        help="of kernels, only these: " + " ".join(KERNELS))
    parser.add_argument("suite", nargs="+", choices=SUITES)
    return parser.parse_args(argv)


def run_suite(options, suite, total, printing):
    begin = time.monotonic()
    for title, cases, output in SUITES[suite](options):
        with printing:
            total.update(report(title, cases, output, time.monotonic() - begin))
        begin = time.monotonic()


def run_suites(options):
    """One after another; `kernels`, which has machines of its own, beside `e2e`, which waits much."""
    total, printing, beside = collections.Counter(), threading.Lock(), None
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for suite in options.suite:
            if suite == "kernels" and beside:
                continue
            if suite == "e2e" and "kernels" in options.suite:
                beside = pool.submit(run_suite, options, "kernels", total, printing)
            run_suite(options, suite, total, printing)
        if beside:
            beside.result()
    return total


def main(argv):
    total = run_suites(parse(argv))
    sys.stdout.flush()
    print(f"{total['pass']} passed, {total['fail']} failed, {total['skip']} skipped")
    return 1 if total["fail"] or not total["pass"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
