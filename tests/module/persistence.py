#!/usr/bin/python3
"""Values survive files, replicas, promotion, copies and sudden death. Digests are equal before and after."""
import contextlib
import os
import random
import threading

import redis

from servers import KIND, MODULE, VALKEY, Server, Speaker, caught_up, free_port, replicate, run, same_digests, server, servers, wait_for

RECORDING = ("remove-wins", "last-writer-wins")  # semantics that record removals
KEYS = ["bf", "series", "fixed", "cf", "cf-fixed", "cuckoo", "set", "multi", *RECORDING]


def info_of(s, key):
    info = s("ROOST.INFO", key)
    return dict(zip(info[::2], info[1::2]))


def fill(s, salt="", count=400):
    """A filter of every kind, with removals; the same keys every time."""
    if not s.client.exists("fixed"):
        s("BF.RESERVE", "bf", "0.01", "100", "EXPANSION", "4")
        s("CONFIG", "SET", "roost.bf-kind", "bloom", "roost.bf-writers", 1)  # as earlier versions made it
        s("BF.RESERVE", "series", "0.01", "100", "EXPANSION", "4")
        s("CONFIG", "SET", "roost.bf-kind", "cuckoo", "roost.bf-writers", 4)
        s("BF.RESERVE", "fixed", "0.01", "5000", "NONSCALING")
        s("CF.RESERVE", "cf", "64", "BUCKETSIZE", "4"), s("CF.RESERVE", "cf-fixed", "5000", "EXPANSION", "0")
        s("ROOST.CREATE", "cuckoo", "KIND", "cuckoo", "CAPACITY", "5000")
        s("ROOST.CREATE", "set", "KIND", "orcuckoo", "SCALABLE", "CAPACITY", "100")
        s("ROOST.CREATE", "multi", "KIND", "orcuckoo", "MULTISET", "CAPACITY", "5000")
        for semantics in RECORDING:
            s("ROOST.CREATE", semantics, "KIND", "orcuckoo", "SEMANTICS", semantics)
    items = [f"{salt}{i}" for i in range(count)]
    s("BF.MADD", "bf", *items), s("BF.MADD", "series", *items), s("BF.INSERT", "fixed", "ITEMS", *items)
    s("CF.INSERT", "cf", "ITEMS", *items), s("CF.INSERTNX", "cf-fixed", "ITEMS", *items)
    for key in ("cuckoo", "set", "multi") + RECORDING:
        s("ROOST.ADD", key, *items)
    for key in RECORDING:  # a removal of what is not there changes the state, too
        s("ROOST.REM", key, *items[:50])
        assert s("ROOST.REM", key, "never there") == [0]
    for item in items[:20]:
        assert s("CF.DEL", "cf", item) == 1
    s("ROOST.REM", "set", *items[:50]), s("ROOST.REMONE", "multi", *items[:10])


def check_filled(s, salt="", count=400):
    items = [f"{salt}{i}" for i in range(count)]
    for key, begin in ("bf", 0), ("series", 0), ("fixed", 0), ("cf", 20), ("cf-fixed", 0), ("cuckoo", 0), ("set", 50), ("multi", 10), \
            *((key, 50) for key in RECORDING):
        assert all(s("ROOST.EXISTS", key, *items[begin:])), key
    for key in ("set",) + RECORDING:
        assert not any(s("ROOST.EXISTS", key, *items[:50])), "what was removed came back"


def digests(s):
    return {key: (s.digest(key), s("DEBUG", "DIGEST-VALUE", key)) for key in KEYS}


