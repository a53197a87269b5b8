"""What can be seen of a frame without decoding it (docs/format.md)."""


def frame_of(contents):
    """The frame alone of a file, without the section behind it."""
    size, shift, at = 0, 0, 6
    while True:
        size |= (contents[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if contents[at - 1] < 128:
            return contents[:at + size + 8]
