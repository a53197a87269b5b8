#!/usr/bin/python3
"""ROOST.SEEN, ROOST.INCR, ROOST.GET: windows and counters beside an exact model, through files, replicas, deaths, other servers and bad input.

No test asks how long anything took. What must still be there is in windows of an hour; what must be gone is waited for.
"""
import itertools
import os
import random
import struct
import subprocess
import tempfile
import threading
import time

import redis

from persistence import actor, quiet
from servers import MODULE, Server, Speaker, caught_up, frame_of, free_port, replicate, run, same_digests, server, servers, wait_for

PROGRAM = os.path.join(os.path.dirname(MODULE), "roost")
HOUR = 3600 * 1000
KEYS = ["window", "counter"]
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def create(*all_servers, capacity=2000, fpr="0.00000001"):
    for s in all_servers:
        for kind in KEYS:
            assert s("ROOST.CREATE", kind, "KIND", kind, "WINDOW", HOUR, "CAPACITY", capacity, "FPR", fpr) == b"OK"


def info_of(s, key, *full):
    answer = s("ROOST.INFO", key, *full)
    return {name.decode(): value for name, value in zip(answer[0::2], answer[1::2])}


def roost(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=300)
    assert done.returncode == status, done.stderr
    return (done.stdout + done.stderr).decode()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_windows_beside_a_model():
    with server() as s:
        create(s, capacity=20000)
        known = set()
        for _ in range(600):
            if random.random() < 0.5:
                item = f"item {random.randrange(300)}"
                assert s("ROOST.SEEN", "window", item) == (item in known)
                known.add(item)
            else:
                batch = [f"item {random.randrange(900)}" for _ in range(random.choice((1, 2, 70, 130)))]
                for item, seen in zip(batch, s("ROOST.MSEEN", "window", *batch)):
                    assert seen == (item in known), item
                    known.add(item)
        everything = [f"item {i}" for i in range(1200)]
        assert s("ROOST.EXISTS", "window", *everything) == [item in known for item in everything]
        assert s("ROOST.COUNT", "window", *everything) == [item in known for item in everything]
        assert len(known) > 800 and s("ROOST.SEEN", "window", "") == 0 and s("ROOST.SEEN", "window", "") == 1
        assert info_of(s, "window", "FULL")["promise_holds"] == 1
        assert s("ROOST.SEEN", "window", b"x" * (1 << 20)) == 0 and s("ROOST.SEEN", "window", b"x" * (1 << 20)) == 1


def test_windows_at_any_load():
    with server() as s:  # all at once, far more than was expected, in any number of slots
        for past in 5, 40, 200:
            s("ROOST.CREATE", "burst", "KIND", "window", "WINDOW", HOUR, "PAST", past, "CAPACITY", 1000)
            s("ROOST.CREATE", "count", "KIND", "counter", "WINDOW", HOUR, "PAST", past, "CAPACITY", 10)
            for i in range(20):
                assert s("ROOST.MSEEN", "burst", *range(i * 1000, i * 1000 + 1000)) == [0] * 1000
            assert s("ROOST.EXISTS", "burst", *range(10**6, 10**6 + 20000)) == [0] * 20000
            for i in range(500):
                assert s("ROOST.INCR", "count", i, 2) == [2 * i + 2, 1]
            assert info_of(s, "burst", "FULL")["promise_holds"] == 1 and info_of(s, "burst", "FULL")["entries"] == 20000
            s("DEL", "burst", "count")
        s("CONFIG", "SET", "roost.memory-limit", "100kb")  # where there is no memory, an error and no silence
        s("ROOST.CREATE", "small", "KIND", "window", "WINDOW", HOUR, "CAPACITY", 10), s("ROOST.CREATE", "count", "KIND", "counter", "WINDOW", HOUR, "CAPACITY", 10)
        seen, error = 0, ""
        while not error:
            try:
                seen += s("ROOST.SEEN", "small", seen) == 0
            except Exception as e:
                error = str(e)
        assert "memory" in error and 2000 < seen < 20000, (error, seen)
        assert s("ROOST.SEEN", "small", 0) == 1 and s("ROOST.EXISTS", "small", *range(seen + 1)) == [1] * seen + [0]


def test_counters_beside_a_model():
    with server() as s:
        create(s)
        value, counted = 0, {}
        assert s("ROOST.GET", "counter") == 0 and s("ROOST.GET", "missing") is None
        for step in range(1500):
            if counted and random.random() < 0.4:  # a client that heard no answer asks again
                name = random.choice(list(counted))
                assert s("ROOST.INCR", "counter", name, counted[name]) == [value, 0]
            else:
                name, amount = f"operation {step}", random.choice((1, -1, 0, 17, -400, 10**12, -10**15))
                value, counted[name] = value + amount, amount
                assert s("ROOST.INCR", "counter", name, amount) == [value, 1]
            assert s("ROOST.GET", "counter") == value
        assert s("ROOST.EXISTS", "counter", "operation 0", "operation 99999") == [1, 0]
        assert s("ROOST.INCR", "counter", b"\0" * 65536, 1) == [value + 1, 1]
        assert info_of(s, "counter")["value"] == value + 1


