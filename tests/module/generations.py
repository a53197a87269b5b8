#!/usr/bin/python3
"""What deployments exchange: summaries, pulls, pushes, syncs; generations of keys and their tombstones."""
import os
import random
import select
import signal
import threading
import time

import redis

import servers as real
from servers import Speaker, caught_up, free_port, replicate, run, servers, wait_for

KINDS = {"bf": (), "cuckoo": ("KIND", "cuckoo", "CAPACITY", 5000), "set": ("KIND", "orcuckoo", "SCALABLE", "CAPACITY", 100),
         "fixed": ("CAPACITY", 5000)}


def linked(s, number=1):
    """The first message of a link: from then on deletions leave tombstones."""
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    return s("ROOST.LINK", answer[answer.index(b"link") + 1], "HELLO", number)


class Server(real.Server):
    """A server with a link. (Nodes of a cluster get the message when they have slots.)"""

    def __init__(self, *options, **how):
        super().__init__(*options, **how)
        if "--cluster-enabled" not in options:
            linked(self)


def server(*options, **how):
    return servers(lambda: Server(*options, **how))


def create(s, key, kind="set"):
    s("ROOST.CREATE", key, *KINDS[kind]) if KINDS[kind] else s("BF.RESERVE", key, "0.01", 100)


def summary(s, *options):
    answer = s("ROOST.SUMMARY", *options)
    told = dict(zip([name.decode() for name in answer[::2]], answer[1::2]))
    told["changed"] = [(entry[0], entry[1].decode(), *entry[2:5], *filter(None, entry[5:6])) for entry in told["changed"]]
    return told


def names(told):
    return [entry[1] for entry in told["changed"]]


def state(s, key, database=0):
    """(generation, digest or None) by the summary; (0, None) for a key that is not in it."""
    for entry in summary(s)["changed"]:
        if entry[:2] == (database, key):
            return entry[2], entry[3]
    return 0, None


# ---- summaries


def test_summaries_tell_what_changed():
    with server() as s:
        first = summary(s)
        assert first["keys"] == 0 and first["changed"] == [] and not first["more"]
        for i in range(20):
            create(s, f"key {i:02}", random.choice(list(KINDS)))
        told = summary(s, "SINCE", first["mark"])
        assert names(told) == [f"key {i:02}" for i in range(20)], "oldest change first"
        assert told["keys"] == 20 and summary(s)["changed"] == told["changed"]
        s("ROOST.ADD", "key 07", "x"), s("ROOST.ADD", "key 03", "x"), s("ROOST.ADD", "key 07", "y")
        later = summary(s, "SINCE", told["mark"])
        assert names(later) == ["key 03", "key 07"] and later["digest"] != told["digest"]
        for database, name, generation, digest, cursor in later["changed"]:
            assert (database, generation, digest) == (0, 0, s("ROOST.DIGEST", name))
            assert s("ROOST.PULL", name, cursor)[:3] == [0, cursor, digest]
        assert summary(s, "SINCE", later["mark"])["changed"] == []
        for bad in ("x", "0-5", first["mark"][:-1] + b"fffff"):
            assert len(summary(s, "SINCE", bad)["changed"]) == 20, "a mark of another life gets everything"
        seen, mark, answers = [], "0", 0
        while True:
            part = summary(s, "COUNT", 3, "SINCE", mark)
            seen, mark, answers = seen + names(part), part["mark"], answers + 1
            assert len(part["changed"]) <= 3
            if not part["more"]:
                break
            if answers == 3:
                s("ROOST.ADD", seen[0], "again")  # moves to the end
        assert seen.count(seen[0]) == 2 and sorted(set(seen)) == sorted(names(told)) and mark == summary(s)["mark"]
        s.client.unlink("key 00")
        assert summary(s)["keys"] == 19


def test_a_digest_over_all_adds_up():
    with servers(Server, Server, Server) as (one, two, both):
        for i, s in enumerate((one, two)):
            for key in (f"{i}-a", f"{i}-b"):
                for place in (s, both):
                    create(place, key, "fixed"), place("ROOST.ADD", key, "x", i)
        total = lambda s: int.from_bytes(bytes.fromhex(summary(s)["digest"].decode()), "little")
        assert (total(one) + total(two)) % 2 ** 128 == total(both) and total(one)
        before = total(both)
        both("ROOST.CREATE", "more", "CAPACITY", 10)
        assert total(both) != before
        both("FLUSHALL")
        assert total(both) == 0 and summary(both)["keys"] == 0


def test_summaries_wait_for_a_change():
    with server() as s:
        create(s, "key")
        mark = summary(s)["mark"]
        for empty in (mark, summary(s, "SINCE", mark, "WAIT", 5)["mark"]):
            assert summary(s, "SINCE", empty, "WAIT", 1)["changed"] == []
        answers, waiters = [], []
        for _ in range(3):
            waiter = threading.Thread(target=lambda: answers.append(names(summary(Peer(s), "SINCE", mark, "WAIT", 60000))))
            waiter.start(), waiters.append(waiter)
        blocked = lambda count: wait_for(lambda: s.client.info("clients")["blocked_clients"] == count, "the waiting")
        blocked(3)
        leaving = Speaker(s, 2)
        leaving.socket.sendall(b"ROOST.SUMMARY SINCE %s WAIT 60000\r\n" % mark)
        blocked(4)
        leaving.close()
        blocked(3)
        s("ROOST.ADD", "key", "x")
        for waiter in waiters:
            waiter.join()
        assert answers == [["key"]] * 3
        mark = summary(s)["mark"]
        assert s("EVAL", "return redis.call('ROOST.SUMMARY', 'SINCE', ARGV[1], 'WAIT', '60000')", 0, mark), "scripts do not wait"
        pipe = s.client.pipeline(transaction=True)
        pipe.execute_command("ROOST.SUMMARY", "SINCE", mark, "WAIT", 60000)
        assert pipe.execute()
        waiter = threading.Thread(target=lambda: answers.append(summary(Peer(s), "SINCE", mark, "WAIT", 60000)))
        waiter.start()
        blocked(1)
        s("FLUSHALL")
        waiter.join()
        assert answers[-1]["keys"] == 0 and answers[-1]["mark"].split(b"-")[0] != mark.split(b"-")[0], "another life"
        mark, refusals = summary(s)["mark"], []
        waiter = threading.Thread(target=lambda: refusals.append(refusal(Peer(s), "ROOST.SUMMARY", "SINCE", mark, "WAIT", 60000)))
        waiter.start()
        blocked(1)
        s("REPLICAOF", "127.0.0.1", 1)
        waiter.join()
        s("REPLICAOF", "NO", "ONE")
        assert "UNBLOCKED" in refusals[0], "the server sends those who wait away when it becomes a replica"
        for wrong in (("SINCE",), ("COUNT", 0), ("COUNT", "x"), ("WAIT", -1), ("WAIT", 10 ** 12), ("ELSE", 1)):
            s.error("ROOST.SUMMARY", *wrong)


def refusal(peer, *arguments):
    try:
        return f"no refusal, but {peer(*arguments)}"
    except redis.RedisError as error:
        return str(error)


class Peer:
    """Another connection."""

    def __init__(self, s):
        self.client = redis.Redis(unix_socket_path=s.path)

    def __call__(self, *arguments):
        return self.client.execute_command(*arguments)


def test_a_change_and_the_end_of_waiting_at_once():
    """A slow command changes a key, and meanwhile the waiting clients time out: each gets one reply, with the change."""
    with server() as s:
        create(s, "key")
        mark = summary(s)["mark"]
        waiting = [Speaker(s, 2) for _ in range(3)]
        for one in waiting:
            one.socket.sendall(b"ROOST.SUMMARY SINCE %s WAIT 200\r\n" % mark)
        answered = lambda: len(select.select([one.socket for one in waiting], [], [], 0)[0])
        wait_for(lambda: s.client.info("clients")["blocked_clients"] + answered() >= 3, "the waiting")
        pipe = s.client.pipeline(transaction=True)
        pipe.execute_command("ROOST.ADD", "key", "x")
        pipe.execute_command("DEBUG", "SLEEP", "0.4")
        pipe.execute()
        for one in waiting:
            told = one.read()
            assert [entry[1] for entry in told[7]] in ([b"key"], []), told
            if not told[7]:  # its time was over before
                assert told[3] == mark and one("ROOST.SUMMARY", "SINCE", mark)[7][0][1] == b"key"
            assert one("PING") == "PONG"
            one.close()
        mark = summary(s)["mark"]
        one = Speaker(s, 2)
        number = one("CLIENT", "ID")
        one.socket.sendall(b"ROOST.SUMMARY SINCE %s WAIT 60000\r\n" % mark)
        wait_for(lambda: s("CLIENT", "UNBLOCK", number), "the client")
        assert one.read()[3] == mark and one("PING") == "PONG"
        one.close()


def test_whatever_happens_to_keys_summaries_know_them():
    with server() as s:
        def told():
            answer = summary(s)
            live = sorted(entry[:2] for entry in answer["changed"] if entry[3])
            assert len(live) == answer["keys"]
            return live

        create(s, "a"), create(s, "b"), create(s, "c")
        s("RENAME", "a", "d"), s("COPY", "b", "e"), s("MOVE", "c", 3)
        assert told() == [(0, "b"), (0, "d"), (0, "e"), (3, "c")]
        s("SWAPDB", 0, 5)
        assert told() == [(3, "c"), (5, "b"), (5, "d"), (5, "e")]
        s("SWAPDB", 0, 5), s("SELECT", 3), s("FLUSHDB"), s("SELECT", 0)
        assert told() == [(0, "b"), (0, "d"), (0, "e")]
        s("SET", "b", "x"), s("DEL", "d"), s("RESTORE", "f", 0, s("DUMP", "e"))
        assert told() == [(0, "e"), (0, "f")]
        s("DEBUG", "RELOAD")
        assert told() == [(0, "e"), (0, "f")]
        s("FLUSHALL", "ASYNC"), create(s, "g")
        assert told() == [(0, "g")]


# ---- pulls and pushes


