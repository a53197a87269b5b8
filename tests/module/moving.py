#!/usr/bin/python3
"""Filters of the real RedisBloom move in: from RDB, AOF, RESTORE and chunks, and answer every question as before.

tests/golden/redisbloom has what RedisBloom 2.6.3 and 2.8.20 made, and contents.json what is in it."""
import base64
import json
import os
import random
import shutil
import socket
import struct
import tempfile
import threading

import redis

from link import FAST, Link, region
from rdb import crc64
from servers import ROOT, Server, caught_up, free_port, replicate, run, same_digests, server, servers, wait_for

GOLDEN = os.path.join(ROOT, "tests", "golden", "redisbloom")
with open(os.path.join(GOLDEN, "contents.json")) as file:
    CONTENTS = json.load(file)
FILTERS = CONTENTS["filters"]


def items_of(key, span):
    return [f"item:{key.split(':')[1]}:{i}" for i in range(*span)]


def found(s, key, items):
    return sum(s("BF.MEXISTS" if key.startswith("bf") else "CF.MEXISTS", key, *items))


def check(s, keys=FILTERS, absent=True):
    """Every item is there, and as many absent ones are answered with yes as RedisBloom answered."""
    for key in keys:
        present = items_of(key, FILTERS[key]["present"])
        assert found(s, key, present) == len(present), key
        if absent:
            name = key.split(":")[1]
            yes = found(s, key, [f"item:{name}:absent:{i}" for i in range(20000)])
            assert yes == CONTENTS["absent_answered_yes"][key], (key, yes)
        for item in items_of(key, FILTERS[key].get("twice", (0, 0))):
            assert s("CF.COUNT", key, item) >= 2


def check_info(s, key):
    """All but the size, which is what it takes here."""
    info = s("BF.INFO" if key.startswith("bf") else "CF.INFO", key)
    info = {name.decode(): value for name, value in zip(info[::2], info[1::2])}
    assert info.keys() == CONTENTS["info"][key].keys()
    for name, value in CONTENTS["info"][key].items():
        assert name == "Size" or info[name] == value, (key, name, info[name], value)
    assert s("TYPE", key) == (b"MBbloom--" if key.startswith("bf") else b"MBbloomCF")
    if key.startswith("bf"):
        assert s("BF.CARD", key) == CONTENTS["info"][key]["Number of items inserted"]


def imported(s, key):
    info = s("ROOST.INFO", key)
    info = {name.decode(): value for name, value in zip(info[::2], info[1::2])}
    return {name: info[name] for name in info if name.startswith("imported")}


def folder_with(golden, name):
    folder = tempfile.mkdtemp(prefix="roost-", dir="/tmp")
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    shutil.copy(os.path.join(GOLDEN, golden), os.path.join(folder, name))
    return folder


def chunk_commands():
    """The commands of the AOF: [command, key, iterator, bytes]."""
    with open(os.path.join(GOLDEN, "2.8.20.aof"), "rb") as stream:
        while line := stream.readline():
            command = []
            for _ in range(int(line[1:])):
                size = int(stream.readline()[1:])
                command.append(stream.read(size + 2)[:-2])
            if b"LOADCHUNK" in command[0]:
                yield [command[0], command[1].decode(), int(command[2]), command[3]]


def test_rdb_files():
    for version in "2.6.3", "2.8.20":
        with servers(lambda: Server(folder=folder_with(f"{version}.rdb", "dump.rdb"))) as s:
            check(s)
            counted = s.client.info("roost")
            assert counted["roost_imported_filters"] == len(FILTERS) == counted["roost_loads"] and counted["roost_loads_usec"] > 0, counted
            for key in FILTERS:
                check_info(s, key)
                assert imported(s, key)["imported_parts"] == CONTENTS["info"][key]["Number of filters"]
            before = {key: s.digest(key) for key in FILTERS}
            s("SAVE"), s.restart()
            check(s)
            assert before == {key: s.digest(key) for key in FILTERS}
            assert sorted(s.client.scan_iter(_type="MBbloomCF")) == [b"cf:default", b"cf:reserved"]