def test_the_range_of_values():
    with servers(Server, Server) as (a, b):
        create(a, b)
        most, least = 2**63 - 1, -2**63
        assert a("ROOST.INCR", "counter", "up", most) == [most, 1]
        digest = a.digest("counter")
        assert "would overflow" in a.error("ROOST.INCR", "counter", "one more", 1) and a.digest("counter") == digest
        assert a("ROOST.INCR", "counter", "down", -most) == [0, 1] and a("ROOST.INCR", "counter", "one more", 1) == [1, 1]
        assert b("ROOST.INCR", "counter", "b", most) == [most, 1]
        assert a("ROOST.MERGE", "counter", b("ROOST.DELTA", "counter", "0")[1]) == 1
        assert "does not fit" in a.error("ROOST.GET", "counter") and info_of(a, "counter")["value"] is None
        assert a("ROOST.INCR", "counter", "enough", -2) == [most - 1, 1], "what brings it back is taken"
        for amount in least, 2**63, -2**64, "nan", "inf", "1.5", "", "1e3", " 1", "0x10", "x", 10**30:
            assert "not an integer or out of range" in a.error("ROOST.INCR", "counter", "bad", amount), amount
        for name in b"", b"x" * 65537, b"x" * (1 << 20):
            assert "the id must have" in a.error("ROOST.INCR", "counter", name, 1)
        assert a("ROOST.EXISTS", "counter", "bad") == [0] and a("ROOST.GET", "counter") == most - 1


def test_replies_of_both_protocols():
    with server() as s:
        two, three = Speaker(s, 2), Speaker(s, 3)
        s("CONFIG", "SET", "roost.window-ms", HOUR)
        for speak, no, yes in (two, 0, 1), (three, False, True):
            name = f"by {yes}"
            assert speak("ROOST.SEEN", "w", name) is no or speak is two and no == 0
            for command, answer in ((("ROOST.SEEN", "w", name), yes), (("ROOST.SEEN", "w", name, "WINDOW", HOUR), yes),
                                    (("ROOST.MSEEN", "w", name, f"other {yes}"), [yes, no]), (("ROOST.EXISTS", "w", name, "?"), [yes, no]),
                                    (("ROOST.GET", "missing"), None)):
                got = speak(*command)
                assert got == answer and str(got) == str(answer), (command, got)
            value = speak("ROOST.INCR", "c", name, 5)
            assert str(value) == str([5 if speak is two else 10, yes])
            assert str(speak("ROOST.INCR", "c", name, 5)) == str([value[0], no]) and speak("ROOST.GET", "c") == value[0]
        assert three("ROOST.INFO", "c")["value"] == 10 and three("ROOST.INFO", "w")["window_seconds"] == 3600.0
        assert len(two("ROOST.INFO", "c")) == 2 * len(three("ROOST.INFO", "c")), "no name stands there twice"
        two.close(), three.close()


def test_keys_that_are_made_alike_are_alike():
    """Sizes that were computed for one key are reused for the next."""
    with servers(Server, Server) as (a, b):
        options = [f"KIND {kind} WINDOW {ms} CAPACITY {capacity} FPR {fpr} {more}" for kind in KEYS for ms in (1000, 3600000) for capacity in (50, 4000)
                   for fpr in ("0.001", "0.000001") for more in ("", "PAST 5", "PAST 200", "SEED 9")]
        frames = {}
        for s in a, b:
            random.shuffle(options)
            for number, option in enumerate(options + options[:20]):
                s("ROOST.CREATE", number, *option.split())
                frame = s("ROOST.DELTA", number, "0")[1]
                assert frames.setdefault(option, frame) == frame, option
        assert len(set(frames.values())) == len(options)


