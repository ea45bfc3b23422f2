"""The total requests of a pod, as the scheduler counts them.

Source: ``PodRequests`` of ``component-helpers/resource/helpers.go``, for the defaults of absent requests
``pkg/apis/core/v1/defaults.go``, for what is compared ``pkg/scheduler/framework/types.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, member, object_items
from policies.model.labels import label_key_problems
from policies.model.pod_reading import EVERY_AMOUNT, OLDER_AMOUNTS, AmountReading, in_older_release
from policies.model.pod_resizing import Resizing, may_be_resizing, raise_to
from policies.model.quantity import (
    CACHED_LENGTH,
    parse_quantity,
    read_quantities,
    rounded,
    unit_of,
)

#: A pod's requests, sorted by name and without zeros: cpu in thousandths, everything else in units.
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
#: What the names of huge pages start with: besides cpu and memory all that a pod as a whole can request.
HUGE_PAGES = "hugepages-"
#: What the other names without a domain start with that it compares.
SCALAR_PREFIXES = (HUGE_PAGES, "attachable-volumes-")


def is_compared(name: str) -> bool:
    """Return whether the scheduler compares a requested resource with what nodes have.

    >>> is_compared("example.com/gpu"), is_compared("pods")
    (True, False)
    """
    if name in PLAIN_RESOURCES or name.startswith(SCALAR_PREFIXES) or "kubernetes.io/" in name:
        return True
    # An extended resource; the name of its quota must be valid too.
    return "/" in name and not name.startswith("requests.") and not label_key_problems(f"requests.{name}")


class HeldAmounts(NamedTuple):
    """The amounts that a running pod takes of its node.

    Attributes:
        requests: What it requests.
        assumed: What nodes are compared by: see ``assumed_requests``.
        older: How much more of each of them an older release counts, where it does: see ``in_older_release``.
    """

    requests: Requests
    assumed: Requests
    older: Requests = ()


def held_amounts(spec: Mapping[str, Any], path: FieldPath, found: ErrorList, status: object) -> HeldAmounts:
    """Return the amounts that a running pod takes of its node.

    Args:
        spec: The pod's spec.
        path: Where the spec is.
        found: Takes what is no quantity.
        status: The pod's status: while it is resized, containers may hold more than the spec requests.
    """
    amounts, resizing = _usual_amounts(spec), bool(status) and may_be_resizing(spec, status)
    if amounts is not None and not resizing:
        usual = _usual_held(amounts, len(spec["containers"]))
        if usual is not None:
            return usual
    told = status if resizing else None
    requests = _compared(_sum(spec, path, found, told))
    assumed = _named_assumed(_sum(spec, path, ErrorList(), told, assumed=ASSUMED))
    return HeldAmounts(requests, assumed, tuple(_older(spec, path, told, dict(requests + assumed))))


def _older(
    spec: Mapping[str, Any], path: FieldPath, status: object, newest: dict[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield how much more older releases count of what a pod takes."""
    has, then = _release_differences(spec, status), newest
    for reading in reversed(OLDER_AMOUNTS):
        # What it lacks and the release after it has.
        if has[sum(reading)]:
            found = ErrorList()
            requests = _compared(_sum(spec, path, found, status, reading=reading))
            assumed = assumed_requests(spec, path, found, status=status, reading=reading, running=True)
            then = dict(requests + assumed)
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
    reading: AmountReading = EVERY_AMOUNT,
) -> Requests:
    """Return the requests of a pod, in all.

    Containers are summed; an init container needs its own share and that of the sidecars before it; the
    larger counts. Absent requests default to limits, ``spec.resources`` goes before the sum of the
    containers, and the overhead comes on top.

    Args:
        spec: The pod's spec.
        path: Where the spec is.
        found: Takes what is no quantity.
        status: The pod's status, of one that runs.
        reading: What its release counts.
    """
    amounts = _usual_amounts(spec) if not status and reading.sums_exactly else None
    if amounts is not None:
        usual = _usual_held(amounts, len(spec["containers"]))
        if usual is not None:
            return usual.requests
    return _compared(_sum(spec, path, found, status, reading=reading))


def zero_requests(spec: Mapping[str, Any], path: FieldPath, reading: AmountReading) -> tuple[str, ...]:
    """Return the resources besides cpu, memory and ephemeral-storage of which a pod requests 0."""
    total = _sum(spec, path, ErrorList(), None, reading=reading)
    return tuple(
        name
        for name, quantity in sorted(total.items())
        if not quantity and name not in PLAIN_RESOURCES and is_compared(name)
    )


def cpu_overhead(spec: Mapping[str, Any], path: FieldPath) -> int:
    """Return how many thousandths of cpu a pod's overhead is more than its cores, rounded up.

    What older releases leave out where they take cores for thousandths.
    """
    quantity = read_quantities(spec.get("overhead"), path.child("overhead"), ErrorList()).get("cpu", 0)
    return rounded("cpu", quantity) - rounded("", quantity)


def assumed_requests(
    spec: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    *,
    status: object = None,
    reading: AmountReading = EVERY_AMOUNT,
    running: bool = False,
) -> Requests:
    """Return the CPU and memory that a pod requests, with an assumed amount where a container requests none.

    The scheduler compares nodes by it (``NonZeroRequested``); the names are those of ``ASSUMED_NAMES``. Of a
    running pod older releases count otherwise.
    """
    if running and reading.sidecars and not reading.assumes_sidecars:
        return _named_assumed(_assumed_of_running(spec, path, reading))
    return _named_assumed(_sum(spec, path, found, status, assumed=ASSUMED, reading=reading))


