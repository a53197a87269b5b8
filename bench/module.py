#!/usr/bin/python3
"""The module's speed beside the server's own commands, in one server and one run: ratios count, times depend on the machine.

Rounds are interleaved, and each figure is the median of its rounds: microseconds a call, as INFO commandstats counts them, and calls a
second, as redis-benchmark sees them. Then the longest time that a command holds a server with a filter of 1 GiB.
"""
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "module"))
from servers import KIND, server  # noqa: E402

ROUNDS, CALLS, KEYS = 7, 200000, 1000000
ITEM, HUNDRED = ["__rand_int__"], ["__rand_int__"] * 100
LOADS = {  # name: the command, calls a round
    "SET": (["SET", "key:__rand_int__", "x"], CALLS), "GET": (["GET", "key:__rand_int__"], CALLS),
    "BF.ADD": (["BF.ADD", "bf"] + ITEM, CALLS), "BF.EXISTS": (["BF.EXISTS", "bf"] + ITEM, CALLS),
    "CF.ADD": (["CF.ADD", "cf"] + ITEM, CALLS), "CF.EXISTS": (["CF.EXISTS", "cf"] + ITEM, CALLS), "CF.DEL": (["CF.DEL", "cf"] + ITEM, CALLS),
    "ROOST.SEEN": (["ROOST.SEEN", "seen"] + ITEM, CALLS), "ROOST.INCR": (["ROOST.INCR", "counter"] + ITEM + ["1"], CALLS),
    "ROOST.MSEEN x 100": (["ROOST.MSEEN", "mseen"] + HUNDRED, CALLS // 40),
    "EXISTS x 100": (["EXISTS"] + ["key:__rand_int__"] * 100, CALLS // 40), "BF.MADD x 100": (["BF.MADD", "madd"] + HUNDRED, CALLS // 40),
    "BF.MEXISTS x 100": (["BF.MEXISTS", "madd"] + HUNDRED, CALLS // 40),
}
GOALS = (("BF.ADD", "SET", 0.6), ("BF.EXISTS", "GET", 1.0), ("BF.MADD x 100", "EXISTS x 100", 0.75), ("BF.MEXISTS x 100", "EXISTS x 100", None),
         ("CF.ADD", "SET", None), ("CF.EXISTS", "GET", None), ("CF.DEL", "SET", None), ("ROOST.SEEN", "SET", None), ("ROOST.INCR", "SET", None),
         ("ROOST.MSEEN x 100", "EXISTS x 100", None))


def once(s, name):
    command, calls = LOADS[name]
    s("CONFIG", "RESETSTAT")
    done = subprocess.run(["redis-benchmark", "-s", s.path, "-n", str(calls), "-r", str(KEYS), "-P", "16", "-c", "4", "--csv", *command],
                          capture_output=True, text=True, check=True).stdout
    rate = float(re.findall(r'"([\d.]+)"', done.splitlines()[-1])[0])
    stats = s("INFO", "commandstats")
    entry = next(v for k, v in stats.items() if k.lower() == "cmdstat_" + command[0].lower())
    return entry["usec_per_call"], rate


def speed(s):
    s("BF.RESERVE", "bf", "0.01", KEYS), s("CF.RESERVE", "cf", KEYS), s("BF.RESERVE", "madd", "0.01", KEYS)
    for key, kind in ("seen", "window"), ("mseen", "window"), ("counter", "counter"):
        s("ROOST.CREATE", key, "KIND", kind, "WINDOW", 3600000, "CAPACITY", KEYS)
    figures = {name: [] for name in LOADS}
    for _ in range(ROUNDS):
        for name in LOADS:
            figures[name].append(once(s, name))
    median = {name: (statistics.median(f[0] for f in rounds), statistics.median(f[1] for f in rounds)) for name, rounds in figures.items()}
    print(f"{'command':18}{'us a call':>12}{'calls a second':>18}")
    for name, (usec, rate) in median.items():
        print(f"{name:18}{usec:12.2f}{rate:18,.0f}")
    print(f"\n{'ratio of us a call':36}{'measured':>10}{'goal':>8}")
    for name, other, goal in GOALS:
        print(f"{name + ' / ' + other:36}{median[name][0] / median[other][0]:10.2f}{goal if goal else '-':>8}")


def longest(s, *command):
    """Milliseconds that a command takes, as the server's slow log has it."""
    s("SLOWLOG", "RESET")
    s(*command)
    return max(entry["duration"] for entry in s.client.slowlog_get(10)) / 1000


def holding(s):
    """A filter of 1 GiB, filled to a part: touched pages count."""
    s("CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "10")
    s("CONFIG", "SET", "roost.memory-limit", "4gb")
    s("ROOST.CREATE", "large", "SCALABLE", "WRITERS", "1", "CAPACITY", "800000000")
    s("ROOST.CREATE", "delta", "SCALABLE", "WRITERS", "1", "CAPACITY", "800000000")
    worst = {}
    for size, calls in (1, 1000), (100, 1000), (10000, 20):
        name = f"BF.MADD of {size:,}, worst of {calls:,}"
        worst[name] = max(longest(s, "BF.MADD", "large", *range(i * size, (i + 1) * size)) for i in range(calls))
    for name, command in (("BF.ADD", ("BF.ADD", "large", "x")), ("BF.EXISTS", ("BF.EXISTS", "large", "y")), ("BF.CARD", ("BF.CARD", "large")),
                          ("BF.INFO", ("BF.INFO", "large")), ("ROOST.INFO", ("ROOST.INFO", "large")),
                          ("ROOST.DIGEST, first", ("ROOST.DIGEST", "large")), ("ROOST.DIGEST, again", ("ROOST.DIGEST", "large")),
                          ("ROOST.DELTA, first (whole)", ("ROOST.DELTA", "large", "0"))):
        worst[name] = longest(s, *command)
    cursor = s("ROOST.DELTA", "delta", "0")[0]
    s("ROOST.ADD", "delta", *range(1000))
    frame = s("ROOST.DELTA", "delta", cursor)[1]
    worst["ROOST.MERGE of a delta of 1,000"] = longest(s, "ROOST.MERGE", "large", frame)
    worst["BF.CARD after it"] = longest(s, "BF.CARD", "large")
    worst["ROOST.INFO FULL (whole)"] = longest(s, "ROOST.INFO", "large", "FULL")
    worst["COPY (whole)"] = longest(s, "COPY", "large", "copy")
    worst["UNLINK"] = longest(s, "UNLINK", "large")
    print(f"\n{'a filter of 1 GiB':36}{'ms':>10}")
    for name, duration in worst.items():
        print(f"{name:36}{duration:10.2f}")


if __name__ == "__main__":
    print(f"{KIND}, medians of {ROUNDS} rounds\n")
    with server() as s:
        speed(s)
    with server() as s:
        holding(s)
