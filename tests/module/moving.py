#!/usr/bin/python3
"""Filters of the real RedisBloom move in: from RDB, AOF, RESTORE and chunks, and answer every question as before; those of valkey-bloom, too.

tests/golden/redisbloom has what RedisBloom 2.6.3 and 2.8.20 made, and contents.json what is in it; tests/golden/valkey-bloom likewise."""
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
from rdb import crc64, number, string
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
            # a key that the link made: what it was reserved with is no part of the state
            assert b("CF.INFO", "cf:reserved")[10:] == [b"Bucket size", 2, b"Expansion rate", 1, b"Max iterations", 20]
            assert b("CF.INFO", "cf:reserved")[2:10] == a("CF.INFO", "cf:reserved")[2:10]
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


# ---- seeds of RedisBloom ---------------------------------------------------------------------------------------------

WORD = (1 << 64) - 1
MURMUR = 0xc6a4a7935bd1e995


def murmur(key, seed):
    """MurmurHash64A."""
    value = seed ^ len(key) * MURMUR & WORD
    for at in range(0, len(key) & ~7, 8):
        word = int.from_bytes(key[at:at + 8], "little") * MURMUR & WORD
        value = (value ^ (word ^ word >> 47) * MURMUR & WORD) * MURMUR & WORD
    if len(key) & 7:
        value = (value ^ int.from_bytes(key[len(key) & ~7:], "little")) * MURMUR & WORD
    value = (value ^ value >> 47) * MURMUR & WORD
    return value ^ value >> 47


