"""Docstrings, and the snippets of docs/python.md and the README, say what happens."""

import doctest
import os
import re
import tempfile
import unittest

import roost
import roost._config
import roost._objects
import roost._reconcile
import roost._roost
import roost._streams

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
MODULES = [roost, roost._config, roost._objects, roost._reconcile, roost._roost, roost._streams]
CLASSES = [roost.Replica, roost.Filter, roost.Window, roost.Counter]

try:
    import roost.redis

    MODULES.append(roost.redis)
except ImportError:
    pass


class Documentation(unittest.TestCase):
    def run_examples(self, tests):
        examples, texts = 0, []
        for test in tests:
            examples += doctest.DocTestRunner().run(test, out=texts.append).attempted
        self.assertEqual("".join(texts), "")
        return examples

    def test_docstrings(self):
        finder = doctest.DocTestFinder()
        tests = [test for module in MODULES for test in finder.find(module)]
        for each in CLASSES:  # which say that they are of the package
            tests += finder.find(each, module=roost._objects)
        self.assertGreater(self.run_examples(tests), 75)

    def run_page(self, name):
        with open(os.path.join(ROOT, name)) as file:
            snippets = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        test = doctest.DocTestParser().get_doctest("\n".join(snippets), {}, name, name, 0)
        home = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                return self.run_examples([test])
            finally:
                os.chdir(home)

    def test_page(self):
        self.assertGreater(self.run_page("docs/python.md"), 50)

    def test_readme(self):
        self.assertGreater(self.run_page("README.md"), 4)

    def test_public_names(self):
        for name in roost.__all__:
            self.assertTrue(getattr(roost, name).__doc__, name)
        for cls in (roost.Filter, roost.Window, roost.Counter):
            for name in dir(cls):
                if not name.startswith("_"):
                    self.assertTrue(getattr(cls, name).__doc__, name)
        self.assertRegex(roost.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
