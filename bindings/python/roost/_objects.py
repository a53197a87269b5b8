"""Filter, Window and Counter: the classes that people use, on top of the C types of the same names.

Each adds to its C type what is not about speed: options by name (_config.py), sync over streams (_streams.py), files as context
managers, pickling, and info() with the names of `roost info --json`.
"""

import copy
import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, NamedTuple, Optional, SupportsIndex, Tuple, Type, TypeVar, Union

from . import _config, _roost
from ._config import Moment, Seconds
from ._roost import InvalidError, key_bytes
from ._streams import Read, Stream, Write

T = TypeVar("T", bound="Replica")
if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Key = Union[str, SupportsIndex, "ReadableBuffer"]


class SyncResult(NamedTuple):
    """What a sync did."""

    equal: bool
    """Both replicas were equal at its end; False: one of them changed meanwhile."""
    changed: bool
    """This replica changed."""
    rounds: int
    """Requests."""
    sent: int
    """Bytes of requests."""
    received: int
    """Bytes of replies."""
    memory: bytes
    """For the next sync of these two replicas, which then costs what changed."""


class Replica(_roost.Replica):
    """What Filter, Window and Counter have in common."""

    __slots__ = ()

    # ---- bytes

    @classmethod
    def from_bytes(cls: Type[T], frame: Any, memory_limit: Optional[int] = None) -> T:
        """Returns a new replica with the state of a frame.

        The frame may come from anyone: all of it is validated. `memory_limit` is how many bytes the object may take; without
        it, the memory of this machine.

        >>> seen = Filter()
        >>> seen.add("swift")
        True
        >>> "swift" in Filter.from_bytes(seen.to_bytes())
        True
        """
        return cls._decode(frame, _limit(memory_limit))

    def delta(self, cursor: Optional[bytes] = None) -> Tuple[bytes, bytes]:
        """Returns what changed since a cursor, as a frame for merge(), and the cursor for the next call.

        Without a cursor, or with one that is too old, that is the whole state.

        >>> here, there = Filter(), Filter()
        >>> cursor = here.cursor()
        >>> here.add("swift")
        True
        >>> changes, cursor = here.delta(cursor)
        >>> there.merge(changes)
        True
        """
        return self._delta(cursor)

    # ---- pickle and copy: with the attributes of a subclass

    def __reduce__(self) -> Any:
        return type(self).from_bytes, (self.to_bytes(),), _attributes(self)

    def __copy__(self: T) -> T:
        return _restore(self.copy(), _attributes(self))

    def __deepcopy__(self: T, memo: Dict[int, Any]) -> T:
        memo[id(self)] = other = self.copy()  # first: attributes may refer to this object
        return _restore(other, copy.deepcopy(_attributes(self), memo))

    # ---- sync

    def sync(self, read: Read, write: Write, memory: Optional[bytes] = None, peer: Optional[str] = None) -> SyncResult:
        """Exchanges with a peer what the other lacks, over a pair of callables; the peer runs serve(), or `roost serve FILE`.

        `memory` is what an earlier sync with this peer returned. An object of roost.open() stores it in its file instead, under
        the name `peer`.
        """
        if peer is not None and memory is None:
            memory = self._peer_cursor(peer)
        stream, exchange = Stream(read, write), _roost.Sync(self, memory)
        reply: Optional[bytes] = None
        while True:
            request = exchange.next(reply)
            if request is None:
                break
            stream.send(request)
            reply = stream.receive()
            if reply is None:
                raise _roost.ProtocolError("the peer closed the connection during the sync")
        result = SyncResult(*exchange.result(), exchange.memory())
        if peer is not None:
            self._set_peer_cursor(peer, result.memory)
        return result

    def sync_with(self, other: "Replica", memory: Optional[bytes] = None) -> SyncResult:
        """Syncs with another object of this process: merge() in both directions, with the bytes that a network would see.

        >>> here, there = Filter(), Filter()
        >>> here.update(["swift", "martin"]), there.add("heron")
        (2, True)
        >>> here.sync_with(there).equal
        True
        >>> "heron" in here, "swift" in there
        (True, True)
        """
        exchange = _roost.Sync(self, memory)
        request = exchange.next(None)
        while request is not None:
            request = exchange.next(other.reply(request))
        return SyncResult(*exchange.result(), exchange.memory())

    def serve(self, read: Read, write: Write) -> None:
        """Responds to sync(), or to `roost sync`, until the peer closes the connection."""
        stream = Stream(read, write)
        while True:
            request = stream.receive()
            if request is None:
                return
            stream.send(self.reply(request))

    # ---- files

    def save(self) -> None:
        """Saves an object of roost.open() to its file, if it has changed. The file is replaced atomically."""
        self._save()

    def close(self, save: bool = True) -> None:
        """Saves the file, unless `save` is false, and unlocks it; frees the memory. Closing twice is fine.

        Where saving fails, the object stays open, and keeps its changes and the lock: save it later, or close it without.
        """
        self._close(save)

    def reset_replica(self) -> None:
        """Makes the file of this object a new replica, as `roost info --new-replica` does."""
        if self.path is None and not self.closed:
            raise InvalidError("reset_replica() is for objects of roost.open(); a copy() is a new replica")
        self._reset_replica()

    def __enter__(self: T) -> T:
        if self.closed:
            raise ValueError("the filter is closed")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close(save=kind is None)

    # ---- info

    def info(self) -> Dict[str, Any]:
        """Returns what is known, with the names of `roost info --json`: kind, capacity, elements, fpr_promised, fpr_now,
        promise_holds, bytes_memory, digest and more. Reads the whole filter.

        >>> seen = Filter(capacity=1000)
        >>> seen.update(range(500))
        500
        >>> info = seen.info()
        >>> info["kind"], info["capacity"], info["fpr_promised"], info["promise_holds"]
        ('bloom', 1000, 0.01, True)
        """
        return _info(self)

    def __repr__(self) -> str:
        name = type(self).__name__
        if self.closed:
            return f"<roost.{name}, closed>"
        facts = self._info()
        kind = "" if facts["kind"] > 3 else f" {_config.KIND_NAMES[facts['kind']]}"
        where = f" in {os.fspath(self.path)!r}" if self.path is not None else ""
        size = "growing" if facts["scalable"] and facts["kind"] <= 3 else f"capacity {facts['capacity']}"
        return f"<roost.{name}{kind}{where}: about {facts['elements']} keys, {size}, fpr {facts['fpr']:g}>"


