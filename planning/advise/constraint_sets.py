"""The sets of constraints that are considered for a goal, in the order in which they are preferred.

For each topology key of the goal a set has one constraint, since what none states is reached by chance. It is
ScheduleAnyway with maxSkew 1, or DoNotSchedule with any maxSkew up to ``MOST_SKEW`` and powers of two beyond
and, where an autoscaler may add domains, any minDomains up to the number of domains that the goal needs. All
select the workload's own pods, of one revision where the release can tell these apart; those with
DoNotSchedule leave out nodes with taints that the pod does not tolerate. More minDomains than there can be
domains would be a limit in disguise, of which the rule ``min-domains-above-domains`` warns. The manifest's
constraints for other keys are all kept, made ScheduleAnyway, or removed.

A DoNotSchedule constraint of the manifest is a guarantee: unless the goal allows it, no set has a softer one
for its key, of larger maxSkew or smaller minDomains, and none makes those for other keys softer.

The order: of two sets the one is preferred that, where they first differ,

1. keeps the manifest's constraints for other keys, else softens them,
2. has fewer DoNotSchedule constraints, which can leave pods pending,
3. has the smaller sum of minDomains, where a constraint without counts 1,
4. has the larger sum of maxSkew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import Any, Final

from planning.advise.goal import Goal
from planning.simulation.suggestions.given_up import GivenUp, is_hard, weakened
from planning.simulation.suggestions.suggestion_edits import edits_of
from policies.manifests.edits import Edit
from policies.model.constraint import CONSTRAINT_FIELDS, Constraint, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.controller_labels import TOGETHER
from policies.model.labels import LabelSelector
from policies.model.topology_keys import HOSTNAME, MISNAMED, RENAMED
from policies.model.workload import ConstraintEntry, Workload
from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.release_changes import Behavior

#: The largest maxSkew below which none is left out.
MOST_SKEW: Final = 8
#: Domains that minDomains requires at most; regions have three to six zones.
MOST_DOMAINS: Final = 6
#: The largest maxSkew over nodes that is considered for one replica a node.
MOST_NODE_SKEW: Final = 2


class Others(StrEnum):
    """The treatment of the manifest's constraints for keys that the goal does not name."""

    KEPT = "kept"
    SOFTENED = "softened"
    REMOVED = "removed"


