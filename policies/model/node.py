"""A node as the scheduler's filters see it: labels, taints, the cordon and what it has to give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any, NamedTuple

from policies.manifests.fields import LABELS, METADATA, SPEC, STATUS, ErrorList, wrong_type
from policies.model.deletion_facts import kept_by
from policies.model.quantity import read_amounts
from policies.model.taints import CORDON_TAINT, TRANSIENT_TAINTS, Taint, read_taints

_TAINTS = SPEC.child("taints")
_UNSCHEDULABLE = SPEC.child("unschedulable")


class Node(NamedTuple):
    """A node of the cluster."""

    name: str  #: Its name.
    labels: dict[str, str]  #: Its labels.
    taints: tuple[Taint, ...]  #: Its taints, in their order; the cordon is none of them.
    unschedulable: bool  #: Whether it is cordoned.
    #: What pods may request in all: cpu in thousandths, everything else in units.
    allocatable: dict[str, int]
    #: The names of the images that it has, each with the size in bytes.
    images: tuple[tuple[str, int], ...] = ()
    kept_by: tuple[str, ...] = ()  #: The annotations for which autoscalers do not remove it.


def without_transient(node: Node) -> Node:
    """Return a node as it is in the long run: neither cordoned nor tainted for a condition that passes."""
    taints = tuple(taint for taint in node.taints if taint.key not in TRANSIENT_TAINTS)
    if not node.unschedulable and len(taints) == len(node.taints):
        return node
    return node._replace(unschedulable=False, taints=taints)


def uncordoned(node: Node) -> Node:
    """Return a node that takes pods again, as after ``kubectl uncordon``."""
    return without_taints(node, CORDON_TAINT.key)._replace(unschedulable=False)


def without_taints(node: Node, *keys: str, effect: str | None = None) -> Node:
    """Return a node without the taints of some keys, of one effect or of all."""
    kept = tuple(
        taint for taint in node.taints if taint.key not in keys or effect not in {None, taint.effect}
    )
    return node if len(kept) == len(node.taints) else node._replace(taints=kept)


def read_node(obj: Mapping[str, Any], found: ErrorList) -> Node:
    """Read a v1 Node; what is of the wrong type is recorded and read as absent.

    ``status.capacity`` stands in for an absent ``status.allocatable``, as the API server's defaults have it.
    """
    metadata = found.mapping(obj.get("metadata"), METADATA)
    spec = found.mapping(obj.get("spec"), SPEC)
    status = found.mapping(obj.get("status"), STATUS)
    name = found.name(metadata, METADATA)
    unschedulable = spec.get("unschedulable")
    if not isinstance(unschedulable, bool | None):
        found.add(wrong_type(_UNSCHEDULABLE, "a boolean", unschedulable))
    member = "capacity" if status.get("allocatable") is None else "allocatable"
    return Node(
        name=name,
        labels={} if metadata.get("labels") is None else found.labels(metadata["labels"], LABELS),
        taints=found.once("taints", lambda: read_taints(spec.get("taints"), _TAINTS, found)),
        unschedulable=unschedulable is True,
        allocatable=read_amounts(status.get(member), STATUS.child(member), found),
        images=tuple(_read_images(status.get("images"))),
        kept_by=kept_by(metadata),
    )


def _read_images(raw: object) -> Iterator[tuple[str, int]]:
    """Yield the names of images; what is of the wrong type is passed over, since it decides on no node."""
    for image in raw if isinstance(raw, list) else ():
        names, size = (image.get("names"), image.get("sizeBytes")) if isinstance(image, dict) else (None, 0)
        for name in names if isinstance(names, list) else ():
            if isinstance(name, str):
                # A cluster's nodes have the same images.
                yield intern(name), size if type(size) is int else 0
