"""Suggestions in JSON: what would make a pod fit, in the answers of explain and survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from policies.manifests.edits import Edit
from policies.manifests.wire import Count, Keywords
from policies.model.constraint import WhenUnsatisfiable
from policies.placement.core.given_up import GivenUp, given_up_by
from policies.placement.core.placement import Placement
from policies.placement.core.replicas import Replicas
from policies.placement.explain.suggestions import ExternalChange, Suggestion
from policies.reports.suggestion.text import cost_of, in_cluster
from policies.scheduler.changes import (
    IN_CLUSTER,
    LOSES_DATA,
    Change,
    ChangeKind,
    ClusterChange,
)

#: What is changed of a constraint or a pod.
_FIELDS: Final = [kind for kind in ChangeKind if kind not in IN_CLUSTER]


class DefaultConstraintEdit(NamedTuple):
    """A field to change of a constraint that a policy or the scheduler gives.

    Attributes:
        topology_key: Of the constraint.
        when_unsatisfiable: Of the constraint.
        field: The field; ``topologySpreadConstraints`` means to remove the constraint.
        new: The value it should have; null to remove it.
    """

    topology_key: str
    when_unsatisfiable: WhenUnsatisfiable
    field: Annotated[ChangeKind, Keywords(enum=_FIELDS)]
    new: object


class SuggestedClusterChange(NamedTuple):
    """A change of the cluster.

    Attributes:
        text: What to do.
        nodes: The first names of the nodes to change.
        count: How many nodes, or claims, to change or add.
        key: The label that nodes get, or the topology key of new nodes.
        value: Its value; null for any, or for a domain that does not exist yet.
        without_taints: Keys of taints that new nodes must not have.
        claims: The claims to delete with their data and make again.
        storage_class: The class to make them in; null for their own.
        class_like: The class that this new one is like but for WaitForFirstConsumer; null if it exists.
    """

    text: str
    nodes: Sequence[str]
    count: Count  # type: ignore[assignment]  # hides a method of tuples
    key: str | None
    value: str | None
    without_taints: Sequence[str]
    claims: Sequence[str]
    storage_class: str | None
    class_like: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedChange:
    """Changes that together make the pod fit.

    Attributes:
        kinds: What each of them changes.
        edits: Of the manifest. Entries of lists are removed last.
        elsewhere: Of constraints that a policy or the scheduler gives, at their place.
        in_cluster: Of the cluster.
        feasible_nodes: Nodes that the pod then fits.
        examples: The first of their names.
        replicas_before: Replicas that fit without it; null if not counted.
        replicas_after: Replicas that fit with it; null if not counted.
        enough: Whether every replica that was counted fits with it.
        costs: What each change gives up, in words.
        given_up: What they weaken or remove of DoNotSchedule constraints.
        caution: Whether it should be the last resort.
    """

    kinds: Sequence[ChangeKind]
    edits: Sequence[Edit]
    elsewhere: Sequence[DefaultConstraintEdit]
    in_cluster: SuggestedClusterChange | None
    feasible_nodes: Count
    examples: Sequence[str]
    replicas_before: Count | None
    replicas_after: Count | None
    enough: bool
    costs: Sequence[str]
    given_up: Sequence[GivenUp]
    caution: bool


def suggested_change(
    suggestion: Suggestion, placement: Placement, before: Replicas | None
) -> SuggestedChange:
    """Return a suggestion for programs.

    Args:
        suggestion: The suggestion.
        placement: Of the pod that it makes fit.
        before: How many replicas fit without any change.
    """
    changes, replicas = suggestion.changes, suggestion.replicas
    return SuggestedChange(
        kinds=[change.what for change in changes],
        edits=suggestion.edits,
        elsewhere=list(map(_elsewhere, suggestion.elsewhere)),
        in_cluster=_in_cluster(suggestion.in_cluster),
        feasible_nodes=suggestion.feasible,
        examples=suggestion.examples,
        replicas_before=None if before is None else before.fitting,
        replicas_after=None if replicas is None else replicas.fitting,
        enough=replicas is None or replicas.enough,
        costs=[cost_of(change, placement) for change in changes],
        given_up=list(given_up_by(changes, placement.result.request)),
        caution=any(
            change.hollow if isinstance(change, Change) else change.what in LOSES_DATA for change in changes
        ),
    )


def _in_cluster(change: ClusterChange | None) -> SuggestedClusterChange | None:
    if change is None:
        return None
    remade = change.remade
    return SuggestedClusterChange(
        text=in_cluster(change),
        nodes=change.nodes,
        count=change.count,
        key=change.key or None,
        value=change.value,
        without_taints=change.without,
        claims=remade.names,
        storage_class=remade.storage_class or None,
        class_like=remade.like or None,
    )


def _elsewhere(elsewhere: ExternalChange) -> DefaultConstraintEdit:
    constraint, change = elsewhere.constraint, elsewhere.change
    return DefaultConstraintEdit(
        constraint.topology_key, constraint.when_unsatisfiable, change.what, change.value
    )
