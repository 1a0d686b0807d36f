"""A PostgreSQL server of the test's own, and pgbench on it."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile

from victim import wait_until

TRANSACTIONS, CLIENTS = 200, 4  # of pgbench: transactions for each client


def server_folder():
    """Of the newest PostgreSQL that is installed, the folder of its programs."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"),
                   key=lambda path: int(path.split("/")[4]))
    return os.path.dirname(found[-1]) if found else None


class Postgres:
    """A server of our own in a temporary folder, reached by a Unix socket there."""

    def __init__(self, *settings):
        self.settings = [word for setting in settings for word in ("-c", setting)]
        self.bin = server_folder()
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-pg-")
        shutil.chown(self.folder, "postgres", "postgres")
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PGHOST": self.folder,
                            "PGUSER": "postgres", "PGDATABASE": "postgres", "HOME": self.folder}
        self.child = None
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def command(self, name, *arguments, **keys):
        return subprocess.run([*self.user, f"{self.bin}/{name}", *arguments], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=120,
                              check=keys.pop("check", True), **keys)

    def start(self):
        data = os.path.join(self.folder, "data")
        self.command("initdb", "-D", data, "-A", "trust", "-N", "--locale=C")
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.child = subprocess.Popen(
                [*self.user, f"{self.bin}/postgres", "-D", data, "-k", self.folder,
                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off",
                 "-c", "shared_buffers=16MB", "-c", "max_connections=20", *self.settings],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        wait_until(lambda: self.command("psql", "-c", "select 1", check=False).returncode == 0, 60,
                   "PostgreSQL answers")

    def sql(self, text, check=True):
        return self.command("psql", "-X", "-q", "-c", text, check=check)

    def script(self, text):
        path = os.path.join(self.folder, "script.sql")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(path, 0o644)
        return path

    def pgbench(self, script, *arguments, transactions=TRANSACTIONS):
        """Transactions that pgbench says it made, and their mean latency in seconds."""
        # a script of our own and -n: pgbench sends no statement but the script's
        said = self.command("pgbench", "-n", "-t", str(transactions), "-c", str(CLIENTS), "-j", "2",
                            *arguments, "-f", script).stdout
        made = re.search(r"number of transactions actually processed: (\d+)/(\d+)", said)
        latency = re.search(r"latency average = ([\d.]+) ms", said)
        assert made and latency and made.group(1) == made.group(2), said
        return int(made.group(1)), float(latency.group(1)) / 1000

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