def carry(source, destination, key, cursor="0", spans=()):
    """What a link does: (result of the push, cursor of the pull, applied range of the push); None if the cursor is too old."""
    generation, after, _, frame = source("ROOST.PULL", key, cursor, *spans)[:4]
    if frame is None and after is not None:
        return None
    outcome, _, _, begin, end = destination("ROOST.PUSH", key, generation, frame if frame is not None else b"")
    return outcome, after, begin and span(begin, end)


def span(begin, end):
    (life, low), (same, high) = begin.split(b"-"), end.split(b"-")
    assert life == same
    return low + b"-" + high


def test_pull_and_push():
    with servers(Server, Server) as (a, b):
        for kind in KINDS:
            assert a("ROOST.PULL", kind, "0") == [0, None, None, None, 0]
            create(a, kind, kind)
            a("ROOST.ADD", kind, "x", "y")
            outcome, cursor, _ = carry(a, b, kind)
            assert outcome == b"merged" and a.digest(kind) == b.digest(kind)
            assert carry(a, b, kind)[0] == b"same"
            a("ROOST.ADD", kind, "z")
            outcome, cursor, pushed = carry(a, b, kind, cursor)
            assert outcome == b"merged" and a.digest(kind) == b.digest(kind) and b("ROOST.EXISTS", kind, "z") == [1]
            delta = a("ROOST.PULL", kind, cursor)[3]
            assert b("ROOST.PUSH", "missing", 0, delta)[0] == b"whole" and not b.client.exists("missing")
            assert b("ROOST.PUSH", kind, 1, delta)[0] == b"whole"
            unknown = a("ROOST.PULL", kind, "123-4")
            assert unknown[3] is None and unknown[1:3] == a("ROOST.PULL", kind, cursor)[1:3], "a cursor that is not known"
            before = b("ROOST.PULL", kind, "0")[1]
            a("ROOST.ADD", kind, *[f"theirs {i}" for i in range(20)])
            outcome, _, pushed = carry(a, b, kind, cursor)
            b("ROOST.ADD", kind, "ours")
            everything, ours = b("ROOST.PULL", kind, before)[3], b("ROOST.PULL", kind, before, pushed)[3]
            assert len(everything) > len(ours) + 20, "what was pushed is left out"
            assert a("ROOST.PUSH", kind, 0, ours)[0] == b"merged" and a.digest(kind) == b.digest(kind)
            for bad in ("", "x", "1-"):
                a.error("ROOST.PULL", kind, bad)
            for bad in ("x", "9-3", "1-2-3"):
                a.error("ROOST.PULL", kind, cursor, bad)
        create(b, "other", "cuckoo"), a("SET", "text", "x")
        for generation in (-1, "x", 2 ** 62 + 1, 2 ** 64 - 1):
            b.error("ROOST.PUSH", "set", generation, b"")
        whole = a("ROOST.PULL", "set", "0")[3]
        assert "configuration" in b.error("ROOST.PUSH", "other", 0, whole)
        assert "WRONGTYPE" in a.error("ROOST.PUSH", "text", 0, whole) and "WRONGTYPE" in a.error("ROOST.PULL", "text", 0)
        digest = b.digest("set")
        for _ in range(60):
            bad = bytearray(whole)
            bad[random.randrange(len(bad))] ^= 1 << random.randrange(8)
            b.error("ROOST.PUSH", "set", 0, bytes(bad)), b.error("ROOST.PUSH", "new", 0, bytes(bad))
        assert b.digest("set") == digest and not b.client.exists("new")


def test_pushes_reach_replicas_and_files():
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how, Server) as (a, replica, other):
        replicate(replica, a)
        for kind in KINDS:
            create(other, kind, kind)
            for i in range(3):
                other("ROOST.ADD", kind, f"theirs {i}")
                carry(other, a, kind)
                a("ROOST.ADD", kind, f"ours {i}")
            ask(a, other, kind)
        caught_up(replica, a)
        kept = {kind: a.digest(kind) for kind in KINDS}
        assert kept == {kind: replica.digest(kind) for kind in KINDS} == {kind: other.digest(kind) for kind in KINDS}
        a.restart()
        assert kept == {kind: a.digest(kind) for kind in KINDS}


# ---- asking


def ask(a, b, key, between=lambda: None, generation=0):
    """A sync with initiator `a` and responder `b`; (equal, digest, cursor)."""
    answer = a("ROOST.ASK", key, generation)
    for _ in range(100):
        session, request = answer[:2]
        if request is None:
            return answer[2:]
        between()
        answer = a("ROOST.ASK", key, session, b("ROOST.SYNC", key, request, "GENERATION", generation))
    raise AssertionError("a sync without end")


def test_asking():
    with servers(Server, Server) as (a, b):
        for kind in KINDS:
            for s, mine in (a, "a"), (b, "b"):
                create(s, kind, kind), s("ROOST.ADD", kind, *[f"{mine}{i}" for i in range(300)])
            equal, digest, cursor = ask(a, b, kind)
            assert equal == 1 and digest == b("ROOST.DIGEST", kind) and a("ROOST.PULL", kind, cursor)[1] == cursor
            assert all(a("ROOST.EXISTS", kind, "a299", "b299")) and all(b("ROOST.EXISTS", kind, "a299", "b299"))
        assert "not found" in a.error("ROOST.ASK", "missing", 0)
        assert a.error("ROOST.ASK", "set", 1) == "STALE the key is at generation 0"
        session, request = a("ROOST.ASK", "set", 0)
        assert "STALE" in b.error("ROOST.SYNC", "set", request, "GENERATION", 1)
        for bad in ("0", "x", "99999", -1):
            assert "no such session" in a.error("ROOST.ASK", "set", bad, b"x")
        assert "no such session" in a.error("ROOST.ASK", "bf", session, b"x"), "of another key"
        a.error("ROOST.ASK", "set", session, b"garbage")
        assert "no such session" in a.error("ROOST.ASK", "set", session, b"garbage"), "a session ends with its first error"
        begun = [a("ROOST.ASK", "set", 0)[0] for _ in range(8)]
        assert "no such session" in a.error("ROOST.ASK", "set", begun[0], b"x"), "few are kept for one key"
        for generation, end in enumerate((("DEL", "set"), ("UNLINK", "set"), ("FLUSHALL",))):
            session, _ = a("ROOST.ASK", "set", generation)
            a(*end), create(a, "set", "set")
            assert "no such session" in a.error("ROOST.ASK", "set", session, b"x")
        create(a, "there and back"), create(b, "there and back"), b("ROOST.ADD", "there and back", "of an earlier generation")
        session, request = a("ROOST.ASK", "there and back", 0)
        a("RENAME", "there and back", "there"), a("RENAME", "there", "there and back")
        reply = b("ROOST.SYNC", "there and back", request, "GENERATION", 0)
        assert "no such session" in a.error("ROOST.ASK", "there and back", session, reply)
        for i in range(100):
            create(a, f"k{i}", "fixed"), a("ROOST.ASK", f"k{i}", 0)
        a("FLUSHALL", "ASYNC")


def test_asking_while_clients_write():
    """A sync gives each side what the other had when it began; cursors from before it are valid for the rest."""
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how, Server) as (a, replica, b):
        by_cursor = []
        replicate(replica, a)
        for kind in KINDS:
            ours, theirs, later = [f"ours {i}" for i in range(60)], [f"theirs {i}" for i in range(60)], iter(range(10000))
            create(a, kind, kind), create(b, kind, kind), a("ROOST.ADD", kind, *ours), b("ROOST.ADD", kind, *theirs)
            cursors = [s("ROOST.PULL", kind, "1-1")[1] for s in (a, b)]
            rounds = []

            def write():
                rounds.append(next(later))
                for s, name in (a, "a"), (b, "b"):
                    s("ROOST.ADD", kind, *[f"{name} {rounds[-1]} {i}" for i in range(5)])
                if kind == "set":
                    a("ROOST.REM", kind, ours[rounds[-1]]), b("ROOST.REM", kind, theirs[rounds[-1]])

            ask(a, b, kind, between=write)
            assert rounds, "nothing was written between"
            gone = len(rounds) if kind == "set" else 0
            assert all(a("ROOST.EXISTS", kind, *theirs[gone:])) and all(b("ROOST.EXISTS", kind, *ours[gone:]))
            if carry(a, b, kind, cursors[0]) and carry(b, a, kind, cursors[1]):
                assert a.digest(kind) == b.digest(kind), kind
                by_cursor.append(kind)
            else:  # its journal was too short for all that
                assert ask(a, b, kind)[0] == 1 and a.digest(kind) == b.digest(kind), kind
            expected = [f"{name} {r} {i}" for name in "ab" for r in rounds for i in range(5)] + ours[gone:] + theirs[gone:]
            assert all(a("ROOST.EXISTS", kind, *expected)) and all(b("ROOST.EXISTS", kind, *expected))
            assert not gone or not any(a("ROOST.EXISTS", kind, *ours[:gone], *theirs[:gone]))
        assert "set" in by_cursor and "cuckoo" in by_cursor, by_cursor
        caught_up(replica, a)
        kept = everything(a)
        assert everything(replica) == kept
        a.restart()
        assert everything(a) == kept


# ---- generations


TOMBSTONES = "roost:generations"


def info(s, key):
    pairs = s("ROOST.INFO", key)
    return dict(zip(pairs[::2], pairs[1::2]))


def generation(s, key):
    """What the summary, a pull and, where there is a filter, its information agree on."""
    told, value = state(s, key)
    assert s("ROOST.PULL", key, "0")[0] == told
    assert (value is not None) == bool(s.client.exists(key) and s.client.type(key) in (b"roostdata", b"MBbloom--", b"MBbloomCF")), (key, told, value)
    assert value is None or info(s, key)[b"generation"] == told
    return told, value is not None


def everything(s):
    """The states of all keys that have ever existed."""
    told = summary(s)
    return told["digest"], {entry[:4] for entry in told["changed"] if entry[2] or entry[3]}


