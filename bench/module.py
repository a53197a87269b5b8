#!/usr/bin/python3
"""The module's speed beside the server's own commands, in one server and one run: ratios count, times depend on the machine.

Rounds are interleaved, and each figure is the median of its rounds: microseconds a call, as INFO commandstats counts them, and calls a
second, as redis-benchmark sees them. Then the longest time that a command holds a server with a filter of 1 GiB.

    bench/module.py --peer [redisbloom.so]     size and speed beside RedisBloom, as a table and as bench/module.csv

RedisBloom is in no Debian package, and the source of Redis 8 only fetches it. Without its module, the figures of RedisBloom are constants,
marked as such: those that were measured of 2.8.15 on Redis 7.0.15.
"""
import csv
import os
import re
import statistics
import subprocess
import sys
import time

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
    """Milliseconds that a command holds the server, as its slow log has it; of one whose client waits, this is how it begins and ends.

    The slow log also counts the time in which somebody else had the processor; what the main thread had of it in all is an upper bound.
    """
    s("SLOWLOG", "RESET")
    before = processor(s)
    s(*command)
    worked = processor(s) - before
    return min(max(entry["duration"] for entry in s.client.slowlog_get(10)) / 1000, 1000 * worked)


def processor(s):
    """Seconds that the main thread had the processor."""
    used = s.client.info("cpu")
    return used["used_cpu_sys_main_thread"] + used["used_cpu_user_main_thread"]


def waited(s, *command):
    """Seconds until the answer."""
    begin = time.monotonic()
    s(*command)
    return time.monotonic() - begin


def cuckoo(s, worst, waits):
    """An observed-remove filter whose other replica has added, and removed what this one holds."""
    s("ROOST.CREATE", "set", "KIND", "orcuckoo", "CAPACITY", "100000000")
    for i in range(100):
        s("ROOST.ADD", "set", *range(i * 10000, (i + 1) * 10000))
    s("ROOST.MERGESTORE", "twin", "set")
    for i in range(20):
        s("ROOST.REM", "twin", *range(i * 10000, (i + 1) * 10000))
        s("ROOST.ADD", "twin", *range(10**9 + i * 10000, 10**9 + (i + 1) * 10000))
    frame = s("ROOST.DELTA", "twin", "0")[1]
    worst["ROOST.MERGE of a set's state"] = longest(s, "ROOST.MERGE", "set", frame)
    assert s.digest("set") == s.digest("twin")
    waits["ROOST.MERGE of it again"] = waited(s, "ROOST.MERGE", "set", frame)
    worst["ROOST.ADD of 10,000 to the set"] = longest(s, "ROOST.ADD", "set", *range(10**8, 10**8 + 10000))


