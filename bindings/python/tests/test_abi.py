"""One binary for all versions of Python: what it declares itself is what this Python's headers have."""

import os
import shutil
import subprocess
import sysconfig
import unittest

import roost._roost

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = sysconfig.get_path("include")
COMPILER = shutil.which("cc")
COMPILES = COMPILER and os.path.exists(os.path.join(HEADERS, "Python.h"))


class Abi(unittest.TestCase):
    def test_the_extension_is_for_the_stable_abi(self):
        self.assertTrue(roost._roost.__file__.endswith("_roost.abi3.so"), roost._roost.__file__)

    @unittest.skipUnless(COMPILES, "there is no compiler with Python's headers")
    def test_declarations_of_later_abis(self):
        command = [COMPILER, "-std=c17", "-fsyntax-only", "-Wall", "-Werror", "-I", HEADERS, os.path.join(HERE, "abi.c")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
