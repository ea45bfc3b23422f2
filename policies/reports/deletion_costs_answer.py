"""The form of deletion costs in JSON: ``deletion_costs.schema.json`` is made from these types."""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.placement.deletion_costs import NoCosts
from policies.reports.rebalance_answer import RebalancedConstraint
from policies.reports.score_answer import ReplicasFrom
from policies.reports.survive_answer import NamedWorkload

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/deletion-costs/v1"


class DeletedPod(TypedDict):
    """A pod that the scale-down deletes.

    Attributes:
        pod: Its name.
        node: The node that it is on.
    """

    pod: str
    node: str | None


class DeletionCostsAnswer(TypedDict):
    """The deletion costs with which a scale-down leaves a workload within maxSkew.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        object: The workload.
        running: How many pods run.
        replicas: How many are to be left.
        replicasFrom: What says so; null where it was asked for.
        whyNoCosts: Why there is nothing to annotate; null if there is.
        deleted: The pods that are deleted then; empty if there is no such choice.
        costs: The deletion cost to give to each pod that needs one, by its name.
        constraints: The constraints that are looked at.
        commands: What annotates the pods; nothing was executed.
        notModeled: What else a scheduler looks at in these pods.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    object: NamedWorkload
    running: Count
    replicas: Count
    replicasFrom: ReplicasFrom | None
    whyNoCosts: NoCosts | None
    deleted: list[DeletedPod]
    costs: dict[str, int]
    constraints: list[RebalancedConstraint]
    commands: list[str]
    notModeled: list[str]
