"""Messages over any pair of read and write, in the form that `roost sync` and `roost serve` speak.

    message    | 0xd5 | size, as a varint, not 0 | as many bytes |

So a program in Python can sync with `roost serve FILE` over ssh, and `roost sync` with a program in Python. `read(n)` returns
1 to n bytes, or none at the end: read of a file, recv of a socket. `write(b)` takes all bytes, or returns how many it took:
write of a file, sendall or send of a socket. Where it is the write of a file with a buffer, as Popen has them, the file is
flushed behind each message: else the peer would wait for the rest of it, and this side for the peer.
"""

from typing import Any, Callable, Optional

from ._roost import ProtocolError

MARK = 0xD5
LONGEST_VARINT = 10
AT_ONCE = 1 << 20  # bytes a call; memory grows with what has arrived, not with the size that a peer announces
MOST_SIZE = 1 << 40

Read = Callable[[int], Any]
Write = Callable[[bytes], Any]


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


class Stream:
    """Whole messages on a read and a write."""

    def __init__(self, read: Read, write: Write) -> None:
        if not callable(read) or not callable(write):
            raise TypeError("read and write must be callable: read(n) returns bytes, write(b) takes them")
        self._read, self._write = read, write
        self._flush = getattr(getattr(write, "__self__", None), "flush", None)
        self.sent = self.received = 0  # bytes

    def send(self, message: bytes) -> None:
        left = memoryview(bytes((MARK,)) + varint(len(message)) + message)
        self.sent += len(left)
        while left:
            piece = bytes(left[:AT_ONCE])
            written = self._write(piece)
            if written is None:
                written = len(piece)
            if not isinstance(written, int) or not 0 < written <= len(piece):
                raise ProtocolError(f"write() returned {written!r} for {len(piece)} bytes")
            left = left[written:]
        if self._flush is not None:
            self._flush()

    def receive(self) -> Optional[bytes]:
        """The next message; None where the stream ends before it."""
        mark = self._some(1)
        if not mark:
            return None
        if mark[0] != MARK:
            raise ProtocolError(f"received {mark!r}, which is not the beginning of a message of Roost")
        return self._exactly(self._size())

    def _size(self) -> int:
        size = shift = 0
        for _ in range(LONGEST_VARINT):
            byte = self._exactly(1)[0]
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                if not 0 < size <= MOST_SIZE:
                    break
                return size
        raise ProtocolError("received the size of a message that cannot be right")

    def _exactly(self, size: int) -> bytes:
        pieces = []
        while size > 0:
            piece = self._some(min(size, AT_ONCE))
            if not piece:
                raise ProtocolError("the connection ended within a message")
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _some(self, most: int) -> bytes:
        piece = self._read(most)
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(f"read() must return bytes, not {type(piece).__name__}")
        if len(piece) > most:
            raise ProtocolError(f"read({most}) returned {len(piece)} bytes")
        self.received += len(piece)
        return bytes(piece)
