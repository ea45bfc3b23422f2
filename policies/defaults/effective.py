"""Which pods a default constraint counts: the selector that kube-scheduler deduces for a pod.

Source: ``DefaultSelector``, ``pkg/scheduler/framework/plugins/helper/spread.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.model.labels import LabelSelector, Operator, Requirement
from policies.model.pod import Owner
from policies.model.snapshot import Snapshot


def deduce_selector(
    snapshot: Snapshot, namespace: str, labels: Mapping[str, str], owner: Owner | None
) -> LabelSelector | None:
    """Return the selector of a pod's default constraints, or None when nothing can be deduced.

    The selectors of all services that match the pod are merged with that of its ReplicationController,
    ReplicaSet or StatefulSet, if the cluster has it. With an empty result the pod gets no defaults.
    """
    match_labels: dict[str, str] = {}
    for selector in snapshot.service_selectors(namespace, labels):
        match_labels |= selector
    expressions: tuple[Requirement, ...] = ()
    controller = None if owner is None else snapshot.controller(owner, namespace)
    if owner and controller and controller.selector:
        for key, value in controller.selector.match_labels:
            if owner.kind == "ReplicationController":
                match_labels[key] = value  # Merged as a map, where the last one wins.
            elif match_labels.setdefault(key, value) != value:
                # An owner that does not select its own pod: the scheduler asks for both values, so do we.
                expressions += (Requirement(key, Operator.IN, (value,)),)
        expressions += controller.selector.match_expressions
    deduced = LabelSelector(tuple(sorted(match_labels.items())), expressions)
    return None if deduced.empty else deduced
