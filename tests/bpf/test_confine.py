"""What the running exporter gave up: capabilities, new privileges, system calls; in every thread."""

import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

import as_unit
import victim
from exporter import (BINARY, Exporter, config, default_tier, each_tier, run, setUpModule, target,
                      tier_missing)
from victim import Victim, wait_until

BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYS_ADMIN = 39, 38, 19, 2, 21
RUNNING = (BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH)
UNIT_FILTERS = 4  # one for each setting that makes one, see as_unit.py
INFO = "uprobe_exporter_confinement_info"


def mask(*capabilities):
    return sum(1 << capability for capability in capabilities)


def threads(pid):
    """The status of each thread, as dicts."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as lines:
            found.append(dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line))
    return found


class Confined(unittest.TestCase):
    def assert_confined(self, e, kept, filters):
        all_threads = threads(e.pid)
        self.assertGreater(len(all_threads), 3)
        for status in all_threads:
            for name, expected in (("CapEff", kept), ("CapPrm", kept), ("CapBnd", kept),
                                   ("CapInh", 0), ("CapAmb", 0)):
                self.assertEqual(int(status[name], 16), expected, (name, status["Name"]))
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(int(status["Seccomp_filters"]), filters)

    def kept(self, tier):
        return mask(*RUNNING, *([SYS_ADMIN] if tier == "perf" else []))

    def assert_all_confined(self, tier, filters, **keys):
        """Everything is given up, and it measures; the status of a thread."""
        with Victim("threads", 1, 100) as v, \
                Exporter(config(target("threads", "work")), tier, **keys) as e:
            self.assert_confined(e, self.kept(tier), filters)
            self.assertEqual(
                e.scrape().value(INFO, capabilities="dropped", syscalls="filtered"), 1)
            v.round()
            self.assertEqual(e.account("work")["all"], 100)
            self.assertNotIn("cannot drop", e.log_text())
            self.assertNotIn("cannot filter", e.log_text())
            return threads(e.pid)[0]


@each_tier
class AsUnit(Confined):
    """As the systemd unit starts it, and nearly all tests of this folder."""

    def tier_every_thread(self, tier):
        status = self.assert_all_confined(tier, UNIT_FILTERS + 1)
        for name in ("Uid", "Gid"):
            self.assertEqual(set(status[name].split()), {str(as_unit.USER)})
        self.assertEqual(status["Groups"].split(), [])

    def tier_what_it_begins_with(self, tier):
        """The unit's capabilities and filters, before the daemon does anything."""
        said = subprocess.run([*as_unit.command(tier == "perf"), "/bin/cat", "/proc/self/status"],
                              capture_output=True, text=True, check=True).stdout
        status = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
        for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
            self.assertEqual(int(status[name], 16), self.kept(tier), name)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp_filters"]),
                         ("1", str(UNIT_FILTERS)))


@each_tier
class AsRoot(Confined):
    """Started by root, it has more to give up: everything here is about that."""

    def tier_every_thread(self, tier):
        self.assert_all_confined(tier, 1, as_root=True)

    def test_capabilities_only(self):
        with Exporter(config(target("threads", "work")), as_root=True,
                      arguments=["--security.confine=capabilities"]) as e:
            self.assert_confined(e, self.kept(self.tier(e)), 0)
            self.assertEqual(e.scrape().value(INFO, capabilities="dropped", syscalls="any"), 1)

    def test_none(self):
        with open("/proc/self/status", encoding="utf-8") as lines:
            ours = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        with Exporter(config(target("threads", "work")), as_root=True,
                      arguments=["--security.confine=none"]) as e:
            for status in threads(e.pid):
                for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"):
                    self.assertEqual(status[name], ours[name], name)
            self.assertEqual(e.scrape().value(INFO, capabilities="kept", syscalls="any"), 1)

    def tier(self, e):
        return next(entry["tier"] for entry in e.logs() if "tier" in entry)

    def test_only_what_was_given(self):
        """Without CAP_BPF and CAP_PERFMON, CAP_SYS_ADMIN stands for them; no SYS_PTRACE comes."""
        wrap = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_ptrace"]
        with Exporter(config(target("threads", "work")), wrap=wrap, as_root=True) as e:
            self.assert_confined(e, mask(DAC_READ_SEARCH, SYS_ADMIN), 1)


