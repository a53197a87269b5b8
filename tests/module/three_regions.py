#!/usr/bin/python3
"""make run-redis: three servers that know nothing of each other, three links between them, a partition, its healing, the digests.

Each link keeps two of the servers in step and goes through a proxy (proxy.py), which can cut one region off as a cable would.
"""
import sys
import time

from proxy import Proxy
from regions import Link, Region
from servers import KIND, Server, free_port, servers, wait_for

ITEMS, PATIENCE = 50000, 120


class City(Region):
    """A region that is one server, started elsewhere."""

    def __init__(self, name, server):
        super().__init__(name)
        self.server = server

    def primary(self, _):
        return self.server

    def primaries(self):
        return [self.server]

    def __call__(self, *words):
        return self.server(*words)


def say(what, text):
    print(f"{what:17}{text}", flush=True)


def add(city, salt, count):
    for begin in range(0, count, 1000):
        city("ROOST.ADD", "birds", *(f"{salt}-{i}" for i in range(begin, min(begin + 1000, count))))


def exists(city, salt, count):
    return sum(sum(city("ROOST.EXISTS", "birds", *(f"{salt}-{i}" for i in range(begin, min(begin + 1000, count))))) for begin in range(0, count, 1000))


def agree(cities):
    begin = time.monotonic()
    wait_for(lambda: len({city.digest() for city in cities}) == 1, "equal digests", PATIENCE)
    return time.monotonic() - begin


def digests(cities):
    for city in cities:
        say("", f"{city.name:11}{city.digest()}")


def filled_apart(cities):
    begin = time.monotonic()
    cities[0]("ROOST.CREATE", "birds", "KIND", "orcuckoo", "SCALABLE", "WRITERS", "3")
    wait_for(lambda: all(city("EXISTS", "birds") for city in cities), "the key everywhere", PATIENCE)
    say("a key", f"made in {cities[0].name}, and {1000 * (time.monotonic() - begin):.0f} ms later it is everywhere")
    begin = time.monotonic()
    for city in cities:
        add(city, city.name, ITEMS), city("BF.ADD", "old", city.name)
    say("filled", f"{ITEMS:,} items in each, {time.monotonic() - begin:.1f} s; {agree(cities):.1f} s later all have all of it:")
    digests(cities)


def partition(cities, links):
    amsterdam, tokyo, _ = cities
    for link in links:
        if tokyo in link.routes:
            link.routes[tokyo].set("stalled")
    amsterdam("ROOST.REM", "birds", *(f"Amsterdam-{i}" for i in range(10)))
    amsterdam("DEL", "old")
    tokyo("ROOST.ADD", "birds", "a late swift")
    for city in cities:
        city("ROOST.INCR", "sightings", f"{city.name} 1", 1), city("ROOST.INCR", "sightings", f"{city.name} 1", 1)
    wait_for(lambda: cities[0].digest() == cities[2].digest() != tokyo.digest(), "the two that see each other", PATIENCE)
    say("partition", "Tokyo is cut off. Amsterdam removes ten items and a whole key, Tokyo adds one,")
    say("", f"each counts something, twice under one name; the others agree, Tokyo has {tokyo('ROOST.GET', 'sightings')} of 3:")
    digests(cities)


def healing(cities, links):
    for link in links:
        for route in link.routes.values():
            route.set("open")
    say("healed", f"{agree(cities):.1f} s later:")
    digests(cities)
    lost = sum(ITEMS - (10 if city.name == "Amsterdam" else 0) - exists(there, city.name, ITEMS) for city in cities for there in cities)
    swift = sum(city("ROOST.EXISTS", "birds", "a late swift")[0] for city in cities)
    removed = sum(exists(city, "Amsterdam", 10) for city in cities)
    counted = [city("ROOST.GET", "sightings") for city in cities]
    say("items lost", f"{lost} of {3 * ITEMS - 10:,}, asked for in each of three; the late swift is in {swift}")
    say("removed", f"{removed} of the ten are left; the deleted key is in {sum(city('EXISTS', 'old') for city in cities)}")
    say("counted", f"{' '.join(map(str, counted))}")
    return lost == 0 and removed == 0 and swift == 3 and counted == [3, 3, 3] and not any(city("EXISTS", "old") for city in cities)


def show(cities, proxy):
    amsterdam, tokyo, quito = cities
    links = [Link(number, proxy, pair) for number, pair in enumerate(([amsterdam, tokyo], [tokyo, quito], [quito, amsterdam]))]
    try:
        say("links", ", ".join(f"{a.name} - {b.name}" for a, b in (link.regions for link in links)) + ": roost link URL URL")
        filled_apart(cities)
        partition(cities, links)
        return healing(cities, links)
    finally:
        for link in links:
            link.stop()


def main():
    proxy = Proxy(seed=1)
    with servers(*[lambda: Server(port=free_port())] * 3) as three:
        cities = [City(name, server) for name, server in zip(("Amsterdam", "Tokyo", "Quito"), three)]
        say("servers", f"{KIND} at {', '.join(f'127.0.0.1:{city.server.port} ({city.name})' for city in cities)}")
        agreed = show(cities, proxy)
        say("agree", "yes" if agreed else "NO")
    proxy.close()
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
