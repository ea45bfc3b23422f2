"""A cluster at one moment in a file: a ``v1 List``, as kubectl or Evenkeel has written it, gzip or not.

It is what ``kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json`` prints.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson

from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldError, FieldPath, and_more, shown_name
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.object_stream import stream_objects
from policies.manifests.sanitize import one_line
from policies.model.cluster_kinds import LISTS, OPTIONAL_KINDS
from policies.model.snapshot import identity, kind_of, without_secrets
from policies.pods.known_pods import KnownPods
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from policies.scheduler.indexed_objects import unread_warning

#: The type of the object with which a snapshot of ours says when it was taken. No API server has it.
SNAPSHOT_TIME: Final = {"apiVersion": "snapshot.evenkeel.dev/v1", "kind": "SnapshotTime"}
#: The type of the object with which a snapshot of ours says which kinds are complete, and which are missing.
SNAPSHOT_LISTS: Final = {"apiVersion": "snapshot.evenkeel.dev/v1", "kind": "SnapshotLists"}
#: How a gzip file starts: RFC 1952.
_GZIP_MAGIC: Final = b"\x1f\x8b"
#: Bytes that are read at once; larger ones leave the processor's cache and take longer.
_BLOCK: Final = 2**18
#: Bytes that a packed file may unpack to. A few megabytes can stand for a hundred gigabytes, and nothing
#: else would end the reading of them; twice 150,000 pods, the most that Kubernetes supports, of
#: 25 KB each. There is no bound on the ratio: the JSON of like pods packs 40 to 1.
MAX_UNPACKED = 8 * 2**30
#: Objects left out that are reported one by one; the others are counted.
MAX_REPORTED = 20
#: Characters of the reason why a kind was not read.
_WHY_LENGTH: Final = 200
#: Kinds that are named where none is of use.
_NAMED_KINDS: Final = 3


def write_snapshot(
    objects: Iterable[dict[str, Any]], lists: Mapping[str, str], taken: datetime
) -> Iterator[bytes]:
    r"""Yield the text of a ``v1 List`` piece by piece, an object a line, without what may be secret.

    Behind the objects it says when they were read, and of what: a list that is read and empty has no objects.
    The newest time that a snapshot mentions is its own.

    Args:
        objects: The objects.
        lists: Why each list could not be read, by the field of a request; empty for one that was. It is
            looked at when all objects are written.
        taken: When they were read.

    >>> taken = datetime(2026, 1, 2, tzinfo=UTC)
    >>> text = b"".join(write_snapshot([{"kind": "Node"}], {"nodes": "", "pods": "no right"}, taken))
    >>> text.splitlines()[2].partition(b'"read":')[2]
    b'["nodes"],"notRead":{"pods":"no right"}},'
    >>> text.splitlines()[3].partition(b'"metadata":')[2]
    b'{"creationTimestamp":"2026-01-02T00:00:00Z"}}'
    """
    objects = iter(objects)
    # Nothing is written before the cluster has answered.
    first = list(islice(objects, 1))
    yield b'{"apiVersion":"v1","kind":"List","items":['
    before = b"\n"
    for obj in chain(first, objects):
        yield before + orjson.dumps(without_secrets(obj))
        before = b",\n"
    unread = {name: why for name, why in lists.items() if why}
    read = [name for name in lists if name not in unread]
    time = taken.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for last in (
        {**SNAPSHOT_LISTS, "read": read, "notRead": unread},
        {**SNAPSHOT_TIME, "metadata": {"creationTimestamp": time}},
    ):
        yield before + orjson.dumps(last)
        before = b",\n"
    yield b"\n]}\n"


def read_snapshot(
    file: str | Path,
    *,
    warn: Callable[[str], None],
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
) -> ClusterIndex:
    """Return the cluster of a file, or of standard input.

    Args:
        file: The file.
        warn: Called with a line for each object that is left out because it is broken; for many, with their
            number; and with one that says what could not be read.
        seen: Called with every object that it holds, also of other kinds.

    Raises:
        OSError: It cannot be opened.
        DocumentError: It is neither YAML nor JSON, or holds no object that a cluster is made of.
    """
    name, index = shown_file(str(file)), ClusterIndex()
    left_out, useful, others = 0, False, dict[tuple[str, str], None]()
    for entry in snapshot_objects(file):
        seen(entry.value)
        if (kind := kind_of(entry.value)) == kind_of(SNAPSHOT_LISTS):
            errors = _take_lists(index, entry.value)
        elif kind in INDEXED_KINDS:
            useful = True
            errors = index.apply(entry.value)
        else:
            if len(others) < _NAMED_KINDS:
                others[kind] = None
            continue
        if errors:
            left_out += 1
            if left_out <= MAX_REPORTED:
                warn(_problem(entry, errors))
    if not useful and {kind for _, kind in others} != {"List"}:
        text = "is not a cluster snapshot, a v1 List as kubectl prints it: it holds"
        raise DocumentError([f"{name}: {text} {_held(others)}"])
    if left_out > MAX_REPORTED:
        warn(f"{name}: {left_out - MAX_REPORTED:,} more objects are left out")
    if unread := index.unread:
        warn(f"{name}: {unread_warning(unread)}")
    return index


def _take_lists(index: ClusterIndex, value: dict[str, Any]) -> list[FieldError]:
    """Note which kinds are complete, and which could not be read; of lists that are not known nothing."""
    found, read = ErrorList(), FieldPath(("read",))
    for position, raw in enumerate(found.items(value.get("read"), read)):
        listed = found.text(raw, read.index(position))
        index.list_kinds({LISTS[listed]} if listed in LISTS else ())
    for listed, why in found.labels(value.get("notRead"), FieldPath(("notRead",))).items():
        if (kind := LISTS.get(listed)) in OPTIONAL_KINDS:
            index.set_unread(kind, one_line(why, _WHY_LENGTH) or "not read")
    return found.errors


def known_pods(file: str, *, now: float) -> KnownPods:
    """Return the store for what is known of a cluster's pods, which reads a file again where it is needed.

    Keeping it takes half of the time of reading, and few answers need it.

    Args:
        file: The snapshot. Of what is no file that can be read twice, what is shown is kept.
        now: The time, in seconds since 1970; 0 for a snapshot, which has its own.
    """
    if file in ("", STDIN) or not Path(file).is_file():
        return KnownPods(None, now=now)
    return KnownPods(lambda: (entry.value for entry in snapshot_objects(file)), now=now)


def snapshot_objects(file: str | Path) -> Iterator[ManifestObject]:
    """Yield the objects of a file or of standard input, gzip or not.

    Raises:
        OSError: It cannot be opened.
        DocumentError: It is neither YAML nor JSON.
    """
    return stream_objects(_blocks(file), shown_file(str(file)))


def _held(kinds: Iterable[tuple[str, str]]) -> str:
    """Return the kinds of a file's objects, of which none is of use, in words."""
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
    return f"{where}: {_title(entry.value)} is left out: {first}{and_more(len(errors))}"


def _title(obj: dict[str, object]) -> str:
    named = "/".join(shown_name(part) for part in identity(obj) if part)
    return f"{kind_of(obj)[1]} {named or 'without a name'}"


def _blocks(file: str | Path) -> Iterator[bytes]:
    name, piped = shown_file(str(file)), file == STDIN
    with open(sys.stdin.fileno() if piped else file, "rb", closefd=not piped) as opened:
        if not opened.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
            while block := opened.read(_BLOCK):
                yield block
            return
        size = 0
        try:
            # It has the methods of a file, but typeshed does not say so.
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=opened))
            while block := unpacked.read(_BLOCK):
                size += len(block)
                if size > MAX_UNPACKED:
                    text = f"unpacks to more than {MAX_UNPACKED >> 30} GiB; such a file is read only unpacked"
                    raise DocumentError([f"{name}: {text}"])
                yield block
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DocumentError([f"{name}: starts like gzip but cannot be unpacked: {error}"]) from error
