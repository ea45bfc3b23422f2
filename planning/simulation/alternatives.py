"""Outcomes if something were otherwise where an autoscaler adds nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.balancing import similar
from planning.autoscaler.sources import NodeAutoscaler
from planning.simulation.autoscaling import Alternative, AlternativeKind, Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from policies.model.labels import LabelSelector
from policies.model.pod import Pod
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin, SchedulingRequest
from policies.scheduler.skew import skew_of
from policies.scheduler.workload_topology import REVISION_LABELS

#: Pods times nodes up to which it is simulated what would be if something were otherwise: a second or two.
MOST_COMPARED: Final = 100_000


def alternatives(
    queue: Sequence[QueuedPod], start: Callable[[], ClusterSimulation], autoscaler: NodeAutoscaler
) -> tuple[Alternative, ...]:
    """Return the outcomes with minDomains, with selectors of the pods, and with node groups in all zones.

    What was not played to the end, since the simulation was to stop, is left out.

    Args:
        queue: The pods.
        start: Returns the cluster before any of them was scheduled.
        autoscaler: What adds the nodes.
    """
    found = list[Alternative | None]()
    required = with_min_domains(queue, start(), autoscaler)
    if required is not None:
        found.append(_alternative(AlternativeKind.MIN_DOMAINS, required, start(), autoscaler))
    selecting = with_own_selector(queue)
    if selecting is not None:
        found.append(_alternative(AlternativeKind.OWN_SELECTOR, selecting, start(), autoscaler))
    everywhere: NodeAutoscaler | None
    if isinstance(autoscaler, ClusterAutoscaler):
        everywhere = in_all_zones(autoscaler, start())
    else:
        everywhere = autoscaler.in_all_zones()
    if everywhere is not None:
        found.append(_alternative(AlternativeKind.ALL_ZONES, queue, start(), everywhere))
    return tuple(each for each in found if each is not None)


def _alternative(
    what: AlternativeKind,
    queue: Sequence[QueuedPod],
    simulation: ClusterSimulation,
    autoscaler: NodeAutoscaler,
) -> Alternative | None:
    """Return the end; None where the simulation was to stop before."""
    scaling = Autoscaling(simulation, autoscaler)
    steps, scaled = scaling.schedule_all(queue), scaling.scaled
    if scaled is None or scaled.stopped:
        return None
    request = queue[0].request
    counts = simulation.count(request)
    return Alternative(
        what=what,
        nodes={group.name: group.added for group in scaled.groups if group.added},
        pending=len(steps) - count_bound(steps),
        skews=tuple(
            skew_of(applied, each) for applied, each in zip(request.constraints, counts, strict=True)
        ),
    )


def with_min_domains(
    queue: Sequence[QueuedPod], simulation: ClusterSimulation, autoscaler: NodeAutoscaler
) -> list[QueuedPod] | None:
    """Return pods whose constraints require as many domains as there may be; None if they do so already."""
    labels = [node.labels for node in simulation.cluster.nodes.listed()]

    def required(pod: Pod, applied: AppliedConstraint) -> AppliedConstraint:
        constraint, of_pod = (
            applied.constraint,
            applied.origin in (ConstraintOrigin.POD, ConstraintOrigin.POLICY),
        )
        key = constraint.topology_key
        domains = len(autoscaler.domains(key, pod).union(each[key] for each in labels if key in each))
        if not (applied.is_hard and of_pod and domains > constraint.min_domains):
            return applied
        if constraint.topology_key == HOSTNAME:
            return applied
        return applied._replace(constraint=replace(constraint, min_domains=domains))

    return _with_constraints(
        queue, lambda request: (required(request.pod, applied) for applied in request.constraints)
    )


def with_own_selector(queue: Sequence[QueuedPod]) -> list[QueuedPod] | None:
    """Return pods whose own constraints all select them, by their labels; None if they do so already."""

    def selecting(request: SchedulingRequest) -> Iterator[AppliedConstraint]:
        labels = {key: value for key, value in request.pod.labels.items() if key not in REVISION_LABELS}
        own = LabelSelector(match_labels=tuple(labels.items()))
        for applied in request.constraints:
            by_default = applied.origin not in (ConstraintOrigin.POD, ConstraintOrigin.POLICY)
            if applied.self_match or by_default or not labels:
                yield applied
            else:
                constraint = replace(applied.constraint, selector=own)
                yield applied._replace(constraint=constraint, selector=own, self_match=1)

    return _with_constraints(queue, selecting)


def _with_constraints(
    queue: Sequence[QueuedPod], change: Callable[[SchedulingRequest], Iterable[AppliedConstraint]]
) -> list[QueuedPod] | None:
    """Return pods with other constraints; None if these are the same."""
    made: dict[int, SchedulingRequest] = {}
    changed = False
    for entry in queue:
        request = entry.request
        if id(request) not in made:
            constraints = tuple(change(request))
            changed = changed or constraints != request.constraints
            made[id(request)] = replace(request, constraints=constraints)
    return [replace(entry, request=made[id(entry.request)]) for entry in queue] if changed else None


def in_all_zones(autoscaler: ClusterAutoscaler, simulation: ClusterSimulation) -> ClusterAutoscaler | None:
    """Return Cluster Autoscaler with twins of its groups in zones that lack them; None if none does."""
    nodes = simulation.cluster.nodes.listed()
    zones = {node.labels[ZONE] for node in nodes if ZONE in node.labels}
    zones |= {group.template.labels[ZONE] for group in autoscaler.groups if ZONE in group.template.labels}
    groups = list(autoscaler.groups)
    for group in autoscaler.groups:
        if ZONE not in group.template.labels:
            continue
        alike = [each for each in groups if similar(group, each, autoscaler.settings.cloud_provider)]
        for zone in sorted(zones - {each.template.labels.get(ZONE, "") for each in alike}):
            template = group.template._replace(labels={**group.template.labels, ZONE: zone})
            name = f"{group.name}-in-{zone}"
            groups.append(replace(group, name=name, template=template, size=0))
    return replace(autoscaler, groups=tuple(groups)) if len(groups) > len(autoscaler.groups) else None