def expire(s, key, lazily):
    """By the cycle of the server, or by an access."""
    s("DEBUG", "SET-ACTIVE-EXPIRE", "0" if lazily else "1")
    s("PEXPIRE", key, 1)
    wait_for(lambda: s.client.exists(key) == 0 if lazily else key not in keys_of(s), "its expiry")
    s("DEBUG", "SET-ACTIVE-EXPIRE", "1")


def keys_of(s):
    """Without touching any."""
    return [entry[1] for entry in summary(s)["changed"] if entry[3]]


def transaction(s, *commands):
    pipe = s.client.pipeline(transaction=True)
    for command in commands:
        pipe.execute_command(*command)
    return pipe.execute()


def many(s):
    for i in range(20):
        s("DEL", f"m{i}"), create(s, f"m{i}")


DELETIONS = {
    "DEL": lambda s, key: s("DEL", key),
    "UNLINK": lambda s, key: s("UNLINK", key),
    "several": lambda s, key: s("DEL", "missing", key, "missing too"),
    "EXPIRE in the past": lambda s, key: s("EXPIRE", key, -1),
    "expiry on its own": lambda s, key: expire(s, key, False),
    "expiry seen by a reader": lambda s, key: expire(s, key, True),
    "RENAME": lambda s, key: (s("RENAME", key, "away"), s("DEL", "away")),
    "MOVE": lambda s, key: (s("MOVE", key, 9), s("SELECT", 9), s("DEL", key), s("SELECT", 0)),
    "SET": lambda s, key: (s("SET", key, "text"), s("DEL", key)),
    "GETSET with a text": lambda s, key: (s("MSET", key, "text", "other", "text"), s("DEL", key)),
    "SUNIONSTORE": lambda s, key: (s("SADD", "numbers", 1), s("SUNIONSTORE", key, "numbers"), s("DEL", key)),
    "SUNIONSTORE of nothing": lambda s, key: s("SUNIONSTORE", key, "missing"),
    "RENAME of a text over it": lambda s, key: (s("SET", "text", 1), s("RENAME", "text", key), s("DEL", key)),
    "COPY of a text over it": lambda s, key: (s("SET", "text", 1), s("COPY", "text", key, "REPLACE"), s("DEL", key)),
    "RESTORE of a text over it": lambda s, key: (s("SET", "text", 1), s("RESTORE", key, 0, s("DUMP", "text"), "REPLACE"), s("DEL", key)),
    "a script": lambda s, key: s("EVAL", "redis.call('DUMP', KEYS[1]) return redis.call('DEL', KEYS[1])", 1, key),
    "a script that overwrites": lambda s, key: s("EVAL", "redis.call('SET', KEYS[1], 1) return redis.call('DEL', KEYS[1])", 1, key),
    "a transaction": lambda s, key: transaction(s, ("SET", "x", 1), ("DEL", key), ("SET", "y", 1)),
    "a script that overwrites many": lambda s, key: s("EVAL", "for i = 1, 20 do redis.call('BF.ADD', i, 'x') redis.call('SET', i, 1) end "
                                                              "redis.call('SET', KEYS[1], 1) for i = 1, 20 do redis.call('DEL', i) end "
                                                              "return redis.call('DEL', KEYS[1])", 1, key),
    "many overwritten at once": lambda s, key: (many(s), s("MSET", *sum(([f"m{i}", i] for i in range(20)), []), key, 1), s("DEL", key)),
    "DUMP and DEL in a transaction": lambda s, key: transaction(s, ("DUMP", key), ("DEL", key)),
    "DUMP and then DEL": lambda s, key: (s("DUMP", key), s("DEL", key)),
    "a push": lambda s, key: s("ROOST.PUSH", key, 1, b""),
}


def test_what_buries():
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)
        for what, delete_it in DELETIONS.items():
            create(s, what), s("ROOST.ADD", what, "x")
            assert generation(s, what) == (0, True)
            delete_it(s, what)
            assert generation(s, what) == (1, False), what
            caught_up(replica, s)
            assert everything(replica) == everything(s), what
        assert generation(s, "never") == (0, False) and generation(s, "away") == (1, False) and state(s, "MOVE", 9) == (1, None)
        assert s.client.info("roost")["roost_tombstones"] == len(DELETIONS) + 42 == replica.client.info("roost")["roost_tombstones"]
        for what, delete_it in list(DELETIONS.items())[:-1]:
            create(s, what), delete_it(s, what)
            assert generation(s, what) == (2, False), what
        caught_up(replica, s)
        kept = everything(s)
        assert everything(replica) == kept
        keeps_everything(s, kept)
        replica("REPLICAOF", "NO", "ONE")
        keeps_everything(replica, kept)
        replica("BF.ADD", "DEL", "again")
        assert generation(replica, "DEL") == (2, True)
        replica("DEL", "DEL")
        assert generation(replica, "DEL") == (3, False)


