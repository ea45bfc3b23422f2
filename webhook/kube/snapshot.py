"""A cluster at one moment, read from a file that kubectl or Evenkeel has written, or from an API server.

A file is a ``v1 List``, gzip or not: ``kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json``.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldError, FieldPath, and_more, shown_name
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.object_stream import stream_objects
from policies.manifests.sanitize import one_line
from policies.model.cluster_kinds import LISTS, OPTIONAL_KINDS
from policies.model.snapshot import kind_of
from policies.placement.core.pod_objects import PodObjects
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from webhook.kube.api_server import ApiError, ApiServer
from webhook.kube.kind_record import LeftOutObject, unread_warning
from webhook.kube.list import identity, list_objects, unread_reason
from webhook.kube.snapshot_writer import SNAPSHOT_LISTS
from webhook.kube.watched_resources import WATCHED_RESOURCES, ListedResource

#: How a gzip file starts: RFC 1952.
GZIP_MAGIC = b"\x1f\x8b"
#: Bytes that are read at once; larger ones leave the processor's cache and take longer.
BLOCK = 2**18
#: Bytes that a packed file may unpack to. A few megabytes can stand for a hundred gigabytes, and nothing
#: else would end the reading of them; twice 150,000 pods, the most that Kubernetes supports, of
#: 25 KB each. There is no bound on the ratio: the JSON of like pods packs 40 to 1.
MAX_UNPACKED = 8 * 2**30
#: Objects left out that are reported one by one; the others are counted.
MAX_REPORTED = 20
#: Characters of the reason why a kind was not read.
_WHY_LENGTH: Final = 200
#: Kinds that are named where none is of use.
_NAMED_KINDS = 3


class SnapshotFile:
    """The cluster of one file, read once.

    Attributes:
        index: The cluster.
        problems: A line for each object that was left out because it is broken; for many, only their number.
    """

    def __init__(self, file: str | Path, seen: Callable[[dict[str, Any]], None] = lambda _obj: None) -> None:
        """Read the file.

        Args:
            file: The file, or standard input.
            seen: Shown every object that it holds, also of other kinds.

        Raises:
            OSError: It cannot be opened.
            DocumentError: It is neither YAML nor JSON, or holds no object that a cluster is made of.
        """
        name = shown_file(str(file))
        self.index = ClusterIndex()
        self.problems: tuple[str, ...] = ()
        left_out, useful, others = 0, False, dict[tuple[str, str], None]()
        for entry in snapshot_objects(file):
            seen(entry.value)
            if kind_of(entry.value) == kind_of(SNAPSHOT_LISTS):
                self._take_lists(entry)
                continue
            if (kind := kind_of(entry.value)) not in INDEXED_KINDS:
                if len(others) < _NAMED_KINDS:
                    others[kind] = None
                continue
            useful = True
            if errors := self.index.apply(entry.value):
                left_out += 1
                if left_out <= MAX_REPORTED:
                    self.problems += (_problem(entry, errors),)
        if not useful and {kind for _, kind in others} != {"List"}:
            text = "is no cluster snapshot, a v1 List as kubectl prints it: it holds"
            raise DocumentError([f"{name}: {text} {_held(others)}"])
        if left_out > MAX_REPORTED:
            self.problems += (f"{name}: {left_out - MAX_REPORTED:,} more objects are left out",)
        if unread := self.index.unread:
            self.problems += (f"{name}: {unread_warning(unread)}",)

    def _take_lists(self, entry: ManifestObject) -> None:
        """Note which kinds are complete, and which could not be read; of lists that are not known nothing."""
        found, read, unread = ErrorList(), FieldPath(("read",)), FieldPath(("notRead",))
        for position, raw in enumerate(found.items(entry.value.get("read"), read)):
            name = found.text(raw, read.index(position))
            self.index.list_kinds({LISTS[name]} if name in LISTS else ())
        for name, why in found.labels(entry.value.get("notRead"), unread).items():
            if (kind := LISTS.get(name)) in OPTIONAL_KINDS:
                self.index.set_unread(kind, one_line(why, _WHY_LENGTH) or "not read")
        if found.errors:
            self.problems += (_problem(entry, found.errors),)


def pod_objects(file: str) -> PodObjects:
    """Return the store for the objects of a cluster's pods, which reads a file again where they are needed.

    Keeping them takes a fifth of the time of reading, and few answers need them.

    Args:
        file: The snapshot. Of what is no file that can be read twice, what is shown is kept.
    """
    if file in ("", STDIN) or not Path(file).is_file():
        return PodObjects()
    return PodObjects(lambda: (entry.value for entry in snapshot_objects(file)))


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
        if not opened.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
            while block := opened.read(BLOCK):
                yield block
            return
        size = 0
        try:
            # It has the methods of a file, but typeshed does not say so.
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=opened))
            while block := unpacked.read(BLOCK):
                size += len(block)
                if size > MAX_UNPACKED:
                    text = f"unpacks to more than {MAX_UNPACKED >> 30} GiB; such a file is read only unpacked"
                    raise DocumentError([f"{name}: {text}"])
                yield block
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DocumentError([f"{name}: starts like gzip but cannot be unpacked: {error}"]) from error


def read_objects(
    api: ApiServer,
    resources: tuple[ListedResource, ...],
    *,
    left_out: Callable[[LeftOutObject], None],
    listed: Callable[[ListedResource, str], None],
) -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster.

    Args:
        api: Its API server.
        resources: What of it.
        left_out: Called with each object that cannot be read.
        listed: Called with each kind whose objects were all read, or, if it is optional, with the reason why
            they cannot be: those that it yielded do not count then.

    Raises:
        ApiError: The API server refuses; says what to have granted.
        UnreachableError: There is no answer.
    """
    for resource in resources:
        try:
            yield from list_objects(api, resource, left_out=left_out)
            listed(resource, "")
        except ApiError as error:
            if why := unread_reason(resource, error):
                listed(resource, why)
                continue
            if not error.forbidden:
                raise
            text = (
                "have list granted on it in all namespaces, as the ClusterRole view and a right to nodes do"
            )
            raise ApiError(error.status, f"{error}; {text}", reason=error.reason) from error


def read_index(
    api: ApiServer,
    resources: tuple[ListedResource, ...] = WATCHED_RESOURCES,
    *,
    warn: Callable[[str], None],
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
) -> ClusterIndex:
    """Return the cluster as it is now.

    Args:
        api: Its API server.
        resources: What of it.
        warn: Called with a line for each object that is left out because it is broken, and with one that
            says what cannot be read.
        seen: Called with every object that was read.

    Raises:
        ApiError: The API server refuses; says what to have granted.
        UnreachableError: There is no answer.
    """
    index = ClusterIndex()

    def listed(resource: ListedResource, why: str) -> None:
        index.set_unread(resource.key, why)

    for obj in read_objects(api, resources, left_out=lambda broken: warn(str(broken)), listed=listed):
        seen(obj)
        for error in index.apply(obj)[:1]:
            namespace, name = identity(obj)
            found = LeftOutObject(kind=obj["kind"], namespace=namespace, name=name, reason=str(error))
            warn(str(found))
    if unread := index.unread:
        warn(unread_warning(unread))
    return index
