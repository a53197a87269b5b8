"""Filters beside an exact set: one key, many keys, arrays."""

import array
import contextlib
import ctypes
import fractions
import time
import unittest

import roost
from settings import KINDS, generator, needs_numpy, numpy, python, rounds


def some_key(random):
    number = random.randrange(400)
    return random.choice([number, -number, str(number), f"ключ {number}", b"\x00" * number, bytearray(str(number), "ascii")])


class Slot(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("function", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item_size", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(Slot))]  # fmt: skip


def releasing(call):
    """A class whose objects have the buffer b"key", and which calls something when that is released.

    A __release_buffer__ does the same; Python has it since 3.12."""
    fill = ctypes.pythonapi.PyBuffer_FillInfo
    fill.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_int]
    get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)(
        lambda self, view, flags: fill(view, self, b"key", 3, 1, flags)
    )
    release = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)(lambda self, view: call())
    slots = (Slot * 3)((1, ctypes.cast(get, ctypes.c_void_p)), (2, ctypes.cast(release, ctypes.c_void_p)))
    make = ctypes.pythonapi.PyType_FromSpec
    make.argtypes, make.restype = [ctypes.POINTER(Spec)], ctypes.py_object
    made = make(Spec(b"tests.Releasing", object.__basicsize__, 0, 0, slots))
    made.functions = get, release  # as long as the class
    return made


class Keys(unittest.TestCase):
    def test_mapping(self):
        self.assertEqual(roost.key_bytes("swift"), b"swift")
        self.assertEqual(roost.key_bytes("Grüße"), "Grüße".encode())
        self.assertEqual(roost.key_bytes(b"a\0b"), b"a\0b")
        self.assertEqual(roost.key_bytes(bytearray(b"xyz")), b"xyz")
        self.assertEqual(roost.key_bytes(memoryview(b"xyz")[1:]), b"yz")
        self.assertEqual(roost.key_bytes(5), b"\5" + bytes(7))
        self.assertEqual(roost.key_bytes(-1), b"\xff" * 8)
        self.assertEqual(roost.key_bytes(2**64 - 1), b"\xff" * 8)
        self.assertEqual(roost.key_bytes(-(2**63)), bytes(7) + b"\x80")
        self.assertEqual(roost.key_bytes(True), roost.key_bytes(1))
        self.assertEqual(roost.key_bytes(""), b"")

    def test_index_and_subclasses(self):
        class Number:
            def __index__(self):
                return 77

        class Text(str):
            pass

        class Octets(bytes):
            pass

        self.assertEqual(roost.key_bytes(Number()), roost.key_bytes(77))
        self.assertEqual(roost.key_bytes(Text("swift")), b"swift")
        self.assertEqual(roost.key_bytes(Octets(b"swift")), b"swift")

    def test_same_key_in_every_call(self):
        for key in ("swift", "Grüße", b"\0", 17, -3, 2**64 - 1, bytearray(b"swift"), memoryview(b"swift")):
            one, many = roost.Filter(kind="orcuckoo"), roost.Filter(kind="orcuckoo")
            one.add(key)
            self.assertEqual(many.update([key]), 1)
            self.assertTrue(key in many and roost.key_bytes(key) in many)
            self.assertEqual(one.contains_many((key, "heron")), [True, False])
            self.assertEqual(many.remove_many(iter([key])), 1)
            one.remove(roost.key_bytes(key))
            self.assertNotIn(key, one)

    def test_refused(self):
        seen = roost.Filter()
        for key in (1.5, None, ("a",), {}, object(), [1], 1j, ctypes.c_int(5), ctypes.c_double(5)):
            for call in (seen.add, seen.__contains__, roost.key_bytes, lambda key: seen.update([key, "behind"])):
                with self.assertRaisesRegex(TypeError, "a key is str, int, bytes or another buffer, not"):
                    call(key)
        for key in (2**64, -(2**63) - 1, 10**40):
            with self.assertRaisesRegex(OverflowError, "from -2\\*\\*63 to 2\\*\\*64 - 1"):
                seen.add(key)
            with self.assertRaises(OverflowError):
                seen.update([key])
        with self.assertRaises(UnicodeEncodeError):
            seen.add("\ud800")
        view = memoryview(b"swift")
        view.release()
        with self.assertRaises(ValueError):
            seen.add(view)
        with self.assertRaises(BufferError):
            seen.add(memoryview(b"swiftswift")[::2])
        self.assertEqual(len(seen), 0)

    def test_name_that_is_no_text(self):
        class Meta(type):
            __name__ = property(lambda cls: 5)

        for call in (roost.Filter().add, lambda key: roost.Filter().update([key])):
            with self.assertRaisesRegex(TypeError, "not 5"):
                call(Meta("Nameless", (), {})())

    def test_buffers(self):
        class Pair(ctypes.Structure):
            _fields_ = [("a", ctypes.c_uint16), ("b", ctypes.c_uint16)]

        self.assertEqual(roost.key_bytes(Pair(1, 2)), b"\1\0\2\0")
        self.assertEqual(roost.key_bytes((ctypes.c_ubyte * 3)(1, 2, 3)), b"\1\2\3")
        self.assertEqual(roost.key_bytes(array.array("H", [1, 2])), b"\1\0\2\0")
        self.assertEqual(roost.key_bytes(memoryview(b"swiftheron").cast("B", (2, 5))), b"swiftheron")

    @needs_numpy
    def test_numpy(self):
        """A number of numpy is the key that the same number of Python is, or none; an array is its bytes."""
        for number in (numpy.int8(-5), numpy.uint64(2**64 - 1), numpy.int32(7), numpy.array(9)):
            self.assertEqual(roost.key_bytes(number), roost.key_bytes(int(number)))
        for number in (numpy.float64(5), numpy.float32(5), numpy.float16(5), numpy.complex128(5), numpy.array(5.0)):
            with self.assertRaises(TypeError):
                roost.key_bytes(number)
        row = numpy.arange(6, dtype="u1").reshape(2, 3)[1]
        self.assertEqual(roost.key_bytes(row), b"\3\4\5")
        self.assertEqual(roost.key_bytes(numpy.array([5])), roost.key_bytes(5))
        self.assertEqual(roost.key_bytes(numpy.str_("Grüße")), "Grüße".encode())
        self.assertEqual(roost.key_bytes(numpy.bytes_(b"swift")), b"swift")

    def test_key_that_raises(self):
        class Bad:
            def __index__(self):
                raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            roost.Filter().add(Bad())
        with self.assertRaises(ZeroDivisionError):
            roost.Filter().update([1, Bad()])