def test_bad_commands():
    with server() as s:
        create(s)
        s("SET", "text", "x"), s("BF.ADD", "bloom", "x"), s("CF.ADD", "cuckoo", "x")
        before = {key: s("DEBUG", "DIGEST-VALUE", key) for key in KEYS + ["text", "bloom", "cuckoo"]}
        window = "WINDOW must be from 1 to 1125899906842 milliseconds"
        for command, text in (
                ("ROOST.SEEN text x", WRONG_TYPE), ("ROOST.SEEN bloom x", WRONG_TYPE), ("ROOST.SEEN counter x", WRONG_TYPE),
                ("ROOST.MSEEN cuckoo x y", WRONG_TYPE), ("ROOST.INCR text x 1", WRONG_TYPE), ("ROOST.INCR window x 1", WRONG_TYPE),
                ("ROOST.INCR bloom x 1", WRONG_TYPE), ("ROOST.GET window", WRONG_TYPE), ("ROOST.GET text", WRONG_TYPE),
                ("BF.ADD window x", WRONG_TYPE), ("BF.CARD counter", WRONG_TYPE), ("CF.ADD window x", WRONG_TYPE), ("CF.DEL counter x", WRONG_TYPE),
                ("BF.INFO window", WRONG_TYPE), ("CF.INFO counter", WRONG_TYPE),
                ("ROOST.ADD window x", "the key holds a window: ROOST.SEEN adds to it"),
                ("ROOST.ADD counter x", "the key holds a counter: ROOST.INCR counts there"),
                ("ROOST.REM window x", "not supported by this kind of filter"), ("ROOST.REMONE counter x", "not supported by this kind of filter"),
                ("ROOST.SEEN window x WINDOW 60000", "the key was made with another WINDOW"), ("ROOST.SEEN new x WHAT 5", "Unknown argument received"),
                *((f"ROOST.SEEN new x WINDOW {bad}", window) for bad in ("0", "-1", "nan", "1e3", "1125899906843", "9223372036854775807", "2" * 30)),
                *((f"ROOST.CREATE new KIND window WINDOW {bad}", window) for bad in ("0", "-5", "inf", "1125899906843")),
                ("ROOST.CREATE new KIND window CAPACITY 5", "WINDOW is missing"), ("ROOST.CREATE window KIND window WINDOW 5", "item exists"),
                *((f"ROOST.CREATE new KIND counter WINDOW 5 {option}", f"{option.split()[0]} is not for filters of KIND counter")
                  for option in ("BITS 8", "BUCKET 4", "ENTRY 64", "WRITERS 2", "GROWTH 2", "SCHEDULE halving", "SCALABLE", "MULTISET")),
                ("ROOST.CREATE new CAPACITY 5 WINDOW 5", "WINDOW is not for filters of KIND bloom"),
                ("ROOST.CREATE new PAST 3 KIND orcuckoo CAPACITY 5", "PAST is not for filters of KIND orcuckoo"),
                ("ROOST.CREATE new KIND window WINDOW 5 PAST 0", "PAST must be from 1 to 255"),
                ("ROOST.CREATE new KIND window WINDOW 5 PAST 256", "PAST must be from 1 to 255"),
                ("ROOST.CREATE new KIND window WINDOW 5 FPR nan", "FPR must be above 0 and below 1"),
                ("ROOST.CREATE new KIND window WINDOW 5 FPR 1e-300", "these options do not go together"),
                ("ROOST.CREATE new KIND window WINDOW", "Unknown argument received")):
            assert s.error(*command.split()) == text, (command, s.error(*command.split()))
        for command in ("ROOST.SEEN window", "ROOST.SEEN window x WINDOW", "ROOST.SEEN window x WINDOW 5 y", "ROOST.MSEEN window",
                        "ROOST.INCR counter x", "ROOST.INCR counter x 1 2", "ROOST.GET", "ROOST.GET counter x"):
            assert "wrong number of arguments" in s.error(*command.split()), command
        assert "do not go together" in s.error("ROOST.CREATE", "new", "KIND", "window", "WINDOW", 5, "CAPACITY", 10**9, "FPR", "1e-12")  # more than 60 bits tell apart
        assert s("BF.EXISTS", "window", "x") == 0 and s("CF.EXISTS", "counter", "x") == 0
        assert s.client.exists("new") == 0 and {key: s("DEBUG", "DIGEST-VALUE", key) for key in before} == before
        for options in "PAST 1", "PAST 64", "PAST 255", "LAYOUT classic", "CAPACITY 1000000000000", "SEED 5 FPR 0.1", "CAPACITY 1":
            assert s("ROOST.CREATE", "made", "KIND", "window", "WINDOW", 1125899906842, *options.split()) == b"OK"
            assert s("ROOST.MSEEN", "made", "a", "b", "a") == [0, 0, 1] and s("DEL", "made") == 1


