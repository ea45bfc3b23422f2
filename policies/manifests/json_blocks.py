"""Look at the bytes of a JSON document block by block: which are in a text, and how deep the others are."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

#: Bytes of a document that are looked at in one go: with all that is known of them, they fit a cache.
_BLOCK: Final = 128 * 1024
#: What each byte outside of a text does to the depth.
_STEPS: Final = np.zeros(256, dtype=np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_QUOTE, _BACKSLASH = b'"\\'


def count_outside_texts(data: bytes, wanted: bytes) -> int:
    """Return how many of these bytes a document has outside of its texts."""
    reader, found = _Blocks(), 0
    bytes_of = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(data), _BLOCK):
        block = bytes_of[start : start + _BLOCK]
        outside = block[~reader.in_text(block)]
        found += sum(int(np.count_nonzero(outside == byte)) for byte in wanted)
    return found


def flattened(data: bytes, levels: int) -> bytes:
    """Return a document in which lists and objects below a number of levels are empty."""
    reader, depth, kept = _Blocks(), 0, []
    bytes_of = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(data), _BLOCK):
        block = bytes_of[start : start + _BLOCK]
        steps = _STEPS[block]
        steps[reader.in_text(block)] = 0
        depths = np.cumsum(steps, dtype=np.int32) + depth
        depth = int(depths[-1])
        # The bracket that opens a level too many stays, as that one does which closes it.
        keep = (depths <= levels) | ((depths == levels + 1) & (steps == 1))
        kept.append(block.tobytes() if keep.all() else block[keep].tobytes())
    return b"".join(kept)


class _Blocks:
    """Finds the texts of a document that is shown to it block by block."""

    def __init__(self) -> None:
        self._in_text = False
        self._escaped = False

    def in_text(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Return which bytes of the next block are in a text; (bytes,), of its two quotes the first is."""
        quotes = block == _QUOTE
        backslashes = np.flatnonzero(block == _BACKSLASH)
        if self._escaped:
            quotes[0] = False
        escaped = self._escaped
        self._escaped = False
        if backslashes.size:
            # Of backslashes in a row the first, third, … escape what follows, unless the first is escaped.
            first = np.diff(backslashes, prepend=-2) != 1
            starts = np.maximum.accumulate(np.where(first, backslashes, 0))
            if escaped and backslashes[0] == 0:
                starts[starts == 0] = -1
            after = backslashes[(backslashes - starts) % 2 == 0] + 1
            self._escaped = bool(after.size and after[-1] == block.size)
            quotes[after[: after.size - self._escaped]] = False
        inside: npt.NDArray[np.bool_] = (np.cumsum(quotes, dtype=np.uint8) + self._in_text) % 2 == 1
        self._in_text = bool(inside[-1])
        return inside
