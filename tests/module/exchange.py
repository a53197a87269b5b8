#!/usr/bin/python3
"""What passes between deployments: frames, deltas, sync messages, summaries; and what must not pass."""
import json
import os
import random
import struct
import subprocess
import tempfile

from servers import MODULE, Server, caught_up, frame_of, free_port, replicate, run, same_digests, server, servers

PROGRAM = os.path.join(os.path.dirname(MODULE), "roost")
KINDS = {"bf": "CAPACITY 5000", "scalable": "SCALABLE CAPACITY 100 WRITERS 4", "cuckoo": "KIND cuckoo CAPACITY 5000",
         "growing": "KIND cuckoo SCALABLE CAPACITY 100", "set": "KIND orcuckoo SCALABLE CAPACITY 100", "multi": "KIND orcuckoo MULTISET CAPACITY 5000",
         "remove-wins": "KIND orcuckoo SEMANTICS remove-wins", "last-writer": "KIND orcuckoo SEMANTICS last-writer-wins"}


def create(*all_servers):
    for s in all_servers:
        for key, options in KINDS.items():
            assert s("ROOST.CREATE", key, *options.split()) == b"OK"


def items(salt, count=300):
    return [f"{salt}-{i}" for i in range(count)]


def test_frames_merge_both_ways():
    with servers(Server, Server) as (a, b):
        create(a, b)
        for key in KINDS:
            a("ROOST.ADD", key, *items("a")), b("ROOST.ADD", key, *items("b")), a("ROOST.ADD", key, *items("both")), b("ROOST.ADD", key, *items("both"))
            assert a("ROOST.MERGE", key, b("ROOST.DELTA", key, "0")[1]) == 1
            assert b("ROOST.MERGE", key, a("ROOST.DELTA", key, "0")[1]) == 1
            assert a.digest(key) == b.digest(key), key
            assert a("ROOST.MERGE", key, b("ROOST.DELTA", key, "0")[1]) == 0, "nothing new is no change"
            assert all(b("ROOST.EXISTS", key, *items("a"), *items("b")))


def test_deltas_follow_the_change():
    with servers(Server, Server) as (a, b):
        create(a, b)
        for key in KINDS:
            cursor, frame = a("ROOST.DELTA", key, "0")
            for round in range(5):
                a("ROOST.ADD", key, *items(f"round {round}", 20))
                cursor, frame = a("ROOST.DELTA", key, cursor)
                assert len(frame) < 1500, (key, len(frame))
                b("ROOST.MERGE", key, frame), b("ROOST.MERGE", key, frame)
                assert a.digest(key) == b.digest(key), key
            whole = a("ROOST.DELTA", key, "0")[1]
            assert a("ROOST.DELTA", key, "5-5")[1] == whole and a("ROOST.DELTA", key, "ffffffffffffffff-1")[1] == whole
            for cursor in "", "x", "1", "1-", "-1", "1-1x":
                assert "invalid cursor" in a.error("ROOST.DELTA", key, cursor)


def test_journals_follow_those_who_pull():
    """Filters that began small, or came as a frame: a client that pulls at a steady pace gets deltas, except for the first times."""
    with servers(Server, Server) as (a, b):
        a("BF.RESERVE", "large", "0.01", "1000000"), a("ROOST.CREATE", "set", "KIND", "orcuckoo", "SCALABLE", "CAPACITY", "1000000")
        a("BF.ADD", "small", "x"), a("ROOST.CREATE", "smallset", "KIND", "orcuckoo", "SCALABLE", "CAPACITY", "100")
        for key in "large", "set", "small", "smallset":
            generation, _, _, frame = a("ROOST.PULL", key, "0")[:4]
            b("ROOST.PUSH", key, generation, frame)
            cursors, missed = {s: s("ROOST.PULL", key, "1-0")[1] for s in (a, b)}, {a: [], b: []}
            for round in range(20):
                for s, salt in (a, "a"), (b, "b"):
                    for i in range(10):
                        s("ROOST.ADD", key, *items(f"{salt}-{round}-{i}", 60))
                for s, other in (a, b), (b, a):
                    _, cursors[s], _, frame = s("ROOST.PULL", key, cursors[s])[:4]
                    missed[s] += [] if frame else [round]
                    other("ROOST.PUSH", key, generation, frame or s("ROOST.PULL", key, "0")[3])
            assert all(len(rounds) < 6 and 19 not in rounds for rounds in missed.values()), (key, missed.values())


