#!/usr/bin/python3
"""Three primaries and three replicas: filters spread by key, merges stay within a slot, failover keeps what was acknowledged. Slots that
move key by key, and as a whole where the server can do that."""
import itertools
import json
import re
import subprocess
import threading

import redis

from generations import linked, tell
from regions import ROOST, cluster_port, raw
from servers import PATIENCE, PROGRAM, Server, caught_up, run, servers, wait_for

MOVED = 200  # slots, the first ones; for each of them the servers write their configurations some ten times, with or without the module


def node():
    return Server("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--appendonly", "yes", port=cluster_port())


def owners(nodes):
    """The primary of each slot, as a node that is alive tells it."""
    by_port = {s.port: s for s in nodes}
    for s in nodes:
        if s.process.poll() is None:
            slots = {}
            for begin, end, primary, *_ in raw(s, "CLUSTER", "SLOTS"):
                for slot in range(begin, end + 1):
                    slots[slot] = by_port[primary[1]]
            return slots
    raise AssertionError("no node is alive")


def in_first_slots(s, prefix, count):
    """Keys whose slots will be moved."""
    names = (f"{prefix}-{i}" for i in itertools.count(1000))
    return list(itertools.islice((name for name in names if s("CLUSTER", "KEYSLOT", name) < MOVED), count))


