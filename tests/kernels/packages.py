"""Debian's kernels for the tests: downloaded, unpacked, and kept, so that the next run needs no network.

apt does the work on folders of its own under the build folder; the machine's sources, lists and
packages stay as they are. Each suite has its own apt folder, so that the lack of one does not
take the others along. The addresses are the machine's own: its mirror is asked for other suites.
"""

import glob
import os
import re
import shutil
import subprocess

REFRESH_SECONDS = 24 * 3600  # a kernel that was fetched within this time is not asked for again
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """A kernel cannot be had; the text says why."""


def age(name):
    """Sort key: 6.12.9 is older than 6.12.10, and linux-binary-* has what linux-image-* may lack."""
    kind, version = re.fullmatch(r"linux-([a-z]+)-(.*)", name).groups()
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", version)], \
        kind == "binary"


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

    def newest(self, pattern):
        """The newest package whose whole name matches."""
        run(["apt-get", "update", "-q"], env=self.environment)
        names = run(["apt-cache", "pkgnames"], env=self.environment).split()
        found = sorted((name for name in names if re.fullmatch(pattern, name)), key=age)
        if not found:
            raise Unavailable(f"the suite has no package {pattern}")
        return found[-1]

    def download(self, name):
        """The package's file."""
        folder = os.path.join(self.folder, "packages")
        shutil.rmtree(folder)
        os.makedirs(folder)
        run(["apt-get", "download", "-q", name], env=self.environment, cwd=folder)
        return glob.glob(folder + "/*.deb")[0]


def fetch(folder, suite, pattern):
    """Put the newest kernel's image to FOLDER/vmlinuz and its package's name to FOLDER/package."""
    apt = Apt(os.path.join(folder, "apt"), suite)
    name = apt.newest(pattern)
    if name != known(folder):
        unpacked = os.path.join(folder, "unpacked")
        shutil.rmtree(unpacked, ignore_errors=True)
        run(["dpkg-deb", "-x", apt.download(name), unpacked])
        images = glob.glob(unpacked + "/boot/vmlinuz-*") + \
            glob.glob(unpacked + "/**/lib/modules/*/vmlinuz", recursive=True)
        if not images:
            raise Unavailable(f"{name} has no kernel image")
        os.replace(images[0], os.path.join(folder, "vmlinuz"))
        shutil.rmtree(unpacked)
        shutil.rmtree(os.path.join(folder, "apt", "packages"))
    with open(os.path.join(folder, "package"), "w", encoding="utf-8") as out:
        out.write(name)


def known(folder):
    """The name of the package that FOLDER/vmlinuz is from, or ''."""
    try:
        with open(os.path.join(folder, "package"), encoding="utf-8") as file:
            name = file.read()
        return name if os.path.exists(os.path.join(folder, "vmlinuz")) else ""
    except OSError:
        return ""


def kernel(folder, suite, pattern, now):
    """(path of the image, name of its package); Unavailable when there is none."""
    os.makedirs(folder, exist_ok=True)
    stamp = os.path.join(folder, "package")
    if not known(folder) or now - os.stat(stamp).st_mtime > REFRESH_SECONDS:
        try:
            fetch(folder, suite, pattern)
        except Unavailable:
            if not known(folder):
                raise
    return os.path.join(folder, "vmlinuz"), known(folder)
