"""What deploy/kubernetes renders to, and what the published types of Kubernetes say of that.

The machine's kubectl renders or, where it has none that knows components, Debian 13's. The types
are npm packages (kubetypes/package.json); both are kept in the build folder.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import yaml

import debian
import kube
import victim
from machine import run

SUITE = "trixie"
LEAST_MINOR = 21  # of kubectl 1.x: its kustomize knows components
KUBETYPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kubetypes")


def is_new_enough(program):
    said = run(program, "version", "--client", "--output=json", check=False).stdout
    minor = re.search(r'"gitVersion": "v1\.(\d+)', said)
    return bool(minor) and int(minor.group(1)) >= LEAST_MINOR


def debians_kubectl():
    """The program's path; debian.Unavailable when it cannot be had."""
    folder = os.path.join(victim.BUILD, "kubectl")
    program = folder + "/unpacked/usr/bin/kubectl"
    if not os.path.exists(program):
        apt = debian.Apt(folder, SUITE)
        apt.update()
        run("dpkg-deb", "-x", apt.download("kubectl"), folder + "/unpacked")
    return program


def kubectl():
    mine = shutil.which("kubectl")
    return mine if mine and is_new_enough(mine) else debians_kubectl()


def render(program, folder):
    """The objects that `kubectl apply -k FOLDER` would send."""
    return list(yaml.safe_load_all(run(program, "kustomize", folder).stdout))


def render_with(program, component):
    """The same of the base with a component, as an overlay would have it."""
    with tempfile.TemporaryDirectory(prefix="uprobe-overlay-") as folder:
        base = os.path.relpath(kube.FOLDER, os.path.realpath(folder))
        with open(folder + "/kustomization.yaml", "w", encoding="utf-8") as out:
            json.dump({"resources": [base + "/base"], "components": [f"{base}/{component}"]}, out)
        return render(program, folder)


def types():
    """The folder where the types are installed."""
    folder = os.path.join(victim.BUILD, "kubetypes")
    if run("diff", "-q", KUBETYPES + "/package.json", folder + "/package.json",
           check=False).returncode:
        shutil.rmtree(folder, ignore_errors=True)
        making = folder + ".making"
        shutil.rmtree(making, ignore_errors=True)
        shutil.copytree(KUBETYPES, making)
        run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts",
            "--fetch-retries=5", cwd=making)
        os.rename(making, folder)
    shutil.copy(KUBETYPES + "/validate.mjs", folder)
    return folder


def faults(objects):
    """{name: ["path: what is wrong"]} of {name: object}, all kinds and fields being known ones."""
    checked = subprocess.run(["node", "validate.mjs"], cwd=types(), input=json.dumps(objects),
                             capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    return json.loads(checked.stdout)
