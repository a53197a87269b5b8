#!/usr/bin/python3
"""Values as a file has them, made wrong in every way we can think of: refused or sound, and the server lives on.

RESTORE runs the reader of RDB files. Its payload is put together here, checksums and all, so that nothing stops a wrong one before our
reader sees it: numbers and strings of RDB, our header with a right check, and bodies that are whole frames, from real values and from
the corpus of the fuzzer of frames (whose checksums are right, whatever they hold).
"""
import contextlib
import os
import random
import struct

import redis

from servers import ROOT, run, server

MUTANTS = int(os.environ.get("ROOST_MUTANTS", "4000"))
CORPUS = os.path.join(ROOT, "fuzz", "corpus", "decode")
HEADER = 64


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x95AC9329AC4BC9B5 if byte & 1 else byte >> 1
        table.append(byte)
    return table


TABLE = crc_table()


def crc64(data):
    crc = 0
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def fnv(data):
    check = 0xcbf29ce484222325
    for byte in data:
        check = (check ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return check


def length(number):
    if number < 64:
        return bytes([number])
    if number < 16384:
        return bytes([64 | number >> 8, number & 255])
    return b"\x80" + struct.pack(">I", number) if number < 1 << 32 else b"\x81" + struct.pack(">Q", number)


def string(data):
    return b"\x05" + length(len(data)) + data


def number(value):
    return b"\x02" + length(value)


class Reader:
    """Takes a dump apart: its beginning, the numbers and strings, its end."""

    def __init__(self, dump):
        self.front, self.tail, self.parts = dump[:10], dump[-10:-8], []
        at, end = 10, len(dump) - 10
        while at < end and dump[at] != 0:
            kind = dump[at]
            size, at = self.read_length(dump, at + 1)
            if kind == 5:
                self.parts.append(dump[at:at + size])
                at += size
            else:
                self.parts.append(size)

    @staticmethod
    def read_length(dump, at):
        first = dump[at]
        if first < 64:
            return first, at + 1
        if first < 128:
            return (first & 63) << 8 | dump[at + 1], at + 2
        if first == 0x80:
            return struct.unpack(">I", dump[at + 1:at + 5])[0], at + 5
        return struct.unpack(">Q", dump[at + 1:at + 9])[0], at + 9

    def payload(self, parts, end=b"\x00"):
        data = self.front + b"".join(number(p) if isinstance(p, int) else string(p) for p in parts) + end
        return self.seal(data)

    def seal(self, data):
        data += self.tail
        return data + struct.pack("<Q", crc64(data))


def with_check(header):
    return header[:HEADER - 8] + struct.pack("<Q", fnv(header[:HEADER - 8]))


def with_size(header, size):
    return with_check(header[:HEADER - 16] + struct.pack("<Q", size) + header[HEADER - 8:])


def values(s):
    """Real values of all kinds, as they are dumped."""
    s("CONFIG", "SET", "rdbcompression", "no")
    s("BF.RESERVE", "bf", "0.01", 100), s("BF.MADD", "bf", *range(300))
    s("BF.RESERVE", "fixed", "0.01", 100, "NONSCALING"), s("BF.MADD", "fixed", *range(50))
    s("CF.RESERVE", "cf", 100), s("CF.INSERT", "cf", "ITEMS", *range(200)), s("CF.DEL", "cf", 3)
    s("ROOST.CREATE", "set", "KIND", "orcuckoo", "CAPACITY", 100), s("ROOST.ADD", "set", *range(50)), s("ROOST.REM", "set", 1, 2)
    s("ROOST.CREATE", "cuckoo", "KIND", "cuckoo", "CAPACITY", 100), s("ROOST.ADD", "cuckoo", *range(50))
    s("ROOST.CREATE", "window", "KIND", "window", "WINDOW", 60000, "CAPACITY", 100, "FPR", 0.01), s("ROOST.MSEEN", "window", *range(50))
    s("ROOST.CREATE", "counter", "KIND", "counter", "WINDOW", 60000, "CAPACITY", 100, "FPR", 0.01)
    for i in range(50):
        s("ROOST.INCR", "counter", i, i - 20)
    s("ROOST.RESTORE", "staged", 1, s("ROOST.DUMP", "set", 0)[1])
    return [Reader(s("DUMP", key)) for key in ("bf", "fixed", "cf", "set", "cuckoo", "window", "counter", "staged")]


def frames():
    found = []
    for name in sorted(os.listdir(CORPUS)):
        with open(os.path.join(CORPUS, name), "rb") as file:
            found.append(file.read())
    return [f for f in found if len(f) < 5000]


def flip(data, changes):
    data = bytearray(data)
    for _ in range(changes):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def mutant(read, others, corpus):
    """A payload that is wrong in some way, or valid by chance."""
    check, header, body = read.parts[0], read.parts[1], b"".join(read.parts[2:])
    way = random.randrange(12)
    if way == 0:  # anything at all
        return read.seal(flip(read.payload(read.parts)[:-10], 1 + random.randrange(4)))
    if way == 1:  # the header, with a right check
        return read.payload([check, with_check(flip(header, 1 + random.randrange(3))), body])
    if way == 2:  # a number of the header that is at an end of its range
        at, value = random.randrange(HEADER - 8), random.choice((0, 255))
        return read.payload([check, with_check(header[:at] + bytes([value]) * min(8, HEADER - 8 - at) + header[at + 8:]), body])
    if way == 3:  # the header as it was, a body that is shorter or longer
        return read.payload([check, header, body[:random.randrange(len(body) + 1)] if random.random() < 0.5 else body + b"x"])
    if way == 4:  # a body that is cut, and the header knows
        cut = body[:random.randrange(len(body) + 1)]
        return read.payload([check, with_size(header, len(cut)), cut])
    if way == 5:  # a size that no memory has
        return read.payload([check, with_size(header, random.choice((2**63, 2**46, 2**40, 2**32, len(body) + 2**24))), body])
    if way == 6:  # somebody else's body
        other = b"".join(random.choice(others).parts[2:])
        return read.payload([check, with_size(header, len(other)), other])
    if way in (7, 8, 9):  # a frame of the corpus
        frame = random.choice(corpus)
        return read.payload([check, with_size(header, len(frame)), frame])
    if way == 10:  # strings and numbers in other places, or missing, or too many
        parts = list(read.parts)
        random.shuffle(parts)
        return read.payload(parts[:random.randrange(len(parts) + 1)] + random.choice(([], [7], [b"more"])))
    return read.payload(read.parts, random.choice((b"", b"\x01", b"\x00\x00", b"\x05", b"\xff")))


def add_to(s, key):
    """Windows and counters may be of another time, and counters as high as they go: these refuse."""
    info = s("ROOST.INFO", key)
    kind = dict(zip(info[::2], info[1::2]))[b"kind"]
    commands = {b"window": ("ROOST.SEEN", key, "something"), b"counter": ("ROOST.INCR", key, "something", 1)}
    with contextlib.suppress(redis.ResponseError) if kind in commands else contextlib.nullcontext():
        s(*commands.get(kind, ("ROOST.ADD", key, "something")))
    assert s("PING")


def exercise(s, key):
    """A value that was accepted is valid: it can be read, changed, encoded and decoded again."""
    try:
        digest = s.digest(key)
    except redis.ResponseError as error:
        assert "not loaded completely" in str(error), error
        return
    s("ROOST.INFO", key, "FULL")
    s("ROOST.EXISTS", key, *range(20))
    s("COPY", key, "twin", "REPLACE")
    assert s.digest("twin") == digest
    add_to(s, key)
    s("RESTORE", "twin", 0, s("DUMP", key), "REPLACE")
    assert s.digest("twin") == s.digest(key)


def test_payloads_that_are_wrong():
    with server() as s:
        taken = apart = 0
        reads, corpus = values(s), frames()
        s("CONFIG", "SET", "roost.memory-limit", "64mb")
        for read in reads:
            s("RESTORE", "whole", 0, read.payload(read.parts), "REPLACE")  # we can put one together that is right
            exercise(s, "whole")
        for i in range(0, MUTANTS, 100):
            batch = [mutant(random.choice(reads), reads, corpus) for _ in range(100)]
            with s.client.pipeline(transaction=False) as pipeline:
                for j, payload in enumerate(batch):
                    pipeline.execute_command("RESTORE", f"mutant-{j}", 0, payload, "REPLACE")
                answers = pipeline.execute(raise_on_error=False)
            for j, answer in enumerate(answers):
                if isinstance(answer, Exception):
                    assert "Bad data format" in str(answer) or "checksum" in str(answer), answer
                    apart += 1
                else:
                    taken += 1
                    exercise(s, f"mutant-{j}")
            s("DEL", *[f"mutant-{j}" for j in range(100)])
        print(f"# {taken} taken, {apart} refused")
        assert taken > MUTANTS // 50 and apart > MUTANTS // 3


def edited(body):
    """A body without a checksum: numbers at the ends of their ranges, bits, cuts, and more of the same."""
    at, way = random.randrange(len(body) + 1), random.randrange(5)
    if way == 0:
        return flip(body, 1 + random.randrange(4))
    if way == 1:
        return body[:at] + random.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * random.choice((1, 4, 8)) + body[at + 8:]
    if way == 2:
        return body[:at]
    if way == 3:
        return body[:at] + body[at // 2:]
    return body + body[at:]


def reserved_mutant(read):
    check, header, body = read.parts[0], read.parts[1], b"".join(read.parts[2:])
    if random.random() < 0.5:
        body = edited(body)
        header = with_size(header, len(body))
    if random.random() < 0.5:
        at = random.choice((8, 16, 24, 32, 40))  # a number of the header, or a part of it
        header = with_check(header[:at] + random.choice((struct.pack("<Q", 1 << random.randrange(64)), bytes(8), b"\xff" * 8)) + header[at + 8:])
    return read.payload([check, header, body])


def test_tombstones_and_links_that_are_wrong():
    with server() as s:
        refused, taken, reserved = 0, 0, ("roost:generations", "roost:links")
        s("CONFIG", "SET", "rdbcompression", "no"), s("ROOST.LINK", "roost:links", "HELLO", 7), s("ROOST.LINK", "roost:links", "AGREED", 5, 9, 3, 11, 4)
        for i in range(40):
            s("BF.ADD", f"gone-{i}" * (1 + i % 5), i), s("DEL", f"gone-{i}" * (1 + i % 5))
        s("BF.ADD", "kept", 1)
        reads, digest = {key: Reader(s("DUMP", key)) for key in reserved}, s.digest("kept")
        used = s.client.info("memory")["used_memory"]
        for i in range(MUTANTS // 2):
            key = random.choice(reserved)
            try:
                s("RESTORE", random.choice((key, key, key, "elsewhere")), 0, reserved_mutant(reads[key]), "REPLACE")
                taken += 1
                s("ROOST.SUMMARY"), s("ROOST.PULL", "gone-0", "0"), s("ROOST.LINK", "roost:links", "HELLO", 0), s("INFO", "roost")
            except redis.ResponseError as error:
                assert "Bad data format" in str(error), error
                refused += 1
            if i % 500 == 499:
                s("DEBUG", "RELOAD")
        print(f"# {taken} taken, {refused} refused")
        assert s.digest("kept") == digest and taken > MUTANTS // 50 and refused > MUTANTS // 50
        s("DEL", *reserved, "elsewhere")
        assert s.client.info("memory")["used_memory"] - used < 1 << 20


if __name__ == "__main__":
    run(globals())
