"""Merges, deltas, frames, pickles, sync, windows, counters, reconciliation: replicas in one process."""

import copy
import datetime
import pickle
import socket
import sys
import threading
import unittest

import roost
from roost._streams import Stream
from settings import KINDS, generator, numpy, rounds


def filled(options, keys):
    seen = roost.Filter(**options)
    seen.update(keys)
    return seen


class Seen(roost.Filter):
    def __init__(self, note, **options):
        super().__init__(**options)
        self.note = note


class Slotted(roost.Filter):
    __slots__ = ("note",)


class Lattice(unittest.TestCase):
    def test_laws(self):
        for options in KINDS:
            with self.subTest(**options):
                a, b, c = (filled(options, range(i * 40, i * 40 + 60)) for i in range(3))
                self.assertEqual((a | b) | c, a | (b | c))
                self.assertEqual(a | b, b | a)
                self.assertEqual(a | a, a)
                self.assertEqual((a | b).to_bytes(), (b | a).to_bytes())
                self.assertEqual((a | b).digest(), (b | a).digest())
                self.assertTrue(a <= a | b and a < a | b and a | b >= b and a | b > b)
                self.assertFalse(a <= b or b <= a or a == b or a < a)
                self.assertTrue(a != b and a <= a and a >= a)
                before = c.digest()
                both = a
                both |= b
                self.assertIs(both, a)
                self.assertTrue(b <= a)
                self.assertFalse(a.merge(b))
                self.assertTrue(a.merge(c.to_bytes()))
                self.assertEqual(c.digest(), before)
                self.assertTrue(all(a.contains_many(range(140))))

    def test_itself(self):
        a = filled({}, range(10))
        before = a.digest()
        a |= a
        self.assertFalse(a.merge(a))
        self.assertTrue(a == a and a.digest() == before and not a < a)

    def test_removal_wins_over_what_was_seen(self):
        here, there = roost.Filter(kind="orcuckoo"), roost.Filter(kind="orcuckoo")
        here.update(["swift", "martin"])
        there |= here
        there.remove("swift")
        here.add("heron")
        here |= there
        self.assertEqual(here.contains_many(["swift", "martin", "heron"]), [False, True, True])

    def test_mismatch(self):
        one = roost.Filter(capacity=100)
        before = one.digest()
        for other, text in [
            (roost.Filter(), "one has a capacity of 100, and the other grows"),
            (roost.Filter(capacity=100, scalable=True, kind="bloom"), "the other grows"),
            (roost.Filter(capacity=5000), "capacity"),
            (roost.Filter(capacity=100, fpr=0.2), "fpr 0.01 and 0.2"),
            (roost.Filter(capacity=100, seed=7), "seed"),
            (roost.Filter(capacity=100, layout="classic"), "layout blocked and classic"),
            (roost.Window(60), "kind bloom and window"),
            (roost.Counter(60), "counter"),
        ]:
            for call in (lambda: one | other, lambda: one.merge(other), lambda: one <= other, lambda: one.merge(other.to_bytes())):
                with self.assertRaisesRegex(roost.MismatchError, text):
                    call()
            self.assertFalse(one == other)
        with self.assertRaisesRegex(roost.MismatchError, "window"):
            roost.Window(60).merge(roost.Window(61))
        with self.assertRaisesRegex(roost.MismatchError, "past 3 and 9"):
            roost.Window(60).merge(roost.Window(60, past=9))
        for other in (5, {1}, "swift", None):
            with self.assertRaises(TypeError):
                one | other
            with self.assertRaises(TypeError):
                one <= other
            self.assertFalse(one == other)
            self.assertTrue(one != other)
        for other in (5, {1}, "swift", None):
            with self.assertRaises(TypeError):
                one.merge(other)
        self.assertEqual(one.digest(), before)
        with self.assertRaises(TypeError):
            hash(one)

    def test_mismatch_in_an_option_that_few_set(self):
        cuckoo, orcuckoo = {"kind": "cuckoo", "capacity": 100, "fpr": 0.01}, {"kind": "orcuckoo", "capacity": 100}
        grows = {"kind": "bloom", "capacity": 100, "scalable": True}
        for common, ours, theirs, text in [
            (cuckoo, {"bits": 12}, {"bits": 14}, "bits 12 and 14"),
            (cuckoo, {"bucket": 2}, {"bucket": 8}, "bucket 2 and 8"),
            (orcuckoo, {}, {"multiset": True}, "multiset False and True"),
            ({**orcuckoo, "multiset": True}, {"entry": 64, "bits": 8}, {"entry": 32, "bits": 8}, "entry 64 and 32"),
            (grows, {"writers": 1}, {"writers": 2}, "writers 1 and 2"),
            (grows, {"growth": 2}, {"growth": 4}, "growth 2 and 4"),
            (grows, {}, {"schedule": "halving"}, "schedule quadratic and halving"),
        ]:
            with self.assertRaisesRegex(roost.MismatchError, f": {text}$"):
                roost.Filter(**common, **ours).merge(roost.Filter(**common, **theirs))

    def test_kinds_are_apart(self):
        """An object never gets the methods of another kind, whose calls the library asserts."""
        for one, other in ((roost.Filter, roost.Window), (roost.Window, roost.Counter), (roost.Filter, roost.Counter)):
            for bases in ((one, other), (one.__mro__[-3], other.__mro__[-3])):
                with self.assertRaisesRegex(TypeError, "lay-?out"):
                    type("Both", bases, {})
        seen = roost.Filter()
        for other in (roost.Window, roost.Counter, roost.Replica):
            with self.assertRaisesRegex(TypeError, "layout differs"):
                seen.__class__ = other

        class Seen(roost.Filter):
            __slots__ = ()

        seen.__class__ = Seen
        self.assertTrue(seen.add("swift"))

    def test_unsupported(self):
        for options in ({"capacity": 9}, {}):
            seen = roost.Filter(**options)
            for call in (seen.remove, seen.discard, seen.remove_one, seen.add_dot):
                with self.assertRaises(roost.UnsupportedError) as caught:
                    call("swift")
                self.assertIsInstance(caught.exception, TypeError)
            with self.assertRaises(roost.UnsupportedError):
                seen.remove_many(["swift"])
        with self.assertRaisesRegex(KeyError, "swift"):
            roost.Filter(kind="orcuckoo").remove("swift")


