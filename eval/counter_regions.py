"""The paper on forgetful Bloom filters, Figure 14, on real servers: a counter in three regions, with retries, kill -9, and a server that is lost for good.

Three servers with the module and their AOF are three regions, 20 ms and 1 % of loss apart, which two links keep in step. A client sends each operation to one of them
and hears no answer in 6 % of the cases. It sends the operation again under its name: to the same region, to another one that has heard of it, or at once to another one,
which may not have. Meanwhile servers and links are killed with -9, the links for long enough that the regions drift apart, and one server is lost with its data: an empty
one takes its place, and the links bring the counter there (the paper: the store replicates the counter at another node).

    10 %  a server is asked and dies before it has looked          20 %  another one answers, and dies
    30 %  a link dies, and returns at 35 %                         40 %  both links die, and return at 50 %
    60 %  a server is asked and dies at any moment                 65 %  a server is lost; an empty one takes its place at 70 %
    80 %  a server answers, and dies                               90 %  a link dies, and returns at 91 %

Beside it is a counter that takes each attempt for an operation of its own: replicated in the same way, and not idempotent, as Cassandra's are.
"""
import os
import random
import signal
import time

from proxy import Proxy
from regions import Client, Link, NotAcknowledged, Single
from servers import wait_for

COUNTER, ATTEMPTS = "operations", "attempts"
POINTS = 20  # at which the values are looked at
HERE, LATER, AT_ONCE = 5, 5, 2  # of 200 operations: retries at the same region, at another that has heard of it, at another at once
HEAD = ("operations", "ams", "tyo", "nyc", "without", "counted_twice", "apart")


class Region(Single):
    """One server, which can be lost with its data and replaced."""
    lost = False

    def replace(self):
        self.server.stop()
        self.server = self.start_server()
        self.lost = False


class Trial:
    def __init__(self, operations, seed=14):
        self.operations, self.random = operations, random.Random(seed)
        self.proxy = Proxy(seed, 0.02, 0.01)
        self.regions = [Region(name) for name in ("ams", "tyo", "nyc")]
        self.clients = {region: Client(region) for region in self.regions}
        self.links = [Link(number, self.proxy, self.regions) for number in range(2)]
        self.retries = {"here": 0, "later": 0, "at once": 0, "killed": 0}
        self.rows, self.twice, self.unduly, self.attempts, self.kills, self.link_kills = [], 0, 0, 0, 0, 0
        ams, tyo, nyc = self.regions
        self.deaths = self.by_number({0.10: (ams, "before"), 0.20: (tyo, "after"), 0.60: (nyc, "any moment"), 0.80: (ams, "after")})
        self.faults = self.by_number({
            0.30: lambda: self.links_die(self.links[:1]), 0.35: self.links_return, 0.40: lambda: self.links_die(self.links), 0.50: self.links_return,
            0.65: lambda: self.loss(tyo), 0.70: lambda: self.replacement(tyo), 0.90: lambda: self.links_die(self.links[1:]), 0.91: self.links_return})

    def by_number(self, parts):
        """What happens at an operation instead of after a part of all."""
        return {round(part * self.operations): what for part, what in parts.items()}

    # ---- operations

    def commands(self, name):
        self.attempts += 1
        return [("ROOST.INCR", COUNTER, name, 1), ("ROOST.INCR", ATTEMPTS, f"attempt {self.attempts}", 1)]

    def attempt(self, region, name):
        """Whether it was counted; a server that is just back may refuse at first."""
        while True:
            try:
                return self.clients[region].write(COUNTER, self.commands(name))[0][1] == 1
            except NotAcknowledged:
                time.sleep(0.01)

    def perform(self, number):
        name, fate = f"operation {number}", self.random.randrange(200)
        region, other = self.random.sample([region for region in self.regions if not region.lost], 2)
        counted = self.attempt(region, name)
        if fate < HERE or (fate < HERE + LATER and self.are_apart()):
            self.retry(region, name, counted, "here")
        elif fate < HERE + LATER:
            wait_for(lambda: other.server("ROOST.EXISTS", COUNTER, name) == [1], f"{name} in {other.name}")
            self.retry(other, name, counted, "later")
        elif fate < HERE + LATER + AT_ONCE:
            self.retry(other, name, counted, "at once")

    def retry(self, region, name, counted, how):
        is_twice = self.attempt(region, name) and counted
        self.twice += is_twice
        self.unduly += is_twice and how != "at once"
        self.retries[how] += 1

    # ---- what goes wrong

    def are_apart(self):
        return all(link.process.poll() is not None for link in self.links)

    def death(self, number, region, when):
        """Of a server that was asked for an operation. What it has answered is in its AOF; the operation is tried again when it is back."""
        name, client = f"operation {number}", self.clients[region]
        line = client.line(region.server)
        if when == "after":
            self.attempt(region, name)
        else:
            if when == "before":
                os.kill(region.server.process.pid, signal.SIGSTOP)
            line.send(self.commands(name))
        region.server.kill()
        client.drop(region.server)
        region.server.start()
        self.attempt(region, name)
        self.retries["killed"] += 1
        self.kills += 1

    def links_die(self, links):
        for link in links:
            link.kill()
            self.link_kills += 1

    def links_return(self):
        for link in self.links:
            if link.process.poll() is not None:
                link.start()

    def loss(self, region):
        """What it has answered is known elsewhere: nothing brings back what only a lost server knew."""
        self.agree()
        region.server.kill()
        self.clients[region].drop(region.server)
        region.lost = True
        self.kills += 1

    def replacement(self, region):
        region.replace()
        self.agree()

    # ---- what has come of it

    def digests(self, region):
        return tuple(region.server.digest(key) for key in (COUNTER, ATTEMPTS))

    def agree(self):
        present = [region for region in self.regions if not region.lost]
        wait_for(lambda: len({self.digests(region) for region in present}) == 1, "equal counters")

    def value(self, region, key=COUNTER):
        return "" if region.lost else int(region.server("ROOST.GET", key) or 0)

    def look(self, done):
        apart = self.are_apart()
        if not apart:
            self.agree()
        without = "" if apart else next(self.value(region, ATTEMPTS) for region in self.regions if not region.lost)
        self.rows.append((done, *map(self.value, self.regions), without, self.twice, "yes" if apart else ""))

    def run(self):
        for number in range(self.operations):
            self.faults.get(number, lambda: None)()
            if number in self.deaths:
                self.death(number, *self.deaths[number])
            else:
                self.perform(number)
            if (number + 1) % (self.operations // POINTS) == 0:
                self.look(number + 1)
        self.agree()

    def close(self):
        for client in self.clients.values():
            client.close()
        for link in self.links:
            link.stop()
        for region in self.regions:
            region.stop()
        self.proxy.close()


def run(operations):
    trial = Trial(operations)
    try:
        trial.run()
        trial.final = [trial.value(region) for region in trial.regions]
        trial.without = trial.value(trial.regions[0], ATTEMPTS)
    finally:
        trial.close()
    return trial
