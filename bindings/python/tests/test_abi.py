"""One binary for all versions of Python: what it declares itself is what this Python's headers have."""

import importlib.util
import os
import shutil
import subprocess
import sysconfig
import unittest

import roost._roost
from settings import python

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = sysconfig.get_path("include")
COMPILER = shutil.which("cc")
MAKES_INTERPRETERS = any(map(importlib.util.find_spec, ("_interpreters", "_xxsubinterpreters")))
COMPILES = COMPILER and os.path.exists(os.path.join(HEADERS, "Python.h"))


class Abi(unittest.TestCase):
    def test_the_extension_is_for_the_stable_abi(self):
        self.assertTrue(roost._roost.__file__.endswith("_roost.abi3.so"), roost._roost.__file__)

    @unittest.skipUnless(COMPILES, "there is no compiler with Python's headers")
    def test_declarations_of_later_abis(self):
        command = [COMPILER, "-std=c17", "-fsyntax-only", "-Wall", "-Werror", "-I", HEADERS, os.path.join(HERE, "abi.c")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(MAKES_INTERPRETERS, "this Python cannot make interpreters")
    def test_one_interpreter(self):
        """Another interpreter of the process gets an ImportError, and the first one goes on."""
        code = """
            import roost
            try:
                import _interpreters
                new, run = lambda: _interpreters.create("legacy"), _interpreters.exec
            except ImportError:
                import _xxsubinterpreters as _interpreters
                new, run = lambda: _interpreters.create(isolated=False), _interpreters.run_string
            other = new()
            run(other, "try:\\n import roost\\nexcept ImportError as error:\\n print('one interpreter' in str(error))")
            _interpreters.destroy(other)
            seen = roost.Filter()
            seen.add("swift")
            print(roost.from_bytes(seen.to_bytes()) == seen, repr(roost.from_bytes(seen.to_bytes())) == repr(seen))
            """
        self.assertEqual(python(code).split(), ["True"] * 3)
