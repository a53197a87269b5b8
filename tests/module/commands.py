#!/usr/bin/python3
"""BF.*, CF.* and ROOST.* through Debian's python3-redis and through the bare protocol: arguments, replies, error texts."""
import itertools
import os
import subprocess
import tempfile
import time

import redis

from servers import MODULE, PATIENCE, PROGRAM, Speaker, environment_for_module, run, server

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def test_bloom_filters_through_the_client_library():
    with server() as s:
        bf = s.client.bf()
        assert bf.create("bloom", 0.01, 1000) and bf.create("grows", 0.01, 1000, expansion=4)
        assert bf.create("fixed", 0.01, 1000, noScale=True)
        assert bf.add("bloom", "foo") == 1 and bf.add("bloom", "foo") == 0
        assert bf.madd("bloom", "foo", "bar", "quux") == [0, 1, 1]
        assert bf.exists("bloom", "bar") == 1 and bf.exists("bloom", "noexist") == 0
        assert bf.mexists("bloom", "foo", "noexist") == [1, 0]
        info = bf.info("bloom")
        assert (info.insertedNum, info.filterNum, info.capacity, info.expansionRate) == (3, 1, 1000, 2)
        assert bf.info("grows").expansionRate == 4 and bf.info("fixed").expansionRate is None
        assert info_of(s, "bloom")[b"kind"] == b"cuckoo" and info_of(s, "fixed")[b"kind"] == b"bloom"
        assert bf.insert("made", ["a", "b"], capacity=500, error=0.001, expansion=3) == [1, 1]
        assert bf.info("made").expansionRate == 3 and bf.info("made").capacity == 500
        assert s("BF.CARD", "made") == 2 and s("BF.CARD", "missing") == 0


def info_of(s, key):
    info = s("ROOST.INFO", key, "FULL")
    return dict(zip(info[::2], info[1::2]))


def test_growth_as_clients_see_it():
    """Capacity and number of filters are those of a series with these arguments; any expansion is taken and told."""
    with server() as s:
        for expansion, filters, capacity in (1, 10, 1000), (2, 4, 1500), (3, 3, 1300), (7, 3, 5700), (32768, 2, 3276900):
            s("BF.RESERVE", f"grown-{expansion}", "0.01", 100, "EXPANSION", expansion)
            assert s.client.bf().info(f"grown-{expansion}").capacity == 100
            added = 0
            while s("BF.CARD", f"grown-{expansion}") < 1000:
                s("BF.ADD", f"grown-{expansion}", added)
                added += 1
            assert added < 1020
            info = s.client.bf().info(f"grown-{expansion}")
            assert (info.capacity, info.filterNum, info.insertedNum, info.expansionRate) == (capacity, filters, 1000, expansion)
            assert s("BF.MADD", f"grown-{expansion}", "a", "a", "b", "a", "b") == [1, 0, 1, 0, 0], "twice in one command"
        assert s("ROOST.MERGESTORE", "all", *(f"grown-{expansion}" for expansion in (1, 2, 3, 7, 32768))) == b"OK"
        for rate, kind in ("0.9", b"cuckoo"), ("0.000001", b"cuckoo"), ("1e-9", b"bloom"):
            s("BF.RESERVE", rate, rate, 50000)
            s("BF.MADD", rate, *range(40000))
            info = info_of(s, rate)
            assert info[b"kind"] == kind and float(info[b"fpr_now"]) <= float(rate) and info[b"promise_holds"] == 1
            assert all(s("BF.MEXISTS", rate, *range(40000))) and (kind == b"bloom" or s.client.bf().info(rate).capacity == 50000)
            assert sum(s("BF.MEXISTS", rate, *range(100000, 120000))) <= 20000 * float(rate) + 3


def test_small_filters_are_small():
    """A server may have millions of filters of a few items: 400 bytes each, with removal 600, all in all."""
    count = 6000
    with server() as s:
        slack = 1.15 if s.client.info("memory")["mem_allocator"] == "libc" else 1  # which takes more for small blocks than jemalloc

        def used():
            return s.client.info("memory")["used_memory"]

        def make(*command):
            with s.client.pipeline(transaction=False) as pipe:
                for i in range(count):
                    pipe.execute_command(command[0], f"key:{i:07}", *command[1:])
                pipe.execute()

        for most, *command in (400, "BF.ADD", "x"), (400, "BF.RESERVE", "0.01", 1000), (400, "BF.ADD", "y"), (600, "CF.ADD", "x"), (600, "CF.RESERVE", 1000):
            make(*command), s("FLUSHALL", "SYNC")  # buffers have their size now
            before = used()
            make(*command)
            assert used() - before < most * count * slack, (command, (used() - before) / count)
            assert s("MEMORY", "USAGE", "key:0000007") < (most - 100) * slack
            s("FLUSHALL", "SYNC")
        for items, most in (10, 450), (100, 1400):
            s("BF.MADD", "key", *range(items))
            assert s("MEMORY", "USAGE", "key") < most * slack, items
        for items, most in (4, 600), (10, 800), (60, 1600):
            s("CF.INSERT", f"removable {items}", "ITEMS", *range(items))
            assert s("MEMORY", "USAGE", f"removable {items}") < most * slack, items


# ROOST.DUMP of BF.RESERVE k 0.01 4 EXPANSION 3, BF.MADD k 0 1 ... 9, by version 0.2.0
OF_AN_EARLIER_VERSION = [bytes.fromhex(chunk) for chunk in (
    "526b6579010100000000000000000000030000000000000000000000010001000a000000000000009a3c4457f6062b877d0000000000000067ef20ea44c7489c",
    "526f737401016e1101047b14ae47e17a843f00000001040102010120a4d1c4329a45fc901e65ad42528982a8b398a0cb150201012b0915b31ca4bbaae8951a9d97"
    "8ab769e15cb0541b464f11a2ebb80302009a3c4457f6062b879a3c4457f6062b8704019a3c4457f6062b879a3c4457f6062b8706b0076bbe38c8bcfa")]


