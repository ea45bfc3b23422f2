"""The result of scheduling one pod: what every plugin returned for every node, with the operands.

A plugin scales its scores by what is here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import LabelView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import AppliedConstraint, SchedulingRequest

#: The best score a plugin gives: ``MaxNodeScore``.
MAX_SCORE: Final = 100


class NodeScores(NamedTuple):
    """A plugin's raw and normalized scores of each node, shape ``(n,)``; only the feasible nodes count."""

    raw: NDArray[np.int64]  #: What Score returns.
    normalized: NDArray[np.int64]  #: After NormalizeScore; the same where the plugin has none.


def by_highest(
    raw: NDArray[np.int64], scored: NDArray[np.bool_], *, reverse: bool = False
) -> NDArray[np.int64]:
    """Scale scores so that the highest is 100; reversed, so that 0 becomes 100 and the highest 0.

    Source: ``DefaultNormalizeScore``, ``pkg/scheduler/framework/plugins/helper``, Kubernetes 1.36.
    """
    if not raw.any():
        return np.where(scored, MAX_SCORE, 0) if reverse else np.zeros_like(raw)
    highest = int(np.where(scored, raw, 0).max(initial=0))
    scaled = MAX_SCORE * raw // highest if highest else np.zeros_like(raw)
    return np.where(scored, MAX_SCORE - scaled if reverse else scaled, 0)


def round_half_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to the nearest integer, halves away from zero as Go's ``math.Round`` (``np.rint`` makes 0.5 0).

    >>> round_half_away(np.array([0.5, 1.5, 0.49999999999999994, -2.5]))
    array([ 1,  2,  0, -3])
    """
    # Towards zero.
    whole = values.astype(np.int64)
    away = values - whole
    # Most scores are not below zero.
    if np.minimum.reduce(values, initial=0) >= 0:
        whole += away >= 0.5
        return whole
    return (whole + np.where(np.abs(away) >= 0.5, np.copysign(1.0, values), 0.0)).astype(np.int64)


class Code(StrEnum):
    """Whether evicting pods could help."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class PhaseStatus(StrEnum):
    """Whether PodTopologySpread took part at PreFilter or PreScore."""

    SUCCESS = "Success"
    SKIP = "Skip"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a plugin rejects a node, in the scheduler's own words; NodeResourcesFit may have several."""

    texts: tuple[str, ...]
    code: Code

    def __str__(self) -> str:
        return ", ".join(self.texts)


@dataclass(frozen=True, slots=True)
class Rejections:
    """The nodes that one plugin rejects, whatever the others do."""

    plugin: Plugin  #: The plugin.
    reasons: tuple[Reason, ...]  #: The distinct reasons.
    #: 1 + the position of each node's reason, 0 where the plugin lets it pass; shape ``(n,)``.
    of_node: NDArray[np.intp]

    @classmethod
    def where(cls, rejected: NDArray[np.bool_], plugin: Plugin, reason: Reason) -> Rejections:
        """Return the same reason for some nodes, of shape ``(n,)``."""
        return cls(plugin, (reason,), rejected.astype(np.intp))


@dataclass(frozen=True, slots=True)
class PluginScores:
    """The scores of one plugin for the feasible nodes; the others have 0."""

    plugin: Plugin  #: The plugin.
    scores: NodeScores  #: What it gives all nodes, feasible or not.
    feasible: NDArray[np.bool_]  #: The feasible nodes, shape ``(n,)``.
    weight: int  #: What the profile multiplies it by.

    @property
    def raw(self) -> NDArray[np.int64]:
        """The values that Score returns, shape ``(n,)``."""
        return np.where(self.feasible, self.scores.raw, 0)

    @property
    def normalized(self) -> NDArray[np.int64]:
        """After NormalizeScore, 0 to 100; the same where the plugin has none. Shape ``(n,)``."""
        return np.where(self.feasible, self.scores.normalized, 0)

    @property
    def weighted(self) -> NDArray[np.int64]:
        """The plugin's part of the total, shape ``(n,)``."""
        return self.normalized * self.weight


