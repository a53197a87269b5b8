#!/usr/bin/env python3
"""Draws the pictures: runs the scripts of gnuplot, and gives each SVG the colours of dark pages beside those of light ones.

    eval/draw.py [SCRIPT...]        eval/*.gnuplot unless told; what a script writes is where it says (set output)
    eval/draw.py --check            says of each picture whether it was made from the script and the tables of today; needs no gnuplot
    eval/draw.py --colours SVG...   pictures that are written by hand: only the colours
    eval/draw.py --dark SVG OUT     the picture as it is on a dark page, for a look

A picture has one colour for each meaning (eval/picture-style.gp). The style sheet that is put into it gives those colours others where the reader
prefers dark pages; most eyes tell both sets apart. It also has a digest of what it was made from.
"""
import glob
import hashlib
import os
import re
import subprocess
import sys

DARK = {
    (255, 255, 255): "#15181c",  # the ground
    (246, 246, 246): "#1e2329",
    (238, 244, 248): "#1d2a34",
    (229, 240, 248): "#16293a",
    (228, 228, 228): "#343a41",  # grid
    (204, 204, 204): "#4a4f55",
    (138, 138, 138): "#8f959c",
    (95, 116, 130): "#9fb0bc",
    (85, 85, 85): "#b4b9bf",
    (34, 34, 34): "#e8e8e8",  # ink
    (0, 0, 0): "#e8e8e8",
    (0, 114, 178): "#3d9be0",
    (213, 94, 0): "#f57f33",
    (0, 158, 115): "#27b88c",
    (86, 180, 233): "#9ad5f8",
    (230, 159, 0): "#f2b63c",
    (204, 121, 167): "#e29bc4",
}
NAMED = {"black": (0, 0, 0), "white": (255, 255, 255)}
COLOURED = re.compile(r"""\b(fill|stroke|color)\s*=\s*(['"])([^'"]+)\2""")
OURS = re.compile(r"<style>\n@media \(prefers-color-scheme: dark\) \{\n.*?</style>\n", re.DOTALL)


def value_of(text):
    """Of a colour as gnuplot and people write it; None of what is no colour."""
    if text.lower() in NAMED:
        return NAMED[text.lower()]
    if re.fullmatch("#[0-9a-fA-F]{6}", text):
        return tuple(bytes.fromhex(text[1:]))
    numbers = re.fullmatch(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", text)
    return tuple(map(int, numbers.groups())) if numbers else None


def rules(picture):
    found = sorted({(name, text) for name, _, text in COLOURED.findall(picture)})
    for name, text in found:
        if value_of(text) in DARK:
            yield f'[{name}="{text}"] {{ {name}: {DARK[value_of(text)]} }}'


def sources_of(script):
    """The script, the style, and the tables that the script names."""
    with open(script) as file:
        tables = re.findall(r'results\."/([\w.-]+\.csv)"', file.read())
    return [script, "eval/picture-style.gp", *(os.path.join("eval/results", name) for name in tables)]


def origin(script):
    digest = hashlib.sha256()
    for path in sources_of(script):
        with open(path, "rb") as file:
            digest.update(file.read())
    return f"<!-- from {script}: {digest.hexdigest()[:16]} -->\n"


def is_of_today(script):
    with open(output_of(script)) as file:
        return origin(script) in file.read()


def check(scripts):
    stale = [script for script in scripts if not is_of_today(script)]
    for script in scripts:
        whether, how = ("not ok", "is not (eval/draw.py draws it anew)") if script in stale else ("ok", "is")
        print(f"{whether} {output_of(script)} {how} what its script and tables give")
    return 1 if stale else 0


def coloured(picture):
    picture = OURS.sub("", picture)
    picture = re.sub(r"<title>Gnuplot</title>\n<desc>.*?</desc>\n", "", picture)
    sheet = "\n".join(["<style>", "@media (prefers-color-scheme: dark) {", *rules(picture), "}", "</style>", ""])
    head = re.search(r"<svg\b[^>]*>\n", picture).end()
    return picture[:head] + sheet + picture[head:]


def rewrite(path, change, into=None):
    with open(path) as file:
        picture = file.read()
    with open(into or path, "w") as file:
        file.write(change(picture))


def output_of(script):
    with open(script) as file:
        text = file.read()
    name = re.search(r'^set output (results\.)?"([^"]+)"', text, re.MULTILINE)
    return "eval/results" + name[2] if name[1] else name[2]


def main(arguments):
    if arguments[:1] == ["--dark"]:
        rewrite(arguments[1], lambda picture: re.sub(r"@media \(prefers-color-scheme: dark\) \{\n(.*?)\n\}\n", r"\1\n", picture, flags=re.DOTALL), arguments[2])
        return 0
    if arguments[:1] == ["--colours"]:
        for path in arguments[1:]:
            rewrite(path, coloured)
        return 0
    scripts = sorted(glob.glob("eval/*.gnuplot"))
    if arguments == ["--check"]:
        return check(scripts)
    for script in arguments or scripts:
        subprocess.run(["gnuplot", script], check=True)
        rewrite(output_of(script), lambda picture: coloured(picture).rstrip("\n") + "\n" + origin(script))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] != ["--dark"]:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    sys.exit(main(sys.argv[1:]))
