"""Suggestions in JSON: what would make a pod fit, in the answers of explain and survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from planning.simulation.replicas import Replicas
from planning.simulation.suggestions.given_up import GivenUp, given_up_by
from planning.simulation.suggestions.suggestions import ExternalChange, Suggestion
from planning.simulation.suggestions.words import cost_of, in_cluster
from policies.manifests.edits import Edit
from policies.manifests.wire import Count, Keywords
from policies.model.constraint import WhenUnsatisfiable
from policies.pods.placement import Placement
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
    """A field to change of a constraint that a policy or the scheduler gives."""

    topology_key: str  #: Of the constraint.
    when_unsatisfiable: WhenUnsatisfiable  #: Of the constraint.
    #: The field; ``topologySpreadConstraints`` means to remove the constraint.
    field: Annotated[ChangeKind, Keywords(enum=_FIELDS)]
    new: object  #: The value it should have; null to remove it.


class SuggestedClusterChange(NamedTuple):
    """A change of the cluster."""

    text: str  #: What to do.
    nodes: Sequence[str]  #: The first names of the nodes to change.
    #: How many nodes, claims or pods to change, add or delete.
    count: Count  # type: ignore[assignment]  # hides a method of tuples
    key: str | None  #: The label that nodes get, or the topology key of new nodes.
    value: str | None  #: Its value; null for any, or for a domain that does not exist yet.
    without_taints: Sequence[str]  #: Keys of taints that new nodes must not have.
    claims: Sequence[str]  #: The claims to delete with their data and make again.
    storage_class: str | None  #: The class to make them in; null for their own.
    #: The class that this new one is like but for WaitForFirstConsumer; null if it exists.
    class_like: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedChange:
    """Changes that together make the pod fit."""

    kinds: Sequence[ChangeKind]  #: What each of them changes.
    edits: Sequence[Edit]  #: Of the manifest. Entries of lists are removed last.
    #: Of constraints that a policy or the scheduler gives, at their place.
    elsewhere: Sequence[DefaultConstraintEdit]
    in_cluster: SuggestedClusterChange | None  #: Of the cluster.
    feasible_nodes: Count  #: Nodes that the pod then fits.
    examples: Sequence[str]  #: The first of their names.
    replicas_before: Count | None  #: Replicas that fit without it; null if not counted.
    replicas_after: Count | None  #: Replicas that fit with it; null if not counted.
    enough: bool  #: Whether every replica that was counted fits with it.
    costs: Sequence[str]  #: What each change gives up, in words.
    given_up: Sequence[GivenUp]  #: What they weaken or remove of DoNotSchedule constraints.
    caution: bool  #: Whether it should be the last resort.


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
