"""Regions for tests of `roost link`: deployments of three shapes, what can befall them, and the links between them.

    Single     one server                                   dies and comes back with its AOF
    Pair       a primary and its replica                    dies, is replaced by its replica, comes back as the replica's replica
    Cluster    three primaries, each with a third of slots  each dies and comes back; slots move
    Six        a cluster of three primaries and replicas    also: a replica takes over, and its primary comes back as its replica

What a client is told counts as acknowledged when it is on disk (`appendfsync always`) and, in a Pair, also at the replica (`WAIT 1`). Never
do both of a Pair die together: the primary dies only while the replica is in step with it.

Links reach a region through routes of a proxy (proxy.py), a route for each link and region, so that any of them can be cut. Nodes of a
cluster tell their own addresses, which are those of routes too, one for each node, common to all links. (Not so those of a Six, as its replicas
go by these addresses too: links go there straight.) Clients of a region sit beside it.
"""
import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from redis.crc import key_slot

from servers import MODULE, VALKEY, Server, Speaker, free_port, replicate, wait_for

ROOST = os.environ.get("ROOST", os.path.join(os.path.dirname(MODULE), "roost"))
PATIENCE = int(os.environ.get("ROOST_PATIENCE", "120"))   # seconds that something may take which nothing hinders any more
DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-min-size", "1mb",
           "--roost.tombstone-retention", os.environ.get("ROOST_RETENTION", "20"))  # seconds; while a link names a region it is waited for
WAITING = 2000  # milliseconds that a client gives a replica
PASSING = ("OOM", "NOREPLICAS", "LOADING", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "MISCONF", "TRYAGAIN", "ASK", "MOVED")


started = []  # servers and links, with a process and a folder each


@atexit.register
def leave_nothing():
    """Whatever happened: what was started is ended, and its folders are gone."""
    for one in started:
        if one.process and one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        shutil.rmtree(one.folder, ignore_errors=True)


class NotAcknowledged(Exception):
    """Not acknowledged: it may have been done, or not, or be lost again."""


class Client:
    """Of one region and one thread: connections to its servers as they are needed."""

    def __init__(self, region):
        self.region, self.lines = region, {}

    def line(self, server):
        life = server.process.pid
        if self.lines.get(server, (None, 0))[1] != life:
            self.lines[server] = Speaker(server, 2, patience=20), life
        return self.lines[server][0]

    def drop(self, server):
        line = self.lines.pop(server, None)
        if line:
            line[0].close()

    def pipeline(self, key, commands):
        """Answers of the primary that has the key. Commands are tuples of words."""
        server = self.region.primary(key)
        try:
            answers = self.line(server).pipeline(commands)
        except (OSError, ValueError) as error:
            self.drop(server)
            raise NotAcknowledged(str(error)) from error
        for answer in answers:
            if isinstance(answer, Exception):
                if str(answer).startswith(PASSING):
                    self.region.moved(str(answer))
                    raise NotAcknowledged(str(answer))
                raise AssertionError(f"{self.region.name}: {commands[0][:2]} answered {answer}")
        return answers

    def write(self, key, commands):
        """The answers, once they are acknowledged; NotAcknowledged where that is not known."""
        if not self.region.replicas:
            return self.pipeline(key, commands)
        answers = self.pipeline(key, [*commands, ("WAIT", self.region.replicas, WAITING)])
        if answers.pop() < self.region.replicas:
            raise NotAcknowledged("no replica has it")
        return answers

    def ask(self, key, *words):
        return self.pipeline(key, [words])[0]

    def close(self):
        for server in list(self.lines):
            self.drop(server)


