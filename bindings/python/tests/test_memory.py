"""Out of memory: MemoryError, and what a filter held it still holds."""

import array
import os
import pickle
import unittest

import roost
from settings import Folder, python

try:
    import _testcapi
except ImportError:
    _testcapi = None


class Index:
    def __index__(self):
        return 5


class Limit(unittest.TestCase):
    def test_until_there_is_no_more(self):
        """With a limit of the process: all keys up to the number that the error tells are there."""
        for options in ("", "kind='bloom'", "kind='orcuckoo'"):
            python(f"""
                import array, resource, roost
                seen, done = roost.Filter({options}), 0
                with open("/proc/self/statm") as file:
                    size = int(file.read().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (size + 24_000_000,) * 2)
                try:
                    for _ in range(200):
                        seen.update(array.array("q", range(done, done + 100_000)))
                        done += 100_000
                    raise AssertionError("there was enough")
                except MemoryError as error:
                    words = str(error).split()
                    done += int(words[3]) if len(words) > 3 else 0
                resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
                for begin in range(0, done, 1000):
                    assert all(seen.contains_many(range(begin, min(begin + 1000, done))))
                assert done > 0
                """)

    def test_answers_beyond_memory(self):
        self.assertEqual(python("""
            import resource, roost
            with open("/proc/self/statm") as file:
                size = int(file.read().split()[0]) * resource.getpagesize()
            many = memoryview(bytes(20_000_000))
            resource.setrlimit(resource.RLIMIT_AS, (size + 30_000_000,) * 2)
            try:
                roost.Filter().contains_many(many)
            except MemoryError:
                print("refused")
            """).strip(), "refused")  # fmt: skip


@unittest.skipUnless(_testcapi, "there is no _testcapi")
class Failures(Folder):
    """Allocation 1, 2, 3 ... of Python fails, until a call needs no more. The library's own are tested with the library."""

    def failures(self, call):
        for number in range(1, 150):
            _testcapi.set_nomemory(number, number + 1)
            try:
                call()
            except BaseException:
                pass
            finally:
                _testcapi.remove_mem_hooks()

    def each(self, *calls):
        for call in calls:
            try:
                self.failures(call)
            except MemoryError:  # of this loop
                self.failures(call)

    def test_filters(self):
        seen, other, numbers = roost.Filter(kind="orcuckoo"), roost.Filter(capacity=100), array.array("i", range(3000))
        seen.update(range(2000))
        keys, frame = [1, "Grüße", b"x", Index(), bytearray(b"q")] * 20, seen.to_bytes()
        self.each(
            lambda: seen.add("Grüße"), lambda: Index() in seen, lambda: seen.update(keys), lambda: seen.update(iter(keys)),
            lambda: seen.update(numbers), lambda: seen.contains_many(numbers), lambda: seen.contains_many(keys),
            lambda: seen.merge(other), lambda: seen.merge(other.to_bytes()), lambda: seen.merge(bytearray(frame)), lambda: seen | seen,
            lambda: seen <= other, seen.copy, seen.to_bytes, lambda: roost.from_bytes(bytearray(frame)), lambda: seen.delta(seen.cursor()),
            seen.digest, lambda: seen.sync_with(seen.copy()), lambda: seen.sync_with(other), lambda: pickle.loads(pickle.dumps(seen)),
            lambda: roost.Filter(100), lambda: seen.add(1.5), lambda: seen.update([None]), lambda: seen.remove("absent"),
            lambda: roost.reconcile(keys[:3], numbers),
        )  # fmt: skip
        self.assertTrue(all(seen.contains_many(range(2000))))
        seen.check()

    def test_windows_and_counters(self):
        window, counter = roost.Window(60), roost.Counter(60)
        window.update(range(100)), counter.increment("x", 7)
        self.each(
            lambda: window.add("a"), lambda: window.update(["a", "b"]), lambda: window.contains_many(["a"]), lambda: "a" in window,
            lambda: counter.increment("x", 7), lambda: counter.value, lambda: roost.Filter.from_bytes(window.to_bytes()),
        )  # fmt: skip
        self.assertEqual(counter.value, 7)
        self.assertTrue(all(window.contains_many(range(100))))

    def test_files(self):
        path = self.path()
        seen, numbers = roost.open(path, "x", capacity=1000), iter(range(10**6))
        create = lambda: roost.open(self.path(str(next(numbers))), "x", like=roost.Filter(9)).close()
        self.each(
            lambda: (seen.add(next(numbers)), seen.save()), lambda: roost.open(path, wait=False), lambda: roost.open(path, "r"), create,
            lambda: roost.open(os.path.join(path, "none"), "x", like=roost.Filter(9)), lambda: roost.open(path, "x"), seen.reset_replica,
        )  # fmt: skip
        seen.add("swift")
        seen.close()
        with roost.open(path) as seen:
            self.assertIn("swift", seen)


if __name__ == "__main__":
    unittest.main()
