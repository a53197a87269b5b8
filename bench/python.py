#!/usr/bin/python3
"""The Python package beside the C library: nanoseconds of processor a key, both measured in one run, as bench/python.csv.

    bench/python.py [--csv FILE] [--keys N] [--turns N] [--rounds N]        after `ninja -C build python`

A single call is compared by what it takes above C, with Python's loop around it; a batch of an array by its ratio.
"""
import argparse
import array
import csv
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("ROOST_BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(BUILD, "bindings", "python"))

import roost  # noqa: E402


def least(call, rounds, before=lambda: None):
    best = float("inf")
    for _ in range(rounds):
        argument = before()
        begin = time.process_time_ns()
        call(argument)
        best = min(best, time.process_time_ns() - begin)
    return best


def add_each(seen, texts):
    add = seen.add
    for text in texts:
        add(text)


def look_each(seen, texts):
    for text in texts:
        text in seen


class InPython:
    """The calls of one kind of filter, with their keys."""

    def __init__(self, kind, count):
        self.make = lambda: roost.Filter(capacity=count if kind == "bloom" else None, kind=kind)
        self.texts, self.numbers = [f"key {i}" for i in range(count)], array.array("Q", range(count))
        self.full, self.full_of_numbers = self.make(), self.make()
        self.full.update(self.texts), self.full_of_numbers.update(self.numbers)

    def figures(self, rounds):
        texts, numbers, count = self.texts, self.numbers, len(self.texts)
        figures = {
            "add": least(lambda seen: add_each(seen, texts), rounds, self.make),
            "contains": least(lambda _: look_each(self.full, texts), rounds),
            "update": least(lambda seen: seen.update(numbers), rounds, self.make),
            "contains_many": least(lambda _: self.full_of_numbers.contains_many(numbers), rounds),
            "update of a list": least(lambda seen: seen.update(texts), rounds, self.make),
            "contains_many of a list": least(lambda _: self.full.contains_many(texts), rounds),
        }
        return {name: value / count for name, value in figures.items()}


def build(folder):
    program = os.path.join(folder, "python-calls")
    source, library = os.path.join(ROOT, "bench", "python_calls.c"), os.path.join(BUILD, "src", "libroost.a")
    subprocess.run(["cc", "-O3", "-I", os.path.join(ROOT, "include"), source, "-o", program, library, "-lm"], check=True)
    return program


def figures_in_c(program, kind, count, rounds):
    printed = subprocess.run([program, kind, str(count), str(rounds)], capture_output=True, text=True, check=True).stdout
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in printed.splitlines())}


def lower(figures, others):
    return {name: min(value, figures.get(name, value)) for name, value in others.items()}


def measure(program, kind, count, turns, rounds):
    """The least of all rounds, of Python and of C, which take turns: what else the machine does hits both."""
    calls, python, in_c = InPython(kind, count), {}, {}
    for _ in range(turns):
        python = lower(python, calls.figures(rounds))
        in_c = lower(in_c, figures_in_c(program, kind, count, rounds))
    return python, in_c


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=8, help="of Python and of C, one after the other")
    parser.add_argument("--rounds", type=int, default=3, help="in a turn")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        for kind in ("bloom", "cuckoo"):
            python, in_c = measure(program, kind, arguments.keys, arguments.turns, arguments.rounds)
            for name, value in python.items():
                c = in_c[name.split(" of ")[0]]
                rows.append([kind, name, f"{value:.1f}", f"{c:.1f}", f"{value - c:.1f}", f"{value / c:.2f}"])
    header = ["kind", "call", "python_ns", "c_ns", "above_ns", "ratio"]
    for row in [header, *rows]:
        print("{:<8}{:<26}{:>10}{:>8}{:>10}{:>7}".format(*row))
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