class Filter(Replica, _roost.Filter):
    """An approximate set of keys: "no" is always right, "yes" is wrong with at most the probability `fpr`.

    A key is str (its UTF-8), bytes or another buffer, or int (8 bytes, little-endian).

    capacity   keys, over all replicas, for which fpr holds; without it the filter grows
    fpr        promised rate of false positives, 0.01 by default
    kind       "bloom": fastest, never full (the default with a capacity); "cuckoo": smaller, and the best one that grows (the
               default without); "orcuckoo": keys can be removed again
    scalable   grow also with a capacity, which is then what you expect
    seed       of the hash; filters merge if theirs are equal. Choose your own and keep it secret if strangers choose keys
    semantics  of an orcuckoo filter that grows, what holds where one replica adds a key and another removes it at the same time:
               "add-wins" (the default), "remove-wins", or "last-writer-wins", by the clocks of their machines
    layout, bits, bucket, entry, multiset, writers, growth, schedule
               as the options of `roost create`

    Filters merge if they were made with the same options, also by `roost create` or in C.

    >>> seen = Filter(capacity=1_000_000, fpr=0.001)
    >>> seen.add("swift")
    True
    >>> "swift" in seen, "heron" in seen
    (True, False)
    """

    __slots__ = ()

    def __init__(
        self,
        capacity: Optional[float] = None,
        fpr: Optional[float] = None,
        kind: Optional[str] = None,
        *,
        scalable: bool = False,
        layout: Optional[str] = None,
        bits: Optional[int] = None,
        bucket: Optional[int] = None,
        entry: Optional[int] = None,
        multiset: bool = False,
        seed: int = _config.DEFAULT_SEED,
        writers: Optional[int] = None,
        growth: Optional[int] = None,
        schedule: Optional[str] = None,
        semantics: Optional[str] = None,
    ) -> None:
        options = _config.filter_config(
            capacity, fpr, kind, scalable, layout, bits, bucket, entry, multiset, seed, writers, growth, schedule, semantics
        )
        try:
            super().__init__(*options)
        except InvalidError:
            raise InvalidError(_config.impossible(options)) from None


