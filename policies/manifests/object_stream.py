"""From the blocks of a file to its Kubernetes objects, one at a time. Opens no files itself.

A large cluster takes gigabytes as text, and more as Python objects. So a large JSON text is read object by
object, out of a window that slides over it. Everything else is read at once (``manifests.py``); either way
the objects, their lines and the errors are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from policies.manifests.documents import Document, ManifestObject, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, shown
from policies.manifests.json_window import JsonWindow, UnstreamableError

#: Bytes of a text that is read at once whatever it is. Arbitrary; what people write by hand is smaller, and
#: may be YAML in braces that only looks like JSON.
AT_ONCE = 2**20
#: Bytes of a text that cannot be read object by object. Arbitrary; its objects take ten times the memory.
MAX_WHOLE = 256 * 2**20


def stream_objects(blocks: Iterable[bytes], file: str) -> Iterator[ManifestObject]:
    """Yield the objects that ``manifests.load`` and ``manifests.objects`` would give, in their order.

    A problem may be met after objects were given out; then these are not to be used either. In a large JSON
    text that is no JSON further on, what only YAML takes is a problem too.

    Args:
        blocks: The bytes of a file, in blocks of any size.
        file: The name that messages use.

    Raises:
        DocumentError: The text cannot be read, or has to be held as a whole and is too large for it; every
            line is ``file:line: problem``.

    >>> [entry.value for entry in stream_objects([b'{"kind": "List", "items": [{"kind": "Pod"}]}'], "f")]
    [{'kind': 'Pod'}]
    """
    source = _Blocks(blocks, file)
    if source.ends_within(AT_ONCE):
        yield from _objects_at_once(source, file)
        return
    try:
        for entry in _Reader(source, file).objects():
            source.forget()
            yield entry
    except UnstreamableError:
        if source.kept is None:
            raise
        # Not JSON as it is usually written, or none at all.
        yield from _objects_at_once(source, file)


def _objects_at_once(source: _Blocks, file: str) -> Iterator[ManifestObject]:
    for document in load(source.whole(), file):
        yield from objects(document)


class _Blocks:
    """Hands out the blocks of a text, and keeps them while the whole may still be needed.

    Attributes:
        kept: What was handed out so far; None once it is forgotten or too much.
    """

    def __init__(self, blocks: Iterable[bytes], file: str) -> None:
        self.kept: list[bytes] | None = []
        self._kept_bytes = 0
        self._file = file
        self._to_come: Iterator[bytes] = filter(None, blocks)

    def ends_within(self, size: int) -> bool:
        """Tell whether the text is no larger than some bytes."""
        ahead, length = [], 0
        for block in self._to_come:
            ahead.append(block)
            length += len(block)
            if length > size:
                break
        self._to_come = chain(ahead, self._to_come)
        return length <= size

    def next(self) -> bytes:
        """Return the next block, empty at the end."""
        block = next(self._to_come, b"")
        if self.kept is not None:
            self.kept.append(block)
            self._kept_bytes += len(block)
            if self._kept_bytes > MAX_WHOLE:
                self.kept = None
        return block

    def forget(self) -> None:
        """Give up the way back."""
        self.kept = None

    def whole(self) -> bytes:
        """Return all blocks, those handed out and those to come."""
        while self.kept is not None and self.next():
            pass
        if self.kept is None:
            text = "is too large to be read as a whole, and no JSON that can be read object by object"
            raise DocumentError([f"{self._file}: {text}; the limit is {MAX_WHOLE >> 20} MiB"])
        return b"".join(self.kept)


class _Reader:
    """Reads the objects of a JSON text."""

    def __init__(self, source: _Blocks, file: str) -> None:
        self._source = source
        self._file = file
        self._window = JsonWindow(source.next, file)

    def objects(self) -> Iterator[ManifestObject]:
        """Yield the objects of one value after the other."""
        more = True
        while more:
            if self._window.mark() != "{":
                self._window.refuse("starts no JSON object")
            members = self._window.list_head()
            if members is None:
                yield from objects(self._document())
            else:
                yield from self._items(members)
            more = bool(self._window.mark())

    def _document(self) -> Document:
        value, find_lines = self._window.value()
        return Document(value, self._file, 0, find_lines)

    def _items(self, members: dict[str, Any]) -> Iterator[ManifestObject]:
        """Yield the objects of a List whose items start here, and go behind it; ``members`` stand before."""
        window = self._window
        if "kind" in members:
            self._check_list_kind(members)
        window.expect("[")
        if window.mark() != "]":
            while True:
                document = self._document()
                document.value = self._typed(document.value, members)
                yield from objects(document)
                if window.mark() != ",":
                    break
                window.expect(",")
        window.expect("]")
        if window.mark() == ",":
            self._add_tail(members)
        else:
            window.expect("}")
        self._check_list_kind(members)

    def _typed(self, item: object, members: dict[str, Any]) -> object:
        """Return an item with the apiVersion and kind that a typed list such as PodList leaves out of it."""
        if not isinstance(item, dict) or "kind" in item:
            return item
        if "kind" not in members:
            if self._source.kept is not None:
                # Perhaps a typed list with its kind behind the items: a tool that sorts keys makes such.
                self._window.refuse("the first item has no kind, nor has the List that far")
            return item
        kind = members["kind"].removesuffix("List")
        return {"apiVersion": members.get("apiVersion"), "kind": kind} | item if kind else item

    def _add_tail(self, members: dict[str, Any]) -> None:
        """Add what stands behind the items of a List."""
        value, find_lines = self._window.list_tail()
        tail = Document(value, self._file, 0, find_lines)
        for name in value.keys() & members.keys():
            problem = f"the key {shown(name)} stands twice"
            raise UnstreamableError([f"{tail.location(FieldPath((name,)))}: {problem}"])
        members |= value

    def _check_list_kind(self, members: dict[str, Any]) -> None:
        kind = members.get("kind")
        if not isinstance(kind, str) or not kind.endswith("List"):
            self._window.refuse(f"an object with items whose kind is no List but {shown(kind)}")