class Semantics(unittest.TestCase):
    def test_what_wins(self):
        for semantics, wins in (None, True), ("add-wins", True), ("remove-wins", False), ("last-writer-wins", False):
            with self.subTest(semantics=semantics):
                here, there = (roost.Filter(kind="orcuckoo", semantics=semantics) for _ in range(2))
                here.add("swift")
                there.merge(here)
                here.add("swift")
                time.sleep(0.001)  # the later of the two
                self.assertTrue(there.discard("swift"))
                self.assertFalse(there.discard("never there"))
                here.merge(there)
                there.merge(here)
                self.assertEqual(here, there)
                self.assertEqual("swift" in here, wins)
                there.update(["swift"])
                here.merge(there)
                self.assertIn("swift", here)
                self.assertEqual(here.info()["semantics"], semantics or "add-wins")
                with self.assertRaises(roost.MismatchError):
                    here.merge(roost.Filter(kind="orcuckoo", semantics="add-wins" if semantics == "remove-wins" else "remove-wins"))

    def test_where_the_last_writer_wins_each_call_has_its_time(self):
        calls = {"add": True, "update": True, "discard": False, "remove": False, "remove_many": False}
        for name, adds in calls.items():
            with self.subTest(call=name):
                here, there = (roost.Filter(kind="orcuckoo", semantics="last-writer-wins") for _ in range(2))
                here.add("swift")
                there.merge(here)
                time.sleep(0.001)
                for _ in range(5):  # by the clock, not by how often each has changed
                    here.discard("swift") if adds else here.add("swift")
                time.sleep(0.001)
                getattr(there, name)(["swift"] if name.endswith("many") or name == "update" else "swift")
                here.merge(there)
                self.assertEqual("swift" in here, adds)