class Region:
    """What all shapes have. `promotions` counts the times at which what was not acknowledged may have been lost."""
    replicas = promotions = 0
    migrated = frozenset()  # keys that have moved from one node to another
    evicts = False  # keys with an expiry, now and then

    clocks = ()  # servers whose clock can be set

    def __init__(self, name, settings=()):
        self.name, self.settings = name, list(settings)
        self.lock = threading.Lock()  # one thing at a time befalls a region

    def start_server(self, *options, **how):
        settings = [word for name, value in self.settings for word in (f"--{name}", value)]  # behind the module that has them
        server = Server(*DURABLE, *options, port=how.pop("port", None) or free_port(), module_arguments=settings, **how)
        started.append(server)
        return server

    def moved(self, answer):
        pass

    def reachable(self):
        """The ports that stand for the region in a URL."""
        return self.primary("").port

    def all_servers(self):
        return self.primaries()

    def replicas_of(self):
        """Each replica, and whose it is."""
        return []

    def summaries(self, count):
        for server in self.primaries():
            answer = server("ROOST.SUMMARY", "COUNT", count)
            yield dict(zip(answer[::2], answer[1::2]))

    def digest(self):
        """Over all names, deleted ones too: sums of what the primaries tell."""
        parts = (int.from_bytes(bytes.fromhex(summary[b"digest"].decode()), "little") for summary in self.summaries(1))
        return (sum(parts) % (1 << 128)).to_bytes(16, "little").hex()

    def keys(self):
        return sum(summary[b"keys"] for summary in self.summaries(1))

    def names(self):
        """All that it knows: name to (generation, digest or ""). Where a slot has moved, who had it before may tell of nothing there."""
        known = {}
        for summary in self.summaries(1000000):
            for _, name, generation, digest, *_ in summary[b"changed"]:
                known[name.decode()] = max(known.get(name.decode(), (0, "")), (generation, (digest or b"").decode()))
        return {name: state for name, state in known.items() if state != (0, "")}

    def stop(self):
        reports = ""
        for server in self.all_servers():
            server.stop()
            reports += server.reports()
            shutil.rmtree(server.folder, ignore_errors=True)
        assert not reports, reports


def in_step(replica, primary):
    told = replica.client.info("replication")
    return told["role"] == "slave" and told["master_link_status"] == "up" and told["master_port"] == primary.port and \
        primary.client.info("replication").get("connected_slaves", 0) == 1


class Single(Region):
    def __init__(self, name, settings=(), program=None, clock=0):
        super().__init__(name, settings)
        self.server = self.start_server(program=program, clock=clock)
        self.clocks = (self.server,) if clock else ()

    def primary(self, _):
        return self.server

    def primaries(self):
        return [self.server]

    def death(self, random, pause):
        """The power goes, and comes back."""
        self.server.kill()
        time.sleep(pause)
        self.server.start()
        return "dies and returns"

    def famine(self, random, pause):
        """Nothing that needs memory is taken, of clients and links."""
        self.server("CONFIG", "SET", "maxmemory", 1)
        time.sleep(3 * pause)
        self.server("CONFIG", "SET", "maxmemory", 0)
        return "has no memory for a while"

    def eviction(self, random, pause):
        """Keys that may go (those with an expiry) go, so that there is memory. They are no deletions, and there is room for them later."""
        keys = [f"cache-{random.randrange(100)}" for _ in range(20)]
        for key in keys:
            self.server("BF.MADD", key, *(f"{key} {i}" for i in range(2000))), self.server("EXPIRE", key, 86400)
        before = self.server.client.info("stats")["evicted_keys"]
        self.server("CONFIG", "SET", "maxmemory-policy", "volatile-random")
        self.server("CONFIG", "SET", "maxmemory", self.server.client.info("memory")["used_memory"] - 200000)
        time.sleep(0.2 + pause)
        gone = self.server.client.info("stats")["evicted_keys"] - before
        self.server("CONFIG", "SET", "maxmemory", 0)
        return "keys are evicted" if gone else "nothing is evicted"

    faults = (death, famine, eviction)
    evicts = True


