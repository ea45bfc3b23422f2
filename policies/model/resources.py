"""What a pod asks for in all, as the scheduler counts it.

Source: ``PodRequests`` of ``component-helpers/resource/helpers.go``, for what stands in for absent requests
``pkg/apis/core/v1/defaults.go``, for what is compared ``pkg/scheduler/framework/types.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.labels import label_key_problems
from policies.model.pod_resizing import Resizing, may_be_resizing, raise_to
from policies.model.quantity import CACHED_LENGTH, parse_quantity, read_quantities, rounded

#: What a pod asks for, sorted by name and without zeros: cpu in thousandths, everything else in units.
Requests = tuple[tuple[str, int], ...]

#: What a container without a request counts as where nodes are compared by what is free, in billionths:
#: ``DefaultMilliCPURequest`` and ``DefaultMemoryRequest``, ``pkg/scheduler/util/pod_resources.go``.
ASSUMED: Final = {"cpu": 100 * 10**6, "memory": 200 * 2**20 * 10**9}
#: The names under which what is so taken is summed up, as no resource is called.
ASSUMED_NAMES: Final = {"cpu": "cpu (assumed)", "memory": "memory (assumed)"}

#: How many shapes of pods are kept. A cluster has a few hundred.
CACHED_SHAPES = 4096
#: Most amounts of a pod whose shape is kept. Usual pods have two to eight.
CACHED_AMOUNTS = 16
#: The names without a domain that the scheduler compares, apart from those of ``SCALAR_PREFIXES``.
PLAIN_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
#: What the names of huge pages start with: besides cpu and memory all that a pod as a whole can ask for.
HUGE_PAGES = "hugepages-"
#: What the other names without a domain start with that it compares.
SCALAR_PREFIXES = (HUGE_PAGES, "attachable-volumes-")


def is_compared(name: str) -> bool:
    """Tell whether the scheduler compares a requested resource with what nodes have.

    >>> is_compared("example.com/gpu"), is_compared("pods")
    (True, False)
    """
    if name in PLAIN_RESOURCES or name.startswith(SCALAR_PREFIXES) or "kubernetes.io/" in name:
        return True
    # An extended resource; the name of its quota must be valid too.
    return "/" in name and not name.startswith("requests.") and not label_key_problems(f"requests.{name}")


def pod_requests(
    spec: Mapping[str, Any], path: FieldPath, found: ErrorList, *, status: object = None
) -> Requests:
    """Return what a pod asks for.

    Containers are summed; an init container needs its own share and that of the sidecars before it; the
    larger counts. Absent requests default to limits, ``spec.resources`` goes before the sum of the
    containers, and the overhead comes on top.

    Args:
        spec: The pod's spec.
        path: Where the spec stands.
        found: Takes what is no quantity.
        status: The pod's status, for a bound pod: while it is resized, containers may hold more than the spec
            says.
    """
    amounts = _usual_amounts(spec)
    if amounts is not None and not (status and may_be_resizing(spec, status)):
        requests = _usual_requests(amounts)
        if requests is not None:
            return requests
    return _compared(_sum(spec, path, found, status))


def assumed_requests(
    spec: Mapping[str, Any], path: FieldPath, found: ErrorList, *, status: object = None
) -> Requests:
    """Return the CPU and memory that a pod requests, with an assumed amount where a container requests none.

    The scheduler compares nodes by it (``NonZeroRequested``); the names are those of ``ASSUMED_NAMES``.
    """
    amounts = _usual_amounts(spec)
    if amounts is not None and not (status and may_be_resizing(spec, status)):
        assumed = _usual_assumed(amounts, len(spec["containers"]))
        if assumed is not None:
            return assumed
    return _named_assumed(_sum(spec, path, found, status, assumed=ASSUMED))


@lru_cache(CACHED_SHAPES)
def _usual_assumed(amounts: tuple[tuple[str, str], ...], containers: int) -> Requests | None:
    """Return the sum, one object for all pods of a shape; None if an amount is not valid."""
    total = dict.fromkeys(ASSUMED, 0)
    asking = dict.fromkeys(ASSUMED, 0)
    for name, text in amounts:
        if name in ASSUMED:
            quantity = parse_quantity(text)
            if quantity is None or quantity < 0:
                return None
            total[name] += quantity
            asking[name] += 1
    return _named_assumed(
        {name: total[name] + (containers - asking[name]) * amount for name, amount in ASSUMED.items()}
    )


def _named_assumed(total: Mapping[str, int]) -> Requests:
    return tuple((text, rounded(name, total.get(name, 0))) for name, text in ASSUMED_NAMES.items())


def _compared(total: dict[str, int]) -> Requests:
    sizes = ((name, rounded(name, total[name])) for name in sorted(total) if is_compared(name))
    return tuple((name, size) for name, size in sizes if size)


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
    """Tell whether limits are what they should be and stand in for no request."""
    if type(limits) is not dict or not limits.keys() <= requests.keys():
        return False
    for text in limits.values():
        quantity = parse_quantity(text)
        if quantity is None or quantity < 0:
            return False
    return True


@lru_cache(CACHED_SHAPES)
def _usual_requests(amounts: tuple[tuple[str, str], ...]) -> Requests | None:
    """Return the sum, one object for all pods of a shape; None if an amount is not valid."""
    total: dict[str, int] = {}
    for name, text in amounts:
        quantity = parse_quantity(text)
        if quantity is None or quantity < 0:
            return None
        total[name] = total.get(name, 0) + quantity
    return _compared(total)


def _sum(
    spec: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    status: object,
    *,
    assumed: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int]:
    """Return what a pod of any form requests, in billionths; ``assumed`` where a container requests none."""
    resizing = Resizing(status, found)
    total = _of_containers(spec, path, found, resizing, assumed)
    total |= resizing.of_pod(_pod_level(spec, path, found))
    _add(total, read_quantities(spec.get("overhead"), path.child("overhead"), found))
    return total


def _of_containers(
    spec: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    resizing: Resizing,
    assumed: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int]:
    total: dict[str, int] = {}
    for where, container in found.objects(spec.get("containers"), path.child("containers")):
        held = resizing.of_container(container, _container_requests(container, where, found))
        _add(total, {**assumed, **held})
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for where, container in found.objects(spec.get("initContainers"), path.child("initContainers")):
        needed = _container_requests(container, where, found)
        is_sidecar = container.get("restartPolicy") == "Always"
        if is_sidecar:
            needed = {**assumed, **resizing.of_container(container, needed)}
            _add(total, needed)
        else:
            needed = {**assumed, **needed}
        # Of what it does not ask for itself, the peak has what the sidecars before it ask for.
        together = {name: quantity + sidecars.get(name, 0) for name, quantity in needed.items()}
        raise_to(peak, together)
        if is_sidecar:
            sidecars |= together
    raise_to(total, peak)
    return total


def _container_requests(container: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, int]:
    where = path.child("resources")
    resources = found.mapping(container.get("resources"), where)
    limits = read_quantities(resources.get("limits"), where.child("limits"), found)
    return limits | read_quantities(resources.get("requests"), where.child("requests"), found)


def _pod_level(spec: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, int]:
    """Return what the pod asks for as a whole, which takes the place of what its containers do.

    On by default from 1.34 (KEP-2837). Where the pod has limits, what its containers ask for stands in for a
    request, or else the limit: ``defaultPodRequests``. Of huge pages it is always the limit.
    """
    where = path.child("resources")
    resources = found.mapping(spec.get("resources"), where)
    requests = read_quantities(resources.get("requests"), where.child("requests"), found)
    limits = read_quantities(resources.get("limits"), where.child("limits"), found)
    if limits:
        # As the API server sees it before the pod runs: whatever a status says later.
        ignored = ErrorList()
        asked = _of_containers(spec, path, ignored, Resizing(None, ignored))
        requests = limits | {n: size for n, size in asked.items() if not n.startswith(HUGE_PAGES)} | requests
    return {
        name: request
        for name, request in requests.items()
        if name in ("cpu", "memory") or name.startswith(HUGE_PAGES)
    }


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, quantity in amounts.items():
        total[name] = total.get(name, 0) + quantity
