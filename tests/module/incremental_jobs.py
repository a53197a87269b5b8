#!/usr/bin/python3
"""Incremental jobs: the client waits, the server serves others, and anything may happen to the key meanwhile."""
import contextlib
import itertools
import os
import random
import struct
import threading

import redis

from servers import MODULE, ROOT, Server, Speaker, caught_up, replicate, run, same_digests, server, servers, wait_for

KINDS = {"bloom": ("KIND", "bloom"), "growing-bloom": ("KIND", "bloom", "SCALABLE"), "cuckoo": ("KIND", "cuckoo", "FPR", 1e-6),
         "growing-cuckoo": ("KIND", "cuckoo", "SCALABLE", "FPR", 1e-6), "set": ("KIND", "orcuckoo"), "growing-set": ("KIND", "orcuckoo", "SCALABLE"),
         "multiset": ("KIND", "orcuckoo", "MULTISET")}
SANITIZED = "sanitize" in MODULE
LONG = bool(os.environ.get("ROOST_LONG"))
COUNT = 40000 if LONG else 24000  # elements of a filter whose frame is not merged at once


def fill(s, key, items):
    items = list(items)
    for i in range(0, len(items), 5000):
        s("ROOST.ADD", key, *items[i:i + 5000])


def frame_of(s, key):
    return s("ROOST.DELTA", key, 0)[1]


