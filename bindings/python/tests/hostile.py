#!/usr/bin/env python3
"""Random calls with hostile arguments, for so many seconds: every one returns or raises an exception of the kinds that are
documented, and what a filter holds is never lost.

    bindings/python/tests/hostile.py [--seconds N] [--seed S] [--threads N]

Threads share the objects; what they hold is then not compared, and a thread that waits for ever is an error. A crash ends the process; run it under `python3 -X faulthandler`, or with a build under sanitizers.
"""

import argparse
import array
import contextlib
import copy
import ctypes
import faulthandler
import io
import os
import pickle
import random
import sys
import tempfile
import threading
import time

FINE = (TypeError, ValueError, OverflowError, MemoryError, KeyError, OSError, BufferError, AttributeError, RuntimeError, LookupError, pickle.PicklingError)


class Odd:
    """An object whose every method misbehaves in a way of its own."""

    def __init__(self, random):
        self.random = random

    def _any(self):
        if self.random.random() < 0.3:
            raise ValueError("odd")
        return self.random.choice([1, -1, "text", b"bytes", None, 2**70, 1.5, self])

    def __index__(self):
        return self._any()

    def __len__(self):
        return self._any()

    def __iter__(self):
        return iter([self._any(), self._any()])

    def __str__(self):
        return self._any()

    def __fspath__(self):
        return self._any()

    def __bool__(self):
        return self._any()

    def __call__(self, *arguments):
        return self._any()


class Using:
    """A key, a time, a path or an option that uses the objects while it is read."""

    def __init__(self, fuzzer):
        self.fuzzer = fuzzer

    def use(self):
        self.fuzzer.step(depth=1)
        return self.fuzzer.random.randrange(50)

    __index__ = __bool__ = __len__ = use

    def __fspath__(self):
        return str(self.use())

    def __del__(self):
        if self.fuzzer.random.random() < 0.1:
            self.use()


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]


class Nameless(type):
    __name__ = property(lambda cls: 5)