def test_files_keep_everything():
    with server("--appendonly", "yes", "--appendfsync", "always") as s:
        fill(s)
        before, card = digests(s), s("BF.CARD", "fixed")
        for preamble in "yes", "no":
            s("CONFIG", "SET", "aof-use-rdb-preamble", preamble)
            s("BGREWRITEAOF")
            quiet(s)
            wait_for(lambda: s.client.info("persistence")["aof_last_bgrewrite_status"] == "ok", "its success")
            s("DEBUG", "LOADAOF")
            assert digests(s) == before, preamble
            s.restart()
            assert digests(s) == before and s("BF.CARD", "fixed") == card, preamble
        s("DEBUG", "RELOAD")
        assert digests(s) == before
        check_filled(s)
        fill(s, "after-")
        check_filled(s, "after-")
        before = digests(s)
        s.restart()
        assert digests(s) == before, "additions after a rewrite"
        s("SAVE")
        s.restart()
        assert digests(s) == before


def test_a_snapshot_alone():
    with server() as s:
        fill(s)
        before = digests(s)
        s("SAVE")
        s.options += ["--dbfilename", "dump.rdb"]
        s.restart()
        assert digests(s) == before
        fill(s, "more-")
        check_filled(s, "more-"), check_filled(s)
        info = s("ROOST.INFO", "series")
        assert info[info.index(b"actors") + 1] == 1, "a restart used up a share"


def test_replicas_and_promotion():
    with servers(*[lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())] * 2) as (a, b):
        fill(a)
        replicate(b, a)
        same_digests(a, b, KEYS)
        fill(a, "later-")  # through the stream
        for i in range(50):
            a("BF.ADD", "bf", f"single-{i}"), a("CF.ADD", "cf", f"single-{i}"), a("CF.ADD", "made", f"{i}"), a("BF.ADD", "made too", i)
            a("CF.ADD", "small", i), a("CF.ADD", "small", i), a("CF.DEL", "small", i - 1)  # replicated as a whole, and later by deltas
        a("COPY", "bf", "bf-copy"), a("BF.ADD", "bf-copy", "x"), a("RENAME", "made", "renamed")
        a("ROOST.MERGESTORE", "bf-copy", "bf", "bf-copy")
        a("ROOST.ADD", "set", "later-399")  # it is there already, and yet the state has a new dot
        caught_up(b, a)
        same_digests(a, b, KEYS + ["renamed", "made too", "bf-copy", "small"])
        assert "read only" in b.error("BF.ADD", "bf", "x") and a("BF.CARD", "bf") == b("BF.CARD", "bf")
        # a break that is mended from the backlog
        fulls = a.client.info("stats")["sync_full"]
        b("CLIENT", "KILL", "TYPE", "MASTER")
        fill(a, "behind the break ")
        wait_for(lambda: b.client.info("replication")["master_link_status"] == "up", "the link")
        caught_up(b, a)
        assert a.client.info("stats")["sync_full"] == fulls
        same_digests(a, b, KEYS)
        # promotion: another server goes on, and its dots are its own
        before = actor(a, "cf")
        b("REPLICAOF", "NO", "ONE")
        fill(b, "promoted-"), check_filled(b, "later-")
        assert actor(b, "cf") not in (before, "0" * 16)
        replicate(a, b), caught_up(a, b)
        same_digests(a, b, KEYS)
        before = digests(b)
        for s in a, b:
            quiet(s)
        b.restart(), a.restart()
        assert digests(b) == before, "the AOF of what was a replica"


