"""The package and the program roost: one kind of files, one protocol, the same facts about them.

That the same keys give the same bytes, in all languages, is in tests/languages.
"""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
import warnings

import roost
from settings import PROGRAM, Folder, needs_program, program, python, rounds

KEYS = [f"key {i}" for i in range(500)]
LINES = "".join(key + "\n" for key in KEYS).encode()

OPTIONS = [
    ({}, []),
    ({"capacity": 1000}, ["--capacity", "1000"]),
    ({"capacity": 1e4, "fpr": 0.001}, ["--capacity", "10k", "--fpr", "0.1%"]),
    ({"capacity": 1000, "layout": "classic", "seed": 99}, ["--capacity", "1000", "--layout", "classic", "--seed", "99"]),
    ({"capacity": 1000, "kind": "cuckoo"}, ["--capacity", "1000", "--kind", "cuckoo"]),
    ({"capacity": 1000, "kind": "cuckoo", "bits": 12, "bucket": 2},
     ["--capacity", "1000", "--kind", "cuckoo", "--bits", "12", "--bucket", "2"]),
    ({"fpr": 0.05, "kind": "cuckoo", "growth": 4, "schedule": "quadratic"},
     ["--fpr", "5%", "--kind", "cuckoo", "--growth", "4", "--schedule", "quadratic"]),
    ({"capacity": 5000, "scalable": True}, ["--capacity", "5000", "--scalable"]),
    ({"kind": "orcuckoo"}, ["--kind", "orcuckoo"]),
    ({"kind": "orcuckoo", "semantics": "remove-wins"}, ["--kind", "orcuckoo", "--semantics", "remove-wins"]),
    ({"kind": "orcuckoo", "semantics": "last-writer-wins"}, ["--kind", "orcuckoo", "--semantics", "last-writer-wins"]),
    ({"kind": "orcuckoo", "capacity": 1000, "multiset": True, "entry": 32},
     ["--kind", "orcuckoo", "--capacity", "1000", "--multiset", "--entry", "32"]),
    ({"kind": "orcuckoo", "capacity": 1000, "bits": 20}, ["--kind", "orcuckoo", "--capacity", "1000", "--bits", "20"]),
    ({"kind": "bloom"}, ["--kind", "bloom"]),
    ({"kind": "bloom", "capacity": 100, "scalable": True, "writers": 2},
     ["--kind", "bloom", "--capacity", "100", "--scalable", "--writers", "2"]),
    ({"layout": "classic"}, ["--layout", "classic"]),
]  # fmt: skip