class Window(Replica, _roost.Window):
    """Keys of the last seconds, hours or days; older ones are forgotten by themselves.

    window     how long keys stay at least: seconds, a timedelta, or a text as "90s", "10m", "1.5h", "7d", "250ms", "90"
    capacity   keys expected within one window; more take more memory, at the same rate
    fpr        promised rate of false positives, one in a million by default
    past       slots that the window is cut in, less one
    seed       of the hash

    Times are seconds since 1970 or datetimes; None is the clock of this machine.

    >>> recent = Window(60)
    >>> recent.add("swift", time=1000), recent.add("swift", time=1030)
    (True, False)
    >>> recent.contains("swift", time=1050), recent.contains("swift", time=2000)
    (True, False)
    """

    __slots__ = ()

    def __init__(
        self,
        window: Seconds,
        capacity: float = _config.DEFAULT_WINDOW_CAPACITY,
        fpr: float = _config.DEFAULT_WINDOW_FPR,
        *,
        past: int = 3,
        seed: int = _config.DEFAULT_SEED,
    ) -> None:
        super().__init__(*_config.window_config(window, capacity, fpr, past, seed))

    def add(self, key: Key, time: Moment = None, resume: bool = False) -> bool:
        """Adds a key that came at this time. Returns whether it is new: False means that it (probably) came within the window.

        `resume` accepts a clock that is more than a month ahead of what the window knows.
        """
        return self._add(key, _config.moment(time), resume)

    def update(self, keys: Iterable[Key], time: Moment = None, resume: bool = False) -> int:
        """Adds the keys of an iterable or an array. Returns how many were new."""
        return self._update(keys, _config.moment(time), resume)

    def contains(self, key: Key, time: Moment = None) -> bool:
        """Returns whether a key (probably) came within the window before this time. `key in window` asks for now."""
        return self._contains(key, _config.moment(time))

    def contains_many(self, keys: Iterable[Key], time: Moment = None) -> Any:
        """Looks up the keys of an iterable (a list of bool) or an array (a memoryview of bool)."""
        return self._contains_many(keys, _config.moment(time))


class Counter(Replica, _roost.Counter):
    """Counts operations, each under an id of its own, and none of them twice within a window.

    A client that got no reply tries again with the same id, at any replica that has merged the first attempt. The options are
    those of Window.

    >>> orders = Counter(3600)
    >>> orders.increment("order-17"), orders.increment("order-17"), orders.increment("order-18", 5)
    (True, False, True)
    >>> orders.value
    6
    """

    __slots__ = ()

    def __init__(
        self,
        window: Seconds,
        capacity: float = _config.DEFAULT_WINDOW_CAPACITY,
        fpr: float = _config.DEFAULT_WINDOW_FPR,
        *,
        past: int = 3,
        seed: int = _config.DEFAULT_SEED,
    ) -> None:
        super().__init__(*_config.window_config(window, capacity, fpr, past, seed))

    def increment(self, id: Key, by: int = 1, time: Moment = None, resume: bool = False) -> bool:
        """Counts an operation once: adds `by`, which may be negative. Returns whether it was counted now."""
        return self._increment(id, by, _config.moment(time), resume)


_roost.set_classes(Filter, Window, Counter)
os.register_at_fork(after_in_child=_roost.after_fork)


def from_bytes(frame: Any, memory_limit: Optional[int] = None) -> Replica:
    """Returns the Filter, Window or Counter of a frame; see Filter.from_bytes.

    >>> from_bytes(Window(60).to_bytes())
    <roost.Window: about 0 keys, capacity 100000, fpr 1e-06>
    """
    replica: Replica = _roost.from_bytes(frame, _limit(memory_limit))
    return replica


def open(path: Any, mode: str = "r+", *, wait: bool = True, like: Optional[Replica] = None, **options: Any) -> Any:
    """Opens a filter file, the same as the program's. Use it in a `with` statement.

    At the end of the `with` block the file is saved, atomically; after an exception it stays as it was. Meanwhile it is locked
    for other processes. A file that was copied becomes a new replica by itself. Where saving fails, see close().

    mode    "r": for reading, without a lock; "r+": for reading and changing; "a": the same, and created if it is missing;
            "x": created, must not exist; "w": created, or replaced by an empty one, at once
    wait    False: raise BusyError where another process has locked the file, instead of waiting
    like    for a file that is created: an empty Filter, Window or Counter, which becomes the file's
    other options   those of Filter, for a file that is created; with "a" they must be those of a file that exists

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "seen.roost")
    >>> with open(path, "x", capacity=1000) as seen:
    ...     seen.add("swift")
    True
    >>> with open(path, "r") as seen:
    ...     "swift" in seen
    True
    """
    if mode not in ("r", "r+", "a", "x", "w"):
        raise ValueError(f"mode must be 'r', 'r+', 'a', 'x' or 'w', not {mode!r}")
    if mode in ("r", "r+"):
        if options or like is not None:
            raise TypeError(f"mode {mode!r} takes no options of filters: it opens what is there")
        return _roost.open_file(path, mode, None, wait)
    if like is not None and options:
        raise TypeError("give `like` or options, not both")
    if mode == "a" and like is None and not options:
        try:
            return _roost.open_file(path, "r+", None, wait)
        except FileNotFoundError:
            pass
    return _roost.open_file(path, mode, like if like is not None else Filter(**options), wait)