def holding(s):
    """A filter of 1 GiB, filled to a part: touched pages count."""
    s("CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "10")
    s("CONFIG", "SET", "roost.memory-limit", "4gb")
    s("ROOST.CREATE", "large", "KIND", "bloom", "SCALABLE", "WRITERS", "1", "CAPACITY", "800000000")
    s("ROOST.CREATE", "delta", "KIND", "bloom", "SCALABLE", "WRITERS", "1", "CAPACITY", "800000000")
    s("CONFIG", "SET", "proto-max-bulk-len", "4gb", "client-query-buffer-limit", "4gb")
    worst, waits = {}, {}
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
    s("ROOST.MERGESTORE", "other", "large")
    for i in range(50):
        s("BF.MADD", "other", *range(10**9 + i * 10000, 10**9 + (i + 1) * 10000))
    frame = s("ROOST.DELTA", "other", "0")[1]
    state = f"ROOST.MERGE of a state ({len(frame) / 1e6:.0f} MB)"
    worst[state] = longest(s, "ROOST.MERGE", "large", frame)
    for i in range(50):
        s("BF.MADD", "large", *range(2 * 10**9 + i * 10000, 2 * 10**9 + (i + 1) * 10000))
    waits["ROOST.DIGEST"] = waited(s, "ROOST.DIGEST", "large")
    s("DEL", "delta")
    waits[state + ", new key"] = waited(s, "ROOST.MERGE", "delta", frame)
    s("UNLINK", "other", "delta")
    cuckoo(s, worst, waits)
    worst["ROOST.INFO FULL"] = longest(s, "ROOST.INFO", "large", "FULL")
    worst["ROOST.MERGESTORE (whole)"] = longest(s, "ROOST.MERGESTORE", "copy", "large")
    worst["UNLINK"] = longest(s, "UNLINK", "large")
    print(f"\n{'a filter of 1 GiB':36}{'ms':>10}")
    for name, duration in worst.items():
        print(f"{name:36}{duration:10.2f}")
    print(f"{'longest time slice of a command':36}{s.client.info('roost')['roost_longest_slice_usec'] / 1000:10.2f}")
    print(f"\n{'incremental jobs: until the reply':42}{'s':>4}")
    for name, duration in waits.items():
        print(f"{name:38}{duration:8.2f}")


def small_keys(s, count=1000000):
    """A million keys of one item each: made, saved and loaded; seconds of the main thread, beside the smallest native value."""
    print(f"\n{f'{count:,} keys of one item':36}{'us to make':>12}{'s to save and load':>20}{'bytes':>8}")
    for command in ("SET", "key:__rand_int__", "x"), ("BF.ADD", "key:__rand_int__", "x"):
        s("FLUSHALL", "SYNC")
        before, empty = processor(s), s.client.info("memory")["used_memory"]
        subprocess.run(["redis-benchmark", "-s", s.path, "-n", str(count), "-r", "1000000000", "-P", "64", "-c", "1", "-q", *command],
                       capture_output=True, check=True)
        made, size = processor(s), (s.client.info("memory")["used_memory"] - empty) / s("DBSIZE")
        s("DEBUG", "RELOAD")
        print(f"{command[0]:36}{(made - before) * 1e6 / count:12.2f}{processor(s) - made:20.2f}{size:8.0f}")


# ---- beside RedisBloom ----------------------------------------------------------------------------------------------

MILLION = 1000000
STATED = {  # of RedisBloom 2.8.15, as bench/module.csv has them; what is not here is left empty
    "BF of one item, defaults": 272, "CF of one item, defaults": 1112, "BF of 1 M at 1 %, 1 M items": 1.379e6, "CF of 1 M, 900,000 items": 2.097e6,
    "the same of the allocator (BF)": 1.67e6, "the same of the allocator (CF)": 2.147e6, "DUMP of that BF": 1.379e6, "DUMP of that CF": 1.61e6,
    "both in an AOF without preamble": 3.476e6, "BF.ADD / SET": 0.40, "BF.EXISTS / GET": 0.43, "BF.MADD x 100 / EXISTS x 100": 0.24,
    "CF.ADD / SET": 0.33, "CF.EXISTS / GET": 0.57,
}


def fill(s, figures, what, *add, items):
    """Bytes by MEMORY USAGE, which is what the module says, and as the server's allocator counts them."""
    before = s.client.info("memory")["used_memory"]
    s(add[0][:2] + ".RESERVE", add[1], *(["0.01"] if add[0].startswith("BF") else []), MILLION)
    for i in range(0, items, 1000):
        s(*add, *range(i, i + 1000))
    s.client.connection_pool.disconnect()  # with its buffers
    figures[what, "bytes"] = s("MEMORY", "USAGE", add[1], "SAMPLES", 0)
    figures[f"the same of the allocator ({add[1].upper()})", "bytes"] = s.client.info("memory")["used_memory"] - before
    figures[f"DUMP of that {add[1].upper()}", "bytes"] = len(s("DUMP", add[1]))


def sizes(s, figures):
    """Bytes of keys, and of files."""
    s("BF.ADD", "one", "x"), s("CF.ADD", "two", "x")
    figures["BF of one item, defaults", "bytes"] = s("MEMORY", "USAGE", "one")
    figures["CF of one item, defaults", "bytes"] = s("MEMORY", "USAGE", "two")
    s("FLUSHALL", "SYNC"), s("CONFIG", "RESETSTAT")
    fill(s, figures, "BF of 1 M at 1 %, 1 M items", "BF.MADD", "bf", items=MILLION)
    fill(s, figures, "CF of 1 M, 900,000 items", "CF.INSERT", "cf", "ITEMS", items=900000)
    for command in "bf.reserve", "cf.reserve":
        stats = {name.lower(): value for name, value in s("INFO", "commandstats").items()}
        figures[f"{command.upper()} of 1 M", "us"] = stats["cmdstat_" + command]["usec_per_call"]


def files(s, figures):
    """Both filters in an RDB file and in an AOF without preamble; processor seconds to load it."""
    before = processor(s)
    s("DEBUG", "RELOAD")
    figures["both saved and loaded again (RDB)", "s"] = processor(s) - before
    s("CONFIG", "SET", "aof-use-rdb-preamble", "no", "appendonly", "yes")
    wait = time.monotonic() + 120
    while s.client.info("persistence")["aof_rewrite_in_progress"] and time.monotonic() < wait:
        time.sleep(0.05)
    folder = os.path.join(s.folder, "appendonlydir")
    figures["both in an AOF without preamble", "bytes"] = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def speeds(s, figures):
    s("FLUSHALL", "SYNC")
    s("BF.RESERVE", "bf", "0.01", KEYS), s("CF.RESERVE", "cf", KEYS), s("BF.RESERVE", "madd", "0.01", KEYS)
    names = "SET", "GET", "EXISTS x 100", "BF.ADD", "BF.EXISTS", "CF.ADD", "CF.EXISTS", "BF.MADD x 100"
    rounds = [{name: once(s, name)[0] for name in names} for _ in range(ROUNDS)]
    median = {name: statistics.median(r[name] for r in rounds) for name in names}
    for name, other in ("BF.ADD", "SET"), ("BF.EXISTS", "GET"), ("BF.MADD x 100", "EXISTS x 100"), ("CF.ADD", "SET"), ("CF.EXISTS", "GET"):
        figures[f"{name} / {other}", "ratio"] = median[name] / median[other]


def version_of(s):
    """Of the module that is loaded: 20820 is 2.8.20."""
    number = s.client.module_list()[0][b"ver"]
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def measured(*options, **how):
    figures = {}
    with server(*options, **how) as s:
        sizes(s, figures), files(s, figures), speeds(s, figures)
        return figures, version_of(s)


def beside_redisbloom(peer):
    ours, _ = measured()
    theirs, version = measured("--loadmodule", peer, module=False) if peer else ({key: STATED.get(key[0]) for key in ours}, None)
    rows = [(name, unit, ours[name, unit], theirs[name, unit], f"measured of {version}" if peer else "stated" if theirs[name, unit] else "-")
            for name, unit in ours]
    print(f"{'':36}{'unit':>7}{'Roost':>14}{'RedisBloom':>14}{'ratio':>8}")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "module.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("measure", "unit", "roost", "redisbloom", "ratio", "redisbloom figure is"))
        for name, unit, one, other, source in rows:
            ratio = f"{one / other:.2f}" if other else ""
            table.writerow((name, unit, f"{one:.6g}", f"{other:.6g}" if other else "", ratio, source))
            print(f"{name:36}{unit:>7}{one:14.6g}{other or float('nan'):14.6g}{ratio:>8}")


if __name__ == "__main__" and "--peer" in sys.argv:
    beside_redisbloom(next((a for a in sys.argv[1:] if a.endswith(".so")), None))
    sys.exit()
if __name__ == "__main__":
    print(f"{KIND}, medians of {ROUNDS} rounds\n")
    with server() as s:
        speed(s)
    with server() as s:
        holding(s)
    with server() as s:
        small_keys(s)
