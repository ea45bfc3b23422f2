"""A goal, where it is missed, and why a constraint is as it is: in a sentence each, for text and JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from planning.advise.advise import Advice, FieldReason
from planning.advise.constraint_sets import Others
from planning.advise.goal import Goal
from planning.advise.goal_trial import Failure, FailureKind, Trial
from planning.simulation.rollout.courses import RolloutEnd
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from policies.model.constraint import Constraint
from policies.model.topology_keys import domain_noun

#: What the proof leaves out.
NOT_PROVEN: Final = (
    "other pods that are pending",
    "scale-downs and evictions, which do not look at constraints",
)
#: What it leaves out besides where others are evicted.
_REPLACEMENTS: Final = "where what replaces evicted pods goes"
#: What the fields of each constraint are for that no trial is needed for.
_FIELDS: Final = {
    "labelSelector": "labelSelector is the workload's own",
    "nodeTaintsPolicy": "nodeTaintsPolicy Honor: nodes that are tainted for the pod, as in an outage, do not "
    "count",
    "matchLabelKeys": "matchLabelKeys: pods of earlier revisions do not count during a rollout",
}


def goal_text(goal: Goal) -> str:
    """Return the goal in words."""
    wanted = []
    if goal.limit is not None:
        rounded = ", rounded up," if isinstance(goal.limit, Fraction) else ""
        noun = domain_noun(one_line(goal.key))
        wanted.append(f"lose at most {goal.limit} of them{rounded} when {noun} goes")
    if goal.one_a_node:
        wanted.append("one a node where possible")
    enforced = ", enforced by DoNotSchedule" if goal.enforced else ""
    return f"with {_replicas(goal)}{one_line(goal.replicas.evidence)}: {', and '.join(wanted)}{enforced}"


def _replicas(goal: Goal) -> str:
    least, most, _ = goal.replicas
    return f"{least:,} to {most:,} replicas" if least != most else plural(most, "replica")


def domain_text(domain: str, goal: Goal) -> str:
    """Return the name of a domain; nodes without the topology key have none."""
    return one_line(domain) or f"(no {one_line(goal.key)})"


def failure_text(failure: Failure, goal: Goal) -> str:
    """Return where a goal is missed."""
    replicas, where = plural(failure.replicas, "replica"), domain_text(failure.domain, goal)
    match failure.kind:
        case FailureKind.LOST:
            return f"with {replicas} {where} has {failure.count:,} of them, {failure.allowed:,} allowed"
        case FailureKind.CROWDED:
            crowded, other = one_line(failure.node), one_line(failure.other)
            return f"with {replicas} {crowded} has two more than {other}, which could take one"
        case FailureKind.PENDING:
            message = one_line(failure.message, 1_000).rstrip(".")
            return f"replica {failure.replicas:,} stays pending: {message}"
        case FailureKind.PLAYED if failure.message:
            return f"once it is applied, {one_line(failure.message, 1_000).rstrip('.')}"
        case FailureKind.PLAYED:
            has = f"{where} has {failure.count:,} of them, {failure.allowed:,} allowed"
            return f"once {replicas} of it run in place of those that run now, {has}"
        case FailureKind.UNENFORCED:
            return f"no DoNotSchedule constraint for {one_line(goal.key)} selects the pods"
    match failure.outcome:
        case RolloutEnd.DEADLOCK:
            return f"a rollout of {replicas} deadlocks"
        case RolloutEnd.PENDING:
            return f"in a rollout of {replicas} pods stay pending"
    return f"after a rollout of {replicas} {where} has {failure.count:,} of them, {failure.allowed:,} allowed"


def reason_text(reason: FieldReason, goal: Goal) -> str:
    """Return the failure if a field were softer, in words."""
    failure = failure_text(reason.failure, goal)
    match reason.field:
        case "":
            return f"if they stay as they are, {failure}"
        case "whenUnsatisfiable":
            return f"ScheduleAnyway fails: {failure}"
        case "minDomains" if reason.constraint is not None and reason.constraint.min_domains == 2:
            return f"no minDomains fails: {failure}"
    return f"{reason.field} {_softer_value(reason)} fails: {failure}"


def _softer_value(reason: FieldReason) -> int:
    constraint = reason.constraint
    if constraint is None:
        raise ValueError("only a constraint has numbers")
    return constraint.min_domains - 1 if reason.field == "minDomains" else constraint.max_skew + 1


def constraint_reasons(constraint: Constraint, advice: Advice) -> list[tuple[str, str]]:
    """Return why each field of a constraint is as it is: the field, and why."""
    tried = {
        reason.field: reason_text(reason, advice.goal)
        for reason in advice.reasons
        if reason.constraint == constraint
    }
    fields = constraint.to_dict()
    return [(field, text) for field in fields if (text := tried.get(field) or _FIELDS.get(field)) is not None]


def others_text(advice: Advice) -> str:
    """Return a sentence on the manifest's constraints for other keys; empty if they stay."""
    others = Others.KEPT if advice.chosen is None else advice.chosen.others
    if others is Others.KEPT:
        return ""
    verb = "become ScheduleAnyway" if others is Others.SOFTENED else "are removed"
    why = [reason_text(reason, advice.goal) for reason in advice.reasons if reason.constraint is None]
    return f"The manifest's constraints for other keys {verb}{'; ' if why else ''}{''.join(why)}."


def ties(trial: Trial) -> str:
    """Return how it was chosen among equally good nodes."""
    if trial.exact:
        return "in every way to choose among equally good nodes"
    return "in two ways to choose among equally good nodes: one that fills a domain, and the first by name"


def not_proven(advice: Advice) -> tuple[str, ...]:
    """Return the parts that the proof leaves out."""
    return (*NOT_PROVEN, *((_REPLACEMENTS,) if advice.trial.evicts else ()))


def verdict(advice: Advice) -> str:
    """Return whether the goal is reached, and with what, and whom that hurts."""
    evicts = advice.trial.evicts
    hurt = f", and evicts up to {plural(evicts, 'pod')} of other workloads" if evicts else ""
    return f"{_reached(advice)}{hurt}"


def _reached(advice: Advice) -> str:
    if advice.is_met:
        if advice.chosen is None and not advice.is_met_now:
            return "does not reach the goal with the pods that run now, only once they are replaced"
        if advice.chosen is None:
            return "reaches the goal as it is"
        count = len(advice.chosen.wanted)
        return f"reaches the goal with {'one constraint' if count == 1 else f'{count} constraints'}"
    if not advice.complete:
        return "does not reach the goal with what was tried; the search ended early"
    return "cannot reach the goal"


def best_text(advice: Advice) -> str:
    """Return how far the best solution is from the goal; empty for a goal that is reached."""
    failure = advice.trial.failure(advice.goal)
    if failure is None:
        return ""
    at_best = "as it is" if advice.chosen is None else "with the constraints below"
    return f"{_domains_text(advice)}{at_best[0].upper()}{at_best[1:]}, {failure_text(failure, advice.goal)}."


def _domains_text(advice: Advice) -> str:
    """Return the best share that the domains allow, in words; empty if they could reach the goal."""
    goal, count = advice.goal, len(advice.domains)
    noun = domain_noun(goal.key).split()[1]
    if not count:
        return f"No {noun} can take its pods. "
    if not advice.is_limited_by_domains:
        return ""
    only = f"Only {plural(count, noun)} can take its pods"
    best = "all replicas are" if count == 1 else f"1/{count:,} of the replicas is"
    return f"{only}: at best {best} lost with one; the goal allows {goal.limit}. "