def _assumed_of_running(spec: Mapping[str, Any], path: FieldPath, reading: AmountReading) -> dict[str, int]:
    """Return the amounts that ``calculateResource`` of Kubernetes 1.29 to 1.31 assumes of a pod.

    Sidecars count at the start of the pod alone, and an amount is assumed where neither an init container nor
    the sidecars before it request any. Source: ``pkg/scheduler/framework/types.go``, Kubernetes 1.30.
    """
    found = ErrorList()
    total: dict[str, int] = {}
    for where, container in found.objects(spec.get("containers"), path.child("containers")):
        _add(total, {**ASSUMED, **_container_requests(container, where, found, reading)})
    sidecars: dict[str, int] = {}
    for where, container in found.objects(spec.get("initContainers"), path.child("initContainers")):
        together = dict(sidecars)
        _add(together, _container_requests(container, where, found, reading))
        raise_to(total, {**ASSUMED, **together})
        if is_sidecar(container):
            sidecars = together
    _add(total, read_quantities(spec.get("overhead"), path.child("overhead"), found))
    return total


def is_sidecar(container: Mapping[str, Any]) -> bool:
    """Return whether an init container runs beside the containers."""
    return container.get("restartPolicy") == "Always"


@lru_cache(CACHED_SHAPES)
def _usual_held(amounts: tuple[tuple[str, str], ...], containers: int) -> HeldAmounts | None:
    """Return the sums, one object for all pods of a shape; None if they are not the same in all releases.

    Nor are they if an amount is not valid.
    """
    total: dict[str, int] = {}
    asking = dict.fromkeys(ASSUMED, 0)
    for name, text in amounts:
        quantity = parse_quantity(text)
        if quantity is None or quantity < 0 or quantity % unit_of(name):
            return None
        total[name] = total.get(name, 0) + quantity
        if name in asking:
            asking[name] += 1
    assumed = {
        name: total.get(name, 0) + (containers - asking[name]) * amount for name, amount in ASSUMED.items()
    }
    return HeldAmounts(_compared(total), _named_assumed(assumed))


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
    """Return whether limits are what they should be and no default of a request."""
    if type(limits) is not dict or not limits.keys() <= requests.keys():
        return False
    for text in limits.values():
        quantity = parse_quantity(text)
        if quantity is None or quantity < 0:
            return False
    return True


def _sum(
    spec: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    status: object,
    *,
    assumed: Mapping[str, int] = MappingProxyType({}),
    reading: AmountReading = EVERY_AMOUNT,
) -> dict[str, int]:
    """Return the requests of any pod, in billionths; ``assumed`` where a container requests none."""
    resizing = Resizing(status if reading.resize_status else None, found, of_pod=reading.pod_resize_status)
    total = _of_containers(spec, path, found, resizing, assumed=assumed, reading=reading)
    if reading.pod_resources:
        total |= resizing.of_pod(_pod_level(spec, path, found))
    _add(total, _in_whole(read_quantities(spec.get("overhead"), path.child("overhead"), found), reading))
    return total


def _of_containers(
    spec: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    resizing: Resizing,
    *,
    assumed: Mapping[str, int] = MappingProxyType({}),
    reading: AmountReading = EVERY_AMOUNT,
) -> dict[str, int]:
    total: dict[str, int] = {}
    for where, container in found.objects(spec.get("containers"), path.child("containers")):
        held = resizing.of_container(container, _container_requests(container, where, found, reading))
        _add(total, {**assumed, **held})
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for where, container in found.objects(spec.get("initContainers"), path.child("initContainers")):
        needed = _container_requests(container, where, found, reading)
        runs_on = reading.sidecars and is_sidecar(container)
        if runs_on:
            needed = {**assumed, **resizing.of_container(container, needed)}
            _add(total, needed)
        else:
            needed = {**assumed, **needed}
        # Of what it does not request itself, the peak has what the sidecars before it request.
        together = {name: quantity + sidecars.get(name, 0) for name, quantity in needed.items()}
        raise_to(peak, together)
        if runs_on:
            sidecars |= together
    raise_to(total, peak)
    return total


def _container_requests(
    container: Mapping[str, Any], path: FieldPath, found: ErrorList, reading: AmountReading
) -> dict[str, int]:
    where = path.child("resources")
    resources = found.mapping(container.get("resources"), where)
    limits = read_quantities(resources.get("limits"), where.child("limits"), found)
    asked = limits | read_quantities(resources.get("requests"), where.child("requests"), found)
    return _in_whole(asked, reading)


def _in_whole(amounts: dict[str, int], reading: AmountReading) -> dict[str, int]:
    """Return amounts as a release sums them up, in billionths."""
    if reading.sums_exactly:
        return amounts
    return {name: rounded(name, quantity) * unit_of(name) for name, quantity in amounts.items()}


def _pod_level(spec: Mapping[str, Any], path: FieldPath, found: ErrorList) -> dict[str, int]:
    """Return the requests of the pod as a whole, which replace those of its containers.

    On by default from 1.34 (KEP-2837). Where the pod has limits, what its containers request is used for a
    request, or else the limit: ``defaultPodRequests``. Of huge pages it is always the limit.
    """
    where = path.child("resources")
    resources = found.mapping(spec.get("resources"), where)
    requests = read_quantities(resources.get("requests"), where.child("requests"), found)
    limits = read_quantities(resources.get("limits"), where.child("limits"), found)
    if limits:
        # As the API server sees it before the pod runs: whatever a status has later.
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