def test_removals_travel():
    with servers(Server, Server) as (a, b):
        create(a, b)
        for key in "set", "multi":
            a("ROOST.ADD", key, *items("x", 50))
            b("ROOST.MERGE", key, a("ROOST.DELTA", key, "0")[1])
            cursor = b("ROOST.DELTA", key, "0")[0]
            b("ROOST.REM", key, *items("x", 25)), a("ROOST.ADD", key, "x-0")  # an addition that the removal did not see
            a("ROOST.MERGE", key, b("ROOST.DELTA", key, cursor)[1])
            assert a("ROOST.EXISTS", key, "x-0", "x-1", "x-30") == [1, 0, 1], key
            b("ROOST.MERGE", key, a("ROOST.DELTA", key, "0")[1])
            assert a.digest(key) == b.digest(key)


def test_mergestore():
    with server() as s:
        create(s)
        for key in KINDS:
            for name in "one", "two":
                s("ROOST.CREATE", f"{key}-{name}", *KINDS[key].split()), s("ROOST.ADD", f"{key}-{name}", *items(name))
            s("SET", "dest", "something else")
            assert s("ROOST.MERGESTORE", "dest", f"{key}-one", f"{key}-two") == b"OK"
            assert all(s("ROOST.EXISTS", "dest", *items("one"), *items("two")))
            before = s.digest("dest")
            assert s("ROOST.MERGESTORE", "dest", "dest", f"{key}-one") == b"OK" and s.digest("dest") == before
            s("ROOST.ADD", "dest", "later")
            assert s("ROOST.EXISTS", f"{key}-one", "later") == [0]
        before = s.digest("dest")
        assert "configuration" in s.error("ROOST.MERGESTORE", "dest", "bf", "cuckoo")
        assert "not found" in s.error("ROOST.MERGESTORE", "dest", "bf", "missing")
        s("SET", "text", "x")
        assert "wrong kind" in s.error("ROOST.MERGESTORE", "dest", "text")
        assert s.digest("dest") == before


def test_effects_of_exchanges_reach_replicas():
    with servers(*[lambda: Server(port=free_port())] * 3) as (a, replica, other):
        create(a, other)
        replicate(replica, a)
        for key in KINDS:
            other("ROOST.ADD", key, *items("other"))
            a("ROOST.MERGE", key, other("ROOST.DELTA", key, "0")[1])
            a("ROOST.MERGE", f"{key}-made", other("ROOST.DELTA", key, "0")[1])
            a("ROOST.MERGESTORE", f"{key}-stored", key, f"{key}-made"), a("ROOST.MERGESTORE", f"{key}-stored", key)
            a("ROOST.ADD", f"{key}-stored", *items("own"))
            a("ROOST.ADD", f"{key}-made", *items("own"))
        keys = [k for key in KINDS for k in (key, f"{key}-made", f"{key}-stored")]
        caught_up(replica, a)
        same_digests(a, replica, keys)


def roost(*arguments, keys=None, status=0, **how):
    """What the program prints; with an error status, its message."""
    result = subprocess.run([PROGRAM, *arguments], input=keys and "".join(f"{key}\n" for key in keys), capture_output=True, text=True, timeout=600, **how)
    assert result.returncode == status, (arguments, result)
    return result.stderr if status == 2 else result.stdout