def commands_of_clients():
    """As RedisBloom logs and replicates them: as they came."""
    def command(*words):
        words = [str(w).encode() for w in words]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
    return (command("BF.ADD", "bf:default", "later") + command("BF.MADD", "bf:new", "a", "b", "a")
            + command("BF.RESERVE", "bf:fixed", "0.01", "3", "NONSCALING") + command("BF.INSERT", "bf:fixed", "ITEMS", 1, 2, 3)
            + command("CF.RESERVE", "cf:new", 1000, "EXPANSION", 2) + command("CF.ADD", "cf:new", "a") + command("CF.ADDNX", "cf:new", "a")
            + command("CF.INSERT", "cf:new", "ITEMS", "b", "b", "c") + command("CF.DEL", "cf:new", "b")
            + command("CF.ADD", "cf:default", "later") + command("CF.DEL", "cf:default", "item:default:1"))


def log_of_commands():
    folder = folder_with("2.8.20.aof", "appendonly.aof")
    with open(os.path.join(folder, "appendonly.aof"), "ab") as log:
        log.write(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + commands_of_clients())
    return folder


class Primary(threading.Thread):
    """What a server with RedisBloom is to its replica: an RDB file, and commands after it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                if not line.startswith(b"*"):
                    continue
                words = [stream.read(int(stream.readline()[1:]) + 2)[:-2].upper() for _ in range(int(line[1:]))]
                if words[0] == b"PING":
                    connection.sendall(b"+PONG\r\n")
                elif words[0] == b"PSYNC":
                    with open(os.path.join(GOLDEN, "2.6.3.rdb"), "rb") as file:
                        rdb = file.read()
                    connection.sendall(b"+FULLRESYNC %s 0\r\n$%d\r\n%s" % (b"a" * 40, len(rdb), rdb))
                    connection.sendall(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + commands_of_clients())
                elif words[:2] != [b"REPLCONF", b"ACK"]:
                    connection.sendall(b"+OK\r\n")


def test_a_primary_with_redisbloom():
    """A replica takes its filters over, repeats its commands, and can be promoted."""
    primary = Primary()
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always")) as s:
        s("REPLICAOF", "127.0.0.1", primary.port)
        wait_for(lambda: s("BF.EXISTS", "bf:default", "later") and imported(s, "cf:default")["imported_removed"] == 1, "the replica")
        check_commands(s), check(s, [key for key in FILTERS if key != "cf:default"])
        s("REPLICAOF", "NO", "ONE"), s("BF.ADD", "bf:default", "own"), s("CF.DEL", "cf:default", "item:default:2")
        primary.listener.close()
        before = {key: s.digest(key) for key in FILTERS}
        s.restart()
        assert before == {key: s.digest(key) for key in FILTERS}


def check_commands(s):
    assert s("BF.EXISTS", "bf:default", "later") == 1 and s("BF.CARD", "bf:new") == 2
    assert s("BF.MEXISTS", "bf:fixed", 1, 2, 3) == [1, 1, 1] and s("BF.CARD", "bf:fixed") == 3
    assert [s("CF.COUNT", "cf:new", item) for item in "abcd"] == [1, 1, 1, 0]
    assert s("CF.EXISTS", "cf:default", "later") == 1 and imported(s, "cf:default")["imported_removed"] == 1


def test_aof_files_with_commands():
    """And a server that replicates one that has loaded such a file, chained, has the same."""
    with servers(lambda: Server("--appendonly", "yes", port=free_port(), folder=log_of_commands()), lambda: Server(port=free_port())) as (s, replica):
        check_commands(s), check(s, [key for key in FILTERS if key != "cf:default"], absent=False)
        replicate(replica, s), caught_up(replica, s)
        check_commands(replica)
        same_digests(s, replica, [*FILTERS, "bf:new", "bf:fixed", "cf:new"])


def test_aof_files():
    with servers(lambda: Server("--appendonly", "yes", folder=folder_with("2.8.20.aof", "appendonly.aof"))) as s:
        check(s)
        for key in FILTERS:
            check_info(s, key)
        before = {key: s.digest(key) for key in FILTERS}
        for preamble in "no", "yes":  # ours, of the imported filters
            s("CONFIG", "SET", "aof-use-rdb-preamble", preamble), s("BGREWRITEAOF")
            wait_for(lambda: not s.client.info("persistence")["aof_rewrite_in_progress"]
                     and not s.client.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
            s.restart()
            assert before == {key: s.digest(key) for key in FILTERS}
            assert s("TYPE", "bf:grown") == b"MBbloom--"
    folder = folder_with("2.8.20.rdb", "appendonlydir/appendonly.aof.1.base.rdb")
    with open(os.path.join(folder, "appendonlydir", "appendonly.aof.manifest"), "w") as manifest:
        manifest.write("file appendonly.aof.1.base.rdb seq 1 type b\n")
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always", folder=folder)) as s:
        check(s)
        s("CF.DEL", "cf:default", "item:default:3"), s("BF.ADD", "bf:default", "new")
        before = {key: s.digest(key) for key in FILTERS}
        s.restart()
        assert before == {key: s.digest(key) for key in FILTERS}


def test_restore_copy_and_dump():
    with server() as s:
        for key, payload in CONTENTS["dump"].items():
            s("RESTORE", key, 0, base64.b64decode(payload))
            check(s, [key]), check_info(s, key)
            s("COPY", key, "copy"), s("RESTORE", "restored", 0, s("DUMP", key))
            s("ROOST.MERGESTORE", "merged", key, "copy")
            for other in "copy", "restored", "merged":
                assert s.digest(other) == s.digest(key) and s("TYPE", other) == s("TYPE", key)
            s("ROOST.RESTORE", "dumped", 0, whole(s, key))
            assert s.digest("dumped") == s.digest(key)
            s("DEL", "copy", "restored", "merged", "dumped")
            assert s("MEMORY", "USAGE", key) >= imported(s, key)["imported_bytes"]


def whole(s, key):
    """All chunks of a dump, as one."""
    bytes_, iterator = b"", 0
    while True:
        iterator, chunk = s("ROOST.DUMP", key, iterator)
        if not iterator:
            return bytes_
        bytes_ += chunk


def test_chunks():
    commands = list(chunk_commands())
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always"), lambda: Server(port=free_port())) as (s, replica):
        s("CONFIG", "SET", "port", port := free_port())
        s.port = port
        replicate(replica, s)
        for command, key, iterator, chunk in commands:
            assert s(command, key, iterator, chunk) == b"OK"
            if iterator == 1:  # what has only begun survives, and answers with an error
                assert "not loaded completely" in s.error("BF.EXISTS" if key[0] == "b" else "CF.EXISTS", key, "x")
                assert s.error(command, key, iterator, chunk)
                assert s.error(command, key, 10**9, chunk)
        check(s)
        for key in FILTERS:
            check_info(s, key)
        caught_up(replica, s)
        same_digests(s, replica, FILTERS)
        s.restart()
        check(s)
        header = next(c for c in commands if c[1] == "bf:grown" and c[2] == 1)
        rest = [c for c in commands if c[1] == "bf:grown" and c[2] != 1]
        s("BF.LOADCHUNK", "late", 1, header[3])
        assert s("TYPE", "late") == b"MBbloom--"
        s("BF.LOADCHUNK", "late", rest[0][2], rest[0][3]), s("BF.LOADCHUNK", "late", rest[0][2], rest[0][3])
        assert s.error("BF.LOADCHUNK", "late", rest[2][2], rest[2][3])
        half = len(rest[1][3]) // 2
        s("BF.LOADCHUNK", "late", rest[1][2] - len(rest[1][3]) + half, rest[1][3][:half])
        for preamble in "yes", "no":  # a value that is not complete survives, too
            s("CONFIG", "SET", "aof-use-rdb-preamble", preamble), s("BGREWRITEAOF")
            wait_for(lambda: not s.client.info("persistence")["aof_rewrite_in_progress"]
                     and not s.client.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
            s.restart()
        s("BF.LOADCHUNK", "late", rest[1][2], rest[1][3][half:]), s("BF.LOADCHUNK", "late", rest[2][2], rest[2][3])
        assert s.digest("late") == s.digest("bf:grown")


def test_what_comes_later():
    """Additions go beside the imported filter, deletions work on both, a fixed size is kept; replicas and files have it all."""
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port()), lambda: Server(port=free_port())) as (s, replica):
        replicate(replica, s)
        for command, key, iterator, chunk in chunk_commands():
            s(command, key, iterator, chunk)
        assert s("BF.ADD", "bf:default", "item:default:7") == 0 and s("BF.ADD", "bf:default", "new") == 1
        assert s("BF.CARD", "bf:default") == 501 and s("BF.EXISTS", "bf:default", "new") == 1
        # one of them is in the imported filter by mistake: all probes of "more 2695" hit three bits of 126,592
        assert sum(s("BF.MADD", "bf:grown", *[f"more {i}" for i in range(3000)])) == 2999
        assert s("BF.INFO", "bf:grown", "ITEMS") == [22999] and s("BF.MADD", "bf:grown", "more 1", "more 2695") == [0, 0]
        assert s.error("BF.ADD", "bf:nonscaling", "no room") == "non scaling filter is full"
        assert s("BF.ADD", "bf:nonscaling", "item:nonscaling:1") == 0
        key = "cf:default"
        assert s("CF.ADDNX", key, "item:default:200") == 0 and s("CF.ADD", key, "item:default:200") == 1
        assert s("CF.COUNT", key, "item:default:200") >= 2
        for i in range(300):
            assert s("CF.DEL", key, f"item:default:{i}") == 1
        left = items_of(key, (300, 1700))
        assert found(s, key, left) == len(left), "a deletion took another item with it"
        again = found(s, key, items_of(key, (100, 300)))
        assert again <= 40, again  # one was added once more, and 538 of 20,000 absent ones are answered with yes
        assert imported(s, key)["imported_removed"] == 299
        assert s("ROOST.REM", key, "item:default:301") == [1]
        caught_up(replica, s)
        same_digests(s, replica, FILTERS)
        before = {key: s.digest(key) for key in FILTERS}
        s.restart()
        assert before == {key: s.digest(key) for key in FILTERS}
        assert found(s, key, left[2:]) == len(left) - 2


def test_regions():
    """Both regions hold what either imported; deletions reach the other one; what was imported twice is there once."""
    with servers(region("--appendonly", "yes"), region("--appendonly", "yes")) as (a, b):
        for command, key, iterator, chunk in chunk_commands():
            a(command, key, iterator, chunk)
        b("RESTORE", "cf:default", 0, base64.b64decode(CONTENTS["dump"]["cf:default"]))
        b("BF.RESERVE", "bf:reserved", "0.01", "10000"), b("BF.ADD", "bf:reserved", "of b")
        with Link(a, b, options=(FAST,)):
            wait_for(lambda: all(b.client.exists(key) and a.digest(key) == b.digest(key) for key in FILTERS), "equal regions")
            check(b, absent=False)
            assert found(b, "bf:grown", [f"item:grown:absent:{i}" for i in range(20000)]) == 0
            assert a("BF.EXISTS", "bf:reserved", "of b") == 1
            assert imported(b, "cf:default") == imported(a, "cf:default")
            check_info(b, "cf:default")  # a key that the link made; INFO is no part of the state
            b("ROOST.CREATE", "own", "KIND", "orcuckoo", "MULTISET", "CAPACITY", 1000)
            assert b("CF.INFO", "own")[10:] == [b"Bucket size", 4, b"Expansion rate", 0, b"Max iterations", 20]
            a("CF.DEL", "cf:default", "item:default:1000"), b("CF.DEL", "cf:default", "item:default:1001")
            b("BF.ADD", "bf:default", "from b")
            wait_for(lambda: a.digest("cf:default") == b.digest("cf:default") and imported(a, "cf:default")["imported_removed"] == 2
                     and a("BF.EXISTS", "bf:default", "from b"), "the deletions")
            b.kill()
            a("CF.DEL", "cf:default", "item:default:1002")
            b.start()
            wait_for(lambda: all(a.digest(key) == b.digest(key) for key in FILTERS), "a region that was away")
        check(b, [key for key in FILTERS if key[0] == "b"], absent=False)


def test_files_of_earlier_versions():
    """They have one type for all filters, as a server without BF.* and CF.* still does."""
    with server(module_arguments=("bf-cf", "no")) as old:
        old("ROOST.CREATE", "bf", "KIND", "cuckoo", "SCALABLE", "FPR", "0.01"), old("ROOST.ADD", "bf", "x")
        old("ROOST.CREATE", "cf", "KIND", "orcuckoo", "MULTISET", "SCALABLE"), old("ROOST.ADD", "cf", "x")
        assert old("TYPE", "bf") == b"roostdata"
        old("SAVE")
        with servers(lambda: Server(folder=folder_with(os.path.join(old.folder, "dump.rdb"), "dump.rdb"))) as s:
            for family in "BF", "CF":
                key = family.lower()
                assert s(f"{family}.EXISTS", key, "x") == 1 and s("TYPE", key) == b"roostdata"
                s(f"{family}.ADD", key, "y"), s("ROOST.RESTORE", "new", 0, whole(s, key)), s("RENAME", "new", f"new {key}")
                assert s.digest(f"new {key}") == s.digest(key) and s("TYPE", f"new {key}").startswith(b"MBbloom")


def sealed(payload):
    return payload[:-8] + struct.pack("<Q", crc64(payload[:-8]))


def test_forged_payloads():
    """Mutated payloads with a right checksum, and mutated chunks: refused, or a filter that can be saved and asked."""
    with server() as s:
        accepted = 0
        for round_ in range(400):
            key = random.choice(["bf:default", "cf:default"])
            payload = bytearray(base64.b64decode(CONTENTS["dump"][key]))
            for _ in range(random.choice([1, 1, 2, 5])):
                payload[random.randrange(min(len(payload) - 10, 60) if round_ % 2 else len(payload) - 10)] = random.randrange(256)
            try:
                s("RESTORE", "x", 0, sealed(bytes(payload)), "REPLACE")
            except redis.RedisError:
                continue
            accepted += 1
            ask(s, "x")
        assert accepted > 20, accepted
        for command, key, iterator, chunk in chunk_commands():
            if iterator > 1:
                continue
            for _ in range(80):
                forged = bytearray(chunk)
                for _ in range(random.choice([1, 2, 6])):
                    forged[random.randrange(len(forged))] = random.choice([0, 1, 255, random.randrange(256)])
                s("DEL", "x")
                try:
                    s(command, "x", 1, bytes(forged[:random.randrange(len(forged))] if random.random() < .2 else forged))
                    s(command, "x", random.randrange(1, 2**40), b"?" * random.randrange(100))
                except redis.RedisError:
                    pass
        assert s.client.ping()


def ask(s, key):
    kind = s("TYPE", key)
    family = "BF" if kind == b"MBbloom--" else "CF"
    s(f"{family}.EXISTS", key, "a"), s(f"{family}.INFO", key), s.digest(key), s("ROOST.INFO", key, "FULL")
    if family == "CF":
        s("CF.DEL", key, "a")
    s("RESTORE", "y", 0, s("DUMP", key), "REPLACE")
    assert s.digest("y") == s.digest(key)


def test_valkey_bloom_is_refused_with_a_reason():
    """The payload of a module type is its id (name and version, 64 bits) and its fields."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    number = 0
    for letter in "bloomfltr":
        number = number << 6 | alphabet.index(letter)
    with server() as s:
        like = base64.b64decode(CONTENTS["dump"]["bf:default"])
        body = b"\x07\x81" + struct.pack(">Q", number << 10 | 1) + b"\x02\x01\x00"
        assert s.error("RESTORE", "x", 0, sealed(body + like[-10:]))
        assert "bloomfltr" in s.log() and "BF.MADD" in s.log()


if __name__ == "__main__":
    run(globals())