def bloom_array(items, seed, bits=6400, hashes=7):
    array = bytearray(bits // 8)
    for item in items:
        first = murmur(item, seed)
        second = murmur(item, first)
        for i in range(hashes):
            bit = (first + i * second & WORD) % bits
            array[bit // 8] |= 1 << bit % 8
    return bytes(array)


def cuckoo_array(items, seed, buckets=1024, width=2):
    array = bytearray(buckets * width)
    for item in items:
        value = murmur(item, seed)
        fingerprint = value % 255 + 1
        places = [b % buckets * width + i for b in (value, value ^ fingerprint * 0x5bd1e995) for i in range(width)]
        array[next(p for p in places if array[p] == 0)] = fingerprint
    return bytes(array)


def payload(name, version, fields):
    """What DUMP returns of a module type: its name and version, the fields, the version of RDB, a checksum."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    id_ = 0
    for letter in name:
        id_ = id_ << 6 | alphabet.index(letter)
    like = base64.b64decode(CONTENTS["dump"]["bf:default"])
    return sealed(b"\x07\x81" + struct.pack(">Q", id_ << 10 | version) + b"".join(fields) + b"\0" + like[-10:])


def rate(value):
    return b"\x04" + struct.pack("<d", value)


def test_filters_with_seeds():
    """Version 5 of RedisBloom's encodings. With the seed that all had before, the filter is the one that version 4 has."""
    items = [f"heron {i}".encode() for i in range(300)]
    with server() as s:
        for seed in 1234567890123456789, WORD:
            bits, slots = bloom_array(items, seed), cuckoo_array(items, seed)
            header = struct.pack("<QIII", 300, 1, 5 | 1 << 31, 2) + struct.pack("<QQQddIQB", 800, 6400, 300, 0.005, 10.6, 7, 500, 0)
            s("BF.LOADCHUNK", "bf chunks", 1, header + struct.pack("<Q", seed)), s("BF.LOADCHUNK", "bf chunks", 801, bits)
            s("CF.LOADCHUNK", "cf chunks", 1, struct.pack("<QQQQHHHQ", 300, 1024, 0, 1 << 63 | 1, 2, 20, 1, seed))
            s("CF.LOADCHUNK", "cf chunks", 2049, slots)
            s("RESTORE", "bf file", 0, payload("MBbloom--", 5, [number(300), number(1), number(5), number(2), number(500), rate(0.005), number(7),
                                                                rate(10.6), number(6400), number(0), string(bits), number(300), number(seed)]))
            s("RESTORE", "cf file", 0, payload("MBbloomCF", 5, [number(1), number(1024), number(300), number(0), number(2), number(20), number(1),
                                                                number(1024), string(slots), number(seed)]))
            for family in "bf", "cf":
                for key in f"{family} chunks", f"{family} file":
                    assert sum(s(f"{family}.MEXISTS", key, *items)) == 300, (key, seed)
                    assert sum(s(f"{family}.MEXISTS", key, *range(1000))) < 30
                assert s.digest(f"{family} chunks") == s.digest(f"{family} file")
                s("RESTORE", "again", 0, s("DUMP", f"{family} file"))
                assert s.digest("again") == s.digest(f"{family} file") and imported(s, "again")["imported_parts"] == 1
                s("DEL", "again")
            assert s("CF.DEL", "cf file", items[7]) == 1 and imported(s, "cf file")["imported_removed"] == 1
            assert s.error("BF.LOADCHUNK", "short", 1, header) and s.error("BF.LOADCHUNK", "long", 1, header + bytes(16))
            s("FLUSHALL")
        for key, usual in ("bf:default", MURMUR), ("cf:default", 0):
            old = base64.b64decode(CONTENTS["dump"][key])
            version = struct.unpack(">Q", old[2:10])[0]
            s("RESTORE", "old", 0, old)
            s("RESTORE", "new", 0, sealed(old[:2] + struct.pack(">Q", version + 1) + old[10:-11] + number(usual) + old[-11:]))
            assert version & 1023 == 4 and s.digest("new") == s.digest("old")
            s("DEL", "old", "new")


# ---- valkey-bloom ------------------------------------------------------------------------------------------------------

VALKEY = os.path.join(ROOT, "tests", "golden", "valkey-bloom")
with open(os.path.join(VALKEY, "contents.json")) as file:
    OF_VALKEY = json.load(file)["filters"]


def of_valkey(name):
    """As BF.LOAD takes it, and as RESTORE does."""
    with open(os.path.join(VALKEY, name + ".load"), "rb") as file:
        load = file.read()
    expansion, error_rate, tightening, random_seed, count = struct.unpack_from("<IddBQ", load, 1)
    fields, at = [number(count), number(expansion), rate(error_rate), rate(tightening), number(random_seed)], 30
    for i in range(count):
        size, = struct.unpack_from("<Q", load, at)
        items, capacity = struct.unpack_from("<QQ", load, at + 8 + size)
        fields += [string(load[at + 8:at + 8 + size]), number(capacity)] + [number(items)] * (i == count - 1)
        at += size + 24
    return load, payload("bloomfltr", 1, fields)


def check_valkey(s, name, key):
    about = OF_VALKEY[name]
    assert sum(s("BF.MEXISTS", key, *[f"item:{name}:{i}" for i in range(about["present"])])) == about["present"], key
    assert sum(s("BF.MEXISTS", key, *[f"item:{name}:absent:{i}" for i in range(20000)])) == about["absent_answered_yes"], key
    info = s("BF.INFO", key)
    assert info[1::2][:1] + info[1::2][2:] == [about["total"], about["filters"], about["inserted"], about["expansion"]], info
    assert imported(s, key)["imported_parts"] == about["filters"] and s("BF.CARD", key) == about["inserted"]


def test_filters_of_valkey_bloom():
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port()), lambda: Server(port=free_port())) as (s, replica):
        replicate(replica, s)
        keys = []
        for name in OF_VALKEY:
            load, restore = of_valkey(name)
            assert s("BF.LOAD", f"{name} loaded", load) == b"OK" and s.error("BF.LOAD", f"{name} loaded", load) == "item exists"
            assert s("RESTORE", f"{name} restored", 0, restore) == b"OK"
            assert s("TYPE", f"{name} loaded") == b"MBbloom--" and s("TYPE", f"{name} restored") == b"bloomfltr"
            for how in "loaded", "restored":
                check_valkey(s, name, f"{name} {how}")
                keys.append(f"{name} {how}")
            assert s.digest(f"{name} loaded") == s.digest(f"{name} restored")
            s("COPY", f"{name} restored", "copy"), s("RESTORE", "again", 0, s("DUMP", f"{name} restored"))
            s("ROOST.MERGESTORE", "merged", f"{name} restored", f"{name} loaded")
            assert {s.digest(key) for key in ("copy", "again", "merged")} == {s.digest(f"{name} loaded")}
            s("DEL", "copy", "again", "merged")
        for key in keys:
            if key.startswith("fixed"):
                assert s.error("BF.ADD", key, "no room") == "non scaling filter is full"
            else:
                assert s("BF.MADD", key, "new", "item:default:1" if key.startswith("default") else "item:grown:1") == [1, 0]
        caught_up(replica, s)
        same_digests(s, replica, keys)
        before = {key: s.digest(key) for key in keys}
        s.restart()
        assert before == {key: s.digest(key) for key in keys}
        s("CONFIG", "SET", "appendonly", "no"), s("SAVE"), s("CONFIG", "SET", "aof-use-rdb-preamble", "no"), s("CONFIG", "SET", "appendonly", "yes")
        wait_for(lambda: not s.client.info("persistence")["aof_rewrite_in_progress"]
                 and not s.client.info("persistence")["aof_rewrite_scheduled"], "the rewrite")
        with servers(lambda: Server(folder=folder_with(os.path.join(s.folder, "dump.rdb"), "dump.rdb"))) as other:
            assert before == {key: other.digest(key) for key in keys} and other("TYPE", "grown restored") == b"bloomfltr"
        s.restart()
        assert before == {key: s.digest(key) for key in keys}