def test_replicas_decide_nothing():
    """Other defaults, a smaller limit: a replica repeats its primary, and so does a server that loads its AOF."""
    other = [x for name, value in (("bf-capacity", 7), ("bf-error-rate", "0.2"), ("bf-expansion", 8), ("cf-capacity", 5000), ("cf-bucket-size", 8),
                                   ("cf-expansion", 4), ("memory-limit", "2kb"), ("bf-writers", 9), ("bf-kind", "bloom")) for x in (f"roost.{name}", value)]
    with servers(*[lambda: Server("--appendonly", "yes", "--appendfsync", "always", port=free_port())] * 2) as (a, b):
        b("CONFIG", "SET", *other)
        replicate(b, a)
        a("BF.RESERVE", "full", "0.01", "10", "NONSCALING")
        a("BF.MADD", "full", *range(30)), a("BF.MADD", "b", *range(3000)), a("CF.INSERT", "c", "ITEMS", *range(3000))
        a("COPY", "b", "copy"), a("RESTORE", "restored", 0, a("DUMP", "c"))
        a.client.eval("redis.call('BF.ADD', KEYS[1], 'script') redis.call('CF.ADD', KEYS[1] .. 'c', 'script')", 1, "s")
        with a.client.pipeline(transaction=True) as transaction:
            transaction.execute_command("BF.ADD", "t", "x"), transaction.execute_command("CF.DEL", "c", "5"), transaction.execute()
        caught_up(b, a)
        keys = ["full", "b", "c", "s", "sc", "t", "copy", "restored"]
        same_digests(a, b, keys)
        assert a("BF.CARD", "full") == b("BF.CARD", "full") <= 10 and a("BF.INFO", "b")[:2] == b("BF.INFO", "b")[:2]
        assert a("BF.INFO", "b")[4:] == b("BF.INFO", "b")[4:] and info_of(b, "b")[b"kind"] == b"cuckoo"
        assert "memory" in a.error("BF.RESERVE", "new", "0.01", "100000000000", "NONSCALING").lower()
        before = {key: a.digest(key) for key in keys}
        a("CONFIG", "SET", *other), a("CONFIG", "SET", "aof-use-rdb-preamble", "no")
        a.options += [y for x in range(0, len(other), 2) for y in ("--" + other[x], str(other[x + 1]))]
        a.restart()
        assert {key: a.digest(key) for key in keys} == before, "the AOF was decided anew"


def quiet(s):
    """No file is being written."""
    def is_quiet():
        info = s.client.info("persistence")
        return not info["aof_rewrite_in_progress"] and not info["aof_rewrite_scheduled"] and not info["rdb_bgsave_in_progress"]
    wait_for(is_quiet, "files")


def actor(s, key):
    info = s("ROOST.INFO", key)
    return info[info.index(b"actor") + 1].decode()


def test_diskless_loading():
    with servers(lambda: Server(port=free_port()),
                 lambda: Server("--repl-diskless-load", "swapdb", port=free_port())) as (a, b):
        fill(a), fill(b, "old-")
        replicate(b, a)
        same_digests(a, b, KEYS)
        assert b("ROOST.SUMMARY")[1] == a("ROOST.SUMMARY")[1]


def test_from_redis_to_valkey():
    if KIND != "redis" or not os.path.exists(VALKEY) or "sanitize" in MODULE:  # others may be newer; Valkey mixes two allocators
        return
    with servers(lambda: Server(port=free_port()), lambda: Server(program=VALKEY, port=free_port())) as (old, new):
        fill(old)
        replicate(new, old)
        fill(old, "later-")
        caught_up(new, old)
        same_digests(old, new, KEYS)
        new("REPLICAOF", "NO", "ONE")
        fill(new, "over there "), check_filled(new, "later-")