def test_settings_commands_and_events():
    with server("--notify-keyspace-events", "AKEd") as s:
        listener = s.client.pubsub()
        listener.psubscribe("__keyspace@0__:*")
        assert listener.get_message(timeout=300)["type"] == "psubscribe"
        for name, value in ("window-ms", 24 * HOUR), ("counter-window-ms", 48 * HOUR), ("window-capacity", 500), ("window-fpr", "0.001"):
            assert s("CONFIG", "SET", f"roost.{name}", value) == b"OK"
        for name, value in ("window-ms", 0), ("counter-window-ms", -1), ("window-capacity", 0), ("window-fpr", "1"), ("window-fpr", "nan"), ("window-ahead-ms", -1):
            s.error("CONFIG", "SET", f"roost.{name}", value)
        s("ROOST.SEEN", "w", "x"), s("ROOST.SEEN", "w", "x"), s("ROOST.INCR", "c", "x", 1), s("ROOST.INCR", "c", "x", 1), s("ROOST.SEEN", "other", "x", "WINDOW", 5000)
        heard = []
        while len(heard) < 3:
            message = listener.get_message(timeout=300)
            assert message, heard
            heard.append(message["data"].decode())
        assert heard == ["roost.seen", "roost.incr", "roost.seen"], heard
        listener.close()
        for key, kind, seconds in ("w", b"window", 24 * 3600), ("c", b"counter", 48 * 3600), ("other", b"window", 5):
            info = info_of(s, key)
            assert (info["kind"], info["capacity"], float(info["window_seconds"]), float(info["fpr_promised"])) == (kind, 500, seconds, 0.001)
            assert info["slots"] == 1 and float(info["slot_seconds"]) == seconds / 4 and info["past"] == 3
        speak = Speaker(s, 2)
        for call in ("ROOST.SEEN", "k", "a"), ("ROOST.MSEEN", "k", "a", "b"), ("ROOST.INCR", "k", "a", "1"), ("ROOST.GET", "k"):
            documented = speak("COMMAND", "DOCS", call[0])[1]
            assert len(documented[documented.index(b"summary") + 1]) > 10 and speak("COMMAND", "GETKEYS", *call) == [b"k"], call
        flags = {name: {str(flag) for flag in speak("COMMAND", "INFO", name)[0][2]} for name in ("ROOST.SEEN", "ROOST.INCR", "ROOST.GET")}
        assert {"write", "denyoom", "fast"} <= flags["ROOST.SEEN"] & flags["ROOST.INCR"] and "readonly" in flags["ROOST.GET"], flags
        speak.close()
        if b"roost" in s("ACL", "CAT"):  # Redis 7.0 has none for commands of modules
            calls = ("ROOST.GET", "c"), ("ROOST.SEEN", "w", "x"), ("ROOST.MSEEN", "w", "x"), ("ROOST.INCR", "c", "x", 1)
            for category, allowed in ("read", [1, 0, 0, 0]), ("write", [0, 1, 1, 1]), ("roost", [1, 1, 1, 1]), ("fast", [1, 1, 0, 1]):
                s("ACL", "SETUSER", category, "on", "nopass", "~*", f"+@{category}")
                assert [s("ACL", "DRYRUN", category, *call) == b"OK" for call in calls] == [bool(a) for a in allowed], category
        s("CONFIG", "SET", "maxmemory", 1)
        for command in ("ROOST.SEEN", "w", "y"), ("ROOST.MSEEN", "w", "y"), ("ROOST.INCR", "c", "y", 1):
            assert "OOM" in s.error(*command) or "maxmemory" in s.error(*command)
        assert s("ROOST.GET", "c") == 1


def move_on(s, key, windows=3):
    """Adds as time goes by, until so many windows have passed: what came first is forgotten."""
    first, number = float(info_of(s, key)["newest"]), 0
    length = float(info_of(s, key)["window_seconds"])

    def has_moved():
        nonlocal number
        number += 1
        kind = info_of(s, key)["kind"]
        s(*(("ROOST.SEEN", key, f"later {number}") if kind == b"window" else ("ROOST.INCR", key, f"later {number}", 1)))
        return float(info_of(s, key)["newest"]) > first + windows * length
    wait_for(has_moved, "time to pass")
    return number


def test_what_is_old_is_forgotten():
    with server() as s:
        s("ROOST.CREATE", "short", "KIND", "window", "WINDOW", 150, "CAPACITY", 50), s("ROOST.CREATE", "count", "KIND", "counter", "WINDOW", 150, "CAPACITY", 50)
        create(s)
        s("ROOST.SEEN", "short", "x"), s("ROOST.SEEN", "window", "x"), s("ROOST.INCR", "count", "x", 5), s("ROOST.INCR", "counter", "x", 5)
        digest = s.digest("short")
        wait_for(lambda: s("ROOST.EXISTS", "short", "x") == [0] and s("ROOST.EXISTS", "count", "x") == [0] and s("ROOST.COUNT", "short", "x") == [0], "oblivion")
        assert s.digest("short") == digest, "a question changed the state"
        assert s("ROOST.SEEN", "short", "x") == 0 and s("ROOST.INCR", "count", "x", 5) == [10, 1], "an operation of long ago counts again"
        assert s("ROOST.SEEN", "window", "x") == 1 and s("ROOST.INCR", "counter", "x", 5) == [5, 0]
        bytes_before = s("MEMORY", "USAGE", "short")
        move_on(s, "short", 8)
        assert s("MEMORY", "USAGE", "short") < 3 * bytes_before, "memory follows what comes, not what ever came"