def test_filters_of_earlier_versions():
    with server() as s:
        for key, command in ("old", "BF.LOADCHUNK"), ("restored", "ROOST.RESTORE"):
            for position, chunk in enumerate(OF_AN_EARLIER_VERSION, 1):
                assert s(command, key, position, chunk) == b"OK"
            assert s.digest(key) == "67772812085bcbe955dfb90e80f8625a" and all(s("BF.MEXISTS", key, *range(10)))
            info = s.client.bf().info(key)
            assert (info.capacity, info.filterNum, info.insertedNum, info.expansionRate) == (20, 2, 10, 3)
            assert s("BF.MADD", key, *range(10)) == [0] * 10 and s("BF.ADD", key, "new") == 1 and s("BF.CARD", key) == 11
            assert info_of(s, key)[b"kind"] == b"bloom" and s("ROOST.MERGESTORE", "both", "old", key) == b"OK"
        s("DEBUG", "RELOAD")
        assert s("BF.EXISTS", "old", "new") == 1 and s("BF.RESERVE", "new", "0.01", "4", "EXPANSION", "3")
        text = "the filters have different configurations: kind bloom and kind cuckoo"
        assert s.error("ROOST.MERGESTORE", "both", "old", "new") == text and s.error("ROOST.MERGE", "old", s("ROOST.DELTA", "new", 0)[1]) == text
        assert s.error("BF.LOADCHUNK", "other", 1, s("ROOST.DUMP", "old", 0)[1][:60]) == "received bad data"
        s("CONFIG", "SET", "roost.bf-kind", "bloom", "roost.bf-writers", 1)
        s("BF.RESERVE", "as before", "0.01", "4", "EXPANSION", "3"), s("BF.ADD", "as before", "x")
        assert s("ROOST.MERGESTORE", "both", "old", "as before") == b"OK" and s("BF.MEXISTS", "both", 0, "new", "x") == [1, 1, 1]


def test_cuckoo_filters_through_the_client_library():
    with server() as s:
        cf = s.client.cf()
        assert cf.create("cuckoo", 1000) and cf.create("more", 1000, expansion=3, bucket_size=4, max_iterations=7)
        assert cf.add("cuckoo", "filter") == 1 and cf.addnx("cuckoo", "filter") == 0 and cf.addnx("cuckoo", "x") == 1
        assert cf.insert("cuckoo", ["foo", "foo"]) == [1, 1] and cf.count("cuckoo", "foo") == 2
        assert cf.insertnx("cuckoo", ["foo", "bar"]) == [0, 1]
        assert cf.exists("cuckoo", "foo") == 1 and cf.exists("cuckoo", "no") == 0
        assert cf.delete("cuckoo", "foo") == 1 and cf.count("cuckoo", "foo") == 1
        assert cf.delete("cuckoo", "foo") == 1 and cf.delete("cuckoo", "foo") == 0
        info = cf.info("cuckoo")
        assert (info.insertedNum, info.deletedNum, info.filterNum) == (3, 2, 1)
        info = cf.info("more")
        assert (info.bucketSize, info.expansionRate, info.maxIteration) == (4, 4, 7)
        assert cf.info("cuckoo").bucketNum == 512 and info.bucketNum == 256  # as RedisBloom rounds the capacity up
        s("CF.RESERVE", "one", 64), s("CF.RESERVE", "two", 64, "EXPANSION", 2), s("CF.RESERVE", "four", 64, "EXPANSION", 4)
        for name, filters in ("one", 16), ("two", 5), ("four", 3):  # those with room for 1,000
            cf.insert(name, list(range(1000)))
            assert (cf.info(name).filterNum, cf.info(name).bucketNum) == (filters, 32), name
        for options, shown in ((["CAPACITY", 1000], (4, 0)), (["SCALABLE"], (2, 1)), (["SCALABLE", "CAPACITY", 100], (2, 1))):
            s("DEL", "made"), s("ROOST.CREATE", "made", "KIND", "orcuckoo", "MULTISET", *options), s("CF.INSERT", "made", "ITEMS", *range(500))
            info = cf.info("made")
            assert (info.bucketSize, info.expansionRate, info.maxIteration) == (*shown, 20) and info.bucketNum > 0 and info.insertedNum == 500
            assert s("CF.DEBUG", "made").startswith(b"bktsize:%d buckets:%d items:500 " % (info.bucketSize, info.bucketNum))
        assert s("CF.MEXISTS", "cuckoo", "bar", "no") == [1, 0]
        assert s("CF.COUNT", "missing", "x") == 0 and s("CF.EXISTS", "missing", "x") == 0


def test_dumps_through_the_client_library():
    with server() as s:
        bf, cf = s.client.bf(), s.client.cf()
        for filters, key in (bf, "b"), (cf, "c"):
            filters.create(key, *((0.01, 1000) if filters is bf else (1000,)))
            for i in range(500):
                filters.add(key, i)
            chunks, iterator = [], 0
            while True:
                iterator, data = filters.scandump(key, iterator)
                if iterator == 0:
                    break
                chunks.append((iterator, data))
            digest = s.digest(key)
            s.client.delete(key)
            for iterator, data in chunks:
                assert filters.loadchunk(key, iterator, data)
            assert s.digest(key) == digest and all(filters.exists(key, i) for i in range(500))
        cf.create("empty", 100)
        assert cf.scandump("empty", 0) == [0, None]


