"""Lower what the containers of a pod request, so that it requests no more than a node has left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.quantity import amount
from policies.model.resources import HUGE_PAGES, PLAIN_RESOURCES, Requests, pod_requests

#: What lowered bytes are rounded down to, so that they can be read: mebibytes, or kibibytes.
_UNITS: Final = (("Mi", 2**20), ("Ki", 2**10))


class _Share(NamedTuple):
    """One container's requests and limits of a resource.

    Attributes:
        path: Where its resources are.
        requests: Its requests, as they are written.
        limits: Its limits.
        amount: Thousandths of cpu, units of anything else.
    """

    path: FieldPath
    requests: Mapping[str, Any]
    limits: Mapping[str, Any]
    amount: int


def reduce_requests(spec: Mapping[str, Any], path: FieldPath, allowed: Requests) -> tuple[Edit, ...] | None:
    """Return the edits after which a pod requests no more than it may; None where none of these do.

    One container gives everything if one can, else each gives in proportion. What the pod requests as a whole
    stays, and must cover its containers.

    Args:
        spec: The pod's spec, valid.
        path: Where it is.
        allowed: The most that the pod may request, for the resources of which it requests more.
    """
    edits: list[Edit] = []
    for name, most in allowed:
        attempts = _attempts(spec, name, most)
        fitting = next((attempt for attempt in attempts if _asked(spec, attempt, name) <= most), None)
        if fitting is None:
            return None
        edits += (Edit(path + edit.path, edit.old, edit.new) for edit in fitting)
    return tuple(edits)


def _asked(spec: Mapping[str, Any], edits: list[Edit], name: str) -> int:
    return dict(pod_requests(apply_edits(spec, edits), FieldPath(), ErrorList())).get(name, 0)


def _attempts(spec: Mapping[str, Any], name: str, most: int) -> Iterator[list[Edit]]:
    shares = sorted(_shares(spec, name), key=lambda share: -share.amount)
    asked = _asked(spec, [], name)
    for share in shares:
        if text := _quantity(name, share.amount - (asked - most)):
            yield list(_edits(share, name, text))
    texts = [_quantity(name, share.amount * most // asked) for share in shares]
    if all(texts):
        yield [edit for share, text in zip(shares, texts, strict=True) for edit in _edits(share, name, text)]


def _shares(spec: Mapping[str, Any], name: str) -> Iterator[_Share]:
    for member in ("containers", "initContainers"):
        for path, container in ErrorList().objects(spec.get(member), FieldPath((member,))):
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            # Absent requests default to limits.
            if size := amount(name, requests.get(name, limits.get(name))):
                yield _Share(path.child("resources"), requests, limits, size)


def _edits(share: _Share, name: str, text: str) -> Iterator[Edit]:
    yield Edit(share.path.child("requests").key(name), share.requests.get(name), text)
    # Of these a container gets exactly its limit, so the API server wants both to be equal.
    if name not in PLAIN_RESOURCES and name in share.limits:
        yield Edit(share.path.child("limits").key(name), share.limits[name], text)


def _quantity(name: str, size: int) -> str:
    """Return an amount as people write it, rounded down; empty if nothing is left.

    >>> _quantity("cpu", 1500), _quantity("cpu", 2000), _quantity("memory", 2**30 + 5), _quantity("pods", 0)
    ('1500m', '2', '1024Mi', '')
    """
    if size <= 0:
        return ""
    if name == "cpu":
        return f"{size}m" if size % 1000 else str(size // 1000)
    if name.startswith(HUGE_PAGES):
        page = amount(name, name.removeprefix(HUGE_PAGES)) or 1
        size -= size % page
    if name in PLAIN_RESOURCES or name.startswith(HUGE_PAGES):
        for suffix, unit in _UNITS:
            if size >= unit:
                return f"{size // unit}{suffix}"
    return str(size) if size else ""