def test_files_and_replicas_of_windows_that_move_on():
    with servers(*[lambda: Server("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", port=free_port())] * 2) as (a, b):
        a("CONFIG", "SET", "aof-use-rdb-preamble", "no")
        replicate(b, a)
        create(a)
        a("ROOST.MSEEN", "window", *range(500))
        for i in range(100):
            a("ROOST.INCR", "counter", i, i)
        a("ROOST.CREATE", "short", "KIND", "window", "WINDOW", 100, "CAPACITY", 1000, "FPR", "0.00000001"), a("ROOST.SEEN", "short", "x")
        a("ROOST.CREATE", "count", "KIND", "counter", "WINDOW", 100, "CAPACITY", 1000, "FPR", "0.00000001"), a("ROOST.INCR", "count", "x", 1)
        moved = move_on(a, "short"), move_on(a, "count")
        assert a("ROOST.GET", "count") == 1 + moved[1]
        for key, call in ("again", ("ROOST.SEEN", "again", "x")), ("retried", ("ROOST.INCR", "retried", "x", 1)):  # it is there, and yet the state changes
            a("ROOST.CREATE", key, "KIND", "window" if key == "again" else "counter", "WINDOW", 2000, "CAPACITY", 20), a(*call)
            begin = info_of(a, key)["newest"]
            wait_for(lambda: a(*call) and info_of(a, key)["newest"] > begin, "another slot")
            caught_up(b, a)
            same_digests(a, b, [key])
        a.client.eval("redis.call('ROOST.SEEN', KEYS[1], 's') redis.call('ROOST.INCR', KEYS[2], 's', 7)", 2, "window", "counter")
        with a.client.pipeline(transaction=True) as transaction:
            transaction.execute_command("ROOST.SEEN", "window", "t"), transaction.execute_command("ROOST.INCR", "counter", "t", 5), transaction.execute()
        keys = KEYS + ["short", "count", "again", "retried"]
        caught_up(b, a)
        same_digests(a, b, keys)
        assert b("ROOST.GET", "counter") == a("ROOST.GET", "counter") == 4950 + 12 and b("ROOST.EXISTS", "window", "s", "t", 499, "?") == [1, 1, 1, 0]
        assert "read only" in b.error("ROOST.SEEN", "window", "x") and "read only" in b.error("ROOST.INCR", "counter", "x", 1)
        before = {key: a.digest(key) for key in keys}
        assert same_after(a, keys, before, a.restart), "the AOF was decided anew"
        for preamble in "no", "yes":
            a("CONFIG", "SET", "aof-use-rdb-preamble", preamble), a("BGREWRITEAOF")
            quiet(a)
            assert same_after(a, keys, before, a.restart), preamble
        assert same_after(a, keys, before, lambda: a("DEBUG", "RELOAD"))
        assert a("ROOST.INCR", "counter", 99, 99) == [4962, 0] and a("ROOST.INCR", "counter", "new", 1) == [4963, 1] and a("ROOST.SEEN", "window", 499) == 1


def same_after(s, keys, digests, what):
    what()
    return {key: s.digest(key) for key in keys} == digests


def test_replicas_decide_nothing_and_go_on_when_promoted():
    other = [x for name, value in (("window-ms", 5), ("counter-window-ms", 5), ("window-capacity", 7), ("window-fpr", "0.2"), ("memory-limit", "2kb"),
                                   ("window-ahead-ms", 0)) for x in (f"roost.{name}", value)]
    with servers(*[lambda: Server(port=free_port())] * 2) as (a, b):
        b("CONFIG", "SET", *other)
        a("CONFIG", "SET", "roost.window-ms", HOUR, "roost.window-capacity", 100)
        a("ROOST.SEEN", "full", "x")
        replicate(b, a)
        for i in range(40):
            a("ROOST.MSEEN", "full", *range(i * 50, i * 50 + 50)), a("ROOST.INCR", "made", i, i), a("ROOST.SEEN", "also", i)
        a("COPY", "made", "copy"), a("ROOST.INCR", "copy", "copied", 1), a("ROOST.MERGESTORE", "stored", "made", "copy"), a("RENAME", "also", "window")
        caught_up(b, a)
        keys = ["full", "made", "window", "copy", "stored"]
        same_digests(a, b, keys)
        assert info_of(a, "full", "FULL")["entries"] == 2001, "far more than was expected"
        first = actor(a, "made")
        assert actor(b, "made") == "0" * 16 and b("ROOST.GET", "made") == 780
        b("REPLICAOF", "NO", "ONE"), b("CONFIG", "SET", "roost.memory-limit", 0)
        assert b("ROOST.INCR", "made", 39, 39) == [780, 0] and b("ROOST.INCR", "made", "promoted", 20) == [800, 1] and b("ROOST.SEEN", "window", 39) == 1
        assert actor(b, "made") not in (first, "0" * 16)
        replicate(a, b)
        same_digests(a, b, keys)
        assert a("ROOST.GET", "made") == 800


def test_copies_are_others():
    """COPY, RESTORE, MIGRATE and ROOST.RESTORE: an equal state, and never the same actor, so that what is counted apart adds up."""
    with servers(*[lambda: Server(port=free_port())] * 2) as (a, b):
        create(a)
        a("ROOST.INCR", "counter", "first", 100), a("ROOST.SEEN", "window", "first")
        for key in KEYS:
            digest = a.digest(key)
            a("COPY", key, f"{key}-copy"), a("RESTORE", f"{key}-restored", 0, a("DUMP", key)), a("MIGRATE", "127.0.0.1", b.port, key, 0, 60000, "COPY")
            iterator = 0
            while True:
                iterator, data = a("ROOST.DUMP", key, iterator)
                if iterator == 0:
                    break
                a("ROOST.RESTORE", f"{key}-chunks", iterator, data)
            for s, name in (a, f"{key}-copy"), (a, f"{key}-restored"), (a, f"{key}-chunks"), (b, key):
                assert s.digest(name) == digest and actor(s, name) == "0" * 16, name
        actors = {actor(a, "counter")}
        for number, (s, name) in enumerate(((a, "counter-copy"), (a, "counter-restored"), (a, "counter-chunks"), (b, "counter"))):
            assert s("ROOST.INCR", name, "first", 100) == [100, 0] and s("ROOST.INCR", name, f"own {number}", 10 ** number) == [100 + 10 ** number, 1]
            actors.add(actor(s, name))
        a("ROOST.MERGE", "counter", b("ROOST.DELTA", "counter", "0")[1])
        a("ROOST.MERGESTORE", "all", "counter", "counter-copy", "counter-restored", "counter-chunks")
        assert a("ROOST.GET", "all") == 1211 and len(actors) == 5
        b("ROOST.SEEN", "window", "b"), a("ROOST.SEEN", "window-copy", "a"), a("ROOST.MERGESTORE", "union", "window", "window-copy")
        a("ROOST.MERGE", "union", b("ROOST.DELTA", "window", "0")[1])
        assert a("ROOST.EXISTS", "union", "first", "a", "b", "c") == [1, 1, 1, 0]
        a("ROOST.SEEN", "union", "c")
        assert a("ROOST.EXISTS", "window", "c") == [0]