def test_replies_of_both_protocols():
    with server() as s:
        two, three = Speaker(s, 2), Speaker(s, 3)
        two("BF.ADD", "b", "x"), two("CF.ADD", "c", "x")
        for command, old, new in (
                (("BF.ADD", "b", "x"), 0, False), (("BF.EXISTS", "b", "x"), 1, True),
                (("BF.MADD", "b", "x", "x"), [0, 0], [False, False]), (("BF.MEXISTS", "b", "x", "?"), [1, 0], [True, False]),
                (("BF.INSERT", "b", "ITEMS", "x"), [0], [False]), (("BF.CARD", "b"), 1, 1),
                (("CF.ADDNX", "c", "x"), 0, False), (("CF.EXISTS", "c", "x"), 1, True), (("CF.DEL", "c", "?"), 0, False),
                (("CF.MEXISTS", "c", "x", "?"), [1, 0], [True, False]), (("CF.COUNT", "c", "x"), 1, 1),
                (("CF.INSERTNX", "c", "ITEMS", "x"), [0], [0]),
                (("BF.INFO", "b", "ITEMS"), [1], {"Number of items inserted": 1})):
            assert two(*command) == old and three(*command) == new, command
        assert two("CF.INSERT", "c", "ITEMS", "y") == [1] and three("CF.INSERT", "c", "ITEMS", "y") == [True]
        assert two("CF.ADD", "c", "z") == 1 and three("CF.ADD", "c", "z") is True
        names = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
        assert two("BF.INFO", "b")[0::2] == names and list(three("BF.INFO", "b")) == names
        names = ["Size", "Number of buckets", "Number of filters", "Number of items inserted", "Number of items deleted",
                 "Bucket size", "Expansion rate", "Max iterations"]
        assert two("CF.INFO", "c")[0::2] == names and list(three("CF.INFO", "c")) == names
        two("BF.RESERVE", "full", "0.01", "2", "NONSCALING")
        for speak, yes in (two, 1), (three, True):
            answer = speak("BF.MADD", "full", f"1{yes}", f"2{yes}", f"3{yes}", f"4{yes}")
            assert str(answer[-1]) == "ERR non scaling filter is full", answer
        assert len(two("BF.MADD", "full", "11", "5", "6")) == 2, "the error ends the array"
        two("CF.RESERVE", "small", "4", "BUCKETSIZE", "1", "EXPANSION", "0")
        answers = [two("CF.INSERT", "small", "ITEMS", i)[0] for i in range(40)]
        assert answers[0] == 1 and answers[-1] == -1 and three("CF.INSERT", "small", "ITEMS", "41") == [False]
        assert str(two("CF.ADD", "small", "99")) == "Filter is full"
        assert two("BF.INFO", "full", "EXPANSION") == [None] and three("BF.INFO", "full", "EXPANSION") == {"Expansion rate": None}
        two.close(), three.close()


def test_commands_of_the_peers():
    """CF.COMPACT, BF.DEBUG, CF.DEBUG; arguments of BF.INSERT that valkey-bloom has; BF.LOAD of a filter of ours."""
    with server() as s:
        assert s("BF.INSERT", "fixed", "NONSCALING", "EXPANSION", 2, "CAPACITY", 2, "ITEMS", "a", "b") == [1, 1]
        assert s("BF.INFO", "fixed", "EXPANSION") == [None]
        seed = "s" * 32
        assert s("BF.INSERT", "seeded", "TIGHTENING", "0.5", "SEED", seed, "VALIDATESCALETO", 10**6, "ITEMS", "a") == [1]
        s("BF.INSERT", "seeded too", "SEED", seed, "ITEMS", "b"), s("BF.ADD", "plain", "c")
        assert s("ROOST.MERGESTORE", "sum", "seeded", "seeded too") == b"OK" and s("BF.MEXISTS", "sum", "a", "b") == [1, 1]
        assert "different" in s.error("ROOST.MERGESTORE", "sum", "seeded", "plain")
        debug = s("BF.DEBUG", "fixed")
        assert debug[0] == b"size:2" and len(debug) == 2 and b"capacity:2 size:2 ratio:0.01" in debug[1]
        for i in range(0, 20000, 10):  # as redis-py's own tests do: however it grew, a dump of it shows the same
            s("BF.MADD", "grown", *range(i, i + 10))
        s("RESTORE", "grown again", 0, s("DUMP", "grown"))
        assert s("BF.DEBUG", "grown again") == s("BF.DEBUG", "grown")
        s("CF.RESERVE", "cuckoo", 1000, "BUCKETSIZE", 4, "EXPANSION", 2), s("CF.INSERT", "cuckoo", "ITEMS", *range(10)), s("CF.DEL", "cuckoo", 1)
        before = s.digest("cuckoo")
        assert s("CF.COMPACT", "cuckoo") == b"OK" and s.digest("cuckoo") == before
        assert b"bktsize:4" in s("CF.DEBUG", "cuckoo") and b"items:9 deletes:1" in s("CF.DEBUG", "cuckoo")
        dump, iterator = b"", 0
        while chunk := s("ROOST.DUMP", "plain", iterator):
            iterator = chunk[0]
            if not iterator:
                break
            dump += chunk[1]
        assert s("BF.LOAD", "loaded", dump) == b"OK" and s.digest("loaded") == s.digest("plain")
        assert s.error("BF.LOAD", "loaded", dump) == "item exists"