class Model(unittest.TestCase):
    """Random calls on a filter and on an exact set: nothing is lost, and few keys are found that were not added."""

    def walk(self, options, random, steps):
        seen, model = roost.Filter(**options), {}
        removes = options.get("kind") == "orcuckoo"
        copies = options.get("multiset", False)
        for _ in range(steps):
            key = some_key(random)
            name = roost.key_bytes(key)
            step = random.randrange(8)
            if step < 3:
                seen.add(key)
                model[name] = model.get(name, 0) + 1
            elif step == 3:
                keys = [some_key(random) for _ in range(random.choice([0, 1, 5, 40]))]
                seen.update(random.choice([list, tuple, iter])(keys))
                for each in map(roost.key_bytes, keys):
                    model[each] = model.get(each, 0) + 1
            elif step == 4 and removes and name in model:
                if copies and random.random() < 0.5:
                    self.assertTrue(seen.remove_one(key))
                    model[name] -= 1
                    if not model[name]:
                        del model[name]
                else:
                    self.assertTrue(seen.discard(key))
                    del model[name]
            elif step == 5 and random.random() < 0.1:
                seen = random.choice([roost.Filter.copy, lambda it: roost.from_bytes(it.to_bytes())])(seen)
            self.assertTrue(name not in model or key in seen)
        self.assertTrue(all(seen.contains_many(list(model))))
        if copies:
            for name, count in model.items():
                self.assertGreaterEqual(seen.count(name), count)
        strangers = [f"stranger {i}" for i in range(2000)]
        if seen.info()["promise_holds"]:  # each copy of a scalable Bloom filter is one more writer
            self.assertLess(sum(seen.contains_many(strangers)), 80)
        seen.check()
        return seen, model

    def test_all_kinds(self):
        random = generator("model")
        for options in KINDS:
            with self.subTest(**options):
                seen, model = self.walk(options, random, rounds(300, 5000))
                if not options.get("multiset") and seen.info()["promise_holds"]:
                    self.assertLess(abs(len(seen) - len(model)), 30 + len(model) / 5)

    def test_full(self):
        seen = roost.Filter(capacity=100, kind="cuckoo")
        with self.assertRaisesRegex(roost.FullError, "keys of the batch were done") as caught:
            seen.update(range(10_000))
        done = int(str(caught.exception).split(": ")[1].split()[0])
        self.assertGreaterEqual(done, 100)
        self.assertTrue(all(seen.contains_many(range(done))))
        with self.assertRaises(roost.FullError):
            for i in range(10_000):
                seen.add(i)

    def test_refused_while_its_buffer_closes_the_filter(self):
        def close():
            seen.close()
            others.append(roost.Filter(50, **options))  # where it was in memory

        Closing, others = releasing(close), []
        for options, add in (({"kind": "cuckoo"}, "add"), ({"kind": "orcuckoo"}, "add"), ({"kind": "orcuckoo"}, "add_dot")):
            seen = roost.Filter(8, **options)
            with self.subTest(add, **options), self.assertRaisesRegex(roost.FullError, "it was made for 8 keys"):
                for key in range(100):
                    with contextlib.suppress(roost.FullError):
                        seen.add(key)
                getattr(seen, add)(Closing())

    def test_numbers_that_are_in_no_dot(self):
        seen = roost.Filter(kind="orcuckoo")
        actor, counter = seen.add_dot("swift")
        for dot in ((actor + 2**64, counter), (actor, counter - 2**64), (2**100, -1)):
            self.assertRaises(OverflowError, seen.remove_dot, "swift", dot)
        for dot in ((actor,), 5, (actor, 1.0), (None, counter), "ab"):
            self.assertRaises(TypeError, seen.remove_dot, "swift", dot)
        self.assertIn("swift", seen)
        self.assertTrue(seen.remove_dot("swift", [actor, counter]))

    def test_dots(self):
        seen = roost.Filter(kind="orcuckoo")
        dot = seen.add_dot("swift")
        self.assertTrue(seen.remove_dot("swift", dot))
        self.assertFalse(seen.remove_dot("swift", dot))
        self.assertNotIn("swift", seen)