def test_expiry_seen_by_a_writer():
    with servers(*[lambda: Server(port=free_port())] * 2) as (s, replica):
        replicate(replica, s)
        now = lambda: int("%d%06d" % tuple(s.client.time()))
        s("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        s("BF.ADD", "key", "x"), s("PEXPIRE", "key", 2)
        then = now() + 3000
        wait_for(lambda: now() > then, "the time")
        assert s("BF.ADD", "key", "y") == 1 and s("BF.MEXISTS", "key", "x", "y") == [0, 1] and generation(s, "key") == (1, True)
        caught_up(replica, s)
        assert everything(replica) == everything(s) and s("PTTL", "key") == -1


def test_a_replica_that_loads_all():
    """Beside its data, or in their place; and a replica that comes back after a while and gets only the changes."""
    for how in (("--repl-diskless-load", "swapdb"), ("--repl-diskless-load", "disabled")):
        with servers(lambda: Server(port=free_port()), lambda: Server(*how, port=free_port())) as (s, replica):
            for each in (s, replica):
                for i in range(20):
                    create(each, f"{i}", "fixed")
            s("DEL", *range(5)), replica("DEL", *range(3, 12)), create(s, "4"), s("SELECT", 2), create(s, "5"), s("DEL", "5"), s("SELECT", 0)
            replicate(replica, s)
            assert everything(replica) == everything(s)
            mark = summary(replica)["mark"]
            replica("REPLICAOF", "127.0.0.1", 1)
            create(s, "meanwhile"), s("DEL", "meanwhile", "4")
            replicate(replica, s)
            caught_up(replica, s)
            assert everything(replica) == everything(s)
            assert s.client.info("stats")["sync_partial_ok"] == 1 and names(summary(replica, "SINCE", mark))[-2:] == ["meanwhile", "4"]
            replica("REPLICAOF", "NO", "ONE"), create(replica, "1")
            assert generation(replica, "1") == (1, True)


OLD = bytes.fromhex("0781ae8a2cb5d6ad6801028163907512f849d2a605c321404006526b6579010100e00c00000120010002e006190023a00f07cbac8aa139541f080523526f7374"
                    "0101140200407b14ae47e17a843f000a04110266864a02431e3d43417585fc000a0092a591afd48a2e3f")
OLD_CHUNKS = [bytes.fromhex("526b657901010000000000000000000000000000000000000000000001000100020000000000000000000000000000002300000000000000"
                            "cbac8aa139541f08"), bytes.fromhex("526f73740101140200407b14ae47e17a843f000a04110266864a02431e3d43417585fc")]


def test_what_was_written_before_there_were_generations():
    with server("--appendonly", "yes", "--appendfsync", "always") as s:
        s("RESTORE", "old", 0, OLD)
        for position, chunk in enumerate(OLD_CHUNKS, 1):
            s("ROOST.RESTORE", "too", position, chunk)
        for key in ("old", "too"):
            assert s.digest(key) == "430b349b1e537534d39f31fdc7d93d4f" and s("ROOST.EXISTS", key, "heron", "wren", "crow") == [1, 1, 0]
            assert generation(s, key) == (0, True)
            s("DEL", key)
        s("RESTORE", "old", 0, OLD)
        assert generation(s, "old") == (1, True) and generation(s, "too") == (1, False)
        kept = everything(s)
        keeps_everything(s, kept)


def header_at(generation):
    """A header with this generation."""
    header, check = bytearray(OLD_CHUNKS[0]), 0xcbf29ce484222325
    header[8:16] = generation.to_bytes(8, "little")
    for byte in header[:56]:
        check = (check ^ byte) * 0x100000001b3 % 2 ** 64
    return bytes(header[:56]) + check.to_bytes(8, "little")


LAST = 2 ** 48


def test_the_last_generation():
    """Only a forged value can have it; it does no harm. A higher generation in a file of an earlier version is read as the last one."""
    with server("--appendonly", "yes", "--appendfsync", "always") as s:
        assert header_at(0) == OLD_CHUNKS[0]
        for generation_ in (LAST + 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1):
            s.error("ROOST.RESTORE", "bad", 0, header_at(generation_) + OLD_CHUNKS[1])
        s("ROOST.RESTORE", "last", 0, header_at(LAST) + OLD_CHUNKS[1])
        assert generation(s, "last") == (LAST, True)
        s("DEL", "last"), s("BF.ADD", "last", "x"), s("ROOST.MERGESTORE", "last", "last"), s("DEL", "last")
        assert generation(s, "last") == (LAST, False)
        keeps_everything(s, everything(s))
        s.kill()
        with open(newest_log(s), "ab") as file:
            file.write(command("ROOST.RESTORE", "old", 0, header_at(2 ** 63 - 1) + OLD_CHUNKS[1]))
            file.write(command("ROOST.GENERATION", "before", 2 ** 63 - 1, TOMBSTONES))
        s.start()
        assert generation(s, "old") == (LAST, True) and generation(s, "before") == (LAST, False)


def newest_log(s):
    folder = os.path.join(s.folder, "appendonlydir")
    return max((os.path.join(folder, name) for name in os.listdir(folder) if ".incr." in name), key=lambda path: int(path.split(".")[-3]))


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def keeps_everything(s, kept):
    s.restart()
    assert everything(s) == kept, "the log of commands"
    for preamble in "yes", "no":
        s("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
        s("BGREWRITEAOF")
        wait_for(lambda: not s.client.info("persistence")["aof_rewrite_in_progress"] and
                 not s.client.info("persistence")["aof_rewrite_scheduled"], "the rewriting")
        s.restart()
        assert everything(s) == kept, f"a rewritten log, {preamble}"
    s("DEBUG", "RELOAD")
    assert everything(s) == kept, "a snapshot"


def test_what_does_not_delete():
    with servers(lambda: Server(port=free_port()), Server) as (other, s):
        for key in "abcd":
            create(s, key), s("ROOST.ADD", key, "x")
        s("COPY", "a", "copy"), s("DUMP", "a"), s("PERSIST", "a"), s("EXPIRE", "a", 1000), s("TOUCH", "a"), s("RENAME", "a", "a")
        assert generation(s, "a") == (0, True)
        s("MIGRATE", "127.0.0.1", other.port, "", 0, 5000, "KEYS", "a", "b")
        assert generation(s, "a") == (0, False) == generation(s, "b") and s.client.exists("a") == 0 and generation(other, "a") == (0, True)
        s("EVAL", "return redis.call('MIGRATE', '127.0.0.1', ARGV[1], KEYS[1], 0, 5000)", 1, "c", other.port)
        assert generation(s, "c") == (0, False) and generation(other, "c") == (0, True)
        transaction(s, ("MIGRATE", "127.0.0.1", other.port, "d", 0, 5000))
        assert generation(s, "d") == (0, False) and generation(other, "d") == (0, True)
        assert s.client.exists(TOMBSTONES) == 0
        for again in ("what MIGRATE within a cluster sends", "and sends again"):
            s("RESTORE-ASKING", "a", 0, other("DUMP", "a"), "REPLACE")
            assert generation(s, "a") == (0, True), again
        create(s, "expiring"), s("PEXPIRE", "expiring", 1)
        s("RESTORE-ASKING", "a", 0, other("DUMP", "a"), "REPLACE")
        wait_for(lambda: s.client.exists("expiring") == 0 and generation(s, "expiring") == (1, False), "what expires after such a one")
        assert other.client.exists(TOMBSTONES) == 0
        s("RESTORE", "a", 0, other("DUMP", "a"), "REPLACE")
        assert generation(s, "a") == (1, True), "a user replaces what was there"
        for flush in (("FLUSHALL",), ("FLUSHDB",), ("FLUSHALL", "ASYNC"), ("FLUSHDB", "ASYNC")):
            create(other, "deleted"), other("DEL", "deleted"), create(other, "key")
            assert generation(other, "deleted") == (1, False)
            other(*flush)
            assert generation(other, "key") == (0, False) == generation(other, "deleted"), flush
        create(s, "text"), s("SET", "other text", 1)
        assert s("RENAMENX", "other text", "text") == 0 and s("SETNX", "text", 1) == 0 and generation(s, "text") == (0, True)
        assert s("MOVE", "text", 5) == 1
        assert generation(s, "text") == (1, False)


def test_eviction_loses_and_does_not_delete():
    with server("--maxmemory-policy", "volatile-random") as s:
        for key in ("first", "second"):
            create(s, key), s("DEL", key), create(s, key)
        for i in range(50):
            s("BF.RESERVE", f"evicted {i}", "0.01", 10000, "NONSCALING"), s("EXPIRE", f"evicted {i}", 10000)
        s("EXPIRE", "second", 10000)
        mark = summary(s)["mark"]
        s("CONFIG", "SET", "maxmemory", 1)
        wait_for(lambda: len(keys_of(s)) == 1, "the eviction")
        s("CONFIG", "SET", "maxmemory", 0)
        assert generation(s, "first") == (1, True) and generation(s, "second") == (1, False), "what is known stays"
        lost = {entry[1:] for entry in summary(s, "SINCE", mark)["changed"]}
        assert lost == {(f"evicted {i}", 0, None, None, b"evicted") for i in range(50)} | {("second", 1, None, None, b"evicted")}, "those who wait hear of it"
        assert summary(s)["keys"] == 1
        create(s, "evicted 7"), s("DEL", "second"), s("BF.RESERVE", "evicted 8", "0.01", 100), s("DEL", "evicted 8")
        told = {entry[1]: entry[2:] for entry in summary(s, "SINCE", mark)["changed"]}
        assert len(told["evicted 7"]) == 3 and told["evicted 7"][1] and told["evicted 8"] == (1, None, None), "made again, and deleted: not evicted"


# ---- pages


def fill(s, names, *options):
    pipe = s.client.pipeline(transaction=False)
    for name in names:
        pipe.execute_command("ROOST.CREATE", name, "KIND", "cuckoo", "CAPACITY", 10)
        for option in options:
            pipe.execute_command(option[0], name, *option[1:])
    pipe.execute(raise_on_error=False)  # some are there


def evict(s, names):
    """These keys, and all others that have a time to live."""
    fill(s, names, ("EXPIRE", 10000))
    s("CONFIG", "SET", "maxmemory", 1)
    wait_for(lambda: not s.client.info("keyspace")["db0"]["expires"], "the eviction")
    s("CONFIG", "SET", "maxmemory", 0)


def position(mark):
    return int(mark.split(b"-")[1], 16)


class Pager:
    """A client that pages through summaries, from the beginning whenever it may have missed something."""

    def __init__(self, s, count):
        self.s, self.count, self.known, self.missed, self.listings = s, count, {}, False, 0
        self.begin()

    def begin(self):
        self.mark, self.pages, self.listed, self.more = None, 0, False, True
        self.seen = set()  # in this listing; None after its end
        self.listings += 1

    def page(self):
        if not self.mark:
            self.most = len(summary(self.s)["changed"]) // self.count + 1
        told = summary(self.s, *(["SINCE", self.mark] if self.mark else []), "COUNT", self.count)
        for database, name, generation, digest, *_ in told["changed"]:
            if self.seen is not None:
                self.seen.add(name)
            self.known[name] = (generation, digest)
        if self.mark and told["changed"]:
            assert position(told["mark"]) > position(self.mark), "each page advances"
        self.mark, self.more = told["mark"], told["more"]
        self.missed |= bool(told.get("missed"))
        self.pages += not self.listed
        assert self.pages <= self.most, "a listing ends, whatever changes meanwhile"
        self.listed |= bool(told.get("listed"))

    def catch_up(self):
        """To the end of the changes; returns whether what the client knows must be true."""
        for _ in range(10000):
            self.page()
            if not self.more:
                break
        assert not self.more, "without changes it comes to the end"
        if self.seen is not None:  # what a whole listing does not mention is not there
            self.known = {name: state for name, state in self.known.items() if name in self.seen}
            self.seen = None
        return not self.missed

    def check(self):
        if self.catch_up():
            truth = {entry[1]: entry[2:4] for entry in summary(self.s)["changed"] if entry[2] or entry[3]}
            assert {name: state for name, state in self.known.items() if state != (0, None)} == truth, self.listings
        else:
            self.missed = False
            self.begin()


def test_pages_advance_when_names_that_went_away_are_forgotten():
    with server("--maxmemory-policy", "volatile-random") as s:
        fill(s, [f"old {i}" for i in range(100)])
        early = summary(s, "COUNT", 10)["mark"]
        middle = summary(s)["mark"]
        evict(s, [f"gone {i}" for i in range(1400)])
        fill(s, [f"new {i}" for i in range(700)])
        assert len(summary(s)["changed"]) < 2200, "some were forgotten"
        pager = Pager(s, 10)
        pager.check()
        assert not pager.missed and pager.listings == 1, "what went away before the listing began is not missed"
        assert summary(s, "SINCE", middle)["missed"] and not summary(s)["missed"]
        told = summary(s, "SINCE", early)
        assert told["missed"] and told["changed"][0][1] == "old 10", "it goes on where it was"


def test_pages_while_everything_changes():
    """Keys are made, changed, deleted, migrated and evicted between the pages; old entries are forgotten meanwhile."""
    with servers(lambda: Server("--maxmemory-policy", "volatile-random"), lambda: Server(port=free_port())) as (s, other):
        names, forgotten, missed, checked = [f"key {i}" for i in range(120)], 0, 0, 0
        fill(s, names[:60])
        pagers = [Pager(s, 7), Pager(s, 40)]

        def migrate():
            gone = random.sample(names, 20)
            s("MIGRATE", "127.0.0.1", other.port, "", 0, 10000, "REPLACE", "KEYS", *gone)

        def change():
            for name in random.sample(names, 10):
                s("ROOST.ADD", name, "x") if s("EXISTS", name) else create(s, name)

        actions = [change, change, change, migrate, lambda: s("DEL", *random.sample(names, 5)),
                   lambda: evict(s, random.sample(names, 30)), lambda: evict(s, [f"once {random.random()}" for _ in range(700)])]
        for step in range(36):
            if step % 6:
                random.choice(actions)()
            else:
                entries = len(summary(s)["changed"])
                actions[-1]()
                forgotten += len(summary(s)["changed"]) < entries + 700
            for pager in pagers:
                for _ in range(random.randrange(6)):
                    pager.page()
                if random.random() < 0.2:
                    missed += pager.missed
                    pager.check()
                    checked += not pager.missed
        for pager in pagers:
            for _ in range(3):
                pager.check()
            assert not pager.missed
        print(f"# {forgotten} times entries were forgotten, {missed} times a pager missed something, {checked} checks")
        assert forgotten and missed and checked


def test_values_take_the_generation_of_their_name():
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)

        def delete_times(key, times):
            for _ in range(times):
                create(s, key), s("DEL", key)

        delete_times("two", 2), delete_times("five", 5)
        create(s, "source"), s("ROOST.ADD", "source", "x")
        s("COPY", "source", "two")
        assert generation(s, "two") == (2, True) and generation(s, "source") == (0, True)
        s("RENAME", "source", "five")
        assert generation(s, "five") == (5, True) and generation(s, "source") == (1, False)
        s("RENAME", "five", "two")
        assert generation(s, "two") == (3, True) and generation(s, "five") == (6, False), "one filter over another"
        s("COPY", "two", "five"), s("COPY", "two", "five", "REPLACE")
        assert generation(s, "five") == (7, True)
        s("ROOST.MERGESTORE", "five", "two", "two")
        assert generation(s, "five") == (8, True)
        s("ROOST.MERGESTORE", "new", "two")
        assert generation(s, "new") == (0, True)
        transaction(s, ("SET", "new", 1), ("ROOST.MERGESTORE", "new", "two"))
        assert generation(s, "new") == (1, True), "overwritten twice in one transaction"
        s("MOVE", "five", 3)
        assert generation(s, "five") == (9, False) and state(s, "five", 3)[0] == 0
        s("SELECT", 3), s("MOVE", "five", 0), s("SELECT", 0)
        assert generation(s, "five") == (9, True) and state(s, "five", 3) == (1, None)
        dump = s("DUMP", "five")
        s("RESTORE", "other", 0, dump)
        assert generation(s, "other") == (0, True), "the generation of another name"
        s("DEL", "five"), s("RESTORE", "five", 0, dump)
        assert generation(s, "five") == (10, True), "a backup is created again"
        s("RESTORE", "five", 0, dump, "REPLACE")
        assert generation(s, "five") == (11, True)
        chunks, at = [], 0
        while True:
            at, chunk = s("ROOST.DUMP", "two", at)
            if not chunk:
                break
            chunks.append((at, chunk))
        for key in ("other chunks", "source"):
            for at, chunk in chunks:
                s("ROOST.RESTORE", key, at, chunk)
        assert generation(s, "other chunks") == (0, True) and generation(s, "source") == (1, True)
        caught_up(replica, s)
        kept = everything(s)
        assert everything(replica) == kept
        keeps_everything(s, kept)
        s("FLUSHALL"), s("RESTORE", "five", 0, dump)
        assert generation(s, "five") == (9, True), "the same name keeps its own, as a slot that moves does"


def test_pushes_of_other_generations():
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how, Server) as (s, replica, other):
        replicate(replica, s)
        create(other, "key"), other("ROOST.ADD", "key", "old"), create(s, "key"), s("ROOST.ADD", "key", "old")
        assert carry(other, s, "key")[0] in (b"merged", b"same")
        old = other("ROOST.PULL", "key", "0")[3]
        other("DEL", "key")
        assert carry(other, s, "key")[0] == b"merged" and generation(s, "key") == (1, False)
        assert carry(other, s, "key")[0] == b"same"
        assert s("ROOST.PUSH", "key", 0, old)[:2] == [b"stale", 1] and generation(s, "key") == (1, False), "no way back"
        create(other, "key"), other("ROOST.ADD", "key", "new"), s("BF.ADD", "key", "meanwhile")
        assert "configuration" in s.error("ROOST.PUSH", "key", 1, other("ROOST.PULL", "key", "0")[3])
        other("DEL", "key"), create(other, "key"), other("ROOST.ADD", "key", "newer")
        outcome, cursor, _ = carry(other, s, "key")
        assert outcome == b"merged" and generation(s, "key") == (2, True) and s("ROOST.EXISTS", "key", "newer", "old", "meanwhile") == [1, 0, 0]
        assert s.digest("key") == other.digest("key")
        other("ROOST.ADD", "key", "newest")
        delta = other("ROOST.PULL", "key", cursor)[3]
        assert s("ROOST.PUSH", "key", 3, delta)[:2] == [b"whole", 2] and s("ROOST.PUSH", "key", 1, delta)[:2] == [b"stale", 2]
        assert s("ROOST.PUSH", "key", 2, delta)[:2] == [b"merged", 2] and s.digest("key") == other.digest("key")
        for kind in KINDS:
            create(other, kind, kind), other("DEL", kind), create(other, kind, kind), other("ROOST.ADD", kind, "x")
            assert carry(other, s, kind)[0] == b"merged" and generation(s, kind) == (1, True)
        assert s("ROOST.PUSH", "far", LAST, b"")[:2] == [b"merged", LAST]
        create(s, "far"), s("DEL", "far"), create(s, "far")
        assert generation(s, "far") == (LAST, True)
        for generation_ in (LAST + 1, 2 ** 63 - 1, 2 ** 63, -1):
            s.error("ROOST.PUSH", "far", generation_, b"")
        create(s, "full"), s("CONFIG", "SET", "maxmemory", 1)
        assert "maxmemory" in s.error("ROOST.PUSH", "full", 0, old) and s("ROOST.PUSH", "full", 1, b"")[0] == b"merged"
        assert "maxmemory" in s.error("ROOST.PUSH", "never heard of", 1, b""), "names that were never there take memory as well"
        s("CONFIG", "SET", "maxmemory", 0)
        caught_up(replica, s)
        kept = everything(s)
        assert everything(replica) == kept
        keeps_everything(s, kept)
        for key in ("key", "tombstones"):
            assert "primary" in s.error("ROOST.GENERATION", key, 3, TOMBSTONES)


