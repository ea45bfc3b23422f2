"""The amounts that a bound pod holds by its status while its containers are resized.

Source: ``component-helpers/resource/helpers.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policies.manifests.fields import STATUS, ErrorList, FieldPath, object_items, text_member
from policies.model.quantity import read_quantities


def may_be_resizing(spec: Mapping[str, Any], status: object) -> bool:
    """Return whether a status has other amounts than the spec; compares texts, so it may be mistaken."""
    if not isinstance(status, dict):
        return True
    if spec.get("resources") and status.get("resources") is not None:
        return True
    # Runs for every pod of a cluster.
    for listed, told_of in _STATUSES:
        if status.get(told_of) is not None and _differs(spec, status, listed, told_of):
            return True
    return False


#: Where a pod lists containers, and where its status does.
_STATUSES: Final = (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses"))


def _differs(spec: Mapping[str, Any], status: Mapping[str, Any], listed: str, told_of: str) -> bool:
    statuses = status.get(told_of)
    if not isinstance(statuses, list):
        return bool(statuses)
    asked: dict[object, object] | None = None
    for entry in statuses:
        if type(entry) is not dict:
            return True
        resources = entry.get("resources")
        if resources is None:
            continue
        if type(resources) is not dict:
            return True
        if asked is None:
            asked = _requests_by_name(spec.get(listed))
        name = entry.get("name")
        wanted = asked.get(name) if type(name) is str else None
        held = [resources.get("requests"), entry.get("allocatedResources")]
        # Where both are absent, a resize that cannot come true leaves the container with nothing.
        told = [amounts for amounts in held if amounts is not None] or [{}]
        if any(amounts != (wanted or {}) for amounts in told):
            return True
    return False


def _requests_by_name(containers: object) -> dict[object, object]:
    """Return the requests of each container as they were written."""
    asked: dict[object, object] = {}
    for container in object_items(containers):
        resources, name = container.get("resources"), container.get("name")
        if type(name) is str:
            asked[name] = resources.get("requests", {}) if type(resources) is dict else {}
    return asked


class Resizing:
    """The amounts that a bound pod and its containers hold by the status, which a resize makes differ.

    The scheduler looks at what is allocated only where the status has ``resources`` too, which a kubelet
    writes that can resize (KEP-1287, from 1.36 also KEP-5419, of the pod as a whole).
    """

    def __init__(self, status: object, found: ErrorList, *, of_pod: bool = True) -> None:
        self._held: dict[str, list[dict[str, int]] | None] = {}
        self._held_by_pod: list[dict[str, int]] | None = None
        self._infeasible = False
        if isinstance(status, dict):
            self._read(status, found, of_pod=of_pod)

    def _read(self, raw: dict[str, Any], found: ErrorList, *, of_pod: bool) -> None:
        self._held = {
            text_member(entry, "name"): _held_amounts(entry, where, found)
            for member in ("containerStatuses", "initContainerStatuses")
            for where, entry in found.objects(raw.get(member), STATUS.child(member))
        }
        self._held_by_pod = _held_amounts(raw, STATUS, found) if of_pod else None
        conditions = list(found.objects(raw.get("conditions"), STATUS.child("conditions")))
        reasons = [entry.get("reason") for _, entry in conditions if entry.get("type") == "PodResizePending"]
        self._infeasible = reasons[:1] == ["Infeasible"]

    def of_container(self, container: Mapping[str, Any], asked: dict[str, int]) -> dict[str, int]:
        """Return the amounts that count for a resizable container: no init container but a sidecar."""
        held = self._held.get(text_member(container, "name")) if self._held else None
        return self._larger(asked, held)

    def of_pod(self, asked: dict[str, int]) -> dict[str, int]:
        """Return the amounts that count for the pod as a whole, of resources that it requests so."""
        larger = self._larger(asked, self._held_by_pod)
        return {name: larger.get(name, 0) for name in asked}

    def _larger(self, asked: dict[str, int], held: list[dict[str, int]] | None) -> dict[str, int]:
        """Return the larger of the requested and the held amounts; an infeasible resize does not count."""
        if held is None:
            return dict(asked)
        larger = {} if self._infeasible else dict(asked)
        for amounts in held:
            raise_to(larger, amounts)
        return larger


def _held_amounts(entry: Mapping[str, Any], path: FieldPath, found: ErrorList) -> list[dict[str, int]] | None:
    """Return the used and the allocated amounts of a status; None where it lacks the used ones."""
    where = path.child("resources")
    resources = found.mapping(entry.get("resources"), where)
    used = read_quantities(resources.get("requests"), where.child("requests"), found)
    allocated = read_quantities(entry.get("allocatedResources"), path.child("allocatedResources"), found)
    return None if entry.get("resources") is None else [used, allocated]


def raise_to(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    """Give a total of each resource at least an amount."""
    for name, quantity in amounts.items():
        total[name] = max(total.get(name, quantity), quantity)
