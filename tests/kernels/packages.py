"""Debian's kernels for the tests: downloaded, unpacked and kept; the next run needs no network."""

import glob
import os
import re
import shutil

from debian import Apt, Unavailable, run

REFRESH_SECONDS = 24 * 3600  # a kernel that was fetched within this time is not asked for again


def age(name):
    """Sort key: 6.12.9 is older than 6.12.10, and linux-binary-* has what linux-image-* may lack."""
    kind, version = re.fullmatch(r"linux-([a-z]+)-(.*)", name).groups()
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", version)], \
        kind == "binary"


def newest(apt, pattern):
    """The newest package whose whole name matches."""
    apt.update()
    found = sorted((name for name in apt.names() if re.fullmatch(pattern, name)), key=age)
    if not found:
        raise Unavailable(f"the suite has no package {pattern}")
    return found[-1]


def fetch(folder, suite, pattern):
    """Put the newest kernel's image to FOLDER/vmlinuz and its package's name to FOLDER/package."""
    apt = Apt(os.path.join(folder, "apt"), suite)
    name = newest(apt, pattern)
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
