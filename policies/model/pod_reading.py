"""Which fields of a pod a release of Kubernetes knows, and what it counts of them.

The API server drops a field whose feature gate is off, so that its scheduler never sees it; a field that was
brought later may also be counted later.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class AmountReading(NamedTuple):
    """The parts of a pod that a release counts as taken of its node; the newest counts all.

    In the order in which releases brought it: each includes those before it.
    """

    #: Amounts are rounded once they are summed; otherwise those of each container are.
    sums_exactly: bool = True
    #: An init container with ``restartPolicy: Always`` runs beside the containers; otherwise the policy is
    #: dropped, and it is one like the others.
    sidecars: bool = True
    assumes_sidecars: bool = True  #: A sidecar of a running pod adds to what nodes are compared by.
    #: The status of containers has the amounts that they hold while they are resized.
    resize_status: bool = True
    pod_resources: bool = True  #: ``spec.resources`` goes before the sum of the containers.
    pod_resize_status: bool = True  #: The status of a pod has the amounts that it holds as a whole.


#: What the newest release counts.
EVERY_AMOUNT: Final = AmountReading()
#: What older releases count, the oldest first.
OLDER_AMOUNTS: Final = tuple(
    AmountReading(*(position < count for position in range(len(EVERY_AMOUNT))))
    for count in range(len(EVERY_AMOUNT))
)


class PodReading(NamedTuple):
    """How a release reads a pod."""

    amounts: AmountReading = EVERY_AMOUNT  #: What it counts as taken of a node.
    #: ``matchLabelKeys`` and ``mismatchLabelKeys`` of pod affinity are known.
    affinity_label_keys: bool = True
    sidecar_ports: bool = True  #: The host ports of sidecars are taken.


#: How the newest release reads a pod.
EVERY_FIELD_OF_PODS: Final = PodReading()


def in_older_release(resource: str, reading: AmountReading) -> str:
    """Return the name under which is summed up how much more of a resource an older release counts.

    No resource is called so.

    >>> in_older_release("cpu", OLDER_AMOUNTS[0])
    'cpu (reading 0)'
    """
    return f"{resource} (reading {sum(reading)})"