@each_tier
class Doctor(unittest.TestCase):
    """The unit's capabilities, one taken away: doctor says which, and what the daemon will do."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="uprobe-test-")
        cls.addClassCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        cls.binary = shutil.copy(BINARY, folder)  # may be executed without CAP_DAC_READ_SEARCH

    def doctor(self, tier, *without, wrap=()):
        """The exit status and {name: finding}."""
        result = run("doctor", "--json", binary=self.binary,
                     wrap=[*wrap, *as_unit.command(tier == "perf", without)])
        findings = [json.loads(line) for line in result.stdout.splitlines()]
        return result.returncode, {finding["name"]: finding for finding in findings}

    def not_held(self, found):
        return {name for name, finding in found.items()
                if name.startswith("CAP_") and finding["detail"] != "held"}

    def granting(self, found):
        return {finding["mend"] for finding in found.values() if "grant CAP" in finding["mend"]}

    def tier_all_are_there(self, tier):
        status, found = self.doctor(tier)
        self.assertEqual(status, 0)
        self.assertEqual(found["tier " + tier]["state"], "ok")
        self.assertEqual(self.not_held(found), set() if tier == "perf" else {"CAP_SYS_ADMIN"})
        self.assertEqual(self.granting(found), set())
        # nothing hangs on that one, so nobody shall be told to lower it
        self.assertEqual(found["kernel.perf_event_paranoid"]["state"], "info")

    def tier_each_is_named(self, tier):
        """That one and no other, with what to do; CAP_SYS_ADMIN stands for two, if it is there."""
        for name in as_unit.capabilities(tier == "perf"):
            with self.subTest(missing=name):
                status, found = self.doctor(tier, name)
                self.assertEqual(self.not_held(found) - {"CAP_SYS_ADMIN"} or {"CAP_SYS_ADMIN"},
                                 {name})
                essential = name in ("CAP_BPF", "CAP_PERFMON")
                if essential and tier == "perf":
                    self.assertIn("stands for it", found[name]["detail"])
                    self.assertEqual(self.granting(found), set())
                elif name == "CAP_SYS_ADMIN":
                    self.assertEqual(found["tier perf"]["state"], "missing")
                    self.assertIn(name, found["tier perf"]["detail"])
                else:
                    self.assertEqual(found[name]["state"], "missing")
                    self.assertEqual(self.granting(found), {"grant " + name})
                works = found["tier " + tier]["state"] == "ok"
                self.assertEqual(works, name not in (
                    ("CAP_SYS_ADMIN",) if tier == "perf" else ("CAP_BPF", "CAP_PERFMON")), found)
                self.assertEqual(status, 0 if works or name == "CAP_SYS_ADMIN" and
                                 not tier_missing("multi") else 1)

    def tier_serve_names_it_too(self, tier):
        names = ("CAP_SYS_ADMIN",) if tier == "perf" else ("CAP_BPF", "CAP_PERFMON")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(config(target("threads", "work")))
            file.flush()
            os.chmod(file.name, 0o644)
            for name in names:
                with self.subTest(missing=name):
                    result = run(f"--config.file={file.name}", f"--kernel.tier={tier}",
                                 "--web.listen-address=127.0.0.1:0", binary=self.binary,
                                 wrap=as_unit.command(tier == "perf", (name,)))
                    self.assertEqual(result.returncode, 1, result)
                    self.assertEqual(set(re.findall(r"CAP_[A-Z]+(?:_[A-Z]+)*", result.stderr)),
                                     {name})

    def tier_what_serve_will_give_up(self, tier):
        _, found = self.doctor(tier)
        kept = found["confinement: capabilities"]
        self.assertEqual(kept["state"], "ok")
        best = default_tier()
        self.assertEqual(set(re.findall(r"CAP_\w+", kept["detail"])),
                         set(as_unit.capabilities(best == "perf")))
        self.assertIn("no_new_privs", kept["detail"])
        self.assertEqual(found["confinement: system calls"]["state"], "ok")

    def test_only_what_is_given_is_kept(self):
        _, found = self.doctor("multi", "CAP_SYS_PTRACE")
        self.assertNotIn("CAP_SYS_PTRACE", found["confinement: capabilities"]["detail"])

    def test_no_more_filters(self):
        """Where seccomp(2) is refused, serve runs without its filter: doctor says so before."""
        refuse = [*as_unit.refusing("seccomp", "prctl")]
        result = run("doctor", "--json", wrap=refuse)
        found = {line["name"]: line for line in map(json.loads, result.stdout.splitlines())}
        for name, words in (("confinement: capabilities", "cannot be dropped"),
                            ("confinement: system calls", "cannot be filtered")):
            self.assertEqual(found[name]["state"], "missing", found[name])
            self.assertIn(words, found[name]["detail"])
            self.assertTrue(found[name]["follows"] and found[name]["mend"])

    def test_text(self):
        said = run("doctor", wrap=as_unit.command()).stdout
        self.assertRegex(said, r"(?m)^ok +confinement: capabilities +serve keeps CAP_BPF ")
        self.assertRegex(said, r"(?m)^ok +confinement: system calls +serve filters them")


class Directory:
    """A user database as systemd-userdbd and others are one (io.systemd.UserDatabase over varlink),
    in a /run that only the exporter has, by `wrap`."""

    SOCKET = "systemd/userdb/io.systemd.Test"

    def __init__(self, answer):
        """answer(user name): the reply as a dict, or None: it hangs up after a while."""
        self.answer, self.asked = answer, []
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        os.chmod(self.folder.name, 0o755)
        path = os.path.join(self.folder.name, self.SOCKET)
        os.makedirs(os.path.dirname(path))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen()
        self.wrap = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /run && exec "$@"',
                     self.folder.name]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                question = json.loads(peer.recv(4096).rstrip(b"\0"))
                name = question["parameters"]["userName"]
                self.asked.append(name)
                reply = self.answer(name)
                if reply is not None:
                    peer.sendall(json.dumps(reply).encode() + b"\0")
                    peer.recv(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.folder.cleanup()


class UserNames(unittest.TestCase):
    """`user:` by a name that /etc/passwd does not have is asked for under the filter, on a reload:
    glibc loads the module that nsswitch.conf names, which asks a daemon."""

    USER = 61001
    NOT_FOUND = {"error": "io.systemd.UserDatabase.NoRecordFound", "parameters": {}}

    def setUp(self):
        with open("/etc/nsswitch.conf", encoding="utf-8") as file:
            if not re.search(r"(?m)^passwd:.*\bsystemd\b", file.read()) or \
                    not glob.glob("/lib/*/libnss_systemd.so.2"):
                self.skipTest("passwd is not looked up by nss-systemd here")

    def found(self, uid):
        return {"parameters": {"incomplete": False, "record": {
            "userName": "alien", "uid": uid, "gid": uid, "service": "io.systemd.Test"}}}

    def reload(self, e, name):
        """A target that wants processes of that user's; None: every process."""
        wanted = {"process": {"user": name}} if name else {}
        with open(e.config, "w", encoding="utf-8") as out:
            out.write(config(target("threads", "work", **wanted)))
        os.kill(e.pid, signal.SIGHUP)

    def reloaded(self, e, times=1):
        wait_until(lambda: e.log_text().count("config reloaded") == times, 60, "reloaded")

    def test_a_name_that_a_daemon_knows(self):
        with Directory(lambda name: self.found(self.USER)) as directory, \
                Victim("threads", 1, 10) as other, \
                Victim(shutil.which("setpriv"), f"--reuid={self.USER}", "--clear-groups",
                       victim.path("threads"), 1, 100) as v, \
                Exporter(config(target("threads", "work")), wrap=directory.wrap) as e:
            self.reload(e, "alien")
            self.reloaded(e)
            self.assertEqual(directory.asked, ["alien"])
            other.round()
            v.round()
            self.assertEqual(e.account("work")["all"], 100)
            self.assertNotIn("no user", e.log_text())

    def test_a_name_that_nobody_knows(self):
        with Directory(lambda name: self.NOT_FOUND) as directory, \
                Exporter(config(target("threads", "work")), wrap=directory.wrap) as e:
            self.reload(e, "stranger")
            self.reloaded(e)
            self.assertEqual(directory.asked, ["stranger"])
            self.assertIn("no user `stranger`", e.log_text())

    def test_root_asks_no_daemon(self):
        """Whose sockets it could open; unless the config it starts with wants a user."""
        with Directory(lambda name: self.NOT_FOUND) as directory:
            for first, asked in ({}, []), ({"process": {"user": "root"}}, ["stranger"]):
                with self.subTest(first), Exporter(config(target("threads", "work", **first)),
                                                   wrap=directory.wrap, as_root=True) as e:
                    self.reload(e, "stranger")
                    self.reloaded(e)
                    self.assertEqual(directory.asked, asked)
                    self.assertIn("no user `stranger`", e.log_text())

    def test_nobody_is_there_to_ask(self):
        with Exporter(config(target("threads", "work"))) as e:
            self.reload(e, "stranger")
            self.reloaded(e)
            self.assertIn("no user `stranger`", e.log_text())

    def test_a_daemon_that_does_not_answer(self):
        """Scrapes do not wait for it; the name is unknown when it hangs up, and all goes on."""
        go_on = threading.Event()
        with Directory(lambda name: go_on.wait(60) and None) as directory, \
                Exporter(config(target("threads", "work")), wrap=directory.wrap) as e:
            self.reload(e, "stranger")
            wait_until(lambda: directory.asked)
            self.assertEqual(e.get()[0], 200)
            self.assertEqual(e.attached(function="work"), 1)
            go_on.set()
            self.reloaded(e)
            self.assertIn("no user `stranger`", e.log_text())
            self.reload(e, None)
            self.reloaded(e, 2)


if __name__ == "__main__":
    unittest.main()
