#!/usr/bin/python3
"""The filters of same_bytes.py in Python: speaker.py FOLDER NAME SECONDS make, or speaker.py FOLDER NAME SECONDS merge OTHER..."""
import json
import os
import sys

import roost

folder, speaker, now, verb, *others = sys.argv[1:]
now = int(now)
with open(os.path.join(folder, "forms.json")) as file:
    asked = json.load(file)
with open(os.path.join(folder, "keys"), "rb") as file:
    keys = file.read().split(b"\n")[:-1]
one_by_one, own_keys, own_ids = asked["one_by_one"], asked["own_keys"], asked["own_ids"]


def leave(replica, form, stage):
    with open(os.path.join(folder, f"{form}.{speaker}.{stage}"), "wb") as file:
        file.write(replica.digest().encode() + replica.to_bytes())


def own(number):
    return f"{speaker} own {number}"


def make(form, options):
    kind = options.get("kind")
    timed = {"time": now} if "window" in options else {}
    if timed:
        replica = (roost.Window if kind == "window" else roost.Counter)(**{name: value for name, value in options.items() if name != "kind"})
    else:
        replica = roost.Filter(**options)
    leave(replica, form, "empty")
    if kind == "counter":
        for i in range(own_ids):
            replica.increment(own(i), i + 1, time=now)
    else:
        for key in keys[:one_by_one]:
            replica.add(key, **timed)
        replica.update(keys[one_by_one:], **timed)
        leave(replica, form, "same")
        replica.update([own(i) for i in range(own_keys)], **timed)
        if kind == "orcuckoo":
            replica.remove(own(0))
    leave(replica, form, "own")


def frame_of(form, whose):
    with open(os.path.join(folder, f"{form}.{whose}.own"), "rb") as file:
        return file.read()[32:]


def merge(form):
    replica = roost.from_bytes(frame_of(form, speaker))
    for other in others:
        replica.merge(frame_of(form, other))
    leave(replica, form, "merged")


for form, options in asked["forms"].items():
    if verb == "make":
        make(form, options)
    else:
        merge(form)
