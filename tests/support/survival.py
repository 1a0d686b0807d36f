"""Run a victim with and without probes and compare: its output, its status, and every call."""

import functools
import subprocess
import time

import victim
from exporter import DURATION, Exporter, config, function, target
from victim import wait_until

ABANDONED = "uprobe_function_abandoned_calls_total"


class Case:
    """One way to run a victim, and what the exporter must then say about it.

    observes  how its returns are seen: all of them, or only some (`some`: the exporter cannot
              know of the others; then observed + abandoned are its calls)
    varies    its output is not the same in every run, apart from `result`
    """

    def __init__(self, *arguments, observes="all", varies=False):
        self.arguments, self.observes, self.varies = arguments, observes, varies

    def __str__(self):
        return " ".join(str(a).rsplit("/", 1)[-1] for a in self.arguments) or "-"


class Group:
    """The cases of one victim, and which of its functions are probed for all of them.

    exit      what the config says
    strategy  what must come of it; None when it differs from function to function
    probed    the file with the functions, where that is not the victim itself
    """

    def __init__(self, binary, functions, *cases, exit="auto", strategy="return-sites",
                 probed=None):  # pylint: disable=redefined-builtin
        self.binary, self.functions, self.cases = binary, functions.split(), cases
        self.exit, self.probed = exit, probed or binary
        self.strategy = strategy if exit == "auto" else exit

    def target(self):
        """Its target of the config, named as the victim."""
        return target(self.probed, *(function(name, exit=self.exit) for name in self.functions),
                      name=self.binary)


def run(binary, arguments, seconds=300):
    """One round: ([line of JSON as a dict], exit status)."""
    done = subprocess.run([victim.path(binary), *(resolved(a) for a in arguments)], input=b"\n",
                          stdout=subprocess.PIPE, timeout=seconds, check=False)
    lines = done.stdout.decode().splitlines()
    assert lines and lines[0].startswith("ready "), (binary, arguments, done)
    return [victim.json.loads(line) for line in lines[1:]], done.returncode


def resolved(argument):
    """A library among the arguments is a victim's file, too."""
    text = str(argument)
    return victim.path(text) if text.endswith(".so") else text


@functools.lru_cache(None)
def unprobed(binary, arguments):
    return run(binary, arguments)


def merged(lines, key):
    return {name: n for line in lines for name, n in line.get(key, {}).items()}


class Accounts:
    """What the exporter says of some functions, now and as a difference to an earlier time."""

    def __init__(self, exporter, functions, **labels):
        self.exporter, self.functions, self.labels = exporter, functions, labels
        self.before = self.read()

    def read(self):
        now = self.exporter.scrape()
        found = {}
        for name in self.functions:
            labels = {"function": name, **self.labels}
            calls = now.find("uprobe_function_calls_total", **labels)
            if calls:
                found[name] = {"all": calls[0][1]}
                continue
            found[name] = {
                "observed": now.value(DURATION + "_count", **labels),
                "in_flight": now.value("uprobe_function_in_flight", **labels),
                "lost": now.total("uprobe_exporter_events_lost_total", **labels),
                "abandoned": now.total(ABANDONED, **labels)}
            for more, value in now.find(ABANDONED, **labels):
                found[name][more["reason"]] = value
            found[name]["all"] = sum(found[name][fate] for fate in
                                     ("observed", "in_flight", "lost", "abandoned"))
        return found

    def settled(self):
        """The difference, once nothing is in flight any more; as it is if that takes too long."""
        def look():
            now = self.read()
            return all(not account.get("in_flight") for account in now.values()) and now
        try:
            now = wait_until(look, 15, "nothing in flight", step=0.1)
        except AssertionError:
            now = self.read()
        return {name: {fate: value - self.before[name].get(fate, 0)
                       for fate, value in account.items()} for name, account in now.items()}


def check_case(test, group, case, accounts):
    """Run it under probes and compare with the run without."""
    begin = time.monotonic()
    lines, status = run(group.binary, case.arguments)
    print(f"   {group.binary} {case}: {time.monotonic() - begin:.2f} s", flush=True)
    plain_lines, plain_status = unprobed(group.binary, case.arguments)
    test.assertEqual(status, plain_status)
    if case.varies:
        test.assertEqual([line["result"] for line in lines],
                         [line["result"] for line in plain_lines])
    else:
        test.assertEqual(lines, plain_lines)
    calls, returned = merged(lines, "calls"), merged(lines, "returned")
    seen = accounts.settled()
    for name in group.functions:
        test.assertEqual(seen[name].get("in_flight", 0), 0, (name, seen))
        test.assertEqual(seen[name].get("lost", 0), 0, (name, seen))
        if name in calls:  # else it is called on the way, how often nobody has counted
            check_account(test, case, name, seen[name], calls[name], returned[name])


def check_account(test, case, name, account, calls, returned):
    test.assertEqual(account["all"], calls, (name, account))
    if "observed" not in account:
        return
    if case.observes == "all":
        test.assertEqual(account["observed"], returned, (name, account))
    else:
        test.assertLessEqual(account["observed"], returned, (name, account))


def strategy_of(exporter, name, **labels):
    """The strategy that was chosen for a function, which must be attached."""
    now, labels = exporter.scrape(), {"function": name, **labels}
    failures = now.find("uprobe_exporter_probe_failure_info", **labels)
    assert not failures, (failures, [line["detail"] for line in exporter.logs()
                                     if line.get("function") == name])
    return now.find("uprobe_exporter_probe_info", **labels)[0][0]["exit_strategy"]


def check_groups(test, tier, *groups):
    """Every case of every group, one after the other, under one exporter."""
    for group in groups:
        for case in group.cases:
            unprobed(group.binary, case.arguments)
    with Exporter(config(*(group.target() for group in groups)), tier) as e:
        for group in groups:
            check_group(test, group, e)


def check_group(test, group, exporter):
    for name in group.functions:
        with test.subTest(victim=group.binary, strategy_of=name):
            test.assertIn(strategy_of(exporter, name, target=group.binary),
                          (group.strategy,) if group.strategy else ("uretprobe", "return-sites"))
    for case in group.cases:
        with test.subTest(victim=group.binary, case=str(case)):
            check_case(test, group, case,
                       Accounts(exporter, group.functions, target=group.binary))
