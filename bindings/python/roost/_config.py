"""Options by name, as `roost create` has them, and the numbers that the library takes for them.

The words and the defaults are those of the program, so that filters made with the same options merge, whoever made them. A
combination that makes no sense raises InvalidError, a ValueError, that names the option.
"""

import datetime
import math
import numbers
import operator
import re
from typing import Any, Dict, Optional, Tuple, Union

from ._roost import InvalidError

KINDS = {"bloom": 1, "cuckoo": 2, "orcuckoo": 3}
LAYOUTS = {"blocked": 1, "classic": 2}
SCHEDULES = {"quadratic": 1, "halving": 2, "gentle": 3}
SEMANTICS = {"add-wins": 0, "remove-wins": 1, "last-writer-wins": 2}
METHODS = {"auto": 0, "riblt": 1, "dbf": 2, "ccf-query": 3, "ccf-decode": 4}
KIND_NAMES = {**{number: name for name, number in KINDS.items()}, 6: "window", 7: "counter"}
LAYOUT_NAMES = {number: name for name, number in LAYOUTS.items()}
SCHEDULE_NAMES = {number: name for name, number in SCHEDULES.items()}
SEMANTICS_NAMES = {number: name for name, number in SEMANTICS.items()}

DEFAULT_SEED = 0x526F6F7374
DEFAULT_FPR = 0.01
DEFAULT_WINDOW_FPR = 1e-6
DEFAULT_WINDOW_CAPACITY = 100_000
FIRST_CAPACITY = 10_000  # of a series of Bloom filters, which grows anyway
DEFAULT_WRITERS = 4
MOST_WRITERS = 1024
MOST_COUNT = 2**64 - 1
MOST_TIME = 2**55  # the library's end of time, in microseconds
MOST_WINDOW = 2**50  # its longest window

