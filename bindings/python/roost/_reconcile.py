"""Reconciliation: which keys only one of two sides has, for bytes in proportion to the difference.

Over a stream this speaks the protocol of `roost reconcile` and `roost serve --lines FILE`: first the messages of the session,
then requests for the keys themselves, which the session does not carry.

    request                                                         reply
    WANTED  last message of the session, sized, or an empty one     MORE or LAST, and records
    GO_ON                                                           MORE or LAST, and records
    TAKE    the same as WANTED, and records                         TAKEN
    COMMIT  the same; the last records                              TAKEN
    ENOUGH  the same                                                TAKEN

    record   of a multiset: copies on this side, copies on the other | the key, sized
"""

from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from . import _config
from ._roost import ProtocolError, Session, key_bytes
from ._streams import LONGEST_VARINT, Read, Stream, Write, varint

WANTED, GO_ON, TAKE, COMMIT, ENOUGH, MORE, LAST, TAKEN = range(0x81, 0x89)
RECORD_BYTES = 1 << 20  # in one message


class Differences(NamedTuple):
    """What two sides do not have in common. In a multiset each entry is (key, copies on its side, copies on the other)."""

    only_a: List[Any]
    """What the other side lacks of the first, or of this side's keys."""
    only_b: List[Any]
    """What the first, or this side, lacks. From a stream: bytes."""
    messages: int
    """Of the session, in both directions."""
    sent: int
    """Bytes that a, or this side, sent in these messages."""
    received: int
    """Bytes that it received."""
    exact: bool
    """All of it is right. False for the approximate methods "ccf-query" and "ccf-decode"."""
    complete: bool
    """No difference was missed."""


def reconcile(a: Iterable[Any], b: Iterable[Any], method: str = "auto", multiset: bool = False) -> Differences:
    """Finds the keys that only one of two iterables or arrays has. The result is exact, but for the approximate methods.

    `sent` and `received` are the bytes that a network between the two would have carried.

    >>> result = reconcile(["swift", "martin", "heron"], ["martin", "heron", "swallow"])
    >>> result.only_a, result.only_b
    (['swift'], ['swallow'])
    >>> reconcile(list("aab"), list("abb"), multiset=True).only_a
    [('a', 2, 1), ('b', 1, 2)]
    """
    first, second = _keys(a), _keys(b)
    here = Session(first, None, _config.choice("method", method, _config.METHODS), multiset)
    message = here.next(None)
    there = Session(second, message, 0, False)
    while message is not None:
        reply = there.next(message)
        message = here.next(reply) if reply is not None else None
    return Differences(_own(here, first), _own(there, second), *here.result())


def reconcile_stream(
    keys: Iterable[Any], read: Read, write: Write, method: str = "auto", multiset: bool = False
) -> Differences:
    """Finds what differs between keys and those of a peer, which runs reconcile_serve() or `roost serve --lines FILE`.

    `only_a` has keys of this side, `only_b` those of the peer, as bytes.
    """
    own, stream = _keys(keys), Stream(read, write)
    session = Session(own, None, _config.choice("method", method, _config.METHODS), multiset)
    message = session.next(None)
    while message is not None and not session.done:
        message = session.next(_ask(stream, message))
    last = message if message is not None else b""
    return Differences(_own(session, own), _receive_keys(stream, last, session.multiset), *session.result())


def reconcile_serve(keys: Iterable[Any], read: Read, write: Write) -> Differences:
    """The other end of reconcile_stream() and of `roost reconcile`: responds until the peer closes the connection.

    `only_a` has the keys that the peer lacks, `only_b` those that it sent, as bytes: `roost reconcile --fetch` does.
    """
    own, stream = _keys(keys), Stream(read, write)
    first = stream.receive()
    if first is None:
        raise ProtocolError("the peer closed the connection before the session")
    session, got = Session(own, first, 0, False), []  # type: Tuple[Session, List[Any]]
    blocks: Optional[Iterator[bytes]] = None
    request: Optional[bytes] = first
    while request is not None:
        if request[0] < WANTED:
            reply = session.next(request)
        else:
            body = request[1:]
            if request[0] != GO_ON:
                body = _end_session(session, body)
            if request[0] == WANTED:
                blocks = _blocks(session, own)
            if request[0] in (TAKE, COMMIT):
                got += _records(body, session.multiset)
            reply = _reply_with_keys(blocks) if request[0] in (WANTED, GO_ON) else bytes((TAKEN,))
        if reply is not None:
            stream.send(reply)
        request = stream.receive()
    if not session.done:
        raise ProtocolError("the peer closed the connection during the session")
    return Differences(_own(session, own), got, *session.result())