def test_moving_and_copying():
    with servers(*[lambda: Server(port=free_port())] * 2) as (a, b):
        fill(a)
        before = digests(a)
        for key in KEYS:
            assert a("COPY", key, key + "-copy") == 1 and a.digest(key + "-copy") == before[key][0]
            a("RESTORE", key + "-restored", 0, a("DUMP", key))
            assert a.digest(key + "-restored") == before[key][0] and actor(a, key + "-restored") == "0" * 16
            assert actor(a, key + "-copy") == "0" * 16
            a("MIGRATE", "127.0.0.1", b.port, key, 0, 60000, "COPY")
            assert b.digest(key) == before[key][0] and actor(b, key) == "0" * 16
        # a filter for one writer goes on with its one share, wherever it moves; one for several draws another
        a("ROOST.CREATE", "two", "KIND", "bloom", "SCALABLE", "CAPACITY", "100", "WRITERS", "2"), a("ROOST.ADD", "two", "x"), a("COPY", "two", "two-copy")
        a("ROOST.ADD", "two-copy", "y"), a("BF.ADD", "series-copy", "y"), a("BF.ADD", "series-restored", "y"), b("BF.ADD", "series", "y")
        for s, key, writers in (a, "two-copy", 2), (a, "series-copy", 1), (a, "series-restored", 1), (b, "series", 1):
            info = s("ROOST.INFO", key)
            assert info[info.index(b"actors") + 1] == writers, key
        # both go on from the same state; nothing is lost when they meet
        a("CF.ADD", "cf", "from a"), a("CF.ADD", "cf-copy", "from the copy"), b("CF.ADD", "cf", "from b")
        a("ROOST.MERGE", "cf", b("ROOST.DELTA", "cf", "0")[1]), a("ROOST.MERGESTORE", "all", "cf", "cf-copy")
        assert a("CF.MEXISTS", "all", "from a", "from the copy", "from b") == [1, 1, 1]
        assert len({actor(a, "cf"), actor(a, "cf-copy"), actor(b, "cf")}) == 3


def test_memory_is_given_back():
    with server() as s:
        empty = s.client.info("roost")["roost_bytes_memory"]
        for how in ("DEL",), ("UNLINK",), ("FLUSHALL",), ("FLUSHALL", "ASYNC"), ("FLUSHDB", "ASYNC"):
            fill(s), s("BF.RESERVE", "large", "0.01", "1000000", "NONSCALING")
            assert s("MEMORY", "USAGE", "large") > 1000000 and s.client.info("roost")["roost_keys"] == len(KEYS) + 1
            s(*how, *([*KEYS, "large"] if len(how) == 1 and how[0] != "FLUSHALL" else []))
            wait_for(lambda: s.client.info("roost")["roost_bytes_memory"] == empty, f"the memory after {how}")
            assert s("ROOST.SUMMARY")[5] == 0


def test_loading_in_chunks_reaches_replicas():
    with servers(*[lambda: Server("--appendonly", "yes", port=free_port())] * 2) as (a, b):
        replicate(b, a)
        a("BF.RESERVE", "b", "0.01", "15000000", "NONSCALING")  # above 16 MiB: several chunks
        a("BF.MADD", "b", *range(1000))
        chunks, iterator = [], 0
        while True:
            iterator, data = a("BF.SCANDUMP", "b", iterator)
            if iterator == 0:
                break
            chunks.append((iterator, data))
        for number, (iterator, data) in enumerate(chunks):
            assert a("BF.LOADCHUNK", "c", iterator, data) == b"OK"
            if number == 0:
                assert "not loaded completely" in a.error("BF.ADD", "c", "x")
                a("DEBUG", "RELOAD")
        caught_up(b, a)
        assert a.digest("c") == a.digest("b") == b.digest("c") == b.digest("b")


def acknowledged(s, salt, acks, limit):
    """Adds until the server dies; records what was acknowledged."""
    client = redis.Redis(unix_socket_path=s.path)
    try:
        for i in range(limit):
            client.execute_command("BF.ADD", "bf", f"{salt}-{i}")
            acks["bf"].append(f"{salt}-{i}")
            client.execute_command("CF.ADD", "cf", f"{salt}-{i}")
            acks["cf"].append(f"{salt}-{i}")
            client.execute_command("ROOST.ADD", "set", f"{salt}-{i}")
            acks["set"].append(f"{salt}-{i}")
            if i % 7 == 3:
                gone = f"{salt}-{i - 1}"
                acks["set"].remove(gone)  # from now on it may be there or not
                client.execute_command("ROOST.REM", "set", gone)
    except (redis.RedisError, OSError):
        pass
    finally:
        client.close()


def exchange(s, witness, key):
    state = s("ROOST.DELTA", key, "0")[1]
    witness("ROOST.MERGE", key, state)