def large_pair(s, kind, count=COUNT):
    """Two filters with common elements that have diverged; each has removed elements that the other holds."""
    s("ROOST.CREATE", "here", *KINDS[kind], "CAPACITY", 8 * count if "bloom" in kind else 2 * count)
    fill(s, "here", range(count // 2))
    s("COPY", "here", "there")
    fill(s, "there", range(count // 2, count))
    fill(s, "here", range(count, count + 1000))
    if "set" in kind:
        for i in range(0, 3000, 500):
            s("ROOST.REM", "there", *range(i, i + 500))
            s("ROOST.REM", "here", *range(i + 3000, i + 3500))
    s("COPY", "here", "at-once")


def merge_at_once(s, key, frame):
    """In a transaction no client can be blocked."""
    with s.client.pipeline(transaction=True) as transaction:
        transaction.execute_command("ROOST.MERGE", key, frame)
        return transaction.execute()[0]


class Waiting:
    """A client whose command has begun, and that waits for its reply."""

    def __init__(self, s, *command):
        self.server, self.speaker = s, Speaker(s, 2)
        client = self.speaker("CLIENT", "ID")
        before = self.last_command_of(client)
        parts = [str(a).encode() if not isinstance(a, bytes) else a for a in command]
        self.speaker.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        wait_for(lambda: self.last_command_of(client) != before, "the command")

    def last_command_of(self, client):
        return self.server("CLIENT", "LIST", "ID", client).split(b" cmd=")[1].split()[0]

    def answer(self):
        answer = self.speaker.read()
        self.speaker.close()
        return answer


def is_waiting(s):
    return s.client.info("clients")["blocked_clients"] > 0


@contextlib.contextmanager
def primary_and_replica():
    with servers(lambda: Server(port=free()), lambda: Server(port=free())) as (primary, replica):
        replicate(replica, primary)
        yield primary, replica


def free():
    from servers import free_port
    return free_port()


def test_a_merge_in_steps_is_a_merge():
    with primary_and_replica() as (s, replica):
        for kind in KINDS:
            large_pair(s, kind)
            frame = frame_of(s, "there")
            assert len(frame) > 65536
            blocked = s.client.info("commandstats").get("cmdstat_roost.merge", {"calls": 0})["calls"]
            assert s("ROOST.MERGE", "here", frame) == 1, kind
            assert merge_at_once(s, "at-once", frame) == 1
            assert s.digest("here") == s.digest("at-once"), kind
            assert s("ROOST.MERGE", "here", frame) == 0, kind
            assert s("ROOST.MERGE", "new", frame) == 1
            assert s.digest("new") == s.digest("there"), kind
            assert s("ROOST.MERGE", "new", frame) == 0
            assert s.client.info("commandstats")["cmdstat_roost.merge"]["calls"] == blocked + 5
            caught_up(replica, s)
            same_digests(s, replica, ["here", "at-once", "new", "there"])
            s("DEBUG", "RELOAD")
            same_digests(s, replica, ["here", "new"])
            s("FLUSHALL")
        assert int(s.client.info("roost")["roost_longest_slice_usec"]) > 0


def test_others_are_served_meanwhile():
    with primary_and_replica() as (s, replica):
        for kind in ("growing-bloom", "set", "growing-cuckoo"):
            large_pair(s, kind)
            merge = Waiting(s, "ROOST.MERGE", "here", frame_of(s, "there"))
            served = 0
            while served < 3 or is_waiting(s):
                assert s("ROOST.ADD", "here", f"between-{served}") == [1]
                served += 1
            assert merge.answer() == 1
            assert all(s("ROOST.EXISTS", "here", *[f"between-{i}" for i in range(served)]))
            assert all(s("ROOST.EXISTS", "here", *range(COUNT // 2, COUNT + 1000)))
            assert s("ROOST.MERGE", "here", frame_of(s, "there")) == 0, "nothing was left out"
            caught_up(replica, s)
            same_digests(s, replica, ["here", "there"])
            s("FLUSHALL")


def test_an_argument_that_the_server_trims():
    """The value of the SET leaves the client a query buffer eight times as large as the frame, and the frame stays in it. When the command ends
    the server gives the rest back, which moves the frame, under sanitizers always; the thread that decodes it must not have the old place."""
    with server() as s:
        s("ROOST.CREATE", "there", *KINDS["growing-set"])
        fill(s, "there", range(20000))
        frame, digest = frame_of(s, "there"), s.digest("there")
        assert len(frame) > 65536, "shorter ones are copied out of the buffer"
        client = Speaker(s, 2)
        for command in (("ROOST.MERGE", "merged"), ("ROOST.PUSH", "pushed", 0)):
            for i in range(2):
                s("DEL", command[1])
                set_large, answer = client.pipeline([("SET", "large", b"x" * (8 * len(frame))), (*command, frame)])
                assert set_large == "OK" and not isinstance(answer, Exception) and s.digest(command[1]) == digest, answer
        client.close()


def changed_meanwhile(s, change, restore):
    """Repeats until the change comes in time, which depends on the load of the machine; a reply without an error means that the merge was done before."""
    frame = frame_of(s, "there")
    for _ in range(20):
        merge = Waiting(s, "ROOST.MERGE", "here", frame)
        wait_for(lambda: is_waiting(s) or s("ROOST.MERGE", "here", frame) == 0, "the merge")
        change()
        answer = merge.answer()
        if isinstance(answer, Exception):
            assert "the key has changed" in str(answer), answer
            return
        restore()
    print("# the merge was always faster")


def test_the_key_changes_meanwhile():
    with primary_and_replica() as (s, replica):
        large_pair(s, "growing-set", 60000)

        def restore():
            s("COPY", "at-once", "here", "REPLACE")
        changed_meanwhile(s, lambda: s("DEL", "here"), restore)
        assert s("EXISTS", "here") == 0
        restore()
        changed_meanwhile(s, lambda: s("RENAME", "here", "elsewhere"), restore)
        restore()
        digest = s.digest("at-once")
        changed_meanwhile(s, lambda: s("COPY", "at-once", "here", "REPLACE"), lambda: None)
        assert s.digest("here") == digest
        changed_meanwhile(s, lambda: s("SET", "here", "text"), restore)
        restore()
        changed_meanwhile(s, lambda: s("FLUSHALL"), lambda: (large_pair(s, "growing-set", 60000)))
        caught_up(replica, s)
        assert replica("DBSIZE") == 0


def test_a_missing_key_that_somebody_makes():
    with server() as s:
        large_pair(s, "growing-bloom")

        def restore():
            s("DEL", "here")
        s("DEL", "here")
        changed_meanwhile(s, lambda: s("SET", "here", "text"), restore)
        assert s("GET", "here") == b"text"


def test_a_client_that_goes_away():
    with server() as s:
        large_pair(s, "growing-set")
        merge_at_once(s, "at-once", frame_of(s, "there"))
        merge = Waiting(s, "ROOST.MERGE", "here", frame_of(s, "there"))
        wait_for(lambda: is_waiting(s) or s.digest("here") == s.digest("at-once"), "the merge")
        merge.speaker.close()
        wait_for(lambda: s.digest("here") == s.digest("at-once"), "the merge to go on")


def test_writes_are_paused():
    """A merge that continued would end the server: nothing may be replicated while a failover is prepared."""
    with primary_and_replica() as (s, replica):
        large_pair(s, "growing-set", 60000)
        merge = Waiting(s, "ROOST.MERGE", "here", frame_of(s, "there"))
        wait_for(lambda: is_waiting(s) or s.digest("here") != s.digest("at-once"), "the merge")
        s("CLIENT", "PAUSE", 200, "WRITE")
        assert merge.answer() == 1
        caught_up(replica, s)
        same_digests(s, replica, ["here", "there"])


def test_a_primary_that_becomes_a_replica():
    with servers(lambda: Server(port=free()), lambda: Server(port=free())) as (s, other):
        large_pair(s, "growing-set", 60000)
        merge = Waiting(s, "ROOST.MERGE", "here", frame_of(s, "there"))
        wait_for(lambda: is_waiting(s) or s.digest("here") != s.digest("at-once"), "the merge")
        other("SET", "mine", 1)
        s("REPLICAOF", "127.0.0.1", other.port)
        answer = merge.answer()
        assert isinstance(answer, Exception) or answer in (0, 1)
        wait_for(lambda: s("GET", "mine") == b"1" and s("DBSIZE") == 1, "the data of its primary")


def test_many_items():
    """Batches of many time slices: the replies are those of many small batches, on the replica, too; in a transaction at once."""
    with primary_and_replica() as (s, replica):
        s("BF.RESERVE", "bloom", "0.01", 1000000), s("CF.RESERVE", "cuckoo", 100000, "EXPANSION", 1)
        s("ROOST.CREATE", "set", "KIND", "orcuckoo", "SCALABLE", "CAPACITY", 1000)
        s("BF.RESERVE", "full", "0.01", 30000, "NONSCALING")
        many = list(range(60000))
        for command in (("BF.MADD", "bloom"), ("CF.INSERT", "cuckoo", "ITEMS"), ("CF.INSERTNX", "cuckoo", "ITEMS"), ("ROOST.ADD", "set")):
            answer = s(*command, *many)
            assert len(answer) == len(many)
            assert sum(answer) == 0 if command[0] == "CF.INSERTNX" else 59900 < sum(answer) <= 60000
        full = s("BF.MADD", "full", *many)
        assert isinstance(full[-1], redis.RedisError) and sum(full[:-1]) == 30000 == s("BF.CARD", "full")
        assert s("BF.MADD", "bloom", *many) == [0] * len(many)
        assert s("ROOST.REM", "set", *many[:50000]) == [1] * 50000
        assert s("ROOST.EXISTS", "set", *many) == [0] * 50000 + [1] * 10000
        with s.client.pipeline(transaction=True) as transaction:
            transaction.execute_command("ROOST.REM", "set", *many)
            assert sum(transaction.execute()[0]) == 10000
        caught_up(replica, s)
        same_digests(s, replica, ["bloom", "cuckoo", "set", "full"])
        batch = Waiting(s, "ROOST.ADD", "set", *many)
        for i in range(50):
            s("ROOST.ADD", "set", f"between-{i}")
        assert sum(batch.answer()) == len(many)
        batch = Waiting(s, "ROOST.ADD", "set", *many)
        wait_for(lambda: is_waiting(s) or s("PING"), "the batch")
        s("DEL", "set")
        answer = batch.answer()
        assert isinstance(answer, Exception) or sum(answer) == 0
        caught_up(replica, s)
        assert replica("EXISTS", "set") == 0


def test_a_digest_of_many_changes():
    """A filter whose digest takes many time slices: the digest is that of a copy which was hashed when it was loaded."""
    with primary_and_replica() as (s, replica):
        s("BF.RESERVE", "large", "0.01", 30000000, "NONSCALING")
        for i in range(8):
            s("BF.MADD", "large", *range(i * 4000, i * 4000 + 4000))
        stepwise = Waiting(s, "ROOST.DIGEST", "large")
        served = 0
        while served < 3 or is_waiting(s):
            s("BF.ADD", "large", f"between-{served}")
            served += 1
        assert len(stepwise.answer()) == 32
        caught_up(replica, s)
        assert replica.digest("large") == s.digest("large")
        s("BF.MADD", "large", *range(50000, 60000))
        with s.client.pipeline(transaction=True) as transaction:
            transaction.execute_command("ROOST.DIGEST", "large")
            assert transaction.execute()[0].decode() == s.digest("large")
        s("BF.MADD", "large", *range(60000, 80000))
        s("DEBUG", "RELOAD")
        digest = s.digest("large")
        s("ROOST.MERGESTORE", "copy", "large")
        assert s.digest("copy") == digest
        info = s("ROOST.INFO", "large", "FULL")
        full = dict(zip(info[::2], info[1::2]))
        assert abs(float(full[b"elements"]) / 62000 - 1) < 0.05


def test_a_summary_of_many_changes():
    with server() as s:
        for key in ("one", "two"):
            s("BF.RESERVE", key, "0.01", 30000000, "NONSCALING")
            s("BF.MADD", key, *range(20000))
        s("BF.RESERVE", "small", "0.01", 100)
        asking = Waiting(s, "ROOST.SUMMARY")
        while is_waiting(s):
            s("PING")
        first = asking.answer()
        assert first[5] == 3 and len(first[7]) == 3
        again = s("ROOST.SUMMARY")
        assert [bytes(a) for a in again[:6:2]] == [b"digest", b"mark", b"keys"] and again[1].decode() == first[1].decode()
        s("BF.MADD", "one", *range(20000, 40000))
        changed = s("ROOST.SUMMARY", "SINCE", again[3])
        assert changed[1] != again[1] and [row[:2] for row in changed[7]] == [[0, b"one"]]
        with s.client.pipeline(transaction=True) as transaction:
            transaction.execute_command("BF.MADD", "two", *range(20000, 40000))
            transaction.execute_command("ROOST.SUMMARY")
            assert transaction.execute()[1][1] == s("ROOST.SUMMARY")[1]


def test_a_digest_of_a_key_that_goes():
    with server() as s:
        for _ in range(20):
            s("BF.RESERVE", "large", "0.01", 60000000, "NONSCALING")
            s("BF.MADD", "large", *range(20000))
            asking = Waiting(s, "ROOST.DIGEST", "large")
            s("DEL", "large")
            answer = asking.answer()
            if isinstance(answer, Exception) and "changed" in str(answer):
                return
        print("# the digest was always faster")

def empty(s):
    """As a link does: a server that was emptied takes no pushes before it has joined."""
    s("FLUSHALL")
    if s.client.info("roost")["roost_linked"]:
        s("ROOST.LINK", "roost:links", "JOIN")


def push(s, key, generation, frame):
    outcome, at, digest, begin, end = s("ROOST.PUSH", key, generation, frame)
    return outcome.decode(), at, digest.decode(), begin, end


def test_a_push_in_steps_is_a_push():
    """The same as in a transaction, where it is done at once; the applied range of its reply has all its changes, and no others."""
    with primary_and_replica() as (s, replica):
        for kind in KINDS if LONG else ("bloom", "growing-cuckoo", "growing-set", "multiset"):  # merges have all of them
            large_pair(s, kind)
            frame = frame_of(s, "there")
            s("ROOST.PULL", "here", 0)
            with s.client.pipeline(transaction=True) as transaction:
                transaction.execute_command("ROOST.PUSH", "at-once", 0, frame)
                at_once = transaction.execute()[0]
            outcome, generation, digest, begin, end = push(s, "here", 0, frame)
            assert (outcome, generation, digest) == ("merged", 0, at_once[2].decode()), kind
            assert digest == s.digest("here") and end == s("ROOST.PULL", "here", end)[1]
            assert begin.split(b"-")[0] == end.split(b"-")[0] and begin != end
            span = begin.split(b"-")[1] + b"-" + end.split(b"-")[1]
            told = s("ROOST.PULL", "here", begin, span)
            assert told[3] is None or s("ROOST.MERGE", "at-once", told[3]) == 0
            assert told[3] is None or len(told[3]) < 300, "nothing is left of it"
            assert push(s, "here", 0, frame)[:3] == ("same", 0, digest)
            assert push(s, "new", 0, frame)[:3] == ("merged", 0, s.digest("there")), kind
            assert push(s, "new", 3, frame)[:3] == ("merged", 3, s.digest("there")), "in the place of a lower generation"
            assert s("ROOST.PUSH", "new", 2, frame)[:2] == [b"stale", 3]
            s("ROOST.PUSH", "deleted", 5, b"")
            assert push(s, "deleted", 5, frame)[:3] == ("merged", 5, s.digest("there"))
            caught_up(replica, s)
            same_digests(s, replica, ["here", "new", "deleted"])
            assert replica("ROOST.PULL", "new", 0)[0] == 3
            s("DEBUG", "RELOAD")
            assert s("ROOST.PULL", "new", 0)[0] == 3 and s("ROOST.PULL", "deleted", 0)[0] == 5
            empty(s)


def test_a_push_while_others_change_the_key():
    """The applied range of the reply begins after their changes, so a client that leaves it out still gets them."""
    with server() as s:
        tried = mixed = 0
        while tried < 20 and not mixed:
            empty(s)
            large_pair(s, "growing-set")
            before = s("ROOST.PULL", "here", 0)[1]
            pushing = Waiting(s, "ROOST.PUSH", "here", 0, frame_of(s, "there"))
            served = 0
            while served < 3 or is_waiting(s):
                s("ROOST.ADD", "here", f"between-{served}")
                served += 1
            outcome, generation, digest, begin, end = pushing.answer()
            assert outcome == b"merged" and begin.split(b"-")[0] == end.split(b"-")[0]
            told = s("ROOST.PULL", "here", before, begin.split(b"-")[1] + b"-" + end.split(b"-")[1])
            s("ROOST.MERGE", "at-once", told[3] if told[3] else frame_of(s, "here"))
            assert all(s("ROOST.EXISTS", "at-once", *[f"between-{i}" for i in range(served)])), "left out with the span"
            mixed += begin != before
            tried += 1
        print(f"# {mixed} of {tried} pushes had others between")
        assert mixed


def test_a_push_that_is_overtaken():
    """By a deletion, or by a later generation: the reply is an error that says so, and what is there stays."""
    with server() as s:
        s("ROOST.LINK", "roost:links", "HELLO", 1)  # from now on deletions are remembered
        for change in (("DEL", "here"), ("ROOST.PUSH", "here", 7, b"")):
            for _ in range(20):
                empty(s)
                large_pair(s, "growing-set", 60000)
                pushing = Waiting(s, "ROOST.PUSH", "here", 0, frame_of(s, "there"))
                wait_for(lambda: is_waiting(s) or s.digest("here") != s.digest("at-once"), "the push")
                s(*change)
                answer = pushing.answer()
                assert s("EXISTS", "here") == 0
                assert s("ROOST.PULL", "here", 0)[:4] == [7 if "ROOST.PUSH" in change else 1, None, None, None]
                if isinstance(answer, Exception):
                    assert str(answer).startswith("STALE"), answer
                    break
            else:
                print("# the push was always faster")


def test_what_needs_a_long_digest():
    """Pulls, small pushes, and both sides of a sync, with a filter of which much has changed."""
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with server() as s, server() as other:
        for each in (s, other):
            each("BF.RESERVE", "large", "0.01", 30000000, "NONSCALING")
        s("BF.MADD", "large", *range(20000))
        pulled = s("ROOST.PULL", "large", 0)
        assert pulled[2].decode() == s.digest("large") and pulled[0] == 0
        s("BF.MADD", "large", *range(20000, 20003))
        little = s("ROOST.PULL", "large", pulled[1])[3]
        other("BF.MADD", "large", *range(50000, 70000))
        waiting = Waiting(other, "ROOST.PUSH", "large", 0, little)
        answer = waiting.answer()
        assert answer[0] == b"merged" and answer[2].decode() == other.digest("large")
        other("BF.MADD", "large", *range(70000, 90000)), s("BF.MADD", "large", *range(90000, 110000))
        session, request, *end = s("ROOST.ASK", "large", 0)
        while not end:
            session, request, *end = s("ROOST.ASK", "large", session, other("ROOST.SYNC", "large", request, "GENERATION", 0))
        assert end[1].decode() == s.digest("large") and s.digest("large") == other.digest("large")
        s("BF.MADD", "large", *range(110000, 130000))
        waiting = Waiting(s, "ROOST.ASK", "large", 0)
        s("DEL", "large")
        answer = waiting.answer()
        assert not isinstance(answer, Exception) or str(answer).startswith("STALE"), answer


def test_a_summary_that_waits_for_a_large_change():
    with server() as s:
        s("BF.RESERVE", "large", "0.01", 60000000, "NONSCALING"), s("BF.ADD", "small", 1)
        mark = s("ROOST.SUMMARY")[3]
        both = [Waiting(s, "ROOST.SUMMARY", "SINCE", mark, "WAIT", 60000) for _ in range(2)]
        wait_for(lambda: s.client.info("clients")["blocked_clients"] == 2, "the clients")
        s("BF.MADD", "large", *range(20000))
        for waiting in both:
            answer = waiting.answer()
            assert [row[:3] for row in answer[7]] == [[0, b"large", 0]]
        summary = s("ROOST.SUMMARY")
        assert summary[1] == s("ROOST.SUMMARY")[1] and {bytes(row[1]): row[3].decode() for row in summary[7]}[b"large"] == s.digest("large")
        gone = Waiting(s, "ROOST.SUMMARY", "SINCE", summary[3], "WAIT", 60000)
        late = Waiting(s, "ROOST.SUMMARY", "SINCE", summary[3], "WAIT", 1)
        assert late.answer()[7] == []
        wait_for(lambda: s.client.info("clients")["blocked_clients"] == 1, "the client")
        gone.speaker.close()
        s("BF.MADD", "large", *range(20000, 60000))
        for wait in (1, 2, 5):  # whichever comes first
            mark = s("ROOST.SUMMARY")[3]
            waiting = Waiting(s, "ROOST.SUMMARY", "SINCE", mark, "WAIT", wait)
            s("BF.MADD", "large", *range(wait * 100000, wait * 100000 + 20000))
            answer = waiting.answer()
            assert [row[1] for row in answer[7]] in ([], [b"large"])
        for _ in range(5):  # one that is sent away while the work is done gets its answer, and one answer
            mark = s("ROOST.SUMMARY")[3]
            waiting = Waiting(s, "ROOST.SUMMARY", "SINCE", mark, "WAIT", 60000)
            wait_for(lambda: is_waiting(s), "the client")
            number = next(int(c["id"]) for c in s.client.client_list() if c["cmd"] == "roost.summary")
            with s.client.pipeline(transaction=False) as pipeline:
                pipeline.execute_command("BF.MADD", "large", *range(mark[-1] * 100000, mark[-1] * 100000 + 20000))
                pipeline.execute_command("CLIENT", "UNBLOCK", number)
                pipeline.execute()
            waiting.speaker.socket.sendall(b"*1\r\n$4\r\nPING\r\n")
            assert [row[1] for row in waiting.speaker.read()[7]] == [b"large"]
            assert waiting.answer() == "PONG"
        s("SWAPDB", 0, 1)
        assert {row[0] for row in s("ROOST.SUMMARY")[7] if row[3]} == {1}


def test_windows_come_whole():
    """Their frames are large, but a refused one allocates nothing."""
    with server() as s, server() as other:
        s("ROOST.CREATE", "window", "KIND", "window", "WINDOW", 3600000, "CAPACITY", 100000)
        for i in range(4):
            s("ROOST.MSEEN", "window", *range(i * 10000, i * 10000 + 10000))
        frame = frame_of(s, "window")
        assert len(frame) > 65536
        other("CONFIG", "SET", "roost.memory-limit", 200000)
        assert "memory" in other.error("ROOST.MERGE", "window", frame) and other("EXISTS", "window") == 0
        other("CONFIG", "SET", "roost.memory-limit", 0)
        assert other("ROOST.MERGE", "window", frame) == 1 and other.digest("window") == s.digest("window")
        assert push(other, "pushed", 2, frame)[:3] == ("merged", 2, s.digest("window"))
        assert push(other, "pushed", 2, frame)[:3] == ("same", 2, s.digest("window"))
        other("BF.ADD", "bloom", 1)
        assert push(other, "bloom", 1, frame)[:3] == ("merged", 1, s.digest("window"))


def test_bad_frames():
    with server() as s:
        large_pair(s, "growing-set")
        frame, digest = frame_of(s, "there"), s.digest("here")
        for at in (4, 5, 20, 100, len(frame) // 2, len(frame) - 1):
            bad = frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1:]
            assert s.error("ROOST.MERGE", "here", bad)
            assert s.error("ROOST.MERGE", "missing", bad)
        assert s.error("ROOST.MERGE", "here", frame[:-9])
        s("ROOST.CREATE", "other", "CAPACITY", 100)
        assert "configuration" in s.error("ROOST.MERGE", "other", frame)
        assert s.digest("here") == digest and s("EXISTS", "missing") == 0
        s("CONFIG", "SET", "roost.memory-limit", 100000)
        assert s.error("ROOST.MERGE", "here", frame)
        assert s.error("ROOST.MERGE", "missing", frame)
        s("CONFIG", "SET", "roost.memory-limit", 0)
        assert s("ROOST.MERGE", "here", frame) == 1


def test_databases_and_the_append_only_file():
    with server("--appendonly", "yes", "--aof-use-rdb-preamble", "no") as s:
        large_pair(s, "growing-bloom")
        frame = frame_of(s, "there")
        client = redis.Redis(unix_socket_path=s.path, db=3)
        assert client.execute_command("ROOST.MERGE", "here", frame) == 1
        assert client.execute_command("ROOST.DIGEST", "here").decode() == s.digest("there")
        assert s.digest("here") == s.digest("at-once")
        client.close()
        s("BGREWRITEAOF")
        wait_for(lambda: s.client.info("persistence")["aof_rewrite_in_progress"] == 0, "the rewrite")
        assert s("ROOST.MERGE", "here", frame) == 1
        digest = s.digest("here")
        s("DEBUG", "LOADAOF")
        assert s.digest("here") == digest
        client = redis.Redis(unix_socket_path=s.path, db=3)
        assert client.execute_command("ROOST.DIGEST", "here").decode() == s.digest("there")
        client.close()


def faults(s):
    """Minor page faults: they measure the work that was done, whatever the speed of the machine."""
    with open(f"/proc/{s.process.pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[7])


def test_small_commands_about_large_filters_touch_little():
    """For the module as it is shipped: sanitizers touch memory of their own for each allocation."""
    if SANITIZED:
        return
    with server("--maxmemory", "0") as s:
        s("CONFIG", "SET", "roost.memory-limit", "8gb")
        for kind, capacity in (("bloom", 800000000), ("cuckoo", 400000000), ("orcuckoo", 40000000)):
            before = faults(s)
            s("ROOST.CREATE", "large", "KIND", kind, "CAPACITY", capacity)
            assert s("MEMORY", "USAGE", "large") > 256 << 20
            s("ROOST.ADD", "large", *range(5))
            frame = frame_of(s, "large")
            assert len(frame) < 300 and s("ROOST.MERGE", "new", frame) == 1 and s("ROOST.MERGE", "new", frame) == 0
            assert s("COPY", "large", "copy") == 1 and s("ROOST.MERGESTORE", "both", "large", "copy") == b"OK"
            assert len({s.digest(key) for key in ("large", "new", "copy", "both")}) == 1
            s("ROOST.DUMP", "large", "0"), s("ROOST.PULL", "large", "0"), s("UNLINK", "both")
            assert faults(s) - before < 20000, kind  # the smallest of them has 65,536 pages, and was walked many times
            s("FLUSHALL")


def test_mergestore_in_steps():
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with primary_and_replica() as (s, replica):
        for kind in KINDS:
            for key in "ab":
                s("ROOST.CREATE", key, *KINDS[kind], "CAPACITY", 100 * COUNT if "bloom" in kind else 25 * COUNT)
            fill(s, "a", range(COUNT // 2)), fill(s, "b", range(COUNT // 3, COUNT))
            s("SET", "both", "text")
            assert s("ROOST.MERGESTORE", "both", "a", "b") == b"OK"
            assert all(s("ROOST.EXISTS", "both", *range(COUNT))), kind
            with s.client.pipeline(transaction=True) as transaction:
                transaction.execute_command("ROOST.MERGESTORE", "at-once", "a", "b")
                transaction.execute()
            assert s.digest("both") == s.digest("at-once"), kind
            assert s("ROOST.MERGESTORE", "a", "a", "b") == b"OK" and s("ROOST.MERGESTORE", "b", "b") == b"OK"
            assert s.digest("a") == s.digest("both"), kind
            caught_up(replica, s)
            same_digests(s, replica, ["a", "b", "both", "at-once"])
            s("FLUSHALL")


def test_dumps_are_bounded_and_shared():
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with server() as s:
        s("ROOST.CREATE", "a", "CAPACITY", 30000000)
        fill(s, "a", range(120000))
        for key in "bc":
            s("ROOST.MERGESTORE", key, "a"), s("ROOST.ADD", key, key)
        first = s("ROOST.DUMP", "a", "0")[0]
        held = s.client.info("roost")["roost_dumps_bytes"]
        assert held > 1 << 20 and {s("ROOST.DUMP", "a", "0")[0] for _ in range(8)} == {first}
        assert s.client.info("roost")["roost_dumps_bytes"] == held
        assert s("ROOST.DUMP", "b", first)[0] != s("ROOST.DUMP", "a", first)[0], "a dump of another key"
        iterator, chunks = first, []
        while iterator:
            iterator, data = s("ROOST.DUMP", "a", iterator)
            assert len(data) <= 1 << 20
            chunks.append((iterator, data))
        header = s("ROOST.DUMP", "a", "0")[1]
        s("ROOST.RESTORE", "restored", 1, header)
        for iterator, data in chunks[:-1]:
            s("ROOST.RESTORE", "restored", iterator, data)
        assert s.digest("restored") == s.digest("a")
        for key in "abcabc":
            s("ROOST.DUMP", key, "0")
        assert s.client.info("roost")["roost_dumps_bytes"] <= 64 << 20


def dumped(s, key, iterator=0):
    """All chunks from an iterator on."""
    chunks = []
    while True:
        iterator, data = s("ROOST.DUMP", key, iterator)
        if iterator == 0:
            assert data == b""
            return chunks
        chunks.append((iterator, data))


def test_dumps_without_room_or_snapshots():
    """As long as filters do not change, dumps of large ones need no state of the server: from any chunk, interleaved, after a restart."""
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with server("--save", "60 1000000000") as s:
        keys = [f"large-{i}" for i in range(9)]  # more than there are snapshots
        s("ROOST.CREATE", keys[0], *KINDS["growing-cuckoo"])
        fill(s, keys[0], range(700000))
        for key in keys[1:]:
            s("COPY", keys[0], key), s("ROOST.ADD", key, key)
        assert min(s("MEMORY", "USAGE", key) for key in keys) > 2 << 20
        at, dumps = dict.fromkeys(keys, 0), {key: [] for key in keys}
        while at:  # a chunk of each in turn
            for key in list(at):
                at[key], data = s("ROOST.DUMP", key, at[key])
                if at[key]:
                    dumps[key].append((at[key], data))
                else:
                    del at[key]
        for key in keys[::4]:
            for iterator, data in dumps[key]:
                s("ROOST.RESTORE", "copy", iterator, data)
            assert s.digest("copy") == s.digest(key), key
            s("DEL", "copy")
        s("SAVE"), s.restart()
        for key in keys[:2]:  # its snapshot is gone
            assert dumped(s, key, dumps[key][1][0]) == dumps[key][2:], key
            last = dumps[key][-1][0]
            assert s("ROOST.DUMP", key, last) == s("ROOST.DUMP", key, last + 7) == [0, b""]
        with s.client.pipeline(transaction=True) as transaction:  # where nobody can wait
            transaction.execute_command("ROOST.DUMP", keys[1], dumps[keys[1]][1][0])
            assert transaction.execute()[0] == list(dumps[keys[1]][2])
        s("ROOST.ADD", keys[3], "changed")
        for key, other in (keys[3], keys[3]), (keys[4], keys[5]):
            (iterator, data), = dumped(s, key, dumps[other][0][0])
            assert s("ROOST.RESTORE", "copy", iterator, data) == b"OK" and s.digest("copy") == s.digest(key), "it begins again"
            s("DEL", "copy")


def redisbloom_chunks(megabytes):
    """A cuckoo filter as RedisBloom dumps it, with random fingerprints; a last chunk of a kilobyte."""
    size, last = megabytes << 20, 1024
    content = random.randbytes(size)
    chunks = [(1, struct.pack("<QQQQHHH", 1, size // 4, 0, 1, 4, 20, 1))]
    for begin in list(range(0, size - last, 1 << 20)):
        end = min(begin + (1 << 20), size - last)
        chunks.append((end + 1, content[begin:end]))
    return chunks + [(size + 1, content[-last:])]


def load(s, command, key, chunks):
    for iterator, data in chunks:
        assert s(command, key, iterator, data) == b"OK"


def test_large_dumps_begin_again():
    """Two large filters that change, with room for one snapshot: both dumps end, and load as a state that there was."""
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with primary_and_replica() as (s, replica):
        load(s, "CF.LOADCHUNK", "a", redisbloom_chunks(32))
        s("COPY", "a", "b")
        dumps, states = {key: [] for key in "ab"}, {key: [] for key in "ab"}

        def step(key, count=1):
            for _ in range(count):
                states[key].append(s.digest(key))
                iterator, data = s("ROOST.DUMP", key, dumps[key][-1][0] if dumps[key] else 0)
                assert s.client.info("roost")["roost_dumps_bytes"] <= 64 << 20
                dumps[key].append((iterator, data))
                s("CF.ADD", key, f"new-{len(dumps[key])}")

        def attempts(key):
            return [iterator >> 49 & 3 for iterator, _ in dumps[key]]

        step("a", 3), step("b", 2)
        assert attempts("b") == [0, 1] and 16 << 20 < len(dumps["b"][1][1]) < 17 << 20, "it had no snapshot"
        step("a")
        assert attempts("a") == [0, 0, 0, 1], "the second attempt took the room of a first one, which begins again"
        step("b", 3)
        assert attempts("b")[:4] == [0, 1, 1, 1] and dumps["b"][-1] == (0, b""), "it comes to its end"
        while dumps["a"][-1][0]:
            assert len(dumps["a"]) < 20
            step("a")
        for key in "ab":
            load(s, "ROOST.RESTORE", "copy", dumps[key][:-1])
            assert s.digest("copy") in states[key], key
            caught_up(replica, s), same_digests(s, replica, ["copy"])
            s("DEL", "copy")
        load(s, "ROOST.RESTORE", "copy", dumps["b"][:2])
        s("SAVE"), s.restart()  # before the last chunks
        load(s, "ROOST.RESTORE", "copy", dumps["b"][2:4])
        assert s.digest("copy") in states["b"]


def test_a_thread_decodes_a_dump_that_began_again():
    """It came in one chunk. A key that changes meanwhile, of an earlier chunk or missing, is left alone."""
    with server("--save", "60 1000000000") as s:
        s("ROOST.CREATE", "one", *KINDS["growing-cuckoo"]), fill(s, "one", range(300000))
        (first, header), *_ = dumped(s, "one")
        s("SAVE"), s.restart(), s("ROOST.ADD", "one", "changed")
        (again, whole), = dumped(s, "one", first)
        for begin in (), ((first, header),):  # a thread decodes it, and the key changes meanwhile
            for _ in range(20):  # until it comes in time
                s("DEL", "copy"), load(s, "ROOST.RESTORE", "copy", begin)
                loading = Waiting(s, "ROOST.RESTORE", "copy", again, whole)
                s("SET", "copy", "text")
                answer = loading.answer()
                if answer != "OK":
                    assert "STALE the key has changed while it was loaded" in str(answer), answer
                    break
            else:
                raise AssertionError("it never came in time")
            s("DEL", "copy"), load(s, "ROOST.RESTORE", "copy", begin)
            assert s("ROOST.RESTORE", "copy", again, whole) == b"OK" and s.digest("copy") == s.digest("one")


def test_the_last_chunk_of_a_large_value():
    """A thread decodes it, whatever happens to the key meanwhile."""
    with primary_and_replica() as (s, replica):
        chunks = redisbloom_chunks(2)
        begin, (iterator, data) = chunks[:-1], chunks[-1]
        load(s, "CF.LOADCHUNK", "imported", chunks)
        digest = s.digest("imported")
        s("ROOST.MERGESTORE", "large", "imported"), s("CF.ADD", "large", "x")
        for command, key, parts in (("CF.LOADCHUNK", "imported", chunks), ("ROOST.RESTORE", "large", dumped(s, "large"))):
            expected = s.digest(key)
            load(s, command, "again", parts[:-1])
            damaged = parts[-1][1][:-9] + bytes(9)
            if command == "ROOST.RESTORE":
                assert "data" in s.error(command, "again", parts[-1][0], damaged)
            assert isinstance(s.error("ROOST.DIGEST", "again"), str), "it is staged as before"
            first, second = (Waiting(s, command, "again", *parts[-1]) for _ in range(2))
            answers = [first.answer(), second.answer()]
            assert "OK" in answers and s.digest("again") == expected, answers
            s("DEL", "again")
            load(s, command, "again", parts[:-1])
            with s.client.pipeline(transaction=True) as transaction:  # where nobody can wait
                transaction.execute_command(command, "again", *parts[-1])
                assert transaction.execute() == [b"OK"] and s.digest("again") == expected
            s("DEL", "again")
        another = "CF.LOADCHUNK", "again", iterator - 512, data[:512]
        for change in another, ("DEL", "again"), ("RENAME", "again", "elsewhere"), ("SET", "again", "text"), ("FLUSHALL",):
            for _ in range(20):  # until it comes in time
                s("DEL", "again", "elsewhere"), load(s, "CF.LOADCHUNK", "again", begin)
                loading = Waiting(s, "CF.LOADCHUNK", "again", iterator, data)
                with contextlib.suppress(redis.ResponseError):  # of a chunk that comes too late, or of a key that is not there yet
                    s(*change)
                answer = loading.answer()
                if answer != "OK":
                    assert "STALE the key has changed while it was loaded" in str(answer), answer
                    break
            else:
                raise AssertionError(f"{change[0]} never came in time")
        caught_up(replica, s)
        assert s("DBSIZE") == replica("DBSIZE") == 0
        load(s, "CF.LOADCHUNK", "again", begin)
        loading = Waiting(s, "CF.LOADCHUNK", "again", iterator, data)
        s("CLIENT", "PAUSE", 100, "WRITE")
        assert loading.answer() == "OK" and s.digest("again") == digest
        caught_up(replica, s), same_digests(s, replica, ["again"])


def test_mergestore_of_imported_parts():
    """The destination shares them with the source, on replicas and after a restart from the append-only file, too."""
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no", port=free()), lambda: Server(port=free())) as (s, replica):
        replicate(replica, s)
        chunks = redisbloom_chunks(4)
        load(s, "CF.LOADCHUNK", "a", chunks)
        s("CF.ADD", "a", "new"), s("CF.RESERVE", "b", 1000)
        caught_up(replica, s)
        before = s.client.info("stats")["total_net_output_bytes"]
        assert s("ROOST.MERGESTORE", "both", "a") == b"OK" and s("ROOST.MERGESTORE", "a", "a") == b"OK"
        assert s.digest("both") == s.digest("a") and s("CF.EXISTS", "both", "new") == 1
        caught_up(replica, s)
        assert s.client.info("stats")["total_net_output_bytes"] - before < 1 << 20, "replicas get no copy"
        removed = [item for item in range(3000) if s("CF.DEL", "both", item)]
        assert removed and s.digest("both") != s.digest("a"), "the source has them still"
        assert all(s("CF.MEXISTS", "a", *removed))
        caught_up(replica, s), same_digests(s, replica, ["a", "both"])
        digests = [s.digest(key) for key in ("a", "both")]
        s("ROOST.MERGESTORE", "a", "a", "both")
        assert s.digest("a") == digests[1]
        caught_up(replica, s), same_digests(s, replica, ["a", "both"])
        s.restart()
        assert [s.digest(key) for key in ("a", "both")] == [digests[1]] * 2
        if not SANITIZED:
            used = s.client.info("memory")["used_memory"]
            for i in range(8):
                s("ROOST.MERGESTORE", f"copy-{i}", "a")
            assert s.client.info("memory")["used_memory"] - used < 4 << 20


SLOW_PATHS = {"batches": lambda s: s("ROOST.ADD", "here", *range(10**6, 10**6 + 60000)), "merges": lambda s: s("ROOST.MERGE", "here", frame_of(s, "there")),
              "thread_replies": lambda s: s("ROOST.DELTA", "large", 0), "dumps": lambda s: s("ROOST.DUMP", "large", 0),
              "digests": lambda s: (fill(s, "fixed", range(30000)), s("ROOST.DIGEST", "fixed")), "loads": lambda s: s("RESTORE", "loaded", 0, s("DUMP", "there"))}


def fields(s):
    return {name[len("roost_"):]: value for name, value in s.client.info("roost").items()}


def failures(s):
    """What INFO counts as refused; each is tried once."""
    bad = os.urandom(100000)
    yield "refused_payloads", lambda: s.error("ROOST.MERGE", "there", b"x" * 10)
    yield "refused_payloads", lambda: s.error("ROOST.RESTORE", "new", 1, b"x" * 64)
    yield "jobs_failed", lambda: s.error("ROOST.MERGE", "there", frame_of(s, "there")[:100] + bad)
    s("CONFIG", "SET", "roost.memory-limit", 100000)
    yield "refused_memory", lambda: s.error("ROOST.CREATE", "new", "CAPACITY", 10**7)
    yield "refused_memory", lambda: s.error("BF.RESERVE", "new", 0.01, 10**7, "NONSCALING")
    yield "refused_memory", lambda: s("ROOST.ADD", "here", *range(10**7, 10**7 + 50000))  # an error in the reply


def test_what_info_counts():
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with server() as s:
        large_pair(s, "growing-set")
        s("ROOST.CREATE", "large", *KINDS["growing-cuckoo"]), s("ROOST.CREATE", "fixed", "CAPACITY", 50000000)
        for i in range(0, 600000, 20000):
            s("ROOST.ADD", "large", *range(i, i + 20000))
        for name, slow in SLOW_PATHS.items():
            before = fields(s)
            slow(s)
            after = fields(s)
            assert after[name] > before[name] and after[name + "_usec"] > before[name + "_usec"], (name, before, after)
            assert 0 < after[name + "_longest_usec"] <= after[name + "_usec"], (name, after)
            assert name == "loads" or after["jobs_finished"] > before["jobs_finished"], (name, before, after)
        for _ in range(20):  # until a job is there that waits; on a busy machine it may be done before
            batch = Waiting(s, "ROOST.ADD", "here", *range(2 * 10**6, 2 * 10**6 + 60000))
            s("CLIENT", "PAUSE", 60000, "WRITE")
            running = fields(s)["jobs_running"]
            s("CLIENT", "UNPAUSE")
            batch.answer()
            if running:
                break
        assert running == 1 and fields(s)["jobs_running"] == 0
        for name, refused in failures(s):
            before = fields(s)
            refused()
            assert fields(s)[name] == before[name] + 1, (name, before, fields(s))
        assert fields(s)["slot_imports"] == 0 and fields(s)["imported_filters"] == 0
        with open(os.path.join(ROOT, "examples", "redis_exporter.lua")) as script:
            exported = s("EVAL", script.read(), 0)
        exported, present = dict(zip(exported[::2], map(int, exported[1::2]))), s.client.info("roost")
        assert exported.pop(b"bf_bloom_num_objects") == present["roost_keys"] and exported.pop(b"bf_bloom_total_memory_bytes") == present["roost_bytes_memory"]
        assert exported == {name.encode(): value for name, value in present.items() if isinstance(value, int)}, exported
        with open(os.path.join(ROOT, "docs", "module.md")) as page:  # each has its line
            table = page.read().split("`INFO roost` has these fields")[1].split("Keyspace events")[0]
        missing = [name for name in fields(s) if f"`{name}`" not in table and not name.endswith("_usec")]
        assert not missing, missing


def sync(s, here, there, between=lambda: None):
    """A sync of two keys, without cursors; whether they were equal at its end."""
    session, request = s("ROOST.ASK", here, 0)
    while True:
        answer = s("ROOST.ASK", here, session, s("ROOST.SYNC", there, request))
        between()
        if answer[1] is None:
            return answer[2] == 1
        session, request = answer


@contextlib.contextmanager
def writer(s, key, removes):
    """Another client, which adds to the key and removes from it until the end of the block; what it has added and removed."""
    added, removed, over, failed = [], [], threading.Event(), []

    def write():
        with contextlib.closing(Speaker(s, 2)) as speaker:
            for i in itertools.count(0, 10):
                if over.is_set():
                    return
                added.extend(range(10**8 + i, 10**8 + i + 10))
                if not isinstance(speaker("ROOST.ADD", key, *added[-10:]), list):
                    failed.append("ROOST.ADD")
                if removes:
                    removed.extend(range(i % 50000, i % 50000 + 10))
                    if not isinstance(speaker("ROOST.REM", key, *removed[-10:]), list):
                        failed.append("ROOST.REM")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield added, removed
    finally:
        over.set()
        thread.join()
    assert added and not failed, failed


def test_large_copies_and_syncs_while_others_write():
    """Copies share memory with the filter, and what reads all of a large one reads a copy on a thread."""
    if SANITIZED and not LONG:
        return  # the job module-redis-large has it
    with primary_and_replica() as (s, replica):
        kinds = [("growing-set", 520000, ()), ("growing-cuckoo", 200000, ()), ("set", 200000, ("CAPACITY", 400000)), ("bloom", 100000, ("CAPACITY", 3 * 10**6))]
        for kind, count, capacity in [("growing-set", 100000, ()), ("bloom", 80000, ("CAPACITY", 2 * 10**6 + 10**5))] if SANITIZED else kinds:
            removes = "set" in kind
            s("ROOST.CREATE", "a", *KINDS[kind], *capacity)
            for i in range(0, count, 20000):
                s("ROOST.ADD", "a", *range(i, i + 20000))
            assert s("MEMORY", "USAGE", "a", "SAMPLES", 0) > (8 if kind == "growing-set" and not SANITIZED else 4 if capacity else 1) << 19, s("MEMORY", "USAGE", "a")
            assert s("COPY", "a", "b") == 1 and s.digest("a") == s.digest("b")
            before = s.digest("a")
            s("ROOST.ADD", "b", *range(count, count + 500))
            assert s.digest("a") == before and sum(s("ROOST.EXISTS", "a", *range(count, count + 500))) < 50
            fill(s, "a", range(2 * count, 2 * count + 500))
            if removes:
                for i in range(60000, 80000, 1000):  # more than a step resolves
                    s("ROOST.REM", "a", *range(i, i + 1000))
                assert all(s("ROOST.EXISTS", "b", *range(60000, 80000)))
            with writer(s, "b", removes) as (added, removed):
                for here, there in ("ab", "ba", "ab"):
                    sync(s, here, there)
                cursor, state = s("ROOST.DELTA", "b", 0)
                generation, at, digest, pulled, _ = s("ROOST.PULL", "b", 0)
            assert generation == 0 and merge_at_once(s, "pulled", pulled) == 1 and s.digest("pulled") == digest.decode()
            assert merge_at_once(s, "c", state) == 1
            merge_at_once(s, "c", s("ROOST.DELTA", "b", cursor)[1])
            merge_at_once(s, "pulled", s("ROOST.PULL", "b", at)[3])
            assert s.digest("c") == s.digest("b") == s.digest("pulled"), kind
            for _ in range(3):
                equal = sync(s, "a", "b")
            assert equal and s.digest("a") == s.digest("b"), kind
            assert all(s("ROOST.EXISTS", "a", *added, *range(count, count + 500), *range(2 * count, 2 * count + 500)))
            if removes:
                gone = sorted(set(removed) | set(range(60000, 80000)))
                assert sum(s("ROOST.EXISTS", "a", *gone)) < len(gone) / 20
            with s.client.pipeline(transaction=True) as transaction:  # at once
                transaction.execute_command("ROOST.DELTA", "b", 0)
                transaction.execute_command("ROOST.PULL", "b", 0)
                (_, state), (_, _, _, pulled, _) = transaction.execute()
            assert state == pulled == frame_of(s, "b")
            cursor = s("ROOST.PULL", "b", "1-1")[1]
            fill(s, "b", range(3 * count, 3 * count + 4000))
            place = int(cursor.split(b"-")[1], 16)
            span = f"{place + 100:x}-{place + 300:x}"
            long = s("ROOST.DELTA", "b", cursor), s("ROOST.PULL", "b", cursor), s("ROOST.PULL", "b", cursor, span)
            with s.client.pipeline(transaction=True) as transaction:
                transaction.execute_command("ROOST.DELTA", "b", cursor)
                transaction.execute_command("ROOST.PULL", "b", cursor)
                transaction.execute_command("ROOST.PULL", "b", cursor, span)
                assert tuple(transaction.execute()) == long, kind
            assert len(long[0][1]) == len(long[1][3]) > len(long[2][3]) or capacity, kind
            caught_up(replica, s)
            same_digests(s, replica, ["a", "b", "c", "pulled"])
            s("DEL", "b", "c", "pulled")
            left = lambda: s.client.info("roost")["roost_bytes_memory"] - s("MEMORY", "USAGE", "a", "SAMPLES", 0)
            wait_for(lambda: abs(left()) < 2000, "the memory of copies")
            s("FLUSHALL")


def test_a_key_that_is_renamed_while_it_is_copied():
    """Nobody waits for a copy that was abandoned."""
    with server() as s:
        s("ROOST.CREATE", "a", "KIND", "bloom", "CAPACITY", 10**8), fill(s, "a", range(25000 if SANITIZED else 60000))
        memory = lambda: s.client.info("memory")["used_memory"]

        def rename_while(key, *command):
            """Once the first pages are copied; unless the copy was faster."""
            for i in range(3):
                before = memory()
                waiting = Waiting(s, *[key if part == "KEY" else part for part in command])
                wait_for(lambda: memory() > before + (2 << 20) or not is_waiting(s), "the first pages")
                s("RENAME", key, key + "'")
                key += "'"
                if "STALE" in str(waiting.answer()):
                    break
                s("ROOST.ADD", key, f"another state {i}")
            return key

        key = rename_while("a", "ROOST.MERGESTORE", "c", "KEY")
        assert s("ROOST.DUMP", key, "0")[0]
        s("ROOST.ADD", key, "another state")
        key = rename_while(key, "ROOST.DUMP", "KEY", "0")
        assert s("ROOST.MERGESTORE", "c", key) == b"OK" and s.digest("c") == s.digest(key)


def test_a_key_that_goes_while_it_is_read():
    count = 100000 if SANITIZED else 300000
    with server() as s:
        s("ROOST.CREATE", "a", *KINDS["growing-set"])
        for i in range(0, count, 20000):
            s("ROOST.ADD", "a", *range(i, i + 20000))
        digest = s.digest("a")
        waiting = [Waiting(s, "ROOST.PULL", "a", 0) for _ in range(6)]  # more than threads
        s("DEL", "a")
        for one in waiting:  # the state of the moment of the command
            assert one.answer()[2].decode() == digest
        assert s.client.info("roost")["roost_bytes_memory"] == 0
        s("ROOST.CREATE", "a", *KINDS["growing-set"]), s("ROOST.CREATE", "b", *KINDS["growing-set"])
        for i in range(0, count, 20000):
            s("ROOST.ADD", "a", *range(i, i + 20000))
        fill(s, "b", range(10))
        session, request = s("ROOST.ASK", "b", 0)
        while True:  # each request to a key that is replaced by its own copy as soon as it came
            one = Waiting(s, "ROOST.SYNC", "a", request)
            s("COPY", "a", "c", "REPLACE"), s("RENAME", "c", "a")
            reply = one.answer()
            if isinstance(reply, Exception):
                assert str(reply).startswith("STALE"), reply
                reply = s("ROOST.SYNC", "a", request)
            answer = s("ROOST.ASK", "b", session, reply)
            if answer[1] is None:
                break
            session, request = answer
        for _ in range(3):
            equal = sync(s, "b", "a")
        assert equal and all(s("ROOST.EXISTS", "b", *range(0, count, 7)))
        initiator_that_goes(s)


def initiator_that_goes(s):
    """A large filter asks, and is replaced by its own copy while the reply is taken in; or the reply comes in a transaction."""
    s("DEL", "b"), s("COPY", "a", "b"), fill(s, "b", range(10**6, 10**6 + 300))
    for _ in range(20):
        session, request = s("ROOST.ASK", "a", 0)
        reply = s("ROOST.SYNC", "b", request)
        waiting = Waiting(s, "ROOST.ASK", "a", session, reply)
        s("COPY", "a", "c", "REPLACE"), s("RENAME", "c", "a")
        answer = waiting.answer()
        if isinstance(answer, Exception):
            assert str(answer).startswith("STALE"), answer
            break
        assert answer[1] is None or "no such session" in s.error("ROOST.ASK", "a", answer[0], b"x")
    session, request = s("ROOST.ASK", "a", 0)
    while True:
        with s.client.pipeline(transaction=True) as transaction:
            transaction.execute_command("ROOST.ASK", "a", session, s("ROOST.SYNC", "b", request))
            answer = transaction.execute()[0]
        if answer[1] is None:
            break
        session, request = answer
    assert answer[2] == 1 and answer[3].decode() == s.digest("a") == s.digest("b")
    s("DEL", "a", "b", "c")
    wait_for(lambda: s.client.info("roost")["roost_bytes_memory"] == 0, "the memory of sessions")


if __name__ == "__main__":
    run(globals())
