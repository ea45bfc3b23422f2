"""A pending pod's wishes for nodes, and how Karpenter gives its preferences up, one after another.

Source: ``scheduling/preferences.go`` and ``NewPodRequirements``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from planning.autoscaler.karpenter.requirements import (
    LabelRequirement,
    Requirements,
    combine,
    of_expressions,
    of_labels,
)
from planning.autoscaler.karpenter.topology import CountedNodes
from planning.autoscaler.pod_groups import OF_POD
from policies.model.constraint import NodeInclusionPolicy
from policies.model.interpod_terms import InterPodTerm
from policies.model.node_affinity import NodeRequirement
from policies.model.pod import Pod
from policies.model.taints import TaintEffect, Toleration
from policies.scheduler.node_table import PODS
from policies.scheduler.request import AppliedConstraint, SchedulingRequest

#: What tolerates all taints that are mere preferences.
NO_PREFERENCE: Final = Toleration(operator="Exists", effect=TaintEffect.PREFER_NO_SCHEDULE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Wishes:
    """A pod's wishes with the preferences that it still has. Alike pods share one."""

    pod: Pod  #: The pod.
    constraints: tuple[AppliedConstraint, ...]  #: Its spread constraints.
    #: The terms of its required node affinity, of which one must hold: the first is tried.
    required: tuple[tuple[NodeRequirement, ...], ...]
    #: Those of its preferred node affinity, the heaviest first: the first is tried.
    preferred: tuple[tuple[NodeRequirement, ...], ...]
    near: tuple[InterPodTerm, ...]  #: The terms of its preferred pod affinity, the heaviest first.
    apart: tuple[InterPodTerm, ...]  #: The same of its anti-affinity.
    tolerations: tuple[Toleration, ...]  #: What it tolerates.
    softens: bool  #: Whether it may come to tolerate taints that are mere preferences.
    given_up: str = ""  #: The preference that it has no more; empty at first.

    @classmethod
    def of(cls, request: SchedulingRequest, *, softens: bool) -> Wishes:
        """Return a pod's first wishes: preferences count as if they were required.

        Args:
            request: The pod, and the constraints in force for it. Those of the scheduler are not known to
                Karpenter.
            softens: Whether any NodePool has a taint that is a mere preference.
        """
        pod = request.pod
        preferred = sorted(pod.affinity.preferred, key=lambda entry: -entry[0])
        return cls(
            pod=pod,
            constraints=tuple(each for each in request.constraints if each.origin in OF_POD),
            required=tuple(term.expressions for term in pod.affinity.terms or ()),
            preferred=tuple(term.expressions for _, term in preferred),
            near=_heaviest_first(pod.terms.preferred_affinity),
            apart=_heaviest_first(pod.terms.preferred_anti_affinity),
            tolerations=pod.tolerations,
            softens=softens,
        )

    @cached_property
    def relaxed(self) -> Wishes | None:
        """The same with one preference less; None if it has none left."""
        if len(self.required) > 1:
            return replace(self, required=self.required[1:], given_up="a term of the required node affinity")
        if self.near:
            term = self.near[0]
            return replace(self, near=self.near[1:], given_up=_named("preferred pod affinity", term))
        if self.apart:
            term = self.apart[0]
            return replace(self, apart=self.apart[1:], given_up=_named("preferred pod anti-affinity", term))
        if self.preferred:
            return replace(
                self, preferred=self.preferred[1:], given_up="a term of the preferred node affinity"
            )
        for position, applied in enumerate(self.constraints):
            if not applied.is_hard:
                return self._without(position)
        if self.softens and NO_PREFERENCE not in self.tolerations:
            tolerations = (*self.tolerations, NO_PREFERENCE)
            return replace(self, tolerations=tolerations, given_up="taints of PreferNoSchedule")
        return None

    def _without(self, position: int) -> Wishes:
        """Return the same without a constraint, in whose place the last comes."""
        *others, last = self.constraints
        key = self.constraints[position].constraint.topology_key
        if position < len(others):
            others[position] = last
        return replace(self, constraints=tuple(others), given_up=f"ScheduleAnyway over {key}")

    @cached_property
    def strict(self) -> dict[str, LabelRequirement]:
        """Its requirements on the labels of nodes, preferences apart."""
        first = self.required[0] if self.required else ()
        return combine(of_labels(dict(self.pod.affinity.node_selector)).items(), of_expressions(first))

    @cached_property
    def requirements(self) -> Requirements:
        """The same with the preference that is tried."""
        first = self.preferred[0] if self.preferred else ()
        return combine(self.strict.items(), of_expressions(first))

    @cached_property
    def amounts(self) -> dict[str, int]:
        """Its requests, as a node counts them."""
        return {PODS: 1, **dict(self.pod.requests)}

    def counted_nodes(self, applied: AppliedConstraint) -> CountedNodes:
        """Return the nodes whose pods count for one of its constraints."""
        constraint, alternatives = applied.constraint, None
        if constraint.node_affinity_policy is NodeInclusionPolicy.HONOR:
            alternatives = strict_alternatives(self.pod, self.required)
        honors = constraint.node_taints_policy is NodeInclusionPolicy.HONOR
        return CountedNodes(alternatives, self.tolerations if honors else None)

    def counted_key(self, applied: AppliedConstraint) -> tuple[object, ...]:
        """Return the key that constraints with the same counts share: not ``minDomains``."""
        constraint = applied.constraint
        return (
            constraint.topology_key, constraint.max_skew, self.pod.namespace, applied.selector,
            constraint.node_affinity_policy, constraint.node_taints_policy, self.tolerations,
            self.pod.affinity.node_selector, self.required,
        )  # fmt: skip


def strict_alternatives(
    pod: Pod, required: Sequence[tuple[NodeRequirement, ...]] | None = None
) -> tuple[Requirements, ...]:
    """Return the requirements of a pod on the labels of nodes, of which one must hold; preferences apart.

    Args:
        pod: The pod.
        required: The terms of its required node affinity that it still has; None for all.
    """
    own = of_labels(dict(pod.affinity.node_selector))
    terms = [term.expressions for term in pod.affinity.terms or ()] if required is None else required
    return tuple(combine(own.items(), of_expressions(term)) for term in terms or ((),))


def _heaviest_first(terms: Iterable[InterPodTerm]) -> tuple[InterPodTerm, ...]:
    return tuple(sorted(terms, key=lambda term: -term.weight))


def _named(what: str, term: InterPodTerm) -> str:
    return f"{what} over {term.topology_key}"


def in_queue(wishes: Sequence[Wishes]) -> list[int]:
    """Return the positions of pods in the order in which they are tried: by CPU, then memory, most first."""
    asked = [(each.amounts.get("cpu", 0), each.amounts.get("memory", 0)) for each in wishes]
    return sorted(range(len(wishes)), key=lambda position: (-asked[position][0], -asked[position][1]))