class Model:
    """What each key holds at each server: a generation, and a set or nothing. A higher generation wins; equal ones merge."""

    def __init__(self, places):
        self.held = {place: {} for place in places}

    def at(self, place, name):
        return self.held[place].get(name, (0, None))

    def add(self, place, name, item):
        was, items = self.at(place, name)
        self.held[place][name] = (was, (items or frozenset()) | {item})

    def delete(self, place, name):
        was, items = self.at(place, name)
        self.held[place][name] = (was + (items is not None), None)

    def carry(self, source, place, name):
        (theirs, brought), (ours, items) = self.at(source, name), self.at(place, name)
        both = brought if items is None else items if brought is None else items | brought
        self.held[place][name] = (ours, items) if ours > theirs else (theirs, brought) if theirs > ours else (ours, both)


def agrees(model, s, names_):
    for name in names_:
        was, items = model.at(s, name)
        assert generation(s, name) == (was, items is not None), (name, was, items)
        found = [item for item, there in zip(range(60), s("ROOST.EXISTS", name, *range(60))) if there]
        assert set(found) >= (items or set()) and len(found) <= len(items or ()) + 3, (name, found, items)


def test_three_deployments_beside_a_model():
    """Additions and deletions everywhere, states carried in any order, some of it lost: each place is as the model says, and in the end all agree."""
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always")
    with servers(how, how, how) as places:
        model, names_, deleted = Model(places), {f"{kind} {i}": kind for kind in KINDS for i in range(2)}, 0
        for step in range(600):
            s, name, chance = random.choice(places), random.choice(list(names_)), random.random()
            if chance < 0.45:
                if model.at(s, name)[1] is None:
                    create(s, name, names_[name])
                item = random.randrange(60)
                s("ROOST.ADD", name, item), model.add(s, name, item)
            elif chance < 0.6:
                if model.at(s, name)[1] is not None:
                    delete_key(s, name, model.at(s, name)[0])
                    deleted += 1
                model.delete(s, name)
            elif chance < 0.99:
                source = random.choice([place for place in places if place is not s])
                carry(source, s, name), model.carry(source, s, name)
            else:
                s.restart()
            if step % 20 == 0:
                agrees(model, s, names_)
        for source in places * 2:
            for s in places:
                for name in names_ if s is not source else ():
                    carry(source, s, name), model.carry(source, s, name)
        for s in places:
            agrees(model, s, names_)
        assert deleted > 30
        states = [{entry for entry in everything(s)[1] if entry[1] in names_} for s in places]
        assert states[0] == states[1] == states[2] and len(states[0]) == len(names_)


def test_tombstones_of_databases_that_changed_places():
    """Deletions right after SWAPDB, before any other command: each counts in its own database, also on replicas."""
    how = lambda: Server(port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)
        create(s, "before"), s("DEL", "before"), create(s, "pushed"), create(s, "deleted")
        s("SWAPDB", 0, 1), s("SELECT", 1), s("ROOST.PUSH", "pushed", 1, b""), s("DEL", "deleted"), s("SELECT", 0)
        told = lambda server: sorted(entry[:3] for entry in summary(server)["changed"])
        caught_up(replica, s)
        assert told(s) == told(replica) == [(1, "before", 1), (1, "deleted", 1), (1, "pushed", 1)], (told(s), told(replica))


