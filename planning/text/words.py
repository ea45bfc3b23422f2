"""The words that reports on placements share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.replicas import Replicas
from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import Rollout
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, more, plural
from policies.model.constraint import NodeInclusionPolicy
from policies.model.pod_volumes import LostVolume
from policies.model.replica_number import ReplicaOrigin
from policies.model.topology_keys import domain_word
from policies.model.workload import Workload
from policies.pods.placement import Placement, PreparedPod
from policies.scheduler.releases import unknown_release
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin

#: The placeholder for the name of an object that has none.
NO_NAME: Final = "(no name)"

_ORIGINS: Final = {
    ConstraintOrigin.POD: "the pod's own",
    ConstraintOrigin.POLICY: "injected by a policy",
    ConstraintOrigin.SCHEDULER_LIST: "the scheduler's defaultConstraints",
    ConstraintOrigin.SCHEDULER_SYSTEM: "kube-scheduler's built-in defaults",
}


def domain_name(value: str) -> str:
    """Return the name of a domain: the value of its label, which may be empty."""
    return one_line(value) or "(empty)"


def unmodeled_note(names: Iterable[str]) -> str:
    """Return the fields of a pod that kube-scheduler reads and a simulation does not."""
    return f"Not modeled, although kube-scheduler checks it: {', '.join(map(one_line, names))}."


def search_ended(tried: str) -> Text:
    """Return that there may be more suggestions than were found."""
    return Text(f"There may be more: the search ended after {tried}.")


def headline(placement: Placement) -> Text:
    """Return whose pod fits how many nodes."""
    return fits_text(placement, workload_title(placement))


def fits_text(placement: Placement, whose: str) -> Text:
    """Return how many nodes a pod fits, after its name or that of its workload."""
    result = placement.result
    count, size = result.feasible_count, len(result.names)
    verb = "fits" if placement.running is None else "would run on"
    number = f"{at_most(placement)}{count:,}" if count else "none"
    fits = f"{verb} {number} of {plural(size, 'node')}"
    text = Text.assemble(whose, " ", (fits, "bold green" if count else "bold red"))
    text.append(f" (Kubernetes {placement.version})")
    return text.append(revision_note(placement))


def revision_note(prepared: PreparedPod) -> str:
    """Return the note on a pod of a new revision; empty for any other."""
    is_new = prepared.revision is not None and prepared.revision.is_new
    return ", scheduled as a new revision" if is_new else ""


def endings(rollout: Rollout) -> str:
    """Return how a rollout or a scale ends in its likely course, and how otherwise in the worst one."""
    likely, worst = rollout.courses.likely.outcome, rollout.outcome
    text, courses = ending(rollout, likely), rollout.courses
    if courses.count == 1 and not courses.exact:
        return f"{text}, unless Kubernetes chooses otherwise among equals"
    return text if worst is likely else f"{text}, but can end otherwise: {ending(rollout, worst)}"


def ending(rollout: Rollout, outcome: RolloutEnd) -> str:
    """Return how a course of a rollout or a scale ends."""
    match outcome:
        case RolloutEnd.COMPLETE:
            return "every replica has a node" if rollout.scaled else "the rollout completes"
        case RolloutEnd.WAITS_FOR_DELETION:
            kept = rollout.courses.likely.old
            stay = "stays" if kept == 1 else "stay"
            return f"{plural(kept, 'pod')} of the old revision {stay} until deleted (OnDelete)"
        case RolloutEnd.PENDING:
            return "some pods stay pending"
        case RolloutEnd.DEADLOCK:
            return "the rollout deadlocks"


def workload_title(prepared: PreparedPod) -> str:
    """Return the kind, namespace and name of an object."""
    workload = prepared.workload
    name = workload.metadata.get("name") or workload.metadata.get("generateName") or NO_NAME
    return f"{workload.kind.name} {one_line(workload.namespace)}/{one_line(str(name))}"


def at_most(placement: Placement) -> str:
    """Return the prefix of numbers while something that could reject more nodes is not modeled."""
    return "at most " if placement.result.request.is_upper_bound else ""


def replica_origin_text(workload: Workload) -> Iterator[Text]:
    """Yield the source of the number of replicas, where it is not the manifest; a guess is yellow."""
    number = workload.replica_number
    if number is None or number.origin is ReplicaOrigin.MANIFEST:
        return
    start, count, source = (
        "The manifest states no number of replicas: ",
        f"{number.replicas:,}",
        number.source,
    )
    match number.origin:
        case ReplicaOrigin.CLUSTER:
            has = f"as {one_line(source)} in the cluster says" if source else "as many as run in the cluster"
            yield Text(f"{start}{count}, {has}.")
        case ReplicaOrigin.AUTOSCALER:
            yield Text(f"{start}{count}, the least that {one_line(source)} allows, since none runs.")
        case ReplicaOrigin.DEFAULT:
            why = "since none runs and no autoscaler of it is known"
            yield Text(f"{start}{count} is assumed, {why}.", "yellow")


def replicas_text(placement: Placement, replicas: Replicas | None) -> Iterator[Text]:
    """Yield how many of the workload's pods have a node or would get one; nothing for a single pod."""
    if placement.running is not None:
        yield Text(
            f"{plural(placement.running, 'node')} run{'s' if placement.running == 1 else ''}"
            " one of its pods now."
        )
    if replicas is not None:
        yield from replica_origin_text(placement.workload)
    if replicas is None or replicas.wanted < 2:
        return
    wanted, placed = f"{replicas.wanted:,}", f"{replicas.placed:,}"
    if replicas.placed >= replicas.wanted:
        yield Text(f"All {wanted} replicas have a node; this is about one more.")
        return
    more = replicas.fitting - replicas.placed
    is_new = placement.revision is not None and placement.revision.is_new
    revision = " of this revision" if is_new or placement.workload.kind.revision_label else ""
    so_far = "" if replicas.complete else f" (only {replicas.fitting - replicas.placed:,} were tried)"
    text = f"{at_most(placement)}{replicas.fitting:,} of {wanted} replicas fit"
    yield Text(
        f"{text[0].upper()}{text[1:]}: {placed}{revision} have a node, {more:,} more would get one{so_far}."
    )


