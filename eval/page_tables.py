"""The tables of eval/results as rows, and how figures are written in Markdown: for the blocks of the page (page.py)."""
import csv
import math
import os
import re
import sys
import textwrap

RESULTS = "eval/results"
PROMISE = 1 / 32
EVERY = ["1000", "10000", "100000", "1000000", "10000000"]
SPLITS = ["50-50", "80-20", "99-1"]

blocks = {}  # by the name that the page has


def block(name):
    def register(function):
        blocks[name] = function
        return function

    return register


# ---- tables as they are read ---------------------------------------------------------------------------------------------


class Row(dict):
    """A row of a table; numbers as numbers."""

    def __getattr__(self, column):
        value = self[column]
        try:
            return float(value)
        except ValueError:
            return value


def table(name):
    if name not in table.read:
        with open(os.path.join(RESULTS, name + ".csv"), newline="") as file:
            table.read[name] = [Row(row) for row in csv.DictReader(file)]
    return table.read[name]


table.read = {}


def rows(name, **where):
    return [row for row in table(name) if all(row[column] == str(value) for column, value in where.items())]


def one(name, **where):
    found = rows(name, **where)
    if len(found) != 1:
        sys.exit(f"eval/page.py: {name}.csv has {len(found)} rows with {where}")
    return found[0]


def claim(experiment, name):
    """The figures of a claim, as numbers in their order."""
    text = one("claims-" + experiment, claim=name)["figures"]
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def point(figure, series, x):
    return next(row.y for row in curve(figure, series) if math.isclose(row.x, x))


def curve(figure, series):
    return rows("forgetful-bloom", figure=figure, series=series)


# ---- how it is written ---------------------------------------------------------------------------------------------------


def percent(value, digits=3):
    """With a space that no line ends at, written ~ until the lines are made."""
    return f"{100 * value:.{digits}f}~%".replace("-", "−")


def whole(value):
    return f"{value:,.0f}"


def count(value):
    return whole(value) if value else "none"


def power(every):
    return f"10^{len(every) - 1}"


def short(value):
    """2.83e-02 as 2.8e-2."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def span(values, form):
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def grid(head, body, left=1):
    """A table of Markdown; the first columns are words."""
    rule = ["---" if i < left else "---:" for i in range(len(head))]
    return (
        ["| " + " | ".join(map(str, cells)) + " |" for cells in [head]]
        + ["|" + "|".join(rule) + "|"]
        + ["| " + " | ".join(map(str, cells)) + " |" for cells in body]
    )


def prose(text, indent=""):
    return textwrap.wrap(" ".join(text.split()), 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def bullets(*texts):
    return [line for text in texts for line in prose("- " + text, "  ")]


def two(text):
    return f"{float(text):.2f}"
