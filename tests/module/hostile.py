#!/usr/bin/python3
"""Hostile input to a real server: mutated sync messages, frames and chunks.

    hostile.py              one round: ROOST_MUTANTS mutants for each kind of filter and each group of commands below
    hostile.py --seconds N  as many rounds as N seconds have room for (make fuzz-module)

For each kind of filter there are two keys with different elements. A mutant is something that the server itself sent, changed at random.
Most mutants get a valid checksum, so that the decoder has to validate every number. The commands are

    ROOST.SYNC, ROOST.ASK                          any one message of a sync between the two keys
    ROOST.MERGE, ROOST.PUSH                        a state or a delta
    ROOST.RESTORE, BF.LOADCHUNK, CF.LOADCHUNK      a value in chunks

RESTORE is in rdb.py. After each mutant the test checks that

    the server runs, and has answered
    an error has changed nothing
    grow-only filters hold every element that they held, and a sync that nobody tampers with makes the two keys equal

and after each group, or round, that

    other keys have the digests that they had
    the memory that mutants took is free once their keys are deleted; at no time was it more than a multiple of roost.memory-limit and of
    the bytes that were sent (resident memory, which is measured only without sanitizers)
"""
import ctypes
import itertools
import os
import random
import struct
import sys
import time

from rdb import HEADER, frames, with_check, with_size
from servers import MODULE, Speaker, run, server

MUTANTS = int(os.environ.get("ROOST_MUTANTS", "50"))
KINDS = {"bloom": "CAPACITY 500", "classic": "CAPACITY 500 LAYOUT classic", "series": "SCALABLE CAPACITY 40 WRITERS 4",
         "cuckoo": "KIND cuckoo CAPACITY 500", "growing": "KIND cuckoo SCALABLE CAPACITY 40", "set": "KIND orcuckoo CAPACITY 500",
         "scalable set": "KIND orcuckoo SCALABLE CAPACITY 40", "multiset": "KIND orcuckoo MULTISET CAPACITY 500",
         "window": "KIND window WINDOW 600000 CAPACITY 500 FPR 0.001", "counter": "KIND counter WINDOW 600000 CAPACITY 500 FPR 0.001"}
GROW_ONLY = ("bloom", "classic", "series", "cuckoo", "growing")
TIMED = ("window", "counter")
MEMORY_LIMIT = 2 << 20
HELLO, TROUBLE = 0x52, 0x58
MOST_MESSAGES = 40

# ---- checksums -------------------------------------------------------------------------------------------------------


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXHASH = ctypes.CDLL("libxxhash.so.0")
XXHASH.XXH3_64bits.restype = ctypes.c_uint64
XXHASH.XXH3_64bits.argtypes = ctypes.c_char_p, ctypes.c_size_t
XXHASH.XXH3_128bits_withSeed.restype = Hash128
XXHASH.XXH3_128bits_withSeed.argtypes = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64


def hash_of(data, seed):
    return XXHASH.XXH3_128bits_withSeed(data, len(data), seed)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def read_varint(data, at):
    number, shift = 0, 0
    while True:
        number |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return number, at


def configuration(frame):
    """Its bytes and its seed, as docs/format.md has them."""
    begin = at = read_varint(frame, 6)[1]
    kind, grows, prefixes = frame[at] & 15, frame[at] & 48, frame[at] & 32
    at = read_varint(frame, at + 2)[1] + 8
    seed, at = read_varint(frame, at)
    at += 2
    if grows:
        at = read_varint(frame, at)[1] + 2
    if prefixes:
        return frame[begin:at + (kind == 3)], seed ^ 0x526f6f7374  # with dots: a byte for sets and multisets
    if kind in (6, 7):
        at = read_varint(frame, at)[1] + 1
    at += {2: 0, 3: 1 if grows else 2}.get(kind, 0)
    for _ in range({1: 0 if grows else 2, 2: 1, 3: 1}.get(kind, 0 if grows else 2)):
        at = read_varint(frame, at)[1]
    return frame[begin:at], seed ^ 0x526f6f7374


def key_of_messages(frame):
    """What seals the messages of a sync."""
    return hash_of(*configuration(frame))


def seal_frame(head, body):
    data = head + varint(len(body)) + body
    return data + struct.pack("<Q", XXHASH.XXH3_64bits(data, len(data)))