class Arrays(unittest.TestCase):
    def same(self, keys, objects, **options):
        one, other = roost.Filter(capacity=4000, **options), roost.Filter(capacity=4000, **options)
        objects = list(objects)
        self.assertEqual(one.update(keys), other.update(objects))
        self.assertEqual(one.digest(), other.digest())
        answers = one.contains_many(keys)
        self.assertIsInstance(answers, memoryview)
        self.assertEqual((answers.format, len(answers)), ("?", len(objects)))
        self.assertTrue(all(answers))

    def test_array(self):
        for code in "bBhHiIlLqQ":
            numbers = [0, 1, 100, 127] if code.isupper() else [0, -1, -128, 127]
            self.same(array.array(code, numbers), numbers)
        self.same(array.array("q", range(3000)), range(3000))
        self.same(memoryview(array.array("i", range(100)))[::-3], list(range(100))[::-3])
        self.same(array.array("q"), [])

    def test_rows(self):
        rows = [bytes([i]) * 16 for i in range(50)]
        self.same(memoryview(b"".join(rows)).cast("B", (50, 16)), rows)

    def test_ctypes(self):
        self.same((ctypes.c_int64 * 4)(1, 2, -3, 4), [1, 2, -3, 4])
        self.same((ctypes.c_uint16 * 3)(1, 2, 65535), [1, 2, 65535])
        self.same(((ctypes.c_ubyte * 4) * 2)((1, 2, 3, 4), (5, 6, 7, 8)), [b"\1\2\3\4", b"\5\6\7\x08"])

    @needs_numpy
    def test_numpy(self):
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">u8", ">i2"):
            self.same(numpy.arange(100).astype(kind), range(100))
        self.same(numpy.arange(-50, 50), range(-50, 50))
        self.same(numpy.arange(1000)[::7], range(0, 1000, 7))
        self.same(numpy.array([b"swift", b"martin", b"a\0b", b""]), [b"swift", b"martin", b"a\0b", b""])
        self.same(numpy.array(["swift", "Grüße", "燕", "\U0001f426", ""]), ["swift", "Grüße", "燕", "\U0001f426", ""])
        self.same(numpy.array(["swift", "Grüße"]).astype(">U9"), ["swift", "Grüße"])
        self.same(numpy.array([f"ключ {i}" for i in range(3000)]), [f"ключ {i}" for i in range(3000)])
        self.same(numpy.arange(64, dtype="u1").reshape(4, 16), [bytes(range(i, i + 16)) for i in range(0, 64, 16)])
        seen = roost.Filter()
        seen.add(numpy.int32(5))
        self.assertIn(5, seen)
        answers = numpy.asarray(seen.contains_many(numpy.array([4, 5])))
        self.assertEqual((answers.dtype, answers.tolist()), (numpy.bool_, [False, True]))

    @needs_numpy
    def test_numpy_refused(self):
        seen = roost.Filter()
        for keys in (numpy.zeros(3), numpy.zeros(3, bool), numpy.zeros(3, complex), numpy.zeros(3, "i4,i4")):
            with self.assertRaisesRegex(TypeError, "integers, bytes or text"):
                seen.update(keys)
        for keys in (numpy.zeros((2, 2, 2), "u1"), numpy.array(5), numpy.arange(64, dtype="u1").reshape(4, 16)[:, ::2]):
            with self.assertRaises(ValueError):
                seen.update(keys)
        with self.assertRaisesRegex(TypeError, "flatten it"):
            seen.update(numpy.zeros((2, 2), "i4"))
        with self.assertRaisesRegex(ValueError, "item 1 .* surrogate"):
            seen.update(numpy.array(["fine", "\ud800"]))
        with self.assertRaises((TypeError, ValueError)):
            seen.update(numpy.array([{}, None]))
        self.assertIn("fine", seen)

    def test_released(self):
        view = memoryview(array.array("q", [1]))
        view.release()
        for call in (roost.Filter().update, roost.Filter().contains_many):
            with self.assertRaises(ValueError):
                call(view)

    def test_held_while_used(self):
        numbers = array.array("q", range(10))
        roost.Filter().update(numbers)
        numbers.append(10)  # no export is left