def test_the_program_reads_the_same_frames():
    with server() as s, tempfile.TemporaryDirectory() as folder:
        for key, options in ("b", []), ("o", ["--kind", "orcuckoo"]):
            path = os.path.join(folder, key)
            roost("create", path, "--capacity", "1000", *options), roost("add", path, "swift", "martin")
            with open(path, "rb") as file:
                contents = file.read()
            assert s("ROOST.MERGE", key, frame_of(contents)) == 1
            assert s("ROOST.EXISTS", key, "swift", "heron") == [1, 0]
            assert s.digest(key) == roost("digest", path).split()[0]
            s("ROOST.ADD", key, "heron")
            back = os.path.join(folder, key + "-back")
            with open(back, "wb") as file:
                file.write(s("ROOST.DELTA", key, "0")[1])
            assert roost("check", back, "heron", "swift", "wren") == "heron\nswift\n"
        for kind, *options in ("bloom",), ("cuckoo",), ("orcuckoo",), ("orcuckoo", "MULTISET"):  # without a capacity: they grow
            key = "-".join(["grows", kind, *options])
            roost("create", path, "--kind", kind, *(f"--{option.lower()}" for option in options), "--force")
            s("ROOST.CREATE", key, "KIND", kind, "SCALABLE", *options)
            assert s.digest(key) == roost("digest", path).split()[0], key