def seal_message(body, key, request):
    """Behind a message, or its answer to a request."""
    asked = hash_of(request, key.high).low if request else 0
    return body + struct.pack("<Q", hash_of(body, key.high).low ^ asked)


# ---- mutants ---------------------------------------------------------------------------------------------------------

TELLING = (0, 1, 2, 0x7f, 0x80, 0xfe, 0xff)
LENGTHS = (0, 1, 127, 128, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48, 2**56, 2**63 - 1, 2**63, 2**64 - 1)


def edit(data, donor):
    at = random.randrange(len(data) + 1)
    rest, other = data[at + 1:], random.randrange(len(donor) + 1)
    way = random.randrange(9)
    if way == 0 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + rest
    if way == 1 and at < len(data):
        return data[:at] + bytes([random.choice(TELLING)]) + rest
    if way == 2:
        return data[:at]
    if way == 3:
        return data[:at] + data[at + random.randrange(1, 16):]
    if way == 4:
        return data[:at] + random.randbytes(random.choice((1, 1, 4, 16))) + data[at:]
    if way == 5:  # the end of another one
        return data[:at] + donor[other:]
    if way == 6:  # a piece of another one, in place of as much
        piece = donor[other:other + random.randrange(32)]
        return data[:at] + piece + data[at + len(piece):]
    if way == 7:  # a number that is at an end of its range, in place of one that is there
        return data[:at] + varint(random.choice(LENGTHS)) + rest
    early = random.randrange(min(len(data), 24) + 1)  # likewise, where lengths and counts are
    return data[:early] + varint(random.choice(LENGTHS)) + data[early + 1:]


def mutate(data, donor):
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = edit(data, donor)
    return data[:8 << 10]


def bad_message(message, donor, key, request):
    """And whether somebody who knows the configuration must have made it up."""
    if message[:1] in (bytes([HELLO]), bytes([TROUBLE])):
        return mutate(message, donor), True
    if random.random() < 0.15:
        return mutate(message, donor), False
    return seal_message(mutate(message[:-8], donor), key, request), True


def bad_frame(frame, donor):
    if random.random() < 0.1:
        return mutate(frame, donor)
    begin = read_varint(frame, 6)[1]
    head = frame[:6] if random.random() < 0.8 else frame[:5] + bytes([random.choice((1, 2, 3))])
    return seal_frame(head, mutate(frame[begin:-8], donor))


# ---- the server and its keys -----------------------------------------------------------------------------------------


def items(salt, count=40):
    return [f"{salt}-{i}" for i in range(count)]


def put(say, kind, key, names):
    if kind == "counter":
        commands = [("ROOST.INCR", key, name, i - 7) for i, name in enumerate(names)]
    else:
        commands = [("ROOST.MSEEN" if kind == "window" else "ROOST.ADD", key, *names)]
    assert not any(isinstance(answer, Exception) for answer in say.pipeline(commands))


class Victims:
    """The two keys of one kind, as they are put back before each mutant."""

    def __init__(self, say, kind):
        self.say, self.kind = say, kind
        for key, salt in ("here", "a"), ("there", "b"):
            assert say("ROOST.CREATE", key, *KINDS[kind].split()) == "OK"
            put(say, kind, key, items("both", 30) + items(salt))
        cursor = say("ROOST.DELTA", "there", "0")[0]
        put(say, kind, "there", items("late", 10))
        if "KIND orcuckoo" in KINDS[kind]:
            say("ROOST.REM", "there", *items("b", 5))
        self.frames = [say("ROOST.DELTA", "there", "0")[1], say("ROOST.DELTA", "there", cursor)[1]]
        first, header = say("ROOST.DUMP", "there", 0)
        second, body = say("ROOST.DUMP", "there", first)
        assert say("ROOST.DUMP", "there", second) == [0, b""]
        self.chunks, self.iterators = (header, body), (first, second)
        self.key = key_of_messages(self.frames[0])
        self.dumps = {key: say("DUMP", key) for key in ("here", "there")}
        self.held = {"here": items("both", 30) + items("a"), "there": items("both", 30) + items("b") + items("late", 10)}
        say("DEL", "here", "there")

    def again(self):
        """The generation of `here`."""
        answers = self.say.pipeline([("DEL", "made"), *(("RESTORE", key, 0, dump, "REPLACE") for key, dump in self.dumps.items()),
                                     ("ROOST.PULL", "here", "1-0")])
        assert answers[1:3] == ["OK", "OK"], answers
        return answers[3][0]

    def check(self):
        """Both are sound, and have forgotten nothing that cannot be removed."""
        for key, names in self.held.items():
            assert not isinstance(self.say("ROOST.INFO", key, "FULL"), Exception), key
            held = self.say("ROOST.EXISTS", key, *names)
            assert self.kind not in GROW_ONLY or all(held), (self.kind, key, held)


