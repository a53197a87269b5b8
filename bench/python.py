#!/usr/bin/python3
"""The Python package beside the C library: nanoseconds of processor a key, both measured in one run, as bench/python.csv.

    bench/python.py [--csv FILE] [--keys N] [--rounds N]        after `ninja -C build python`

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


def python_figures(kind, count, rounds):
    make = lambda: roost.Filter(capacity=count if kind == "bloom" else None, kind=kind)
    texts, numbers = [f"key {i}" for i in range(count)], array.array("Q", range(count))
    full, full_of_numbers = make(), make()
    full.update(texts), full_of_numbers.update(numbers)
    return {
        "add": least(lambda seen: add_each(seen, texts), rounds, make) / count,
        "contains": least(lambda _: look_each(full, texts), rounds) / count,
        "update": least(lambda seen: seen.update(numbers), rounds, make) / count,
        "contains_many": least(lambda _: full_of_numbers.contains_many(numbers), rounds) / count,
        "update of a list": least(lambda seen: seen.update(texts), rounds, make) / count,
        "contains_many of a list": least(lambda _: full.contains_many(texts), rounds) / count,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "python-calls")
        subprocess.run(["cc", "-O3", "-I", os.path.join(ROOT, "include"), os.path.join(ROOT, "bench", "python_calls.c"), "-o", program,
                        os.path.join(BUILD, "src", "libroost.a"), "-lm"], check=True)
        rows = []
        for kind in ("bloom", "cuckoo"):
            python = python_figures(kind, arguments.keys, arguments.rounds)
            printed = subprocess.run([program, kind, str(arguments.keys), str(arguments.rounds)], capture_output=True, text=True, check=True).stdout
            in_c = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in printed.splitlines())}
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
