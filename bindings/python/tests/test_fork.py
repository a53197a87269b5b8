"""Processes that are forked, as by multiprocessing: parent and child are two replicas, and nothing is lost."""

import array
import os
import pickle
import signal
import threading
import time
import traceback
import unittest
import warnings

import roost
from roost import _roost
from settings import KINDS, Folder, rounds


def in_child(call):
    """What a call returns, bytes, from a child that gets a minute. The child ends at once: the tests are the parent's."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
        child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            with os.fdopen(writing, "wb") as file:
                file.write(call())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        result = file.read()
    status = os.waitpid(child, 0)[1]
    if status:
        raise AssertionError(f"the child ended with {status}")
    return result


class Fork(unittest.TestCase):
    def test_all_kinds(self):
        for options in KINDS:
            with self.subTest(**options):
                seen = roost.Filter(**options)
                seen.update(["before", "swift"])

                def child():
                    assert "before" in seen and len(seen) == 2
                    seen.add("child")
                    seen.update(f"child {i}" for i in range(50))
                    return seen.to_bytes()

                frame = in_child(child)
                seen.add("parent")
                seen.update(f"parent {i}" for i in range(50))
                seen.merge(frame)
                keys = ["before", "swift", "parent", "child", *(f"{who} {i}" for who in ("parent", "child") for i in range(50))]
                self.assertTrue(all(seen.contains_many(keys)))
                seen.check()

    def test_window_and_counter(self):
        window, counter = roost.Window(3600), roost.Counter(3600)
        window.add("before"), counter.increment("before", 1)

        def child():
            counter.increment("child", 10)
            return counter.to_bytes()

        frame = in_child(child)
        counter.increment("parent", 100)
        counter.merge(frame)
        self.assertEqual(counter.value, 111)
        window.merge(in_child(lambda: window.add("child") and window.to_bytes()))
        self.assertTrue("before" in window and "child" in window)

    def test_cursors_and_syncs(self):
        """A cursor of the child is none of the parent's: it gets the whole state."""
        seen, peer = roost.Filter(), roost.Filter()
        seen.update(range(100))
        exchange = _roost.Sync(seen, None)
        request = exchange.next(None)

        def child():
            seen.add("child")
            try:
                exchange.next(None)
            except ValueError as error:
                assert "another replica" in str(error)
                return seen.cursor()

        cursor = in_child(child)
        seen.add("parent")
        peer.merge(seen.delta(cursor)[0])
        self.assertTrue(seen <= peer)
        while request is not None:
            request = exchange.next(peer.reply(request))
        self.assertGreater(exchange.result()[2], 0)

    def test_child_of_a_child(self):
        seen = roost.Filter(kind="orcuckoo")
        seen.add("parent")

        def child():
            seen.add("child")
            frame = in_child(lambda: seen.add("grandchild") and seen.to_bytes())
            seen.add("child, later")
            seen.merge(frame)
            return seen.to_bytes()

        seen.merge(in_child(child))
        self.assertTrue(all(seen.contains_many(["parent", "child", "grandchild", "child, later"])))

    def test_while_threads_work(self):
        """The child has no other threads: what they were changing is closed there, all else works, and nobody waits."""
        done, numbers = threading.Event(), array.array("q", range(20_000))
        seen, other = roost.Filter(kind="orcuckoo"), roost.Filter(capacity=20_000)
        other.update(numbers)

        def work():
            while not done.is_set():
                seen.update(numbers)
                seen.remove_many(numbers)

        def read():
            while not done.is_set():
                other.contains_many(numbers)

        def child():
            assert other.add("child") and all(other.contains_many(numbers))
            try:
                seen.add("child")
                seen.check()
                return b"whole"
            except ValueError as error:
                assert "closed" in str(error) and seen.closed
                return b"closed"

        threads = [threading.Thread(target=work) for _ in range(2)] + [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            results = set()
            for _ in range(rounds(5, 200)):
                results.add(in_child(child))
                time.sleep(0.001)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        self.assertLessEqual(results, {b"whole", b"closed"})


class ForkedFiles(Folder):
    def test_file_is_for_reading(self):
        with roost.open(self.path(), "x", kind="orcuckoo") as seen:
            seen.add("before")

            def child():
                assert "before" in seen and seen.path == self.path()
                for call in (lambda: seen.add("child"), lambda: seen.update(["child"]), seen.delta, lambda: seen.merge(seen.copy())):
                    try:
                        call()
                    except ValueError as error:
                        assert "before this process was forked" in str(error), error
                    else:
                        raise AssertionError("changed")
                with seen:
                    pass  # saves nothing
                assert seen.closed
                return b"fine"

            self.assertEqual(in_child(child), b"fine")
            seen.add("after")
        with roost.open(self.path()) as seen:
            self.assertEqual(seen.contains_many(["before", "after", "child"]), [True, True, False])

    def test_what_was_not_saved_does_not_leave_the_child(self):
        """If the parent then loses it, its next addition has the same dot, and a peer would take that for a removal."""
        peer = roost.Filter(kind="orcuckoo")

        def child():
            for leave in (seen.to_bytes, seen.copy, lambda: pickle.dumps(seen), lambda: peer.merge(seen), lambda: seen | peer, lambda: peer | seen):
                try:
                    leave()
                except ValueError as error:
                    assert "before this process was forked" in str(error), error
                else:
                    return seen.to_bytes()
            assert seen.contains_many(["saved", "lost"]) == [True, True] and seen >= peer and len(seen) == 2
            return b""

        roost.open(self.path(), "x", kind="orcuckoo").close()
        seen = roost.open(self.path())
        seen.add("saved")
        seen.save()
        peer.merge(in_child(seen.to_bytes))
        seen.add("lost")
        frame = in_child(child)
        seen.close(save=False)
        if frame:
            peer.merge(frame)
        with roost.open(self.path()) as seen:
            seen.add("later")
            seen.sync_with(peer)
            self.assertEqual(seen.contains_many(["saved", "later"]), [True, True])

    def test_the_lock_is_the_parents(self):
        path, begun, ended = self.path(), os.pipe(), os.pipe()
        seen = roost.open(path, "x", capacity=100)
        with self.assertRaises(roost.BusyError):
            roost.open(path, wait=False)

        def child():
            try:
                roost.open(path, wait=False)
            except roost.BusyError:
                seen.close()
            try:
                roost.open(path, wait=False)
            except roost.BusyError:
                return b"locked"

        self.assertEqual(in_child(child), b"locked")
        child = os.fork()
        if child == 0:
            os.write(begun[1], b"x")
            os.close(ended[1])
            os.read(ended[0], 1)  # until the parent is done
            os._exit(0)
        os.read(begun[0], 1)
        seen.close()
        try:
            roost.open(path, wait=False).close()
        finally:
            for end in (*begun, *ended):
                os.close(end)
            os.waitpid(child, 0)

    def test_created_by_the_child(self):
        seen = roost.Filter(kind="orcuckoo")
        seen.add("before")

        def child():
            with roost.open(self.path(), "x", like=seen) as file:
                file.add("child")
            return b"fine"

        self.assertEqual(in_child(child), b"fine")
        seen.add("parent")
        with roost.open(self.path()) as file:
            seen.merge(file)
        self.assertTrue(all(seen.contains_many(["before", "child", "parent"])))


if __name__ == "__main__":
    unittest.main()
