#!/usr/bin/python3
"""make run-redis: two servers that know nothing of each other, a filter filled on both sides, and what it takes to make them agree."""
import sys
import time

from servers import KIND, Server, free_port, servers

ITEMS = 100000


def say(what, text):
    print(f"{what:17}{text}", flush=True)


def add(s, salt, count=ITEMS):
    for begin in range(0, count, 1000):
        s("ROOST.ADD", "birds", *(f"{salt}-{i}" for i in range(begin, min(begin + 1000, count))))


def exchange(one, other, cursors):
    """What each has that the other may not: one delta each way. Returns the bytes."""
    moved = 0
    for giver, taker in (one, other), (other, one):
        cursors[giver], frame = giver("ROOST.DELTA", "birds", cursors.get(giver, "0"))
        taker("ROOST.MERGE", "birds", frame)
        moved += len(frame)
    return moved


def exists(s, items):
    return sum(sum(s("ROOST.EXISTS", "birds", *items[i:i + 1000])) for i in range(0, len(items), 1000))


def main():
    with servers(*[lambda: Server(port=free_port())] * 2) as (amsterdam, tokyo):
        say("servers", f"{KIND} at 127.0.0.1:{amsterdam.port} (Amsterdam) and 127.0.0.1:{tokyo.port} (Tokyo)")
        for s in amsterdam, tokyo:
            s("ROOST.CREATE", "birds", "KIND", "orcuckoo", "SCALABLE")
        begin = time.monotonic()
        add(amsterdam, "amsterdam"), add(tokyo, "tokyo")
        say("filled", f"{ITEMS:,} items at each, apart, in {time.monotonic() - begin:.1f} s")
        cursors = {}
        moved = exchange(amsterdam, tokyo, cursors)
        exchange(amsterdam, tokyo, cursors)  # the cursors pass what was just merged
        say("first exchange", f"{moved / 1e6:.2f} MB, {moved / ITEMS / 2:.1f} bytes an item")
        here = [f"amsterdam-{i}" for i in range(ITEMS)]
        there = [f"tokyo-{i}" for i in range(ITEMS)]
        lost = 4 * ITEMS - sum(exists(s, items) for s in (amsterdam, tokyo) for items in (here, there))
        say("items lost", f"{lost} (each of {2 * ITEMS:,} asked for at both)")
        amsterdam("ROOST.REM", "birds", *here[:10]), tokyo("ROOST.ADD", "birds", "a late swift")
        moved = exchange(amsterdam, tokyo, cursors)
        say("ten removed", f"and one added: {moved} bytes to tell each other")
        say("they are gone", f"{exists(tokyo, here[:10])} of 10 left in Tokyo; the late swift in Amsterdam: {exists(amsterdam, ['a late swift'])}")
        digests = amsterdam.digest("birds"), tokyo.digest("birds")
        say("digests", f"{digests[0]}\n{'':17}{digests[1]}")
        agree = digests[0] == digests[1] and lost == 0
        say("agree", "yes" if agree else "NO")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