class Pair(Region):
    replicas = 1

    def __init__(self, name, settings=(), program=None, strict=False, clock=0):
        super().__init__(name, settings)
        options = ("--repl-ping-replica-period", "1", "--repl-timeout", "60")
        if strict:  # without its replica the primary takes no writes
            options += ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "30")
        self.first, self.second = (self.start_server(*options, program=program, clock=clock) for _ in range(2))
        self.clocks = (self.first, self.second) if clock else ()
        replicate(self.second, self.first)
        self.routes = []

    def primary(self, _):
        return self.first

    def primaries(self):
        return [self.first]

    def all_servers(self):
        return [self.first, self.second]

    def settled(self):
        """The replica has all that the primary has, so that one of them may die."""
        wait_for(lambda: in_step(self.second, self.first), f"{self.name}: the replica", PATIENCE)

    def replicas_of(self):
        return [(self.second, self.first)]

    def death(self, random, pause):
        self.settled()
        self.first.kill()
        time.sleep(pause)
        self.first.start()
        return "the primary dies and returns"

    def death_of_the_replica(self, random, pause):
        self.settled()
        self.second.kill()
        time.sleep(pause)
        self.second.start()
        replicate(self.second, self.first)
        return "the replica dies and returns"

    def promotion(self, random, pause):
        self.settled()
        self.first.kill()
        self.second("REPLICAOF", "NO", "ONE")
        self.promotions += 1
        self.first, self.second = self.second, self.first
        for route in self.routes:
            route.reset()
        time.sleep(pause)
        self.second.start()
        replicate(self.second, self.first)
        return "the primary dies, its replica takes over"

    faults = (death, death_of_the_replica, promotion)


