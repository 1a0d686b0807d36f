"""The man pages: made from what is true now, complete, and without a word from groff."""

import os
import re
import subprocess
import unittest

import victim
from exporter import BINARY

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ("uprobe_exporter.8", "uprobe_exporter.yaml.5")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def shown(page):
    """(what man shows, what it complains of)"""
    result = subprocess.run(
        ["man", "--warnings", "-l", os.path.join(victim.BUILD, "man", page)],
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "MANWIDTH": "400", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", result.stdout).replace("\u2010", "-"), result.stderr


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        subprocess.run(["make", "-s", "man", f"BUILD={os.path.relpath(victim.BUILD, ROOT)}"],
                       cwd=ROOT, check=True, env=environment)
        cls.text = {page: shown(page)[0] for page in PAGES}

    def test_groff_has_no_warnings(self):
        for page in PAGES:
            self.assertEqual(shown(page)[1], "", page)

    def test_no_markup_is_left(self):
        for page, text in self.text.items():
            self.assertNotRegex(text, r"\*\*|\]\(|^\|", page)

    def test_every_flag_with_its_help(self):
        for command in ("serve", "check", "list", "doctor", "healthcheck"):
            said = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            flags = re.findall(r"^  (--\S+) +(.*)$", said, re.M)
            self.assertGreater(len(flags), 0)
            for flag, meaning in flags:
                self.assertIn(flag, self.text["uprobe_exporter.8"])
                self.assertIn(meaning, self.text["uprobe_exporter.8"])

    def test_every_metric_and_reason(self):
        names = re.findall(r"^\| `([\w]+)`", read("docs", "metrics.md"), re.M)
        self.assertGreater(len(names), 50)
        for name in names:
            self.assertIn(name, self.text["uprobe_exporter.8"])

    def test_every_key(self):
        names = re.findall(r"^\| `(\w+)`", read("docs", "config.md"), re.M)
        self.assertGreater(len(names), 30)
        for name in names:
            self.assertIn(name, self.text["uprobe_exporter.yaml.5"])

    def test_examples_as_they_stand(self):
        """Indented alike and with their quotes: what is copied from a page must work."""
        for page, source in (("uprobe_exporter.yaml.5", "config.md"),
                             ("uprobe_exporter.8", "metrics.md")):
            lines = {line.strip() for line in self.text[page].splitlines()}
            for block in re.findall(r"^```\w*\n(.*?)^```", read("docs", source), re.M | re.S):
                for line in block.splitlines():
                    self.assertIn(line.strip(), lines, page)
