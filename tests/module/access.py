#!/usr/bin/python3
"""What a user with one key pattern can change elsewhere: nothing. One test for each row of the table in docs/module.md.

The users are real ones of the server's ACL: `some` may run every command of the module and the server's commands on keys, on keys `a:*` alone.
"""
import contextlib

import redis

from generations import TOMBSTONES, OLD_CHUNKS, create, everything, generation, linked, meet, of_slot, state, summary, transaction, two_nodes
from servers import Server, Speaker, free_port, run, servers

LAST = 2 ** 48
COMMANDS = ("+@all", "-@admin", "-@dangerous", "+restore", "+info", "-flushall", "-flushdb", "-swapdb")


class User:
    """A connection of a user with the pattern."""

    def __init__(self, s, pattern="a:*", *rights):
        s("ACL", "SETUSER", "some", "reset", "on", ">word", f"~{pattern}", *(rights or COMMANDS))
        self.client = redis.Redis(unix_socket_path=s.path, username="some", password="word", single_connection_client=True)

    def __call__(self, *arguments):
        return self.client.execute_command(*arguments)

    def error(self, *arguments):
        try:
            answer = self(*arguments)
        except redis.RedisError as error:
            return str(error)
        raise AssertionError(f"{arguments} answered {answer!r} and no error")


@contextlib.contextmanager
def victim(*options):
    """A server with a key that the user may not write, and the user; in the end the key is as it was."""
    with servers(lambda: Server(*options, port=free_port())) as s:
        s("BF.ADD", "b:victim", "x")
        before = state(s, "b:victim"), s("DUMP", "b:victim")
        yield s, User(s)
        assert (state(s, "b:victim"), s("DUMP", "b:victim")) == before and s("BF.EXISTS", "b:victim", "x") == 1
        assert all(entry[1] == "b:victim" or entry[1].startswith("a:") for entry in everything(s)[1]), everything(s)


def checked(header):
    check = 0xcbf29ce484222325
    for byte in header:
        check = (check ^ byte) * 0x100000001b3 % 2 ** 64
    return bytes(header) + check.to_bytes(8, "little")


def forged(*names, at=7, code=2, count=None):
    """A value with tombstones of these keys, as header and body."""
    body = b"".join(at.to_bytes(8, "little") + len(name).to_bytes(4, "little") + name.encode() for name in sorted(names))
    header = b"Rkey" + bytes([1, code, 0, 0]) + bytes(8) + (len(names) if count is None else count).to_bytes(8, "little") + bytes(24)
    return checked(header + len(body).to_bytes(8, "little")), body


def payload(name):
    """The same for RESTORE: a dump from a server of the user, on which the key was deleted."""
    with servers(Server) as other:
        linked(other)
        create(other, name), other("DEL", name)
        return other("DUMP", TOMBSTONES)


# ---- tombstones


def test_tombstones_in_chunks_under_a_key_of_the_user():
    with victim() as (s, user):
        header, body = forged("b:victim")
        user.error("ROOST.RESTORE", "a:x", 0, header + body)
        user.error("ROOST.RESTORE", "a:x", 1, header)
        user.error("BF.LOADCHUNK", "a:x", 1, header), user.error("CF.LOADCHUNK", "a:x", 1, header)
        assert not s.client.exists("a:x") and "reserved" in s.error("ROOST.RESTORE", "a:x", 0, header + body), "nobody may"
        nested = checked(b"Rkey" + bytes([1, 255, 0, 0]) + bytes(8) + (2).to_bytes(8, "little") + bytes(24) + (64).to_bytes(8, "little"))
        user("ROOST.RESTORE", "a:x", 0, nested + header)
        assert "reserved" in user.error("ROOST.RESTORE", "a:x", 2, body), "one that was begun is not finished"


def test_tombstones_as_a_dump_under_a_key_of_the_user():
    dump = payload("b:victim")
    with victim() as (s, user):
        assert user.error("RESTORE", "a:x", 0, dump) and not s.client.exists("a:x")
        assert s.error("RESTORE", "a:x", 0, dump) and not s.client.exists("a:x"), "nobody may"


