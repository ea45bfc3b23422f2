"""How much of each resource a pod asks for, slowly and exactly; shares no code with ``policies``.

Source: ``PodRequests``, ``staging/src/k8s.io/component-helpers/resource/helpers.go``, and
``resource.Quantity``, Kubernetes 1.36.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any

#: The factor of each suffix of a quantity; an exponent (``e3``, ``E3``) is read separately.
SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024 ** (power + 1)) for power, suffix in enumerate("KMGTPE")},
}
#: The smallest step of a quantity: finer ones are rounded up to it.
NANO = Fraction(1, 10**9)
#: The largest quantity: larger ones are cut down to it.
LARGEST = Fraction(2**63 - 1)

QUANTITY = re.compile(r"\+?(?P<number>\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[+-]?\d+)|(?P<suffix>[a-zA-Z]*))")

Amounts = dict[str, Fraction]

NONE: Mapping[str, Fraction] = MappingProxyType({})
#: The requests of a container without any, where nodes are compared by what is free
#: (``pkg/scheduler/util/pod_resources.go``).
ASSUMED = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024**2)}


@cache
def quantity(text: str) -> Fraction:
    """Read a quantity that is not negative: ``<number><suffix>`` or ``<number>e<exponent>``."""
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a quantity: {text}")
    scale = Fraction(10) ** int(match["exponent"]) if match["exponent"] else SUFFIXES[match["suffix"]]
    value = Fraction(match["number"]) * scale
    return min(math.ceil(value / NANO) * NANO, LARGEST)


def whole(resource: str, amount: Fraction) -> int:
    """Return an amount as the scheduler compares it: CPU in thousandths, all else in units; rounded up."""
    return math.ceil(amount * 1000) if resource == "cpu" else math.ceil(amount)


def requested(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return the amounts that a pod requests, or a bound one takes, of every resource that is counted."""
    status = pod.get("status") if (pod.get("spec") or {}).get("nodeName") else None
    asked = pod_requests(pod.get("spec") or {}, status or {})
    return {name: whole(name, amount) for name, amount in asked.items() if is_counted(name)}


def allocatable(node: Mapping[str, Any]) -> dict[str, int]:
    """Return a node's amount of every resource; of one it does not name, nothing."""
    offered = _amounts((node.get("status") or {}).get("allocatable"))
    return {name: whole(name, amount) for name, amount in offered.items()}


def is_counted(resource: str) -> bool:
    """Tell whether a resource is one the scheduler counts.

    The three native ones, huge pages, attachable volumes, whatever is under ``kubernetes.io/``, and extended
    resources, which have a domain and do not begin with ``requests.``; other names are passed over.
    """
    return (
        resource in ("cpu", "memory", "ephemeral-storage")
        or resource.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in resource
        or ("/" in resource and not resource.startswith("requests."))
    )


def assumed_requests(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return CPU and memory that a pod asks for, with an assumed amount where a container asks for none."""
    status = pod.get("status") if (pod.get("spec") or {}).get("nodeName") else None
    asked = pod_requests(pod.get("spec") or {}, status or {}, ASSUMED)
    return {name: whole(name, asked[name]) for name in ASSUMED}


def pod_requests(
    spec: Mapping[str, Any], status: Mapping[str, Any], assumed: Mapping[str, Fraction] = NONE
) -> Amounts:
    """Return all that a pod asks for: its containers' or the pod's own requests, and overhead."""
    total = container_requests(spec, status, assumed)
    own = pod_level_requests(spec)
    total.update({name: effective(own, status, status).get(name, Fraction(0)) for name in own})
    add(total, _amounts(spec.get("overhead")))
    return total


def container_requests(
    spec: Mapping[str, Any], status: Mapping[str, Any], assumed: Mapping[str, Fraction] = NONE
) -> Amounts:
    """Return the most that the containers ask for at once (KEP-753).

    The containers run together with all restartable init containers. "InitContainerUse(i) = sum(resources of
    restartable init containers with index < i) + resources of the i-th init container"; each of these is a
    floor.
    """
    told = {}
    for member in ("containerStatuses", "initContainerStatuses"):
        told.update({entry["name"]: entry for entry in status.get(member) or ()})

    def own(container: Mapping[str, Any]) -> Amounts:
        return defaulted_requests(container.get("resources") or {})

    def resized(container: Mapping[str, Any]) -> Amounts:
        return {**assumed, **effective(own(container), told.get(container.get("name"), {}), status)}

    running: Amounts = {}
    for container in spec.get("containers") or ():
        add(running, resized(container))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            add(running, resized(container))
            add(sidecars, resized(container))
            raise_to(starting, sidecars)
        else:
            needed = {**assumed, **own(container)}
            add(needed, sidecars)
            raise_to(starting, needed)
    raise_to(running, starting)
    return running


def effective(asked: Amounts, told: Mapping[str, Any], status: Mapping[str, Any]) -> Amounts:
    """Return the requests that count during a resize in place: the largest of desired, actual and allocated.

    "spec" is left out once the kubelet has said that the resize can never be done (``Infeasible``), and
    nothing is looked at where the status has no ``resources`` (``determineEffectiveRequests``).
    """
    if told.get("resources") is None:
        return dict(asked)
    pending = [entry for entry in status.get("conditions") or () if entry["type"] == "PodResizePending"]
    most = {} if pending and pending[0].get("reason") == "Infeasible" else dict(asked)
    raise_to(most, _amounts(told["resources"].get("requests")))
    raise_to(most, _amounts(told.get("allocatedResources")))
    return most


def pod_level_requests(spec: Mapping[str, Any]) -> Amounts:
    """Return the requests of ``spec.resources`` for the pod as a whole, after the API server's defaulting.

    Only CPU, memory and huge pages can be given so. Where limits are set, a request left out is what the
    containers ask for, unless huge pages, or else the limit (``defaultPodRequests``,
    ``pkg/apis/core/v1/defaults.go``).
    """
    resources = spec.get("resources") or {}
    asked, limits = _amounts(resources.get("requests")), _amounts(resources.get("limits"))
    if limits:
        of_containers = container_requests(spec, {})
        pages = [name for name in of_containers if name.startswith("hugepages-")]
        asked = limits | {n: of_containers[n] for n in of_containers if n not in pages} | asked
    return {
        name: amount
        for name, amount in asked.items()
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def defaulted_requests(resources: Mapping[str, Any]) -> Amounts:
    """Return a container's requests; the API server makes a limit the request where none is given."""
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def add(total: Amounts, more: Amounts) -> None:
    """Add amounts to a total."""
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def raise_to(total: Amounts, floor: Amounts) -> None:
    """Raise every amount of a total that is below the floor."""
    for name, amount in floor.items():
        total[name] = max(total.get(name, Fraction(0)), amount)


def _amounts(raw: Mapping[str, Any] | None) -> Amounts:
    return {name: quantity(str(value)) for name, value in (raw or {}).items()}
