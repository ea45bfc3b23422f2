"""The form of a suggestion in the JSON of an explanation; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Annotated, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.model.constraint import WhenUnsatisfiable
from policies.scheduler.changes import IN_CLUSTER, ChangeKind


class FieldEdit(TypedDict):
    """A field of the manifest to change.

    Attributes:
        field: Its path, as Kubernetes writes it.
        path: Its path, by names and positions.
        old: Its value; null where it is absent.
        new: The value it should have; null to remove it.
    """

    field: str
    path: list[str | int]
    old: object
    new: object


class DefaultConstraintEdit(TypedDict):
    """A field to change of a constraint that a policy or the scheduler gives.

    Attributes:
        topologyKey: Of the constraint.
        whenUnsatisfiable: Of the constraint.
        field: The field; ``topologySpreadConstraints`` means to remove the constraint.
        new: The value it should have; null to remove it.
    """

    topologyKey: str
    whenUnsatisfiable: WhenUnsatisfiable
    field: Annotated[ChangeKind, Keywords(enum=[kind for kind in ChangeKind if kind not in IN_CLUSTER])]
    new: object


class SuggestedClusterChange(TypedDict):
    """A change of the cluster.

    Attributes:
        text: What to do.
        nodes: The first names of the nodes to change.
        count: How many nodes to change or add.
        key: The label that nodes get, or the topology key of new nodes.
        value: Its value; null for any, or for a domain that does not exist yet.
        withoutTaints: Keys of taints that new nodes must not have.
    """

    text: str
    nodes: list[str]
    count: Count
    key: str | None
    value: str | None
    withoutTaints: list[str]


class SuggestedChange(TypedDict):
    """Changes that together make the pod fit.

    Attributes:
        kinds: What each of them changes.
        edits: Of the manifest. Entries of lists are removed last.
        elsewhere: Of constraints that a policy or the scheduler gives, at their place.
        inCluster: Of the cluster.
        feasibleNodes: Nodes that the pod then fits.
        examples: The first of their names.
        replicasBefore: Replicas that fit without it; null if not counted.
        replicasAfter: Replicas that fit with it; null if not counted.
        enough: Whether every replica that was counted fits with it.
        costs: What each change gives up, in words.
        caution: Whether it should be the last resort.
    """

    kinds: list[ChangeKind]
    edits: list[FieldEdit]
    elsewhere: list[DefaultConstraintEdit]
    inCluster: SuggestedClusterChange | None
    feasibleNodes: Count
    examples: list[str]
    replicasBefore: Count | None
    replicasAfter: Count | None
    enough: bool
    costs: list[str]
    caution: bool