class Cluster(Region):
    SLOTS = 16384

    def __init__(self, name, proxy, settings=(), program=None, size=3):
        super().__init__(name, settings)
        self.nodes, self.routes, self.migrated = [], [], set()
        for _ in range(size):
            port = cluster_port()
            route = proxy.route(lambda port=port: port)
            self.routes.append(route)
            self.nodes.append(self.start_server(
                "--cluster-enabled", "yes", "--cluster-node-timeout", "15000", "--cluster-require-full-coverage", "no",
                "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(route.port),
                "--cluster-announce-bus-port", str(port + 10000), port=port, program=program))
        self.owner = [self.nodes[slot * size // self.SLOTS] for slot in range(self.SLOTS)]
        self.assemble()

    def assemble(self):
        for number, node in enumerate(self.nodes):
            mine = [slot for slot in range(self.SLOTS) if self.owner[slot] is node]
            node("CLUSTER", "ADDSLOTSRANGE", mine[0], mine[-1]), node("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        first = self.nodes[0]
        for node in self.nodes[1:]:
            node("CLUSTER", "MEET", "127.0.0.1", first.port, first.port + 10000)
        self.identities = [raw(node, "CLUSTER", "MYID").decode() for node in self.nodes]
        self.agreed()

    def agreed(self):
        for node in self.nodes:
            wait_for(lambda: all(line in raw(node, "CLUSTER", "INFO") for line in
                                 (b"cluster_state:ok", b"cluster_slots_assigned:16384", b"cluster_slots_ok:16384")), f"{self.name}: the cluster", PATIENCE)

    def primary(self, key):
        return self.owner[key_slot(key.encode())]

    def primaries(self):
        return self.nodes

    def reachable(self):
        return None  # the routes' own ports

    def death(self, random, pause):
        node = random.choice(self.nodes)
        node.kill()
        time.sleep(pause)
        node.start()
        return f"node {self.nodes.index(node)} dies and returns"

    def slots_move(self, random, pause):
        """Some slots that have keys go to another node, key by key, as a resharding does."""
        source, target = random.sample(self.nodes, 2)
        self.agreed()
        slots = sorted({key_slot(key) for key in source.client.keys("*")})
        chosen = random.sample(slots, min(len(slots), 3))
        for slot in chosen:
            self.move(slot, source, target)
        return f"slots {chosen} move from node {self.nodes.index(source)} to node {self.nodes.index(target)}"

    def move(self, slot, source, target):
        names = dict(zip(self.nodes, self.identities))
        target("CLUSTER", "SETSLOT", slot, "IMPORTING", names[source]), source("CLUSTER", "SETSLOT", slot, "MIGRATING", names[target])
        while keys := raw(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            self.migrated |= {key.decode() for key in keys}
            source("MIGRATE", "127.0.0.1", target.port, "", 0, 60000, "KEYS", *keys)
        for node in target, source, *self.nodes:
            node("CLUSTER", "SETSLOT", slot, "NODE", names[target])
        self.owner[slot] = target

    faults = (death, slots_move)


class Six(Cluster):
    """Primaries stand in `nodes`, their replicas in `seconds`, in the same order."""
    replicas = 1

    def __init__(self, name, settings=(), program=None):
        Region.__init__(self, name, settings)
        self.routes, self.program = [], program
        self.nodes, self.seconds = ([self.start_node() for _ in range(3)] for _ in range(2))
        self.owner = [self.nodes[slot * 3 // self.SLOTS] for slot in range(self.SLOTS)]
        self.assemble()
        for node, second in zip(self.nodes, self.seconds):
            second("CLUSTER", "MEET", "127.0.0.1", node.port)
        for second, identity in zip(self.seconds, self.identities):
            wait_for(lambda: raw(second, "CLUSTER", "REPLICATE", identity) == "OK", f"{self.name}: a replica knows its primary", PATIENCE)
        for place in range(3):
            self.settled(place)

    def start_node(self):
        return self.start_server("--cluster-enabled", "yes", "--cluster-node-timeout", "15000", "--cluster-require-full-coverage", "no",
                                 "--repl-ping-replica-period", "1", port=cluster_port(), program=self.program)

    def all_servers(self):
        return self.nodes + self.seconds

    def reachable(self):
        return self.nodes[0].port

    def settled(self, place=None):
        for at in range(3) if place is None else [place]:
            wait_for(lambda: in_step(self.seconds[at], self.nodes[at]), f"{self.name}: the replica", PATIENCE)

    def replicas_of(self):
        return list(zip(self.seconds, self.nodes))

    def failover(self, random, pause):
        place = random.randrange(3)
        self.settled(place)
        dead, heir = self.nodes[place], self.seconds[place]
        dead.kill()
        heir("CLUSTER", "FAILOVER", "TAKEOVER")
        wait_for(lambda: heir.client.info("replication")["role"] == "master", f"{self.name}: the heir", PATIENCE)
        self.promotions += 1
        self.nodes[place], self.seconds[place] = heir, dead
        self.owner = [heir if node is dead else node for node in self.owner]
        time.sleep(pause)
        dead.start()
        self.settled(place)
        self.agreed()
        return f"node {place} dies, its replica takes over"

    def death(self, random, pause):
        place = random.randrange(3)
        self.settled(place)
        self.nodes[place].kill()
        time.sleep(pause)
        self.nodes[place].start()
        return f"node {place} dies and returns"

    faults = (death, failover)


def raw(server, *words):
    """What the server says, without what a client library makes of it."""
    speak = Speaker(server, 2)
    try:
        return speak(*words)
    finally:
        speak.close()


def cluster_port():
    """A port whose bus, 10,000 above, is free too."""
    while True:
        port = free_port()
        if port + 10000 > 65535:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port + 10000))
                return port
            except OSError:
                pass


class Link:
    """One `roost link` between some regions, through routes of its own."""

    def __init__(self, number, proxy, regions, options=(), environment=None):
        """With an environment regions have names, which have to be looked up."""
        self.number, self.regions, self.options = number, regions, list(options)
        self.environment = {**os.environ, **(environment or {})}
        self.folder = tempfile.mkdtemp(prefix="roost-link-")
        self.routes, self.urls, self.deaths, self.process = {}, [], 0, None
        started.append(self)
        for region in regions:
            if isinstance(region, Six):
                self.urls.append(f"redis://127.0.0.1:{region.reachable()}")
                continue
            if isinstance(region, Cluster):
                self.urls.append(f"redis://127.0.0.1:{region.routes[number % len(region.routes)].port}")
                continue
            route = proxy.route(lambda region=region: region.reachable())
            self.routes[region] = route
            if isinstance(region, Pair):
                region.routes.append(route)
            self.urls.append(f"redis://{region.name + '.example' if environment else '127.0.0.1'}:{route.port}")
        self.start()

    def name(self):
        return f"link {self.number} ({'-'.join(region.name for region in self.regions)})"

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen([ROOST, "link", *self.urls, "--json", *self.options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)

    def alive(self):
        assert self.process.poll() is None, f"{self.name()} ended with {self.process.returncode}\n{self.log()}"

    def log(self, lines=30):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            return "".join(file.readlines()[-lines:])

    def kill(self):
        self.alive()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.deaths += 1

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"{self.name()} does not end when it is asked to") from None
            assert self.process.returncode == 0, f"{self.name()} ended with {self.process.returncode}\n{self.log()}"
        shutil.rmtree(self.folder, ignore_errors=True)


def valkey():
    """The other server's program, or None where it cannot be had."""
    return VALKEY if os.path.exists(VALKEY) else None
