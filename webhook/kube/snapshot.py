"""A cluster from a file, gzip or not: ``kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldError, shown_name
from policies.manifests.object_stream import stream_objects
from policies.model.snapshot import kind_of
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex

#: How a gzip file starts: RFC 1952.
GZIP_MAGIC = b"\x1f\x8b"
#: Bytes that are read at once. Arbitrary; larger ones leave the processor's cache and take longer.
BLOCK = 2**18
#: Bytes that a packed file may unpack to. A few megabytes can stand for a hundred gigabytes, and nothing
#: else would end the reading of them. Arbitrary; twice 150,000 pods, the most that Kubernetes supports, of
#: 25 KB each. There is no bound on the ratio: the JSON of like pods packs 40 to 1.
MAX_UNPACKED = 8 * 2**30
#: Objects left out that are told one by one. Arbitrary; nobody reads more at a start.
MAX_TOLD = 20
#: Kinds that are told where none is of use. Arbitrary.
_TOLD_KINDS = 3


class SnapshotFile:
    """The cluster of one file, read once.

    Attributes:
        index: The cluster.
        problems: A line for each object that was left out because it is broken; for many, only their number.
    """

    def __init__(self, path: Path, seen: Callable[[dict[str, Any]], None] = lambda _obj: None) -> None:
        """Read the file.

        Args:
            path: The file.
            seen: Shown every object that it holds, also of other kinds.

        Raises:
            OSError: It cannot be opened.
            DocumentError: It is neither YAML nor JSON, or holds no object that a cluster is made of.
        """
        self.index = ClusterIndex()
        self.problems: tuple[str, ...] = ()
        left_out, useful, others = 0, False, dict[tuple[str, str], None]()
        for entry in stream_objects(_blocks(path), str(path)):
            seen(entry.value)
            if (kind := kind_of(entry.value)) not in INDEXED_KINDS:
                if len(others) < _TOLD_KINDS:
                    others[kind] = None
                continue
            useful = True
            if errors := self.index.apply(entry.value):
                left_out += 1
                if left_out <= MAX_TOLD:
                    self.problems += (_problem(entry, errors),)
        if not useful and {kind for _, kind in others} != {"List"}:
            text = "is no picture of a cluster, as kubectl prints one in a v1 List: it holds"
            raise DocumentError([f"{path}: {text} {_held(others)}"])
        if left_out > MAX_TOLD:
            self.problems += (f"{path}: {left_out - MAX_TOLD:,} more objects are left out",)


def _held(kinds: Iterable[tuple[str, str]]) -> str:
    """Return what a file holds that is of no use."""
    named = [
        shown_name(f"{api_version} {kind}" if api_version else f"{kind} without apiVersion")
        for api_version, kind in kinds
        if kind
    ]
    return f"only {', '.join(sorted(named))}" if named else "no Kubernetes object"


def _problem(entry: ManifestObject, errors: list[FieldError]) -> str:
    """Return the line of an object that is left out: the first of its errors, and how many there are."""
    where, first = min(
        ((entry.location(error.path), error) for error in errors), key=lambda found: found[0].line
    )
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where}: {_title(entry.value)} is left out: {first}{more}"


def _title(obj: dict[str, object]) -> str:
    metadata = obj.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    parts = [names.get("namespace"), names.get("name")]
    named = "/".join(shown_name(part) for part in parts if isinstance(part, str) and part)
    return f"{kind_of(obj)[1]} {named or 'without a name'}"


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        if not file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
            while block := file.read(BLOCK):
                yield block
            return
        size = 0
        try:
            # It has the methods of a file, but typeshed does not say so.
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=file))
            while block := unpacked.read(BLOCK):
                size += len(block)
                if size > MAX_UNPACKED:
                    text = f"unpacks to more than {MAX_UNPACKED >> 30} GiB; such a file is read only unpacked"
                    raise DocumentError([f"{path}: {text}"])
                yield block
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DocumentError([f"{path}: starts like gzip but cannot be unpacked: {error}"]) from error