class Frames(unittest.TestCase):
    def everything(self):
        for options in KINDS:
            yield filled(options, range(60))
        window = roost.Window(60)
        window.update(range(60), time=1000)
        yield window
        counter = roost.Counter(60)
        counter.increment("a", 7)
        yield counter

    def test_round_trips(self):
        for seen in self.everything():
            for other in (
                type(seen).from_bytes(seen.to_bytes()),
                roost.from_bytes(bytearray(seen.to_bytes())),
                pickle.loads(pickle.dumps(seen)),
                pickle.loads(pickle.dumps(seen, 2)),
                copy.copy(seen),
                copy.deepcopy(seen),
                seen.copy(),
            ):
                self.assertIs(type(other), type(seen))
                self.assertEqual((other, other.digest(), other.to_bytes()), (seen, seen.digest(), seen.to_bytes()))
            self.assertIn(type(seen).__name__, repr(seen))
            self.assertEqual(len(seen.digest()), 32)

    def test_copies_are_apart(self):
        one = filled({"kind": "orcuckoo"}, range(10))
        other = one.copy()
        one.add("one"), other.add("other")
        both = one | other
        self.assertTrue("one" in both and "other" in both)

    def test_subclass(self):
        one = Seen("note", capacity=10)
        one.add("swift")
        one.itself = one
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            other = pickle.loads(pickle.dumps(one, protocol))
            self.assertEqual((type(other), other.note, other), (Seen, "note", one))
            self.assertIs(other.itself, other)
        self.assertIs(copy.copy(one).itself, one)
        deep = copy.deepcopy(one)
        self.assertEqual((deep.itself, deep.note, deep), (deep, "note", one))
        slotted = Slotted(capacity=10)
        slotted.note = ["note"]
        for call in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
            self.assertEqual(call(slotted), slotted)
            if sys.version_info >= (3, 11):
                self.assertEqual(call(slotted).note, ["note"])
        self.assertIs(type(one.copy()), Seen)
        self.assertIs(type(Seen.from_bytes(one.to_bytes())), Seen)

    def test_pickles_name_the_package(self):
        for it in (roost.Filter(), roost.Window(60), roost.Counter(60), roost.reconcile([], []), roost.Filter().sync_with(roost.Filter())):
            self.assertNotIn(b"roost._objects", pickle.dumps(it, 0))
            self.assertEqual(pickle.loads(pickle.dumps(it)), it)

    def test_cut_and_changed(self):
        random = generator("frames")
        for seen in self.everything():
            frame, before = seen.to_bytes(), seen.digest()
            for size in [*range(0, min(len(frame), 60)), *(random.randrange(len(frame)) for _ in range(rounds(10, 500)))]:
                for call in (roost.from_bytes, seen.merge, type(seen).from_bytes):
                    with self.assertRaises(roost.FrameError) as caught:
                        call(frame[:size])
                    self.assertIsInstance(caught.exception, ValueError)
            for _ in range(rounds(40, 2000)):
                changed = bytearray(frame)
                changed[random.randrange(len(frame))] ^= 1 << random.randrange(8)
                with self.assertRaises((roost.Error, MemoryError)):
                    roost.from_bytes(changed)
                with self.assertRaises((roost.Error, MemoryError)):
                    seen.merge(changed)
            with self.assertRaises(roost.FrameError):
                roost.from_bytes(frame + b"x")
            self.assertEqual(seen.digest(), before)

    def test_another_kind(self):
        for cls, other in ((roost.Filter, roost.Window(60)), (roost.Window, roost.Counter(60)), (roost.Counter, roost.Filter())):
            with self.assertRaisesRegex(roost.MismatchError, f"bytes of a {type(other).__name__}"):
                cls.from_bytes(other.to_bytes())
        with self.assertRaises(roost.Error):
            roost.Replica.from_bytes(roost.Filter().to_bytes())
        for bad in ("text", 5, None, [1]):
            with self.assertRaises(TypeError):
                roost.from_bytes(bad)
        with self.assertRaises(roost.InvalidError):
            roost.from_bytes(roost.Filter().to_bytes(), memory_limit=-1)