def _keys(keys: Iterable[Any]) -> Any:
    """Something that can be read twice and indexed: arrays as they are, iterables as a list."""
    if isinstance(keys, (list, tuple, str, bytes, bytearray)):
        return keys
    try:
        memoryview(keys)  # type: ignore[arg-type]
    except TypeError:
        return list(keys)
    return keys


def _rows(keys: Any) -> Any:
    """What can be indexed by key: a memoryview has items, and no rows."""
    if not isinstance(keys, memoryview) or keys.ndim < 2:
        return keys
    whole, (count, size) = keys.tobytes(), keys.shape or (0, 0)
    return [whole[row * size : row * size + size] for row in range(count)]


def _own(session: Session, keys: Any) -> List[Any]:
    keys = _rows(keys)
    if session.multiset:
        return [(keys[index], here, there) for index, here, there in session.differences()]
    return [keys[index] for index, _, _ in session.differences()]


# ---- keys on the wire -------------------------------------------------------------------------------------------------------


def _ask(stream: Stream, request: bytes) -> bytes:
    stream.send(request)
    reply = stream.receive()
    if reply is None:
        raise ProtocolError("the peer closed the connection")
    return reply


def _receive_keys(stream: Stream, last: bytes, multiset: bool) -> List[Any]:
    keys: List[Any] = []
    reply = _ask(stream, bytes((WANTED,)) + varint(len(last)) + last)
    while reply[0] in (MORE, LAST):
        some = _records(reply[1:], multiset)
        keys += some
        if reply[0] == LAST:
            return keys
        if not some:
            break
        reply = _ask(stream, bytes((GO_ON,)))
    raise ProtocolError("the peer sent something else than its keys")


def _end_session(session: Session, body: bytes) -> bytes:
    last, end = _sized(body, 0)
    if last and not session.done:
        session.next(last)
    if not session.done:
        raise ProtocolError("the peer ended the session too soon")
    return body[end:]


def _blocks(session: Session, keys: Any) -> Iterator[bytes]:
    """Records of this side's differences, in messages of about a megabyte; the last one says so."""
    keys = _rows(keys)
    block = bytearray((MORE,))
    for index, here, there in session.differences():
        key = key_bytes(keys[index])
        block += (varint(here) + varint(there) if session.multiset else b"") + varint(len(key)) + key
        if len(block) >= RECORD_BYTES:
            yield bytes(block)
            block = bytearray((MORE,))
    block[0] = LAST
    yield bytes(block)


def _reply_with_keys(blocks: Optional[Iterator[bytes]]) -> bytes:
    block = next(blocks, None) if blocks is not None else None
    if block is None:
        raise ProtocolError("the peer asked for more keys than there are")
    return block


def _records(body: bytes, multiset: bool) -> List[Any]:
    records: List[Any] = []
    at = 0
    while at < len(body):
        there = here = 0
        if multiset:
            there, at = _number(body, at)
            here, at = _number(body, at)
        key, at = _sized(body, at)
        records.append((key, there, here) if multiset else key)
    return records


def _number(body: bytes, at: int) -> Tuple[int, int]:
    """The number at a place, and the place behind it."""
    number = 0
    for shift, place in enumerate(range(at, min(at + LONGEST_VARINT, len(body)))):
        number |= (body[place] & 0x7F) << 7 * shift
        if body[place] < 0x80:
            return number, place + 1
    raise ProtocolError("received a number that is cut off")


def _sized(body: bytes, at: int) -> Tuple[bytes, int]:
    size, at = _number(body, at)
    if size > len(body) - at:
        raise ProtocolError("received a message that is cut off")
    return body[at : at + size], at + size