class Iterables(unittest.TestCase):
    def test_one_key_is_no_batch(self):
        seen = roost.Filter()
        for call in (seen.update, seen.contains_many, seen.remove_many):
            for keys in ("swift", b"swift", bytearray(b"swift")):
                with self.assertRaisesRegex(TypeError, "one str or bytes is one key"):
                    call(keys)
            with self.assertRaises(TypeError):
                call(5)

    def test_error_keeps_what_came_before(self):
        def keys():
            yield from range(5000)
            raise LookupError("enough")

        seen = roost.Filter()
        with self.assertRaisesRegex(LookupError, "enough"):
            seen.update(keys())
        self.assertTrue(all(seen.contains_many(range(5000))))
        for keys in ([1, 2, None, 3], (1, 2, 2.5, 3), iter([1, 2, 2**70, 3]), [1, 2, "\ud800", 3]):
            seen = roost.Filter(kind="orcuckoo")
            with self.assertRaises((TypeError, ValueError, OverflowError)):
                seen.update(keys)
            self.assertEqual(seen.contains_many([1, 2, 3]), [True, True, False])
            with self.assertRaises(TypeError):
                seen.contains_many([1, None])
            with self.assertRaises(TypeError):
                seen.remove_many([1, None, 2])
            self.assertEqual(seen.contains_many([1, 2]), [False, True])

    def test_the_earliest_error_is_raised(self):
        full = roost.Filter(capacity=10, kind="cuckoo")
        with self.assertRaisesRegex(roost.FullError, "keys of the batch were done"):
            full.update([*range(1000), None])

    def interrupted(self, keys, calls):
        """Batches that a signal ends, after some time of the processor: without it they have no end."""
        python(f"""
            import itertools, roost, signal
            class Enough(Exception): pass
            def end(*_):
                raise Enough
            signal.signal(signal.SIGVTALRM, end)
            seen = roost.Filter(capacity=100)
            for call in {calls}:
                keys = {keys}
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
                try:
                    call(keys)
                except Enough:
                    seen.check()
            """)

    def test_interrupted(self):
        self.interrupted("itertools.repeat('swift')", "seen.update, seen.contains_many")

    @needs_numpy
    def test_array_interrupted(self):
        self.interrupted("__import__('numpy').broadcast_to(5, 10**15)", "[seen.update]")

    @needs_numpy
    def test_look_ups_of_an_array_interrupted(self):
        """Their answers take memory, so the array has an end: most of it is left when the signal comes."""
        python("""
            import numpy, roost, signal, time
            class Enough(Exception): pass
            def end(*_):
                raise Enough
            signal.signal(signal.SIGVTALRM, end)
            seen = roost.Filter(capacity=100)
            def spent(count):
                before = time.process_time()
                seen.contains_many(numpy.broadcast_to(5, count))
                return time.process_time() - before
            whole = 40 * min(spent(5 * 10**6) for _ in range(3))
            before = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, whole / 20)
            try:
                spent(40 * 5 * 10**6)
                raise SystemExit("a signal did not end the look-ups")
            except Enough:
                assert time.process_time() - before < whole / 2, "a signal came late"
            """)

    def test_iterable_uses_the_filter(self):
        seen = roost.Filter()

        def keys(depth):
            for i in range(50):
                yield i
                if depth and i % 10 == 0:
                    seen.update(keys(depth - 1))
                seen.add(f"{depth} {i}")

        seen.update(keys(3))
        self.assertTrue(all(seen.contains_many(f"{depth} {i}" for i in range(50) for depth in range(4))))

    def test_list_that_shrinks(self):
        keys = [str(i) for i in range(100)]

        class Number:
            def __index__(self):
                keys.clear()
                return 1

        keys[50] = Number()
        self.assertEqual(roost.Filter().update(keys), 51)

    def test_list_whose_objects_are_replaced(self):
        keys = [str(i) for i in range(3000)]

        class Replaces:
            def __index__(self):
                keys[1000:] = ["new"] * 5  # and the old ones are freed
                return 1

        keys[999] = Replaces()
        seen = roost.Filter()
        self.assertEqual(seen.update(keys), 1001)
        self.assertTrue("new" in seen and "998" in seen and "1000" not in seen)

    def test_closed_by_its_iterable(self):
        seen = roost.Filter()

        def keys():
            yield from range(2000)
            seen.close()
            yield 1

        with self.assertRaisesRegex(ValueError, "closed"):
            seen.update(keys())