@dataclass(frozen=True)
class EligibleDomains:
    """The domains of a constraint, whatever pods there are."""

    label: LabelView  #: The topology key's values.
    counted: NDArray[np.bool_]  #: The nodes that take part and have the label, shape ``(n,)``.
    homes: NDArray[np.intp]  #: The position of the value of each of these.
    nodes: NDArray[np.int64]  #: How many of these have each value, shape ``(d,)``.

    @classmethod
    def of(cls, label: LabelView, eligible: NDArray[np.bool_]) -> EligibleDomains:
        """Return the domains of the nodes that take part; those without the label never do.

        Args:
            label: The topology key's values.
            eligible: The nodes that take part, shape ``(n,)``.
        """
        counted = eligible & label.present
        # Positions, as bincount has them, so that it need not convert them each time.
        homes = label.numbers[counted].astype(np.intp)
        return cls(label, counted, homes, np.bincount(homes, minlength=len(label.texts)))

    def count(self, on_nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum up the matching pods of nodes, of shape ``(n,)``, by their domains, of shape ``(d,)``."""
        # bincount adds as float64, exact up to 2**53 pods.
        weights = on_nodes if len(self.homes) == len(on_nodes) else on_nodes[self.counted]
        return np.bincount(self.homes, weights=weights, minlength=len(self.nodes)).astype(np.int64)

    @cached_property
    def existing(self) -> tuple[int, ...]:
        """The positions of the domains that an eligible node has, sorted by their values."""
        return tuple(sorted(np.flatnonzero(self.nodes > 0).tolist(), key=self.label.texts.__getitem__))

    @cached_property
    def existing_values(self) -> frozenset[str]:
        """The values of these domains."""
        return frozenset(self.label.texts[position] for position in self.existing)

    def home_of_node(self) -> NDArray[np.intp]:
        """Return the domain that each node counts in, -1 for a node that does not count; shape ``(n,)``."""
        home = np.full(len(self.counted), -1, np.intp)
        home[self.counted] = self.homes
        return home


@dataclass(frozen=True, kw_only=True)
class DomainCounts:
    """The domains of one constraint, with the pods that count in them."""

    eligible: EligibleDomains  #: The domains.
    of_node: NDArray[np.int32]  #: The position of each node's value, -1 without the label; shape ``(n,)``.
    on_nodes: NDArray[np.int64]  #: Matching pods; shape ``(n,)``.

    @property
    def values(self) -> tuple[str, ...]:
        """The label's values; some may be on no node."""
        return self.eligible.label.texts

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Eligible nodes; shape ``(d,)``."""
        return self.eligible.nodes

    @cached_property
    def matching(self) -> NDArray[np.int64]:
        """Matching pods on the eligible nodes, counted where they are needed; shape ``(d,)``."""
        return self.eligible.count(self.on_nodes)

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        """Whether an eligible node carries the value; shape ``(d,)``."""
        return self.nodes > 0

    def existing(self) -> list[int]:
        """Return the positions of the domains that an eligible node has, sorted by their values."""
        return list(self.eligible.existing)

    def held(self) -> dict[str, int]:
        """Return the matching pods of those of these domains that have some, by their values."""
        positions, values = np.flatnonzero(self.exists & (self.matching > 0)), self.values
        counts = zip(positions.tolist(), self.matching[positions].tolist(), strict=True)
        return {values[position]: count for position, count in counts}

    def by_value(self, matching: NDArray[np.int64] | None = None) -> dict[str, int]:
        """Return the matching pods of these domains by their values, or other numbers of shape ``(d,)``."""
        values, existing = self.values, self.existing()
        counts = (self.matching if matching is None else matching)[existing].tolist()
        return {values[position]: count for position, count in zip(existing, counts, strict=True)}


class FilterResult(NamedTuple):
    """A DoNotSchedule constraint: what its check is made of on every node."""

    applied: AppliedConstraint  #: The constraint.
    domains: DomainCounts  #: Its domains.
    minimum: int  #: The global minimum.
    #: What the node's domain would be above the minimum with the pod; meaningless without the label. Shape
    #: ``(n,)``.
    skew: NDArray[np.int64]
    #: Whether the node may take the pod; never without the label. Shape ``(n,)``.
    satisfied: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreResult:
    """A ScheduleAnyway constraint: what its score is made of."""

    applied: AppliedConstraint  #: The constraint.
    domains: DomainCounts  #: Its domains.
    weight: float | None  #: ``ln(size + 2)``; None where nothing was scored.
    matching: NDArray[np.int64]  #: Pods that count against each node; shape ``(n,)``.


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """The victims that would make room for a pod that fits nowhere, and the scheduler's message."""

    #: The nodes on which the scheduler would make room, one of them at random; none where evictions do not
    #: help.
    nominated: tuple[str, ...]
    #: The pods that would be evicted on each of these, as namespace/name, the most important first.
    victims: Mapping[str, tuple[str, ...]]
    message: str  #: What it adds to the pod's condition; empty where a node is nominated.


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingResult:
    """Where a pod could go. Holds copies alone, so it outlives the next event."""

    request: SchedulingRequest  #: The pod, and its constraints.
    names: tuple[str, ...]  #: The nodes, sorted by name; the axis ``n``.
    results: tuple[FilterResult | ScoreResult, ...]  #: One for each constraint in force, in their order.
    rejections: tuple[Rejections, ...]  #: Of each plugin, in the order of the profile.
    #: Whether every plugin lets the node pass, and it was looked at; shape ``(n,)``.
    feasible: NDArray[np.bool_]
    pre_filter: PhaseStatus  #: Whether there is a hard constraint.
    pre_score: PhaseStatus  #: Whether there is a soft one to score.
    #: What Score returns for feasible nodes; None where nothing was scored. Shape ``(n,)``.
    raw_scores: NDArray[np.int64] | None
    #: After NormalizeScore, 0 to 100; None where nothing was scored. Shape ``(n,)``.
    scores: NDArray[np.int64] | None
    message: str  #: The FitError; empty if the pod fits somewhere.
    #: The message of the pod's condition, with what preemption adds where it is tried; empty if the pod fits
    #: somewhere.
    condition: str
    #: Which node is nominated where the pod fits nowhere, and who is evicted; None where it is not tried.
    preemption: Preemption | None = None
    #: The lists of the cluster that decide whom preemption evicts, and are not known.
    unread: tuple[str, ...] = ()
    #: Why lists could not be read that the pod's result depends on, by their names.
    why_unread: Mapping[str, str] = field(default_factory=dict)
    #: Of each score plugin that does not skip; none where no node is feasible, or scores were not wanted.
    plugin_scores: tuple[PluginScores, ...] = ()

    @property
    def total(self) -> NDArray[np.int64]:
        """The sum of what the plugins give each feasible node, by their weights; shape ``(n,)``."""
        return np.where(self.feasible, self._sum, 0)

    @property
    def _sum(self) -> NDArray[np.int64]:
        """The same, with what the nodes that are not feasible would have."""
        total = np.zeros(len(self.names), np.int64)
        for each in self.plugin_scores:
            # Most weights are 1.
            total += each.scores.normalized if each.weight == 1 else each.scores.normalized * each.weight
        return total

    def total_of(self, position: int) -> int:
        """Return the entry of ``total`` of one node."""
        return sum(int(each.scores.normalized[position]) * each.weight for each in self.plugin_scores)

    @property
    def best(self) -> list[int]:
        """The positions of the feasible nodes with the highest total."""
        if not self.feasible.any():
            return []
        nominated = self.request.pod.nominated_node
        if nominated and nominated in self.names and self.feasible[at := self.names.index(nominated)]:
            # It is tried before all others, and taken without being scored.
            return [at]
        # A weight may be negative, and so may a total.
        total = self._sum
        highest = np.where(self.feasible, total, np.iinfo(np.int64).min).max()
        best: list[int] = np.flatnonzero((total == highest) & self.feasible).tolist()
        return best

    @property
    def feasible_count(self) -> int:
        """How many nodes could take the pod."""
        return int(np.count_nonzero(self.feasible))
