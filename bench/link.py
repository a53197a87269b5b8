#!/usr/bin/python3
"""What `roost link` does on this machine: two servers without persistence, one link, clients that add at a steady rate in both at once.

    adds      up to RATE a second in each region, in pipelined batches, by a process a region: how many were done; how long until a probe that was
              added with them is there in the other region (99 % of them, and the longest); bytes that the link received and sent for each add;
              processor time of the link
    idle      1,000 equal keys, nobody writes: bytes a second
    return    10^6 elements on both sides; one region cannot be reached while 10,000 are added in each; bytes from its return until digests are equal:
              with the link that was there all the time, and with one that is started anew and knows nothing

Bytes are those of the link's connections, all that it sent and received, on both legs: an add comes in from one server and goes out to the other.

    link.py [--short] [--rate 50000] [--seconds 10] [--csv bench/link.csv]
"""
import argparse
import csv
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "module"))
from proxy import Proxy  # noqa: E402
from regions import ROOST  # noqa: E402
from servers import KIND, Server, Speaker, free_port, servers, wait_for  # noqa: E402

BATCH, PROBES = 100, 50  # elements of a command; probes a second
KINDS = {"bloom": ("KIND", "bloom", "SCALABLE", "CAPACITY", 1000000, "WRITERS", 2), "orcuckoo": ("KIND", "orcuckoo", "SCALABLE", "CAPACITY", 1000000, "WRITERS", 2)}


