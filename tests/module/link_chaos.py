#!/usr/bin/python3
"""Regions that change all at once behind a bad network, with links between them, and whatever can go wrong: at the end they agree.

For some seconds clients in three regions add and remove elements, count, delete keys and make them again, while primaries die and return, replicas take
over, links die and are started again, and the network delays (100 ms), loses (1 %), stalls, refuses and resets. Then the faults end, clients finish,
and it is waited until the digests of all regions are equal. Then everything is asked of every region and compared with the exact model (model.py): no acknowledged
element is missing, none that was removed has come back, deleted keys stay deleted, the rate of false positives is as promised, counters are exact.
At last one region loses all its data (FLUSHALL), and must get it back.

    link_chaos.py [--seconds 25] [--regions mixed|pairs|failover|singles] [--seed N] [--calm] [--clocks] [--names]

What happens is drawn from the seed; when it happens, and what comes of it, depends on the machine. Nothing here is a matter of time: what must come is waited
for with patience. --calm: without faults, for a look at the rest. --clocks: those of servers are set ahead by more than others take, and back; what is ahead
arrives when its time has come, which takes half a minute. --names: regions are reached by names, and now and then nobody answers what their addresses are.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

from model import KINDS, Model, Worker, flat, kind_of
from proxy import Proxy
from regions import PATIENCE, Client, Cluster, Link, Pair, Region, Single, Six, valkey
from servers import caught_up, name_server, server, wait_for

KEYS = [f"{kind}-{i}" for kind in KINDS for i in range(2)]
SETTINGS = (("roost.bf-writers", "3"), ("roost.bf-capacity", "1000"), ("roost.window-ms", "86400000"), ("roost.counter-window-ms", "86400000"))
AHEAD = 10  # seconds that what is taken in may be ahead, where clocks are set
FRESH = 10000  # elements that nobody added, for the rate of false positives


def say(text):
    print(f"# {text}", flush=True)


class Campaign:
    def __init__(self, options):
        self.options, self.random, self.begin = options, random.Random(options.seed), time.monotonic()
        self.proxy = Proxy(options.seed, options.delay / 1000, options.loss / 100)
        self.model, self.regions, self.links, self.faults = Model(), [], [], {}
        self.deck = []
        self.folder = tempfile.mkdtemp(prefix="roost-")
        self.names = os.path.join(self.folder, "names")
        open(self.names, "w").close()
        self.settings = SETTINGS + ((("roost.window-ahead-ms", str(AHEAD * 1000)),) if options.clocks else ())
        self.clock = 1 if options.clocks else 0  # a clock that is right cannot be set

    # ---- what there is

    def set_up(self):
        self.regions = {"mixed": self.mixed, "pairs": self.pairs, "singles": self.singles, "failover": self.failover}[self.options.regions]()
        everywhere, (a, b, c) = self.regions, self.regions
        shapes = [[everywhere] * 2, [everywhere, [a, b], [b, c]], [[a, b], [b, c], [c, a]], [everywhere] * 3]
        shape = shapes[self.options.shape if self.options.shape is not None else self.random.randrange(len(shapes))]
        environment = name_server(self.folder, self.names) if self.options.names else None
        self.links = [Link(number, self.proxy, regions, environment=environment) for number, regions in enumerate(shape)]
        say(f"regions {', '.join(f'{r.name} ({type(r).__name__.lower()})' for r in self.regions)}; {', '.join(link.name() for link in self.links)}")
        for key in KEYS:
            if kind_of(key).create:  # where it is missing the link makes it
                self.first_home(key)

    def mixed(self):
        return [Pair("ams", self.settings, clock=self.clock), Single("tyo", self.settings, program=valkey(), clock=self.clock),
                Cluster("nyc", self.proxy, self.settings)]

    def pairs(self):
        return [Pair(name, self.settings, strict=name == "tyo", clock=self.clock) for name in ("ams", "tyo", "nyc")]

    def failover(self):
        return [Pair("ams", self.settings, program=valkey(), clock=self.clock), Single("tyo", self.settings, clock=self.clock), Six("nyc", self.settings)]

    def singles(self):
        return [Single(name, self.settings, clock=self.clock) for name in ("ams", "tyo", "nyc")]

    def first_home(self, key):
        region = self.random.choice(self.regions)
        client = Client(region)
        client.write(key, [kind_of(key).create(key)])
        client.close()
        for other in self.regions:
            wait_for(lambda: other.primary(key)("EXISTS", key), f"{key} in {other.name}", PATIENCE)
            for replica, primary in other.replicas_of():  # what a link brought is as safe as what it brought it for
                caught_up(replica, primary)

    # ---- what goes wrong

    def fault(self):
        """One of a deck that has each of them, some more than once; then the next deck."""
        if not self.deck:
            self.deck = [lambda region=region, fault=fault: self.befall(region, fault) for region in self.regions for fault in region.faults]
            self.deck += [self.partition] * 4 + [self.death_of_a_link] * 2 + [self.resets, self.freeze]
            self.deck += [self.wrong_clock] * 2 * self.options.clocks + [self.silent_name_server] * 2 * self.options.names
            self.random.shuffle(self.deck)
        self.deck.pop()()

    def note(self, text):
        self.faults[text] = self.faults.get(text, 0) + 1
        if self.options.verbose:
            say(f"{time.monotonic() - self.begin:6.1f} s  {text}")

    def befall(self, region, fault):
        self.note(f"{region.name}: {fault(region, self.random, self.random.uniform(0, 1))}")

    def routes(self):
        """Groups of routes that are cut together: a link from a region, a region from all."""
        groups = [[route] for link in self.links for route in link.routes.values()]
        for region in self.regions:
            mine = [link.routes[region] for link in self.links if region in link.routes]
            groups.append(mine or list(region.routes))
        groups += [list(link.routes.values()) for link in self.links]
        return [g for g in groups if g]

    def partition(self):
        groups = self.random.sample(self.routes(), self.random.randint(1, 2))
        state = self.random.choice(["stalled", "refused"])
        cut = {route for group in groups for route in group}
        for route in cut:
            route.set(state)
        self.note(f"{state}: {len(cut)} routes")
        time.sleep(self.random.uniform(0.2, self.options.partition))
        for route in cut:
            if self.random.random() < 0.5:
                route.reset()
            route.set("open")

    def death_of_a_link(self):
        link = self.random.choice(self.links)
        link.kill()
        time.sleep(self.random.uniform(0, 1))
        link.start()
        self.note(f"link {link.number} dies and is started again")

    def freeze(self):
        """Something stands still for a while, with all its connections, and goes on."""
        server = self.random.choice([server for region in self.regions for server in region.all_servers()])
        process = self.random.choice([self.random.choice(self.links).process, server.process])
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.1, 2))
        process.send_signal(signal.SIGCONT)
        self.note("a server or a link stands still and goes on")

    def resets(self):
        for route in self.proxy.routes:
            if self.random.random() < 0.5:
                route.reset()
        self.note("connections are reset")

    def wrong_clock(self):
        """A region is ahead of the others by more than they take, for a while; or has been, and is right again."""
        region = self.random.choice([region for region in self.regions if region.clocks])
        ahead = self.random.choice([1, 1, self.random.randint(AHEAD + 5, 4 * AHEAD)])
        with region.lock:
            for one in region.clocks:
                one.set_clock(ahead)
        self.note(f"{region.name}: its clock is set")

    def clocks_are_right(self):
        for region in self.regions:
            for one in region.clocks:
                one.set_clock(1)

    def silent_name_server(self):
        os.rename(self.names, self.names + ".away")
        for route in self.proxy.routes:
            if self.random.random() < 0.5:
                route.reset()
        time.sleep(self.random.uniform(0.2, 2 * self.options.partition))
        os.rename(self.names + ".away", self.names)
        self.note("nobody answers what the addresses of regions are")

    # ---- the course of it

    def run(self):
        self.set_up()
        self.begin = time.monotonic()
        workers = [Worker(self.model, region, i, self.options.seed, KEYS, self.options.counting, self.options.pace)
                   for region in self.regions for i in range(2)]
        for worker in workers:
            worker.start()
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            self.look_at(workers)
            if self.options.calm:
                time.sleep(0.1)
            else:
                self.fault()
                time.sleep(self.random.uniform(0, 0.5))
        self.clocks_are_right()
        say(f"faults: {self.faults}")
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.join(PATIENCE)
            assert not worker.is_alive(), f"{worker.region.name}: a client is never answered"
        self.look_at(workers)
        say(f"clients: {dict(sorted(self.model.tally.items()))}; {self.proxy.bytes:,} bytes passed, {self.proxy.lost} segments lost")

    def look_at(self, workers):
        for worker in workers:
            if worker.failure:
                raise worker.failure
        for link in self.links:
            link.alive()

    def agree(self):
        begin = time.monotonic()
        try:
            wait_for(self.equal, "equal digests", PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.differences()}") from None
        return time.monotonic() - begin

    def equal(self):
        for link in self.links:
            link.alive()
        digests = [region.digest() for region in self.regions]
        time.sleep(0.3)  # at rest, and not by chance on the way
        return all(d == digests[0] for d in digests) and [region.digest() for region in self.regions] == digests

    def differences(self):
        # Tombstones are dropped by each region in its own time; what is held must be the same.
        told = [{name: state for name, state in region.names().items() if state[1]} for region in self.regions]
        return "".join(f"{name}: {[names.get(name) for names in told]}\n" for name in sorted(set().union(*told))
                       if len({names.get(name) for names in told}) > 1)[:20000]

    def logs(self):
        return "".join(f"{link.name()}:\n{link.log()}\n" for link in self.links)

    # ---- what must be

    def check(self):
        assert not self.differences(), self.differences()
        for region in self.regions:
            if region.replicas:
                region.settled()
            for replica, primary in region.replicas_of():
                caught_up(replica, primary)
                told = [server("ROOST.SUMMARY", "COUNT", 1)[1] for server in (primary, replica)]
                assert told[0] == told[1], f"{region.name}: a replica differs from its primary: {told}"
            client = Client(region)
            for key in KEYS:
                self.check_set(region, client, key)
            self.check_keys(region, client)
            if self.options.counting:
                self.check_counters(region, client)
            client.close()

    def exists(self, client, key, elements):
        return [e for i in range(0, len(elements), 1000)
                for e, f in zip(elements[i:i + 1000], client.ask(key, *kind_of(key).exists(key, elements[i:i + 1000]))) if f]

    def check_set(self, region, client, key):
        must, gone = self.model.elements(key, "in"), self.model.elements(key, "gone")
        there = set(self.exists(client, key, must))
        missing = self.unlike(key, [e for e in must if e not in there])
        assert not missing, f"{region.name}: {key}: {len(missing)} of {len(must)} acknowledged elements are missing: {missing[:5]}"
        promised = self.rate(client, key)
        strangers = [f"stranger-{i}" for i in range(FRESH)]
        wrong = len(self.exists(client, key, strangers))
        assert wrong <= bound(FRESH, promised), f"{region.name}: {key}: {wrong} of {FRESH} strangers, {promised} promised"
        back = self.unlike(key, self.exists(client, key, gone))
        assert not back, f"{region.name}: {key}: {len(back)} of {len(gone)} removed elements are back: {back[:5]}"

    def rate(self, client, key):
        """What was promised; of a Bloom filter that has moved to another node, where it spends another share, what it says of itself."""
        answer = client.ask(key, "ROOST.INFO", key, "FULL")
        told = dict(zip(answer[::2], answer[1::2]))
        moved = key.startswith("bf") and any(key in region.migrated for region in self.regions)
        return max(float(told["fpr_promised"]), float(told["fpr_now"]) if moved else 0)

    def unlike(self, key, elements):
        """Those that no other one has the fingerprint of. A removal takes along what looks the same, one time in a million, and what looks the
        same is there as long as the other one is: a filter of its own, with the one element, tells which others it cannot be told from."""
        if not elements:
            return []
        found, others = [], [element for k, element in self.model.state if k == key]
        with server() as alone:
            client = Client(Lonely(alone))
            for element in elements:
                alone("DEL", key)
                client.pipeline(key, ([kind_of(key).create(key)] if kind_of(key).create else []) + kind_of(key).add(key, [element]))
                alike = self.exists(client, key, [other for other in others if other != element])
                say(f"{key}: {element} is not as it should be, and looks like {alike or 'none other'}")
                found += [] if alike else [element]
            client.close()
        return found

    def check_keys(self, region, client):
        for key, state in self.model.keys.items():
            old, new = self.model.reborn[key]
            there = client.ask(key, "EXISTS", key)
            if state == "deleted":
                assert not there, f"{region.name}: {key} was deleted and is back"
            elif state in ("young", "reborn"):
                assert there, f"{region.name}: {key} is missing"
                must, gone = (new, old) if state == "reborn" else (old, [])
                assert self.exists(client, key, must) == must, f"{region.name}: {key} lacks what it was made with"
                assert len(self.exists(client, key, gone)) <= bound(len(gone), 0.01), f"{region.name}: {key} has what it had before it was deleted"

    def check_counters(self, region, client):
        for key, exact in self.model.counted.items():
            value, maybe = client.ask(key, "ROOST.GET", key), sum(self.model.maybe.get(key, []))
            self.model.tally[f"{key} in {region.name}"] = f"{value} of {exact}"
            assert exact <= value <= exact + maybe, f"{region.name}: {key} is {value} and not {exact} (+ {maybe} where a replica took over)"
        for key, names in self.model.seen.items():
            found = flat([client.ask(key, "ROOST.EXISTS", key, *names[i:i + 500]) for i in range(0, len(names), 500)])
            assert all(found), f"{region.name}: {key}: {found.count(0)} of {len(names)} names are not known"

    def loss_of_a_region(self):
        """All data of one region: it is seeded again, and what was deleted stays so."""
        region = self.random.choice(self.regions)
        before = region.keys()
        for node in region.primaries():
            node("FLUSHALL")
        wait_for(lambda: region.keys() >= before, f"{region.name} to be seeded again", PATIENCE)
        self.agree()
        return region

    def work_was_done(self):
        tally = self.model.tally
        for what in ("added", "removed", "added again", "keys deleted or expired") + (("counted",) if self.options.counting else ()):
            assert tally.get(what, 0) > 0, f"nothing was {what}"
        assert tally.get("unknown", 0) < tally["removed"], "more removals are unknown than known"

    def close(self):
        failure = None
        for thing in [*self.links, *self.regions]:
            try:
                thing.stop()
            except AssertionError as error:
                failure = error
        self.proxy.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if failure:
            raise failure


class Lonely(Region):
    """A server that no link knows."""

    def __init__(self, only):
        super().__init__("alone")
        self.only = only

    def primary(self, _):
        return self.only


def bound(count, rate):
    """As many as chance allows, four standard deviations."""
    return int(count * rate + 4 * (count * rate) ** 0.5)


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("ROOST_SECONDS", "25")))
    parser.add_argument("--regions", default="mixed")
    parser.add_argument("--shape", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ROOST_SEED", "20240607")))
    parser.add_argument("--delay", type=float, default=100, help="milliseconds, each way")
    parser.add_argument("--loss", type=float, default=1, help="per cent")
    parser.add_argument("--partition", type=float, default=3, help="seconds, at most")
    parser.add_argument("--pace", type=float, default=0.05, help="seconds between what a client does")
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--clocks", action="store_true")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--without-counters", dest="counting", action="store_false")
    return parser.parse_args()


def main():
    options = read_options()
    print(f"# link chaos, {options.regions}, {options.seconds:g} s, seed {options.seed}")
    campaign, steps = Campaign(options), []
    try:
        campaign.run()
        say(f"digests are equal {campaign.agree():.1f} s after the last client: {campaign.regions[0].digest()} over {campaign.regions[0].keys()} keys")
        steps.append("regions agree")
        campaign.check()
        campaign.work_was_done()
        say(f"counters: {[f'{what}: {text}' for what, text in campaign.model.tally.items() if isinstance(text, str)]}, {campaign.model.maybe or 'none'} may count twice")
        steps.append("nothing is lost, nothing comes back")
        lost = campaign.loss_of_a_region()
        campaign.check()
        steps.append(f"a region that lost its data has it again ({lost.name})")
        failure = None
    except Exception:
        failure = traceback.format_exc() + campaign.logs()
    try:
        campaign.close()
    except Exception:
        failure = failure or traceback.format_exc()
    for step in steps:
        print(f"ok link: {step} # {options.regions}")
    if failure:
        print(f"not ok link chaos {options.regions}, seed {options.seed}\n{failure}", flush=True)
    print(f"# {time.monotonic() - campaign.begin:.0f} s, {threading.active_count()} threads left")
    return failure is not None


if __name__ == "__main__":
    sys.exit(main())