def test_a_log_of_valkey_bloom():
    """It has filters as BF.LOAD, additions as they came, and every creation as BF.INSERT with all options, without items after BF.RESERVE."""
    folder = tempfile.mkdtemp(prefix="roost-", dir="/tmp")
    options = ["CAPACITY", 1000, "ERROR", 0.001, "TIGHTENING", 0.5, "SEED"]
    with open(os.path.join(folder, "appendonly.aof"), "wb") as log:
        for words in (["BF.LOAD", "loaded", of_valkey("grown")[0]], ["BF.INSERT", "reserved", *options, b"\x01" * 32, "EXPANSION", 4],
                      ["BF.INSERT", "fixed", *options, b"\x02" * 32, "NONSCALING"], ["BF.MADD", "reserved", "a", "b"], ["BF.ADD", "loaded", "new"],
                      ["BF.INSERT", "made", *options, b"\x03" * 32, "EXPANSION", 2, "ITEMS", "a", "c"]):
            words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            log.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    with servers(lambda: Server("--appendonly", "yes", folder=folder)) as s:
        assert s("BF.INFO", "reserved", "EXPANSION") == [4] and s("BF.MEXISTS", "reserved", "a", "b", "c") == [1, 1, 0]
        assert s("BF.INFO", "fixed", "CAPACITY") == [1000] and s("BF.INFO", "fixed", "EXPANSION") == [None] and s("BF.CARD", "fixed") == 0
        assert s("BF.MEXISTS", "made", "a", "b", "c") == [1, 0, 1] and s("BF.MEXISTS", "loaded", "new", "item:grown:7") == [1, 1]
        s("BF.RESERVE", "own", "0.001", 1000), s("BF.ADD", "own", "d")
        assert s("ROOST.MERGESTORE", "all", "own", "reserved", "made") == b"OK" and s("BF.MEXISTS", "all", *"abcde") == [1, 1, 1, 1, 0]
        assert "wrong number" in s.error("BF.INSERT", "none", "CAPACITY", 5) and not s.client.exists("none")
        before = {key: s.digest(key) for key in ("loaded", "reserved", "fixed", "made")}
        s.restart()
        assert before == {key: s.digest(key) for key in before}


def test_a_region_gets_filters_of_valkey_bloom():
    with servers(region(), region()) as (a, b):
        for name in OF_VALKEY:
            load, restore = of_valkey(name)
            a("RESTORE", name, 0, restore)
        b("BF.LOAD", "grown", of_valkey("grown")[0]), b("BF.ADD", "grown", "of b")
        with Link(a, b, options=(FAST,)):
            wait_for(lambda: all(b.client.exists(key) and a.digest(key) == b.digest(key) for key in OF_VALKEY), "equal regions")
            assert a("BF.EXISTS", "grown", "of b") == 1 and imported(a, "grown")["imported_parts"] == 4
        for name in "default", "fixed":
            about = OF_VALKEY[name]
            assert sum(b("BF.MEXISTS", name, *[f"item:{name}:{i}" for i in range(about["present"])])) == about["present"]


def test_forged_filters_of_valkey_bloom():
    """Of other versions, cut short, and with changed bytes: refused, or a filter that can be saved and queried."""
    load, restore = of_valkey("default")
    with server() as s:
        assert s.error("RESTORE", "x", 0, payload("bloomfltr", 2, [number(1)])) and "bloomfltr" in s.log() and "not known" in s.log()
        for size in 0, 1, 29, 30, 53, len(load) - 1:
            assert s.error("BF.LOAD", "x", load[:size]) == "received bad data"
        other_size = load[:39] + bytes([load[39] ^ 1]) + load[40:]  # of the array, in the string of the first filter
        for wrong in load + b"?", b"\2" + load[1:], other_size:
            assert s.error("BF.LOAD", "x", wrong) == "received bad data" and not s.client.exists("x")
        accepted = 0
        for round_ in range(600):
            forged = bytearray(load if round_ % 2 else restore)
            for _ in range(random.choice([1, 1, 2, 5])):
                forged[random.randrange(min(len(forged) - 10, 100) if round_ % 4 < 2 else len(forged) - 10)] = random.randrange(256)
            s("DEL", "x")
            try:
                s(*("BF.LOAD", "x", bytes(forged)) if round_ % 2 else ("RESTORE", "x", 0, sealed(bytes(forged))))
            except redis.RedisError:
                continue
            accepted += 1
            if s("TYPE", "x") in (b"MBbloom--", b"bloomfltr"):
                s("BF.EXISTS", "x", "a"), s("BF.INFO", "x"), s("BF.DEBUG", "x"), s("RESTORE", "y", 0, s("DUMP", "x"), "REPLACE")
                assert s.digest("y") == s.digest("x")
        assert accepted > 20, accepted


if __name__ == "__main__":
    run(globals())