class Deltas(unittest.TestCase):
    def test_deltas(self):
        for options in KINDS:
            with self.subTest(**options):
                here, there = filled(options, range(300)), roost.Filter(**options)
                whole, cursor = here.delta()
                there.merge(whole)
                for i in range(5):
                    here.update(range(1000 + i * 5, 1005 + i * 5))
                    changes, cursor = here.delta(cursor)
                    self.assertLess(len(changes), len(whole))
                    self.assertTrue(there.merge(changes))
                    self.assertFalse(there.merge(changes))
                    self.assertTrue(all(there.contains_many(range(1000 + i * 5, 1005 + i * 5))))
                if not (options.get("kind") == "bloom" and "layout" not in options):
                    self.assertTrue(there >= here)

    def test_cursors(self):
        here = filled({}, range(10))
        cursor = here.cursor()
        self.assertEqual((type(cursor), len(cursor)), (bytes, 16))
        stranger = roost.Filter().cursor()
        for old in (None, stranger, bytes(16), b"\xff" * 16):
            changes, _ = here.delta(old)
            self.assertTrue(all(roost.from_bytes(changes).contains_many(range(10))))
        for bad, error in ((b"short", ValueError), (b"x" * 17, ValueError), (5, TypeError), ("text", TypeError)):
            with self.assertRaises(error):
                here.delta(bad)


