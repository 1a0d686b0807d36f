"""Packages of Debian's other suites for the tests, unpacked and kept, never installed.

apt does the work on folders of its own under the build folder; the machine's sources, lists and
packages stay as they are. Each suite has its own apt folder, so that the lack of one does not
take the others along. The addresses are the machine's own: its mirror is asked for other suites.
"""

import glob
import os
import shutil
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """A package cannot be had; the text says why."""



def run(command, **keys):
    """A command's standard output; Unavailable when it fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                stdin=subprocess.DEVNULL, timeout=300, **keys)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{command[0]}: {error}") from None
    if result.returncode != 0:
        said = (result.stderr or result.stdout).strip().splitlines()
        raise Unavailable(f"{command[0]}: {said[-1] if said else result.returncode}")
    return result.stdout


def mirror(suite):
    """The address that the machine's own sources have for suites of this kind (security or not)."""
    security = suite.endswith("-security")
    targets = run(["apt-get", "indextargets", "--format",
                   "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"])
    for line in sorted(set(targets.splitlines())):
        fields = line.split()
        # third parties have suites of other names
        if len(fields) == 3 and fields[2] == "main" and "debian" in fields[0] and \
                fields[1].endswith("-security") == security:
            return fields[0]
    raise Unavailable(f"the machine's apt sources have no Debian mirror to ask for {suite}")


class Apt:
    """An apt of our own, with one suite."""

    def __init__(self, folder, suite):
        self.folder = os.path.abspath(folder)
        for needed in ("lists/partial", "cache/archives/partial", "packages"):
            os.makedirs(os.path.join(self.folder, needed), exist_ok=True)
        signed = f" signed-by={KEYRING}" if os.path.exists(KEYRING) else ""
        self.write("sources.list", f"deb [arch=amd64{signed}] {mirror(suite)} {suite} main\n")
        self.write("status", "")
        self.environment = dict(os.environ, LC_ALL="C", APT_CONFIG=self.write("apt.conf", f"""
            Dir::Etc::sourcelist "{self.folder}/sources.list";
            Dir::Etc::sourceparts "-";
            Dir::Etc::preferences "-";
            Dir::Etc::preferencesparts "-";
            Dir::State "{self.folder}";
            Dir::State::lists "{self.folder}/lists";
            Dir::State::status "{self.folder}/status";
            Dir::Cache "{self.folder}/cache";
            APT::Architecture "amd64";
            APT::Sandbox::User "root";
            APT::Update::Error-Mode "any";
            Acquire::Languages "none";
            Acquire::Retries "2";
            """))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def update(self):
        run(["apt-get", "update", "-q"], env=self.environment)

    def names(self):
        """Of every package that the suite has."""
        return run(["apt-cache", "pkgnames"], env=self.environment).split()

    def download(self, name):
        """The package's file."""
        folder = os.path.join(self.folder, "packages")
        shutil.rmtree(folder)
        os.makedirs(folder)
        run(["apt-get", "download", "-q", name], env=self.environment, cwd=folder)
        return glob.glob(folder + "/*.deb")[0]

