"""Files beside an exact model: every key is added once, so a state is two sets, what was added and what was removed.

    model.py ROOST SEED STEPS      in an empty folder

Four files are added to, removed from, synced, merged, copied, linked and restored from old copies at random. A merge is
the union of both sets, a restore brings an old pair back. No file may ever lack a key that its model holds, nor hold one
that its model has removed, and at the end all files are equal.
"""
import os
import random
import shutil
import subprocess
import sys

ROOST, SEED, STEPS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
FILES = ["f0", "f1", "f2", "f3"]
SHELL = "#!/bin/sh\nshift\nexec sh -c \"$*\"\n"


def roost(*words):
    done = subprocess.run([ROOST, *words], capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"roost {' '.join(words)}: {done.stderr}")
    return done.stdout


class World:
    def __init__(self):
        self.model = {name: (frozenset(), frozenset()) for name in FILES}
        self.copies = []
        self.keys = 0
        with open("shell", "w") as shell:
            shell.write(SHELL)
        os.chmod("shell", 0o755)
        for name in FILES:
            roost("create", name, "--kind", "orcuckoo", "--capacity", "5000")

    def merged(self, one, other):
        (added, removed), (added_there, removed_there) = self.model[one], self.model[other]
        return added | added_there, removed | removed_there

    def add(self, name):
        fresh = [f"key {self.keys + i}" for i in range(random.randint(1, 4))]
        self.keys += len(fresh)
        roost("add", name, *fresh)
        added, removed = self.model[name]
        self.model[name] = added | set(fresh), removed

    def remove(self, name):
        added, removed = self.model[name]
        held = sorted(added - removed)
        gone = random.sample(held, min(len(held), random.randint(1, 4)))
        if gone:
            roost("remove", name, *gone)
        self.model[name] = added, removed | set(gone)

    def sync(self, name):
        peer = random.choice([other for other in FILES if other != name])
        if random.random() < 0.3:
            report = roost("sync", name, f"host:{os.getcwd()}/{peer}", "--json", "--rsh", "./shell", "--roost", ROOST)
        else:
            report = roost("sync", name, peer, "--json")
        if '"equal":true' not in report:
            sys.exit(f"sync {name} {peer}: {report}")
        self.model[name] = self.model[peer] = self.merged(name, peer)

    def merge(self, name):
        source = random.choice(FILES)
        roost("merge", name, source)
        self.model[name] = self.merged(name, source)

    def keep(self, name):
        copy = f"copy {len(self.copies)}"
        random.choice([shutil.copy, shutil.copy2, os.link])(name, copy)
        self.copies.append((copy, self.model[name]))

    def restore(self, name):
        if not self.copies:
            return
        copy, state = random.choice(self.copies)
        in_place = os.stat(name).st_nlink == 1 and random.random() < 0.7  # writing over a link would change the other name
        if not in_place:
            os.unlink(name)
        random.choice([shutil.copy, shutil.copy2])(copy, name)
        self.model[name] = state

    def check(self, name):
        added, removed = self.model[name]
        found = set(roost("check", name, *[f"key {i}" for i in range(self.keys)]).splitlines())
        lost, back = added - removed - found, found & removed
        if lost or back:
            sys.exit(f"{name}: lost {sorted(lost)[:5]}, back {sorted(back)[:5]}")


def main():
    random.seed(SEED)
    world = World()
    verbs = [world.add, world.remove, world.sync, world.merge, world.keep, world.restore]
    for step in range(STEPS):
        name = random.choice(FILES)
        random.choices(verbs, [30, 20, 18, 4, 6, 5])[0](name)
        if step % 20 == 0:
            world.check(name)
    for name in FILES * 2:
        roost("sync", "-q", name, FILES[0])
        world.model[name] = world.model[FILES[0]] = world.merged(name, FILES[0])
    for name in FILES:
        world.check(name)
    if len({roost("digest", name) for name in FILES}) != 1:
        sys.exit("digests differ")
    print(f"{world.keys} keys, {len(world.copies)} copies")


main()
