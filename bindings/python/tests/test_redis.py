"""roost.redis against a real server: one key, shards beside the program, and a cluster."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import roost
from settings import BUILD, KINDS, needs_program, program, rounds

try:
    import redis
    from roost.redis import Commands, MissingError, ServerFilter, shard_of
except ImportError:
    redis = None

SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
MODULE = os.environ.get("ROOST_MODULE", os.path.join(BUILD, "roost.so"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def begin(folder, port):
    """A cluster of one server, on a unix socket and on loopback."""
    command = [SERVER, "--bind", "127.0.0.1", "--port", port, "--unixsocket", f"{folder}/socket", "--save", "", "--dir", folder,
               "--cluster-enabled", "yes", "--cluster-port", free_port(), "--loadmodule", MODULE]  # fmt: skip
    return subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition, what):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        try:
            if condition():
                return
        except (redis.ConnectionError, redis.BusyLoadingError):
            pass
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def start(test):
    """It ends with the tests of the class."""
    folder = tempfile.mkdtemp(prefix="roost-", dir="/tmp")
    test.addClassCleanup(shutil.rmtree, folder, True)
    client = redis.Redis(unix_socket_path=f"{folder}/socket")
    test.addClassCleanup(client.close)
    for _ in range(20):  # others may be faster to take a port
        port = free_port()
        process = begin(folder, port)
        wait_for(lambda: process.poll() is not None or client.ping(), "the server")
        if process.poll() is None:
            break
    test.addClassCleanup(lambda: (process.terminate(), process.wait(600)))
    client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_for(lambda: "cluster_state:ok" in str(client.execute_command("CLUSTER", "INFO")), "the cluster")
    return client, f"{folder}/socket", port


@unittest.skipUnless(redis and SERVER and os.path.exists(MODULE), "there is no redis-server, python3-redis or roost.so")
class Servers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client, cls.path, cls.port = start(cls)

    def setUp(self):
        self.client.flushall()

    def test_one_key(self):
        for number, options in enumerate(KINDS):
            with self.subTest(**options):
                seen = ServerFilter(self.client, f"one {number}")
                with self.assertRaisesRegex(MissingError, "does not exist"):
                    seen.add("swift")
                seen.create(**options)
                local = roost.Filter(**options)
                keys = ["swift", b"martin", 17, -1, *map(str, range(1500))]
                self.assertEqual(seen.update(keys) > 1400, local.update(keys) > 1400)
                self.assertTrue("swift" in seen and 17 in seen and all(seen.contains_many(keys)))
                self.assertLess(sum(seen.contains_many(f"stranger {i}" for i in range(500))), 40)
                if options.get("kind") == "orcuckoo":
                    seen.remove("swift")
                    self.assertFalse(seen.discard("swift") or "swift" in seen)
                    self.assertEqual(seen.remove_many(["1", "2"]), 2)
                loaded = Commands(self.client).load(seen.name)
                self.assertEqual(loaded.digest(), Commands(self.client).digest(seen.name))
                self.assertFalse(local.merge(loaded) and False)  # the same configuration: no MismatchError
                with self.assertRaisesRegex(roost.InvalidError, "already exists"):
                    seen.create(**options)

    def test_shards(self):
        self.assertEqual(shard_of("heron", 12), 9)
        seen, keys = ServerFilter(self.client, "urls", shards=7), [f"url {i}" for i in range(rounds(3000, 100_000))]
        seen.create(capacity=len(keys))
        self.assertEqual(seen.keys(), [f"{{urls:{i}}}" for i in range(7)])
        self.assertGreater(seen.update(keys), len(keys) * 0.95)
        self.assertTrue(all(seen.contains_many(keys)))
        self.assertEqual(seen.contains_many(["url 1", "nobody", "url 2"]), [True, False, True])
        for key in keys[:50]:
            self.assertTrue(self.client.execute_command("ROOST.EXISTS", f"{{urls:{shard_of(key, 7)}}}", key)[0])
        info = seen.info()
        self.assertEqual((info["shards"], info["promise_holds"], info["fpr_promised"]), (7, True, 0.01))
        self.assertLess(abs(len(seen) - len(keys)), len(keys) / 10)
        self.assertGreaterEqual(info["capacity"], len(keys))

    @needs_program
    def test_shards_as_the_program(self):
        url = f"redis://127.0.0.1:{self.port}/urls"
        lines = "".join(f"url {i}\n" for i in range(1000)).encode()
        program("create", url, "--shards", 5, "--capacity", 2000)
        program("add", url, "--shards", 5, given=lines)
        seen = ServerFilter(self.client, "urls", shards=5)
        self.assertTrue(all(seen.contains_many(f"url {i}" for i in range(1000))))
        seen.update(f"ours {i}" for i in range(500))
        ours = "".join(f"ours {i}\n" for i in range(500)).encode()
        self.assertEqual(program("check", "-c", url, "--shards", 5, given=ours), b"500\n")
        printed, info = json.loads(program("info", url, "--shards", 5, "--json")), seen.info()
        for name, value in info.items():
            if isinstance(value, float):
                self.assertAlmostEqual(printed[name], value, delta=abs(value) * 1e-3)
            else:
                self.assertEqual(printed[name], value, name)
        other = ServerFilter(self.client, "same", shards=5)
        other.create(capacity=2000)
        self.assertEqual(other.info()["capacity"], info["capacity"])

    def test_missing_and_wrong_shards(self):
        seen = ServerFilter(self.client, "urls", shards=4)
        seen.create()
        seen.update(range(100))
        for shards, error in ((3, roost.InvalidError), (5, MissingError)):
            for call in (lambda it: it.add("a"), lambda it: "a" in it, lambda it: it.info(), lambda it: it.create()):
                with self.assertRaises(error):
                    call(ServerFilter(self.client, "urls", shards=shards))
        self.client.delete("{urls:2}")
        with self.assertRaisesRegex(MissingError, "{urls:2}"):
            seen.contains_many(range(100))  # never a "no" that is not true
        with self.assertRaises(MissingError):
            seen.update(range(100))
        with self.assertRaises(MissingError):
            ServerFilter(self.client, "urls", shards=4).create()
        self.assertEqual(seen.delete(), 3)
        with self.assertRaises(roost.InvalidError):
            ServerFilter(self.client, "a}b", shards=4)
        with self.assertRaises(TypeError):
            ServerFilter(self.client, "urls").create(colour="red")
        with self.assertRaises(TypeError):
            seen.update("swift")
        self.client.set("text", "x")
        with self.assertRaises(redis.ResponseError):
            ServerFilter(self.client, "text").add("a")
        full = ServerFilter(self.client, "full", shards=2)
        full.create(capacity=10, kind="cuckoo")
        with self.assertRaisesRegex(redis.ResponseError, "full"):
            full.update(range(1000))

    def test_commands(self):
        commands, local = Commands(self.client), roost.Filter(kind="orcuckoo")
        local.update(["swift", "martin"])
        self.assertTrue(commands.merge("birds", local))
        self.assertEqual(commands.exists("birds", "swift", "heron"), [True, False])
        commands.add("birds", "heron"), commands.remove("birds", "swift")
        result = commands.sync("birds", local)
        self.assertTrue(result.equal)
        self.assertEqual(local.contains_many(["swift", "martin", "heron"]), [False, True, True])
        self.assertEqual(local.digest(), commands.digest("birds"))
        frame, cursor = commands.delta("birds")
        commands.add("birds", "stork")
        frame, cursor = commands.delta("birds", cursor)
        self.assertTrue(local.merge(frame) and "stork" in local)
        self.assertEqual(commands.count("birds", "stork", "swift"), [1, 0])
        self.assertEqual(commands.info("birds")["kind"], "orcuckoo")
        commands.create("bag", kind="orcuckoo", multiset=True)
        commands.add("bag", "a", "a")
        self.assertEqual((commands.count("bag", "a"), commands.remove_one("bag", "a")), ([2], [True]))
        commands.create_window("recent", 60)
        self.assertEqual((commands.seen("recent", "a", "b"), commands.seen("recent", "a")), ([False, False], [True]))
        for window in ("1500us", 0.0005, 1.0001):
            with self.assertRaisesRegex(roost.InvalidError, "^window: .* milliseconds"):
                commands.create_window("brief", window)
        commands.create_window("orders", 60, kind="counter")
        self.assertEqual([commands.increment("orders", "o", 5), commands.increment("orders", "o", 5)], [(5, True), (5, False)])
        self.assertEqual((commands.value("orders"), commands.value("none")), (5, None))
        with self.assertRaisesRegex(roost.InvalidError, "window"):
            ServerFilter(self.client, "recent").add("a")
        self.client.bf().add("bf", "swift"), self.client.cf().add("cf", "swift")
        self.assertTrue(commands.exists("bf", "swift")[0] and "swift" in ServerFilter(self.client, "cf"))

    def test_sync_says_what_differs(self):
        commands = Commands(self.client)
        for there, here, text in (
            ({}, {"kind": "bloom"}, "kind bloom here and cuckoo in the server"),
            ({"capacity": 100}, {"kind": "bloom"}, "scalable True here and False in the server"),
            ({"capacity": 100}, {"capacity": 200}, "capacity 200 here and 100 in the server"),
            ({"capacity": 100, "fpr": 0.001}, {"capacity": 100}, "fpr_promised 0.01 here and 0.001 in the server"),
            ({"seed": 5}, {"seed": 2**64 - 1}, f"seed {2**64 - 1} here and 5 in the server"),
            ({"kind": "orcuckoo", "multiset": True}, {"kind": "orcuckoo"}, "multiset False here and True in the server"),
            ({"kind": "orcuckoo", "semantics": "remove-wins"}, {"kind": "orcuckoo"}, "semantics add-wins here and remove-wins in the server"),
            ({"layout": "classic", "capacity": 100}, {"capacity": 100}, "layout blocked here and classic in the server"),
            ({"growth": 4}, {}, "growth 2 here and 4 in the server"),
        ):
            with self.subTest(**here):
                self.client.flushall()
                commands.create("birds", **there)
                with self.assertRaisesRegex(roost.MismatchError, f"^birds: the filters have different configurations: {text}$"):
                    commands.sync("birds", roost.Filter(**here))
                self.assertTrue(commands.sync("birds", roost.Filter(**there)).equal)
        for options in (*KINDS, {"seed": 2**64 - 1}):
            self.client.flushall()
            commands.create("birds", **options)
            self.assertEqual(commands._difference("birds", roost.Filter(**options)), "")
        commands.create_window("recent", 60)
        self.assertEqual(commands._difference("recent", roost.Window(60)), "")
        with self.assertRaisesRegex(roost.MismatchError, "window_seconds 61.0 here and 60.0 in the server"):
            commands.sync("recent", roost.Window(61))
        with self.assertRaisesRegex(roost.MismatchError, "kind counter here and window"):
            commands.sync("recent", roost.Counter(60))

    def test_decoding_client(self):
        with redis.Redis(unix_socket_path=self.path, decode_responses=True) as client:
            seen, local = ServerFilter(client, "urls", shards=3), roost.Filter()
            seen.create(capacity=500)
            self.assertEqual(seen.update(range(100)), 100)
            self.assertEqual(seen.info()["shards"], 3)
            Commands(client).merge("one", local)
            local.add("swift")
            self.assertTrue(Commands(client).sync("one", local).equal)
            self.assertIn("swift", Commands(client).load("one"))

    def test_cluster_client(self):
        from redis.cluster import RedisCluster

        client = RedisCluster(host="127.0.0.1", port=self.port)
        self.addCleanup(client.close)
        seen = ServerFilter(client, "urls", shards=6)
        seen.create(kind="orcuckoo")
        self.assertEqual(seen.update(map(str, range(2000))), 2000)
        self.assertEqual(seen.contains_many(["5", "none"]), [True, False])
        seen.remove("5")
        self.assertTrue("5" not in seen and seen.info()["shards"] == 6)


if __name__ == "__main__":
    unittest.main()