def test_tombstones_are_keys():
    with servers(lambda: Server(port=free_port()), Server) as (s, other):
        create(s, "key"), s("DEL", "key")
        assert s.client.type(TOMBSTONES) == b"roostdata" and s("MEMORY", "USAGE", TOMBSTONES) > 0
        for command in (("BF.ADD", TOMBSTONES, "x"), ("ROOST.ADD", TOMBSTONES, "x"), ("ROOST.DIGEST", TOMBSTONES), ("ROOST.PUSH", TOMBSTONES, 0, b""),
                        ("ROOST.DUMP", TOMBSTONES, 0), ("ROOST.PULL", TOMBSTONES, 0), ("ROOST.MERGESTORE", "x", TOMBSTONES)):
            assert "WRONGTYPE" in s.error(*command), command
        before = s("DEBUG", "DIGEST-VALUE", TOMBSTONES)
        spare = f"{TOMBSTONES}:{{7}}:00000001"
        s("COPY", TOMBSTONES, spare)
        assert s("DEBUG", "DIGEST-VALUE", spare) == before and generation(s, "key") == (1, False)
        create(s, "key"), s("DEL", "key")
        assert s("DEBUG", "DIGEST-VALUE", TOMBSTONES) != before and generation(s, "key") == (2, False)
        elsewhere = f"{TOMBSTONES}:{{7}}:00000002"
        s("RENAME", TOMBSTONES, "no place"), s("RENAME", "no place", elsewhere)
        assert generation(s, "key") == (2, False)
        s("SWAPDB", 0, 4)
        assert generation(s, "key") == (0, False) and state(s, "key", 4) == (2, None)
        create(s, "other"), s("SWAPDB", 4, 0), s("SELECT", 4), create(s, "before"), s("DEL", "before"), s("SELECT", 0), create(s, "kept")
        assert (s.client.info("roost")["roost_keys"], s.client.info("roost")["roost_tombstones"]) == (2, 3), "two keys tell of one name"
        s("SELECT", 4), s("FLUSHDB"), s("SELECT", 0)
        assert generation(s, "key") == (2, False) and generation(s, "kept") == (0, True) and state(s, "before", 4) == (0, None)
        assert (s.client.info("roost")["roost_keys"], s.client.info("roost")["roost_tombstones"]) == (1, 2)
        s("DEL", elsewhere)
        assert generation(s, "key") == (1, False), "what others tell"
        s("DEL", spare)
        assert generation(s, "key") == (0, False) and s.client.info("roost")["roost_tombstones"] == 0, "forgotten with the keys"
        s("SET", TOMBSTONES, "mine"), create(s, "key"), s("DEL", "key")
        assert generation(s, "key") == (0, False) and s.client.get(TOMBSTONES) == b"mine", "what is not ours is left alone"
        s("DEL", TOMBSTONES), create(s, "key"), s("DEL", "key"), create(s, "other"), s("DEL", "other")
        payload = s("DUMP", TOMBSTONES)
        other("RESTORE", TOMBSTONES, 0, payload)
        assert generation(other, "key") == (1, False) == generation(other, "other")
        other("DEL", TOMBSTONES), create(other, "key"), other("RESTORE", TOMBSTONES, 0, payload), other("DEL", "key")
        assert generation(other, "key") == (1, False), "a deletion that tombstones know of is not another one"
        create(other, "live"), other("RESTORE", spare, 0, payload), other("FLUSHALL")
        refused = 0
        other("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)  # of the server, which would refuse all of them
        for _ in range(300):
            bad = bytearray(payload)
            bad[random.randrange(12, len(bad) - 10)] ^= 1 << random.randrange(8)
            try:
                other("RESTORE", spare, 0, bytes(bad), "REPLACE")
            except redis.RedisError:
                refused += 1
        assert refused > 100 and other.client.ping()
        other("FLUSHALL")
        assert everything(other)[1] == set()


# ---- clusters


def two_nodes():
    from cluster import cluster_port
    node = lambda: Server("--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no",
                          "--appendonly", "yes", "--appendfsync", "always", port=cluster_port())
    return servers(node, node)


def meet(a, b, last=8191):
    """Slots up to the last one are a's."""
    a("CLUSTER", "ADDSLOTSRANGE", 0, last), b("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
    a("CLUSTER", "SET-CONFIG-EPOCH", 1), b("CLUSTER", "SET-CONFIG-EPOCH", 2)
    a("CLUSTER", "MEET", "127.0.0.1", b.port)
    for s in (a, b):
        wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO") and b"cluster_known_nodes:2" in s("CLUSTER", "INFO"), "the cluster")
        linked(s)


def of_slot(s, slot):
    return [key.decode() for key in s("CLUSTER", "GETKEYSINSLOT", slot, 1000)]


def migrate(a, b, keys):
    a("MIGRATE", "127.0.0.1", b.port, "", 0, 5000, "KEYS", *keys)


def told_of_deletions(s):
    """In the AOF, which replicas get, too."""
    folder, count = os.path.join(s.folder, "appendonlydir"), 0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            count += file.read().count(b"ROOST.GENERATION")
    return count


def live(s):
    return sorted(entry[1] for entry in summary(s)["changed"] if entry[3])


def test_a_slot_that_moves():
    """Key by key, with clients at both ends meanwhile; what was deleted stays so, what was moved is not deleted."""
    with two_nodes() as (a, b):
        meet(a, b)
        slot = a("CLUSTER", "KEYSLOT", "{bird}")
        if slot > 8191:
            a, b = b, a
        identity = {s: s("CLUSTER", "MYID") for s in (a, b)}
        keys = [f"{{bird}}{i}" for i in range(8)]
        for key in keys:
            create(a, key), a("ROOST.ADD", key, "x")
        a("DEL", keys[0]), a("DEL", keys[1]), create(a, keys[1])
        assert [generation(a, key) for key in keys[:3]] == [(1, False), (1, True), (0, True)]
        tombstones = [key for key in of_slot(a, slot) if key.startswith(TOMBSTONES)]
        assert len(tombstones) == 1 and a("CLUSTER", "KEYSLOT", tombstones[0]) == slot
        b("CLUSTER", "SETSLOT", slot, "IMPORTING", identity[a]), a("CLUSTER", "SETSLOT", slot, "MIGRATING", identity[b])
        migrate(a, b, [tombstones[0], keys[1], keys[2], keys[3]])
        asking = Speaker(b, 2)
        assert asking("ASKING") == "OK" and asking("DEL", keys[2]) == 1
        asking.close()
        assert a("DEL", keys[4]) == 1, "where it was"
        tombstones += [key for key in of_slot(a, slot) if key.startswith(TOMBSTONES)]
        assert len(tombstones) == 2, "the tombstone has gone ahead, and there is another one"
        asking = Speaker(b, 2)
        for key in keys[4], keys[2]:  # made again ahead of the tombstone that knows of it, and behind it
            assert asking("ASKING") == "OK" and asking("ROOST.CREATE", key, "CAPACITY", 100) == "OK"
        asking.close()
        migrate(a, b, of_slot(a, slot))
        for s in (b, a):
            s("CLUSTER", "SETSLOT", slot, "NODE", identity[b])
        expected = [(1, False), (1, True), (1, True), (0, True), (1, True), (0, True), (0, True), (0, True)]
        states = {entry[1]: (entry[2], entry[3] is not None) for entry in summary(b)["changed"]}
        assert [states.get(key, (0, False)) for key in keys] == expected
        assert live(a) == [] and of_slot(a, slot) == [] and live(b) == [key for key, (_, there) in zip(keys, expected) if there]
        b("DEL", keys[1]), create(b, keys[1])
        assert state(b, keys[1])[0] == 2
        create(b, keys[0])
        assert info(b, keys[0])[b"generation"] == 1


def test_a_slot_that_is_lost():
    """The server deletes its keys by itself: they live on elsewhere. Who has the slot is asked once, not for each key."""
    with two_nodes() as (a, b):
        meet(a, b)
        slot = a("CLUSTER", "KEYSLOT", "{bird}")
        if slot > 8191:
            a, b = b, a
        for i in range(50):
            create(a, f"{{bird}}{i}")
        a("DEL", "{bird}7"), a("CONFIG", "RESETSTAT")
        b("CLUSTER", "SETSLOT", slot, "NODE", b("CLUSTER", "MYID")), b("CLUSTER", "BUMPEPOCH")
        wait_for(lambda: of_slot(a, slot) == [], "the loss")
        assert a.client.info("commandstats").get("cmdstat_cluster|nodes", {"calls": 0})["calls"] < 10
        assert everything(a)[1] == set() and a.client.info("roost")["roost_tombstones"] == 0
        assert told_of_deletions(a) == 1, "the one that a client asked for"


# ---- links


def tell(s, *words):
    """A message of a link to a region; the reply as a dictionary."""
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    told = s("ROOST.LINK", answer[answer.index(b"link") + 1], *words)
    known = dict(zip(("number", "time", "keys", "dropped", "retention", "trusted"), told))
    return {**known, "had": dict(zip(told[6][::2], told[6][1::2]))}


def tombstones(s):
    return s.client.info("roost")["roost_tombstones"]


def test_no_tombstones_without_links():
    """What was deleted before a link came was carried nowhere; from its first message on deletions leave tombstones, whatever happens to the server."""
    how = lambda: real.Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)
        s("BF.ADD", "tmp", "a"), s("DEL", "tmp")
        assert s("DBSIZE") == 0 and generation(s, "tmp") == (0, False)
        for what, delete_it in list(DELETIONS.items())[:-1]:
            create(s, what), delete_it(s, what)
            assert generation(s, what) == (0, False) and tombstones(s) == 0, what
        create(s, "a"), create(s, "b"), s("COPY", "a", "b", "REPLACE"), s("ROOST.MERGESTORE", "b", "a"), s("RENAME", "a", "b")
        assert generation(s, "b") == (0, True)
        caught_up(replica, s)
        assert everything(replica) == everything(s) and not s.client.keys("roost:*")
        assert summary(s)["keys"] == 1 and not s.client.info("roost")["roost_linked"], "a summary alone is no link"
        tell(s, "HELLO", 5)
        assert tell(s, "HELLO", 0)["number"] == 5 and s.client.info("roost")["roost_linked"] == 1
        remembered = 0

        def remembers(place):
            nonlocal remembered
            remembered += 1
            create(place, f"k{remembered}"), place("DEL", f"k{remembered}")
            assert generation(place, f"k{remembered}") == (1, False) and tell(place, "HELLO", 0)["number"] == 5

        remembers(s)
        s.restart(), remembers(s)
        for preamble in "yes", "no":
            s("CONFIG", "SET", "aof-use-rdb-preamble", preamble), s("BGREWRITEAOF")
            wait_for(lambda: not s.client.info("persistence")["aof_rewrite_in_progress"] and
                     not s.client.info("persistence")["aof_rewrite_scheduled"], "the rewriting")
            s("DEL", TOMBSTONES), s.restart(), remembers(s)
        s("DEBUG", "RELOAD"), remembers(s)
        caught_up(replica, s)
        replica("REPLICAOF", "NO", "ONE"), remembers(replica)
        s("FLUSHALL")
        assert tell(s, "HELLO", 0)["number"] == 0, "what was agreed on went with the data"


def move(a, b, slot, state="NODE"):
    """The slot is on its way from a to b (MIGRATING), or b has it (NODE), which a refuses while it holds keys of it."""
    identity = {s: s("CLUSTER", "MYID") for s in (a, b)}
    if state == "MIGRATING":
        b("CLUSTER", "SETSLOT", slot, "IMPORTING", identity[a]), a("CLUSTER", "SETSLOT", slot, "MIGRATING", identity[b])
        return
    for s in (b, a):
        s("CLUSTER", "SETSLOT", slot, "NODE", identity[b])


def link_key(s):
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    return answer[answer.index(b"link") + 1].decode()


def records(s):
    return [key.decode() for key in s.client.keys("roost:links*")]


def test_a_slot_that_moves_takes_the_link_along():
    with two_nodes() as (a, b):
        meet(a, b)
        for s in (a, b):
            assert tell(s, "AGREED", 1, 7, 100)["had"] == {7: 100}
        key = link_key(a)
        slot = a("CLUSTER", "KEYSLOT", key)
        move(a, b, slot, "MIGRATING"), migrate(a, b, [key]), move(a, b, slot)
        assert tell(b, "HELLO", 0)["number"] == 1
        assert tell(b, "AGREED", 1, 7, 230)["had"] == {7: 230}
        name = next(f"{{{i}}}" for i in range(100) if a("CLUSTER", "KEYSLOT", i) < 8192 and a("CLUSTER", "KEYSLOT", i) != slot)
        create(a, name), a("DEL", name)
        assert generation(a, name) == (1, False), "the node still knows"
        wait_for(lambda: records(a) not in ([], [key]), "a key of its own again, without a word of a link")
        a.restart(), b.restart()
        for s in (a, b):
            wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")
        assert tell(a, "HELLO", 0)["number"] == 1
        b("DEBUG", "RELOAD")
        assert tell(b, "HELLO", 0)["had"] == {7: 230}, "there is no older record that says less"
        assert len(records(a)) == len(records(b)) == 1


def test_the_record_of_links_stays_out_of_slots_that_leave():
    """A key that the node creates there by itself would be lost, or keep an administrator from moving the slot."""
    with two_nodes() as (a, b):
        meet(a, b, last=1)
        key, = records(a)
        first = a("CLUSTER", "KEYSLOT", key)
        other = 1 - first
        move(a, b, first, "MIGRATING"), migrate(a, b, [key])
        again, = wait_for(lambda: records(a), "the record, stored again")
        assert of_slot(a, first) == [] and of_slot(a, other) == [again], "in the slot that stays"
        move(a, b, first)
        move(a, b, other, "MIGRATING"), migrate(a, b, [again])
        time.sleep(1.5)  # longer than it takes to store it again
        assert records(a) == [], "no slot of this node stays"
        a("CLUSTER", "SETSLOT", other, "STABLE")
        again, = wait_for(lambda: records(a), "the record, now that a slot stays")
        assert of_slot(a, other) == [again]


def at_once(s, *commands):
    """The answers to commands of several clients, which the server reads in turn before it does anything else."""
    clients = [Speaker(s, 2) for _ in commands]
    os.kill(s.process.pid, signal.SIGSTOP)
    for client, words in zip(clients, commands):
        client.socket.sendall(command(*words))
    os.kill(s.process.pid, signal.SIGCONT)
    answers = [client.read() for client in clients]
    for client in clients:
        client.close()
    return answers


def test_a_merge_that_outlasts_its_slot():
    """An incremental merge creates no key in a slot that has left meanwhile: nobody would find there what was acknowledged."""
    with two_nodes() as (a, b):
        meet(a, b)
        at_a = [f"{{{i}}}" for i in range(100) if a("CLUSTER", "KEYSLOT", i) < 8192]
        at_b = next(f"{{{i}}}" for i in range(100) if a("CLUSTER", "KEYSLOT", i) > 8191)
        create(b, at_b, "cuckoo"), b("ROOST.ADD", at_b, *range(4500))
        frame = b("ROOST.DELTA", at_b, 0)[1]
        assert 4096 < len(frame) < 12000, "merged incrementally, and read at once"
        identity = {s: s("CLUSTER", "MYID") for s in (a, b)}
        for key, state in zip(at_a, ("MIGRATING", "NODE")):
            slot = a("CLUSTER", "KEYSLOT", key)
            b("CLUSTER", "SETSLOT", slot, "IMPORTING", identity[a])
            answer, moved = at_once(a, ("ROOST.MERGE", key, frame), ("CLUSTER", "SETSLOT", slot, state, identity[b]))
            assert moved == "OK" and isinstance(answer, Exception) and str(answer).startswith("STALE the slot"), answer
            assert of_slot(a, slot) == []
            asking = Speaker(b, 2)
            assert asking("ASKING") == "OK" and asking("ROOST.MERGE", key, frame) == 1, "where the key belongs"
            assert asking("ASKING") == "OK" and all(asking("ROOST.EXISTS", key, *range(4500)))
            asking.close()
        assert at_once(a, ("ROOST.MERGE", at_a[2], frame), ("PING",)) == [1, "PONG"], "a slot that stays"
        assert all(a("ROOST.EXISTS", at_a[2], *range(4500)))


def delete(s, *keys):
    for key in keys:
        create(s, key), s("DEL", key)


def age(s):
    """The clock of whole seconds goes on."""
    now = tell(s, "HELLO", 0)["time"]
    wait_for(lambda: tell(s, "HELLO", 0)["time"] > now + 1, "the time")


def test_silence_counts_while_links_speak():
    """Time without any link makes no region late: another link may be about to name it."""
    with server(port=free_port()) as s:
        s("CONFIG", "SET", "roost.tombstone-retention", 2)
        tell(s, "HOLD", 7, 8)
        delete(s, "gone"), age(s), age(s), age(s)
        tell(s, "AGREED", tell(s, "HELLO", 0)["time"], 7, 50), age(s)
        assert tombstones(s) == 1 and tell(s, "HELLO", 0)["dropped"] == 0, "region 8 has not had it"
        for _ in range(3):  # a message counts for a second at most, with this retention
            tell(s, "AGREED", tell(s, "HELLO", 0)["time"], 7, 50), age(s)
        tell(s, "HELLO", 0)
        wait_for(lambda: tombstones(s) == 0, "the dropping: links have long named one region alone")
        assert tell(s, "HELLO", 0)["dropped"] > 0


def test_an_emptied_region_joins_before_it_is_seeded():
    """Of several links one says JOIN; another one must not push first, and what clients make meanwhile is no obstacle."""
    with server(port=free_port()) as s:
        create(s, "k")
        tell(s, "HELLO", 5), tell(s, "AGREED", 1, 7, 50)
        assert s("ROOST.LINK", "roost:links", "JOIN", 7, 70)[6] == [7, 50], "it has keys, and does not join"
        s("FLUSHALL")
        assert s.error("ROOST.PUSH", "k", 0, b"").startswith("TRYAGAIN")
        tell(s, "HELLO", 5)
        assert s.error("ROOST.PUSH", "k", 0, b"").startswith("TRYAGAIN"), "not yet"
        create(s, "of a client")
        assert tell(s, "HELLO", 0)["keys"] == 0, "none that is old"
        s("SET", "roost:links", "something else")
        assert "WRONGTYPE" in s.error("ROOST.LINK", "roost:links", "JOIN", 7, 70)
        assert s.error("ROOST.PUSH", "k", 0, b"").startswith("TRYAGAIN"), "what was refused changed nothing"
        s("DEL", "roost:links")
        for hello in False, True:  # the record is there without a message of a link, and with one
            wait_for(lambda: s.client.keys("roost:links"), "the record")
            if hello:
                tell(s, "HELLO", 5)
            s("SAVE"), s.restart()
            assert s.error("ROOST.PUSH", "k", 0, b"").startswith("TRYAGAIN"), "kept over a restart"
            assert tell(s, "HELLO", 0)["keys"] == 0 and s.client.info("roost")["roost_linked"] == 1
        assert tell(s, "JOIN", 7, 70)["had"] == {7: 70}
        assert tell(s, "HELLO", 0)["keys"] == 1
        s("ROOST.PUSH", "k", 1, b"")
        assert generation(s, "k") == (1, False)
        s("SAVE"), s.restart()
        assert tell(s, "HELLO", 0)["keys"] == 1 and tell(s, "HELLO", 0)["had"] == {7: 70}


def test_a_replica_of_an_emptied_primary():
    """Promoted before a link has joined it, it is as empty as the primary was."""
    how = lambda: Server(port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)
        tell(s, "HELLO", 5), s("FLUSHALL"), tell(s, "HELLO", 5), create(s, "of a client")
        caught_up(replica, s)
        replica("REPLICAOF", "NO", "ONE")
        assert replica.error("ROOST.PUSH", "k", 0, b"").startswith("TRYAGAIN")
        assert tell(replica, "HELLO", 5)["keys"] == 0


def test_a_clock_that_is_set_ages_no_tombstone():
    """Ahead while the server runs, and while it does not; and back, behind what regions agreed on."""
    with server("--appendonly", "yes", "--appendfsync", "always", "--roost.tombstone-retention", "40", port=free_port(), clock=1) as s:
        first = tell(s, "HELLO", 0)["time"]
        delete(s, "gone")
        tell(s, "AGREED", first, 7, 50), age(s), tell(s, "AGREED", first + 1, 7, 51)
        s.set_clock(5000)
        wait_for(lambda: int(s("TIME")[0]) > first + 3000, "the clock")
        assert tell(s, "HELLO", 0)["time"] < first + 1000 and tombstones(s) == 1
        before = tell(s, "HELLO", 0)["time"]
        s.restart(), age(s)
        assert before <= tell(s, "HELLO", 0)["time"] < first + 1000 and tombstones(s) == 1, "a restart ages it by a quarter of the retention at most"
        agreed = tell(s, "HELLO", 0)["time"]
        tell(s, "AGREED", agreed, 7, 52)
        s.set_clock(-5000)
        s.restart()
        assert tell(s, "HELLO", 0)["time"] >= agreed
        delete(s, "later")
        s("CONFIG", "SET", "roost.tombstone-retention", 1)
        tell(s, "HOLD", 7), age(s), tell(s, "HOLD", 7), age(s)
        assert generation(s, "later") == (1, False), "region 7 has not had it"


def test_tombstones_are_dropped():
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)
        for each in (s, replica):
            each("CONFIG", "SET", "roost.tombstone-retention", 1)
        delete(s, *(f"old {i}" for i in range(300))), s("SELECT", 3), delete(s, "elsewhere"), s("SELECT", 0)
        create(s, "old 7"), s("ROOST.ADD", "old 7", "x")
        age(s)
        assert tombstones(s) == 301 and tell(s, "HELLO", 0)["dropped"] == 0, "nobody has them yet"
        tell(s, "AGREED", tell(s, "HELLO", 0)["time"] - 100, 7, 50), age(s)
        assert tombstones(s) == 301, "not those from after the time that was agreed on"
        tell(s, "HOLD", 9)
        tell(s, "AGREED", tell(s, "HELLO", 0)["time"], 7, 60)
        assert tell(s, "HELLO", 0)["had"] == {7: 60, 9: 0}
        s("CONFIG", "SET", "roost.tombstone-retention", 0)
        tell(s, "AGREED", tell(s, "HELLO", 0)["time"], 7, 70, 9, 1), age(s)
        assert tombstones(s) == 301, "0 keeps them for ever"
        s("CONFIG", "SET", "roost.tombstone-retention", 1)
        before = tell(s, "HELLO", 0)["time"]
        tell(s, "AGREED", before, 7, 70, 9, 1)
        wait_for(lambda: tombstones(s) == 0, "the dropping")
        assert 0 < tell(s, "HELLO", 0)["dropped"] <= before
        assert generation(s, "old 7") == (1, True) and generation(s, "old 8") == (0, False) and state(s, "elsewhere", 3) == (0, None)
        s("SELECT", 3)
        assert not s.client.keys("roost:links*"), "the record of regions is in database 0 alone"
        s("SELECT", 0)
        create(s, "old 8")
        assert generation(s, "old 8") == (0, True), "as if never heard of"
        s("DEL", "old 7")
        assert generation(s, "old 7") == (2, False), "a filter knows its own generation"
        caught_up(replica, s)
        assert everything(replica) == everything(s) and tombstones(replica) == 1
        kept, dropped = everything(s), tell(s, "HELLO", 0)["dropped"]
        keeps_everything(s, kept)
        assert tell(s, "HELLO", 0)["dropped"] == dropped, "kept with the data"
        assert "time" in s.error("ROOST.LINK", "roost:links", "AGREED", 2 ** 40, 7, 70)
        before, after = tell(s, "HELLO", 0), tell(s, "JOIN", 7, 2 ** 40)
        assert after["keys"] == before["keys"] > 0 and after["had"] == before["had"], "who has keys does not join, and says so"
        s.error("ROOST.LINK", "birds", "HELLO", 0), s.error("ROOST.LINK", "roost:links", "STATE", b"x"), s.error("ROOST.LINK", "roost:links", "ELSE")


