"""The amounts that pods take of their nodes: those of usual pods at once, of all others by ``PodAmounts``.

A cluster has thousands of pods, of few shapes, and nearly none of them is being resized.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, member, object_items
from policies.model.pod_reading import OLDER_AMOUNTS, AmountReading, in_older_release
from policies.model.quantity import CACHED_LENGTH, parse_quantity, unit_of
from policies.model.resources import ASSUMED, PodAmounts, Requests, compared, is_sidecar, named_assumed

#: How many shapes of pods are kept. A cluster has a few hundred.
CACHED_SHAPES = 4096
#: Most amounts of a pod whose shape is kept. Usual pods have two to eight.
CACHED_AMOUNTS = 16
#: Where a pod lists containers, and where its status does.
_STATUSES: Final = (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses"))


class HeldAmounts(NamedTuple):
    """The amounts that a running pod takes of its node."""

    requests: Requests  #: What it requests.
    assumed: Requests  #: What nodes are compared by: see ``PodAmounts``.
    #: How much more of each of them an older release counts, where it does: see ``in_older_release``.
    older: Requests = ()


def held_amounts(spec: Mapping[str, Any], path: FieldPath, found: ErrorList, status: object) -> HeldAmounts:
    """Return the amounts that a running pod takes of its node.

    Args:
        spec: The pod's spec.
        path: Where the spec is.
        found: Takes what is no quantity.
        status: The pod's status: while it is resized, containers may hold more than the spec requests.
    """
    if status and _may_be_resizing(spec, status):
        return _summed(spec, path, found, status)
    return found.once("amounts", lambda: usual_held(spec) or _summed(spec, path, found, None))


def _summed(spec: Mapping[str, Any], path: FieldPath, found: ErrorList, told: object) -> HeldAmounts:
    """Return the amounts of a pod with some status; None for none that matters."""
    sums = PodAmounts(spec, path, found, status=told)
    requests, assumed = sums.requests(), sums.assumed()
    return HeldAmounts(requests, assumed, tuple(_older(spec, path, told, dict(requests + assumed))))


def _older(
    spec: Mapping[str, Any], path: FieldPath, status: object, newest: dict[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield how much more older releases count of what a pod takes."""
    has, then = _release_differences(spec, status), newest
    for reading in reversed(OLDER_AMOUNTS):
        # What it lacks and the release after it has.
        if has[sum(reading)]:
            sums = PodAmounts(spec, path, ErrorList(), status=status, reading=reading)
            then = dict(sums.requests() + sums.assumed(running=True))
        for name in sorted(newest.keys() | then.keys()):
            more = then.get(name, 0) - newest.get(name, 0)
            if more:
                yield in_older_release(name, reading), more


def _release_differences(spec: Mapping[str, Any], status: object) -> AmountReading:
    """Return which differences between releases a pod may meet: most meet none.

    Args:
        spec: The pod's spec.
        status: Its status, if it may be resizing.
    """
    init_containers = object_items(spec.get("initContainers"))
    has_sidecars = any(map(is_sidecar, init_containers))
    holders = [*object_items(spec.get("containers")), *init_containers]
    listed = [member(container, "resources") for container in holders]
    amounts = [member(each, name) for each in listed for name in ("requests", "limits")]
    return AmountReading(
        sums_exactly=any(map(_has_fractions, (*amounts, member(spec, "overhead")))),
        sidecars=has_sidecars,
        assumes_sidecars=has_sidecars,
        resize_status=status is not None,
        pod_resources=bool(spec.get("resources")),
        pod_resize_status=status is not None,
    )


def _has_fractions(amounts: Mapping[str, Any]) -> bool:
    return any((parse_quantity(raw) or 0) % unit_of(name) for name, raw in amounts.items())


def pod_requests(
    spec: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    *,
    status: object = None,
) -> Requests:
    """Return the requests of a pod, in all: see ``PodAmounts``.

    Args:
        spec: The pod's spec.
        path: Where the spec is.
        found: Takes what is no quantity.
        status: The pod's status, of one that runs.
    """
    if not status and (usual := usual_held(spec)) is not None:
        return usual.requests
    return PodAmounts(spec, path, found, status=status).requests()


def usual_held(spec: Mapping[str, Any]) -> HeldAmounts | None:
    """Return the amounts of a pod of the usual form, the same in all releases, none of them 0; else None."""
    amounts = _usual_amounts(spec)
    return None if amounts is None else _usual_held(amounts, len(spec["containers"]))


@lru_cache(CACHED_SHAPES)
def _usual_held(amounts: tuple[tuple[str, str], ...], containers: int) -> HeldAmounts | None:
    """Return the sums, one object for all pods of a shape; None if they are not the same in all releases.

    Nor are they if an amount is not valid, or 0.
    """
    total: dict[str, int] = {}
    asking = dict.fromkeys(ASSUMED, 0)
    for name, text in amounts:
        quantity = parse_quantity(text)
        if quantity is None or quantity <= 0 or quantity % unit_of(name):
            return None
        total[name] = total.get(name, 0) + quantity
        if name in asking:
            asking[name] += 1
    assumed = {
        name: total.get(name, 0) + (containers - asking[name]) * amount for name, amount in ASSUMED.items()
    }
    return HeldAmounts(compared(total), named_assumed(assumed))


def _usual_amounts(spec: Mapping[str, Any]) -> tuple[tuple[str, str], ...] | None:
    """Return names and texts of all that is requested by a pod of the usual form; None for any other pod."""
    containers = spec.get("containers")
    if (
        type(containers) is not list
        or spec.get("initContainers")
        or "resources" in spec
        or "overhead" in spec
    ):
        return None
    amounts: list[tuple[str, str]] = []
    for container in containers:
        resources = container.get("resources") if type(container) is dict else False
        if resources is None or resources == {}:
            continue
        if type(resources) is not dict or type(requests := resources.get("requests")) is not dict:
            return None
        if (limits := resources.get("limits")) is not None and not _are_covered(limits, requests):
            return None
        amounts += requests.items()
    for name, text in amounts:
        if type(text) is not str or len(text) > CACHED_LENGTH or len(name) > CACHED_LENGTH:
            return None
    return tuple(amounts) if len(amounts) <= CACHED_AMOUNTS else None


def _are_covered(limits: object, requests: Mapping[str, object]) -> bool:
    """Return whether limits are what they should be and no default of a request."""
    if type(limits) is not dict or not limits.keys() <= requests.keys():
        return False
    for text in limits.values():
        quantity = parse_quantity(text)
        if quantity is None or quantity < 0:
            return False
    return True


def _may_be_resizing(spec: Mapping[str, Any], status: object) -> bool:
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
        wanted = (asked.get(name) if type(name) is str else None) or {}
        used, allocated = resources.get("requests"), entry.get("allocatedResources")
        if used is None and allocated is None:
            # A resize that cannot come true leaves the container with nothing.
            used = {}
        if (used is not None and used != wanted) or (allocated is not None and allocated != wanted):
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
