"""What regions must agree on in the end, exactly: the model beside `link_chaos.py`, and the clients that keep it.

An element of a set is
    pending      an addition that is not acknowledged yet; it is tried until it is
    in           acknowledged: at the end it is everywhere
    gone         removed in a region that had it, acknowledged, and not added since: at the end it is nowhere
    unknown      a removal that cannot be counted either way (below)

*What may be removed.* An element whose addition was acknowledged at the first attempt has one dot. A region that has the element has that dot, and
its removal covers it. An addition that was tried twice may have left a dot in a primary that died and passed it on before: whoever removes it may not have
seen the other one. Such elements are never removed. *What counts as removed.* A removal that answered 1 and is acknowledged. One that was tried again and then answered
0 may have been lost with a primary, along with the element, which comes back from the other regions: unknown.

*Keys* that are deleted, or expire, are touched by nobody afterwards, or are made again by the one who deleted them: at the end they are nowhere, or hold what came after.

*Counters.* Operations are tried until they are acknowledged, in one region, under one name. What is left, and told apart: an attempt at a primary that died, with a
retry at the replica that was promoted, which had not heard of it while a link had. Such an operation may count twice ("maybe").
"""
import random
import threading
import time

from regions import Client, NotAcknowledged

BATCH = 40  # most elements of one command


class Model:
    def __init__(self):
        self.lock = threading.Lock()
        self.state = {}      # (key, element): pending, in, gone, unknown
        self.loose = {}      # key: elements that may be removed
        self.dead = {}       # key: elements that are gone
        self.counted = {}    # key: exact value
        self.maybe = {}      # key: amounts that may count twice
        self.seen = {}       # key: names
        self.keys = {}       # name of a key that dies: "young", "claimed", "deleted", "reborn", "unknown"
        self.reborn = {}     # key: (old elements, new elements)
        self.tally = {}

    def count(self, what, number=1):
        with self.lock:
            self.tally[what] = self.tally.get(what, 0) + number

    def elements(self, key, state):
        with self.lock:
            return [element for (k, element), s in self.state.items() if k == key and s == state]

    def set(self, key, elements, state, loose=False):
        with self.lock:
            for element in elements:
                self.state[key, element] = state
            if loose:
                self.loose.setdefault(key, []).extend(elements)
            if state == "gone":
                self.dead.setdefault(key, []).extend(elements)

    def take(self, pool, key, chance, most):
        """Some elements of a pool, which are the taker's from then on."""
        with self.lock:
            there = pool.get(key, [])
            taken = [there.pop(chance.randrange(len(there))) for _ in range(min(most, len(there)))]
        return taken

    def give_back(self, pool, key, elements):
        with self.lock:
            pool.setdefault(key, []).extend(elements)


class Kind:
    """How a sort of set is spoken to."""

    def __init__(self, add, remove, exists, create=None):
        self.add, self.remove, self.exists, self.create = add, remove, exists, create


KINDS = {
    "set": Kind(lambda k, e: [("ROOST.ADD", k, *e)], lambda k, e: [("ROOST.REM", k, *e)], lambda k, e: ("ROOST.EXISTS", k, *e),
                lambda k: ("ROOST.CREATE", k, "KIND", "orcuckoo", "SCALABLE", "CAPACITY", "1000", "WRITERS", "4")),
    "cf": Kind(lambda k, e: [("CF.ADD", k, x) for x in e], lambda k, e: [("CF.DEL", k, x) for x in e], lambda k, e: ("CF.MEXISTS", k, *e)),
    "bf": Kind(lambda k, e: [("BF.MADD", k, *e)], None, lambda k, e: ("BF.MEXISTS", k, *e)),
    "gcf": Kind(lambda k, e: [("ROOST.ADD", k, *e)], None, lambda k, e: ("ROOST.EXISTS", k, *e),
                lambda k: ("ROOST.CREATE", k, "KIND", "cuckoo", "SCALABLE", "CAPACITY", "1000", "WRITERS", "4")),
}


def kind_of(key):
    return KINDS[key.split("-")[0]]


def flat(answers):
    return [x for answer in answers for x in (answer if isinstance(answer, list) else [answer])]


