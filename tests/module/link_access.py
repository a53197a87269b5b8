#!/usr/bin/python3
"""What docs/active-active.md tells the keeper of a server to allow a link: enough for everything that a link does, and no more than it needs."""
import json
import os
import re
import shlex
import subprocess

from proxy import Proxy
from regions import ROOST, Cluster, Single, key_slot
from servers import PATIENCE, ROOT, run, server, free_port

SECRET = "a word"


def rights():
    """The user as the documentation has it."""
    with open(os.path.join(ROOT, "docs", "active-active.md")) as file:
        words = shlex.split(re.search(r"ACL SETUSER (link (?:.*\\\n)*.*)", file.read()).group(1).replace("\\\n", " "))
    return [word if not word.startswith(">") else f">{SECRET}" for word in words]


def once(*ports, options=()):
    """One round of a link; its status and its events."""
    done = subprocess.run([ROOST, "link", *(f"redis://127.0.0.1:{port}" for port in ports), "--once", "--json", *options], capture_output=True, text=True,
                          timeout=PATIENCE, env={**os.environ, "ROOST_USER": "link", "ROOST_PASSWORD": SECRET})
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def change_everything(one, other):
    """Keys that are missing, differ, were deleted, cannot be merged; the calls are those of the two regions."""
    one("BF.ADD", "missing", "x"), one("CF.ADD", "differs", "x"), other("CF.ADD", "differs", "y"), one("ROOST.INCR", "count", "id", 1)
    one("ROOST.CREATE", "conflict", "KIND", "cuckoo", "CAPACITY", "100"), other("ROOST.CREATE", "conflict", "KIND", "cuckoo", "CAPACITY", "200")
    one("BF.ADD", "deleted", "x"), other("BF.ADD", "deleted", "x"), one("DEL", "deleted")


def check_everything(one, other):
    assert other("BF.EXISTS", "missing", "x") and other("CF.EXISTS", "differs", "x") and one("CF.EXISTS", "differs", "y"), "what differed"
    assert other("ROOST.GET", "count") == 1 and not other("EXISTS", "deleted")


def test_the_user_of_the_documentation():
    with server(port=free_port()) as one, server(port=free_port()) as other:
        for s in one, other:
            s("ACL", "SETUSER", *rights()), s("ACL", "LOG", "RESET")
        assert once(one.port, other.port)[0] == 0, "from now on deletions are remembered"
        change_everything(one, other)
        status, events, said = once(one.port, other.port)
        assert status == 1 and [e for e in events if e["event"] == "conflict"], (status, events, said)
        check_everything(one, other)
        one("DEL", "conflict"), other("SELECT", 0)
        status, events, said = once(one.port, other.port)
        assert status == 0, (events, said)
        assert one("ACL", "LOG") == [] and other("ACL", "LOG") == [], "nothing was refused"


def test_each_right_is_needed():
    optional = {"+client|setname", "+select", "+asking", "+ping", "+time", "+cluster|slots", "~*", "on", f">{SECRET}", "link"}
    needed = [word for word in rights() if word not in optional]
    assert len(needed) > 4
    for word in needed:
        with server(port=free_port()) as one, server(port=free_port()) as other:
            for s in one, other:
                s("ACL", "SETUSER", *rights())
            once(one.port, other.port), change_everything(one, other)
            for s in one, other:
                s("ACL", "SETUSER", *rights()), s("ACL", "SETUSER", "link", word.replace("+", "-")), s("ACL", "LOG", "RESET")
            once(one.port, other.port)
            assert [*one("ACL", "LOG"), *other("ACL", "LOG")], f"{word} is not needed"


def test_a_user_with_some_keys():
    with server(port=free_port()) as one, server(port=free_port()) as other:
        for s in one, other:
            s("ACL", "SETUSER", *(word for right in rights() for word in ((right,) if right != "~*" else ("~birds:*", "~roost:links*"))))
        assert once(one.port, other.port, options=("--match", "birds:*"))[0] == 0
        one("BF.ADD", "birds:a", "x"), one("BF.ADD", "secret", "x"), one("BF.ADD", "birds:b", "x"), other("BF.ADD", "birds:b", "x"), one("DEL", "birds:b")
        status, events, said = once(one.port, other.port, options=("--match", "birds:*"))
        assert status == 0, (events, said)
        assert other("BF.EXISTS", "birds:a", "x") and not other("EXISTS", "secret") and not other("EXISTS", "birds:b")


def test_a_cluster():
    proxy = Proxy(seed=1)
    single, cluster = Single("one"), Cluster("many", proxy)
    try:
        for s in single.primaries() + cluster.primaries():
            s("ACL", "SETUSER", *rights()), s("ACL", "LOG", "RESET")
        there = lambda word, key, *rest: cluster.owner[key_slot(key.encode())](word, key, *rest)  # noqa: E731
        once(single.server.port, cluster.routes[0].port)
        change_everything(single.server, there)
        once(single.server.port, cluster.routes[0].port)
        check_everything(single.server, there)
        for s in single.primaries() + cluster.primaries():
            assert s("ACL", "LOG") == [], "nothing was refused"
    finally:
        single.stop(), cluster.stop(), proxy.close()


if __name__ == "__main__":
    run(globals())
