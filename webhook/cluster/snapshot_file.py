"""A cluster from a file: what ``kubectl get services,rc,rs,sts,ns -A -o json`` prints, gzip or not."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from policies.errors import DocumentError
from policies.manifests import load, objects
from policies.model.snapshot import Snapshot, take_snapshot

#: The kinds that a picture of a cluster is made of; it may hold others.
CLUSTER_KINDS = frozenset(
    {"Namespace", "Node", "Pod", "ReplicaSet", "ReplicationController", "Service", "StatefulSet"}
)
#: How a gzip file starts: RFC 1952.
GZIP_MAGIC = b"\x1f\x8b"


class SnapshotFile:
    """The cluster of one file, read once.

    Attributes:
        problems: A line for each object that was left out because it is broken.
    """

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            OSError: It cannot be opened.
            DocumentError: It is neither YAML nor JSON, or holds no Kubernetes object.
        """
        found = [entry for document in load(_content(path), str(path)) for entry in objects(document)]
        kinds = {kind for entry in found if isinstance(kind := entry.value.get("kind"), str)}
        if not kinds & CLUSTER_KINDS and kinds != {"List"}:
            held = f"only {', '.join(sorted(kinds)[:3])}" if kinds else "no Kubernetes object"
            text = f"is no picture of a cluster, as kubectl prints one in a v1 List: it holds {held}"
            raise DocumentError([f"{path}: {text}"])
        self._snapshot, problems = take_snapshot(entry.value for entry in found)
        self.problems = tuple(f"{path}: {problem}" for problem in problems)

    def snapshot(self) -> Snapshot:
        """Return the objects of the file."""
        return self._snapshot


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError([f"{path}: starts like gzip but cannot be unpacked: {error}"]) from error