_OTHERS: Final = {others: rank for rank, others in enumerate(Others)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSet:
    """Constraints that a workload could have."""

    wanted: tuple[Constraint, ...] = ()  #: For the keys of the goal.
    others: Others = Others.KEPT  #: What becomes of the manifest's others.

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """The sort key of sets, the preferred one first: see the order above."""
        hard = [each for each in self.wanted if is_hard(each)]
        return (
            _OTHERS[self.others],
            len(hard),
            sum(each.min_domains for each in self.wanted),
            -sum(each.max_skew for each in hard),
        )

    def softer(self) -> Iterator[tuple[Constraint | None, str, ConstraintSet]]:
        """Yield a preferred set for each field, different in that alone: the constraint, the field, the set.

        The constraint is None where it is the manifest's others that are kept.
        """
        if self.others is not Others.KEPT:
            yield None, "", replace(self, others=Others.KEPT)
        for position, constraint in enumerate(self.wanted):
            for field, instead in _softened(constraint):
                wanted = (*self.wanted[:position], instead, *self.wanted[position + 1 :])
                yield constraint, field, replace(self, wanted=wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintBasis:
    """The parts that all constraints of a workload share."""

    selector: LabelSelector  #: The workload's own selector.
    match_label_keys: tuple[str, ...]  #: What tells its revisions apart.
    behavior: Behavior  #: The release.
    domains: int = 1  #: How many domains the goal needs, where an autoscaler may add some; else 1.


def constraint_sets(workload: Workload, goal: Goal, basis: ConstraintBasis) -> list[ConstraintSet]:
    """Return the sets that are considered for a goal, the preferred one first."""
    keys = _goal_keys(goal)
    options = [list(_options(key, goal, basis, _guarantee(key, workload, goal))) for key in keys]
    present = [entry.is_hard for entry in _others(workload, keys)]
    possible = {
        Others.KEPT: True,
        Others.SOFTENED: any(present) and goal.allow_soft,
        Others.REMOVED: bool(present) and (goal.allow_soft or not any(present)),
    }
    return sorted(
        (
            ConstraintSet(wanted=chosen, others=others)
            for others in filter(possible.__getitem__, Others)
            for chosen in product(*options)
        ),
        key=lambda each: each.cost,
    )


def given_up(chosen: ConstraintSet, workload: Workload, goal: Goal) -> Iterator[GivenUp]:
    """Yield the guarantees of a workload's constraints that a set weakens or removes."""
    others = list(_others(workload, _goal_keys(goal)))
    wanted = {each.topology_key: each for each in chosen.wanted}
    for entry in workload.constraints:
        before = entry.constraint
        key, after = before.topology_key, wanted.get(meaning(before.topology_key))
        if entry in others:
            if chosen.others is Others.REMOVED:
                yield GivenUp(key)
            elif chosen.others is Others.SOFTENED and entry.is_hard:
                yield GivenUp(
                    key, "whenUnsatisfiable", before.when_unsatisfiable, WhenUnsatisfiable.SCHEDULE_ANYWAY
                )
        elif after is not None:
            yield from weakened(before, after)


def edits_to(chosen: ConstraintSet, workload: Workload, goal: Goal) -> tuple[Edit, ...]:
    """Return the edits after which a workload has a set of constraints; others of the goal's keys go."""
    entries, others = workload.constraints, list(_others(workload, _goal_keys(goal)))
    where, left = workload.kind.constraints_path, {each.topology_key: each for each in chosen.wanted}
    if not entries:
        return (Edit(where, workload.template.constraints, [each.to_dict() for each in chosen.wanted]),)
    edits: list[Edit] = []
    for position, entry in enumerate(entries):
        if entry in others:
            edits += _edits_of_other(chosen.others, position, workload)
        elif wanted := left.pop(meaning(entry.constraint.topology_key), None):
            edits += _field_edits(entry, wanted)
        else:
            edits.append(Edit(where.index(position), entry.raw, None))
    new_entries = enumerate(left.values(), start=len(entries))
    return (*edits, *(Edit(where.index(at), None, each.to_dict()) for at, each in new_entries))


def meaning(key: str) -> str:
    """Return the topology key that another means: its new name, or what was meant."""
    return RENAMED.get(key) or MISNAMED.get(key) or key


def _field_edits(entry: ConstraintEntry, wanted: Constraint) -> Iterator[Edit]:
    new: dict[str, Any] = wanted.to_dict()
    for field in CONSTRAINT_FIELDS:
        old = entry.raw.get(field)
        same = (
            entry.constraint.selector == wanted.selector
            if field == "labelSelector"
            else old == new.get(field)
        )
        if not same:
            yield Edit(entry.path.child(field), old, new.get(field))


def _edits_of_other(others: Others, position: int, workload: Workload) -> tuple[Edit, ...]:
    if others is Others.REMOVED:
        change = Change(what=ChangeKind.CONSTRAINT, constraint=position)
    elif others is Others.SOFTENED and workload.constraints[position].is_hard:
        soft = str(WhenUnsatisfiable.SCHEDULE_ANYWAY)
        change = Change(what=ChangeKind.WHEN_UNSATISFIABLE, constraint=position, value=soft)
    else:
        return ()
    return edits_of(change, workload) or ()


def _goal_keys(goal: Goal) -> list[str]:
    keys = [goal.key] if goal.limit is not None else []
    return list(dict.fromkeys([*keys, HOSTNAME] if goal.one_a_node else keys))


def _others(workload: Workload, keys: Sequence[str]) -> Iterator[ConstraintEntry]:
    """Yield the constraints that a set does not replace: of other keys, or over several applications."""
    own = frozenset[str]() if workload.selector is None else workload.selector.keys
    for entry in workload.constraints:
        selector = entry.constraint.selector
        together = selector is not None and TOGETHER in selector.keys - own
        if together or meaning(entry.constraint.topology_key) not in keys:
            yield entry


def _guarantee(key: str, workload: Workload, goal: Goal) -> Constraint | None:
    """Return the joint guarantee of a key's DoNotSchedule constraints; None if a set need not keep it."""
    others = list(_others(workload, [key]))
    there = [entry.constraint for entry in workload.constraints if entry.is_hard and entry not in others]
    if goal.allow_soft or not there:
        return None
    return replace(
        there[0],
        max_skew=min(each.max_skew for each in there),
        min_domains=max(each.min_domains for each in there),
    )


def _options(key: str, goal: Goal, basis: ConstraintBasis, kept: Constraint | None) -> Iterator[Constraint]:
    soft = Constraint(
        max_skew=1,
        topology_key=key,
        when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY,
        selector=basis.selector,
        match_label_keys=basis.match_label_keys,
    )
    hard = replace(soft, when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE)
    if basis.behavior.inclusion_policies:
        hard = replace(hard, node_taints_policy=NodeInclusionPolicy.HONOR)
    limited = goal.limit is not None and key == goal.key
    most = max(map(goal.allowed, goal.range)) if limited else MOST_NODE_SKEW
    domains = min(basis.domains, MOST_DOMAINS) if basis.behavior.min_domains and limited else 1
    skews, least = list(_skews(most)), 1
    if kept is None:
        yield soft
    else:
        least = kept.min_domains
        skews = [*(skew for skew in skews if skew < kept.max_skew), kept.max_skew]
    for min_domains, max_skew in product(range(least, max(domains, least) + 1), skews):
        yield replace(hard, max_skew=max_skew, min_domains=min_domains)


def _skews(most: int) -> Iterator[int]:
    """Yield the numbers up to so many, of those beyond ``MOST_SKEW`` the powers of two.

    >>> list(_skews(3)), list(_skews(40))
    ([1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 16, 32])
    """
    skew = 1
    while skew <= most:
        yield skew
        skew = skew + 1 if skew < MOST_SKEW else 2 * skew


def _softened(constraint: Constraint) -> Iterator[tuple[str, Constraint]]:
    if not is_hard(constraint):
        return
    soft = replace(
        constraint,
        max_skew=1,
        min_domains=1,
        when_unsatisfiable=WhenUnsatisfiable.SCHEDULE_ANYWAY,
        node_taints_policy=NodeInclusionPolicy.IGNORE,
    )
    yield "whenUnsatisfiable", soft
    skew = constraint.max_skew
    yield "maxSkew", replace(constraint, max_skew=skew + 1 if skew < MOST_SKEW else 2 * skew)
    if constraint.min_domains > 1:
        yield "minDomains", replace(constraint, min_domains=constraint.min_domains - 1)
