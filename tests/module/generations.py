#!/usr/bin/python3
"""What deployments tell each other: summaries, pulls, pushes, syncs; and the generations of names, which outlive what they held."""
import random
import threading

import redis

from servers import Server, Speaker, caught_up, free_port, replicate, run, server, servers, wait_for

KINDS = {"bf": (), "cuckoo": ("KIND", "cuckoo", "CAPACITY", 5000), "set": ("KIND", "orcuckoo", "SCALABLE", "CAPACITY", 100),
         "fixed": ("CAPACITY", 5000)}


def create(s, key, kind="set"):
    s("ROOST.CREATE", key, *KINDS[kind]) if KINDS[kind] else s("BF.RESERVE", key, "0.01", 100)


def summary(s, *options):
    answer = s("ROOST.SUMMARY", *options)
    told = dict(zip([name.decode() for name in answer[::2]], answer[1::2]))
    told["changed"] = [(entry[0], entry[1].decode(), *entry[2:]) for entry in told["changed"]]
    return told


def names(told):
    return [entry[1] for entry in told["changed"]]


def state(s, key, database=0):
    """(generation, digest or None) as the summary tells it; a name that it does not tell is (0, None)."""
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
        both("SELECT", 0), both("ROOST.CREATE", "more", "CAPACITY", 10)
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
        for wrong in (("SINCE",), ("COUNT", 0), ("COUNT", "x"), ("WAIT", -1), ("WAIT", 10 ** 12), ("ELSE", 1)):
            s.error("ROOST.SUMMARY", *wrong)


class Peer:
    """Another connection."""

    def __init__(self, s):
        self.client = redis.Redis(unix_socket_path=s.path)

    def __call__(self, *arguments):
        return self.client.execute_command(*arguments)


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
    """What a go-between does: (outcome of the push, cursor of the pull, span of the push)."""
    generation, after, _, frame = source("ROOST.PULL", key, cursor, *spans)
    outcome, _, _, begin, end = destination("ROOST.PUSH", key, generation, frame if frame is not None else b"")
    return outcome, after, begin and span(begin, end)


def span(begin, end):
    (life, low), (same, high) = begin.split(b"-"), end.split(b"-")
    assert life == same
    return low + b"-" + high


def test_pull_and_push():
    with servers(Server, Server) as (a, b):
        for kind in KINDS:
            assert a("ROOST.PULL", kind, "0") == [0, None, None, None]
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
            other = b("ROOST.PULL", kind, b("ROOST.PULL", kind, "0")[1], pushed)
            assert other[3] is not None
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
    """A sync that `a` asks for and `b` answers; (equal, digest, cursor)."""
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
        assert a.error("ROOST.ASK", "set", 1).startswith("STALE") or "STALE" in a.error("ROOST.ASK", "set", 1)
        session, request = a("ROOST.ASK", "set", 0)
        assert "STALE" in b.error("ROOST.SYNC", "set", request, "GENERATION", 1)
        for bad in ("0", "x", "99999", -1):
            assert "no such session" in a.error("ROOST.ASK", "set", bad, b"x")
        assert "no such session" in a.error("ROOST.ASK", "bf", session, b"x"), "of another key"
        a.error("ROOST.ASK", "set", session, b"garbage")
        assert "no such session" in a.error("ROOST.ASK", "set", session, b"garbage"), "a session ends with its first error"
        begun = [a("ROOST.ASK", "set", 0)[0] for _ in range(8)]
        assert "no such session" in a.error("ROOST.ASK", "set", begun[0], b"x"), "few are kept for one key"
        for end in (("DEL", "set"), ("FLUSHALL",)):
            session, _ = a("ROOST.ASK", "set", 0)
            a(*end), create(a, "set", "set")
            assert "no such session" in a.error("ROOST.ASK", "set", session, b"x")
        for i in range(100):
            create(a, f"k{i}", "fixed"), a("ROOST.ASK", f"k{i}", 0)
        a("FLUSHALL", "ASYNC")


if __name__ == "__main__":
    run(globals())
