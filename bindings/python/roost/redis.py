"""Filters in Redis and Valkey servers with the module roost.so, through redis-py.

    import redis
    from roost.redis import ServerFilter

    urls = ServerFilter(redis.Redis(), "urls", shards=12)
    urls.create(capacity=1_000_000)
    urls.add("swift")

A ServerFilter is a filter in one key, or, with `shards`, one that is spread over many, as `roost add URL --shards N` has it:

    shard = (upper 32 bits of XXH3(item)) * shards >> 32        key {NAME:shard}

The client may be a redis.Redis or a redis.cluster.RedisCluster. The items of a call are sorted by their shards and sent in one
pipeline. Keys are the same as in roost.Filter: str, bytes, int (8 bytes, little-endian).

Where a key is missing a server answers "no" to everything. Here that raises MissingError: a "no" is always right.

For BF.* and CF.*, redis-py has bf() and cf(); they work with the module as they are. Commands is a thin layer for ROOST.*.
"""

import math
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import redis

from . import _config
from ._objects import Key, Replica, SyncResult, from_bytes
from ._roost import Error, InvalidError, MismatchError, Sync, key_bytes, xxh3_64

__all__ = ["Commands", "MissingError", "ServerFilter", "shard_of"]

ITEMS_A_COMMAND = 1024
OPTIONS = ("kind", "scalable", "capacity", "fpr_promised", "seed", "multiset", "semantics", "window_seconds", "past", "layout", "fingerprint_bits",
           "bucket_size", "entry_bits", "writers", "growth", "schedule")  # fmt: skip
OPTIONS_BY_TYPE: Dict[str, Any] = {"scalable": bool, "multiset": bool, "fpr_promised": float, "window_seconds": float}
RAW = {"NEVER_DECODE": True}  # frames are bytes, also for clients with decode_responses


class MissingError(Error, LookupError):
    """A key of the filter does not exist in the servers."""


def shard_of(item: Key, shards: int) -> int:
    """The number of the shard that has an item.

    >>> shard_of("heron", 12)
    9
    """
    return (xxh3_64(item) >> 32) * shards >> 32


