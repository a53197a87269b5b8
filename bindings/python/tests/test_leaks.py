"""Nothing is left behind: the memory of the process and the objects of Python after many rounds of every call."""

import array
import gc
import os
import pickle
import sys
import tempfile
import unittest
import weakref

import roost
import roost._roost
from settings import rounds


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def refused(call, *arguments):
    try:
        call(*arguments)
    except (ValueError, TypeError, OSError, MemoryError, OverflowError, KeyError, roost.Error):
        return
    raise AssertionError(f"{call} was not refused")


class Bad:
    def __index__(self):
        raise ValueError


def one_round(folder):
    path = os.path.join(folder, "x.roost")
    here, there = roost.Filter(kind="orcuckoo", capacity=20_000), roost.Filter(kind="orcuckoo", capacity=20_000)
    here.update([*range(50), *map(str, range(50)), b"x", bytearray(b"y")])
    here.update(array.array("i", range(2000)))
    here.contains_many(array.array("i", range(2000))), here.contains_many(["a", 1]), here.remove("1"), here.discard(2)
    there |= here
    here.copy(), here | there, here == there, here <= there, repr(here), here.info()
    here.sync_with(there), here.delta(here.cursor()), here.digest(), len(here)
    roost.reconcile(range(100), range(50)), roost.reconcile(["a"], ["b"], multiset=True)
    refused(here.add, 1.5), refused(here.add, 2**70), refused(here.add, "\ud800"), refused(here.update, ["a", None])
    refused(here.update, [1, Bad()]), refused(here.update, "text"), refused(here.merge, b"junk"), refused(here.merge, roost.Filter())
    refused(roost.from_bytes, here.to_bytes()[:-1]), refused(here.delta, b"short"), refused(here.remove, "absent")
    refused(here.update, array.array("d", [1.0])), refused(roost.Filter, 2**62), refused(here.sync, lambda n: b"x", len)
    refused(roost.from_bytes, here.to_bytes(), 10), refused(roost.open, path), refused(roost.open, "/proc/none/x", "x")
    with roost.open(path, "w", capacity=1000) as seen:
        seen.add("swift"), seen.save(), refused(roost.open, path, "x"), refused(lambda: roost.open(path, wait=False))
    with roost.open(path, "r") as seen:
        refused(seen.add, "a")
    refused(seen.add, "a"), refused(lambda: roost.open(path, "a", like=seen))
    os.unlink(path)
    window, counter = roost.Window(60), roost.Counter(60)
    window.update(range(100)), window.add("a"), refused(window.add, "a", 1e30), counter.increment("a"), refused(counter.increment, "")
    roost.from_bytes(window.to_bytes()), roost.from_bytes(counter.to_bytes())


class Leaks(unittest.TestCase):
    def test_rounds(self):
        """What leaks grows in every stretch of rounds; what Python keeps for later does not."""
        count, growth = rounds(12, 300), []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(5):
                one_round(folder)
            memory, files = resident(), len(os.listdir("/proc/self/fd"))
            for _ in range(4):
                blocks = sys.getallocatedblocks()
                for _ in range(count):
                    one_round(folder)
                gc.collect()
                growth.append(sys.getallocatedblocks() - blocks)
        self.assertLess(min(growth), count / 2)
        self.assertLess(resident() - memory, 4_000_000)
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), files)

    def test_pickles(self):
        seen = roost.Filter()  # pickle itself keeps a few hundred objects, whatever is pickled
        for _ in range(1500):
            pickle.loads(pickle.dumps(seen))
        blocks = sys.getallocatedblocks()
        for _ in range(1500):
            pickle.loads(pickle.dumps(seen))
        self.assertLess(sys.getallocatedblocks() - blocks, 500)

    def test_cycles(self):
        """A class that refers to its object, and an object that refers to its exchange, are collected."""

        class Seen(roost.Filter):
            __slots__ = ()

        class Noted(roost.Filter):
            pass

        Seen.one = Seen()
        noted = Noted()
        noted.exchange, noted.itself = roost._roost.Sync(noted, None), noted
        references = [weakref.ref(Seen), weakref.ref(noted), weakref.ref(Noted)]
        del Seen, Noted, noted
        gc.collect()
        self.assertEqual([reference() for reference in references], [None] * 3)

    def test_references(self):
        key, keys = "a key that nobody else has", [object.__new__(type("T", (), {"__index__": lambda self: 5}))]
        seen = roost.Filter()
        before = sys.getrefcount(key), sys.getrefcount(keys), sys.getrefcount(keys[0]), sys.getrefcount(roost.Filter)
        for _ in range(100):
            seen.add(key), key in seen, seen.update([key] * 10), seen.update(keys), seen.contains_many((key,)), seen.copy()
            refused(seen.remove, key)
        after = sys.getrefcount(key), sys.getrefcount(keys), sys.getrefcount(keys[0]), sys.getrefcount(roost.Filter)
        self.assertEqual(before, after)


if __name__ == "__main__":
    unittest.main()