def test_arguments_of_loadmodule():
    """Those of RedisBloom, of both of its generations, and of valkey-bloom are settings of ours; what is none is refused with a reason."""
    def settings(*arguments):
        with server(module_arguments=arguments) as s:
            return {name.decode()[6:]: value.decode() for name, value in (lambda a: zip(a[::2], a[1::2]))(Speaker(s, 2)("CONFIG", "GET", "roost.*"))}
    usual = settings()
    for arguments, changed in ((("ERROR_RATE", "0.004", "INITIAL_SIZE", "400"), {"bf-error-rate": "0.004", "bf-capacity": "400"}),
                               (("bf-initial-size", "500", "cf-expansion-factor", "4", "CF_BUCKET_SIZE", "4"),
                                {"bf-capacity": "500", "cf-expansion": "4", "cf-bucket-size": "4"}),
                               (("bf.bloom-fp-rate", "0.02", "bloom-memory-usage-limit", "1000000", "roost.bf-kind", "bloom"),
                                {"bf-error-rate": "0.02", "memory-limit": "1000000", "bf-kind": "bloom"})):
        assert settings(*arguments) == {**usual, **changed}, arguments
    for arguments, reason in ((("CF_MAX_EXPANSIONS", "32"), "grow without such a limit"), (("INITIAL_SIZE", "0"), "out of range"),
                              (("WHAT", "1"), "no such setting"), (("ERROR_RATE",), "value is missing"), (("bf-error-rate", "2"), "below 1"),
                              (("bloom-use-random-seed", "no"), "seed is fixed")):
        with server(module=False) as s:
            s.stop()
            s.module, s.module_arguments = True, arguments
            process = subprocess.run(s.command(), env=s.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
            assert process.returncode and f"the argument {arguments[0]} of loadmodule" in s.log() and reason in s.log(), (arguments, s.log())
            s.module = False
            s.start()


def test_interleaved_dumps():
    """Any number of dumps are read at the same time, in any order; what is behind the end is empty."""
    with server() as s:
        keys = [f"key {i}" for i in range(60)]
        for i, key in enumerate(keys):
            s("BF.MADD", key, *range(i, i + 50))
        dumps = {key: [] for key in keys}
        at = dict.fromkeys(keys, 0)
        while at:
            for key in list(at):
                at[key], chunk = s("BF.SCANDUMP", key, at[key])
                if at[key]:
                    dumps[key].append((at[key], chunk))
                else:
                    assert chunk == b""
                    del at[key]
        for key in keys:
            last = dumps[key][-1][0]
            assert s("BF.SCANDUMP", key, last) == s("BF.SCANDUMP", key, last + 7) == [0, b""]
            assert s("BF.SCANDUMP", key, dumps[key][0][0]) == list(dumps[key][1])
            for iterator, chunk in dumps[key]:
                s("BF.LOADCHUNK", "copy", iterator, chunk)
            assert s.digest("copy") == s.digest(key)
            s("DEL", "copy")
        for nonsense in (77, 1 << 20, 1 << 53, 5 << 53 | 1 << 20 | 1, 1 << 52 | 3 << 49 | 1 << 20 | 1):
            assert s.error("BF.SCANDUMP", keys[0], nonsense) == "Invalid position", nonsense


def test_interleaved_dumps_of_filters_that_change():
    """Any number, with items added and removed before each call: what is loaded is a state that the filter had meanwhile."""
    with server() as s:
        for dump, load, add, key_count in ("BF.SCANDUMP", "BF.LOADCHUNK", "BF.MADD", 20), ("CF.SCANDUMP", "CF.LOADCHUNK", "CF.INSERT", 20):
            items = ("ITEMS",) if add == "CF.INSERT" else ()
            keys = [f"{add} {i}" for i in range(key_count)]  # more than there are snapshots
            for i, key in enumerate(keys):
                s(add, key, *items, *range(i, i + 50))
            at, dumps, states = dict.fromkeys(keys, 0), {key: [] for key in keys}, {key: [] for key in keys}
            for turn in itertools.count():
                for key in list(at):
                    states[key].append(s.digest(key))
                    at[key], chunk = s(dump, key, at[key])
                    if at[key]:
                        assert turn < 4, "it ends"
                        dumps[key].append((at[key], chunk))
                    else:
                        assert chunk == b""
                        del at[key]
                    s(add, key, *items, f"new {turn}")
                    if add == "CF.INSERT":
                        s("CF.DEL", key, keys.index(key) + turn)
                if not at:
                    break
            again = [key for key in keys if len({at >> 49 & 3 for at, _ in dumps[key]}) > 1]
            assert len(again) >= key_count - 8, "without a snapshot they begin again"
            for key in keys:
                for iterator, chunk in dumps[key]:
                    s(load, "copy", iterator, chunk)
                assert s.digest("copy") in states[key], key
                s("DEL", "copy")


def test_chunks_of_dumps_that_began_again():
    """The first chunk of a further attempt takes the place of others, and of nothing else; a bad one changes nothing."""
    with server("--save", "60 1000000000") as s:
        s("BF.MADD", "key", *range(100))
        (first, header), (second, body) = [s("BF.SCANDUMP", "key", 0), s("BF.SCANDUMP", "key", s("BF.SCANDUMP", "key", 0)[0])]
        s("SAVE"), s.restart()
        s("BF.ADD", "key", "new")
        again, whole = s("BF.SCANDUMP", "key", first)
        assert again >> 49 & 7 == 5 and whole[:4] == header[:4] and s("BF.SCANDUMP", "key", again) == [0, b""]
        assert s("BF.SCANDUMP", "key", second) == [0, b""], "the chunk was the last one, whatever the filter holds now"
        assert s("BF.LOADCHUNK", "copy", again, whole) == b"OK" and s.digest("copy") == s.digest("key")
        assert s.error("BF.LOADCHUNK", "copy", again, whole) == "received bad data", "the key is complete"
        s("BF.LOADCHUNK", "other", first, header)
        assert s.error("BF.LOADCHUNK", "other", first, header) == "received bad data", "a first attempt takes the place of nothing"
        for bad in whole[:-1], whole + b"x", whole[:-1] + bytes([whole[-1] ^ 1]), whole[:60], b"", b"\0" + whole[1:]:
            assert s.error("BF.LOADCHUNK", "other", again, bad) == s.error("BF.LOADCHUNK", "new", again, bad) == "received bad data"
        assert s("EXISTS", "new") == 0
        s("BF.LOADCHUNK", "other", second, body)
        assert s("BF.CARD", "other") == 100, "the value was staged as before"
        s("DEL", "other"), s("BF.LOADCHUNK", "other", first, header)
        assert s("BF.LOADCHUNK", "other", again, whole) == b"OK" and s.digest("other") == s.digest("key")
        s("SET", "text", "x")
        assert s.error("BF.LOADCHUNK", "text", again, whole) == WRONG_TYPE


def texts(answer):
    """The same with text in the place of bytes."""
    return (answer.decode() if isinstance(answer, bytes) else [texts(part) for part in answer] if isinstance(answer, list)
            else {name: texts(part) for name, part in answer.items()} if isinstance(answer, dict) else answer)


def arguments_of(docs):
    """The arguments of COMMAND DOCS as redis-cli shows them."""
    words = []
    for argument in docs:
        name = argument["token"] if argument["type"] == "pure-token" else argument["name"]
        if argument["type"] in ("oneof", "block"):
            inner = [arguments_of([part]) for part in argument["arguments"]]
            name = ("|" if argument["type"] == "oneof" else " ").join(inner)
        token = argument["token"] + " " if "token" in argument and argument["type"] != "pure-token" else ""
        text = token + name + (" ..." if "multiple" in argument.get("flags", []) else "")
        words.append(f"[{text}]" if "optional" in argument.get("flags", []) else text)
    return " ".join(words)


def test_documentation_of_commands():
    """Every command has arguments, which begin with its keys and are as many as its arity says."""
    with server() as s:
        speak = Speaker(s, 3)
        names = [name.decode() for name in speak("COMMAND", "LIST", "FILTERBY", "MODULE", "roost")]
        docs = texts(speak("COMMAND", "DOCS", *names))
        assert len(docs) == len(names) > 45
        for name, doc in docs.items():
            arity = speak("COMMAND", "INFO", name)[0][1]
            needed = sum("optional" not in a.get("flags", []) for a in doc["arguments"]) + 1
            needed += sum("token" in a and a["type"] != "pure-token" and "optional" not in a.get("flags", []) for a in doc["arguments"])
            several = any(flag in a.get("flags", []) for a in doc["arguments"] for flag in ("optional", "multiple"))
            assert abs(arity) == needed and (arity < 0) == several or name in ("roost.summary", "roost.link", "roost.generation"), (name, arity, needed)
            assert name == "roost.summary" or doc["arguments"][0]["type"] == "key", name
        assert arguments_of(docs["bf.reserve"]["arguments"]) == "key error capacity [EXPANSION expansion] [NONSCALING]"
        assert arguments_of(docs["cf.insert"]["arguments"]) == "key [CAPACITY capacity] [NOCREATE] ITEMS item ..."
        assert arguments_of(docs["bf.info"]["arguments"]) == "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION]"
        assert arguments_of(docs["roost.push"]["arguments"]) == "key generation frame [REGION number time]"
        speak.close()


def test_error_texts():
    with server() as s:
        speak = Speaker(s, 2)
        speak("SET", "text", "x"), speak("BF.ADD", "b", "x"), speak("CF.ADD", "c", "x")
        for command, text in (
                ("BF.RESERVE b 0.01 100", "ERR item exists"), ("BF.RESERVE n 0 100", "ERR (0 < error rate range < 1)"),
                ("BF.RESERVE n 1 100", "ERR (0 < error rate range < 1)"), ("BF.RESERVE n x 100", "ERR bad error rate"),
                ("BF.RESERVE n nan 100", "ERR bad error rate"), ("BF.RESERVE n -inf 100", "ERR (0 < error rate range < 1)"),
                ("BF.RESERVE n 0.01 x", "ERR bad capacity"), ("BF.RESERVE n 0.01 0", "ERR (capacity should be larger than 0)"),
                ("BF.RESERVE n 0.01 -5", "ERR (capacity should be larger than 0)"),
                ("BF.RESERVE n 0.01 10 EXPANSION 2 NONSCALING", "Nonscaling filters cannot expand"),
                ("BF.RESERVE n 0.01 10 EXPANSION x", "ERR bad expansion"), ("BF.RESERVE n 0.01 10 OTHER", "Unknown argument received"),
                ("BF.INSERT n NOCREATE ITEMS x", "ERR not found"), ("BF.INSERT n WHAT ITEMS x", "Unknown argument received"),
                ("BF.INSERT n ERROR 2 ITEMS x", "Bad error rate"), ("BF.INSERT n ERROR x ITEMS x", "Bad error rate"),
                ("BF.INSERT n CAPACITY 0 ITEMS x", "Bad capacity"), ("BF.INSERT n CAPACITY x ITEMS x", "Bad capacity"),
                ("BF.INSERT n EXPANSION -1 ITEMS x", "Bad expansion"), ("BF.RESERVE n 0.01 5 EXPANSION 40000", "ERR bad expansion"),
                ("BF.INSERT n TIGHTENING 2 ITEMS x", "ERR (0 < tightening ratio range < 1)"), ("BF.INSERT n SEED short ITEMS x", "ERR invalid seed"),
                ("BF.INSERT n NONSCALING VALIDATESCALETO 5 ITEMS x", "ERR cannot use NONSCALING and VALIDATESCALETO options together"),
                (f"BF.INSERT n VALIDATESCALETO {10**18} ITEMS x", "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"),
                ("CF.RESERVE n 100 BUCKETSIZE x", "Couldn't parse BUCKETSIZE"), ("CF.RESERVE n 100 EXPANSION x", "Couldn't parse EXPANSION"),
                ("CF.RESERVE n 1000 BUCKETSIZE 256", "BUCKETSIZE: value must be an integer between 1 and 255, inclusive."),
                ("CF.RESERVE n 100 MAXITERATIONS 0", "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive."),
                ("BF.DEBUG n", "ERR not found"), ("CF.DEBUG n", "ERR not found"), ("CF.COMPACT n", "Cuckoo filter was not found"),
                ("BF.LOAD n rubbish", "ERR received bad data"), ("BF.RESERVE n 0.01 10 EXPANSION", "ERR no expansion"),
                ("bf.insert n error 0.1 capacity", "ERR wrong number of arguments for 'bf.insert' command"),
                ("cf.insert n nocreate capacity", "ERR wrong number of arguments for 'cf.insert' command"),
                ("BF.INFO n", "ERR not found"), ("BF.INFO b WHAT", "Invalid information value"),
                ("BF.SCANDUMP n 0", "ERR not found"), ("BF.LOADCHUNK n 1 rubbish", "ERR received bad data"),
                ("BF.SCANDUMP b 77", "Invalid position"),
                ("BF.ADD text x", WRONG_TYPE), ("BF.ADD c x", WRONG_TYPE), ("BF.CARD text", WRONG_TYPE), ("CF.ADD b x", WRONG_TYPE),
                ("CF.RESERVE c 100", "ERR item exists"), ("CF.RESERVE n 0", "Bad capacity"), ("CF.RESERVE n x", "Bad capacity"),
                ("CF.RESERVE n 3 BUCKETSIZE 2", "Capacity must be at least (BucketSize * 2)"),
                ("CF.RESERVE n 9 WHAT 2", "Unknown argument received"), ("CF.DEL n x", "Not found"), ("CF.INFO n", "ERR not found"),
                ("CF.INSERT n NOCREATE ITEMS x", "ERR not found"), ("CF.LOADCHUNK n 5 rubbish", "Invalid position"),
                ("CF.LOADCHUNK n 1 rubbish", "Couldn't load chunk!"), ("CF.SCANDUMP c x", "Invalid position"),
                ("ROOST.ADD n x", "ERR not found"), ("ROOST.REM b x", "ERR not supported by this kind of filter"),
                ("ROOST.CREATE b CAPACITY 5", "ERR item exists"), ("ROOST.CREATE n KIND tree CAPACITY 5",
                                                                      "ERR KIND must be bloom, cuckoo, orcuckoo, window or counter"),
                ("ROOST.IDENTITY b 5", "ERR only a primary tells identities")):
            answer = speak(*command.split())
            assert isinstance(answer, Exception) and (str(answer) == text or text == "?"), (command, answer)
        for command in ("BF.ADD b", "BF.MADD b", "BF.EXISTS b", "CF.ADD c", "CF.DEL c", "CF.INSERT c", "BF.INSERT b ITEMS",
                        "BF.INSERT b CAPACITY 5 ITEMS", "CF.INSERT c CAPACITY 5", "ROOST.ADD b", "ROOST.MERGE b", "CF.RESERVE n 9 EXPANSION"):
            assert "wrong number of arguments" in str(speak(*command.split())), command
        assert speak("BF.EXISTS", "text", "x") == 0 and speak("CF.EXISTS", "text", "x") == 0
        assert speak("GET", "text") == b"x" and s.client.exists("n") == 0
        speak.close()


def test_sizes_that_would_eat_the_memory_are_refused():
    with server() as s:
        for command in ("BF.RESERVE k 0.0001 1000000000000", "BF.RESERVE k 0.01 9223372036854775807", "CF.RESERVE k 1000000000000",
                        "ROOST.CREATE k CAPACITY 1000000000000", "BF.INSERT k CAPACITY 100000000000000 ITEMS x",
                        "BF.RESERVE k 0.01 99999999999 NONSCALING"):
            s.error(*command.split())
            assert s.client.exists("k") == 0 and s.client.info("memory")["used_memory"] < 64 << 20, command
        s("CONFIG", "SET", "roost.memory-limit", "100kb")
        s("BF.RESERVE", "grows", "0.01", "1000")
        answers = [s("BF.MADD", "grows", *range(i, i + 1000)) for i in range(0, 300000, 1000)]
        assert isinstance(answers[-1][-1], redis.ResponseError) and "memory" in str(answers[-1][-1]).lower()
        assert s("MEMORY", "USAGE", "grows") < 110 << 10 and s("BF.EXISTS", "grows", "1") == 1
        s.error("BF.RESERVE", "large", "0.01", "1000000", "NONSCALING")


def test_options_of_create():
    with server() as s:
        for options in ("CAPACITY 100", "CAPACITY 100 FPR 0.001 LAYOUT classic", "KIND cuckoo CAPACITY 100 BUCKET 2",
                        "KIND cuckoo CAPACITY 100 BITS 12", "KIND orcuckoo CAPACITY 100", "KIND orcuckoo MULTISET ENTRY 32 CAPACITY 50",
                        "SCALABLE", "SCALABLE KIND cuckoo GROWTH 4 WRITERS 2", "SCALABLE KIND orcuckoo SCHEDULE halving",
                        "CAPACITY 10 SEED -1", "", "KIND bloom", "LAYOUT classic", "SCALABLE CAPACITY 64", "KIND orcuckoo SEMANTICS add-wins CAPACITY 9",
                        "KIND orcuckoo SEMANTICS remove-wins", "SCALABLE SEMANTICS last-writer-wins KIND orcuckoo CAPACITY 64",
                        "KIND orcuckoo SCALABLE MULTISET CAPACITY 64"):
            s.client.delete("k")
            assert s("ROOST.CREATE", "k", *options.split()) == b"OK", options
            assert s("ROOST.ADD", "k", "a", "b") == [1, 1]
            assert s("ROOST.EXISTS", "k", "a", "b", "c") == [1, 1, 0] and s("ROOST.COUNT", "k", "a", "c") == [1, 0]
            if "orcuckoo" in options:
                s("ROOST.ADD", "k", "a")
                assert s("ROOST.COUNT", "k", "a") == [2 if "MULTISET" in options else 1]
                assert s("ROOST.REM", "k", "a", "x") == [1, 0] and s("ROOST.EXISTS", "k", "a", "b") == [0, 1]
            semantics = options.split("SEMANTICS ")[1].split()[0] if "SEMANTICS" in options else "add-wins"
            assert info_of(s, "k")[b"semantics"].decode() == semantics
            digest = s.digest("k")
            s("DEBUG", "RELOAD")
            assert s.digest("k") == digest, options
            if "CAPACITY" not in options or "SCALABLE" in options:  # it grows, as one of the program does, a cuckoo filter by default
                info = dict(zip(*[iter(s("ROOST.INFO", "k"))] * 2))
                kind = options.split("KIND ")[1].split()[0] if "KIND" in options else "bloom" if "LAYOUT" in options else "cuckoo"
                assert info[b"scalable"] == 1 and info[b"kind"] == kind.encode(), (options, info)
        for options in ("SEMANTICS remove-wins", "KIND cuckoo SEMANTICS last-writer-wins", "KIND orcuckoo MULTISET SEMANTICS remove-wins",
                        "KIND orcuckoo CAPACITY 10 SEMANTICS last-writer-wins"):
            assert "SEMANTICS other than add-wins are for KIND orcuckoo" in s.error("ROOST.CREATE", "other", *options.split())
        assert "must be add-wins, remove-wins or" in s.error("ROOST.CREATE", "other", "KIND", "orcuckoo", "SEMANTICS", "mine")
        for options in "CAPACITY 0", "CAPACITY 10 FPR 2", "CAPACITY 10 WHAT", "CAPACITY":
            s.error("ROOST.CREATE", "other", *options.split())
        for options, text in (("MULTISET", "MULTISET is for KIND orcuckoo"), ("KIND cuckoo CAPACITY 10 MULTISET", "MULTISET is for KIND orcuckoo"),
                              ("CAPACITY 10 GROWTH 3 SCALABLE", "GROWTH must be 1, 2, 4 or 8"), ("BUCKET 3 KIND cuckoo CAPACITY 10", "BUCKET must be 1, 2, 4 or 8"),
                              ("KIND bloom SCALABLE SCHEDULE gentle", "SCHEDULE gentle is for KIND cuckoo and orcuckoo"),
                              ("KIND orcuckoo ENTRY 16 CAPACITY 10", "ENTRY must be 32 or 64"), ("KIND orcuckoo ENTRY 32 CAPACITY 10", "ENTRY 32 is for MULTISET"),
                              ("KIND orcuckoo MULTISET ENTRY 32 BITS 12 CAPACITY 10", "BITS must be 8 with ENTRY 32"),
                              ("BITS 8 CAPACITY 10", "BITS is for KIND cuckoo and orcuckoo"), ("BITS 3 KIND cuckoo CAPACITY 10", "BITS must be from 4 to 32"),
                              ("BITS 8 KIND orcuckoo CAPACITY 10", "BITS must be from 16 to 28 for KIND orcuckoo, from 8 with MULTISET"),
                              ("FPR 1e-30", "these options do not go together")):
            assert s.error("ROOST.CREATE", "other", *options.split()) == text, (options, s.error("ROOST.CREATE", "other", *options.split()))
        info = dict(zip(*[iter(s("ROOST.INFO", "k", "FULL"))] * 2))
        assert info[b"kind"] == b"orcuckoo" and info[b"promise_holds"] == 1 and info[b"generation"] == 0
        keys = [str(i) for i in range(100)]  # added at three replicas, they are a hundred elements
        for name in ("one", "two", "three"):
            s("ROOST.CREATE", name, "KIND", "orcuckoo", "CAPACITY", 100)
            s("ROOST.ADD", name, *keys[:50])
        s("ROOST.MERGESTORE", "all", "one", "two", "three")
        assert s("ROOST.ADD", "all", *keys[50:]) == [1] * 50
        info = dict(zip(*[iter(s("ROOST.INFO", "all", "FULL"))] * 2))
        assert float(info[b"elements"]) == 100 and info[b"entries"] == 200 and info[b"promise_holds"] == 1, info


def test_what_wins_is_chosen_at_creation():
    """Two keys stand for two replicas that add and remove one item without having seen each other."""
    with server() as s:
        for semantics, wins in ("add-wins", 1), ("remove-wins", 0), ("last-writer-wins", 0):
            s.client.delete("a", "b")
            for key in "a", "b":
                s("ROOST.CREATE", key, "KIND", "orcuckoo", "SEMANTICS", semantics)
            s("ROOST.ADD", "a", "x", "y"), s("ROOST.MERGE", "b", s("ROOST.DELTA", "a", "0")[1])
            s("ROOST.ADD", "a", "x")
            time.sleep(0.01)  # the later of the two, by the server's clock
            assert s("ROOST.REM", "b", "x", "never") == [1, 0]
            s("ROOST.MERGE", "a", s("ROOST.DELTA", "b", "0")[1]), s("ROOST.MERGE", "b", s("ROOST.DELTA", "a", "0")[1])
            assert s.digest("a") == s.digest("b") and s("ROOST.EXISTS", "a", "x", "y") == [wins, 1], semantics
            time.sleep(0.01)
            s("ROOST.ADD", "b", "x"), s("ROOST.MERGE", "a", s("ROOST.DELTA", "b", "0")[1])
            assert s("ROOST.EXISTS", "a", "x", "y", "never") == [1, 1, 0], semantics
            s("ROOST.CREATE", "other", "KIND", "orcuckoo", "SEMANTICS", {"add-wins": "remove-wins"}.get(semantics, "add-wins"))
            s.error("ROOST.MERGE", "other", s("ROOST.DELTA", "a", "0")[1]), s.client.delete("other")
        s("CONFIG", "SET", "roost.memory-limit", "100kb")
        for semantics in "remove-wins", "last-writer-wins":  # whose removals take memory
            s("ROOST.CREATE", semantics, "KIND", "orcuckoo", "SEMANTICS", semantics)
            try:
                for i in range(0, 100000, 1000):
                    s("ROOST.REM", semantics, *range(i, i + 1000))
                raise AssertionError("there is a limit")
            except redis.ResponseError as error:
                assert "memory" in str(error).lower()
            assert s("MEMORY", "USAGE", semantics) < 110 << 10


def test_names_can_be_left_to_another_module():
    with server(module_arguments=("bf-cf", "no")) as s:
        assert "unknown command" in s.error("BF.ADD", "a", "b") and "unknown command" in s.error("CF.ADD", "a", "b")
        assert s("ROOST.CREATE", "k", "CAPACITY", "10") == b"OK"
        assert s("CONFIG", "GET", "roost.bf-cf") == [b"roost.bf-cf", b"no"]


def test_defaults_are_settings():
    with server() as s:
        for name, value in (("bf-error-rate", "0.001"), ("bf-capacity", 5000), ("bf-expansion", 4), ("cf-capacity", 4096),
                            ("cf-bucket-size", 4), ("cf-max-iterations", 30), ("cf-expansion", 2)):
            assert s("CONFIG", "SET", f"roost.{name}", value) == b"OK"
        s("BF.ADD", "b", "x"), s("CF.ADD", "c", "x")
        info = s.client.bf().info("b")
        assert (info.capacity, info.expansionRate) == (5000, 4)
        info = s.client.cf().info("c")
        assert (info.bucketSize, info.maxIteration, info.expansionRate) == (4, 30, 2)
        for name, value in ("bf-error-rate", "2"), ("bf-error-rate", "x"), ("bf-capacity", 0), ("memory-limit", -1):
            s.error("CONFIG", "SET", f"roost.{name}", value)
        assert b"0.001" in s("CONFIG", "GET", "roost.bf-error-rate")


def test_what_the_server_knows_of_commands():
    with server() as s:
        speak = Speaker(s, 2)
        for name in ("BF.ADD", "CF.DEL", "ROOST.MERGESTORE", "ROOST.SUMMARY"):
            documented = speak("COMMAND", "DOCS", name)[1]
            assert len(documented[documented.index(b"summary") + 1]) > 10, name
        assert speak("COMMAND", "GETKEYS", "ROOST.MERGESTORE", "d", "a", "b") == [b"d", b"a", b"b"]
        assert speak("COMMAND", "GETKEYS", "BF.MADD", "k", "x", "y") == [b"k"]
        speak.close()
        categories = b"bloom" in s("ACL", "CAT")  # Redis 7.0 has none for commands of modules
        s("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read" if categories else "+BF.EXISTS")
        s("BF.ADD", "k", "x")
        reader = redis.Redis(unix_socket_path=s.path, username="reader", password="")
        assert reader.execute_command("BF.EXISTS", "k", "x") == 1
        try:
            reader.execute_command("BF.ADD", "k", "y")
            raise AssertionError("a reader wrote")
        except redis.exceptions.NoPermissionError:
            pass
        if categories:
            s("ACL", "SETUSER", "bloomer", "on", "nopass", "~*", "+@bloom")
            bloomer = redis.Redis(unix_socket_path=s.path, username="bloomer", password="")
            assert bloomer.execute_command("BF.ADD", "k", "y") == 1
            s("ACL", "SETUSER", "bloomer", "-@bloom", "+@roost")
            assert bloomer.execute_command("ROOST.EXISTS", "k", "y") == [1]
            bloomer.close()
        reader.close()
        info = s.client.info("roost")
        assert info["roost_keys"] == 1 and info["roost_bytes_memory"] > 0


def test_keyspace_events():
    with server("--notify-keyspace-events", "AKEd") as s:
        listener = s.client.pubsub()
        listener.psubscribe("__keyspace@0__:*")
        assert listener.get_message(timeout=300)["type"] == "psubscribe"
        s("BF.ADD", "b", "x"), s("BF.ADD", "b", "x"), s("CF.ADD", "c", "x"), s("CF.DEL", "c", "x")
        s("ROOST.CREATE", "r", "CAPACITY", "5")
        heard = []
        while "roost.create" not in heard:
            message = listener.get_message(timeout=300)
            assert message, heard
            heard.append(message["data"].decode())
        assert heard == ["bf.add", "cf.add", "cf.del", "roost.create"], heard
        listener.close()


def test_what_other_modules_get_wrong():
    with server() as s:
        s("CF.RESERVE", "c", "10000")
        s("CF.INSERT", "c", "ITEMS", *range(10000))
        found = []
        for begin in range(10000, 110000, 10000):
            answers = s("CF.MEXISTS", "c", *range(begin, begin + 10000))
            found += [begin + i for i, yes in enumerate(answers) if yes]
        for key in found:
            s("CF.DEL", "c", key)
        lost = 10000 - sum(s("CF.MEXISTS", "c", *range(10000)))
        assert lost <= len(found) <= 20, (lost, len(found))
        s("CF.RESERVE", "one", "16", "EXPANSION", "2")
        for _ in range(200):
            assert s("CF.ADD", "one", "same") == 1
        assert s("CF.COUNT", "one", "same") == 200 and s("MEMORY", "USAGE", "one") < 64 << 10
        for begin in range(0, 300000, 10000):
            assert set(s("CF.INSERT", "defaults", "ITEMS", *range(begin, begin + 10000))) == {1}
        assert s("CF.EXISTS", "defaults", "123456") == 1
        s("BF.ADD", "x", "1"), s("BF.ADD", "y", "2")
        assert s("DEBUG", "DIGEST-VALUE", "x") != s("DEBUG", "DIGEST-VALUE", "y")
        assert s("COPY", "x", "z") == 1 and s.digest("x") == s.digest("z")


def memory_after_refusals(s, count):
    """The least of several readings: buffers of clients come and go."""
    for _ in range(count):
        s.error("MODULE", "LOAD", MODULE)
    readings = []
    for _ in range(20):
        readings.append(s.client.info("memory")["used_memory"])
        time.sleep(0.05)
    return min(readings)


def test_a_clash_of_names_is_explained():
    clash = os.path.join(os.path.dirname(MODULE), "tests", "clash.so")
    with server("--loadmodule", clash, "--enable-module-command", "yes", module=False) as s:
        try:
            s("MODULE", "LOAD", MODULE)
            assert False, "it was loaded"
        except redis.ResponseError:
            assert "cannot load: the command bf.add is already there, from the module elsewhere" in s.log() and "roost.bf-cf no" in s.log(), s.log()
        assert s("CONFIG", "SET", "maxmemory", "200mb") == b"OK", "a server that does not unsubscribe a module that it refuses"
        before = memory_after_refusals(s, 50)
        assert memory_after_refusals(s, 500) - before < 500 * 100, "a refused module leaves nothing behind"
        assert s("MODULE", "LOAD", MODULE, "bf-cf", "no") == b"OK" and s("BF.ADD", "x", "y") == 0
        s("ROOST.CREATE", "k", "CAPACITY", "100")
        try:
            s("MODULE", "LOAD", MODULE)
            assert False, "it was loaded twice"
        except redis.ResponseError:
            assert "a module with the name roost is loaded already" in s.log()


def test_a_clash_of_names_at_the_start():
    """The server ends; its log has the reason, whichever module came first."""
    clash = os.path.join(os.path.dirname(MODULE), "tests", "clash.so")
    with tempfile.TemporaryDirectory() as folder:
        begin = [PROGRAM, "--port", "0", "--unixsocket", os.path.join(folder, "socket"), "--save", "", "--dir", folder]
        for modules in ((clash, MODULE), (MODULE, clash)):
            done = subprocess.run(begin + [word for module in modules for word in ("--loadmodule", module)], capture_output=True, text=True, timeout=300,
                                  env=environment_for_module(folder, leaks=0))  # a server that ends at its start leaves its own
            assert done.returncode and '"roost.bf-cf no"' in done.stdout, done.stdout
    with server("--loadmodule", clash, "--loadmodule", MODULE, "--roost.bf-cf", "no", module=False) as s:
        assert s("ROOST.CREATE", "k", "CAPACITY", "10") == b"OK" and s("BF.ADD", "x", "y") == 0


def effective_limit(s):
    return int(s("CONFIG", "GET", "roost.memory-limit")[1])


def test_the_memory_limit_has_a_safe_default():
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with server() as s:
        assert 0 < effective_limit(s) <= machine // 4 and s.client.info("roost")["roost_memory_limit"] == effective_limit(s)
        for kind in ("bloom",), ("cuckoo",), ("orcuckoo",), ("bloom", "SCALABLE"), ("cuckoo", "SCALABLE"):
            try:
                s("ROOST.CREATE", "k", "KIND", *kind, "CAPACITY", 10**12 if kind[0] == "bloom" else 16 * 10**9)
                assert False, kind
            except redis.ResponseError as error:
                assert "memory" in str(error) or "do not go together" in str(error), error
        s("CONFIG", "SET", "maxmemory", "1gb")
        assert effective_limit(s) == 512 << 20
        s("CONFIG", "SET", "roost.memory-limit", "700mb")
        s("CONFIG", "SET", "maxmemory", "2gb")
        assert effective_limit(s) == 700 << 20
        s("CONFIG", "SET", "roost.memory-limit", "0")
        assert effective_limit(s) == 1 << 30
    with server("--maxmemory", "100mb") as s:
        assert effective_limit(s) == 50 << 20
        for command in (("ROOST.CREATE", "k", "CAPACITY", 10**8), ("BF.RESERVE", "k", "0.01", 10**8), ("CF.RESERVE", "k", 10**8)):
            try:
                s(*command)
                assert False, command
            except redis.ResponseError as error:
                assert "roost.memory-limit" in str(error), error


if __name__ == "__main__":
    run(globals())
