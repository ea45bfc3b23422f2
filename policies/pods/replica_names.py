"""The names of the pods that a workload's controller would make: no pod of the cluster has one of them."""

from __future__ import annotations

from collections.abc import Iterator

from policies.scheduler.index import ClusterIndex


def free_names(name: str, cluster: ClusterIndex, namespace: str) -> Iterator[str]:
    """Yield the names that follow one and are free, that one first.

    The pods of a StatefulSet have the first ordinals that are free; those of other kinds end in a number,
    where the controller would write a random suffix.
    """
    taken = cluster.pod_names(namespace)
    base, _, last = name.rpartition("-")
    number, base = (int(last), base) if last.isdecimal() and base else (1, name)
    while True:
        if (made := f"{base}-{number}") not in taken:
            yield made
        number += 1


def next_ordinal(name: str, replicas: int | None, cluster: ClusterIndex, namespace: str) -> str:
    """Return the pod that a StatefulSet's controller makes next: the first missing one, else the last anew.

    Args:
        name: The first pod.
        replicas: How many the StatefulSet has; None if that is not known.
        cluster: The cluster.
        namespace: The namespace of the pods.
    """
    base, _, first = name.rpartition("-")
    free = next(free_names(name, cluster, namespace))
    if replicas is None or not first.isdecimal():
        return free
    last = int(first) + max(replicas, 1) - 1
    return free if int(free.rpartition("-")[2]) <= last else f"{base}-{last}"