class Feeder(threading.Thread):
    """`roost add` to a filter over many nodes, which gets lines for as long as it is wanted."""

    def __init__(self, s, name, shards):
        super().__init__(daemon=True)
        self.where, self.lines, self.paused, self.ended = (f"redis://127.0.0.1:{s.port}/{name}", "--shards", str(shards)), 0, False, False
        self.roost("create", "--kind", "cuckoo", "--scalable")
        self.adding = subprocess.Popen([ROOST, "add", *self.where, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.start()

    def roost(self, verb, *options):
        return subprocess.run([ROOST, verb, *self.where, *options], check=True, stdout=subprocess.PIPE, timeout=PATIENCE).stdout

    def run(self):
        while not self.ended:
            if self.paused:
                threading.Event().wait(0.01)
                continue
            lines = b"".join(b"line %d\n" % i for i in range(self.lines, self.lines + 100))
            self.adding.stdin.write(lines), self.adding.stdin.flush()
            self.lines += 100
        self.adding.stdin.close()

    def go_on(self, lines=20000):
        """Until so many more lines were accepted; more than a pipe and the program hold, so that servers have got some."""
        begun = self.lines
        wait_for(lambda: self.adding.poll() is not None or self.lines > begun + lines, "lines to be added")

    def missing(self):
        keys = b"".join(b"line %d\n" % i for i in range(self.lines))
        result = subprocess.run([ROOST, "check", *self.where, "-v"], input=keys, capture_output=True, timeout=PATIENCE)
        assert result.returncode < 2, result
        return result.stdout

    def finish(self):
        self.ended = True
        self.join()
        said, error = self.adding.stdout.read(), self.adding.stderr.read()
        assert self.adding.wait(PATIENCE) == 0 and b'"keys":%d' % self.lines in said, (said, error)
        assert self.missing() == b"", self.missing()[:200]


def spread_name(s, shards):
    """A filter with some of its shards in the slots that will be moved."""
    return next(name for name in (f"spread{i}" for i in itertools.count())
                if sum(s("CLUSTER", "KEYSLOT", f"{{{name}:{i}}}") < MOVED for i in range(shards)) >= 3)


def test_a_cluster_of_six():
    with servers(*[node] * 6) as nodes:
        addresses = [f"127.0.0.1:{s.port}" for s in nodes]
        subprocess.run(["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"], check=True,
                       stdout=subprocess.DEVNULL, timeout=PATIENCE)
        for s in nodes:
            wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")
        wait_for(lambda: sum(s.client.info("replication")["role"] == "slave" and
                             s.client.info("replication")["master_link_status"] == "up" for s in nodes) == 3, "the replicas")
        slots = owners(nodes)
        keys = [f"{kind}-{i}" for i in range(20) for kind in ("bf", "cf", "set")]
        keys += [key for kind in ("bf", "cf", "set") for key in in_first_slots(nodes[0], kind, 3)]
        place = {key: slots[nodes[0]("CLUSTER", "KEYSLOT", key)] for key in keys}
        assert len({s.port for s in place.values()}) == 3, "the keys are spread"
        for key in keys:
            s = place[key]
            if key.startswith("set"):
                s("ROOST.CREATE", key, "KIND", "orcuckoo", "SCALABLE")
            for item in range(50):
                s({"bf": "BF.ADD", "cf": "CF.ADD", "se": "ROOST.ADD"}[key[:2]], key, item)
        other = next(key for key in keys if place[key] is not place["bf-0"] and key.startswith("bf"))
        refusal = place["bf-0"].error("ROOST.MERGESTORE", "bf-0", other)
        assert "slot" in refusal, refusal
        tagged = slots[nodes[0]("CLUSTER", "KEYSLOT", "{t}")]
        tagged("BF.ADD", "{t}a", "x"), tagged("BF.ADD", "{t}b", "y"), tagged("ROOST.MERGESTORE", "{t}c", "{t}a", "{t}b")
        assert tagged("BF.MEXISTS", "{t}c", "x", "y") == [1, 1]
        primaries = set(place.values())
        for s in primaries:
            linked(s)  # deletions leave tombstones from the first message of a link on
        deleted = [f"deleted-{i}" for i in range(30)] + in_first_slots(nodes[0], "deleted", 10)
        for key in deleted:
            s = slots[nodes[0]("CLUSTER", "KEYSLOT", key)]
            s("BF.ADD", key, "x"), s("DEL", key)
        for s in primaries:
            assert s("WAIT", 1, 60000) >= 1
        digests = {key: place[key].digest(key) for key in keys}
        spread = Feeder(next(s for s in primaries if s is not place["bf-0"]), spread_name(nodes[0], 60), 60)
        spread.go_on()
        for s in primaries:  # replies are lost, and nothing else
            s("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            spread.go_on()
        spread.paused = True
        wait_for(lambda: spread.missing() == b"", "what was sent to arrive")
        for s in primaries:
            assert s("WAIT", 1, 60000) >= 1
        dead = place["bf-0"]
        dead.kill()
        spread.paused = False  # sends to the dead one, and waits for its replica
        wait_for(lambda: owners(nodes)[0] and all(s.process.poll() is None for s in owners(nodes).values()), "the failover")
        slots = owners(nodes)
        for key in keys:
            s = slots[next(n for n in nodes if n.process.poll() is None)("CLUSTER", "KEYSLOT", key)]
            wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")
            assert s.digest(key) == digests[key] and all(s("ROOST.EXISTS", key, *range(50))), key
            s("ROOST.ADD", key, "after the failover")
        for key in deleted:
            assert generation(nodes, key) == 1, "the failover keeps what was deleted"
        spread.go_on()
        dead.start()
        wait_for(lambda: dead.client.info("replication").get("master_link_status") == "up", "the old primary to return")
        move_slots(nodes)
        spread.go_on()
        facts = json.loads(spread.roost("info", "--json"))
        assert facts["shards"] == 60 and facts["nodes"] == 3, facts
        spread.finish()
        for key in deleted:
            assert generation(nodes, key) == 1, "slots take their tombstones along"
        for key in keys:
            assert generation(nodes, key) == 0 and owner(nodes, key)("ROOST.EXISTS", key, "after the failover") == [1], "what moves is not deleted"


def owner(nodes, key):
    return owners(nodes)[nodes[0]("CLUSTER", "KEYSLOT", key)]


def generation(nodes, key):
    return owner(nodes, key)("ROOST.PULL", key, "0")[0]


def move_slots(nodes):
    """As an administrator does: the first slots, from one primary to another."""
    slots = owners(nodes)
    source, destination = slots[0], slots[16383]
    identity = lambda s: s("CLUSTER", "MYID").decode()
    wait_for(lambda: subprocess.run(["redis-cli", "--cluster", "check", f"127.0.0.1:{source.port}"], stdout=subprocess.DEVNULL).returncode == 0,
             "the nodes to agree")
    subprocess.run(["redis-cli", "--cluster", "reshard", f"127.0.0.1:{source.port}", "--cluster-from", identity(source), "--cluster-to",
                    identity(destination), "--cluster-slots", str(MOVED), "--cluster-yes"], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)
    wait_for(lambda: all(slots_of(s) == slots_of(destination) for s in nodes), "the nodes to agree")
    assert slots_of(destination)[0] == destination.port and owners(nodes)[MOVED - 1] is destination


def slots_of(s):
    return {slot: primary[1] for begin, end, primary, *_ in raw(s, "CLUSTER", "SLOTS") for slot in (begin, end)}


# ---- slots that move as a whole: CLUSTER MIGRATESLOTS of Valkey 9.0, CLUSTER MIGRATION of Redis 8.4

def way_to_move():
    """Which of the two the server has; None: neither."""
    text = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.search(r"v=(\d+)\.(\d+)", text).groups()))
    if "Valkey" in text:
        return "MIGRATESLOTS" if version >= (9, 0) else None
    return "MIGRATION" if version >= (8, 4) else None


def join(nodes):
    """Two primaries with half of the slots each, and a replica of each of them."""
    for s, begin, end in zip(nodes, (0, 8192), (8191, 16383)):
        s("CLUSTER", "ADDSLOTSRANGE", begin, end)
    for s in nodes[1:]:
        s("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
    identities = [s("CLUSTER", "MYID") for s in nodes]
    for s in nodes:
        wait_for(lambda: all(raw(s, "CLUSTER", "NODES").count(identity) for identity in identities), "the nodes to meet")
    for replica, identity in zip(nodes[2:], identities):
        wait_for(lambda: replica("CLUSTER", "REPLICATE", identity), "a primary")
    for s in nodes:
        wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")
    for replica in nodes[2:]:
        wait_for(lambda: replica.client.info("replication").get("master_link_status") == "up", "the replicas")


def move_whole(way, source, destination):
    """Begins to move the first slots; False: refused for now."""
    try:
        if way == "MIGRATESLOTS":
            source("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", 0, MOVED - 1, "NODE", destination("CLUSTER", "MYID"))
        else:
            destination("CLUSTER", "MIGRATION", "IMPORT", 0, MOVED - 1)
        return True
    except redis.ResponseError as error:
        assert "does not support" not in str(error), error
        return False


def hold_move(way, s, held):
    """A move goes on for a while, so that most changes reach the other node as a stream."""
    if way == "MIGRATESLOTS":
        s("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", int(held))
    else:
        s("CONFIG", "SET", "rdb-key-save-delay", 10000 if held else 0)  # microseconds for each key


class Writer(threading.Thread):
    """Adds to keys, deletes them, overwrites and renames them while their slots move. Knows what was acknowledged, and the generations."""

    def __init__(self, nodes, keys):
        super().__init__()
        self.nodes, self.keys, self.ended, self.failed, self.rounds = nodes, keys, False, None, 0
        self.items, self.generations = {key: [] for key in keys}, {key: 0 for key in keys}
        self.clients = [redis.Redis(unix_socket_path=s.path) for s in nodes[:2]]

    def call(self, *arguments):
        """At the node that serves the key. A command that is refused has not been executed."""
        for attempt in range(100000):
            try:
                return self.clients[attempt % 2].execute_command(*arguments)
            except (redis.ResponseError, redis.RedisError) as error:
                if str(error).split(" ")[0] not in ("MOVED", "TRYAGAIN", "CLUSTERDOWN") and "MOVED" not in type(error).__name__.upper():
                    raise
        raise AssertionError(f"no node serves {arguments}")

    def add(self, key):
        item = f"{key} {self.rounds}"
        self.call({"b": "BF.ADD", "c": "CF.ADD", "w": "ROOST.SEEN", "n": "ROOST.INCR"}[key[0]], key, item, *([1] if key[0] == "n" else []))
        self.items[key].append(item)

    def forget(self, key):
        self.items[key] = []
        self.generations[key] += 1

    def round(self):
        self.rounds += 1
        for i, key in enumerate(self.keys):
            self.add(key)
            if (self.rounds + i) % 13 == 0:
                self.call("DEL", key), self.forget(key)
            elif (self.rounds + i) % 13 == 5:
                self.call("SET", key, "overwritten"), self.forget(key), self.call("DEL", key)
            elif (self.rounds + i) % 13 == 9:
                other = f"x{{{key}}}"
                self.call("RENAME", key, other), self.call("DEL", other), self.forget(key)
            elif (self.rounds + i) % 13 == 11:
                self.call("PEXPIRE", key, 1), self.forget(key)
                wait_for(lambda: self.call("EXISTS", key) == 0, "it to expire")

    def run(self):
        try:
            while not self.ended:
                self.round()
            self.rounds += 1
            for key in self.keys:
                self.add(key)
        except Exception as error:
            self.failed = error


def link_key(s):
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    return answer[answer.index(b"link") + 1]


def summary_keys(s):
    answer = s("ROOST.SUMMARY", "COUNT", 1)
    return answer[answer.index(b"keys") + 1]


def filters_at(s):
    return sum(s("TYPE", key) in (b"MBbloom--", b"MBbloomCF", b"roostdata") and not key.startswith(b"roost:") for key in s("KEYS", "*"))


def test_slots_that_move_as_a_whole():
    way = way_to_move()
    if not way:
        return
    with servers(*[node] * 4) as nodes:
        join(nodes)
        primaries = nodes[:2]
        for s in primaries:
            linked(s)
        keys = [key for kind in "bcwn" for key in in_first_slots(nodes[0], kind, 6)]
        quiet = in_first_slots(nodes[0], "quiet", 40) + in_first_slots(nodes[0], "gone", 20)
        staying = [f"stays-{i}" for i in range(60)]
        for key in quiet + staying:
            s = owner(nodes, key)
            s("BF.ADD", key, key)
            if key.startswith("gone"):
                s("DEL", key)
        large = in_first_slots(nodes[0], "large", 3)
        for key in large:  # above the limit of the nodes, which do not refuse each other's filters
            primaries[0]("BF.RESERVE", key, "0.001", 200000, "NONSCALING"), primaries[0]("BF.ADD", key, "x")
        for s in primaries:
            s("CONFIG", "SET", "roost.memory-limit", 100000)
        tag = next(i for i in itertools.count() if nodes[0]("CLUSTER", "KEYSLOT", i) < MOVED)
        record = f"roost:links:{{{tag}}}:00000001"  # in a slot that moves
        primaries[1]("ROOST.LINK", link_key(primaries[1]), "HOLD", 77)
        writer = Writer(nodes, keys)
        writer.start()
        moves = 0
        for source, destination in [primaries, primaries[::-1]] * 3:
            first = in_first_slots(nodes[0], f"first deletion {moves}", 5)
            for key in first:
                source("BF.ADD", key, "x")
            source("ROOST.LINK", record, "HOLD", 3 + moves)
            hold_move(way, source, True)
            wait_for(lambda: writer.failed or move_whole(way, source, destination), "the move to begin")
            rounds = writer.rounds
            wait_for(lambda: writer.failed or writer.rounds > rounds + 13, "clients to write meanwhile")
            for key in first:  # on a busy machine the slots may have moved by now
                writer.call("SET", key, "overwritten")
            writer.call("ROOST.LINK", record, "AGREED", 10 + moves, 2, 20 + moves)
            hold_move(way, source, False)
            wait_for(lambda: writer.failed or all(slots_of(s)[0] == destination.port for s in nodes), "the slots to move")
            rounds = writer.rounds
            wait_for(lambda: writer.failed or writer.rounds > rounds + 3, "clients to write on")
            moves += 1
        writer.ended = True
        writer.join()
        assert not writer.failed, writer.failed
        assert moves == 6 and writer.rounds > 20, (moves, writer.rounds)
        for key in quiet:
            assert generation(nodes, key) == key.startswith("gone"), key
            assert key.startswith("gone") or owner(nodes, key)("BF.EXISTS", key, key), key
        for key in large:
            assert owner(nodes, key)("BF.EXISTS", key, "x") == 1, key
        for key in keys:
            s = owner(nodes, key)
            assert all(s("ROOST.EXISTS", key, *writer.items[key])), key
            assert generation(nodes, key) == writer.generations[key], (key, generation(nodes, key), writer.generations[key])
            assert key[0] != "n" or s("ROOST.GET", key) == len(writer.items[key]), (key, s("ROOST.GET", key), writer.items[key])
        for s in primaries:
            wait_for(lambda: summary_keys(s) == filters_at(s), "what has left to be forgotten")
        assert sum(map(summary_keys, primaries)) == len(keys) + 40 + len(large) + len(staying)
        assert {2, 77} <= set(tell(primaries[1], "HELLO", 0)["had"]), "the regions of both nodes"
        for primary, replica in zip(primaries, nodes[2:]):
            wait_for(lambda: len(primary("KEYS", "roost:links*")) == 1, "one record of links on each node")
            caught_up(replica, primary)
            wait_for(lambda: primary("DEBUG", "DIGEST") == replica("DEBUG", "DIGEST"), "the replica to be equal")


# ---- moves that do not end: cancelled, and with a primary that dies

def cancel_move(way, source, destination):
    if way == "MIGRATESLOTS":
        source("CLUSTER", "CANCELSLOTMIGRATIONS")
    else:
        destination("CLUSTER", "MIGRATION", "CANCEL", "ALL")


def begin_held(way, source, destination):
    """A move that goes on until it is let go; the module of the destination knows of it."""
    if way == "MIGRATESLOTS":
        source("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 1)
    else:
        source("CONFIG", "SET", "rdb-key-save-delay", 200000)
    wait_for(lambda: move_whole(way, source, destination), "the move to begin")
    wait_for(lambda: destination.client.info("roost")["roost_slot_imports"] == 1, "the destination to hear of it")


def let_go(way, source):
    if way == "MIGRATESLOTS":
        source("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 0)
    else:
        source("CONFIG", "SET", "rdb-key-save-delay", 0)


def is_clean(s):
    """No move is under way, and the registry has the filters of the node and no others."""
    return s.client.info("roost")["roost_slot_imports"] == 0 and summary_keys(s) == filters_at(s)


def change_some(s, items, deleted, round):
    """While a move is under way, at the node that has the slots."""
    for key in list(items)[:10]:
        s("BF.ADD", key, f"round {round}"), items[key].append(f"round {round}")
    gone = list(items)[-2:]
    for key in gone:
        s("DEL", key), items.pop(key), deleted.append(key)


def holds_all(s, items, deleted):
    assert all(s("BF.MEXISTS", key, *there) == [1] * len(there) for key, there in items.items())
    assert all(s("EXISTS", key) == 0 and s("ROOST.PULL", key, 0)[0] == 1 for key in deleted), "deleted stays deleted"


def take_over(dead, replica, others):
    dead.kill()
    replica("CLUSTER", "FAILOVER", "TAKEOVER")
    for s in others:
        wait_for(lambda: replica.port in slots_of(s).values() and dead.port not in slots_of(s).values(), "the nodes to agree")
    for s in others:
        wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")


def come_back(dead, primary):
    dead.start()
    wait_for(lambda: dead.client.info("replication").get("master_port") == primary.port and
             dead.client.info("replication")["master_link_status"] == "up", "the old primary to return as a replica")


def test_moves_that_do_not_end():
    way = way_to_move()
    if not way:
        return
    with servers(*[node] * 4) as nodes:
        join(nodes)
        source, destination, source_replica, destination_replica = nodes
        for s in nodes[:2]:
            linked(s)
        items, deleted = {key: [key] for key in in_first_slots(source, "moving", 40)}, []
        for key in items:
            source("BF.ADD", key, key)
        # cancelled
        begin_held(way, source, destination)
        change_some(source, items, deleted, 1)
        cancel_move(way, source, destination)
        let_go(way, source)
        wait_for(lambda: is_clean(source) and is_clean(destination), "the move to be forgotten")
        assert slots_of(source)[0] == source.port
        holds_all(source, items, deleted)
        # and again, to its end
        wait_for(lambda: move_whole(way, source, destination), "the move to begin")
        wait_for(lambda: all(slots_of(s)[0] == destination.port for s in nodes), "the slots to move")
        wait_for(lambda: is_clean(source) and is_clean(destination), "what has left to be forgotten")
        holds_all(destination, items, deleted)
        # the node that has the slots dies; Redis begins again with its replica, and may come to an end
        begin_held(way, destination, source)
        change_some(destination, items, deleted, 2)
        assert destination("WAIT", 1, 60000) == 1
        take_over(destination, destination_replica, [source, source_replica, destination_replica])
        come_back(destination, destination_replica)
        if way == "MIGRATION":
            source("CLUSTER", "MIGRATION", "CANCEL", "ALL")
        wait_for(lambda: is_clean(source) and is_clean(destination_replica), "the move to be forgotten")
        wait_for(lambda: slots_of(source) == slots_of(destination_replica), "the nodes to agree")
        giver, getter = (source, destination_replica) if slots_of(source)[0] == source.port else (destination_replica, source)
        heir = source_replica if getter is source else destination
        holds_all(giver, items, deleted)
        # the node that gets them dies
        begin_held(way, giver, getter)
        change_some(giver, items, deleted, 3)
        take_over(getter, heir, [s for s in nodes if s is not getter])
        let_go(way, giver)
        come_back(getter, heir)
        wait_for(lambda: is_clean(heir) and is_clean(giver), "the move to be forgotten")
        assert slots_of(heir)[0] == giver.port
        holds_all(giver, items, deleted)
        wait_for(lambda: move_whole(way, giver, heir), "the move to begin")
        wait_for(lambda: all(slots_of(s)[0] == heir.port for s in nodes), "the slots to move")
        holds_all(heir, items, deleted)
        wait_for(lambda: is_clean(heir) and is_clean(giver), "what has left to be forgotten")


if __name__ == "__main__":
    run(globals())