class Sync(unittest.TestCase):
    def pair(self, here, there):
        """Over sockets: there serves on a thread of its own."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            server = threading.Thread(target=there.serve, args=(theirs.recv, theirs.send))
            server.start()
            result = here.sync(ours.recv, ours.sendall)
            ours.close()
            server.join()
        return result

    def test_all_kinds(self):
        for options in KINDS:
            with self.subTest(**options):
                here, there = filled(options, range(100)), filled(options, range(50, 150))
                result = self.pair(here, there)
                self.assertTrue(result.equal and result.changed and result.rounds and result.sent and result.received)
                self.assertEqual(here, there)
                self.assertTrue(all(here.contains_many(range(150))))

    def test_large_messages(self):
        here, there = filled({"capacity": 3_000_000}, ["a"]), filled({"capacity": 3_000_000}, range(200_000))
        self.assertTrue(self.pair(here, there).equal)
        self.assertEqual(here, there)

    def test_memory(self):
        here, there = filled({}, range(5000)), filled({}, range(5000, 5100))
        first = here.sync_with(there)
        there.add("swift")
        second = here.sync_with(there, first.memory)
        self.assertTrue(second.equal and "swift" in here)
        self.assertLess(second.sent + second.received, first.sent + first.received)
        self.assertTrue(here.sync_with(there, bytes(10)).equal)  # a memory of nothing that is known costs bytes alone
        self.assertTrue(here.sync_with(here).equal)

    def test_windows_and_counters(self):
        one, other = roost.Window(3600), roost.Window(3600)
        one.add("a"), other.add("b")
        self.assertTrue(self.pair(one, other).equal)
        self.assertTrue("b" in one and "a" in other)
        one, other = roost.Counter(3600), roost.Counter(3600)
        one.increment("a", 3), other.increment("b", 4)
        self.assertTrue(one.sync_with(other).equal)
        self.assertEqual((one.value, int(other)), (7, 7))

    def test_refused(self):
        here = filled({}, range(10))
        before = here.digest()
        with self.assertRaises(TypeError):
            here.sync(1, 2)
        with self.assertRaisesRegex(roost.ProtocolError, "closed the connection"):
            here.sync(lambda n: b"", lambda b: None)
        with self.assertRaisesRegex(roost.ProtocolError, "not the beginning"):
            here.sync(lambda n: b"x", lambda b: None)
        with self.assertRaisesRegex(TypeError, "must return bytes"):
            here.sync(lambda n: "text", lambda b: None)
        with self.assertRaisesRegex(roost.ProtocolError, "returned 5 bytes"):
            here.sync(lambda n: b"12345", lambda b: None)
        with self.assertRaisesRegex(roost.ProtocolError, "write"):
            here.sync(lambda n: b"", lambda b: 0)
        with self.assertRaises(ZeroDivisionError):
            here.sync(lambda n: 1 // 0, lambda b: None)
        with self.assertRaises(roost.Error):
            here.sync_with(roost.Filter(capacity=10))
        for message in (b"", b"x", bytes(100), b"\xff" * 50):
            try:
                here.reply(message)  # a refusal, or a message that tells the peer
            except roost.Error:
                pass
        with self.assertRaises(TypeError):
            here.reply("text")
        self.assertEqual(here.digest(), before)

    def test_closed_meanwhile(self):
        from roost import _roost

        here, there = filled({}, range(10)), filled({}, range(20))
        exchange = _roost.Sync(here, None)
        request = exchange.next(None)
        here.close()
        for call in (lambda: exchange.next(there.reply(request)), exchange.result, exchange.memory):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        del here
        exchange = _roost.Sync(there, None)
        del there  # the exchange keeps it
        self.assertIsInstance(exchange.next(None), bytes)
        with self.assertRaises(TypeError):
            exchange.next(5)

    def test_stream(self):
        pieces = []

        def write(piece):
            pieces.append(piece[:1000])
            return len(pieces[-1])

        message = bytes(range(256)) * 20
        Stream(lambda n: b"", write).send(message)
        whole = b"".join(pieces)
        place = 0

        def read(most):
            nonlocal place
            piece = whole[place : place + min(most, 777)]
            place += len(piece)
            return piece

        stream = Stream(read, write)
        self.assertEqual((stream.receive(), stream.receive()), (message, None))
        for bad in (b"\xd5", b"\xd5\x00", b"\xd5\x05abc", b"\xd5" + b"\xff" * 11, b"\xd5" + b"\xff" * 9 + b"\x01"):
            at = iter([bytes([byte]) for byte in bad])
            with self.assertRaises(roost.ProtocolError):
                Stream(lambda n: next(at, b""), write).receive()


class Windows(unittest.TestCase):
    def test_forgets(self):
        random = generator("windows")
        window, model, now = roost.Window(100, capacity=500), {}, 1_000_000.0
        for _ in range(rounds(800, 20000)):
            now += random.random()
            key = random.randrange(300)
            was_new = window.add(key, time=now)
            if key in model and now - model[key] <= 100:
                self.assertFalse(was_new)
            model[key] = now
            if random.random() < 0.1:
                live = [key for key, time in model.items() if now - time <= 100]
                self.assertTrue(all(window.contains_many(live, time=now)))
        gone = [key for key, time in model.items() if now + 1000 - time > 300]
        self.assertFalse(any(window.contains_many(gone, time=now + 1000)))

    def test_times(self):
        noon = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone.utc)
        window = roost.Window(datetime.timedelta(hours=1))
        self.assertTrue(window.add("swift", noon))
        self.assertTrue(window.contains("swift", noon + datetime.timedelta(minutes=30)))
        self.assertFalse(window.contains("swift", noon.timestamp() + 9 * 3600))
        self.assertEqual(window.update(["swift", "heron"], noon), 1)
        with self.assertRaises(roost.ClockError):
            window.add("late", noon + datetime.timedelta(days=400))
        self.assertTrue(window.add("late", resume=True))
        self.assertIn("late", window)
        with self.assertRaises(roost.ClockError):
            window.add("early", noon)

    def test_resume_while_others_add(self):
        now = datetime.datetime.now().timestamp()
        window = roost.Window(3600)
        window.add("long ago", now - 60 * 86400)

        def keys():
            for i in range(3000):
                if i % 1000 == 0:
                    with self.assertRaises(roost.ClockError):
                        window.add("unbelievable", now + 70 * 86400)
                yield i

        self.assertEqual(window.update(keys(), now, resume=True), 3000)

    def test_durations(self):
        for text, seconds in (("90s", 90), ("10m", 600), ("1.5h", 5400), ("7d", 604800), ("10", 10), ("2.5", 2.5), ("250ms", 0.25)):
            self.assertEqual(roost.Window(text).info()["window_seconds"], seconds)

    def test_refused(self):
        for bad in (0, -1, 1e-9, float("nan"), float("inf"), 1e30, 2e9, 10**400):
            with self.assertRaisesRegex(roost.InvalidError, "^window: "):
                roost.Window(bad)
        for bad in (0, -1, float("nan"), float("inf"), 1e30, 10**400):
            with self.assertRaises(roost.InvalidError):
                roost.Window(60).add("a", time=bad)
        for bad in (None, [1]):
            with self.assertRaises(TypeError):
                roost.Window(bad)
        for bad in ("", "10 m", "-1m", "0s", "10m\n", "1w"):
            with self.assertRaises(roost.InvalidError):
                roost.Window(bad)
        with self.assertRaises(TypeError):
            roost.Window(60).add("a", time="now")
        with self.assertRaises(roost.InvalidError):
            roost.Window(60, past=0)
        with self.assertRaises(TypeError):
            roost.Window(60).add(1.5)
        with self.assertRaises(AttributeError):
            roost.Window(60).remove("a")

    def test_errors_name_the_class(self):
        for made in (roost.Window, roost.Counter):
            for arguments, options in (((), {}), ((60,), {"windows": 3})):
                name = made.__name__ + "." if sys.version_info >= (3, 10) else ""  # before, Python names no class
                with self.assertRaisesRegex(TypeError, rf"^{name}__init__\(\) "):
                    made(*arguments, **options)

    def test_future_is_not_merged(self):
        ahead, here = roost.Window(60), roost.Window(60)
        ahead.add("a", time=datetime.datetime.now().timestamp() + 3 * 86400)
        here.add("b")
        with self.assertRaises(roost.ClockError):
            here.merge(ahead)
        self.assertIn("b", here)


class Counters(unittest.TestCase):
    def test_counts_once(self):
        random = generator("counters")
        counters, total, now = [roost.Counter(1000) for _ in range(3)], 0, 5_000_000.0
        for i in range(rounds(100, 3000)):
            amount, now = random.randrange(-5, 50), now + 0.1
            counter = random.choice(counters)
            self.assertTrue(counter.increment(f"id {i}", amount, time=now))
            self.assertFalse(counter.increment(f"id {i}", amount, time=now))
            total += amount
            counters[random.randrange(3)] |= counters[random.randrange(3)]
        everything = counters[0] | counters[1] | counters[2]
        self.assertEqual((everything.value, int(everything)), (total, total))

    def test_refused(self):
        counter = roost.Counter(60)
        for call, error in [
            (lambda: counter.increment("", 1), roost.InvalidError),
            (lambda: counter.increment("a", 2**63), OverflowError),
            (lambda: counter.increment("a", 1.5), TypeError),
            (lambda: counter.increment(None), TypeError),
            (lambda: counter.increment("x" * 70000), roost.InvalidError),
        ]:
            with self.assertRaises(error):
                call()
        counter.increment("a", 2**63 - 1)
        with self.assertRaises(roost.RangeError) as caught:
            counter.increment("b", 5)
        self.assertIsInstance(caught.exception, OverflowError)
        self.assertEqual(counter.value, 2**63 - 1)


class Reconcile(unittest.TestCase):
    def test_exact(self):
        random = generator("reconcile")
        for count in (0, 1, 10, rounds(3000, 100_000)):
            a = set(random.sample(range(10**6), count)) | {str(i) for i in range(count)}
            b = a - set(random.sample(sorted(a, key=str), count // 10)) | {f"b {i}" for i in range(count // 20)}
            for method in ("auto", "riblt", "dbf"):
                result = roost.reconcile(a, b, method=method)
                self.assertEqual((set(result.only_a), set(result.only_b)), (a - b, b - a))
                self.assertTrue(result.exact and result.complete)

    def test_multiset(self):
        result = roost.reconcile(list("aaabcc"), tuple("abbbd"), multiset=True)
        self.assertEqual(sorted(result.only_a), [("a", 3, 1), ("b", 1, 3), ("c", 2, 0)])
        self.assertIn(("d", 1, 0), result.only_b)

    def test_arrays_and_approximate(self):
        import array

        result = roost.reconcile(array.array("q", range(100)), array.array("i", range(50, 150)))
        self.assertEqual((sorted(result.only_a), sorted(result.only_b)), (list(range(50)), list(range(100, 150))))
        self.assertFalse(roost.reconcile(range(100), range(90), method="ccf-query").exact)

    def test_rows(self):
        import ctypes

        rows = [bytes([i] * 4) for i in range(5)]
        kinds = [memoryview(b"".join(rows)).cast("B", (5, 4)), ((ctypes.c_ubyte * 4) * 5).from_buffer_copy(b"".join(rows))]
        if numpy is not None:
            kinds.append(numpy.frombuffer(b"".join(rows), "u1").reshape(5, 4))
        for keys in kinds:
            result = roost.reconcile(keys, rows[2:])
            self.assertEqual((sorted(map(bytes, result.only_a)), result.only_b), (rows[:2], []))
            here, there = self.over_sockets(rows[2:], keys)
            self.assertEqual((sorted(here.only_b), sorted(map(bytes, there.only_a))), (rows[:2], rows[:2]))

    def over_sockets(self, a, b, **options):
        ours, theirs = socket.socketpair()
        results = []
        with ours, theirs:
            server = threading.Thread(target=lambda: results.append(roost.reconcile_serve(b, theirs.recv, theirs.sendall)))
            server.start()
            results.append(roost.reconcile_stream(a, ours.recv, ours.sendall, **options))
            ours.close()
            server.join()
        return results

    def test_streams(self):
        a, b = [str(i) for i in range(2000)], [str(i) for i in range(100, 3000)]
        here, there = self.over_sockets(a, b)
        self.assertEqual(set(here.only_a), set(a) - set(b))
        self.assertEqual(set(here.only_b), {key.encode() for key in set(b) - set(a)})
        self.assertEqual(set(there.only_a), set(b) - set(a))
        here, _ = self.over_sockets(["x", "x", "y"], ["x", "z"], multiset=True)
        self.assertEqual(sorted(here.only_a), [("x", 2, 1), ("y", 1, 0)])
        self.assertIn((b"z", 1, 0), here.only_b)

    def test_many_records(self):
        b = [f"{i:06}" for i in range(rounds(40_000, 200_000))]
        here, _ = self.over_sockets([], b)
        self.assertEqual(len(set(here.only_b)), len(b))

    def test_refused(self):
        for a in ("swift", b"swift", 5, [1.5]):
            with self.assertRaises(TypeError):
                roost.reconcile(a, [])
        with self.assertRaises(roost.InvalidError):
            roost.reconcile([], [], method="magic")
        for bad in (b"", b"x", b"\xd5\x01x", b"\xd5\x02\x81\x00", b"\xd5\x01\x82"):
            at = iter([bytes([byte]) for byte in bad])
            with self.assertRaises(roost.Error):
                roost.reconcile_serve(["a"], lambda n: next(at, b""), lambda b: None)
        with self.assertRaises(roost.Error):
            roost.reconcile_stream(["a"], lambda n: b"", lambda b: None)


if __name__ == "__main__":
    unittest.main()