def test_tombstones_under_their_own_key():
    dump, (header, body) = payload("b:victim"), forged("b:victim")
    with victim() as (s, user):
        for key in (TOMBSTONES, f"{TOMBSTONES}:{{5}}:0000abcd"):
            for command in (("RESTORE", key, 0, dump), ("ROOST.RESTORE", key, 0, header + body), ("COPY", "a:x", key), ("DEL", key),
                            ("RENAME", "a:x", key), ("ROOST.PUSH", key, 1, b""), ("SET", key, 1)):
                assert "NOPERM" in user.error(*command) or "permission" in user.error(*command), command


def test_copies_of_tombstones():
    with servers(lambda: Server(port=free_port())) as s:
        linked(s)
        create(s, "b:victim"), s("DEL", "b:victim")
        assert generation(s, "b:victim") == (1, False)
        user = User(s)
        assert "permission" in user.error("COPY", TOMBSTONES, "a:x") and "permission" in user.error("RENAME", TOMBSTONES, "a:x")
        assert s.error("COPY", TOMBSTONES, "a:x") and not s.client.exists("a:x"), "only under a name of their own"
        s("RENAME", TOMBSTONES, "a:x"), create(s, "b:victim")
        assert generation(s, "b:victim") == (0, True), "under another name they say nothing"
        user("RENAME", "a:x", "a:y"), s("DEBUG", "RELOAD")
        assert generation(s, "b:victim") == (0, True), "nor after a restart"
        user("DEL", "a:y")


def test_reserved_keys_hold_no_filters():
    """A link would carry a filter there to other regions, which then could not keep tombstones."""
    with servers(lambda: Server(port=free_port())) as s:
        create(s, "filter")
        frame, dump = s("ROOST.PULL", "filter", "0")[3], s("DUMP", "filter")
        for key in (TOMBSTONES, f"{TOMBSTONES}:{{5}}:0000abcd"):
            for command in (("BF.ADD", key, "x"), ("BF.RESERVE", key, "0.01", 100), ("CF.ADD", key, "x"), ("ROOST.CREATE", key), ("ROOST.SEEN", key, "x"),
                            ("ROOST.INCR", key, "x", 1), ("ROOST.MERGE", key, frame), ("ROOST.MERGESTORE", key, "filter"), ("ROOST.PUSH", key, 0, frame),
                            ("ROOST.PUSH", key, 1, b""), ("RESTORE", key, 0, dump), ("COPY", "filter", key), ("ROOST.RESTORE", key, 0, b"".join(OLD_CHUNKS)),
                            ("ROOST.RESTORE", key, 1, OLD_CHUNKS[0]), ("BF.LOADCHUNK", key, 1, OLD_CHUNKS[0])):
                s.error(*command)
                assert not s.client.exists(key), command
        s("BF.ADD", TOMBSTONES + "x", "x"), s("BF.ADD", f"{TOMBSTONES}:{{x}}:0000abcd", "x"), s("BF.ADD", f"{TOMBSTONES}:{{5}}:0000abcde", "x")


def test_no_generation_above_the_last():
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())) as s:
        linked(s)
        header, body = forged("key", at=LAST + 1)
        assert "bad data" in s.error("ROOST.RESTORE", TOMBSTONES, 0, header + body)
        for far in (LAST + 1, 2 ** 62, 2 ** 63 - 1, 2 ** 63, -1):
            assert "generation" in s.error("ROOST.PUSH", "key", far, b"")
            assert "generation" in s.error("ROOST.GENERATION", "key", far, TOMBSTONES) or "primary" in s.error("ROOST.GENERATION", "key", far, TOMBSTONES)
        high = bytearray(OLD_CHUNKS[0][:56])
        for far in (LAST + 1, 2 ** 63 - 1, 2 ** 64 - 1):
            high[8:16] = far.to_bytes(8, "little")
            assert "bad data" in s.error("ROOST.RESTORE", "key", 0, checked(high) + OLD_CHUNKS[1])
        assert s("ROOST.PUSH", "key", LAST, b"")[:2] == [b"merged", LAST]
        for _ in range(3):
            create(s, "key"), s("DEL", "key")
        create(s, "key")
        assert generation(s, "key") == (LAST, True), "the last one stays the last one"
        frame = s("ROOST.PULL", "key", "0")[3]
        assert s("ROOST.PUSH", "key", LAST, frame)[:2] == [b"same", LAST], "and is merged like any other"
        kept = everything(s)
        s.restart()
        assert everything(s) == kept