def test_what_is_counted_apart_adds_up():
    with servers(Server, Server) as (a, b):
        create(a, b)
        cursors, totals, known = {a: "0", b: "0"}, {a: 0, b: 0}, {a: set(), b: set()}
        for step in range(25):
            for s, name in (a, "a"), (b, "b"):
                for i in range(random.randrange(6)):
                    amount = random.randrange(-50, 100)
                    totals[s] += amount
                    assert s("ROOST.INCR", "counter", f"{name} {step} {i}", amount)[1] == 1
                    s("ROOST.SEEN", "window", f"{name} {step} {i}"), known[s].add(f"{name} {step} {i}")
            for giver, taker in (a, b), (b, a):
                if random.random() < 0.5:  # deltas may be lost, if the cursor is lost with them, and may come twice
                    cursors[giver, taker], frame = giver("ROOST.DELTA", "counter", cursors.get((giver, taker), "0"))
                    taker("ROOST.MERGE", "counter", frame), taker("ROOST.MERGE", "counter", frame)
        for key in KEYS:
            a("ROOST.MERGE", key, b("ROOST.DELTA", key, "0")[1]), b("ROOST.MERGE", key, a("ROOST.DELTA", key, "0")[1])
        same_digests(a, b, KEYS)
        assert a("ROOST.GET", "counter") == b("ROOST.GET", "counter") == sum(totals.values()) and a("ROOST.SUMMARY")[1] == b("ROOST.SUMMARY")[1]
        for s, other in (a, b), (b, a):
            assert all(s("ROOST.EXISTS", "window", *known[other])) and all(s("ROOST.EXISTS", "counter", *known[other]))
            name = next(iter(known[other]))
            assert s("ROOST.INCR", "counter", name, 1) == [sum(totals.values()), 0] and s("ROOST.SEEN", "window", name) == 1
        assert a("ROOST.MERGE", "made", b("ROOST.DELTA", "counter", "0")[1]) == 1 and a("ROOST.GET", "made") == sum(totals.values())


def test_files_of_the_program_sync_with_keys():
    with server(port=free_port()) as s, tempfile.TemporaryDirectory() as folder:
        window, counter, peer = os.path.join(folder, "w"), os.path.join(folder, "c"), f"redis://127.0.0.1:{s.port}"
        roost("window", "add", window, "--window", "1h", "here"), roost("counter", "incr", counter, "--window", "1h", "--id", "here", "--by", 5)
        s("ROOST.SEEN", "w", "there", "WINDOW", HOUR), s("ROOST.INCR", "c", "there", 30)  # the defaults are the program's
        for path, key in (window, "w"), (counter, "c"), (window, "new w"), (counter, "new c"):
            for _ in range(2):
                assert "the two are equal" in roost("sync", path, f"{peer}/{key.replace(' ', '%20')}"), key
            assert s.digest(key) == roost("digest", path).split()[0]
        assert s("ROOST.EXISTS", "new w", "here", "there", "?") == [1, 1, 0] and roost("window", "check", window, "there", "?") == "there\n"
        assert s("ROOST.GET", "new c") == 35 and roost("counter", "show", counter) == "35\n"
        assert s("ROOST.INCR", "new c", "here", 5) == [35, 0] and roost("counter", "incr", counter, "--id", "there", "--by", 30) == "35 duplicate\n"
        roost("counter", "incr", counter, "--id", "late", "--by", -5), s("ROOST.INCR", "c", "late too", 1)
        roost("sync", counter, f"{peer}/c")
        assert s("ROOST.GET", "c") == 31 and roost("counter", "show", counter) == "31\n"


def value_of(frame):
    """A value as ROOST.RESTORE takes it, around a frame."""
    header = b"Rkey" + bytes((1, 1, 0, 0)) + bytes(8) + bytes(12) + struct.pack("<I", 256 << 8) + bytes(16) + struct.pack("<Q", len(frame))
    check = 0xcbf29ce484222325
    for byte in header:
        check = (check ^ byte) * 0x100000001b3 % 2**64
    return header + struct.pack("<Q", check) + frame