def must_be_harmless(say, key, *command):
    """The answer; an error has changed nothing."""
    before, answer, after = say.pipeline([("ROOST.DIGEST", key), command, ("ROOST.DIGEST", key)])
    missing = isinstance(before, Exception) and isinstance(after, Exception)
    assert not isinstance(answer, Exception) or missing or before == after, (command[0], answer)
    return answer


# ---- sync ------------------------------------------------------------------------------------------------------------


def converse(victims, tamper):
    """Both ends are keys of the server; what is said passes through tamper(number, message, request). How it ended, and the number of messages."""
    say, number, request = victims.say, 0, None
    asked = say("ROOST.ASK", "here", victims.again() if tamper else say("ROOST.PULL", "here", "1-0")[0])
    while number < MOST_MESSAGES:
        if isinstance(asked, Exception) or asked[1] is None:
            return asked, number
        session, request = asked
        sent = tamper(number, request, None) if tamper else request
        reply = must_be_harmless(say, "there", "ROOST.SYNC", "there", sent)
        if isinstance(reply, Exception):
            return reply, number + 1
        sent = tamper(number + 1, reply, request) if tamper else reply
        number += 2
        asked = say("ROOST.ASK", "here", session, sent)
    raise AssertionError("a sync that does not end")


def try_messages(victims, donors):
    said, outcomes, forged = [], {}, False

    def listen(number, message, request):
        said.append(message)
        assert message[0] == HELLO or seal_message(message[:-8], victims.key, request) == message, "we can seal one"
        return message

    ended, length = converse(victims, listen)
    assert ended[1:3] == [None, 1] and length >= 2, (victims.kind, ended)
    assert said[0][2:10] == struct.pack("<Q", victims.key.low), "the hash of the configuration is that of docs/format.md"
    for _ in range(MUTANTS):
        at, forged = random.randrange(length), False

        def tamper(number, message, request):
            nonlocal forged
            if number != at:
                return message
            bad, forged = bad_message(message, random.choice(random.choice((said, donors))), victims.key, request)
            return bad

        ended, _ = converse(victims, tamper)
        victims.check()
        outcomes[isinstance(ended, Exception)] = outcomes.get(isinstance(ended, Exception), 0) + 1
        ended, _ = converse(victims, None)  # nobody interferes
        if isinstance(ended, Exception):
            assert forged and (victims.kind in TIMED or "memory" in str(ended) or "large" in str(ended)), (victims.kind, ended)
        else:
            assert ended[2] == 1, (victims.kind, ended)
    return outcomes


# ---- frames and chunks -----------------------------------------------------------------------------------------------


def exercise(victims, key):
    """What became of a key that a mutant has made, if it has: sound, or still waiting for chunks."""
    say = victims.say
    digest = say("ROOST.DIGEST", key)
    if isinstance(digest, Exception):
        assert "not found" in str(digest) or "not loaded completely" in str(digest), digest
        return
    assert not isinstance(say("ROOST.INFO", key, "FULL"), Exception)
    dump = say("DUMP", key)
    assert say("RESTORE", key, 0, dump, "REPLACE") == "OK" and say("ROOST.DIGEST", key) == digest


def try_frames(victims, donors):
    outcomes = {}
    for _ in range(MUTANTS):
        victims.again()
        honest, key = random.choice(victims.frames), random.choice(("here", "there", "made"))
        frame = random.choice(donors) if random.random() < 0.1 else bad_frame(honest, random.choice([*donors, *victims.frames]))
        generation = victims.say("ROOST.PULL", key, "1-0")[0] + random.choice((-1, 0, 0, 1))
        command = random.choice((("ROOST.MERGE", key, frame), ("ROOST.PUSH", key, max(generation, 0), frame)))
        answer = must_be_harmless(victims.say, key, *command)
        outcomes[isinstance(answer, Exception)] = outcomes.get(isinstance(answer, Exception), 0) + 1
        if command[0] == "ROOST.MERGE":  # a push of a higher generation takes the place of what is there
            victims.check()
        exercise(victims, key)
    return outcomes