def test_tombstones_of_another_slot():
    with two_nodes() as (a, b):
        meet(a, b)
        slot = a("CLUSTER", "KEYSLOT", "{bird}")
        a = a if slot < 8192 else b
        create(a, "{bird}1"), a("DEL", "{bird}1")
        place = [key for key in of_slot(a, slot) if key.startswith(TOMBSTONES)][0]
        dump, (header, body) = a("DUMP", place), forged("{bird}2", "{fish}1")
        assert a("CLUSTER", "KEYSLOT", "{fish}1") != slot
        assert "reserved" in a.error("ROOST.RESTORE", place[:-8] + "0000abcd", 0, header + body)
        header, body = forged("{bird}2", "{bird}3")
        a("ROOST.RESTORE", place[:-8] + "0000abcd", 0, header + body)
        assert state(a, "{bird}2") == (7, None)
        other = next(f"{TOMBSTONES}:{{{tag}}}:0000abcd" for tag in range(1000) if (a("CLUSTER", "KEYSLOT", tag) < 8192) == (slot < 8192) and a("CLUSTER", "KEYSLOT", tag) != slot)
        assert a.error("RESTORE", other, 0, dump) and not a.client.exists(other)


# ---- commands


def test_every_command_on_a_key_of_others():
    with victim() as (s, user):
        user("BF.ADD", "a:x", "x"), user("CF.ADD", "a:cf", "x")
        frame = s("ROOST.PULL", "a:x", "0")[3]
        arguments = {"bf.reserve": ("0.01", 100), "bf.insert": ("ITEMS", "x"), "cf.insert": ("ITEMS", "x"), "cf.insertnx": ("ITEMS", "x"), "cf.reserve": (100,),
                     "bf.card": (), "bf.info": (), "cf.info": (), "bf.debug": (), "cf.debug": (), "cf.compact": (), "bf.scandump": (0,), "cf.scandump": (0,), "bf.loadchunk": (1, "x"), "cf.loadchunk": (1, "x"),
                     "roost.create": (), "roost.get": (), "roost.digest": (), "roost.info": (), "roost.incr": ("id", 1), "roost.merge": (frame,),
                     "roost.mergestore": ("a:x",), "roost.delta": ("0",), "roost.dump": (0,), "roost.restore": (0, "x"), "roost.sync": ("x",), "roost.ask": (0,),
                     "roost.pull": ("0",), "roost.push": (5, ""), "roost.identity": (1,), "roost.generation": (5, "a:tombstones")}
        tried = 0
        for name in [c.decode() for c in Speaker(s, 2)("COMMAND", "LIST", "FILTERBY", "MODULE", "roost")]:
            if name != "roost.summary":
                tried += 1
                assert "permission" in user.error(name, "b:victim", *arguments.get(name, ("x",))), name
        assert tried > 40
        assert "permission" in user.error("ROOST.MERGESTORE", "a:x", "b:victim") and "permission" in user.error("ROOST.GENERATION", "a:x", 5, TOMBSTONES)
        assert "primary" in user.error("ROOST.GENERATION", "a:x", 5, "a:y") and "primary" in user.error("ROOST.IDENTITY", "a:x", 5)
        user.error("EVAL", "return redis.call('BF.ADD', 'b:victim', 'y')", 0), user.error("EVAL", "return redis.call('DEL', 'b:victim')", 1, "a:x")


