#!/usr/bin/env python3
"""Writes what docs/evaluation.md says in figures, from the tables in eval/results.

    eval/page.py            rewrites the page
    eval/page.py --check    says whether the page is what the tables give; exits with 1 if it is not

The page has marked blocks,

    <!-- page: table-6.1 -->
    ...
    <!-- /page -->

and each is made by the function that is registered under this name (page_*.py). The text between the blocks is written by
hand and has no measured figures.
"""
import difflib
import os
import re
import sys

sys.dont_write_bytecode = True
import page_others  # noqa: E402: they register their blocks
import page_removal  # noqa: E402
import page_summary  # noqa: E402
import page_thesis  # noqa: E402
from page_tables import RESULTS, blocks  # noqa: E402

PAGE = "docs/evaluation.md"
MARKED = re.compile(r"<!-- page: ([\w.-]+) -->\n.*?<!-- /page -->", re.DOTALL)


def lines_of(name):
    return [line.replace("~", " ") for line in blocks[name]()]


def filled(page):
    unknown = set(MARKED.findall(page)) ^ set(blocks)
    if unknown:
        sys.exit(f"eval/page.py: blocks that are only in the page or only here: {', '.join(sorted(unknown))}")
    return MARKED.sub(lambda mark: "\n".join([f"<!-- page: {mark[1]} -->", ""] + lines_of(mark[1]) + ["", "<!-- /page -->"]), page)


def main(arguments):
    with open(PAGE) as file:
        page = file.read()
    made = filled(page)
    if arguments == ["--check"]:
        print(f"{'ok' if made == page else 'not ok'} {PAGE} has the figures of {RESULTS}")
        sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), made.splitlines(True), "committed", "eval/page.py gives", n=0))
        return made != page
    if arguments:
        sys.exit("usage: eval/page.py [--check]")
    with open(PAGE, "w") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    sys.exit(main(sys.argv[1:]))