@needs_program
class Agreement(Folder):
    def test_info(self):
        for options, arguments in OPTIONS:
            with self.subTest(**options):
                path = self.path(f"{options}.roost")
                program("create", path, *arguments)
                program("add", path, given=LINES)
                printed = json.loads(program("info", "--json", path))
                with roost.open(path) as seen:
                    info = seen.info()
                for name, value in info.items():
                    self.assertIn(name, printed)
                    if isinstance(value, float):
                        self.assertAlmostEqual(printed[name], value, delta=abs(value) * 1e-3)
                    elif name != "bytes_memory":
                        self.assertEqual(printed[name], value, name)
                self.assertLessEqual(set(printed) - set(info), {"bytes_encoded", "file", "replica", "bytes_file"})

    def test_what_wins(self):
        for semantics in "add-wins", "remove-wins", "last-writer-wins":
            with self.subTest(semantics=semantics):
                path, other, both = (self.path(f"{semantics}.{name}") for name in ("here", "there", "both"))
                program("create", path, "--kind", "orcuckoo", "--semantics", semantics)
                program("add", path, "swift", "heron")
                seen = roost.Filter(kind="orcuckoo", semantics=semantics)
                seen.update(["swift", "heron", "kite"])
                seen.discard("swift")  # after the program has added it
                with open(other, "wb") as file:
                    file.write(seen.to_bytes())
                program("remove", path, "heron")  # after this filter has
                program("merge", both, path, other)
                with roost.open(path) as filed:
                    seen.merge(filed)
                self.assertEqual(program("digest", both).split()[0].decode(), seen.digest())
                found = [key for key in ("swift", "heron", "kite") if key in seen]
                self.assertEqual(found, ["swift", "heron", "kite"] if semantics == "add-wins" else ["kite"])

    def test_windows_and_counters(self):
        path = self.path()
        program("window", "add", path, "--window", "1h", "swift")
        with roost.open(path) as window:
            self.assertIsInstance(window, roost.Window)
            self.assertIn("swift", window)
            self.assertEqual(window.info()["digest"], json.loads(program("info", "--json", path))["digest"])
            self.assertTrue(window.copy() >= roost.Window(3600))
            window.add("heron")
        program("window", "check", path, "heron")

    def test_durations(self):
        accepted = ("10", "1.5", ".5", "5.", "1e3", "1E+2s", "25e-1m", "90s", "10m", "1.5h", "2d", "250ms", "1.0000009s", "0" * 30 + "7")
        for text in accepted:
            with self.subTest(text=text):
                path = self.path(f"{text}.roost")
                program("window", "add", path, "--window", text, "swift")
                with roost.open(path, "a", like=roost.Window(text)) as window:  # which refuses another configuration
                    self.assertIn("swift", window)
        for text in ("", ".", "e3", "1e", "1_0", "+1", "-1", " 1", "1 ", "10 m", "10S", "1w", "0x10", "1,5", "٣", "inf", "nan", "0", "0s", "1e-7", "1e999", "400000d"):
            with self.subTest(text=text):
                program("window", "add", self.path(), "--window", text, "swift", status=(2,))
                with self.assertRaisesRegex(roost.InvalidError, "^window: "):
                    roost.Window(text)

    def test_counters(self):
        path = self.path("counter.roost")
        with roost.open(path, "x", like=roost.Counter(3600)) as counter:
            counter.increment("order-17", 5)
        self.assertEqual(program("counter", "show", path).split()[0], b"5")
        program("counter", "incr", path, "--id", "order-18")
        with roost.open(path, "r") as counter:
            self.assertEqual(counter.value, 6)