def test_summaries_change_nothing():
    with victim() as (s, user):
        kept = s("DEBUG", "DIGEST")
        assert [entry[1] for entry in summary(user)["changed"]] == ["b:victim"], "names are told to all who may ask for summaries"
        assert s("DEBUG", "DIGEST") == kept


def test_users_of_some_databases():
    """ROOST.SUMMARY has the names of keys of all databases, and the record of links is in the first one."""
    with victim() as (s, user):
        try:
            User(s, "*", *COMMANDS, "db=1")
        except redis.ResponseError:
            return  # all users may use all databases
        limited = User(s, "*", *COMMANDS, "db=1")
        limited("SELECT", 1)
        assert limited("BF.ADD", "a:own", "x") == 1
        name = summary(s)["link"]
        for words in (("ROOST.SUMMARY",), ("ROOST.SUMMARY", "COUNT", 1), ("ROOST.LINK", name, "HELLO", 5), ("EVAL", "return redis.call('ROOST.SUMMARY')", 0)):
            refusal = limited.error(*words)
            assert "alldbs" in refusal and "b:victim" not in refusal, refusal
        limited("DEL", "a:own")
        unlimited = User(s, "*", *COMMANDS, "alldbs")
        assert "b:victim" in [entry[1] for entry in summary(unlimited)["changed"]]


def test_dumps_of_others():
    """With the iterator of another key a user gets its own key, from the beginning."""
    with victim() as (s, user):
        user("BF.ADD", "a:x", "another"), user("CF.ADD", "a:cf", "x")
        frames = {key: s("ROOST.DELTA", key, 0)[1] for key in ("a:x", "a:cf")}
        at, header = s("ROOST.DUMP", "b:victim", 0)
        for command, key in ("ROOST.DUMP", "a:x"), ("BF.SCANDUMP", "a:x"), ("CF.SCANDUMP", "a:cf"):
            assert user(command, key, at)[1].endswith(frames[key]), (command, key)
        last, body = s("ROOST.DUMP", "b:victim", at)
        assert user("ROOST.DUMP", "a:x", last) == [0, b""], "no byte of either"
        assert body and s("ROOST.DUMP", "b:victim", last) == [0, b""]
        s("SELECT", 1), s("BF.ADD", "b:victim", "y")
        one = s("ROOST.DUMP", "b:victim", 0)[0]
        s("SELECT", 0)
        assert s("ROOST.DUMP", "b:victim", one)[1].endswith(s("ROOST.DELTA", "b:victim", 0)[1]), "of this database"


def test_sessions_of_others():
    with victim() as (s, user):
        user("BF.ADD", "a:x", "x")
        session, request = s("ROOST.ASK", "b:victim", 0)
        assert "no such session" in user.error("ROOST.ASK", "a:x", session, s("ROOST.SYNC", "b:victim", request))
        s("ROOST.ASK", "b:victim", session, s("ROOST.SYNC", "b:victim", request))


def test_a_migration_that_was_not_allowed():
    """A refused MIGRATE does not affect what other users delete."""
    with servers(lambda: Server(port=free_port())) as s:
        linked(s)
        s("BF.ADD", "b:victim", "x")
        user = User(s)
        assert "permission" in user.error("MIGRATE", "127.0.0.1", 1, "a:x", 0, 100)
        transaction(s, ("DUMP", "b:victim"), ("DEL", "b:victim"))
        assert generation(s, "b:victim") == (1, False)


def test_forged_generations_of_a_dump():
    """The generation of a value that is restored is that of its own key, and of no other."""
    with victim() as (s, user):
        header = bytearray(OLD_CHUNKS[0][:56])
        header[8:16] = (40).to_bytes(8, "little")
        user("ROOST.RESTORE", "a:x", 0, checked(header) + OLD_CHUNKS[1])
        dump = user("DUMP", "a:x")
        user("RESTORE", "a:y", 0, dump), user("COPY", "a:x", "a:z")
        assert [generation(s, key)[0] for key in ("a:x", "a:y", "a:z")] == [40, 0, 0] and generation(s, "b:victim") == (0, True)


if __name__ == "__main__":
    run(globals())
