"""What the tests share: the program, rounds, seeds."""

import os
import random
import subprocess
import sys
import tempfile
import textwrap
import unittest

import roost

BUILD = os.environ.get("ROOST_BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "build"))
PROGRAM = os.environ.get("ROOST", os.path.join(BUILD, "roost"))
LONG = bool(os.environ.get("ROOST_LONG"))
SEED = int(os.environ.get("ROOST_SEED", "1"))

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = unittest.skipIf(numpy is None, "there is no numpy")
needs_program = unittest.skipUnless(os.access(PROGRAM, os.X_OK), "there is no program roost")

ROOM = 100_000 if LONG else 2000
KINDS = [
    {"capacity": ROOM},
    {"capacity": ROOM, "layout": "classic"},
    {"capacity": ROOM, "kind": "cuckoo"},
    {"capacity": ROOM, "kind": "orcuckoo"},
    {"capacity": ROOM, "kind": "orcuckoo", "multiset": True},
    {},
    {"kind": "bloom"},
    {"kind": "orcuckoo"},
    {"kind": "orcuckoo", "multiset": True},
    {"kind": "orcuckoo", "semantics": "remove-wins"},
    {"kind": "orcuckoo", "semantics": "last-writer-wins"},
    {"capacity": 50, "scalable": True, "kind": "bloom", "writers": 2, "growth": 4, "schedule": "halving"},
]


def rounds(short, long):
    return long if LONG else short


def generator(name):
    return random.Random(f"{name} {SEED}")


def program(*arguments, given=b"", status=(0,)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=given, capture_output=True, timeout=600)
    if done.returncode not in status:
        raise AssertionError(f"roost {arguments} ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def python(code, *arguments):
    """Runs code in a process of its own, which has a minute: for what might not end. Returns what it printed."""
    package = os.path.dirname(os.path.dirname(roost.__file__))
    command, variables = [sys.executable, "-c", textwrap.dedent(code), *arguments], {**os.environ, "PYTHONPATH": package}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise AssertionError(f"ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="x.roost"):
        return os.path.join(self.folder, name)