class Options(unittest.TestCase):
    def test_invalid(self):
        for options, text in [
            ({"capacity": 0}, "capacity: must be from 1"),
            ({"capacity": -5}, "capacity"),
            ({"capacity": 1.5}, "whole number"),
            ({"capacity": float("nan")}, "capacity"),
            ({"capacity": 10**30}, "capacity"),
            ({"fpr": 0}, "fpr: must be above 0"),
            ({"fpr": 1}, "fpr"),
            ({"fpr": float("nan")}, "fpr"),
            ({"fpr": 10**400}, "fpr: must be above 0"),
            ({"fpr": fractions.Fraction(1, 10**400)}, "fpr: must be above 0"),
            ({"fpr": 1e-300}, "rate of 1e-300"),
            ({"capacity": 9, "fpr": 1e-12}, "classic"),
            ({"kind": "blom"}, "kind: must be 'bloom', 'cuckoo', 'orcuckoo', not 'blom'"),
            ({"kind": "cuckoo", "layout": "classic"}, "layout: only for kind 'bloom'"),
            ({"capacity": 9, "bits": 8}, "bits: only"),
            ({"kind": "cuckoo", "capacity": 9, "bits": 3}, "bits: must be from 4 to 32"),
            ({"kind": "cuckoo", "capacity": 9, "bits": 8, "fpr": 1e-9}, "8 bits cannot keep"),
            ({"kind": "cuckoo", "capacity": 9, "bucket": 3}, "1, 2, 4 or 8"),
            ({"kind": "cuckoo", "bits": 8}, "bits: not for"),
            ({"kind": "orcuckoo", "capacity": 9, "entry": 32}, "multiset"),
            ({"kind": "orcuckoo", "capacity": 9, "entry": 48}, "32 or 64"),
            ({"multiset": True}, "multiset: only"),
            ({"semantics": "remove-wins"}, "semantics: only"),
            ({"kind": "orcuckoo", "semantics": "mine"}, "semantics: must be 'add-wins', 'remove-wins', 'last-writer-wins'"),
            ({"kind": "orcuckoo", "semantics": "remove-wins", "capacity": 9}, "scalable=True"),
            ({"kind": "orcuckoo", "semantics": "last-writer-wins", "multiset": True}, "leave multiset out"),
            ({"capacity": 9, "growth": 2}, "growth: only"),
            ({"writers": 0}, "writers"),
            ({"kind": "bloom", "capacity": 2, "scalable": True}, "at least 4"),
            ({"seed": -1}, "seed"),
        ]:
            with self.subTest(**options):
                with self.assertRaisesRegex(roost.InvalidError, text):
                    roost.Filter(**options)

    def test_errors_say_what_to_do(self):
        def full():
            full = roost.Filter(8, kind="cuckoo")
            for key in range(1000):
                full.add(key)

        for call, text in (
            (lambda: roost.Filter(100) | roost.Filter(), "one has a capacity of 100, and the other grows"),
            (lambda: roost.Filter(100) | roost.Filter(200), "capacity 100 and 200"),
            (lambda: roost.Filter.from_bytes(roost.Window(60).to_bytes()), "^these are the bytes of a Window; use Window.from_bytes"),
            (lambda: roost.Filter(1e18), "give a smaller capacity, or none"),
            (full, "it was made for 8 keys; give a larger capacity"),
            (lambda: roost.Filter().reset_replica(), "for objects of roost.open"),
            (lambda: roost.Filter().update(memoryview(bytes(16)).cast("q", (1, 2))), "flatten it"),
        ):
            with self.assertRaisesRegex((roost.Error, TypeError), text):
                call()

    def test_types(self):
        for options in ({"capacity": "many"}, {"fpr": "low"}, {"kind": 3}, {"seed": 1j}, {"bits": None, "nonsense": 1}):
            with self.assertRaises(TypeError):
                roost.Filter(**options)
        self.assertTrue(issubclass(roost.InvalidError, ValueError) and issubclass(roost.InvalidError, roost.Error))

    @needs_numpy
    def test_numpy_numbers(self):
        self.assertEqual(
            roost.Filter(numpy.int64(1000), numpy.float32(0.5)).info()["capacity"], roost.Filter(1000, 0.5).info()["capacity"]
        )

    def test_beyond_memory(self):
        for kind in ("bloom", "cuckoo", "orcuckoo"):
            with self.assertRaises(MemoryError) as caught:
                roost.Filter(capacity=2**62, kind=kind)
            self.assertIsInstance(caught.exception, roost.TooLargeError)
        frame = roost.Filter(capacity=10**6).to_bytes()
        with self.assertRaises(roost.TooLargeError):
            roost.from_bytes(frame, memory_limit=1000)

    def test_private_constructors(self):
        from roost import _roost

        for bad in [(9, 1, 100, 0.1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0), (1, 77, 100, 0.1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0),
                    (2, 1, 100, 7.0, 0, 99, 3, 5, 0, 1, 0, 9, 9, 0), (6, 1, 100, 0.1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0),
                    (3, 1, 100, 0.1, 0, 0, 4, 0, 0, 1, 0, 0, 0, 3), (2, 1, 100, 0.1, 0, 0, 4, 0, 0, 1, 0, 0, 0, 1)]:
            with self.assertRaises(roost.InvalidError):
                _roost.Filter(*bad)
        for call in (_roost.Filter, _roost.Window, _roost.Counter, _roost.Sync, _roost.Session, _roost.open_file, _roost.set_classes):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(TypeError):
            _roost.set_classes(int, str, bytes)
        empty = roost.Filter.__new__(roost.Filter)
        with self.assertRaisesRegex(ValueError, "closed"):
            empty.add(1)
        with self.assertRaises(TypeError):
            roost.Filter(9).__init__(9)


if __name__ == "__main__":
    unittest.main()