def test_nothing_is_dropped_without_a_record():
    """Other regions have to learn what was dropped, so that one that missed it is not merged."""
    with server(port=free_port()) as s:
        s("CONFIG", "SET", "roost.tombstone-retention", 1)
        delete(s, "gone"), age(s)
        s("SET", "roost:links", "something else")
        before = tombstones(s)
        assert "WRONGTYPE" in s.error("ROOST.LINK", "roost:links", "AGREED", 1, 7, 50)
        s("DEL", "roost:links")
        agreed = tell(s, "HELLO", 0)["time"]
        with s.client.pipeline(transaction=True) as transaction:  # without a sweep between the two
            transaction.execute_command("ROOST.LINK", "roost:links", "AGREED", agreed, 7, 50)
            transaction.execute_command("SET", "roost:links", "something else")
            transaction.execute()
        age_by(s, 3)
        assert before == tombstones(s) == 1
        s("DEL", "roost:links")
        tell(s, "AGREED", clock_of(s), 7, 50)
        wait_for(lambda: tombstones(s) == 0, "the dropping")
        assert tell(s, "HELLO", 0)["dropped"] > 0


def clock_of(s):
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    return answer[answer.index(b"time") + 1]


def age_by(s, seconds):
    """Without a message of a link."""
    then = clock_of(s) + seconds
    wait_for(lambda: clock_of(s) >= then, "the time")


