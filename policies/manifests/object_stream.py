"""From the blocks of a file to its Kubernetes objects, one at a time. Opens no files itself.

A large cluster takes gigabytes as text, and more as Python objects. So a large List in JSON whose items have
lines of their own, as kubectl and ``evenkeel snapshot`` write it, is read item by item. Everything else is
read at once (``documents.py``); either way the objects, their lines and the errors are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from policies.manifests.documents import Document, ManifestObject, load, load_item, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, shown

#: Bytes of a text that is read at once whatever it is; what people write by hand is smaller.
AT_ONCE = 2**20
#: Bytes of a text that cannot be read item by item; its objects take ten times the memory.
MAX_WHOLE = 256 * 2**20
#: Bytes of one item; the API server takes no object above 3 MiB.
MAX_ITEM = 64 * 2**20
#: A List up to its first item, on a line of its own. kubectl writes ``kind`` behind the items, the API server
#: before.
_HEAD = re.compile(
    rb'\s*+(\{(?:\s*+"(?:apiVersion|kind|metadata)"\s*+:\s*+(?:"[^"\\\n]*+"|\{[^{}]*+\})\s*+,)*+'
    rb'\s*+"items"\s*+:\s*+\[)[ \t\r]*+\n(?=([ \t]*+)\{)'
)
#: The end of an item on a line of its own, and the start of the next one.
_BETWEEN_LINES = b"},\n{"
#: Bytes that are looked at behind an item.
_AHEAD = 2**12
#: What may be between two items.
_BEHIND_ITEM = re.compile(rb"[ \t]*+,[ \t\r]*+\n[ \t]*+(?=\{)")


def stream_objects(blocks: Iterable[bytes], file: str) -> Iterator[ManifestObject]:
    """Yield the objects that ``documents.load`` and ``documents.objects`` would give, in their order.

    A problem may be met after objects were given out; then these are not to be used either. A List that is
    read item by item must be all that the text holds.

    Args:
        blocks: The bytes of a file, in blocks of any size.
        file: The name that messages use.

    Raises:
        DocumentError: The text cannot be read, or has to be held as a whole and is too large for it; every
            line is ``file:line: problem``.

    >>> [entry.value for entry in stream_objects([b'{"kind": "List", "items": [{"kind": "Pod"}]}'], "f")]
    [{'kind': 'Pod'}]
    """
    window = _Window(iter(blocks), file)
    window.fill(AT_ONCE)
    head = None if window.ended else _HEAD.match(window.content)
    if head is not None:
        yield from _items(window, head)
        return
    window.fill(MAX_WHOLE)
    if not window.ended:
        text = (
            "is too large to be read as a whole, and no List whose items have lines of their own, as kubectl"
        )
        raise DocumentError([f"{file}: {text} and jq write it; the limit is {MAX_WHOLE >> 20} MiB"])
    for document in load(window.content, file):
        yield from objects(document)


def _items(window: _Window, head: re.Match[bytes]) -> Iterator[ManifestObject]:
    """Yield the objects of a List from its first item on, and make sure that it ends well."""
    item_type, ending, more = _item_type(head[1]), b"\n" + head[2] + b"}", True
    window.take(head.end())
    while more:
        line = window.line()
        document = window.item(ending) if line is None else line
        if isinstance(document.value, dict) and "kind" not in document.value:
            document.value = item_type | document.value
        yield from objects(document)
        more = line is not None or window.skip(_BEHIND_ITEM)
    window.end(head[1])


def _item_type(head: bytes) -> dict[str, Any]:
    """Return the apiVersion and kind that the items of a typed list, such as a PodList, leave out."""
    try:
        members = json.loads(head + b"]}")
    except ValueError:
        return {}
    kind = str(members.get("kind", ""))
    if not kind.endswith("List") or kind == "List":
        return {}
    return {"apiVersion": members.get("apiVersion"), "kind": kind.removesuffix("List")}


class _Window:
    """The part of a text around the place that is being read.

    Attributes:
        content: Its bytes.
        ended: Whether they are the text's last.
    """

    def __init__(self, blocks: Iterator[bytes], file: str) -> None:
        self.content = b""
        self.ended = False
        self._blocks = blocks
        self._file = file
        self._at = 0
        # The lines of the text before the place.
        self._lines = 0

    def fill(self, size: int) -> None:
        """Hold more than so many bytes from the place on, or the rest of the text."""
        parts = [self.content[self._at :]]
        held, self._at = len(parts[0]), 0
        while held <= size and not self.ended:
            block = next(self._blocks, None)
            self.ended = block is None
            parts.append(block or b"")
            held += len(parts[-1])
        self.content = b"".join(parts)

    def take(self, end: int) -> bytes:
        """Go to a place in the content; return what is before it."""
        taken = self.content[self._at : end]
        self._lines += taken.count(b"\n")
        self._at = end
        return taken

    def line(self) -> Document | None:
        """Take the item that starts here and what is behind it; None unless both are plainly one line.

        Most items are, and reading a large cluster takes as long as this.
        """
        content, at = self.content, self._at
        end = content.find(b"\n", at)
        if end < 0 or content[end - 2 : end + 2] != _BETWEEN_LINES:
            return None
        before = self._lines
        self._lines, self._at = before + 1, end + 1
        return load_item(content[at : end - 1], self._file, lines_before=before)

    def item(self, ending: bytes) -> Document:
        """Take the item that starts here: a line, or those up to one that starts with an ending."""
        end = self._find(b"\n", 0)
        first = self.content[self._at : end].rstrip()
        if first.endswith(b"{"):
            end = self._find(ending, len(first)) + len(ending)
        else:
            end = self._at + len(first.removesuffix(b","))
        lines = self._lines
        return load_item(self.take(end), self._file, lines_before=lines)

    def skip(self, expression: re.Pattern[bytes]) -> bool:
        """Go behind what matches here, if it does."""
        if len(self.content) - self._at < _AHEAD and not self.ended:
            self.fill(_AHEAD)
        found = expression.match(self.content, self._at)
        if found:
            self.take(found.end())
        return found is not None

    def end(self, head: bytes) -> None:
        """Make sure that what is left ends the List that began with a head."""
        self.fill(AT_ONCE)
        # A List without its items.
        rest = head.replace(b"\n", b" ") + self.content[self._at :]
        document = load_item(rest, self._file, lines_before=self._lines)
        kind = document.value.get("kind")
        if not isinstance(kind, str) or not kind.endswith("List"):
            where = document.location(FieldPath(("kind",)))
            raise DocumentError([f"{where}: kind: must be List, got {shown(kind)}"])

    def _find(self, mark: bytes, behind: int) -> int:
        """Return where a mark is, so many bytes behind the place or further, having read on up to it."""
        while (found := self.content.find(mark, self._at + behind)) < 0:
            held = len(self.content) - self._at
            if self.ended:
                self._refuse("is not JSON: the file ends within an item")
            if held > MAX_ITEM:
                self._refuse(f"an item of more than {MAX_ITEM >> 20} MiB")
            # Twice as much each time: what is held is copied.
            behind = max(behind, held - len(mark))
            self.fill(2 * held)
        return found

    def _refuse(self, problem: str) -> NoReturn:
        raise DocumentError([f"{self._file}:{self._lines + 1}: {problem}"])