class Fuzzer:
    def __init__(self, roost, seed, folder, objects=None):
        self.roost, self.random, self.folder, self.alone = roost, random.Random(seed), folder, objects is None
        self.objects, self.frames, self.calls, self.refusals = [] if objects is None else objects, [b"", b"junk"], 0, 0
        self.extras = []
        self.objects += [roost.Filter(), roost.Filter(kind="orcuckoo"), roost.Filter(capacity=100), roost.Window(60)]
        self.subclass = type("Seen", (roost.Filter,), {})

    # ---- arguments

    def key(self):
        r = self.random
        return r.choice([
            lambda: r.randrange(50), lambda: str(r.randrange(50)), lambda: -r.randrange(2**63), lambda: os.urandom(r.randrange(20)),
            lambda: "\ud800", lambda: "x" * r.choice([0, 10, 100_000]), lambda: 2**r.randrange(80), lambda: bytearray(b"abc"),
            lambda: memoryview(b"abcdef")[:: r.choice([1, 2, -1])], lambda: Odd(r), lambda: None, lambda: 1.5, lambda: (1, 2), lambda: True,
            lambda: ctypes.c_int(5), lambda: Pair(1, 2), lambda: array.array("q", [1]), lambda: memoryview(b"x").cast("B", ()), lambda: Nameless("N", (), {})(), lambda: Using(self),
        ])()  # fmt: skip

    def keys(self):
        r = self.random
        count = r.choice([0, 1, 3, 40, 1500])
        released = memoryview(b"abc")
        released.release()
        return r.choice([
            lambda: [self.key() for _ in range(min(count, 40))], lambda: list(range(count)), lambda: tuple(map(str, range(count))),
            lambda: iter(range(count)), lambda: array.array(r.choice("bBhHiIlLqQdf"), [1] * count),
            lambda: memoryview(bytes(count * 4)).cast("B", (count, 4)) if count else b"", lambda: (ctypes.c_int32 * count)(),
            lambda: (ctypes.c_double * 3)(), lambda: memoryview(bytes(24)).cast(r.choice("bBhHiIlLqQdfc?")), lambda: released,
            lambda: memoryview(array.array("q", range(count)))[:: r.choice([1, 2, -3])], lambda: Odd(r), lambda: "text", lambda: {1: 2},
            lambda: memoryview(bytes(1)).cast("B", ()), lambda: self.growing(), lambda: memoryview(bytes(8)).cast("B", (2, 2, 2)), lambda: (Pair * 3)(),
            lambda: [*map(str, range(count)), Odd(r)], lambda: array.array("u", "swift\ud800" * count), lambda: (ctypes.c_char * 5)(),
        ])()  # fmt: skip

    def growing(self):
        """An iterable that uses the objects while they are used."""
        for i in range(self.random.randrange(60)):
            if self.random.random() < 0.05:
                self.step(depth=1)
            yield i

    def frame(self):
        r = self.random
        frame = bytearray(r.choice(self.frames))
        what = r.randrange(5)
        if what == 0 and frame:
            frame[r.randrange(len(frame))] ^= 1 << r.randrange(8)
        elif what == 1:
            del frame[r.randrange(len(frame) + 1) :]
        elif what == 2:
            frame += os.urandom(3)
        return bytes(frame)

    def remember(self, frame):
        self.frames.append(frame)
        if len(self.frames) > 60:
            del self.frames[self.random.randrange(len(self.frames))]

    def anything(self):
        r = self.random
        return r.choice([self.key, self.keys, self.frame, lambda: r.choice(self.objects), lambda: Odd(r), lambda: r.choice(self.extras or [1])])()

    # ---- calls

    def make(self):
        r, roost = self.random, self.roost
        number = lambda: r.choice([None, 0, 1, 7, 100, 5000, 1e4, 2**40, 2**63, -1, 0.5, "x", float("nan")])
        options = {"capacity": number(), "fpr": r.choice([None, 0.01, 0.5, 1e-9, 1e-300, 2, "x"]), "kind": r.choice([None, "bloom", "cuckoo", "orcuckoo", "x", 1])}
        for name in ("layout", "bits", "bucket", "entry", "multiset", "seed", "writers", "growth", "schedule", "scalable"):
            if r.random() < 0.15:
                options[name] = r.choice([number(), "classic", "gentle", "halving", True, 4, 8, 32])
        kind = r.randrange(10)
        if kind == 0:
            made = roost.Window(r.choice([60, 1e-6, 1e9, -1, "x"]), r.choice([10, 1000, 2**50]), past=r.choice([1, 3, 255, 256]))
        elif kind == 1:
            made = roost.Counter(r.choice([60, 3600]))
        elif kind < 6:
            made = roost.Filter(capacity=r.choice([None, 10, 1000]), kind=r.choice(["cuckoo", "orcuckoo"]), multiset=False)
        elif kind == 6:
            made = self.subclass(capacity=100)
            made.itself = made
        else:
            made = roost.Filter(**options)
        if made.info()["bytes_memory"] > 1 << 24:
            return
        self.objects.append(made)
        if len(self.objects) > 12:
            del self.objects[r.randrange(len(self.objects))]

    def open(self):
        r = self.random
        path = os.path.join(self.folder, r.choice(["a", "b", "none/c"]))
        if r.random() < 0.1 and os.path.exists(path):
            with open(path, "r+b") as file:
                file.seek(r.randrange(100))
                file.write(os.urandom(2))
        like = {"like": self.anything()} if r.random() < 0.3 else {"capacity": r.choice([10, 1000, -1])} if r.random() < 0.6 else {}
        mode = r.choice(["r", "r+", "a", "x", "w", "q"])
        if mode in ("r", "r+"):
            like = {} if r.random() < 0.9 else like
        self.objects.append(self.roost.open(r.choice([path, path, path, Odd(r)]), mode, wait=False, **like))

    def private(self):
        r, module = self.random, self.roost._roost
        number = lambda: r.choice([0, 1, 2, 3, 4, 6, 7, 8, 16, 24, 32, 33, 64, 100, 2**16])
        what = r.randrange(6)
        if what == 0:
            module.Filter(number(), number(), number(), r.random(), number(), number(), number(), number(), r.random() < 0.5, r.random() < 0.5, number(), number(), number(), number())
        elif what == 1:
            self.extras.append(module.Sync(r.choice(self.objects), r.choice([None, self.frame()])))
        elif what == 2:
            self.extras.append(module.Session(self.keys(), r.choice([None, self.frame()]), r.randrange(-1, 7), r.random() < 0.5))
        elif what == 3:
            module.Window(number(), number(), r.random(), number(), number())
        else:
            extra = r.choice(self.extras)
            self.remember(extra.next(r.choice([None, self.frame(), self.anything()])) or b"")
            r.choice([lambda: extra.result(), lambda: extra.memory(), lambda: extra.differences(), lambda: extra.done])()
        if len(self.extras) > 8:
            del self.extras[r.randrange(len(self.extras))]

    def method(self):
        r, it = self.random, self.random.choice(self.objects)
        name = r.choice([name for name in dir(it) if not name.startswith("__") or name in ("__contains__", "__or__", "__le__", "__eq__", "__len__", "__copy__")])
        if name in ("close", "_close") and r.random() < 0.9:
            return
        value = getattr(it, name)
        if not callable(value):
            return
        result = value(*(self.anything() for _ in range(r.choice([0, 1, 1, 1, 2, 3]))))
        if isinstance(result, bytes):
            self.remember(result)
        elif isinstance(result, tuple) and result and isinstance(result[0], bytes):
            self.remember(result[0])
        elif isinstance(result, type(it)):
            self.objects.append(result)

    def python(self):
        """What Python itself does with objects."""
        r, it = self.random, self.random.choice(self.objects)
        r.choice([
            lambda: setattr(it, "__class__", type(r.choice(self.objects))), lambda: self.objects.append(copy.copy(it)), lambda: repr(it), lambda: bool(it),
            lambda: it.__init__(*self.keys()), lambda: hash(it), lambda: self.objects.append(pickled(it, r)), lambda: it != self.anything(),
            lambda: self.objects.append(type(it).__new__(type(it))), lambda: copy.deepcopy(it), lambda: iter(it), lambda: it < self.anything(),
        ])()  # fmt: skip

    def usual(self):
        """Calls that succeed, so that there is something to lose; checked at once."""
        r, it = self.random, self.random.choice(self.objects)
        if isinstance(it, self.roost.Filter) and not it.closed:
            keys = [r.randrange(10**6) for _ in range(r.choice([1, 5, 200]))]
            it.update(keys)
            if not all(it.contains_many(keys)) and self.alone:
                raise AssertionError("a key is lost")
            self.remember(it.to_bytes() if len(self.frames) < 40 else b"x")
            it.check()

    def streams(self):
        r, it = self.random, self.random.choice(self.objects)
        frame = self.frame()
        read = r.choice([io.BytesIO(b"\xd5" + bytes([len(frame) % 128]) + frame).read, io.BytesIO(os.urandom(3000)).read, Odd(r)])
        write = r.choice([len, lambda b: None, Odd(r), lambda b: len(b) // 2])
        r.choice([
            lambda: it.sync(read, write), lambda: it.serve(read, write), lambda: self.roost.reconcile_serve(self.keys(), read, write),
            lambda: self.roost.reconcile_stream(self.keys(), read, write), lambda: self.roost.reconcile(self.keys(), self.keys()),
            lambda: it.sync_with(r.choice(self.objects)), lambda: self.objects.append(self.roost.from_bytes(self.frame(), 1 << 24)),
        ])()  # fmt: skip

    def step(self, depth=0):
        what = self.random.choice([self.make, self.open, self.private, self.method, self.method, self.method, self.python, self.usual, self.streams])
        self.calls += 1
        try:
            what()
        except (self.roost.Error, *FINE):
            self.refusals += 1
        except RecursionError:
            pass
        if not depth:
            with contextlib.suppress(LookupError, ValueError):  # another thread was faster
                while len(self.objects) > 14:
                    del self.objects[self.random.randrange(len(self.objects))]
            while len(self.objects) < 3:
                self.objects.append(self.roost.Filter(kind="orcuckoo"))


def pickled(it, random):
    return pickle.loads(pickle.dumps(it, random.randrange(pickle.HIGHEST_PROTOCOL + 1)))


def run_threads(fuzzers, end, seconds):
    errors = []

    def work(fuzzer):
        try:
            while time.process_time() < end and not errors:
                fuzzer.step()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(fuzzer,), daemon=True) for fuzzer in fuzzers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120 + 20 * seconds)
        if thread.is_alive():
            faulthandler.dump_traceback()
            raise AssertionError("a thread waits for ever")
    if errors:
        raise errors[0]


def run(seconds, seed, threads=1):
    import warnings

    import roost
    import roost._roost

    warnings.simplefilter("ignore", ResourceWarning)
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for odd paths
        try:
            fuzzer = Fuzzer(roost, seed, folder, None if threads == 1 else [])
            others = [Fuzzer(roost, f"{seed} {i}", folder, fuzzer.objects) for i in range(1, threads)]
            end = time.process_time() + seconds  # of processor
            run_threads([fuzzer, *others], end, seconds)
            for it in fuzzer.objects:
                it.close(save=False)
            fuzzer.calls += sum(other.calls for other in others)
            fuzzer.refusals += sum(other.refusals for other in others)
        finally:
            os.chdir(home)
    return fuzzer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    print("seed", arguments.seed, flush=True)
    fuzzer = run(arguments.seconds, arguments.seed, arguments.threads)
    print(f"{fuzzer.calls} calls, {fuzzer.refusals} of them refused")
    return 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.environ.get("PYTHONPATH") or os.path.abspath(os.path.join(here, "..", "..", "..", "build", "bindings", "python")))
    sys.exit(main())
