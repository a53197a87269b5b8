#!/usr/bin/python3
"""Three primaries and three replicas: filters spread by key, merges stay within a slot, failover keeps what was acknowledged."""
import itertools
import subprocess

from generations import linked
from regions import cluster_port, raw
from servers import PATIENCE, Server, run, servers, wait_for

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
        dead = place["bf-0"]
        dead.kill()
        wait_for(lambda: owners(nodes)[0] and all(s.process.poll() is None for s in owners(nodes).values()), "the failover")
        slots = owners(nodes)
        for key in keys:
            s = slots[next(n for n in nodes if n.process.poll() is None)("CLUSTER", "KEYSLOT", key)]
            wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")
            assert s.digest(key) == digests[key] and all(s("ROOST.EXISTS", key, *range(50))), key
            s("ROOST.ADD", key, "after the failover")
        for key in deleted:
            assert generation(nodes, key) == 1, "the failover keeps what was deleted"
        dead.start()
        wait_for(lambda: dead.client.info("replication").get("master_link_status") == "up", "the old primary to return")
        move_slots(nodes)
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


if __name__ == "__main__":
    run(globals())
