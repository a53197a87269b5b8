"""Type checkers: mypy on the package, on calls of it, and the stubs beside the C types."""

import importlib.util
import os
import subprocess
import sys
import unittest

import roost
from settings import LONG

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(roost.__file__)))


if LONG:

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "there is no mypy")
    class Types(unittest.TestCase):
        def check(self, *arguments):
            command = [sys.executable, "-m", *arguments]
            done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, env={**os.environ, "MYPYPATH": PACKAGE})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        def test_the_package(self):
            self.check("mypy", "--strict", "--cache-dir", os.devnull, "-p", "roost")

        def test_calls(self):
            self.check("mypy", "--strict", "--cache-dir", os.devnull, os.path.join(HERE, "typed_use.py"))

        def test_stubs_beside_the_c_types(self):
            self.check("mypy.stubtest", "roost._roost")