def unread_text(why: Mapping[str, str]) -> Iterator[str]:
    """Yield why lists of a cluster that matter could not be read, as a sentence; nothing if there is none."""
    if why:
        named = ", ".join(f"{name} ({reason})" for name, reason in why.items())
        yield f"Could not be read: {one_line(named)}."


#: What becomes of evicted pods that get no node again, in words.
_NO_NODE: Final = {
    PodOutcome.PENDING: "pending in the end",
    PodOutcome.NOT_RECREATED: "not recreated",
    PodOutcome.NOT_TRIED: "not tried again",
}


def evictions_text(evicted: Sequence[DisplacedPod]) -> str:
    """Return how many pods of other workloads are evicted, and how many of those get no node again."""
    if not evicted:
        return ""
    text = f"{plural(len(evicted), 'pod')} of other workloads {'is' if len(evicted) == 1 else 'are'} evicted"
    counts = Counter(entry.outcome for entry in evicted)
    parts = [f"{counts[outcome]:,} {what}" for outcome, what in _NO_NODE.items() if counts[outcome]]
    return f"{text} ({', '.join(parts)})" if parts else text


def end_of_evicted(entry: DisplacedPod) -> str:
    """Return the outcome for an evicted pod, in words."""
    if entry.step is not None and entry.step.node is not None:
        return f"on {entry.step.node}"
    return entry.why or "pending"


def lost_volumes_text(lost: Iterable[LostVolume]) -> Iterator[str]:
    """Yield, for each volume that no node reaches, what it leaves pending until when.

    >>> volume = LostVolume(
    ...     pod="web-0",
    ...     claim="data-web-0",
    ...     volume="pv",
    ...     reached_from="topology.kubernetes.io/zone in (a)",
    ...     label=("topology.kubernetes.io/zone", "a"),
    ... )
    >>> list(lost_volumes_text([volume]))
    ["web-0's volume is in zone a, which is lost: it stays pending until the zone is back"]
    """
    named = list(lost)
    for each in named[:IN_SENTENCE]:
        whose = f"{one_line(each.pod)}'s volume"
        key, value = each.label or ("", "")
        kind = domain_word(key)
        if kind in {"node", "zone", "region"}:
            at = f"{'on' if kind == 'node' else 'in'} {kind} {one_line(value)}"
            yield f"{whose} is {at}, which is lost: it stays pending until the {kind} is back"
        else:
            where = f"from nodes with {one_line(each.reached_from)}"
            yield f"{whose} is reached {where}, of which there is none: it stays pending until there is one"
    if (rest := len(named) - IN_SENTENCE) > 0:
        yield more(rest, "volume")


def dropped(prepared: PreparedPod) -> Iterator[RenderableType]:
    """Yield notes on the release: the fields that it drops, and the release that is used for a newer one."""
    if newer := unknown_release(prepared.version):
        yield from ("", Text(f"{newer}.", "yellow"))
    if prepared.dropped:
        names = ", ".join(prepared.dropped)
        text = f"Kubernetes {prepared.version} drops {names}: the pod is scheduled without."
        yield from ("", Text(text, "yellow"))


def constraint_title(applied: AppliedConstraint, policy: str | None) -> Text:
    """Return a constraint without what is at its default, and where it comes from.

    Args:
        applied: The constraint.
        policy: The policy that gave it.
    """
    constraint, origin = applied.constraint, applied.origin
    text = Text(f"{one_line(constraint.topology_key)} {constraint.when_unsatisfiable}", style="bold")
    text.append(f" maxSkew {constraint.max_skew}")
    if constraint.min_domains != 1:
        text.append(f" minDomains {constraint.min_domains}")
    if constraint.node_affinity_policy is not NodeInclusionPolicy.HONOR:
        text.append(f" nodeAffinityPolicy {constraint.node_affinity_policy}")
    if constraint.node_taints_policy is not NodeInclusionPolicy.IGNORE:
        text.append(f" nodeTaintsPolicy {constraint.node_taints_policy}")
    whose = _ORIGINS[origin]
    if origin is ConstraintOrigin.POLICY and policy:
        whose = f"injected by policy {one_line(policy)}"
    return text.append(f", {whose}", style="dim")


def named(examples: tuple[str, ...], count: int) -> str:
    """Return how many nodes a group has, and some names.

    >>> named(("n1", "n2"), 2), named(("n1",), 7)
    ('2 nodes: n1, n2', '7 nodes, such as n1')
    """
    names = ", ".join(map(one_line, examples))
    return f"{plural(count, 'node')}{': ' if count == len(examples) else ', such as '}{names}"