def _attributes(replica: Replica) -> Any:
    get_state = getattr(replica, "__getstate__", None)  # of every object since 3.11, and with slots
    return get_state() if get_state else getattr(replica, "__dict__", None)


def _restore(replica: T, attributes: Any) -> T:
    """As copy and pickle do: `attributes` is a dict, or a tuple of one and that of slots, or what __setstate__ takes."""
    if hasattr(replica, "__setstate__"):
        replica.__setstate__(attributes)
        return replica
    for some in attributes if isinstance(attributes, tuple) else (attributes,):
        for name, value in (some or {}).items():
            setattr(replica, name, value)
    return replica


def _limit(memory_limit: Optional[int]) -> int:
    return 0 if memory_limit is None else _config.count("memory_limit", memory_limit)


# ---- info ----------------------------------------------------------------------------------------------------------------


def _info(replica: Replica) -> Dict[str, Any]:
    facts = replica._info()
    info: Dict[str, Any] = {"kind": _config.KIND_NAMES[facts["kind"]]}
    timed, bloom = facts["kind"] > 3, facts["kind"] == 1
    if bloom or timed:
        info["layout"] = _config.LAYOUT_NAMES.get(facts["layout"], "none")
    _take(info, facts, "capacity", "elements", "entries", "overflow", "load")
    info["fpr_promised"] = facts["fpr"]
    _take(info, facts, "fpr_now", "promise_holds", "bytes_memory")
    info["digest"] = replica.digest()
    info["seed"] = hex(facts["seed"])
    _growth(info, facts, timed)
    _shape(info, facts, timed, bloom)
    if timed:
        _slots(info, facts)
    if facts["imported_parts"]:
        _take(info, facts, *(f"imported_{name}" for name in ("parts", "items", "removed", "capacity", "bytes", "fpr")))
    if bloom and facts["scalable"]:
        _actor(info, facts)
    if facts["kind"] == 3:
        _take(info, facts, "multiset", "entry_bits")
        info["semantics"] = _config.SEMANTICS_NAMES[facts["semantics"]]
        _actor(info, facts, "dots", "gaps")
    _take(info, facts, "journal", "peers")
    return info


def _take(info: Dict[str, Any], facts: Dict[str, Any], *names: str) -> None:
    info.update((name, facts[name]) for name in names)


def _actor(info: Dict[str, Any], facts: Dict[str, Any], *more: str) -> None:
    _take(info, facts, "actors", *more)
    info["actor"] = f"0x{facts['actor']:016x}" if facts["actor"] else None


def _growth(info: Dict[str, Any], facts: Dict[str, Any], timed: bool) -> None:
    info["scalable"] = facts["scalable"]
    if facts["scalable"] and not timed:
        _take(info, facts, "tables", "writers", "growth")
        info["schedule"] = _config.SCHEDULE_NAMES.get(facts["schedule"], "none")
        _take(info, facts, "inserted", "growth_limit")


def _shape(info: Dict[str, Any], facts: Dict[str, Any], timed: bool, bloom: bool) -> None:
    if timed and facts["scalable"]:
        info["prefix_bits"] = facts["fingerprint_bits"]
        _take(info, facts, "growth_limit")
    elif bloom or timed:
        _take(info, facts, "bits", "probes")
    elif facts["scalable"] and facts["bucket_size"] == 0:
        _take(info, facts, "shortest_prefix", "longest_prefix")
    else:
        _take(info, facts, "fingerprint_bits", "bucket_size", "buckets")


def _slots(info: Dict[str, Any], facts: Dict[str, Any]) -> None:
    info["window_seconds"] = facts["promised_window"] / 1e6
    info["slot_seconds"] = facts["slot"] / 1e6
    info["shortest_slot_seconds"] = facts["shortest_slot"] / 1e6
    _take(info, facts, "past", "slots")
    info["newest"] = facts["newest"] / 1e6
    if facts["kind"] == 7:
        if "value" in facts:
            _take(info, facts, "value")
        _actor(info, facts)