Seconds = Union[int, float, datetime.timedelta, str]
UNITS = {"us": 1, "ms": 1000, "s": 1_000_000, "": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
LONGEST_DURATION = 40  # as text
Moment = Union[int, float, datetime.datetime, None]


def refuse(option: str, why: str) -> InvalidError:
    return InvalidError(f"{option}: {why}")


def count(option: str, value: Any, least: int = 1, most: int = MOST_COUNT) -> int:
    """An int, or a float that is one, such as 1e6."""
    if isinstance(value, float):
        if not value.is_integer():
            raise refuse(option, f"must be a whole number, not {value!r}")
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{option} must be a number, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise refuse(option, f"must be from {least} to {most}, not {number}")
    return number


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # an int without bounds
        return math.inf


def rate(option: str, value: Any) -> float:
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{option} must be a number, not {type(value).__name__}")
    number = _float(value)
    if not 0 < number < 1:
        raise refuse(option, f"must be above 0 and below 1, not {value!r}")
    return number


def choice(option: str, value: Any, names: Dict[str, int]) -> int:
    if not isinstance(value, str):
        raise TypeError(f"{option} must be a str, not {type(value).__name__}")
    if value not in names:
        raise refuse(option, f"must be {', '.join(map(repr, names))}, not {value!r}")
    return names[value]


def power(option: str, value: Any) -> int:
    number = count(option, value, 1, 8)
    if number not in (1, 2, 4, 8):
        raise refuse(option, f"must be 1, 2, 4 or 8, not {number}")
    return number


def filter_config(
    capacity: Any,
    fpr: Any,
    kind: Any,
    scalable: bool,
    layout: Any,
    bits: Any,
    bucket: Any,
    entry: Any,
    multiset: bool,
    seed: Any,
    writers: Any,
    growth: Any,
    schedule: Any,
    semantics: Any,
) -> Tuple[Any, ...]:
    """The arguments of _roost.Filter. Without a capacity a filter grows, and what grows is a cuckoo filter."""
    grows = bool(scalable) or capacity is None
    number = choice("kind", kind, KINDS) if kind is not None else 2 if grows and layout is None else 1
    name = KIND_NAMES[number]
    _check_kind(name, layout, bits, bucket, entry, multiset)
    _check_growth(name, grows, bits, bucket, entry, growth, schedule)
    if name == "orcuckoo":
        _check_entries(bits, entry, multiset)
    wins = choice("semantics", semantics, SEMANTICS) if semantics is not None else 0
    _check_semantics(name, semantics, wins, grows, multiset)
    room = count("capacity", capacity) if capacity is not None else FIRST_CAPACITY if number == 1 else 0
    given_bits = 8 if entry == 32 else count("bits", bits, 4, 32) if bits is not None else 0
    promised = rate("fpr", fpr) if fpr is not None else 0.0 if given_bits and not grows else DEFAULT_FPR
    crowd = count("writers", writers, 1, MOST_WRITERS) if writers is not None else 0
    if grows and number == 1 and room < (crowd or DEFAULT_WRITERS):
        raise refuse("capacity", f"must be at least {crowd or DEFAULT_WRITERS} in a scalable filter: one for each writer")
    return (
        number,
        choice("layout", layout, LAYOUTS) if layout is not None else 1,
        room,
        promised,
        count("seed", seed, 0),
        given_bits,
        power("bucket", bucket) if bucket is not None else 4,
        count("entry", entry) if entry is not None else 0,
        bool(multiset),
        grows,
        crowd if grows else 0,
        power("growth", growth) if growth is not None else 0,
        choice("schedule", schedule, SCHEDULES) if schedule is not None else 0,
        wins,
    )


def _check_kind(kind: str, layout: Any, bits: Any, bucket: Any, entry: Any, multiset: Any) -> None:
    if kind != "bloom" and layout is not None:
        raise refuse("layout", "only for kind 'bloom'")
    if kind == "bloom" and bits is not None:
        raise refuse("bits", "only for kind 'cuckoo' and 'orcuckoo'")
    if kind == "bloom" and bucket is not None:
        raise refuse("bucket", "only for kind 'cuckoo' and 'orcuckoo'")
    if kind != "orcuckoo" and multiset:
        raise refuse("multiset", "only for kind 'orcuckoo'")
    if kind != "orcuckoo" and entry is not None:
        raise refuse("entry", "only for kind 'orcuckoo'")


def _check_growth(kind: str, grows: bool, bits: Any, bucket: Any, entry: Any, growth: Any, schedule: Any) -> None:
    if not grows and growth is not None:
        raise refuse("growth", "only for a filter that grows: without capacity, or with scalable=True")
    if not grows and schedule is not None:
        raise refuse("schedule", "only for a filter that grows: without capacity, or with scalable=True")
    if schedule == "gentle" and kind == "bloom":
        raise refuse("schedule", "'gentle' is only for kind 'cuckoo' and 'orcuckoo'")
    if grows and bits is not None:
        raise refuse("bits", "not for a cuckoo filter that grows: give a capacity without scalable, or fpr")
    if grows and bucket is not None:
        raise refuse("bucket", "not for a cuckoo filter that grows: give a capacity without scalable")
    if grows and entry is not None:
        raise refuse("entry", "not for a filter that grows, whose entries are as wide as they must be")


def _check_semantics(kind: str, semantics: Any, wins: int, grows: bool, multiset: Any) -> None:
    if semantics is not None and kind != "orcuckoo":
        raise refuse("semantics", "only for kind 'orcuckoo'")
    if wins and not grows:
        raise refuse("semantics", f"a filter of fixed size is 'add-wins'; for {semantics!r} add scalable=True")
    if wins and multiset:
        raise refuse("semantics", f"a multiset is 'add-wins'; leave multiset out for {semantics!r}")


def _check_entries(bits: Any, entry: Any, multiset: Any) -> None:
    least = 8 if multiset else 16
    if entry is not None and entry not in (32, 64):
        raise refuse("entry", f"must be 32 or 64, not {entry!r}")
    if entry == 32 and not multiset:
        raise refuse("entry", "32 only with multiset=True; a set needs entries of 64 bits")
    if entry == 32 and bits is not None and bits != 8:
        raise refuse("bits", "entries of 32 bits have fingerprints of 8 bits, no others")
    if bits is not None:
        count("bits", bits, least, 28)


def impossible(options: Tuple[Any, ...]) -> str:
    """What to say of a configuration whose options are valid, while the library refuses them together."""
    kind, layout, fpr, bits = options[0], options[1], options[3], options[5]
    if bits:
        return f"fingerprints of {bits} bits cannot keep a rate of {fpr!r}"
    if kind == 1 and layout == 1 and fpr < 1e-9:
        return f"fpr: a rate of {fpr!r} is too low for the blocked layout; use layout='classic'"
    return f"fpr: this kind of filter cannot have a rate of {fpr!r}; use a higher one"


# ---- time ----------------------------------------------------------------------------------------------------------------


def duration(option: str, value: Seconds) -> int:
    """Microseconds, of seconds, a timedelta, or a text as the program takes it."""
    if isinstance(value, str):
        microseconds = _duration_of_text(option, value)
    else:
        microseconds = _microseconds(option, value.total_seconds() if isinstance(value, datetime.timedelta) else value)
    if not 0 < microseconds <= MOST_WINDOW:
        raise refuse(option, f"must be above 0 and at most 35 years, not {value!r}")
    return microseconds


def _duration_of_text(option: str, text: str) -> int:
    """Exact, and rounded down, so that the same text makes the same window everywhere."""
    match = re.fullmatch(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?(us|ms|[smhd]|)", text)
    if match is None or len(text) > LONGEST_DURATION:
        raise refuse(option, f"must be seconds, a timedelta, or a text as '90s', '10m', '1.5h', '7d', '250ms', '90', not {text!r}")
    whole, fraction, power_of_ten, unit = match.groups("")
    microseconds, exponent = int(whole + fraction) * UNITS[unit], int(power_of_ten or 0) - len(fraction)
    tens: int = 10 ** min(abs(exponent), 2 * LONGEST_DURATION)
    return microseconds // tens if exponent < 0 else microseconds * tens


def moment(value: Moment) -> Optional[int]:
    """Microseconds since 1970, of seconds since 1970 or a datetime; None for the clock of this machine."""
    if value is None:
        return None
    seconds = value.timestamp() if isinstance(value, datetime.datetime) else value
    return _microseconds("time", seconds)


def _microseconds(option: str, seconds: Any) -> int:
    if not isinstance(seconds, numbers.Real):
        raise TypeError(f"{option} must be a number of seconds, not {type(seconds).__name__}")
    if not 0 < _float(seconds) * 1e6 <= MOST_TIME:
        raise refuse(option, f"out of range: {seconds!r} seconds")
    return int(round(seconds * 1_000_000))


def window_config(window: Seconds, capacity: Any, fpr: Any, past: Any, seed: Any) -> Tuple[int, int, float, int, int]:
    """The arguments of _roost.Window and _roost.Counter."""
    return (
        duration("window", window),
        count("capacity", capacity),
        rate("fpr", fpr),
        count("past", past, 1, 255),
        count("seed", seed, 0),
    )