def test_sudden_death(times=int(os.environ.get("ROOST_DEATHS", "20"))):
    """kill -9 at random points: whatever was acknowledged is there, and a witness that took in states in between finds no
    addition under a name that another one had before."""
    acks, actors = {"bf": [], "cf": [], "set": []}, set()
    with servers(lambda: Server("--appendonly", "yes", "--appendfsync", "always"), Server) as (s, witness):
        s("BF.RESERVE", "bf", "0.01", "500"), s("CF.RESERVE", "cf", "200")
        s("ROOST.CREATE", "set", "KIND", "orcuckoo", "SCALABLE", "CAPACITY", "200")
        for life in range(times):
            writer = threading.Thread(target=acknowledged, args=(s, f"life-{life}", acks, 100000))
            wanted = len(acks["set"]) + random.randrange(1, 60)
            writer.start()
            wait_for(lambda: len(acks["set"]) >= wanted, "additions")
            if random.random() < 0.5:
                for key in "cf", "set":
                    exchange(s, witness, key)
            s.kill()
            writer.join()
            s.start()
            for key, added in acks.items():
                assert all(s("ROOST.EXISTS", key, *added)), (life, key)
            for key in "cf", "set":
                s("ROOST.ADD", key, f"born again {life}")
                assert actor(s, key) not in actors, "an actor had two lives"
                actors.add(actor(s, key))
                exchange(s, witness, key)
        for key in "cf", "set":
            exchange(witness, s, key)
            assert s.digest(key) == witness.digest(key)
            assert all(witness("ROOST.EXISTS", key, *acks[key])), key
        assert len(acks["bf"]) >= times and len(actors) == 2 * times


def test_clients_and_replicas_stay_in_their_database():
    """Some releases of Valkey leave a client in the database of the last event that a module heard of, also that of a replica's primary."""
    with servers(lambda: Server(port=free_port()), lambda: Server(port=free_port())) as (primary, replica):
        replicate(replica, primary)
        speak = Speaker(primary, 2)
        database = lambda: int(speak("CLIENT", "INFO").split(b" db=")[1].split()[0])
        here = []

        def stays(number):
            here.append((number, f"after {len(here)}"))
            assert database() == number and speak("SET", here[-1][1], "x") == "OK", here[-1]
        for kind, make in (("plain", ("SET", "{}", "x")), ("filter", ("BF.ADD", "{}", "x"))):
            for number in (0, 2):
                speak("SELECT", number)
                name = f"{kind}-{number}"
                commands = lambda key: [[word.replace("{}", key) for word in make], ["COPY", key, key, "DB", "5"],
                                        ["COPY", key, key + "-copy"], ["MOVE", key, "6"]]
                for command in commands(name):
                    speak(*command), stays(number)
                speak("MULTI"), [speak(*command) for command in commands(name + "-multi")], speak("EXEC"), stays(number)
                script = "".join("redis.call(" + ",".join(f"'{word}'" for word in command) + ") " for command in commands(name + "-script"))
                speak("EVAL", script + f"redis.call('SET', 'script-{name}', 'x')", "0"), stays(number)
                assert speak("EXISTS", f"script-{name}") == 1, name
                other = 2 - number
                speak("MULTI"), speak("SELECT", other), [speak(*command) for command in commands(name + "-select")]
                speak("SET", f"inside-{name}", "x"), speak("EXEC"), stays(other)
                assert speak("EXISTS", f"inside-{name}") == 1, name
        caught_up(replica, primary)
        speak("SELECT", 0), speak("DEBUG", "RELOAD")
        assert database() == 0
        speak.close()
        for number, key in here:
            with contextlib.closing(redis.Redis(unix_socket_path=replica.path, db=number)) as client:
                assert client.exists(key), (number, key)
        assert primary("DEBUG", "DIGEST") == replica("DEBUG", "DIGEST")


if __name__ == "__main__":
    run(globals())