@needs_program
class Files(Folder):
    def test_both_change_one_file(self):
        path = self.path()
        program("create", path, "--kind", "orcuckoo")
        for i in range(rounds(3, 30)):
            program("add", path, f"theirs {i}")
            with roost.open(path) as seen:
                seen.add(f"ours {i}")
                self.assertIn(f"theirs {i}", seen)
        for i in range(rounds(3, 30)):
            program("check", "-q", path, f"ours {i}")
        program("remove", path, "ours 1")
        with roost.open(path, "r") as seen:
            self.assertNotIn("ours 1", seen)

    def test_lock(self):
        path = self.path()
        with roost.open(path, "x", capacity=100):
            with self.assertRaises(roost.BusyError) as caught:
                roost.open(path, wait=False)
            self.assertIsInstance(caught.exception, BlockingIOError)
            self.assertEqual(caught.exception.errno, errno.EAGAIN)
            self.assertEqual(caught.exception.filename, path)
            with self.assertRaises(FileExistsError):  # at once
                roost.open(path, "x", capacity=100)
            adding = subprocess.Popen([PROGRAM, "add", path, "waits"])
            time.sleep(0.05)
            self.assertIsNone(adding.poll())
        self.assertEqual(adding.wait(600), 0)
        with roost.open(path) as seen:
            self.assertIn("waits", seen)

    def test_interrupted_wait(self):
        path = self.path()
        script = "import roost, sys\nprint('begun', flush=True)\ntry:\n    roost.open(sys.argv[1])\nexcept KeyboardInterrupt:\n    print('interrupted')"
        with roost.open(path, "x", capacity=100):
            waiting = subprocess.Popen(
                [sys.executable, "-c", script, path],
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell ignores it in what runs in the background
            )
            self.assertEqual(waiting.stdout.readline(), b"begun\n")
            while waiting.poll() is None:
                time.sleep(0.05)
                waiting.send_signal(signal.SIGINT)
            self.assertEqual(waiting.stdout.read(), b"interrupted\n")
            waiting.stdout.close()

    def test_sync_with_the_program(self):
        ours, theirs = self.path("ours.roost"), self.path("theirs.roost")
        program("create", theirs)
        program("add", theirs, given=LINES)
        with roost.open(ours, "x") as seen:
            seen.add("swift")
            memories = []
            for _ in range(2):
                serving = subprocess.Popen([PROGRAM, "serve", theirs], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                with serving.stdin, serving.stdout:
                    result = seen.sync(serving.stdout.read, serving.stdin.write, peer="theirs")
                serving.wait(600)
                self.assertTrue(result.equal)
                memories.append(result.sent + result.received)
            self.assertEqual(seen.info()["peers"], 1)
            self.assertLess(memories[1], memories[0])
            self.assertEqual(seen.digest(), program("digest", theirs).split()[0].decode())
        program("check", "-q", theirs, "swift")

    def test_served_to_the_program(self):
        ours, theirs = self.path("ours.roost"), self.path("theirs.roost")
        with roost.open(ours, "x") as seen:
            seen.update(KEYS)
        program("create", theirs)
        script = self.path("serve.py")
        with open(script, "w") as file:
            file.write(
                f"#!{sys.executable}\nimport os, sys\nsys.path[:] = {sys.path!r}\nimport roost\n"
                f"with roost.open({ours!r}) as seen:\n"
                "    seen.serve(lambda n: os.read(0, n), lambda b: os.write(1, b))\n"
            )
        os.chmod(script, 0o755)
        program("sync", "--rsh", script, theirs, f"somewhere:{ours}")
        self.assertEqual(program("check", "-c", theirs, given=LINES), b"500\n")

    def test_reconcile_with_the_program(self):
        path = self.path("lines")
        with open(path, "wb") as file:
            file.write(LINES)
        serving = subprocess.Popen([PROGRAM, "serve", "--lines", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with serving.stdin, serving.stdout:
            result = roost.reconcile_stream([*KEYS[10:], "swift"], serving.stdout.read1, serving.stdin.write)
        serving.wait(600)
        self.assertEqual(result.only_a, ["swift"])
        self.assertEqual(set(result.only_b), {key.encode() for key in KEYS[:10]})


class OwnFiles(Folder):
    def test_modes(self):
        path = self.path()
        for mode in ("r", "r+"):
            with self.assertRaises(FileNotFoundError) as caught:
                roost.open(path, mode)
            self.assertEqual(caught.exception.filename, path)
            with self.assertRaisesRegex(TypeError, "takes no options"):
                roost.open(path, mode, capacity=10)
        with roost.open(path, "a", capacity=1000) as seen:
            self.assertEqual((seen.path, seen.closed), (path, False))
            seen.add("swift")
        with self.assertRaises(FileExistsError):
            roost.open(path, "x", capacity=10)
        for options in ({}, {"capacity": 1000}, {"like": roost.Filter(capacity=1000)}):
            with roost.open(path, "a", **options) as seen:
                self.assertIn("swift", seen)
        with self.assertRaisesRegex(roost.MismatchError, "capacity"):
            roost.open(path, "a", capacity=50_000)
        with roost.open(path, "r") as seen:
            self.assertIn("swift", seen)
            for call in (lambda: seen.add("a"), lambda: seen.update([1]), lambda: seen.merge(seen.copy()), seen.cursor, seen.delta):
                with self.assertRaisesRegex(ValueError, "opened for reading"):
                    call()
            with self.assertRaises(ValueError):
                seen.save()
            self.assertEqual(len(seen.digest()), 32)
            seen.to_bytes(), seen.info(), len(seen), repr(seen), seen.copy().add("a")
        with roost.open(path, "w", capacity=10) as seen:
            self.assertNotIn("swift", seen)
        import pathlib

        with roost.open(pathlib.Path(path)) as seen, roost.open(os.fsencode(path), "r") as other:
            self.assertEqual(seen, other)

    def test_relative_path_in_another_folder(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.makedirs(self.path("there/in"))
        os.mkdir(self.path("elsewhere"))
        for number, name in enumerate(("x.roost", "./x.roost", "in/x.roost", "in/../../x.roost", "ключ.roost", b"\xff.roost")):
            os.chdir(self.path("there"))
            with roost.open(name, "a", capacity=100) as seen:
                os.chdir(self.path("elsewhere"))
                self.assertEqual(os.fsencode(seen.path), os.fsencode(name))
                seen.add(number)
                seen.save()
                with roost.open(os.path.join(os.fsencode(self.path("there")), os.fsencode(name)), "r") as saved:
                    self.assertIn(number, saved)
                seen.add("at the end")
            self.assertEqual(os.listdir(), [])

    def test_relative_path_in_a_folder_that_is_gone(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir(self.path("gone"))
        for name in ("x.roost", ""):
            with self.assertRaises(FileNotFoundError) as caught:
                roost.open(name, "x", capacity=100)
            self.assertEqual(caught.exception.filename, name)

    def test_path_of_a_class_of_its_own(self):
        class Path(str):
            def __str__(self):
                raise ValueError("not now")

        seen = roost.open(Path(self.path()), "x", capacity=100)
        self.assertEqual((type(seen.path), seen.path), (str, self.path()))
        seen.add("swift")
        with self.assertWarnsRegex(ResourceWarning, "changes are not saved"):
            del seen

    def test_names_of_peers(self):
        with roost.open(self.path(), "x") as seen:
            for peer, error in (("a\0b", ValueError), (5, TypeError), (b"a", TypeError), ("\ud800", ValueError)):
                with self.assertRaises(error):  # before anything is sent
                    seen.sync(lambda size: self.fail(), lambda octets: self.fail(), peer=peer)

    def test_bad_arguments(self):
        for call in (lambda: roost.open(self.path(), "rw"), lambda: roost.open("a\0b"), lambda: roost.open(self.path(), "x", fpr=7)):
            with self.assertRaises(ValueError):
                call()
        for call in (lambda: roost.open(5), lambda: roost.open(None), lambda: roost.open(self.path(), "x", like=5),
                     lambda: roost.open(self.path(), "x", like=roost.Filter(), capacity=5)):  # fmt: skip
            with self.assertRaises(TypeError):
                call()
        self.assertFalse(os.path.exists(self.path()))
        with self.assertRaises(OSError):
            roost.open(self.folder)

    def test_like(self):
        path, like = self.path(), roost.Window(60)
        like.add("swift")
        with self.assertRaises(FileNotFoundError):
            roost.open(self.path("none/x.roost"), "x", like=like)
        self.assertEqual((like.path, "swift" in like), (None, True))
        with roost.open(path, "x", like=like) as window:
            self.assertIs(window, like)
            with self.assertRaises(ValueError):
                roost.open(self.path("y.roost"), "x", like=like)
        for mode in ("a", "w"):
            with self.assertRaisesRegex(ValueError, "closed"):
                roost.open(path, mode, like=like)
        with roost.open(path) as window:
            self.assertIn("swift", window)

    def test_signal_handler_uses_the_file(self):
        """While it is saved, too."""
        code = """
            import roost, signal, sys
            calls = []
            with roost.open(sys.argv[1], "x", capacity=1_000_000) as seen:
                def use(*_):
                    name = f"call {len(calls)}"
                    seen.add(name)
                    calls.append(name)
                signal.signal(signal.SIGALRM, use)
                signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
                while len(calls) < 100:
                    seen.add("swift")
                    seen.save()
                signal.setitimer(signal.ITIMER_REAL, 0)
            with roost.open(sys.argv[1], "r") as seen:
                assert all(seen.contains_many(calls))
            """
        python(code, self.path())

    def test_signal_handler_while_it_is_closed(self):
        """What a handler added is in the file, unless the object was closed."""
        code = """
            import roost, signal, sys
            calls = []
            def use(*_):
                name = f"call {len(calls)}"
                try:
                    seen.add(name)
                except ValueError:
                    return
                calls.append(name)
            seen = roost.open(sys.argv[1], "x", capacity=1_000_000)
            signal.signal(signal.SIGALRM, use)
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            for i in range(1000):
                seen.add(i)
                seen.close()
                seen = roost.open(sys.argv[1])
                if len(calls) >= 100:
                    break
            signal.setitimer(signal.ITIMER_REAL, 0)
            seen.close()
            with roost.open(sys.argv[1], "r") as seen:
                assert calls and all(seen.contains_many(calls)), seen.contains_many(calls)
            """
        python(code, self.path())

    def test_exception_leaves_the_file(self):
        path = self.path()
        roost.open(path, "x", capacity=100).close()
        with self.assertRaises(ZeroDivisionError):
            with roost.open(path) as seen:
                seen.add("swift")
                1 // 0
        with roost.open(path) as seen:
            self.assertNotIn("swift", seen)
            seen.add("swift")
            seen.save()
            seen.add("heron")
            seen.close(save=False)
        with roost.open(path, "r") as seen:
            self.assertEqual(seen.contains_many(["swift", "heron"]), [True, False])

    def test_state_that_leaves_is_saved(self):
        path = self.path()
        with roost.open(path, "x", kind="orcuckoo") as seen:
            for leave in (seen.to_bytes, seen.delta, seen.copy, lambda: roost.Filter(kind="orcuckoo").merge(seen)):
                key = f"{leave}"
                seen.add(key)
                leave()
                with roost.open(path, "r") as saved:
                    self.assertIn(key, saved)

    def test_not_closed(self):
        path = self.path()
        seen = roost.open(path, "x", capacity=100)
        seen.add("swift")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del seen
        self.assertIs(caught[0].category, ResourceWarning)
        self.assertIn("not saved", str(caught[0].message))

    def test_copies(self):
        path, other = self.path(), self.path("copy.roost")
        with roost.open(path, "x", kind="orcuckoo") as seen:
            seen.add("both")
        shutil.copy(path, other)
        for each in (path, other):
            with roost.open(each) as seen:
                seen.add(each)
        with roost.open(path) as seen, roost.open(other) as copied:
            seen.sync_with(copied)
            self.assertEqual(seen.contains_many([path, other]), [True, True])
            seen.reset_replica()
            seen.add("more")
        with self.assertRaises(roost.InvalidError):
            roost.Filter().reset_replica()

    def test_damaged(self):
        path = self.path()
        with roost.open(path, "x", capacity=1000) as seen:
            seen.update(range(100))
        with open(path, "rb") as file:
            whole = file.read()
        for content in (b"", b"text\n", whole[:50], whole[:30] + b"\xff" + whole[31:]):
            with open(path, "wb") as file:
                file.write(content)
            for mode in ("r", "r+", "a"):
                with self.assertRaises(roost.FrameError) as caught:
                    roost.open(path, mode)
                self.assertIn(path, str(caught.exception))
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content)

    def test_closed(self):
        with roost.open(self.path(), "x") as seen:
            pass
        memory = roost.Filter()
        memory.close(), memory.close(), seen.close()
        for closed in (seen, memory):
            self.assertTrue(closed.closed)
            self.assertIn("closed", repr(closed))
            for call in (
                lambda: closed.add("a"), lambda: "a" in closed, lambda: closed.update([1]), lambda: closed.contains_many([1]),
                lambda: closed.remove("a"), lambda: len(closed), closed.digest, closed.info, closed.to_bytes, closed.copy,
                closed.cursor, closed.delta, closed.check, lambda: closed | closed, lambda: closed == roost.Filter(),
                lambda: roost.Filter() == closed, lambda: closed <= closed, lambda: closed.merge(b""), closed.save,
                lambda: closed.sync(len, len), lambda: closed.reply(b""), lambda: closed.__enter__(), closed.transfer_shares,
                lambda: roost.Filter().merge(closed), lambda: closed.count("a"), lambda: closed.add_dot("a"), closed.reset_replica,
                lambda: closed.__reduce__(), lambda: closed.sync_with(roost.Filter()), lambda: roost.Filter().sync_with(closed),
            ):  # fmt: skip
                with self.assertRaisesRegex(ValueError, "closed"):
                    call()


if __name__ == "__main__":
    unittest.main()