class Worker(threading.Thread):
    """A client of one region, which adds, removes and counts until it is told to stop, and ends when all of it is acknowledged."""

    def __init__(self, model, region, number, seed, keys, counting, pace):
        super().__init__(daemon=True)
        self.model, self.region, self.number, self.pace = model, region, number, pace
        self.keys, self.counting = keys, counting
        self.random = random.Random(f"{seed}-{region.name}-{number}")
        self.client, self.made, self.stopping, self.failure = Client(region), 0, threading.Event(), None

    def run(self):
        deeds = [self.add] * 8 + [self.remove] * 4 + [self.add_again] + [self.make_a_key, self.delete_a_key] + self.counting_deeds()
        try:
            while not self.stopping.is_set():
                self.random.choice(deeds)()
                time.sleep(self.random.uniform(0, 2 * self.pace))
        except Exception as error:
            self.failure = error
        finally:
            self.client.close()

    def counting_deeds(self):
        return [self.increment] * 4 + [self.see] if self.counting else []

    def fresh(self, most=BATCH):
        names = [f"{self.region.name}-{self.number}-{self.made + i}" for i in range(self.random.randint(1, most))]
        self.made += len(names)
        return names

    def insist(self, key, commands):
        """Until it is acknowledged: answers, and at which attempt."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return self.client.write(key, commands), attempt
            except NotAcknowledged:
                self.model.count("attempts without an answer")
                time.sleep(min(0.5, 0.02 * attempt))

    def add(self):
        key = self.random.choice(self.keys)
        elements = self.fresh()
        self.model.set(key, elements, "pending")
        _, attempt = self.insist(key, kind_of(key).add(key, elements))
        self.model.set(key, elements, "in", loose=attempt == 1 and kind_of(key).remove is not None)
        self.model.count("added", len(elements))

    def add_again(self):
        key = self.random.choice([k for k in self.keys if kind_of(k).remove])
        elements = self.model.take(self.model.dead, key, self.random, 5)
        if elements:
            self.insist(key, kind_of(key).add(key, elements))
            self.model.set(key, elements, "in")
            self.model.count("added again", len(elements))

    def there(self, key, elements):
        """Those of the elements that this region has."""
        try:
            found = self.client.ask(key, *kind_of(key).exists(key, elements)) if elements else []
        except NotAcknowledged:
            found = [0] * len(elements)
        return [e for e, f in zip(elements, found) if f], [e for e, f in zip(elements, found) if not f]

    def remove(self):
        key = self.random.choice([k for k in self.keys if kind_of(k).remove])
        here, elsewhere = self.there(key, self.model.take(self.model.loose, key, self.random, BATCH // 2))
        self.model.give_back(self.model.loose, key, elsewhere)
        if not here:
            return
        answers, _ = self.insist(key, kind_of(key).remove(key, here))
        outcome = flat(answers)
        self.model.set(key, [e for e, was in zip(here, outcome) if was], "gone")
        self.model.set(key, [e for e, was in zip(here, outcome) if not was], "unknown")
        self.model.count("removed", sum(outcome))
        self.model.count("unknown", len(outcome) - sum(outcome))

    def make_a_key(self):
        kind = self.random.choice(["bf", "cf"])
        key = f"{kind}-dies-{self.region.name}-{self.number}-{self.made}"
        elements = self.fresh(5)
        self.insist(key, kind_of(key).add(key, elements))
        with self.model.lock:
            self.model.keys[key], self.model.reborn[key] = "young", (elements, [])

    def claim_a_key(self):
        with self.model.lock:
            young = [key for key, state in self.model.keys.items() if state == "young"]
            if not young:
                return None
            key = self.random.choice(young)
            self.model.keys[key] = "claimed"
            return key

    def delete_a_key(self):
        key = self.claim_a_key()
        if key is None:
            return
        try:
            here = self.client.ask(key, "EXISTS", key)
        except NotAcknowledged:
            here = 0
        if not here:
            with self.model.lock:
                self.model.keys[key] = "young"
            return
        words = [("DEL", key), ("UNLINK", key)]
        if not self.region.evicts:  # a key that is evicted before it expires was not deleted
            words.append(("PEXPIRE", key, 30))
        word = self.random.choice(words)
        answers, _ = self.insist(key, [word])
        self.model.count("keys deleted or expired")
        state = "deleted" if answers[0] == 1 else "unknown"
        if state == "deleted" and word[0] != "PEXPIRE" and self.random.random() < 0.5:
            elements = self.fresh(5)
            self.insist(key, kind_of(key).add(key, elements))
            state = "reborn"
            self.model.reborn[key][1].extend(elements)
            self.model.count("keys made again")
        with self.model.lock:
            self.model.keys[key] = state

    def increment(self):
        key, name, amount = self.random.choice(["count-0", "count-1"]), self.fresh(1)[0], self.random.randint(1, 9)
        before = self.region.promotions
        _, attempt = self.insist(key, [("ROOST.INCR", key, name, amount)])
        with self.model.lock:
            self.model.counted[key] = self.model.counted.get(key, 0) + amount
            if attempt > 1 and self.region.promotions != before:
                self.model.maybe.setdefault(key, []).append(amount)
        self.model.count("counted")

    def see(self):
        names = self.fresh(5)
        for name in names:
            self.insist("seen-0", [("ROOST.SEEN", "seen-0", name)])
        with self.model.lock:
            self.model.seen.setdefault("seen-0", []).extend(names)