def test_times_to_come_are_refused():
    """A frame from the year 3000 would make a window forget all that it holds."""
    with servers(*[lambda: Server(port=free_port())] * 2) as (s, replica), tempfile.TemporaryDirectory() as folder:
        replicate(replica, s)
        now, far = int(time.time()), 32503680000  # the year 3000
        soon, beyond = now + 45 * 60, now + 120 * 60  # within the hour that the windows have, and not
        frames = {}
        for key, options in ("window", ("add",)), ("counter", ("incr", "--id", "x")):
            for when in soon, beyond, far:
                path = os.path.join(folder, f"{key} {when}")
                roost(key, options[0], path, *options[1:], *(["x"] if key == "window" else []), "--window", "1h", "--time", when)
                frames[key, when] = frame_of(read(path))
        s("ROOST.SEEN", "window", "kept", "WINDOW", HOUR), s("ROOST.INCR", "counter", "kept", 5)
        digests = {key: s.digest(key) for key in KEYS}
        for (key, when), frame in frames.items():
            for name in key, "new":
                assert "too far ahead" in s.error("ROOST.MERGE", name, frame), (name, when)
            if when == far:
                assert roost("sync", os.path.join(folder, f"{key} {when}"), f"redis://127.0.0.1:{s.port}/{key}", status=2)
        assert {key: s.digest(key) for key in KEYS} == digests and s.client.exists("new") == 0
        # whoever has clocks that differ so much may say so; more than the window it is never
        s("CONFIG", "SET", "roost.window-ahead-ms", 10**12)
        for key in KEYS:
            for when in beyond, far:
                assert "too far ahead" in s.error("ROOST.MERGE", key, frames[key, when])
            assert s("ROOST.MERGE", key, frames[key, soon]) == 1
        assert s("ROOST.SEEN", "window", "later") == 0 and s("ROOST.SEEN", "window", "later") == 1 and s("ROOST.INCR", "counter", "later", 1) == [7, 1]
        s("CONFIG", "SET", "roost.window-ahead-ms", 0)
        assert s("ROOST.MSEEN", "window", "later", "kept") == [1, 1] and s("ROOST.INCR", "counter", "kept", 5) == [7, 0], "our own clock is behind what we know"
        caught_up(replica, s)
        same_digests(s, replica, KEYS)
        # what is restored whole is as it was: it does not come to others, and nothing can be added before its time
        for key in KEYS:
            assert s("ROOST.RESTORE", f"{key} of 3000", 0, value_of(frames[key, far])) == b"OK"
            digest = s.digest(f"{key} of 3000")
            command = ("ROOST.SEEN", "window of 3000", "y") if key == "window" else ("ROOST.INCR", "counter of 3000", "y", 1)
            told = s.error(*command)
            assert "the clock is wrong" in told and abs(int(told.split(" s ahead of it")[0].split()[-1]) - (far - time.time())) < 4000, told
            for sources in (key, f"{key} of 3000"), (f"{key} of 3000", key):
                assert "too far ahead" in s.error("ROOST.MERGESTORE", key, *sources)
            assert s.digest(f"{key} of 3000") == digest and s("COPY", f"{key} of 3000", f"copy of {key}") == 1
        assert "the clock is wrong" in str(s("ROOST.MSEEN", "window of 3000", "y", "z")[0])
        caught_up(replica, s)
        keys = KEYS + [f"{key} of 3000" for key in KEYS] + [f"copy of {key}" for key in KEYS]
        same_digests(s, replica, keys)
        before = {key: s.digest(key) for key in keys}
        assert same_after(s, keys, before, lambda: s("DEBUG", "RELOAD"))


def test_bad_frames_change_nothing():
    with server() as s:
        create(s)
        s("ROOST.MSEEN", "window", *range(50)), [s("ROOST.INCR", "counter", i, i) for i in range(50)]
        digests = {key: s.digest(key) for key in KEYS}
        for key, other in ("window", "counter"), ("counter", "window"):
            frame, message = s("ROOST.DELTA", key, "0")[1], b"\x01\x01" + bytes(20)
            assert "configuration" in s.error("ROOST.MERGE", key, s("ROOST.DELTA", other, "0")[1])
            for _ in range(120):
                bad = bytearray(frame)
                for _ in range(random.choice((1, 1, 2, 8))):
                    bad[random.randrange(len(bad))] ^= 1 << random.randrange(8)
                bad = bytes(bad) if random.random() < 0.7 else frame[:random.randrange(len(frame))]
                s.error("ROOST.MERGE", key, bad), s.error("ROOST.MERGE", "new", bad), s.error("ROOST.RESTORE", "new", 0, value_of(bad))
                noise = bytearray(message)
                noise[random.randrange(len(noise))] ^= 1 << random.randrange(8)
                try:
                    s("ROOST.SYNC", key, bytes(noise))
                except redis.ResponseError:
                    pass
        assert {key: s.digest(key) for key in KEYS} == digests and s.client.exists("new") == 0