class Commands:
    """ROOST.* as methods: items are keys as in roost.Filter, frames are bytes, and replies are Python's types."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def create(self, key: str, **options: Any) -> None:
        """ROOST.CREATE with the options of roost.Filter."""
        self.client.execute_command("ROOST.CREATE", key, *creation_words(_filter_options(options)))

    def create_window(self, key: str, window: _config.Seconds, kind: str = "window", **options: Any) -> None:
        """ROOST.CREATE of a window or, with kind="counter", a counter. Options: capacity, fpr, past, seed."""
        _config.choice("kind", kind, {"window": 6, "counter": 7})
        milliseconds, rest = divmod(_config.duration("window", window), 1000)
        if rest:  # a shorter one would forget too soon, and merge with no window of this length
            raise _config.refuse("window", f"must be whole milliseconds in a server, not {window!r}")
        words: List[Any] = ["KIND", kind, "WINDOW", milliseconds]
        for name, value in options.items():
            words += [name.upper(), value]
        self.client.execute_command("ROOST.CREATE", key, *words)

    def add(self, key: str, *items: Key) -> List[bool]:
        return self._marks("ROOST.ADD", key, items)

    def exists(self, key: str, *items: Key) -> List[bool]:
        return self._marks("ROOST.EXISTS", key, items)

    def remove(self, key: str, *items: Key) -> List[bool]:
        return self._marks("ROOST.REM", key, items)

    def remove_one(self, key: str, *items: Key) -> List[bool]:
        return self._marks("ROOST.REMONE", key, items)

    def count(self, key: str, *items: Key) -> List[int]:
        return _answers(self.client.execute_command("ROOST.COUNT", key, *map(key_bytes, items)))

    def info(self, key: str, full: bool = False) -> Dict[str, Any]:
        return _facts(self.client.execute_command("ROOST.INFO", key, *(["FULL"] if full else [])))

    def seen(self, key: str, *ids: Key) -> List[bool]:
        """ROOST.MSEEN: whether each id came within the window; records that it came now."""
        return self._marks("ROOST.MSEEN", key, ids)

    def increment(self, key: str, id: Key, by: int = 1) -> Tuple[int, bool]:
        """ROOST.INCR: the value, and whether this operation was counted now."""
        value, applied = self.client.execute_command("ROOST.INCR", key, key_bytes(id), by)
        return int(value), bool(applied)

    def value(self, key: str) -> Optional[int]:
        value = self.client.execute_command("ROOST.GET", key)
        return None if value is None else int(value)

    def merge(self, key: str, replica: Any) -> bool:
        """ROOST.MERGE of a Filter, Window or Counter, or of the bytes of a frame."""
        frame = replica.to_bytes() if isinstance(replica, Replica) else bytes(replica)
        return bool(self.client.execute_command("ROOST.MERGE", key, frame))

    def delta(self, key: str, cursor: Union[str, bytes] = "0") -> Tuple[bytes, bytes]:
        """ROOST.DELTA: a frame with the changes since the cursor, and the next cursor."""
        following, frame = self.client.execute_command("ROOST.DELTA", key, cursor, **RAW)
        return frame, following

    def load(self, key: str) -> Replica:
        """A new replica of the key, as an object of this process."""
        return from_bytes(self.delta(key)[0])

    def digest(self, key: str) -> str:
        return str(_text(self.client.execute_command("ROOST.DIGEST", key)))

    def sync(self, key: str, replica: Replica, memory: Optional[bytes] = None) -> SyncResult:
        """Syncs an object of this process with a key, in both directions; as Replica.sync."""
        exchange = Sync(replica, memory)
        request = exchange.next(None)
        try:
            while request is not None:
                request = exchange.next(self.client.execute_command("ROOST.SYNC", key, request, **RAW))
        except MismatchError as error:
            raise MismatchError(f"{key}: {error}{self._difference(key, replica)}") from None
        return SyncResult(*exchange.result(), exchange.memory())

    def _difference(self, key: str, replica: Replica) -> str:
        """What to add to a mismatch, since the messages of a sync have no more than a hash of the configuration."""
        try:
            there, here = self.info(key), replica.info()
        except (redis.RedisError, ValueError):  # no permission, or gone meanwhile
            return ""
        for name in OPTIONS:
            ours, theirs = _option(name, here.get(name)), _option(name, there.get(name))
            if name in here and name in there and ours != theirs:
                return f": {name} {ours} here and {theirs} in the server"
        return ""

    def _marks(self, command: str, key: str, items: Sequence[Key]) -> List[bool]:
        return [bool(each) for each in _answers(self.client.execute_command(command, key, *map(key_bytes, items)))]


class ServerFilter:
    """A filter in servers, in one key or spread over `shards` keys, with the methods of roost.Filter for keys but those of
    multisets and dots.

    `shards` never changes: with another number, items are looked up in the wrong keys. The first call of an object looks
    whether the keys that are there fit it.
    """

    def __init__(self, client: Any, name: str, shards: Optional[int] = None) -> None:
        self.client, self.name = client, name
        self.shards = None if shards is None else _config.count("shards", shards, 1, 1 << 20)
        if self.shards and "}" in name:
            raise InvalidError("name: a filter with shards must not have a } in its name")
        self._looked = False

    def __repr__(self) -> str:
        return f"<roost.redis.ServerFilter {self.name!r}{f', {self.shards} shards' if self.shards else ''}>"

    def keys(self) -> List[str]:
        """The keys of the shards, in order."""
        return [self.name] if self.shards is None else [self._key(shard) for shard in range(self.shards)]

    # ---- creation

    def create(self, **options: Any) -> None:
        """Creates the filter; the options are those of roost.Filter, and the capacity is that of the whole.

        Keys that exist, with these options and empty, stay.
        """
        config = list(_filter_options(options))
        if config[2] and len(self.keys()) > 1:
            config[2] = capacity_of_one(config[2], len(self.keys()))
        found = self._infos(full=False)
        if None not in found:
            raise InvalidError(f"{self.name}: already exists")
        if any(info["inserted"] for info in found if info is not None):
            raise self._missing(found)
        missing = [key for key, info in zip(self.keys(), found) if info is None]
        self._send([("ROOST.CREATE", key, *creation_words(config)) for key in missing])
        self._looked = False
        self._look()

    def delete(self) -> int:
        """Deletes the keys. Returns how many there were."""
        self._looked = False
        return sum(self._send([("DEL", key) for key in self.keys()]))

    # ---- items

    def add(self, item: Key) -> bool:
        """Adds an item. Returns whether it is new."""
        return self._call("ROOST.ADD", [item])[0]

    def update(self, items: Iterable[Key]) -> int:
        """Adds the items of an iterable. Returns how many were new."""
        return sum(self._call("ROOST.ADD", items))

    def __contains__(self, item: Key) -> bool:
        return self._call("ROOST.EXISTS", [item])[0]

    def contains_many(self, items: Iterable[Key]) -> List[bool]:
        """For each item whether it is (probably) in."""
        return self._call("ROOST.EXISTS", items)

    def discard(self, item: Key) -> bool:
        """Removes an item from a filter of kind "orcuckoo". Returns whether it was there."""
        return self._call("ROOST.REM", [item])[0]

    def remove(self, item: Key) -> None:
        """Removes an item; KeyError if it is not there."""
        if not self.discard(item):
            raise KeyError(item)

    def remove_many(self, items: Iterable[Key]) -> int:
        """Removes the items of an iterable. Returns how many were there."""
        return sum(self._call("ROOST.REM", items))

    def info(self) -> Dict[str, Any]:
        """What the shards hold together, with the names of `roost info URL --json`.

        fpr_now is the mean of the shards, since an item that was not added belongs to each of them with the same probability;
        worst_fpr is that of the worst one.
        """
        infos = self._infos(full=True)
        present = [info for info in infos if info is not None]
        if len(present) < len(infos):
            raise self._missing(infos)
        elements = [float(info["elements"]) for info in present]
        rates = [float(info["fpr_now"]) for info in present]
        return {
            "shards": len(present),
            "kind": present[0]["kind"],
            "scalable": bool(present[0]["scalable"]),
            "capacity": sum(info["capacity"] for info in present),
            "elements": round(sum(elements)),
            "most_elements": round(max(elements)),
            "inserted": sum(info["inserted"] for info in present),
            "fpr_promised": float(present[0]["fpr_promised"]),
            "fpr_now": sum(rates) / len(rates),
            "worst_fpr": max(rates),
            "promise_holds": all(info["promise_holds"] for info in present),
            "bytes_memory": sum(info["bytes_memory"] for info in present),
            "seed": hex(present[0]["seed"]),
        }

    def __len__(self) -> int:
        """The estimate of info()."""
        return int(self.info()["elements"])

    # ---- how

    def _key(self, shard: int) -> str:
        return f"{{{self.name}:{shard}}}"

    def _key_of(self, item: bytes) -> str:
        return self.name if self.shards is None else self._key(shard_of(item, self.shards))

    def _call(self, command: str, items: Iterable[Key]) -> List[bool]:
        """Splits items by key, sends all at once, and puts the answers back into the order of the items."""
        if isinstance(items, (str, bytes, bytearray)):
            raise TypeError("one str or bytes is one key; this call takes an iterable of keys")
        self._look()
        places: Dict[str, List[int]] = {}
        octets = [key_bytes(item) for item in items]
        for place, item in enumerate(octets):
            places.setdefault(self._key_of(item), []).append(place)
        parts = [(key, all_of[at : at + ITEMS_A_COMMAND]) for key, all_of in places.items() for at in range(0, len(all_of), ITEMS_A_COMMAND)]
        requests: List[Tuple[Any, ...]] = [(command, key, *(octets[place] for place in part)) for key, part in parts]
        replies = self._send(requests + [("EXISTS", key) for key in places])
        for key, exists in zip(places, replies[len(parts) :]):
            if not exists:
                raise MissingError(f"{key}: does not exist any more, with the items that were in it")
        answers = [False] * len(octets)
        for (_, part), reply in zip(parts, replies):
            for place, answer in zip(part, _answers(reply)):
                answers[place] = bool(answer)
        return answers

    def _send(self, requests: List[Tuple[Any, ...]]) -> List[Any]:
        """The replies to several commands. The first error is raised, once all have been carried out."""
        if not requests:
            return []
        pipeline = self.client.pipeline(transaction=False)
        for request in requests:
            pipeline.execute_command(*request)
        replies: List[Any] = pipeline.execute(raise_on_error=False)
        for request, reply in zip(requests, replies):
            if isinstance(reply, redis.ResponseError) and str(reply) == "not found":
                raise MissingError(f"{request[1]}: does not exist; create() creates it")
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _infos(self, full: bool) -> List[Optional[Dict[str, Any]]]:
        """ROOST.INFO of all keys, None for those that are missing; the key behind the last shard must be missing."""
        keys = self.keys() + ([] if self.shards is None else [self._key(self.shards)])
        pipeline = self.client.pipeline(transaction=False)
        for key in keys:
            pipeline.execute_command("ROOST.INFO", key, *(["FULL"] if full else []))
        infos: List[Optional[Dict[str, Any]]] = []
        for key, reply in zip(keys, pipeline.execute(raise_on_error=False)):
            absent = isinstance(reply, redis.ResponseError) and str(reply) == "not found"
            if isinstance(reply, Exception) and not absent:
                raise reply
            infos.append(None if absent else _facts(reply))
        if self.shards is not None and infos.pop() is not None:
            raise InvalidError(f"{keys[-1]}: is there as well; the filter has more than {self.shards} shards")
        self._check_equal(infos)
        return infos

    def _check_equal(self, infos: List[Optional[Dict[str, Any]]]) -> None:
        first: Optional[Tuple[Any, ...]] = None
        for key, info in zip(self.keys(), infos):
            if info is None:
                continue
            if info["kind"] in ("window", "counter"):
                raise InvalidError(f"{key}: holds a {info['kind']}; use Commands.seen() and increment() there")
            options = tuple(info.get(name) for name in ("kind", "scalable", "multiset", "seed", "fpr_promised", "semantics"))
            if first is not None and options != first:
                raise InvalidError(f"{key}: was created with other options than the keys before it")
            first = options

    def _look(self) -> None:
        if not self._looked:
            infos = self._infos(full=False)
            if None in infos:
                raise self._missing(infos)
            self._looked = True

    def _missing(self, infos: List[Any]) -> MissingError:
        missing = [key for key, info in zip(self.keys(), infos) if info is None]
        if len(missing) == len(infos):
            return MissingError(f"{self.name}: does not exist; create() creates it")
        return MissingError(
            f"{self.name}: {len(missing)} of its {len(infos)} keys are missing, the first is {missing[0]}; or the filter has another "
            "number of shards. If they were lost, delete() the rest, create() it, and add all items again"
        )


# ---- words ------------------------------------------------------------------------------------------------------------------


def capacity_of_one(capacity: int, shards: int) -> int:
    """The capacity of a shard: so much above the mean that none exceeds it as long as the whole does not (docs/module.md).

    >>> capacity_of_one(100_000, 12)
    8989
    """
    mean = capacity / shards
    return math.ceil(mean + 7 * math.sqrt(mean) + 16)


def _filter_options(options: Dict[str, Any]) -> Tuple[Any, ...]:
    names = ("capacity", "fpr", "kind", "scalable", "layout", "bits", "bucket", "entry", "multiset", "seed", "writers", "growth", "schedule", "semantics")
    for name in options:
        if name not in names:
            raise TypeError(f"{name} is no option of a filter")
    given: Dict[str, Any] = {**dict.fromkeys(names), "scalable": False, "multiset": False, "seed": _config.DEFAULT_SEED, **options}
    return _config.filter_config(*(given[name] for name in names))


def creation_words(config: Sequence[Any]) -> List[Any]:
    """The numbers of _config.filter_config as the words of ROOST.CREATE."""
    kind, layout, capacity, fpr, seed, bits, bucket, entry, multiset, grows, writers, growth, schedule, semantics = config
    words: List[Any] = ["KIND", _config.KIND_NAMES[kind], "SEED", seed]
    for name, value in (("CAPACITY", capacity), ("FPR", fpr and repr(fpr)), ("BITS", bits), ("ENTRY", entry), ("WRITERS", writers), ("GROWTH", growth)):
        words += [name, value] if value else []
    words += ["LAYOUT", _config.LAYOUT_NAMES[layout]] if kind == 1 else ["BUCKET", bucket] if not grows else []
    words += ["MULTISET"] * bool(multiset) + ["SCALABLE"] * bool(grows)
    words += ["SEMANTICS", _config.SEMANTICS_NAMES[semantics]] if semantics else []
    return words + (["SCHEDULE", _config.SCHEDULE_NAMES[schedule]] if schedule else [])


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _facts(reply: Any) -> Dict[str, Any]:
    """A map of RESP3, or the pairs of RESP2."""
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
    return {_text(name): _text(value) for name, value in pairs}


def _option(name: str, value: Any) -> Any:
    """The same for both: in RESP2 doubles are text, and booleans are numbers."""
    if name == "seed" and value is not None:  # hexadecimal in Replica.info(), signed in a reply
        return (int(value, 16) if isinstance(value, str) else value) % 2**64
    return OPTIONS_BY_TYPE[name](value) if value is not None and name in OPTIONS_BY_TYPE else value


def _answers(reply: List[Any]) -> List[Any]:
    """An item that is refused has an error in its place; those before it were carried out."""
    for each in reply:
        if isinstance(each, Exception):
            raise each
    return reply
