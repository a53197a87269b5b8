"""Calls as type checkers see them: mypy --strict accepts those that are right, and refuses those with an ignore (test_types.py)."""

import array
import socket
from datetime import datetime, timedelta

import roost


def right() -> None:
    seen = roost.Filter(capacity=1_000_000, fpr=0.001, kind="cuckoo")
    new: bool = seen.add("swift") or seen.add(b"swift") or seen.add(5) or seen.add(memoryview(b"x"))
    count: int = seen.update(["swift", b"martin", 5]) + seen.update(range(3)) + seen.update(array.array("i", [1, 2]))
    found: bool = "swift" in seen
    seen |= roost.Filter(capacity=1_000_000)
    both: roost.Filter = seen | seen
    order: bool = seen <= both
    changes, cursor = seen.delta(seen.cursor())
    merged: bool = both.merge(changes)
    restored: roost.Filter = roost.Filter.from_bytes(both.to_bytes())
    ours, theirs = socket.socketpair()
    equal: bool = seen.sync(ours.recv, ours.sendall).equal
    window = roost.Window(timedelta(hours=1))
    window.add("swift", time=datetime.now())
    total: int = roost.Counter(3600).value
    print(new, count, found, order, cursor, merged, restored, equal, total, roost.reconcile(["a"], ["b"]).only_a)


def wrong(seen: roost.Filter) -> None:
    seen.add(2.5)  # type: ignore[arg-type]
    seen.add(None)  # type: ignore[arg-type]
    seen.update([2.5])  # type: ignore[list-item]
    seen.merge("swift")  # type: ignore[arg-type]
    roost.Filter(kind=3)  # type: ignore[arg-type]
    roost.Window(None)  # type: ignore[arg-type]
    seen.append("swift")  # type: ignore[attr-defined]