def bad_chunks(victims, donors):
    """A header and a body, as a list of (iterator, chunk)."""
    header, body = victims.chunks
    first, second = victims.iterators
    way = random.randrange(5)
    if way == 0:
        header = with_check(mutate(header[:HEADER - 8], body)[:HEADER].ljust(HEADER, b"\0"))
    elif way == 1:
        header = with_size(header, random.choice(LENGTHS))
    elif way == 2:
        body = random.choice(donors)
        header = with_size(header, len(body))
    else:
        body = bad_frame(body, random.choice(donors))
        header = with_size(header, len(body)) if way == 3 else header
    cut = random.randrange(len(body) + 1)
    again = first & ~(1 << 51) | 1 << 52 | random.randrange(1, 4) << 49  # a dump that began again
    return random.choice(([(0, header + body)], [(first, header), (second, body)], [(first, header), (second, body[:cut]), (second + cut, body[cut:])],
                          [(again, header + body)], [(first, header), (again, header + body[:cut]), (again, header + body)]))


def try_chunks(victims, donors):
    outcomes = {}
    for _ in range(MUTANTS):
        victims.again()
        command = random.choice(("ROOST.RESTORE", "ROOST.RESTORE", "BF.LOADCHUNK", "CF.LOADCHUNK"))
        for iterator, chunk in bad_chunks(victims, donors):
            answer = must_be_harmless(victims.say, "made", command, "made", iterator, chunk)
            outcomes[isinstance(answer, Exception)] = outcomes.get(isinstance(answer, Exception), 0) + 1
        exercise(victims, "made")
    return outcomes


# ---- all of it -------------------------------------------------------------------------------------------------------


class Memory:
    """What the server takes: of used_memory what stays, of the resident set the most, which sanitizers would hide."""

    def __init__(self, s):
        self.s, self.resident = s, None
        self.used = self.now()
        if "sanitize" not in MODULE:
            with open(f"/proc/{s.process.pid}/clear_refs", "w") as file:
                file.write("5")
            self.resident = self.status("VmRSS")

    def now(self):
        return self.s.client.info("memory")["used_memory"]

    def status(self, name):
        with open(f"/proc/{self.s.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name)) << 10

    def check(self, largest):
        assert self.now() - self.used < 1 << 20, (self.used, self.now())
        if self.resident is not None:
            most = self.status("VmHWM") - self.resident
            assert most < (16 << 20) + 4 * MEMORY_LIMIT + 1024 * largest, most


def one_round(s, say, donors):
    """Of all kinds and ways in; how many were refused by each way, and how many not."""
    totals = {}
    for kind in KINDS:
        victims = Victims(say, kind)
        for try_some in try_messages, try_frames, try_chunks:
            memory = Memory(s)
            for outcome, count in try_some(victims, donors).items():
                totals[try_some.__name__, outcome] = totals.get((try_some.__name__, outcome), 0) + count
            say("DEL", "here", "there", "made")
            memory.check(8 << 10)
    return totals


def bystanders(say):
    keys = []
    for kind, options in KINDS.items():
        keys.append(f"bystander {kind}")
        assert say("ROOST.CREATE", keys[-1], *options.split()) == "OK"
        put(say, kind, keys[-1], items("kept"))
    return keys


def test_strangers():
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 0
    end, totals = time.monotonic() + seconds, {}
    donors = [frame for frame in frames() if len(frame) > 20]
    with server() as s:
        s("CONFIG", "SET", "roost.memory-limit", MEMORY_LIMIT), s("CONFIG", "SET", "rdbcompression", "no")
        say = Speaker(s, 2)
        keys = bystanders(say)
        digests = [say("ROOST.DIGEST", key) for key in keys]
        for rounds in itertools.count(1):
            for outcome, count in one_round(s, say, donors).items():
                totals[outcome] = totals.get(outcome, 0) + count
            assert [say("ROOST.DIGEST", key) for key in keys] == digests
            assert {key.decode() for key in say("KEYS", "*")} - {"roost:generations"} == set(keys)
            if time.monotonic() >= end:
                break
        say.close()
    for way in sorted({way for way, _ in totals}):
        taken, refused = totals.get((way, False), 0), totals.get((way, True), 0)
        print(f"# {rounds} rounds, {way[4:]}: {taken} taken, {refused} refused")
        assert taken > 2 * rounds and refused > 2 * rounds


if __name__ == "__main__":
    run(globals())
