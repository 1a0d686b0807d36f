"""Run one unittest module and append each test's result, as a line of JSON, to a file.

    worker.py MODULE.py RESULTS [TEXT...]      (only tests whose name contains a TEXT)
"""

import importlib.util
import json
import os
import signal
import sys
import unittest

SUPPORT = os.path.dirname(os.path.abspath(__file__))


class Recorder(unittest.TestResult):
    """Writes a result as soon as it is known, so that a crash loses none."""

    def __init__(self, path):
        super().__init__()
        self.out = open(path, "a", encoding="utf-8")  # closed by the end of the process
        self.told = set()

    def tell(self, test, status, detail=""):
        name = test.id() if hasattr(test, "id") else str(test)
        if status == "pass" and name in self.told:
            return  # a subtest failed, and was told
        self.told.add(name)
        self.out.write(json.dumps({"name": name, "status": status, "detail": detail}) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        print(f"-- {test.id()}", flush=True)

    def addSuccess(self, test):
        self.tell(test, "pass")

    def addFailure(self, test, err):
        self.tell(test, "fail", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        self.tell(subtest, "fail" if err else "pass",
                  self._exc_info_to_string(err, test) if err else "")
        self.told.add(test.id())

    def addSkip(self, test, reason):
        self.tell(test, "skip", reason)


def chosen(suite, texts):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from chosen(item, texts)
        elif not texts or any(text in item.id() for text in texts):
            yield item


def main():
    path, results, texts = sys.argv[1], sys.argv[2], sys.argv[3:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.path[:0] = [SUPPORT, os.path.dirname(path)]
    name = os.path.basename(os.path.dirname(path)) + "." + os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    recorder = Recorder(results)
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    unittest.TestSuite(chosen(tests, texts)).run(recorder)


main()
