"""Mergeable Bloom and cuckoo filters (CRDTs).

A filter is a set that answers "probably in" or "certainly not in", in a few bits a key. Replicas of one filter add and
remove keys on their own; merge them in any order, any number of times, and they agree.

>>> import roost
>>> here, there = roost.Filter(capacity=1000, fpr=0.01), roost.Filter(capacity=1000, fpr=0.01)
>>> here.add("swift"), there.add("martin")
(True, True)
>>> here |= there
>>> "swift" in here, "martin" in here, "heron" in here
(True, True, False)

Filter, Window and Counter are the objects; open() opens their files, which are those of the program `roost`; reconcile()
finds what differs between two sets; roost.redis talks to servers with the module. docs/python.md is the tutorial.
"""

from ._objects import Counter, Filter, Replica, SyncResult, Window, from_bytes, open
from ._reconcile import Differences, reconcile, reconcile_stream, reconcile_serve
from ._roost import (
    BusyError,
    ClockError,
    Error,
    ExhaustedError,
    FrameError,
    FullError,
    InvalidError,
    MismatchError,
    ProtocolError,
    RangeError,
    TooLargeError,
    UnsupportedError,
    key_bytes,
    xxh3_64,
)
from ._roost import version as __version__

__all__ = [
    "BusyError",
    "ClockError",
    "Counter",
    "Differences",
    "Error",
    "ExhaustedError",
    "Filter",
    "FrameError",
    "FullError",
    "InvalidError",
    "MismatchError",
    "ProtocolError",
    "RangeError",
    "Replica",
    "SyncResult",
    "TooLargeError",
    "UnsupportedError",
    "Window",
    "from_bytes",
    "key_bytes",
    "open",
    "reconcile",
    "reconcile_serve",
    "reconcile_stream",
    "xxh3_64",
]

for _class in (Counter, Differences, Filter, Replica, SyncResult, Window):
    _class.__module__ = __name__  # which pickles refer to, and people see