def test_the_memory_limit():
    """At its limit a window replies with an error and keeps its rate; when it has forgotten something it accepts more."""
    limit = 180 << 10
    with server() as s:
        s("CONFIG", "SET", "roost.memory-limit", limit)
        s("ROOST.CREATE", "w", "KIND", "window", "WINDOW", 300, "CAPACITY", 5000), s("ROOST.CREATE", "c", "KIND", "counter", "WINDOW", 300, "CAPACITY", 5000)
        number, refused, taken, begin = 0, 0, 0, None

        def flooded():
            nonlocal number, refused, taken, begin
            number += 1
            answers = s("ROOST.MSEEN", "w", *(f"{number} {i}" for i in range(3000)))
            new = [answer for answer in answers if not isinstance(answer, Exception)]
            refused, taken = refused + (len(new) < 3000), taken + (len(new) == 3000)
            assert set(new) <= {0} and (len(new) == 3000 or "memory" in str(answers[-1]).lower())
            assert s("ROOST.INCR", "c", number, 1)[1] == 1
            assert s("MEMORY", "USAGE", "w") <= limit + 1024 and s("MEMORY", "USAGE", "c") <= limit + 1024, number
            newest = float(info_of(s, "w")["newest"])
            begin = begin or newest
            return newest > begin + 1.5 and refused > 3 and taken > 3
        wait_for(flooded, "a flood over several windows")
        assert info_of(s, "w", "FULL")["promise_holds"] == 1
        move_on(s, "w"), move_on(s, "c")


def test_a_window_at_its_limit_takes_in_what_others_send():
    """A window that adds nothing itself frees what it forgets when the merged changes are in."""
    with servers(Server, Server) as (a, b):
        b("CONFIG", "SET", "roost.memory-limit", "135kb")
        for s in a, b:
            s("ROOST.CREATE", "w", "KIND", "window", "WINDOW", 200, "CAPACITY", 5000)
        for _ in range(4):
            move_on(a, "w", 1)  # all that b holds is old
            b("ROOST.MERGE", "w", a("ROOST.DELTA", "w", "0")[1])
            assert a.digest("w") == b.digest("w") and b("MEMORY", "USAGE", "w") < 135 << 10
        # what does not fit is refused, whole
        for s in a, b:
            s("ROOST.CREATE", "flood", "KIND", "window", "WINDOW", 4000, "CAPACITY", 5000)
        items = itertools.count()
        wait_for(lambda: a("ROOST.MSEEN", "flood", *itertools.islice(items, 3000)) and a("MEMORY", "USAGE", "flood") > 200 << 10, "a flood")
        digest = b.digest("flood")
        assert "memory" in b.error("ROOST.MERGE", "flood", a("ROOST.DELTA", "flood", "0")[1]).lower() and b.digest("flood") == digest


class Writer(threading.Thread):
    """A client that counts, and repeats what was not acknowledged, while its server dies again and again."""

    def __init__(self, s, number):
        super().__init__()
        self.server, self.number, self.value, self.acknowledged, self.operation, self.seen = s, number, 0, 0, 0, []
        self.stop, self.random = threading.Event(), random.Random(number)
        self.pending = None

    def run(self):
        client = redis.Redis(unix_socket_path=self.server.path)
        while not self.stop.is_set() or self.pending:
            if not self.pending:
                self.operation += 1
                self.pending = f"{self.number} {self.operation}", self.random.randrange(-100, 200)
            name, amount = self.pending
            try:
                client.execute_command("ROOST.INCR", "counter", name, amount)
                client.execute_command("ROOST.SEEN", "window", name)
            except (redis.RedisError, OSError):
                time.sleep(0.005)
                continue
            self.value += amount
            self.seen.append(name)
            self.acknowledged += 1
            self.pending = None
        client.close()


def test_sudden_death(times=int(os.environ.get("ROOST_DEATHS", "6"))):
    """kill -9 at random points, appendfsync always: what clients counted, repeating until it was acknowledged, counts exactly once."""
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always"), Server) as (s, witness):
        create(s, witness, capacity=20000)
        writers, actors = [Writer(s, number) for number in range(2)], set()
        for writer in writers:
            writer.start()
        try:
            for life in range(times):
                wanted = sum(writer.acknowledged for writer in writers) + random.randrange(5, 60)
                wait_for(lambda: sum(writer.acknowledged for writer in writers) >= wanted, "operations")
                if random.random() < 0.5:
                    witness("ROOST.MERGE", "counter", s("ROOST.DELTA", "counter", "0")[1])
                actors.add(actor(s, "counter"))
                s.kill()
                s.start()
        finally:
            for writer in writers:
                writer.stop.set()
                writer.join()
        assert s("ROOST.GET", "counter") == sum(writer.value for writer in writers)
        for writer in writers:
            assert all(s("ROOST.EXISTS", "window", *writer.seen)) and all(s("ROOST.EXISTS", "counter", *writer.seen))
        assert len(actors) == times and info_of(s, "counter")["actors"] >= times, "an actor had two lives"
        witness("ROOST.MERGE", "counter", s("ROOST.DELTA", "counter", "0")[1])
        assert witness.digest("counter") == s.digest("counter")


if __name__ == "__main__":
    run(globals())
