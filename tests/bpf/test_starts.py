"""Processes that start in ways that the kernel programs cannot decide on by themselves."""

import unittest

from exporter import Exporter, setUpModule
from test_processes import copied, count, counting
from victim import Victim


class Starts(unittest.TestCase):
    def test_forks_before_the_decision(self):
        """A server forks its workers as it starts, when what the kernel cannot tell of it is not
        decided yet: they are like it, and so are the children of those that end at once."""
        file = copied("trees")
        with Exporter(counting(file, exe='"*/tree?"')) as e:
            for depth, total in ((1, 50), (2, 100)):
                with Victim(file, "early", 10, 5, depth) as v:
                    e.settle()
                    self.assertEqual(v.round()["well"], 10 * depth)
                self.assertEqual(count(e), total)

    def test_descendants_forked_before_the_decision(self):
        """What they start is a descendant's program."""
        file = copied("lingers")
        with Exporter(counting(file, exe='"*/tree?"', children="true")) as e:
            with Victim(copied("trees"), "early", 10, 5, 1, file) as v:
                e.settle()
                self.assertEqual(v.round()["well"], 10)
            self.assertEqual(count(e), 50)
            with Victim(copied("others"), "early", 10, 5, 1, file) as v:
                e.settle()
                v.round()
            self.assertEqual(count(e), 50)

    def test_a_file_mounted_by_itself(self):
        """Its path is the place where it is mounted, as containers have single files; the kernel
        has the name that it has in its own folder."""
        here, there = copied("mounted.from", "threads"), copied("mounted.at", "threads")
        with Exporter(counting(there, exe=there)) as e:
            with Victim("/usr/bin/unshare", "--mount", "sh", "-c",
                        'mount --bind "$0" "$1" && exec "$1" 1 100 early', here, there) as v:
                e.settle()
                v.round()
                self.assertEqual(count(e), 100)


if __name__ == "__main__":
    unittest.main()
