#!/usr/bin/python3
"""All languages make the same filters: same keys, same frames and digests, and after everybody has merged everybody, again.

A speaker is a program that uses Roost in one way: from C, C++, Python, JavaScript, the shell, or in a server. Each makes a filter
of every form below in a folder that all of them share, and leaves FORM.SPEAKER.STAGE there, the digest and behind it the frame:

    empty    as created                             must be equal in all speakers
    same     with the keys of the file `keys`,      must be equal, where the state has no actors
             the first 20 one by one, the others in a batch
    own      with keys of its own, "SPEAKER own 0" and so on, the first of which it removes if the kind can remove
    merged   its own state, and those of all others, in an order of its own: must be equal in all speakers

Counters count their own ids alone. Servers have a clock of their own, so their windows and counters are compared once merged.

    same_bytes.py            C, C++, Python, Node with the smaller modules, the program, Redis: those that are there
    same_bytes.py --long     two compilers each, the whole package as well, in Node and in Chromium, and every server that is found

A speaker that cannot be had on this machine is named in a line that begins with "skipped".
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "module"))
from frame import frame_of  # noqa: E402

try:
    import servers
except ImportError:  # python3-redis is missing
    servers = None

BUILD = os.environ.get("ROOST_BUILD", os.path.join(ROOT, "build"))
PROGRAM = os.path.join(BUILD, "roost")
LONG = "--long" in sys.argv[1:]
NOW = int(time.time())
ONE_BY_ONE, OWN_KEYS, OWN_IDS = 20, 40, 3  # as in speaker.h
KEYS = [f"bird {i}".encode() for i in range(300)]
KEYS[3:8] = [b"", "größe 𝄞".encode(), b"\xff\xfe not UTF-8", b"x" * 41, b"long " * 4000]
KEYS[100:103] = ["Käuzchen".encode(), b"\x80", b"y" * 300]

# The words of `roost create`, in groups by which module of the package for JavaScript has them.
CORE = {
    "default": {},
    "growing-cuckoo": {"kind": "cuckoo", "fpr": 0.05, "growth": 4, "schedule": "quadratic", "writers": 2},
    "bloom": {"capacity": 8000},
    "bloom-rate": {"capacity": 8000, "fpr": 0.00007},
    "bloom-classic": {"capacity": 8000, "layout": "classic", "fpr": 0.001, "seed": 99},
}
REMOVAL = {
    "growing-orcuckoo": {"kind": "orcuckoo"},
    "growing-multiset": {"kind": "orcuckoo", "multiset": True, "capacity": 100, "scalable": True},
}
OTHERS = {
    "cuckoo": {"kind": "cuckoo", "capacity": 8000, "seed": 7},
    "cuckoo-bits": {"kind": "cuckoo", "capacity": 8000, "bits": 12, "bucket": 2},
    "orcuckoo": {"kind": "orcuckoo", "capacity": 8000},
    "orcuckoo-bits": {"kind": "orcuckoo", "capacity": 8000, "bits": 20},
    "multiset": {"kind": "orcuckoo", "capacity": 20000, "multiset": True, "entry": 32},
    "bloom-low-rate": {"capacity": 8000, "fpr": 1e-7},
    "growing-bloom": {"kind": "bloom"},
    "growing-bloom-small": {"kind": "bloom", "capacity": 100, "scalable": True, "writers": 2, "growth": 4, "schedule": "halving"},
    "growing-classic": {"layout": "classic"},
    "window": {"kind": "window", "window": 3600},
    "counter": {"kind": "counter", "window": 86400, "capacity": 1000},
}
GROUPS = {"core": CORE, "removal": REMOVAL, "others": OTHERS}
ALL = tuple(GROUPS)


def grows(options):
    return options.get("scalable", False) or "capacity" not in options


def kind_of(options):
    return options.get("kind") or ("cuckoo" if grows(options) and "layout" not in options else "bloom")


def has_actors(options):
    kind = kind_of(options)
    return kind in ("orcuckoo", "counter") or (kind == "bloom" and grows(options))


# ---- how options are spelled -------------------------------------------------------------------------------------------------

NUMBERS = {"kind": {"bloom": 1, "cuckoo": 2, "orcuckoo": 3, "window": 6, "counter": 7}, "layout": {"blocked": 1, "classic": 2},
           "schedule": {"quadratic": 1, "halving": 2, "gentle": 3}}  # fmt: skip
FIELDS = {"bits": "fingerprint_bits", "bucket": "bucket_size", "entry": "entry_bits"}


def config_of(options):
    """The fields of a roost_config, where it is not the default."""
    if "window" in options:
        fields = {"timed": f"{NUMBERS['kind'][options['kind']]}:{options['window'] * 1_000_000}", "capacity": options.get("capacity", 100_000)}
    else:
        kind = kind_of(options)
        fields = {"kind": NUMBERS["kind"][kind], "scalable": int(grows(options))}
        if grows(options) and kind == "bloom":
            fields["capacity"] = 10_000
        if "bits" in options or options.get("entry") == 32:
            fields["fpr"] = 0
        if options.get("entry") == 32:
            fields["fingerprint_bits"] = 8
        for name, value in options.items():
            fields[FIELDS.get(name, name)] = NUMBERS[name][value] if name in NUMBERS else int(value) if isinstance(value, bool) else value
    return " ".join(f"{name}={value}" for name, value in fields.items())


def words_of(options, spell):
    words = []
    for name, value in options.items():
        words += [spell(name)] if value is True else [spell(name), str(value)]
    return words


# ---- speakers ----------------------------------------------------------------------------------------------------------------


def own(speaker, number):
    return f"{speaker} own {number}"


def turned(speakers, speaker):
    """The others, beginning with the next one."""
    at = speakers.index(speaker)
    return speakers[at + 1:] + speakers[:at]


def leave(folder, form, speaker, stage, digest, frame):
    with open(os.path.join(folder, f"{form}.{speaker}.{stage}"), "wb") as file:
        file.write(digest.encode() + frame)


def read(folder, form, speaker, stage):
    with open(os.path.join(folder, f"{form}.{speaker}.{stage}"), "rb") as file:
        contents = file.read()
    return contents[:32].decode(), contents[32:]


def run(command, **how):
    done = subprocess.run(command, capture_output=True, timeout=600, **how)
    assert done.returncode == 0, f"{' '.join(map(str, command))[:300]} ended with {done.returncode}\n{done.stderr.decode()}"
    return done.stdout


class Separate:
    """A program of this folder."""

    def __init__(self, name, command, groups=ALL, environment=None):
        self.name, self.command, self.groups = name, command, groups
        self.environment = dict(os.environ, **(environment or {}))

    def make(self, folder, forms):
        run([*self.command, folder, self.name, str(NOW), "make"], env=self.environment)

    def merge(self, folder, forms, others):
        run([*self.command, folder, self.name, str(NOW), "merge", *others], env=self.environment)


class Program:
    """`roost`, on files."""

    name, groups = "program", ALL

    def make(self, folder, forms):
        for form, options in forms.items():
            self.path = os.path.join(folder, form + ".file")
            if options.get("kind") == "counter":
                self.count_own(words_of({"window": f"{options['window']}s", "capacity": options["capacity"]}, "--{}".format))
            else:
                self.add_all(folder, form, options)
            self.leave(folder, form, "own")

    def add_all(self, folder, form, options):
        verb = ["add", self.path]
        if options.get("kind") == "window":
            verb = ["window", "add", self.path, "--time", str(NOW), "--window", f"{options['window']}s"]
        else:
            run([PROGRAM, "create", self.path, *words_of(options, "--{}".format)])
            self.leave(folder, form, "empty")
        run([PROGRAM, *verb, "--", *KEYS[:3]])
        run([PROGRAM, *verb], input=b"".join(key + b"\n" for key in KEYS[3:]))
        self.leave(folder, form, "same")
        run([PROGRAM, *verb], input="".join(own(self.name, i) + "\n" for i in range(OWN_KEYS)).encode())
        if options.get("kind") == "orcuckoo":
            run([PROGRAM, "remove", self.path, own(self.name, 0)])

    def count_own(self, options):
        for i in range(OWN_IDS):
            run([PROGRAM, "counter", "incr", self.path, "--id", own(self.name, i), "--by", str(i + 1), "--time", str(NOW), *options])

    def leave(self, folder, form, stage):
        with open(self.path, "rb") as file:
            leave(folder, form, self.name, stage, run([PROGRAM, "digest", self.path]).split()[0].decode(), frame_of(file.read()))

    def merge(self, folder, forms, others):
        for form in forms:
            self.path = os.path.join(folder, form + ".file")
            states = []
            for other in others:
                states.append(os.path.join(folder, f"{form}.{other}.frame"))
                with open(states[-1], "wb") as file:
                    file.write(read(folder, form, other, "own")[1])
            run([PROGRAM, "merge", self.path, *states])
            self.leave(folder, form, "merged")


class InServer:
    """The module."""

    groups = ALL

    def __init__(self, name, program):
        self.name, self.server = name, servers.Server(program=program)

    def make(self, folder, forms):
        for form, options in forms.items():
            timed = {"window": options["window"] * 1000} if "window" in options else {}
            plain = {"kind": kind_of(options), **({"scalable": True} if grows(options) else {})}  # the module wants them
            self.server("ROOST.CREATE", form, *words_of({**(timed or plain), **options, **timed}, str.upper))
            self.leave(folder, form, "empty")
            if options.get("kind") == "counter":
                for i in range(OWN_IDS):
                    self.server("ROOST.INCR", form, own(self.name, i), i + 1)
            else:
                self.add_all(folder, form, "ROOST.MSEEN" if timed else "ROOST.ADD", timed)
            if options.get("kind") == "orcuckoo":
                self.server("ROOST.REM", form, own(self.name, 0))
            self.leave(folder, form, "own")

    def add_all(self, folder, form, command, timed):
        for key in KEYS[:ONE_BY_ONE]:
            self.server(command, form, key)
        self.server(command, form, *KEYS[ONE_BY_ONE:])
        if not timed:
            self.leave(folder, form, "same")
        self.server(command, form, *(own(self.name, i) for i in range(OWN_KEYS)))

    def leave(self, folder, form, stage):
        leave(folder, form, self.name, stage, self.server.digest(form), self.server("ROOST.DELTA", form, "0")[1])

    def merge(self, folder, forms, others):
        for form in forms:
            for other in others:
                self.server("ROOST.MERGE", form, read(folder, form, other, "own")[1])
            self.leave(folder, form, "merged")

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.server.folder, ignore_errors=True)


# ---- which there are on this machine -------------------------------------------------------------------------------------------


def compiled(folder):
    """Speakers in C and C++, by one compiler each, or two."""
    for source, compilers, standard in (("c", ["gcc", "clang"], "c17"), ("cpp", ["g++", "clang++"], "c++17")):
        for compiler in compilers[: 2 if LONG else 1]:
            if not shutil.which(compiler):
                yield f"a speaker by {compiler}"
                continue
            program = os.path.join(folder, compiler)
            run([compiler, f"-std={standard}", "-O0", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"),
                 os.path.join(HERE, f"speaker.{source}"), os.path.join(BUILD, "src", "libroost.a"), "-lm", "-o", program])  # fmt: skip
            yield Separate(compiler, [program])


def python():
    package = os.path.join(BUILD, "bindings", "python")
    if not glob.glob(os.path.join(package, "roost", "_roost*.so")):
        return "the speaker in Python"
    return Separate("python", ["/usr/bin/python3", os.path.join(HERE, "speaker.py")], environment={"PYTHONPATH": package})


def has_chromium():
    driver = os.path.join(ROOT, "build", "js", "browser", "node_modules", "playwright-core")
    return os.path.exists(driver) and os.path.exists(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


def javascript():
    package = os.path.join(BUILD, "js" if LONG else "js-quick", "package")
    if not all(map(shutil.which, ["node", "clang", "wasm-ld"])):
        yield "speakers in JavaScript"
        return
    run([os.path.join(ROOT, "bindings", "js", "build.sh"), os.path.dirname(package), *([] if LONG else ["--quick"])])
    for place in ("node", "chromium") if LONG else ("node",):
        if place == "chromium" and not has_chromium():
            yield "Chromium, for want of it or of playwright-core (make check-languages)"
            continue
        speaker, ending = ["node", os.path.join(HERE, f"{place}.mjs")], ".node.js" if place == "node" else ".js"
        yield Separate(f"{place}-core", [*speaker, os.path.join(package, "core" + ending)], ("core",))
        yield Separate(f"{place}-removal", [*speaker, os.path.join(package, "removal" + ending)], ("core", "removal") if LONG else ("removal",))
        if LONG:
            yield Separate(place, [*speaker, os.path.join(package, "index" + ending)])


def in_servers():
    if servers is None or not os.path.exists(servers.MODULE) or not os.path.exists(servers.PROGRAM):
        yield "servers"
        return
    found = {"redis": servers.PROGRAM}
    if LONG:
        folder = os.path.join(ROOT, "build", "servers")
        found.update({os.path.basename(path): path for path in sorted(glob.glob(os.path.join(folder, "*-server-*")))})
        if os.path.exists(servers.VALKEY):
            found["valkey"] = servers.VALKEY
        else:
            yield "Valkey"
    for name, program in found.items():
        yield InServer(name, program)


# ---- the test --------------------------------------------------------------------------------------------------------------------


def prepare(folder, forms):
    os.mkdir(folder)
    with open(os.path.join(folder, "keys"), "wb") as file:
        file.write(b"".join(key + b"\n" for key in KEYS))
    with open(os.path.join(folder, "forms"), "w") as file:
        file.write("".join(f"{form} {config_of(options)}\n" for form, options in forms.items()))
    with open(os.path.join(folder, "forms.json"), "w") as file:
        json.dump({"forms": forms, "one_by_one": ONE_BY_ONE, "own_keys": OWN_KEYS, "own_ids": OWN_IDS}, file)


def different(folder, form, stage, names):
    """A line for each state that is not that of the first."""
    states = {name: read(folder, form, name, stage) for name in names if os.path.exists(os.path.join(folder, f"{form}.{name}.{stage}"))}
    assert len(states) > 1, f"only {list(states)} left {form}.{stage}"
    (first, wanted), *rest = states.items()
    return [f"{form} {stage}: {name} has {state[0]}, {len(state[1])} bytes; {first} has {wanted[0]}, {len(wanted[1])} bytes"
            for name, state in rest if state != wanted]  # fmt: skip


def report(what, faults):
    print(f"{'not ok' if faults else 'ok'} {what}", *faults, sep="\n", flush=True)
    return bool(faults)


def lost(folder, form, options, names):
    """What the merged state lacks: it is that of all speakers, so one of them is asked."""
    path, timed = os.path.join(folder, "merged"), ["--time", str(NOW)]
    with open(path, "wb") as file:
        file.write(read(folder, form, names[0], "merged")[1])
    if options.get("kind") == "counter":
        value = int(run([PROGRAM, "counter", "show", path]).split()[0])
        return [] if value == len(names) * OWN_IDS * (OWN_IDS + 1) // 2 else [f"the counter is {value}"]
    verb = ["window", "check", *timed] if options.get("kind") == "window" else ["check"]
    removes = options.get("kind") == "orcuckoo"
    wanted = KEYS + [own(name, i).encode() for name in names for i in range(int(removes), OWN_KEYS)]
    found = run([PROGRAM, *verb, path], input=b"".join(key + b"\n" for key in wanted)).split(b"\n")[:-1]
    faults = [f"lacks {key[:40]!r}" for key in wanted if key not in found]
    if removes:
        gone = [own(name, 0).encode() + b"\n" for name in names]
        back = int(subprocess.run([PROGRAM, "check", "-c", path], input=b"".join(gone), stdout=subprocess.PIPE).stdout)
        if back > len(gone) // 2:  # some may be false positives
            faults.append(f"{back} of {len(gone)} removed keys are back")
    return faults


def compare(folder, group, speakers):
    forms = GROUPS[group]
    speakers = [speaker for speaker in speakers if group in speaker.groups]
    names = [speaker.name for speaker in speakers]
    prepare(folder, forms)
    for speaker in speakers:
        speaker.make(folder, forms)
    for speaker in speakers:
        speaker.merge(folder, forms, turned(names, speaker.name))
    failed = False
    for form, options in forms.items():
        stages = ["empty", *([] if has_actors(options) else ["same"]), "merged"]
        faults = [line for stage in stages for line in different(folder, form, stage, names)]
        failed |= report(f"{form}: {', '.join(names)} have the same bytes", faults + lost(folder, form, options, names))
    return failed


def main():
    failed, started = False, []
    with tempfile.TemporaryDirectory(prefix="roost-languages-") as folder:
        candidates = [*compiled(folder), python(), *javascript(), Program(), *in_servers()]
        try:
            for candidate in candidates:
                if isinstance(candidate, str):
                    print(f"skipped: {candidate}")
                else:
                    started.append(candidate)
            for group in GROUPS:
                failed |= compare(os.path.join(folder, group), group, started)
        finally:
            for speaker in candidates:
                if isinstance(speaker, InServer):
                    speaker.stop()
    sys.exit(failed)


main()
