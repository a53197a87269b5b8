#!/usr/bin/python3
"""roost link: regions that are real servers, filled apart, deleted from, restarted, restored; links that are killed and doubled."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import redis

from cluster import owners
from deployment import make_cluster, myself, node as cluster_node
from deployment import authority, certificate, tls_server
from servers import PATIENCE, ROOT, Server, free_port, name_server, run, server, servers, wait_for

ROOST = os.environ.get("ROOST", os.path.join(ROOT, "build", "roost"))
FAST = "--interval=20ms"


def url(s, login=""):
    return f"redis://{login}127.0.0.1:{s.port}"


def region(*options, **how):
    return lambda: Server(*options, port=free_port(), **how)


class Link:
    """A link under way; its events and what it says are collected as they come."""

    def __init__(self, *regions, options=(FAST,), environment=None, urls=None):
        self.regions = regions
        self.command = [ROOST, "link", *(urls or [url(s) for s in regions]), "--json", *options]
        self.environment = {**os.environ, **(environment or {})}
        self.start()

    def start(self):
        self.events = []
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def of(self, name):
        return [event for event in self.events if event["event"] == name]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        status = self.stop()
        assert kind or status == 0, (status, self.events[-5:])
        if kind:
            print("# last events:", *self.events[-8:], sep="\n#   ")


def once(*regions, options=(), urls=None, environment=None):
    done = subprocess.run([ROOST, "link", *(urls or [url(s) for s in regions]), "--once", FAST, *options], capture_output=True,
                          text=True, timeout=PATIENCE, env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


def digests(s, keys):
    return [s.digest(key) if s("EXISTS", key) else None for key in keys]


def total(s):
    return s("ROOST.SUMMARY", "COUNT", 1)[1]


def in_step(regions, keys):
    """Equal, and there at all."""
    first = digests(regions[0], keys)
    return None not in first and all(digests(s, keys) == first for s in regions[1:])


def wait_in_step(regions, keys):
    wait_for(lambda: in_step(regions, keys), f"{keys} to be in step")


def found(s, key, items):
    return sum(s("ROOST.EXISTS", key, *items))


def items(salt, count):
    return [f"{salt}-{i}" for i in range(count)]


KINDS = {
    "bf": None,
    "cf": None,
    "orcuckoo": ["KIND", "orcuckoo", "CAPACITY", 5000],
    "orcuckoo-scalable": ["KIND", "orcuckoo", "SCALABLE", "CAPACITY", 100],
    "multiset": ["KIND", "orcuckoo", "CAPACITY", 5000, "MULTISET"],
    "cuckoo": ["KIND", "cuckoo", "CAPACITY", 5000],
    "cuckoo-scalable": ["KIND", "cuckoo", "SCALABLE", "CAPACITY", 100],
    "bloom": ["KIND", "bloom", "CAPACITY", 5000],
    "bloom-classic": ["KIND", "bloom", "CAPACITY", 5000, "LAYOUT", "classic", "FPR", 0.001],
    "bloom-scalable": ["KIND", "bloom", "SCALABLE", "CAPACITY", 100, "WRITERS", 4],
}
REMOVABLE = [key for key in KINDS if key.startswith("orcuckoo") or key == "multiset"]


def create(s, keys=KINDS):
    for key in keys:
        if KINDS[key]:
            s("ROOST.CREATE", key, *KINDS[key])


def add(s, key, elements):
    if key in ("bf", "cf"):
        s(f"{key.upper()}.INSERT", key, "ITEMS", *elements)
    else:
        s("ROOST.ADD", key, *elements)


def check_all_kinds(regions):
    """Adds in every region, removals of what was seen; then all hold the same, and what they should."""
    keys = list(KINDS)
    for s in regions:
        create(s)
    with Link(*regions) as link:
        for number, s in enumerate(regions):
            for key in keys:
                add(s, key, items(f"first-{number}", 300))
        wait_in_step(regions, keys)
        for number, s in enumerate(regions):
            for key in keys:
                add(s, key, items(f"second-{number}", 200))
            for key in REMOVABLE:
                s("ROOST.REM", key, *items(f"first-{(number + 1) % len(regions)}", 100))
            s("CF.DEL", "cf", f"first-{number}-299")
        wait_in_step(regions, keys)
        for s in regions:
            for key in keys:
                for number in range(len(regions)):
                    assert found(s, key, items(f"second-{number}", 200)) == 200, key
                    assert found(s, key, items(f"first-{number}", 299)[100:]) == 199, key
                    if key in REMOVABLE:
                        assert found(s, key, items(f"first-{number}", 100)) <= 2, key
        assert not link.of("conflict"), link.of("conflict")


def test_two_regions_agree_on_all_kinds():
    with servers(region(), region()) as regions:
        check_all_kinds(regions)


def test_three_regions_agree_on_all_kinds():
    with servers(region(), region(), region()) as regions:
        check_all_kinds(regions)


def configuration(s, key):
    info = s("ROOST.INFO", key)
    fields = dict(zip(info[::2], info[1::2]))
    return [fields.get(name) for name in (b"kind", b"scalable", b"capacity", b"fpr_promised", b"writers", b"growth", b"bucket_size")]


def test_a_missing_key_is_made_with_all_its_settings():
    with servers(region(), region()) as (a, b):
        a("BF.RESERVE", "reserved", 0.0001, 777, "EXPANSION", 4)
        a("CF.RESERVE", "cuckoo", 4000, "BUCKETSIZE", 4)
        a("SET", "other", "a string is nobody's business")
        odd = [b"nul\0in\x01it", b"new\nline", "r\u00e9gion".encode(), b"\xff\xfe", b"x" * 5000, b"*[?", b"{tag}x"]
        for name in odd:
            b("ROOST.CREATE", name, "KIND", "orcuckoo", "CAPACITY", 100)
        with Link(a, b) as link:
            keys = ["reserved", "cuckoo", *odd]
            wait_in_step([a, b], keys)
            for key in "reserved", "cuckoo":
                infos = [configuration(s, key) for s in (a, b)]
                assert infos[0] == infos[1], infos
            a("ROOST.ADD", odd[0], "swift"), b("BF.ADD", "reserved", "swift")
            wait_in_step([a, b], keys)
            assert b("ROOST.EXISTS", odd[0], "swift") == [1]
            assert not b("EXISTS", "other") and link.of("seeded")


def test_other_databases_and_a_match():
    with servers(region(), region()) as (a, b):
        a("CONFIG", "SET", "roost.bf-writers", 2)
        for database in 0, 3:
            a("SELECT", database)
            for name in "in-1", "in-2", "out":
                a("BF.ADD", name, f"{database}-{name}")
        a("SELECT", 0)
        assert once(a, b, options=["-q", "--match", "i[l-n]-?"]) == (0, "", "")
        other = redis.Redis(unix_socket_path=b.path, db=3)
        assert sorted(b("KEYS", "in-*")) == sorted(other.keys()) == [b"in-1", b"in-2"]
        assert other.execute_command("BF.EXISTS", "in-1", "3-in-1") == 1


def test_deletion_travels_and_is_not_undone():
    with servers(region(), region(), region()) as regions:
        a, b, c = regions
        for key in "plain", "again", "expiring", "renamed":
            a("ROOST.CREATE", key, "KIND", "orcuckoo", "SCALABLE")
            a("ROOST.ADD", key, *items("old", 500))
        with Link(*regions) as link:
            wait_in_step(regions, ["plain", "again", "expiring", "renamed"])
            b("DEL", "plain"), c("UNLINK", "again"), a("PEXPIRE", "expiring", 1), b("RENAME", "renamed", "renamed-now")
            wait_for(lambda: not any(s("EXISTS", "plain", "again", "expiring", "renamed") for s in regions), "all to be deleted")
            wait_in_step(regions, ["renamed-now"])
            a("ROOST.CREATE", "again", "KIND", "cuckoo", "CAPACITY", 100)
            a("ROOST.ADD", "again", "new")
            wait_in_step(regions, ["again"])
            assert all(found(s, "again", ["new"]) == 1 and found(s, "again", items("old", 50)) < 5 for s in regions)
            assert link.of("deleted") and not link.of("conflict"), link.events


def test_deletion_while_a_region_is_away():
    with servers(region("--appendonly", "yes", "--appendfsync", "always"), region()) as (a, b):
        a("ROOST.CREATE", "kept", "KIND", "orcuckoo", "SCALABLE"), a("ROOST.CREATE", "gone", "KIND", "orcuckoo", "SCALABLE")
        with Link(a, b):
            wait_in_step([a, b], ["kept", "gone"])
        a("ROOST.ADD", "kept", "here"), a("ROOST.ADD", "gone", "concurrently")
        a.kill()
        b("DEL", "gone"), b("ROOST.ADD", "kept", "there")
        a.start()
        with Link(a, b):
            wait_in_step([a, b], ["kept"])
            wait_for(lambda: not a("EXISTS", "gone"), "the deletion to arrive")
        assert found(b, "kept", ["here", "there"]) == 2 and not b("EXISTS", "gone")


def test_what_is_lost_is_seeded_again():
    with servers(region(), region()) as (a, b):
        for key in items("key", 20):
            a("ROOST.CREATE", key, "KIND", "orcuckoo", "SCALABLE")
            a("ROOST.ADD", key, "element")
        with Link(a, b) as link:
            wait_in_step([a, b], items("key", 20))
            seeded = len(link.of("seeded"))
            b("FLUSHALL")
            wait_in_step([a, b], items("key", 20))
            wait_for(lambda: len(link.of("seeded")) >= seeded + 20, "the events of the seeds")
            assert found(b, "key-7", ["element"]) == 1


def conflict_lines(text):
    return [line for line in text.splitlines() if "key " in line]


def test_conflicts_are_told_and_stop_nothing_else():
    with servers(region(), region(), region()) as regions:
        a, b, c = regions
        for s in a, b:
            s("ROOST.CREATE", "odd", "KIND", "cuckoo", "CAPACITY", 1000)
        c("ROOST.CREATE", "odd", "KIND", "bloom", "CAPACITY", 1000)
        a("ROOST.ADD", "odd", "a"), b("ROOST.ADD", "odd", "b")
        a("ROOST.CREATE", "typed", "KIND", "cuckoo", "CAPACITY", 1000)
        b("SET", "typed", "a string")
        a("ROOST.CREATE", "fine", "KIND", "cuckoo", "CAPACITY", 1000)
        status, out, said = once(*regions)
        assert status == 1 and re.fullmatch(r"3 keys in 3 regions, not all equal; .*\n", out), (status, out, said)
        lines = conflict_lines(said)
        assert any(f" key odd: not merged with 127.0.0.1:{c.port}: kind cuckoo here, bloom there" in line
                   or f":{c.port}: key odd: not merged with " in line and "kind bloom here, cuckoo there" in line for line in lines), said
        assert any(line.startswith(f"roost: 127.0.0.1:{b.port}: key typed: WRONGTYPE") for line in lines), said
        assert in_step(regions, ["fine"]) and in_step([a, b], ["odd"]) and in_step([a, c], ["typed"])
        with Link(*regions) as link:
            wait_for(lambda: {e["key"] for e in link.of("conflict")} == {"odd", "typed"}, "the conflicts")
            a("ROOST.ADD", "fine", "still"), b("ROOST.ADD", "odd", "and on")
            wait_in_step(regions, ["fine"])
            wait_in_step([a, b], ["odd"])
            told = len(link.of("conflict"))
            a("ROOST.ADD", "fine", "more")
            wait_in_step(regions, ["fine"])
            assert len(link.of("conflict")) == told, "told once"
            b("DEL", "typed"), a("ROOST.ADD", "typed", "another try"), c("DEL", "odd")
            wait_in_step(regions, ["typed"])
            wait_for(lambda: not any(s("EXISTS", "odd") for s in regions), "a deletion to win over both")


DIFFERENT = {
    "capacity": (["KIND", "bloom", "CAPACITY", 1000], ["KIND", "bloom", "CAPACITY", 2000], {"1000", "2000"}),
    "fpr": (["KIND", "cuckoo", "CAPACITY", 9, "FPR", 0.01], ["KIND", "cuckoo", "CAPACITY", 9, "FPR", 0.001], {"0.01", "0.001"}),
    "layout": (["KIND", "bloom", "CAPACITY", 9, "LAYOUT", "blocked"], ["KIND", "bloom", "CAPACITY", 9, "LAYOUT", "classic"], {"blocked", "classic"}),
    "seed": (["KIND", "bloom", "CAPACITY", 9, "SEED", 1], ["KIND", "bloom", "CAPACITY", 9, "SEED", 2 ** 64 - 1], {"0x1", "0xffffffffffffffff"}),
    "size": (["KIND", "bloom", "CAPACITY", 900], ["KIND", "bloom", "CAPACITY", 900, "SCALABLE"], {"fixed", "scalable"}),
    "mode": (["KIND", "orcuckoo", "CAPACITY", 9], ["KIND", "orcuckoo", "CAPACITY", 9, "MULTISET"], {"set", "multiset"}),
    "entry": (["KIND", "orcuckoo", "CAPACITY", 9, "MULTISET", "BITS", 8, "ENTRY", 32], ["KIND", "orcuckoo", "CAPACITY", 9, "MULTISET", "BITS", 8, "ENTRY", 64], {"32", "64"}),
    "writers": (["KIND", "cuckoo", "SCALABLE", "WRITERS", 3], ["KIND", "cuckoo", "SCALABLE", "WRITERS", 5], {"3", "5"}),
    "schedule": (["KIND", "cuckoo", "SCALABLE", "SCHEDULE", "halving"], ["KIND", "cuckoo", "SCALABLE", "SCHEDULE", "quadratic"], {"halving", "quadratic"}),
    "window": (["KIND", "window", "WINDOW", "60"], ["KIND", "window", "WINDOW", "90"], {"60 ms", "90 ms"}),
}


def test_once_says_what_it_did():
    with servers(region(), region()) as (a, b):
        for key in items("key", 3):
            a("ROOST.CREATE", key, "KIND", "cuckoo", "CAPACITY", 1000), a("ROOST.ADD", key, "x")
        peer = lambda s, done: rf"; 127\.0\.0\.1:{s.port}: {done}[0-9.]+ k?B sent, [0-9.]+ k?B received"
        status, out, said = once(a, b)
        assert (status, said) == (0, "") and re.fullmatch("3 keys in 2 regions, all equal" + peer(a, "") + peer(b, "3 created, ") + "\n", out), out
        b("ROOST.ADD", "key-1", "y"), b("DEL", "key-2")
        status, out, said = once(a, b)
        assert status == 0 and re.fullmatch("2 keys in 2 regions, all equal; .*1 deleted, .*\n", out) and "1 synced" in out, out
        assert once(a, b, options=("-q",)) == (0, "", ""), "-q is silent"


def test_a_conflict_names_the_option_that_differs():
    with servers(region(), region()) as (a, b):
        for key, (here, there, _) in DIFFERENT.items():
            a("ROOST.CREATE", key, *here), b("ROOST.CREATE", key, *there)
            for s in a, b:
                s("ROOST.SEEN" if key == "window" else "ROOST.ADD", key, "x")
        status, out, _ = once(a, b, options=("--json",))
        events = [event for event in map(json.loads, out.splitlines()) if event["event"] == "conflict"]
        assert status == 1 and sorted(event["key"] for event in events) == sorted(DIFFERENT), events
        for event in events:
            assert event["option"] == event["key"] and {event["value"], event["other_value"]} == DIFFERENT[event["key"]][2], event
            assert {event["peer"], event["other_peer"]} == {f"127.0.0.1:{s.port}" for s in (a, b)}, event
        status, _, said = once(a, b, options=("--match", "capacity"))
        assert status == 1 and (f":{a.port}: key capacity: not merged with 127.0.0.1:{b.port}: capacity 1000 here, 2000 there" in said
                                or f":{b.port}: key capacity: not merged with 127.0.0.1:{a.port}: capacity 2000 here, 1000 there" in said), said
        b("ACL", "SETUSER", "default", "-roost.info")
        status, _, said = once(a, b, options=("--match", "capacity"))
        assert status == 1 and "created with other options; compare ROOST.INFO" in said, "a server that does not tell"


def test_memory_limit_is_a_conflict():
    with servers(region(), region()) as (a, b):
        b("CONFIG", "SET", "roost.memory-limit", 50000)
        a("ROOST.CREATE", "big", "KIND", "bloom", "CAPACITY", 1000000), a("ROOST.CREATE", "small", "KIND", "bloom", "CAPACITY", 100)
        status, _, said = once(a, b)
        assert status == 1 and len(conflict_lines(said)) == 1 and f"{b.port}: key big: " in said, said
        assert in_step([a, b], ["small"])
        b("CONFIG", "SET", "roost.memory-limit", 0)
        assert once(a, b)[0] == 0 and in_step([a, b], ["big"])


def change(regions, round):
    for number, s in enumerate(regions):
        s("ROOST.ADD", "busy", *items(f"{round}-{number}", 20))
        s("ROOST.REM", "busy", *items(f"{round - 1}-{number}", 10))
        s("BF.ADD", f"bf-{round % 5}", f"{round}-{number}")


def check_changes(regions, rounds):
    wait_in_step(regions, ["busy", *items("bf", 5)])
    for s in regions:
        for round in range(rounds):
            for number in range(len(regions)):
                left = items(f"{round}-{number}", 20)[10 if round + 1 < rounds else 0:]
                assert found(s, "busy", left) == len(left), (round, number)


def test_links_killed_at_any_moment():
    with servers(region(), region(), region()) as regions:
        for s in regions:
            s("ROOST.CREATE", "busy", "KIND", "orcuckoo", "SCALABLE")
        with Link(*regions) as link:
            for round in range(24):
                change(regions, round)
                if round % 4 == 3:
                    wait_for(lambda: len(link.events) > 4 + round % 3, "it to be at work")
                    link.kill()
                    link.start()
            check_changes(regions, 24)


def test_three_links_at_once():
    with servers(region(), region(), region()) as regions:
        a, b, c = regions
        for s in regions:
            s("ROOST.CREATE", "busy", "KIND", "orcuckoo", "SCALABLE")
        with Link(a, b, c), Link(b, c, a), Link(c, a):
            for round in range(12):
                change(regions, round)
            check_changes(regions, 12)
            b("DEL", "busy")
            wait_for(lambda: not any(s("EXISTS", "busy") for s in regions), "the deletion")
            a("ROOST.CREATE", "busy", "KIND", "orcuckoo", "SCALABLE")
            a("ROOST.ADD", "busy", "again")
            wait_for(lambda: found(c, "busy", ["again"]) == 1, "a key that was made again")
            wait_in_step(regions, ["busy"])


def test_rounds_that_wait_for_room_go_on():
    """Whole states pass some at a time. What those that wait were to seed is deleted meanwhile: nobody is left waiting for ever."""
    with servers(region(), region()) as (a, b):
        names = [f"key {i}" for i in range(200)]
        fill = a.client.pipeline(transaction=False)
        for name in names:
            fill.execute_command("ROOST.CREATE", name, "CAPACITY", 100)
        with Link(a, b):
            wait_for(lambda: a("EXISTS", "roost:links") and b("EXISTS", "roost:links"), "the link")
            b("CLIENT", "PAUSE", 60000, "WRITE")
            fill.execute()
            wait_for(lambda: any(c["cmd"] == "roost.push" for c in b.client.client_list()), "pushes that the region holds up")
            a.client.delete(*names)
            time.sleep(0.3)  # until the link has heard of it; should it take longer, there is less to be seen here
            b("CLIENT", "UNPAUSE")
            a("ROOST.CREATE", "new", "CAPACITY", 100)
            wait_for(lambda: b("EXISTS", "new") and total(a) == total(b), "all of it")


def test_a_server_restarted_and_one_restored_from_a_backup():
    with servers(region("--appendonly", "yes", "--appendfsync", "always"), region(), region()) as regions:
        a, b, c = regions
        for s in regions:
            s("ROOST.CREATE", "busy", "KIND", "orcuckoo", "SCALABLE")
        with Link(*regions) as link:
            change(regions, 0)
            wait_in_step(regions, ["busy", "bf-0"])
            b("SAVE")
            backup = os.path.join(b.folder, "backup.rdb")
            shutil.copy(os.path.join(b.folder, "dump.rdb"), backup)
            change(regions, 1)
            a.restart()
            change(regions, 2)
            wait_in_step(regions, ["busy", "bf-2"])
            b.kill()
            shutil.copy(backup, os.path.join(b.folder, "dump.rdb"))
            change([a], 3)
            link.process.send_signal(signal.SIGSTOP)  # for a look at what b holds by itself
            try:
                b.start()
                assert found(b, "busy", items("2-0", 20)) == 0, "b has gone back in time"
            finally:
                link.process.send_signal(signal.SIGCONT)
            change(regions, 4)
            wait_in_step(regions, ["busy", *items("bf", 5)])
            for s in regions:
                for round in 0, 1, 2, 4:
                    assert found(s, "busy", items(f"{round}-1", 20)[10:]) == 10, round
            assert link.of("down") and len(link.of("up")) >= 5


def test_a_silent_region_holds_up_nobody():
    with servers(region(), region(), region()) as regions:
        a, b, c = regions
        for key in items("key", 5):
            a("ROOST.CREATE", key, "KIND", "orcuckoo", "SCALABLE")
        with Link(*regions):
            wait_in_step(regions, items("key", 5))
            c.process.send_signal(signal.SIGSTOP)
            try:
                for round in range(3):
                    for key in items("key", 5):
                        a("ROOST.ADD", key, *items(f"a-{round}", 10)), b("ROOST.ADD", key, *items(f"b-{round}", 10))
                    wait_in_step([a, b], items("key", 5))
            finally:
                c.process.send_signal(signal.SIGCONT)
            wait_in_step(regions, items("key", 5))
            assert found(c, "key-3", items("a-2", 10)) == 10


class Cluster:
    """Several primaries as one server: a command goes to the owner of its key."""

    def __init__(self, nodes):
        self.nodes, self.port = nodes, nodes[0].port

    def of(self, key):
        alive = next(s for s in self.nodes if s.process.poll() is None)
        return owners(self.nodes)[alive("CLUSTER", "KEYSLOT", key)]

    def __call__(self, command, key, *rest):
        return self.of(key)(command, key, *rest)

    def digest(self, key):
        return self.of(key).digest(key)


def move_slot(cluster, key):
    """As a reshard does, with the tombstones of the slot; answers how many keys went."""
    source = cluster.of(key)
    target = next(s for s in cluster.nodes if s is not source)
    slot = source("CLUSTER", "KEYSLOT", key)
    target("CLUSTER", "SETSLOT", slot, "IMPORTING", myself(source)), source("CLUSTER", "SETSLOT", slot, "MIGRATING", myself(target))
    moved = source("CLUSTER", "GETKEYSINSLOT", slot, 100)
    source("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *moved)
    for s in target, source, *cluster.nodes:
        s("CLUSTER", "SETSLOT", slot, "NODE", myself(target))
    return len(moved)


def test_clocks_that_differ():
    """One is 300 s ahead, with windows of 20 s. What can travel does, whatever the order of regions; who is wrong is told; nothing is lost, nothing counts twice."""
    weights, totals = {}, {}

    def count(order, key, ids, right):
        for i in ids:
            for s in order:
                assert s("ROOST.INCR", key, f"{s.port} {i}", weights[s])[1] == 1
                totals[key] = totals.get(key, 0) + weights[s]
        everywhere = sum(weights[s] for s in right) * (ids[-1] + 1)
        for s in order:
            expected = everywhere if s in right else totals[key]
            wait_for(lambda: s("ROOST.GET", key) == expected, f"{expected} at {weights[s]}")

    with servers(region(clock=1), region(clock=1), region(clock=301)) as (a, b, c):
        weights.update({a: 1, b: 1000, c: 1000000})
        for s in a, b, c:
            s("CONFIG", "SET", "roost.counter-window-ms", 20000), s("CONFIG", "SET", "roost.window-ms", 20000)
        orders = (a, b, c), (c, a, b), (a, c), (c, a)
        for number, order in enumerate(orders):
            key, right = f"counter {number}", [s for s in order if s is not c]
            for s in order:
                s("ROOST.INCR", key, f"{s.port} 0", weights[s])
                totals[key] = totals.get(key, 0) + weights[s]
            with Link(*order) as link:
                for i in range(1, 5):  # when it runs, too
                    count(order, key, [i], right)
                wait_for(lambda: link.of("clock"), "the verdict")
                if len(right) == 2:
                    a("ROOST.SEEN", f"window {number}", "x"), c("ROOST.SEEN", f"window {number}", "y")
                    wait_for(lambda: found(b, f"window {number}", ["x"]), "what is right to go on")
                [verdict] = link.of("clock")
                assert verdict["peer"] == f"127.0.0.1:{c.port}" and abs(verdict["ahead_ms"] - 300000) < 30000, verdict
                assert not link.of("conflict") and not link.of("ahead"), link.events
        status, _, said = once(c, a)
        assert status == 1 and said.count("\n") == 1 and said.startswith(f"roost: 127.0.0.1:{c.port}: its clock is ") and " s ahead of those of others" in said, (status, said)
        b("ACL", "SETUSER", "default", "-time")  # whoever may not ask is told what is known
        with Link(b, c) as link:
            b("ROOST.INCR", "counter of two", "b", 1), c("ROOST.INCR", "counter of two", "c", 1)
            wait_for(lambda: link.of("ahead"), "that something is refused")
            assert link.of("ahead")[0]["peer"] == f"127.0.0.1:{c.port}" and link.of("ahead")[0]["refused_by"] == f"127.0.0.1:{b.port}" and not link.of("clock")
        b("ACL", "SETUSER", "default", "+time")
        with Link(a, b, c) as link:
            a("ROOST.INCR", "counter 0", f"{a.port} last", weights[a]), c("ROOST.INCR", "counter 0", f"{c.port} last", weights[c])
            totals["counter 0"] += weights[a] + weights[c]
            wait_for(lambda: link.of("clock"), "the verdict")
            for s in a, b:  # as if the clock of the third had been set right, and the time had come
                s.set_clock(301)
            wait_in_step((a, b, c), [f"counter {number}" for number in range(len(orders))])
            for number in range(len(orders)):
                assert a("ROOST.GET", f"counter {number}") == totals[f"counter {number}"]
            # now one is behind, which keeps nobody from the others
            b.set_clock(1)
            wait_for(lambda: int(b("TIME")[0]) < int(a("TIME")[0]) - 200, "the clock to be wrong")
            for s in a, b, c:
                s("ROOST.INCR", "late", f"{s.port}", weights[s])
            for s, value in (a, 1001001), (c, 1001001), (b, 1000):
                wait_for(lambda: s("ROOST.GET", "late") == value, f"{value} where it can be")
            wait_for(lambda: any(event["peer"] == f"127.0.0.1:{b.port}" and event["ahead_ms"] < -270000 for event in link.of("clock")), "the verdict")


def test_a_name_server_that_does_not_answer_holds_up_nobody():
    folder = tempfile.mkdtemp(prefix="roost-")
    names = os.path.join(folder, "names")
    silent = name_server(folder, names)
    try:
        with servers(region(), region(), region()) as (a, b, c):
            with Link(urls=[url(a), url(b), f"redis://tokyo.example:{c.port}"], environment=silent) as link:
                for i in range(20):  # each arrives although every attempt to reach the third waits for the name server
                    a("BF.ADD", "filter", f"a{i}"), b("BF.ADD", "filter", f"b{i}")
                    wait_for(lambda: found(a, "filter", [f"b{i}"]) and found(b, "filter", [f"a{i}"]), "what the other has")
                wait_for(lambda: link.of("error"), "a word about the third")
                assert {event["text"] for event in link.of("error")} == {f"tokyo.example:{c.port}: its name cannot be looked up: no name server answers"}
                assert c("DBSIZE") == 0
                open(names, "w").close()
                wait_in_step((a, b, c), ["filter"])
            os.unlink(names)
            # the name server is away when it ends, too
            with Link(urls=[url(a), f"redis://tokyo.example:{c.port}"], environment=silent) as link:
                wait_for(lambda: link.of("error"), "a word about the other")
    finally:
        shutil.rmtree(folder)


def test_a_cluster_is_a_region():
    with servers(region(), cluster_node, cluster_node, cluster_node) as (a, *nodes):
        make_cluster(nodes, 0)
        cluster, keys = Cluster(nodes), items("key", 40)
        for i, key in enumerate(keys):
            s = (a, cluster)[i % 2]
            s("ROOST.CREATE", key, "KIND", "orcuckoo", "SCALABLE")
            s("ROOST.ADD", key, *items(key, 20))
        a("SELECT", 5), a("BF.ADD", "elsewhere", "x"), a("SELECT", 0)
        with Link(a, cluster) as link:
            wait_in_step([a, cluster], keys)
            assert len({cluster.of(key).port for key in keys}) == 3, "the keys are spread"
            for i, key in enumerate(keys):
                a("ROOST.ADD", key, f"a-{i}"), cluster("ROOST.ADD", key, f"c-{i}"), cluster("ROOST.REM", key, f"{key}-3")
            a("DEL", keys[0]), cluster("DEL", keys[1])
            wait_in_step([a, cluster], keys[2:])
            wait_for(lambda: not any(s("EXISTS", key) for s in (a, cluster) for key in keys[:2]), "deletions")
            assert move_slot(cluster, keys[0]) >= 1, "a tombstone, at least"
            assert move_slot(cluster, keys[2]) >= 1
            cluster("ROOST.ADD", keys[2], "moved"), a("ROOST.ADD", keys[2], "meanwhile")
            wait_in_step([a, cluster], keys[2:])
            assert found(a, keys[2], ["moved", "meanwhile"]) == 2 and found(cluster, keys[2], ["moved", "meanwhile"]) == 2
            cluster("ROOST.CREATE", keys[0], "KIND", "cuckoo", "CAPACITY", 100)
            wait_in_step([a, cluster], keys[:1])
            nodes[1].kill()
            a("ROOST.ADD", keys[3], "one primary is away")
            nodes[1].start()
            wait_in_step([a, cluster], [keys[0], *keys[2:]])
            told = [e for e in link.of("error") if "database 0" in e["text"]]
            assert len(told) == 1 and not link.of("conflict"), (told, link.of("conflict"))


def number(s):
    """Of its region, as it has recorded it."""
    return s("ROOST.LINK", s.client.keys("roost:links*")[0], "HELLO", 0)[0]


def test_a_node_without_its_record_is_not_outdated():
    """The slot of what a node knows of regions has moved, and it was started anew: its keys are those of its region."""
    with servers(region(*DURABLE), cluster_node, cluster_node, cluster_node) as (a, *nodes):
        make_cluster(nodes, 0)
        cluster, keys = Cluster(nodes), items("key", 40)
        for s in nodes:
            s("CONFIG", "SET", "roost.tombstone-retention", 2)
        for key in keys:
            a("BF.ADD", key, "x")
        with Link(a, cluster, options=(FAST,)):
            wait_in_step([a, cluster], keys)
            a.client.delete(*keys[:20])
            wait_for(lambda: not any(cluster("EXISTS", key) for key in keys[:20]), "the deletions")
            wait_for(lambda: tombstones(a, *nodes) == [0] * 4, "the dropping")
        while nodes[0].client.keys("roost:links*"):  # it stores it again within a second
            nodes[0]("DEL", *nodes[0].client.keys("roost:links*")), nodes[0]("SAVE"), nodes[0].restart()
        for s in nodes:
            wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")
            s("CONFIG", "SET", "cluster-node-timeout", 60000)
        assert nodes[0]("DBSIZE") > 0
        for s in nodes[1:]:  # so that the first one is greeted alone, and gets a number of its own
            s.process.send_signal(signal.SIGSTOP)
        with Link(a, cluster, options=(FAST,)) as link:
            wait_for(lambda: nodes[0].client.keys("roost:links*") and number(nodes[0]), "a number")
            for s in nodes[1:]:
                s.process.send_signal(signal.SIGCONT)
            assert number(nodes[0]) >= number(nodes[1]), "a later number is higher, and the lowest counts"
            a("BF.ADD", keys[20], "y"), cluster("BF.ADD", keys[21], "y")
            wait_in_step([a, cluster], keys[20:])
            assert cluster("BF.EXISTS", keys[20], "y") and a("BF.EXISTS", keys[21], "y"), link.events


def test_once_tells_who_cannot_be_reached():
    with server(port=free_port()) as a:
        nobody = f"redis://127.0.0.1:{free_port()}"
        status, out, said = once(urls=[url(a), nobody])
        assert (status, out) == (2, "") and nobody[8:] in said and str(a.port) not in said, said
    with servers(region(), region(module=False)) as (a, bare):
        status, _, said = once(a, bare)
        assert status == 2 and f"127.0.0.1:{bare.port}" in said, said


def test_bad_input_is_one_line():
    with server(port=free_port()) as a:
        for words in [[], [url(a)], [url(a), url(a)], [url(a), "127.0.0.1:1"], [url(a), "http://host"], [url(a), "redis://host:port"],
                      [url(a), "redis://[::1:6379"], [url(a), "redis://other", "--match", "[a"], [url(a), "redis://other", "--interval", "0"],
                      [url(a), "redis://other", "--interval", "fast"], [url(a), "redis://other", "--metrics", "70000"],
                      [url(a), "redis://other", "--password-file", "/nowhere"], [url(a), *[f"redis://other-{i}" for i in range(16)]]]:
            done = subprocess.run([ROOST, "link", *words], capture_output=True, text=True, timeout=PATIENCE)
            assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, (words, done)
            assert done.stderr.startswith("roost: "), done.stderr


def test_a_port_in_use_is_no_wrong_setting():
    """The unit in packaging/ does not start the link again after status 2."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        words = ["redis://one", "redis://two", "--metrics", str(other.getsockname()[1])]
        done = subprocess.run([ROOST, "link", *words], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 75 and done.stderr.startswith("roost: --metrics: cannot listen on port "), done


def scrape(port, request=b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as s:
        s.sendall(request)
        answer = b""
        while more := s.recv(65536):
            answer += more
    head, _, body = answer.decode().partition("\r\n\r\n")
    return head, body


def figures(port):
    head, body = scrape(port)
    assert head.startswith("HTTP/1.0 200 OK"), head
    lines = [line for line in body.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_figures_for_prometheus():
    port = free_port()
    with servers(region(), region()) as (a, b):
        a("ROOST.CREATE", "key", "KIND", "cuckoo", "CAPACITY", 100)
        with Link(a, b, options=(FAST, "--metrics", str(port))) as link:
            wait_for(lambda: link.of("in_step"), "the link")
            wait_in_step([a, b], ["key"])
            b("ROOST.ADD", "key", "one")
            wait_in_step([a, b], ["key"])
            name = 'roost_link_%s{peer="127.0.0.1:%d"}'

            def at_rest():
                f = figures(port)
                return f if f["roost_link_keys"] == 1 and all(f[name % (of, s.port)] == 0 for of in ("keys_behind", "lag_seconds") for s in (a, b)) else None
            now = wait_for(at_rest, "the figures")
            assert now[name % ("up", a.port)] == now[name % ("up", b.port)] == 1
            assert now[name % ("seeds_total", b.port)] == 1 and now[name % ("merges_total", a.port)] >= 1
            assert now[name % ("bytes_sent_total", a.port)] > 100
            slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
            for request in b"\0\xff" * 5000, b"\r\n\r\n", b"GET /\r\n", b"POST /metrics HTTP/1.0\r\n\r\n", b"GET /other HTTP/1.0\r\n\r\n":
                with socket.create_connection(("127.0.0.1", port)) as s:
                    s.sendall(request)
            for s in slow:
                s.close()
            wait_for(lambda: figures(port), "the endpoint to live on")
            slow, answered = [], 0
            for i in range(60):  # nobody is shut out by those who say nothing, or little
                for _ in range(4):
                    slow.append(socket.create_connection(("127.0.0.1", port)))
                for s in slow[-8:]:
                    with contextlib.suppress(OSError):  # cut off for being slow
                        s.sendall(b"GET /met"[i % 8:i % 8 + 1])
                with contextlib.suppress(AssertionError, OSError):  # we may be slow ourselves, on a busy machine
                    answered += figures(port)["roost_link_keys"] == 1
            for s in slow:
                s.close()
            assert answered >= 55, answered
            assert scrape(port, b"GET /other HTTP/1.0\r\n\r\n")[0].startswith("HTTP/1.0 404")
            a.kill()
            wait_for(lambda: figures(port)[name % ("up", a.port)] == 0, "a peer to be down")
            a.start()
            wait_for(lambda: figures(port)[name % ("up", a.port)] == 1, "a peer to be up")
            wait_in_step([a, b], ["key"])


def test_silent_clients_and_no_descriptors():
    """Clients that send nothing do not shut out a scraper, even when they have taken all descriptors of the process."""
    regions = [f"redis://127.0.0.1:{free_port()}" for _ in range(2)]

    def answers():
        with contextlib.suppress(OSError, AssertionError):
            return figures(port)["roost_link_keys"] == 0
    for _ in range(20):  # another test may take the port first
        port = free_port()
        link = subprocess.Popen([ROOST, "link", *regions, "--metrics", str(port)], stderr=subprocess.DEVNULL,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
        wait_for(lambda: link.poll() is not None or answers(), "the endpoint")
        if link.poll() is None:
            break
    try:
        silent = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(60)]
        for _ in range(5):
            wait_for(answers, "an answer among silent clients")
        for s in silent:
            s.close()
        assert link.poll() is None
    finally:
        link.terminate()
        assert link.wait(PATIENCE) == 0, link.returncode


def figure(port, name, s):
    return figures(port)[f'roost_link_{name}{{peer="127.0.0.1:{s.port}"}}']


def test_lag_and_keys_behind_tell_who_lacks_what():
    port, keys = free_port(), items("key", 10)
    with servers(region(), region(), region()) as regions:
        a, b, c = regions
        for key in keys:
            a("ROOST.CREATE", key, "KIND", "orcuckoo", "SCALABLE")
        with Link(*regions, options=(FAST, "--metrics", str(port))):
            wait_in_step(regions, keys)
            wait_for(lambda: not any(figure(port, name, s) for s in regions for name in ("lag_seconds", "keys_behind")), "all to be at rest")
            c.kill()
            wait_for(lambda: figure(port, "up", c) == 0, "a region to be down")
            for key in keys[:7]:
                a("ROOST.ADD", key, "while c is away")
            wait_in_step([a, b], keys)
            wait_for(lambda: figure(port, "keys_behind", c) == 7 and figure(port, "keys_behind", a) == figure(port, "keys_behind", b) == 0,
                     "the one that is down to be behind, and nobody else")
            wait_for(lambda: figure(port, "lag_seconds", c) > 1 and figure(port, "lag_seconds", a) == figure(port, "lag_seconds", b) == 0, "its lag")
            c.start()  # empty
            wait_in_step(regions, keys)
            wait_for(lambda: not any(figure(port, name, s) for s in regions for name in ("lag_seconds", "keys_behind")), "all to be at rest again")
            b("SET", "odd", "a string"), a("ROOST.CREATE", "odd", "KIND", "cuckoo", "CAPACITY", 1000)
            wait_for(lambda: figure(port, "keys_behind", b) == 1 and figure(port, "lag_seconds", b) > 1, "a key that is refused to count")
            assert figures(port)["roost_link_keys_in_conflict"] == 1 and figure(port, "lag_seconds", c) == 0
            wait_for(lambda: figure(port, "lag_seconds", b) > 4, "its lag to grow, for all the attempts")


def test_many_refusals_are_few_lines():
    with servers(region(), region()) as (a, b):
        fill, spoil = a.client.pipeline(transaction=False), b.client.pipeline(transaction=False)
        for key in items("key", 300):
            fill.execute_command("ROOST.CREATE", key, "KIND", "cuckoo", "CAPACITY", 10), spoil.set(key, "a string")
        fill.execute(), spoil.execute()
        status, _, said = once(a, b)
        assert status == 1 and len(said.splitlines()) == 6 and f"{b.port}: 295 more keys refused" in said, said


# ---- keys that went away, and servers without room


def filters(s):
    """How many keys there are beside those of the module."""
    return sum(not key.startswith(b"roost:") for key in s("KEYS", "*"))


def make_keys(s, names, capacity, *then):
    pipe = s.client.pipeline(transaction=False)
    for name in names:
        pipe.execute_command("ROOST.CREATE", name, "KIND", "bloom", "CAPACITY", capacity)
        for words in then:
            pipe.execute_command(words[0], name, *words[1:])
    pipe.execute()


def test_a_listing_ends_when_keys_went_away():
    """More keys than a page has; then many that were evicted, or migrated, and are forgotten when others are made."""
    with servers(region("--maxmemory-policy", "volatile-random"), region(), region()) as (a, b, c):
        make_keys(a, items("old", 1100), 10)
        make_keys(a, items("evicted", 1500), 10, ("EXPIRE", 100000))
        a("CONFIG", "SET", "maxmemory", 1)
        wait_for(lambda: filters(a) == 1100, "the eviction")
        a("CONFIG", "SET", "maxmemory", 0)
        make_keys(a, items("moved", 800), 10)
        a("MIGRATE", "127.0.0.1", c.port, "", 0, 60000, "KEYS", *items("moved", 800))
        make_keys(a, items("new", 1600), 10)
        status, _, said = once(a, b)
        assert status == 0 and filters(b) == filters(a) == 2700 and total(a) == total(b), (status, said, filters(b))
        with Link(a, b):  # and one that is running
            wait_for(lambda: a.client.info("clients")["blocked_clients"] and b.client.info("clients")["blocked_clients"], "it to listen")
            make_keys(a, items("more", 2000), 10, ("EXPIRE", 100000))
            a("CONFIG", "SET", "maxmemory", 1)
            wait_for(lambda: filters(a) <= 2700, "another eviction")
            a("CONFIG", "SET", "maxmemory", 0)
            make_keys(a, items("last", 1500), 10)
            wait_for(lambda: b("EXISTS", *items("last", 1500)) == 1500, "what was made last")
            wait_for(lambda: total(a) == total(b), "all of it, also what was evicted, for there is room")


def settle(s, seconds=3):
    """Until next to nothing was evicted or pushed for so long (what clients take evicts a key now and then); answers how much was in all."""
    def count():
        stats = s.client.info("stats")
        return stats["evicted_keys"], s.client.info("commandstats").get("cmdstat_roost.push", {}).get("calls", 0)
    before = (-1000, -1000)
    for _ in range(PATIENCE // seconds):
        now = count()
        if now[0] - before[0] < 5 and now[1] - before[1] < 5:
            return now
        before = now
        time.sleep(seconds)
    raise AssertionError(f"it does not rest: {before}")


def test_eviction_and_a_link_come_to_rest():
    port, keys = free_port(), items("key", 300)
    with servers(region("--maxmemory-policy", "allkeys-lru"), region()) as (a, b):
        make_keys(b, keys, 20000)
        a("CONFIG", "SET", "maxmemory", a.client.info("memory")["used_memory"] + (4 << 20))
        with Link(a, b, options=(FAST, "--metrics", str(port))):
            wait_for(lambda: figure(port, "keys_withheld", a) > 50 and filters(a) + figure(port, "keys_withheld", a) == 300, "the region to be full")
            settle(a)
            away = next(key for key in keys if not a("EXISTS", key))
            b("ROOST.ADD", away, "it is in use")
            wait_for(lambda: a("EXISTS", away) and found(a, away, ["it is in use"]), "a key that changed")
            settle(a)
            wait_for(lambda: filters(a) + figure(port, "keys_withheld", a) == 300, "the others to stay away")
            evictions = a.client.info("stats")["evicted_keys"]
            assert evictions < 350, evictions  # each key that there is no room for, once
        status, _, said = once(a, b)
        assert status == 1 and f"127.0.0.1:{a.port}: " in said and "--refill" in said and settle(a, 1)[0] < evictions + 50, (status, said)
        status, _, said = once(a, b, options=["--refill"])
        assert status == 1 and evictions < settle(a, 1)[0] < evictions + 700, (evictions, said)
        with Link(a, b, options=(FAST, "--metrics", str(port))):
            wait_for(lambda: figure(port, "keys_withheld", a) > 50, "the link")
            a("CONFIG", "SET", "maxmemory", 0)
            wait_in_step([a, b], keys)


def test_a_server_without_memory_is_not_pressed():
    port, keys = free_port(), items("key", 300)
    with servers(region("--maxmemory-policy", "noeviction"), region(), region()) as (a, b, c):
        make_keys(b, keys, 20000)
        a("CONFIG", "SET", "maxmemory", a.client.info("memory")["used_memory"] + (4 << 20))
        with Link(a, b, c, options=(FAST, "--metrics", str(port))) as link:
            wait_for(lambda: figure(port, "keys_withheld", a) > 50 and filters(a) + figure(port, "keys_withheld", a) == 300, "the region to be full")
            wait_in_step([b, c], keys)
            wait_for(lambda: figure(port, "lag_seconds", a) > 2 and figure(port, "keys_behind", a) > 50, "that to be seen")
            assert figure(port, "lag_seconds", b) == figure(port, "keys_behind", b) == 0 < figure(port, "out_of_memory_total", a) < 250
            assert len(link.of("error")) == 1 and not link.of("conflict")
            there = next(key for key in keys if a("EXISTS", key))
            b("ROOST.ADD", there, *items("more", 3000))
            wait_in_step([b, c], [there])
            a("CONFIG", "SET", "maxmemory", 0)
            wait_in_step([a, b, c], keys)
            wait_for(lambda: figure(port, "lag_seconds", a) == figure(port, "keys_behind", a) == 0, "nothing to be behind")


def test_idle_costs_nearly_nothing():
    port = free_port()
    with servers(region(), region()) as (a, b):
        for s in a, b:
            for key in items("key", 1000):
                s("ROOST.CREATE", key, "KIND", "cuckoo", "CAPACITY", 10)
        with Link(a, b, options=("--metrics", str(port))) as link:
            wait_for(lambda: link.of("in_step") and link.of("in_step")[-1]["keys"] == 1000, "1,000 keys in step")
            assert not link.of("seeded") and not link.of("synced")

            def bytes_so_far():
                return sum(value for name, value in figures(port).items() if "_bytes_" in name)
            begin, before = time.monotonic(), bytes_so_far()
            time.sleep(6)
            spent, seconds = bytes_so_far() - before, time.monotonic() - begin
            print(f"# {spent / seconds:.0f} bytes a second for 1,000 equal keys")
            assert spent < 1000 * seconds, (spent, seconds)


def test_regions_behind_tls():
    folder = tempfile.mkdtemp(prefix="roost-")
    try:
        authority(folder), certificate(folder, "address", "IP:127.0.0.1")
        with tls_server(folder, "address") as a, tls_server(folder, "address") as b:
            urls = [f"rediss://127.0.0.1:{a.tls_port}", f"rediss://:right@127.0.0.1:{b.tls_port}"]
            trusting = ["--cacert", os.path.join(folder, "ca.pem")]
            a("BF.ADD", "key", "x"), b("CONFIG", "SET", "requirepass", "right")
            status, _, said = once(urls=urls, options=trusting)
            assert status == 0 and b("BF.EXISTS", "key", "x") == 1, said
            status, _, said = once(urls=urls)
            assert status == 2 and f"127.0.0.1:{a.tls_port}: its certificate is not trusted" in said, said
            status, _, said = once(urls=[urls[0], urls[1].replace("right", "wrong")], options=trusting)
            assert status == 2 and f"127.0.0.1:{b.tls_port}: wrong user or password" in said and "wrong@" not in said, said
    finally:
        shutil.rmtree(folder)


def test_no_secret_is_seen():
    secret = "s3cret-word"
    with servers(region(), region()) as (a, b):
        a("CONFIG", "SET", "requirepass", secret)
        a.client.close()
        a.client = redis.Redis(unix_socket_path=a.path, password=secret)
        b("ACL", "SETUSER", "linker", "on", f">{secret}", "+@all", "~*")
        a("BF.ADD", "key", "x")
        urls = [url(a, f":{secret}@"), url(b, f"linker:{secret}@")]
        with Link(a, b, urls=urls) as link:
            wait_in_step([a, b], ["key"])
            wait_for(lambda: link.of("in_step"), "the link")
            for name in "cmdline", "comm", "status":
                with open(f"/proc/{link.process.pid}/{name}", "rb") as file:
                    assert secret.encode() not in file.read(), name
            assert secret not in json.dumps(link.events)
        with tempfile.TemporaryDirectory() as folder:  # a pipe is refused, and not waited for
            os.mkfifo(os.path.join(folder, "pipe"), 0o600)
            assert once(a, b, options=["--password-file", os.path.join(folder, "pipe")])[::2] == (2, f"roost: {folder}/pipe: is not a file\n")
        # before anything else is done, and whatever a start may wait for: the certificates are in a pipe that nobody writes to
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "certificates")
            os.mkfifo(pipe)

            def is_read():
                try:
                    return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    return None
            starting = subprocess.Popen([ROOST, "link", f"rediss://linker:{secret}@127.0.0.1:1", f"rediss://:{secret}@127.0.0.1:2", "--cacert", pipe],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            writer = wait_for(is_read, "the link to read certificates")
            with open(f"/proc/{starting.pid}/cmdline", "rb") as file:
                assert secret.encode() not in file.read()
            os.close(writer)
            assert starting.wait(PATIENCE) == 2
        for words in ("info", f"redis://me:{secret}@host/key"), ("sync", "a", "b", f"redis://me:{secret}@host/key"), \
                ("sync", f"redis://me:{secret}@host/key", "b"), (f"redis://me:{secret}@host/key",), ("reconcile", "a", f"redis://me:{secret}@host/key"), \
                ("link", f"redis://me:{secret}@host/path", "redis://:1"), ("link", f"redis://me:{secret}@ho st", "redis://:1"), \
                ("link", "--interval", f"redis://me:{secret}@host", "redis://:1"), ("create", "--kind", f"redis://me:{secret}@host/key"):
            said = subprocess.run([ROOST, *words], capture_output=True, text=True, timeout=PATIENCE)
            assert said.returncode == 2 and said.stderr.startswith("roost: ") and secret not in said.stdout + said.stderr, (words, said)
        wrong = once(urls=[url(a, ":another-word@"), url(b)])
        assert wrong[0] == 2 and "another-word" not in wrong[2] and f"127.0.0.1:{a.port}" in wrong[2], wrong
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "passwords")
            with open(path, "w") as file:
                file.write(f"{url(a)} {secret}\n")
            os.chmod(path, 0o600)
            assert once(a, b, options=["--password-file", path])[0] == 0
        b("CONFIG", "SET", "requirepass", secret)
        assert once(a, b, environment={"ROOST_PASSWORD": secret})[0] == 0


def tombstones(*regions):
    return [s.client.info("roost")["roost_tombstones"] for s in regions]


def clock(s):
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    return answer[answer.index(b"time") + 1]


def pass_time(s, seconds):
    then = clock(s) + seconds
    wait_for(lambda: clock(s) >= then, "the time")


def keys(s):
    return sorted(key.decode() for key in s.client.keys("*") if not key.startswith(b"roost:"))


DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--roost.tombstone-retention", "2")


def test_tombstones_go_when_all_regions_have_had_them():
    """Not while a region of the link is away; and what is made again afterwards stays, wherever it was made."""
    with servers(*[region(*DURABLE)] * 3) as regions:
        a, b, c = regions
        with Link(*regions, options=(FAST,)) as link:
            for i in range(30):
                a("BF.ADD", f"k{i}", "x")
            wait_for(lambda: keys(a) == keys(b) == keys(c) and len(keys(c)) == 30, "the keys")
            a.client.delete(*(f"k{i}" for i in range(20))), c.client.delete("k20")
            wait_for(lambda: keys(a) == keys(b) == keys(c) == [f"k{i}" for i in range(21, 30)], "the deletions")
            wait_for(lambda: tombstones(*regions) == [0, 0, 0], "the dropping")
            wait_for(lambda: total(a) == total(b) == total(c), "equal digests")
            for s in regions:  # while others may or may not know that there was one
                s("BF.ADD", "k0", s.port), s("BF.ADD", f"k{s.port}", "x")
            wait_for(lambda: all(s("BF.MEXISTS", "k0", a.port, b.port, c.port) == [1, 1, 1] for s in regions), "a key that was made again")
            wait_for(lambda: keys(a) == keys(b) == keys(c) and len(keys(a)) == 13, "all of it")
            c.kill()
            a.client.delete("k21", "k22")
            wait_for(lambda: not b("EXISTS", "k21", "k22"), "the deletions")
            pass_time(a, 6)
            assert tombstones(a, b) == [2, 2], "a region is away"
            link.kill(), link.start()
            pass_time(a, 6)
            assert tombstones(a, b) == [2, 2], "also for a link that has never met it"
            a.restart()
            c.start()
            wait_for(lambda: not c("EXISTS", "k21", "k22"), "what was missed")
            wait_for(lambda: tombstones(*regions) == [0, 0, 0] and total(a) == total(b) == total(c), "the dropping")
            assert not [event for event in link.of("error") if "missed" in event["text"]], link.events


def test_many_deletions_while_the_link_is_away():
    """More than summaries tell of: those that the other region still holds are asked for by name."""
    with servers(region(), region()) as (a, b):
        names = [f"key {i}" for i in range(3000)]
        fill = a.client.pipeline(transaction=False)
        for name in [*names, "kept"]:
            fill.execute_command("ROOST.CREATE", name, "CAPACITY", 10)
        fill.execute()
        with Link(a, b) as link:
            wait_for(lambda: b("DBSIZE") == 3002, "the keys")
            link.process.send_signal(signal.SIGSTOP)
            a.client.delete(*names[:2500])
            link.process.send_signal(signal.SIGCONT)
            wait_for(lambda: len(keys(b)) == 501, "the deletions")
        b("BF.ADD", "key 2600", "unknown there"), a.client.delete(*names[2500:])
        assert once(a, b)[0] == 0 and keys(a) == keys(b) == ["kept"], "a link that is new"
        assert tombstones(a, b) == [3000, 3000]


def resident(process):
    """Bytes of memory that the process has written to."""
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon:"))


def test_tombstones_take_little_memory_of_the_link():
    """Keys that no region holds are forgotten when all is quiet."""
    if "sanitize" in ROOST:
        return
    with servers(region(), region()) as (a, b):
        count, before = 9000, 0
        for some in 0, count:
            for s in (a, b):
                fill = s.client.pipeline(transaction=False)
                for word, rest in ("BF.ADD", ["x"]), ("DEL", []):
                    for i in range(some):
                        fill.execute_command(word, f"key {i}", *rest)
                fill.execute()
            with Link(a, b) as link:
                wait_for(lambda: link.of("in_step"), "the link")
                each = lambda: (resident(link.process) - before) / count
                if some:
                    wait_for(lambda: each() < 100, "memory to be given back")
                    print(f"# {each():.1f} bytes a tombstone")
                before = resident(link.process)
        assert tombstones(a, b) == [count, count]


def test_a_region_that_was_away_for_too_long_is_not_merged():
    """It would bring deleted keys back. Emptied, it is seeded; so is one that is new."""
    with servers(*[region(*DURABLE)] * 4) as (a, b, c, new):
        with Link(a, b, c):
            for key in ("old", "deleted", "kept"):
                a("BF.ADD", key, "x")
            wait_for(lambda: keys(b) == keys(c) == ["deleted", "kept", "old"], "the keys")
            for s in (b, c):
                s("SAVE"), shutil.copy(os.path.join(s.folder, "dump.rdb"), os.path.join(s.folder, "backup.rdb"))
            wait_for(lambda: have_agreed(c), "an agreement")
        c.kill()
        with Link(a, b):
            a("DEL", "old", "deleted")
            wait_for(lambda: keys(b) == ["kept"] and tombstones(a, b) == [0, 0], "the dropping: no link has named the third for so long")
        c.start()
        c("BF.ADD", "own", "x")
        with Link(a, b, c, new) as link:
            wait_for(lambda: [event for event in link.of("error") if "missed deletions" in event["text"]], "a word about it")
            a("BF.ADD", "later", "x")
            wait_for(lambda: keys(b) == keys(new) == ["kept", "later"], "all others go on, with one that is new")
            assert keys(a) == ["kept", "later"] and keys(c) == ["deleted", "kept", "old", "own"]
            c("FLUSHALL")
            wait_for(lambda: keys(c) == ["kept", "later"] and total(a) == total(c), "the seeding")
            c("BF.ADD", "kept", "again")
            wait_for(lambda: a("BF.EXISTS", "kept", "again"), "its changes")
        b.kill()  # and comes back from an old backup
        shutil.rmtree(os.path.join(b.folder, "appendonlydir")), shutil.copy(os.path.join(b.folder, "backup.rdb"), os.path.join(b.folder, "dump.rdb"))
        b.options = [word if word != "yes" else "no" for word in b.options]
        b.start()
        assert keys(b) == ["deleted", "kept", "old"]
        status, _, said = once(a, b)
        assert status == 2 and "missed deletions" in said and "TRUST" in said, (status, said)
        assert keys(a) == ["kept", "later"]
        b("ROOST.LINK", "roost:links", "TRUST")
        assert once(a, b)[0] == 0 and keys(a) == keys(b) == ["deleted", "kept", "later", "old"], "if its keeper wants it so"


def test_a_region_joins_while_another_is_away():
    """What it is seeded with comes from regions that had the other's deletions, so it has missed none of them."""
    with servers(*[region(*DURABLE)] * 4) as (a, b, c, new):
        with Link(a, b, c):
            for key in ("deleted", "kept", "last"):
                a("BF.ADD", key, "x")
            wait_for(lambda: keys(b) == keys(c) == ["deleted", "kept", "last"], "the keys")
            c("DEL", "deleted")
            wait_for(lambda: keys(a) == keys(b) == ["kept", "last"] and tombstones(a, b, c) == [0, 0, 0], "the dropping")
            c("DEL", "last")
            wait_for(lambda: keys(a) == keys(b) == ["kept"], "a deletion that is not dropped yet")
        c.kill()
        for s in (a, b):  # so that the new one is greeted first
            s.process.send_signal(signal.SIGSTOP)
        with Link(a, b, c, new) as link:
            wait_for(lambda: new.client.keys("roost:links"), "a word to the new one")
            for s in (a, b):
                s.process.send_signal(signal.SIGCONT)
            wait_for(lambda: keys(new) == ["kept"], "the seeding")
            new("BF.ADD", "own", "x"), new("BF.ADD", "last", "again"), a("DEL", "kept")
            wait_for(lambda: keys(a) == keys(b) == keys(new) == ["last", "own"], "its changes")
            link.kill(), link.start()
            wait_for(lambda: have_agreed(new), "a record of regions")
            c.start()
            wait_for(lambda: keys(c) == ["last", "own"] and total(a) == total(b) == total(c) == total(new), "all of them")
            wait_for(lambda: tombstones(a, b, c, new) == [0] * 4, "the dropping")
            assert not [event for event in link.of("error") if "missed" in event["text"]], link.events


def have_agreed(s):
    """It had something of others."""
    return s("ROOST.LINK", "roost:links", "HELLO", 0)[6] != []


def test_a_user_with_the_rights_that_the_manual_names():
    commands = "roost.summary roost.link roost.pull roost.push roost.ask roost.sync roost.info roost.digest ping role cluster client select asking time".split()
    with servers(region(), region()) as (a, b):
        for s in a, b:
            s("ACL", "SETUSER", "linker", "on", ">word", "~*", "-@all", *["+" + command for command in commands])
            s("ROOST.CREATE", "both", "KIND", "orcuckoo", "SCALABLE"), s("ROOST.ADD", "both", s.port)
        a("CF.ADD", "one", "x")
        assert once(urls=[url(s, "linker:word@") for s in (a, b)], options=["-q"]) == (0, "", "")
        assert in_step([a, b], ["both", "one"])
        b("ACL", "SETUSER", "linker", "-roost.sync"), a("CF.ADD", "one", "y")
        status, _, said = once(urls=[url(s, "linker:word@") for s in (a, b)])
        assert status in (1, 2) and "NOPERM" in said and "word" not in said, (status, said)


def test_a_server_that_answers_nonsense():
    def nonsense(listener, stop):
        answers = [b"+PONG\r\n", b"*3\r\n:1\r\n", b"$100000000000\r\n", b"\xff" * 1000, b"-ERR no\r\n", b"*-5\r\n"]
        while not stop.is_set():
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            with peer:
                peer.settimeout(PATIENCE)
                try:
                    peer.recv(65536)
                    peer.sendall(answers[0])
                except OSError:
                    pass
            answers.append(answers.pop(0))
    listener, stop = socket.create_server(("127.0.0.1", 0)), threading.Event()
    thread = threading.Thread(target=nonsense, args=(listener, stop))
    thread.start()
    try:
        with servers(region(), region()) as (a, b):
            a("ROOST.CREATE", "key", "KIND", "cuckoo", "CAPACITY", 100)
            with Link(a, b, urls=[url(a), url(b), f"redis://127.0.0.1:{listener.getsockname()[1]}"]) as link:
                wait_in_step([a, b], ["key"])
                wait_for(lambda: link.of("error"), "the error to be reported")
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


if __name__ == "__main__":
    run(globals())