def test_a_sync_through_hiredis():
    """The initiator is another program; what it brings reaches the replica of the server, too."""
    client = os.path.join(os.path.dirname(MODULE), "tests", "sync-hiredis")
    if not os.path.exists(client):
        print("skipped: hiredis")
        return
    with servers(*[lambda: Server(port=free_port())] * 2) as (a, replica):
        replicate(replica, a)
        done = subprocess.run([client, a.path], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and done.stdout.count("ok ") == 5, done.stdout
        caught_up(replica, a)
        same_digests(a, replica, ["sync-bloom", "sync-scalable", "sync-cuckoo", "sync-set", "sync-multi"])


def test_roost_sync_with_a_key():
    with server(port=free_port()) as s, tempfile.TemporaryDirectory() as folder:
        path, address = os.path.join(folder, "file"), f"127.0.0.1:{s.port}"
        s("ACL", "SETUSER", "syncer", "on", ">se:c/r@t", "~b*", "+roost.sync", "+roost.merge", "+exists")
        for kind in "bloom", "cuckoo", "orcuckoo":
            for options in ["--capacity", "5000"], ["--scalable"]:
                key = f"b {kind}{len(options)}/{options[0]}"
                peer = f"redis://syncer:se%3Ac%2Fr%40t@{address}/b%20{key[2:]}"
                roost("create", path, "--kind", kind, *options, "--force"), roost("add", path, *items("here"))
                assert "the two are equal" in roost("sync", path, peer)
                s("ROOST.ADD", key, *items("there")), roost("add", path, "late")
                assert "the two are equal" in roost("sync", path, peer)
                assert s.digest(key) == roost("digest", path).split()[0]
                assert all(s("ROOST.EXISTS", key, *items("here"), "late")) and roost("check", path, "-c", *items("there")) == "300\n"
                if kind == "orcuckoo":
                    s("ROOST.REM", key, "here-0"), roost("remove", path, "here-1")
                    report = roost("sync", path, peer, "--json")
                    assert '"equal": true' in report or '"equal":true' in report, report
                    assert s("ROOST.EXISTS", key, "here-0", "here-1", "here-2") == [0, 0, 1]
                    roost("check", path, "-q", "here-0", "here-1", status=1)
        def complaint(peer):
            done = subprocess.run([PROGRAM, "sync", path, peer], capture_output=True, text=True, timeout=300)
            assert done.returncode == 2 and "secret" not in done.stderr and done.stderr.count("\n") == 1, done.stderr
            return done.stderr
        assert "WRONGPASS" in complaint(f"redis://syncer:secret@{address}/b") or "invalid" in complaint(f"redis://syncer:secret@{address}/b")
        assert "NOPERM" in complaint(f"redis://syncer:se%3Ac%2Fr%40t@{address}/other")
        assert "does not merge into" in complaint(f"redis://{address}/b%20bloom2/--capacity")
        s("SET", "text", "x")
        assert "WRONGTYPE" in complaint(f"redis://{address}/text")
        for bad in "redis://", f"redis://{address}", f"redis://{address}/", "redis://host:x/k", "redis://host:70000/k", "redis://[::1/k":
            assert "a key is redis://" in complaint(bad), bad


def test_a_filter_over_many_keys():
    with server(port=free_port()) as s:
        where, shards = f"redis://127.0.0.1:{s.port}/birds", ("--shards", "7")
        assert "does not exist; roost create with --shards 7" in roost("check", where, *shards, "a", status=2)
        roost("create", where, *shards, "--capacity", "20k", "--fpr", "0.5%")
        assert sorted(s("KEYS", "*")) == [b"{birds:%d}" % i for i in range(7)]
        assert "already exists" in roost("create", where, *shards, "--capacity", "20k", status=2)
        told = json.loads(roost("add", where, *shards, "--json", keys=items("in", 20000)))
        assert told["keys"] == 20000 and 19800 < told["new"] <= 20000 and told["promise_holds"], told
        assert roost("check", where, *shards, "-v", keys=items("in", 20000), status=1) == "", "all of them are there"
        wrong = int(roost("check", where, *shards, "-c", keys=items("out", 100000)))
        assert wrong < 0.007 * 100000, wrong
        facts = json.loads(roost("info", where, *shards, "--json"))
        assert facts["shards"] == 7 and facts["nodes"] == 1 and 19000 < facts["elements"] < 21000 and facts["inserted"] == told["new"], facts
        assert facts["fpr_now"] <= facts["worst_fpr"] <= facts["fpr_promised"] == 0.005 and facts["promise_holds"], facts
        assert facts["bytes_memory"] == sum(s("ROOST.INFO", f"{{birds:{i}}}")[s("ROOST.INFO", f"{{birds:{i}}}").index(b"bytes_memory") + 1] for i in range(7))
        assert "20,0" in roost("info", where, *shards) or "about 19," in roost("info", where, *shards)
        # the rule, for other clients: (XXH3 of 64 bits >> 32) * shards >> 32
        for item, shard in ("", 1), ("swift", 6), ("heron", 5), ("x" * 300, 4):
            roost("add", where, *shards, "--", item)
            assert [s("ROOST.EXISTS", f"{{birds:{i}}}", item)[0] for i in range(7)][shard] == 1, item
        # another number of shards would look in the wrong places
        assert "more than this many --shards" in roost("check", where, "--shards", "6", "a", status=2)
        assert "has 7 keys, and not 8: give --shards 7" in roost("add", where, "--shards", "8", "a", status=2)
        assert "has 7 keys, and not 8" in roost("create", where, "--shards", "8", "--capacity", "20k", "--fpr", "0.5%", status=2)
        assert "or is it one with --shards?" in roost("check", where, "a", status=2)
        s("DEL", "{birds:3}")
        assert "1 of its 7 keys is missing" in roost("check", where, *shards, "a", status=2)
        assert "1 of its 7 keys is missing" in roost("create", where, *shards, "--capacity", "20k", "--fpr", "0.5%", status=2)
        assert "with other options" in roost("create", where, *shards, "--kind", "cuckoo", status=2)
        roost("create", where, *shards, "--capacity", "20k", "--fpr", "0.5%", "--force")
        roost("add", where, *shards, keys=items("in", 20000))
        assert roost("check", where, *shards, "-v", keys=items("in", 20000), status=1) == ""
        # a filter that is full says so, and which keys are in
        roost("create", where + "-full", "--shards", "2", "--kind", "cuckoo", "--capacity", "100")
        told = roost("add", where + "-full", "--shards", "2", keys=items("in", 5000), status=2)
        assert "}: ERR the filter is full" in told and "the first 0 keys of the input were added" in told, told
        told = roost("add", where, *shards, keys=items("more", 60000))
        assert json.loads(roost("info", where, *shards, "--json"))["promise_holds"] is False
        assert "must not contain a }" in roost("create", where + "}", *shards, "--capacity", "5", status=2)


def test_a_filter_in_one_key():
    with server(port=free_port()) as s:
        s("CONFIG", "SET", "requirepass", "secret")
        s.client = s.client.__class__(unix_socket_path=s.path, password="secret")
        where, login = f"redis://127.0.0.1:{s.port}/set", f"redis://:secret@127.0.0.1:{s.port}/set"
        assert "asks for a password" in roost("info", where, status=2)
        assert "WRONGPASS" in roost("info", where, status=2, env={**os.environ, "ROOST_PASSWORD": "wrong"})
        roost("create", login, "--kind", "orcuckoo")
        told = roost("add", login, "-v", keys=items("in", 5000))
        assert told == "5,000 keys, 5,000 new; about 5,000 elements\n", told
        assert roost("remove", login, "-v", "in-1", "in-2", "never").startswith("3 keys, 2 removed; about 4,998"), "removal"
        assert roost("check", login, "in-1", "in-2", "in-3") == "in-3\n"
        assert roost("check", login, "in-1", status=1) == ""
        s("ROOST.CREATE", "copies", "KIND", "orcuckoo", "MULTISET", "SCALABLE"), s("ROOST.CREATE", "w", "KIND", "window", "WINDOW", "60000")
        roost("add", login.replace("/set", "/copies"), "a", "a", "b")
        assert "removed" in roost("remove", login.replace("/set", "/copies"), "--one", "-v", "a") and s("ROOST.COUNT", "copies", "a", "b") == [1, 1]
        assert "holds a window" in roost("add", login.replace("/set", "/w"), "a", status=2)
        s("SET", "text", "x")
        told = roost("add", login.replace("/set", "/text"), "a", status=2)
        assert "WRONGTYPE" in told and "secret" not in told, told
        told = subprocess.run([PROGRAM, "add", f"redis://127.0.0.1:{free_port()}/set", "a"], capture_output=True, text=True)
        assert told.returncode == 2 and "Connection refused" in told.stderr, told
    # one that was not reached at all: no module
    with server(port=free_port(), module=False) as s:
        assert "has not loaded the module roost.so" in roost("check", f"redis://127.0.0.1:{s.port}/set", "a", status=2)


def test_summary():
    with servers(Server, Server) as (a, b):
        def summary(s, *since):
            answer = s("ROOST.SUMMARY", *since)
            pairs = dict(zip(answer[0::2], answer[1::2]))
            return pairs[b"digest"], pairs[b"mark"], [(d, k.decode()) for d, k, _, digest, *_ in pairs[b"changed"] if digest], pairs[b"keys"]
        assert summary(a)[3] == 0
        create(a), create(b)
        assert summary(a)[0] == summary(b)[0] and summary(a)[3] == len(KINDS)
        digest, mark, changed, keys = summary(a)
        assert {k for d, k in changed} == set(KINDS)
        assert summary(a, "SINCE", mark)[2] == []
        a("ROOST.ADD", "set", "x"), a("ROOST.EXISTS", "bf", "x")
        assert summary(a, "SINCE", mark)[2] == [(0, "set")] and summary(a)[0] != digest
        b("ROOST.MERGE", "set", a("ROOST.DELTA", "set", "0")[1])
        assert summary(a)[0] == summary(b)[0]
        mark = summary(a)[1]
        a("RENAME", "set", "renamed"), a("MOVE", "bf", "3"), a("COPY", "multi", "copied"), a("DEL", "cuckoo")
        assert sorted(summary(a, "SINCE", mark)[2]) == [(0, "copied"), (0, "renamed"), (3, "bf")]
        assert summary(a)[3] == len(KINDS)
        assert len(summary(a, "SINCE", "abc-1")[2]) == len(KINDS), "a mark of another life"
        before = summary(a)[0]
        a("DEBUG", "RELOAD")
        assert summary(a)[0] == before and len(summary(a, "SINCE", mark)[2]) == len(KINDS)


def mutants(frame, count):
    """Truncated, with flipped bits, duplicated, and with a wrong length."""
    yield from (frame[:n] for n in (0, 1, 4, 6, 10, len(frame) // 2, len(frame) - 1))
    yield frame + b"\0"
    yield frame + frame
    for _ in range(count):
        bytes_ = bytearray(frame)
        for _ in range(random.choice((1, 1, 2, 8))):
            bytes_[random.randrange(len(bytes_))] ^= 1 << random.randrange(8)
        yield bytes(bytes_)


def test_bad_frames_and_chunks_change_nothing():
    with server() as s:
        create(s)
        for key in KINDS:
            s("ROOST.ADD", key, *items("kept"))
        digests = {key: s.digest(key) for key in KINDS}
        refused = 0
        for key in KINDS:
            frame = s("ROOST.DELTA", key, "0")[1]
            for bad in mutants(frame, 60):
                for command in (("ROOST.MERGE", key, bad), ("ROOST.MERGE", "new", bad)):
                    s.error(*command)
                    refused += 1
            for bad in mutants(b"\x01\x01" + bytes(20), 30):
                try:
                    s("ROOST.SYNC", key, bad)
                except Exception:
                    pass
            assert "configuration" in s.error("ROOST.MERGE", key, s("ROOST.DELTA", "bf" if key != "bf" else "set", "0")[1])
        assert {key: s.digest(key) for key in KINDS} == digests and s.client.exists("new") == 0 and refused > 600


def chunks_of(s, key):
    chunks, iterator = [], 0
    while True:
        iterator, data = s("ROOST.DUMP", key, iterator)
        if iterator == 0:
            return chunks
        chunks.append((iterator, data))


def test_chunks_out_of_order():
    with server() as s:
        s("ROOST.CREATE", "large", "KIND", "orcuckoo", "CAPACITY", "7000000")
        for begin in range(0, 20000, 5000):
            s("ROOST.ADD", "large", *range(begin, begin + 5000))
        create(s), s("ROOST.ADD", "bf", *items("x"))
        for key in "bf", "large":
            (first, header), (second, body) = chunks_of(s, key)[:2]
            for iterator, data in ((second, body), (first, body), (first, header + b"x"), (first, header[:-1]), (first, b""),
                                   (first, b"\0" * len(header)), (first + 5, body)):
                s.error("ROOST.RESTORE", "new", iterator, data)
                assert s.client.exists("new") == 0
            assert s("ROOST.RESTORE", "new", first, header) == b"OK"
            for iterator, data in ((first, header), (second, body[:-1]), (second, body + b"x"), (second + 1, body), (second, b""),
                                   (second, bytes(len(body)))):
                s.error("ROOST.RESTORE", "new", iterator, data)
                assert "not loaded completely" in s.error("ROOST.ADD", "new", "x")
            digest = s("DEBUG", "DIGEST-VALUE", "new")
            s("DEBUG", "RELOAD")
            assert s("DEBUG", "DIGEST-VALUE", "new") == digest, "a value that is not whole is kept too"
            assert s("ROOST.RESTORE", "new", second, body) == b"OK" and s.digest("new") == s.digest(key)
            assert "comes next" in s.error("ROOST.RESTORE", "new", first, header)
            s("DEL", "new")
            for bad in mutants(header, 40):
                s.error("ROOST.RESTORE", "new", first, bad)
            for bad in mutants(header + body, 40):
                s.error("ROOST.RESTORE", "new", 0, bad)
            assert s.client.exists("new") == 0
        (first, header), (second, body) = chunks_of(s, "set") if s("ROOST.ADD", "set", "x") else None
        s("BF.LOADCHUNK", "new", first, header)
        assert "bad data" in s.error("BF.LOADCHUNK", "new", second, body), "a filter of another kind"
        foreign = struct.pack("<QIIII", 5, 1, 0, 4, 2) + bytes(40)  # shaped like another module's header
        assert "bad data" in s.error("BF.LOADCHUNK", "foreign", 1, foreign)
        assert "load chunk" in s.error("CF.LOADCHUNK", "foreign", 1, foreign)


def test_bad_snapshots_are_refused():
    """The server, which would refuse them for its own checksum, is told not to look at it: the module has to detect them."""
    with server() as s:
        s("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)
        create(s)
        for key in KINDS:
            s("ROOST.ADD", key, *items("x", 40))
            payload, refused, kept = s("DUMP", key), 0, s.digest(key)
            for _ in range(150):
                bad = bytearray(payload)
                for _ in range(random.choice((1, 1, 3))):  # bytes 12 to 19 are the check of the key's name: with another one it is a copy
                    bad[random.randrange(20, len(bad) - 10)] ^= 1 << random.randrange(8)
                try:
                    s("RESTORE", "restored", 0, bytes(bad), "REPLACE")
                    assert s.digest("restored")  # what is taken in is sound
                except Exception as error:
                    assert "restored" not in str(error)
                    refused += 1
            assert refused > 140 and s.client.ping() and s.digest(key) == kept, (key, refused)


if __name__ == "__main__":
    run(globals())