class Link:
    def __init__(self, *ports):
        self.metrics = free_port()
        self.process = subprocess.Popen([ROOST, "link", *(f"redis://127.0.0.1:{port}" for port in ports), "--quiet", "--metrics", str(self.metrics)],
                                        stdin=subprocess.DEVNULL)
        wait_for(self.read, "the link")

    def read(self):
        """Sums over all peers, by name."""
        sums = {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=20) as page:
            for line in page.read().decode().splitlines():
                if not line.startswith("#"):
                    name, value = line.rsplit(" ", 1)
                    name = name.split("{")[0].removeprefix("roost_link_")
                    sums[name] = sums.get(name, 0) + float(value)
        return sums

    def bytes(self):
        now = self.read()
        return now["bytes_received_total"], now["bytes_sent_total"]

    def processor(self):
        """Seconds of processor time."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def add_steadily(server, salt, rate, seconds, done):
    """In a process of its own: batches on time, or as fast as it goes."""
    line, added, begin = Speaker(server, 2), 0, time.monotonic()
    while (now := time.monotonic()) < begin + seconds:
        late = int((now - begin) * rate) - added
        if late < BATCH:
            time.sleep(BATCH / rate / 4)
            continue
        batches = min(late // BATCH, 5)
        line.pipeline([("ROOST.ADD", "load", *(b"%s%d" % (salt, i) for i in range(added + BATCH * b, added + BATCH * (b + 1)))) for b in range(batches)])
        added += BATCH * batches
    done.put((salt, added, time.monotonic() - begin))
    line.close()


class Probes(threading.Thread):
    """Added here, asked for there."""

    def __init__(self, here, there, name, seconds):
        super().__init__()
        self.here, self.there, self.name_of, self.seconds, self.taken = Speaker(here, 2), Speaker(there, 2), name, seconds, []

    def run(self):
        begin, number, waiting = time.monotonic(), 0, {}
        while time.monotonic() < begin + self.seconds or (waiting and time.monotonic() < begin + self.seconds + 30):
            if time.monotonic() < begin + self.seconds:
                probe = f"{self.name_of}-{number}"
                number += 1
                self.here("ROOST.ADD", "load", probe)
                waiting[probe] = time.monotonic()
            for probe, there in zip(list(waiting), self.there("ROOST.EXISTS", "load", *waiting)):
                if there:
                    self.taken.append(time.monotonic() - waiting.pop(probe))
            time.sleep(1 / PROBES)
        self.taken += [float("inf")] * len(waiting)


def visible(probes):
    taken = sorted(t for p in probes for t in p.taken)
    return taken[int(len(taken) * 0.99)], taken[-1], statistics.median(taken)


def adds(kind, rate, seconds):
    with servers(*[lambda: Server(port=free_port())] * 2) as both:
        both[0]("ROOST.CREATE", "load", *KINDS[kind])
        link = Link(*(s.port for s in both))
        wait_for(lambda: both[1]("EXISTS", "load"), "the key in the other region")
        done, before, spent = multiprocessing.Queue(), link.bytes(), link.processor()
        probes = [Probes(both[i], both[1 - i], f"probe{i}", seconds) for i in range(2)]
        writers = [multiprocessing.Process(target=add_steadily, args=(s, salt, rate, seconds, done)) for s, salt in zip(both, (b"a", b"b"))]
        for one in [*writers, *probes]:
            one.start()
        told = [done.get(timeout=seconds + 300) for _ in writers]
        spent = link.processor() - spent
        for one in [*writers, *probes]:
            one.join()
        wait_for(lambda: both[0].digest("load") == both[1].digest("load"), "equal digests")
        after = link.bytes()
        total = sum(added for _, added, _ in told) + sum(len(p.taken) for p in probes)
        link.stop()
        ninety_nine, longest, middle = visible(probes)
        return [(f"{kind}: adds a second in each region", min(added / taken for _, added, taken in told), rate, "more"),
                (f"{kind}: median until visible, s", middle, None, ""), (f"{kind}: 99 % visible, s", ninety_nine, 1, "less"), (f"{kind}: last visible, s", longest, None, ""),
                (f"{kind}: bytes an add, into the link", (after[0] - before[0]) / total, 12, "less"), (f"{kind}: bytes an add, out of the link", (after[1] - before[1]) / total, 12, "less"),
                (f"{kind}: processor of the link, cores", spent / seconds, 1, "less")]


def idle(keys, seconds):
    with servers(*[lambda: Server(port=free_port())] * 2) as both:
        for i in range(keys):
            both[0]("BF.ADD", f"key-{i}", "x")
        link = Link(*(s.port for s in both))
        wait_for(lambda: both[0]("ROOST.SUMMARY", "COUNT", 1)[1] == both[1]("ROOST.SUMMARY", "COUNT", 1)[1], "equal digests")
        time.sleep(2)
        before, spent = link.bytes(), link.processor()
        time.sleep(seconds)
        after, spent = link.bytes(), link.processor() - spent
        link.stop()
        return [(f"idle: bytes a second, {keys:,} equal keys", (sum(after) - sum(before)) / seconds, 1000, "less"), ("idle: processor of the link, cores", spent / seconds, None, "")]


def fill(server, salt, count):
    line = Speaker(server, 2)
    for begin in range(0, count, 1000):
        line("ROOST.ADD", "load", *(f"{salt}-{i}" for i in range(begin, min(count, begin + 1000))))
    line.close()


def come_back(kind, elements, changes):
    """With the link that was there, then with another one."""
    rows, proxy = [], Proxy(1)
    with servers(*[lambda: Server(port=free_port())] * 2) as both:
        both[0]("ROOST.CREATE", "load", *KINDS[kind])
        fill(both[0], "before", elements)
        route = proxy.route(lambda: both[1].port)
        link = Link(both[0].port, route.port)
        equal = lambda: both[0].digest("load") == both[1].digest("load")  # noqa: E731
        wait_for(lambda: both[1]("EXISTS", "load") and equal(), "the seed", 300)
        whole = sum(link.bytes())
        for name in "the same link", "another link":
            route.set("refused")
            fill(both[0], f"here {name}", changes), fill(both[1], f"there {name}", changes)
            if name == "another link":
                link.stop()
                route.set("open")
                before, begin = 0, time.monotonic()
                link = Link(both[0].port, route.port)
            else:
                before, begin = sum(link.bytes()), time.monotonic()
                route.set("open")
            wait_for(equal, "equal digests", 300)
            taken = time.monotonic() - begin
            time.sleep(1)
            rows += [(f"{kind}: back with {name}, bytes a change", (sum(link.bytes()) - before) / (2 * changes), None, ""), (f"{kind}: back with {name}, s", taken, None, "")]
        link.stop()
    proxy.close()
    return [(f"{kind}: seeding {elements:,} elements, bytes an element", whole / elements, None, "")] + rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rate", type=int, default=50000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--csv")
    options = parser.parse_args()
    elements, changes, seconds, keys = (20000, 500, 2, 100) if options.short else (1000000, 10000, options.seconds, 1000)
    print(f"{KIND}, {os.cpu_count()} processors, {seconds:g} s a load\n\n{'':58}{'measured':>12}{'goal':>10}")
    rows = []
    for step in [lambda k=kind: adds(k, options.rate, seconds) for kind in KINDS] + [lambda: idle(keys, 2 * seconds)] + \
            [lambda k=kind: come_back(k, elements, changes) for kind in KINDS]:
        for name, value, goal, sense in step():
            print(f"{name:58}{value:12,.2f}{f'{goal:,}' if goal else '-':>10}{'' if not goal or (value <= goal if sense == 'less' else value >= 0.98 * goal) else '  missed'}", flush=True)
            rows.append((name, f"{value:.4g}", goal or ""))
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("what", "measured", "goal"), *rows])


if __name__ == "__main__":
    sys.exit(main())
