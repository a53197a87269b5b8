#!/usr/bin/python3
"""Commands with arguments drawn at random, right ones and wrong ones: the server answers each and lives on, and its replica agrees."""
import base64
import json
import os
import random

import redis

from servers import ROOT, Server, caught_up, free_port, replicate, run, servers, wait_for

CALLS = int(os.environ.get("ROOST_CALLS", "2500"))
KEYS = ["a", "b", "c", "d", "text", "roost:links"]
WORDS = ["0", "1", "-1", "2", "3", "100", "1000", "65536", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e300",
         "nan", "inf", "-inf", "0.01", "0.5", "1e-12", "", "x", "ITEMS", "CAPACITY", "ERROR", "EXPANSION", "NOCREATE", "NONSCALING",
         "BUCKETSIZE", "MAXITERATIONS", "KIND", "bloom", "cuckoo", "orcuckoo", "SCALABLE", "MULTISET", "FPR", "WRITERS", "GROWTH", "SEED",
         "LAYOUT", "classic", "WINDOW", "PAST", "window", "counter", "BITS", "8", "BUCKET", "4", "ENTRY", "32", "SCHEDULE", "halving", "SINCE", "FULL", "SIZE", "HELLO", "AGREED", "HOLD", "JOIN", "TRUST", "STATE", "REGION", "\0\xff" * 20]
with open(os.path.join(ROOT, "tests", "golden", "redisbloom", "contents.json")) as golden:
    IMPORTED = {key: base64.b64decode(payload) for key, payload in json.load(golden)["dump"].items()}  # filters of RedisBloom
COMMANDS = ("BF.RESERVE BF.ADD BF.MADD BF.INSERT BF.EXISTS BF.MEXISTS BF.CARD BF.INFO BF.SCANDUMP BF.LOADCHUNK CF.RESERVE CF.ADD CF.ADDNX CF.INSERT "
            "CF.INSERTNX CF.EXISTS CF.MEXISTS CF.DEL CF.COUNT CF.INFO CF.SCANDUMP CF.LOADCHUNK BF.LOAD BF.DEBUG CF.DEBUG CF.COMPACT ROOST.CREATE ROOST.ADD ROOST.REM ROOST.REMONE "
            "ROOST.EXISTS ROOST.COUNT ROOST.MERGE ROOST.MERGESTORE ROOST.DELTA ROOST.DIGEST ROOST.DUMP ROOST.RESTORE ROOST.SYNC ROOST.INFO "
            "ROOST.SEEN ROOST.MSEEN ROOST.INCR ROOST.GET ROOST.SUMMARY ROOST.PULL ROOST.PUSH ROOST.ASK ROOST.GENERATION ROOST.LINK ROOST.LINK COPY RENAME DEL").split()
SENSIBLE = (lambda k: ("BF.RESERVE", k, "0.01", "50"), lambda k: ("BF.RESERVE", k, "0.01", "50", "NONSCALING"), lambda k: ("CF.RESERVE", k, "16"),
            lambda k: ("CF.RESERVE", k, "16", "EXPANSION", "0"), lambda k: ("ROOST.CREATE", k, "SCALABLE", "CAPACITY", "16"),
            lambda k: ("ROOST.CREATE", k, "KIND", "orcuckoo", "SCALABLE", "CAPACITY", "16"), lambda k: ("ROOST.CREATE", k, "KIND", "cuckoo", "CAPACITY", "30"),
            lambda k: ("BF.MADD", k, *items()), lambda k: ("CF.INSERT", k, "ITEMS", *items()), lambda k: ("ROOST.ADD", k, *items()),
            lambda k: ("ROOST.REM", k, *items()), lambda k: ("CF.DEL", k, *items()[:1]), lambda k: ("COPY", k, random.choice(KEYS), "REPLACE"),
            lambda k: ("COPY", k, random.choice(KEYS)), lambda k: ("ROOST.ADD", k, *items()), lambda k: ("ROOST.ADD", k, *items()),
            lambda k: ("ROOST.CREATE", k, "KIND", "window", "WINDOW", "50", "CAPACITY", "16"), lambda k: ("ROOST.MSEEN", k, *items()),
            lambda k: ("ROOST.CREATE", k, "KIND", "counter", "WINDOW", "50", "CAPACITY", "16"), lambda k: ("ROOST.INCR", k, *items()[:1], "3"),
            lambda k: ("ROOST.MERGESTORE", random.choice(KEYS), k, k), lambda k: ("DEL", k), lambda k: ("RENAME", k, random.choice(KEYS)),
            lambda k: ("ROOST.PULL", k, "0"), lambda k: ("ROOST.PUSH", k, random.randrange(40), b""), lambda k: ("SET", random.choice(KEYS), "x"),
            lambda k: ("RESTORE", k, 0, IMPORTED["bf:default"], "REPLACE"), lambda k: ("RESTORE", k, 0, IMPORTED["cf:default"], "REPLACE"),
            lambda k: ("CF.DEL", k, f"item:default:{random.randrange(2000)}"), lambda k: ("BF.ADD", k, f"item:default:{random.randrange(600)}"))


def items():
    return [str(random.randrange(60)) for _ in range(random.choice((1, 1, 3, 40)))]


def wild(frames):
    arguments = [random.choice(WORDS) for _ in range(random.choice((0, 1, 2, 2, 3, 5)))]
    if frames and random.random() < 0.3:
        frame = bytearray(random.choice(frames))
        if random.random() < 0.5 and frame:
            frame[random.randrange(len(frame))] ^= 1 << random.randrange(8)
        arguments.insert(random.randrange(len(arguments) + 1), bytes(frame))
    return (random.choice(COMMANDS), random.choice(KEYS), *arguments)


def test_random_commands():
    with servers(*[lambda: Server("--maxmemory", "200mb", port=free_port())] * 2) as (s, replica):
        s("CONFIG", "SET", "roost.memory-limit", "2mb"), s("SET", "text", "x")
        replicate(replica, s)
        s("ROOST.LINK", "roost:links", "HELLO", 7)  # from now on deletions are remembered
        frames, errors = [], 0
        for call in range(CALLS):
            command = random.choice(SENSIBLE)(random.choice(KEYS[:4])) if random.random() < 0.5 else wild(frames)
            try:
                answer = s.client.execute_command(*command)
                if command[0] in ("ROOST.DELTA", "ROOST.DUMP", "BF.SCANDUMP", "CF.SCANDUMP") and answer[-1]:
                    frames = frames[-20:] + [answer[-1]]
                if command[0] == "ROOST.PULL" and answer[3]:
                    frames = frames[-20:] + [answer[3]]
            except redis.ResponseError:
                errors += 1
            except (TypeError, ValueError, IndexError, AttributeError):
                pass  # the library cannot read an answer that it did not expect
            if call % 10 == 9:
                check_agreement(s, replica)
            if call % 1000 == 999:  # after which the replica begins anew
                s("DEBUG", "RELOAD")
        assert errors > CALLS / 20


def check_agreement(s, replica):
    wait_for(lambda: replica.client.info("replication")["master_link_status"] == "up", "the replica")
    caught_up(replica, s)
    for key in KEYS:  # the server itself writes down what links agreed on, whenever it gets to it
        wait_for(lambda: s("DEBUG", "DIGEST-VALUE", key) == replica("DEBUG", "DIGEST-VALUE", key), f"both to have the same {key!r}")
    wait_for(lambda: s("ROOST.SUMMARY")[1] == replica("ROOST.SUMMARY")[1], "the same generations")


if __name__ == "__main__":
    run(globals())