def test_words_of_a_link_that_are_refused_change_nothing():
    with server() as s:
        tell(s, "HELLO", 7), tell(s, "AGREED", 5, 8, 50)
        before = {**tell(s, "HELLO", 0), "time": 0}
        for words in ("TRUST", 1), ("AGREED", 5, 9), ("AGREED", 5, 8, 60, 9), ("JOIN", 9), ("JOIN", 8, 60, 9), ("HOLD", 9, "x"), ("HELLO", 3, 4):
            s.error("ROOST.LINK", "roost:links", *words)
            assert {**tell(s, "HELLO", 0), "time": 0} == before, words
        s("SET", "roost:links", "something else")
        for words in ("HELLO", 3), ("TRUST",), ("HOLD", 9), ("AGREED", 5, 8, 70):
            assert "WRONGTYPE" in s.error("ROOST.LINK", "roost:links", *words)
        s("DEL", "roost:links")
        assert {**tell(s, "HELLO", 0), "time": 0} == before


def test_many_tombstones_take_little_memory():
    """Few are in the list of summaries; a pull returns every one of them."""
    with server("--appendonly", "yes", "--appendfsync", "no") as s:
        count, name = 20000, lambda i: f"user:{i:08d}:session"
        delete(s, "first")
        before, pipe = s.client.info("memory")["used_memory"], s.client.pipeline(transaction=False)
        for i in range(count):
            pipe.execute_command("ROOST.PUSH", name(i), 1 + i % 3, b"")
        pipe.execute()
        each = (s.client.info("memory")["used_memory"] - before) / count - len(name(0))
        used = s("MEMORY", "USAGE", TOMBSTONES, "SAMPLES", 0)
        told = s.client.info("roost")["roost_bytes_tombstones"]
        print(f"# {each:.1f} bytes beside the name in the server, {used / count - len(name(0)):.1f} by MEMORY USAGE")
        assert each < 64 and told <= used < told + 200 and told > count * len(name(0)) and tombstones(s) == count + 1
        assert len(summary(s)["changed"]) < 4000
        for again in (False, True):
            for i in (0, 1, 2, 7777, count - 1):
                assert s("ROOST.PULL", name(i), "0")[0] == 1 + i % 3
            s.restart() if not again else None
        digest = summary(s)["digest"]
        create(s, name(5)), s("ROOST.ADD", name(5), "x")
        assert generation(s, name(5)) == (3, True) and s("ROOST.PUSH", name(7), 1, b"")[:2] == [b"stale", 2]
        s("DEL", name(5))
        assert generation(s, name(5)) == (4, False) and summary(s)["digest"] == digest, "the digest is over what is there"
        s("DEL", TOMBSTONES)
        assert s("ROOST.PULL", name(7), "0")[0] == 0 and tombstones(s) == 0


def test_a_key_that_is_made_again_after_its_tombstone_was_dropped():
    """Another region still has the tombstone. A region that had it, too, and dropped it, keeps what was created since; a region that never had it does not."""
    how = lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with servers(how, how) as (s, replica):
        replicate(replica, s)
        tell(s, "AGREED", tell(s, "HELLO", 0)["time"], 7, 100)
        for key in "abcd":
            create(s, key), s("ROOST.ADD", key, "new")
        frame = s("ROOST.PULL", "a", "0")[3]
        assert s("ROOST.PUSH", "a", 3, b"", "REGION", 7, 99)[:2] == [b"same", 3] and generation(s, "a") == (3, True)
        assert s("ROOST.PUSH", "b", 3, frame, "REGION", 7, 99)[1] == 3 and generation(s, "b") == (3, True) and s("ROOST.EXISTS", "b", "new") == [1]
        assert s("ROOST.PUSH", "c", 3, b"", "REGION", 7, 100)[:2] == [b"merged", 3] and generation(s, "c") == (3, False), "written since"
        assert s("ROOST.PUSH", "d", 3, b"", "REGION", 8, 1)[:2] == [b"merged", 3] and generation(s, "d") == (3, False), "of a region that we never met"
        assert s("ROOST.PUSH", "e", 3, b"", "REGION", 7, 99)[:2] == [b"same", 3] and generation(s, "e") == (0, False), "what was dropped is not written again"
        for bad in (("REGION",), ("REGION", 7), ("REGION", 0, 1), ("REGION", 7, -1), ("ELSE", 7, 1)):
            s.error("ROOST.PUSH", "a", 3, b"", *bad)
        caught_up(replica, s)
        assert everything(replica) == everything(s)
        keeps_everything(s, everything(s))


# ---- sudden death


def delete_key(s, name, was):
    random.choice((lambda: s("DEL", name), lambda: s("UNLINK", name), lambda: s("RENAME", name, "away"), lambda: s("PEXPIREAT", name, 1),
                   lambda: transaction(s, ("DEL", name)), lambda: s("ROOST.PUSH", name, was + 1, b""),
                   lambda: transaction(s, ("SET", name, 1), ("DEL", name))))()


def test_deletions_survive_sudden_death():
    """A deletion that was acknowledged is never undone, whenever the server dies; checked against a model of all keys."""
    names_, deaths = [f"name {i}" for i in range(12)], int(os.environ.get("ROOST_DEATHS", "6"))
    with server("--appendonly", "yes", "--appendfsync", "always") as s:
        known = {name: (0, False) for name in names_}  # generation, whether it lives
        for _ in range(deaths):
            enough, killer = threading.Event(), threading.Thread(target=lambda: (enough.wait(), time.sleep(random.uniform(0, 0.003)), s.process.kill()))
            killer.start()
            asked, after, count, least = None, None, 0, random.randrange(30, 150)
            try:
                while True:
                    name = random.choice(names_)
                    was, lives = known[name]
                    asked, after = name, (was + 1, False) if lives and random.random() < 0.5 else (was, True)
                    delete_key(s, name, was) if not after[1] else s("BF.ADD", name, random.random())
                    known[name], asked, count = after, None, count + 1
                    if count == least:
                        enough.set()
            except (redis.RedisError, OSError):
                pass
            killer.join()
            s.process.wait()
            s.client.close()
            s.start()
            for name in names_:
                found = generation(s, name)
                assert found == known[name] or (name == asked and found == after), (name, found, known[name], asked)
                known[name] = found
        assert sum(was for was, _ in known.values()) > deaths, "too little was deleted"


if __name__ == "__main__":
    run(globals())
