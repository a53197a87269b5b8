"""Threads on shared objects: every call waits for its turn, and nothing is lost."""

import array
import threading
import time
import unittest

import roost
from settings import Folder, python, rounds


def together(*calls):
    """Runs calls on a thread each; raises what one of them raised."""
    errors = []

    def guarded(call):
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    if any(thread.is_alive() for thread in threads):
        raise AssertionError("a thread waits for ever")
    if errors:
        raise errors[0]


class Threads(unittest.TestCase):
    def test_adders_and_readers(self):
        seen, count = roost.Filter(kind="orcuckoo"), rounds(2000, 50_000)

        def one_by_one(base):
            for i in range(base, base + count):
                seen.add(i)
                assert i in seen

        def batches(base):
            for i in range(base, base + count, 500):
                seen.update(array.array("q", range(i, i + 500)))
                assert all(seen.contains_many(range(i, i + 500)))

        def others():
            for _ in range(rounds(10, 100)):
                seen.info(), seen.digest(), roost.from_bytes(seen.to_bytes()), seen.delta(), seen.copy(), len(seen)

        together(*(lambda i=i: one_by_one(i * 10**6) for i in (1, 2)), *(lambda i=i: batches(i * 10**6) for i in (3, 4)), others)
        for i in (1, 2, 3, 4):
            self.assertTrue(all(seen.contains_many(range(i * 10**6, i * 10**6 + count))))
        seen.check()

    def test_merges_in_a_circle(self):
        filters = [roost.Filter() for _ in range(3)]

        def work(i):
            for j in range(rounds(50, 1000)):
                filters[i].add(f"{i} {j}")
                filters[i].merge(filters[(i + 1) % 3])
                filters[i] == filters[(i + 2) % 3]
                filters[i].sync_with(filters[(i + 2) % 3])

        together(*(lambda i=i: work(i) for i in range(3)))
        for i in range(3):
            filters[0].merge(filters[i])
        self.assertTrue(all(filters[0].contains_many(f"{i} {j}" for i in range(3) for j in range(rounds(50, 1000)))))

    def test_closed_by_another_thread(self):
        for _ in range(rounds(20, 300)):
            seen, numbers = roost.Filter(), array.array("q", range(3000))

            def use():
                try:
                    while True:
                        seen.update(numbers)
                        seen.contains_many(numbers)
                        seen.to_bytes()
                except ValueError as error:
                    assert "closed" in str(error)

            together(use, use, lambda: (time.sleep(0.002), seen.close()))

    def test_window_and_counter(self):
        window, counter, count = roost.Window(3600), roost.Counter(3600), rounds(500, 10_000)
        together(*(lambda i=i: [(window.add(f"{i} {j}"), counter.increment(f"{i} {j}")) for j in range(count)] for i in range(3)))
        self.assertEqual(counter.value, 3 * count)
        self.assertTrue(all(window.contains_many(f"{i} {j}" for i in range(3) for j in range(count))))

    def test_a_frame_that_another_thread_writes_to(self):
        whole = roost.Filter(capacity=20_000)
        whole.update(range(10_000))
        frame, done = bytearray(whole.to_bytes()), threading.Event()

        def write():
            while not done.is_set():
                for place in range(0, len(frame), 7):
                    frame[place] ^= 0xFF

        def decode():
            for _ in range(rounds(30, 1000)):
                for call in (roost.from_bytes, roost.Filter(capacity=20_000).merge, whole.reply):
                    try:
                        call(frame)
                    except (roost.Error, MemoryError):
                        pass
            done.set()

        together(write, decode)
        whole.check()

    def test_the_gil_is_released(self):
        """While one thread adds a batch, another one runs Python code."""
        seen, numbers, ticks = roost.Filter(capacity=2_000_000), array.array("q", range(1_000_000)), []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(seen.closed)
                time.sleep(0)

        def add():
            before = len(ticks)
            seen.update(numbers)
            while len(ticks) < before + 3:
                seen.update(numbers)
            done.set()

        together(tick, add)
        self.assertTrue(all(seen.contains_many(numbers)))

    def test_destructors_use_the_object(self):
        """The garbage collector may run them where a call makes its exception: then it has no object any more."""
        python("""
            import gc, roost
            seen, other, closed = roost.Filter(capacity=100), roost.Filter(capacity=200), roost.Filter()
            exchange = roost._roost.Sync(closed, None)
            closed.close()
            frame, calls = other.to_bytes(), []
            class Trash:
                def __init__(self):
                    self.itself = self
                def __del__(self):
                    calls.append(seen.add("swift"))
            def refused(call, argument):
                try:
                    raise KeyError
                except KeyError:  # an exception that has a context is made at once
                    Trash()
                    try:
                        call(argument)
                    except (roost.Error, ValueError, OSError):
                        return
                raise AssertionError(call)
            for threshold in range(1, 12):
                gc.set_threshold(threshold)
                for _ in range(100):
                    for argument in (other, frame, b"junk", closed):
                        refused(seen.merge, argument)
                    refused(seen.__le__, other), refused(seen.__le__, closed), refused(exchange.next, None)
                    refused(lambda path: roost.open(path, "x", like=seen), "/proc/none/x")
            assert len(calls) > 1000
            """)


class FileThreads(Folder):
    def test_save_while_adding(self):
        with roost.open(self.path(), "x", kind="orcuckoo") as seen:
            together(
                *(lambda i=i: [seen.add(f"{i} {j}") for j in range(1000)] for i in range(2)),
                lambda: [seen.save() for _ in range(rounds(3, 50))],
                lambda: [seen.delta() for _ in range(rounds(3, 50))],
            )
        with roost.open(self.path(), "r") as seen:
            self.assertTrue(all(seen.contains_many(f"{i} {j}" for i in range(2) for j in range(1000))))

    def test_a_file_that_another_thread_gives_up(self):
        """The frame leaves only once the file is saved; the file cannot be written, so the filter is in memory again."""
        python(
            """
            import os, resource, sys, threading, time, roost
            seen, done = roost.Filter(), threading.Event()
            seen.update(range(100_000))
            frame = seen.to_bytes()
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(frame) - 1, resource.RLIM_INFINITY))
            def export():
                while not done.is_set():
                    if seen.path is None:
                        time.sleep(0)
                    else:
                        assert seen.to_bytes() == frame
            threads = [threading.Thread(target=export) for _ in range(2)]
            for thread in threads:
                thread.start()
            try:
                for _ in range(20):
                    try:
                        roost.open(sys.argv[1], "w", like=seen)
                        raise AssertionError("a file larger than the limit")
                    except OSError as error:
                        assert error.filename == sys.argv[1], error
                    assert seen.path is None and not os.path.exists(sys.argv[1])
            finally:
                done.set()
            for thread in threads:
                thread.join()
            """,
            self.path(),
        )


if __name__ == "__main__":
    unittest.main()
