"""Deletion costs for a scale-down, as one JSON object of the form ``deletion_costs.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from policies.manifests.wire import Count, Keywords, dumps
from policies.model.replica_number import ReplicaNumber
from policies.model.workload import Workload
from policies.placement.rebalance.deletion_costs import DeletionCosts, NoCosts
from policies.reports.rebalance.deletion_costs_text import commands
from policies.reports.rebalance.json import RebalancedConstraint, rebalanced

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/deletion-costs/v1"


class DeletedPod(NamedTuple):
    """A pod that the scale-down deletes.

    Attributes:
        pod: Its name.
        node: The node that it is on.
    """

    pod: str
    node: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCostsAnswer:
    """The deletion costs with which a scale-down leaves a workload within maxSkew.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        object: The workload.
        running: How many pods run.
        replicas: How many are to be left.
        replicas_from: Where the number comes from; null where the user chose it.
        why_no_costs: Why there is nothing to annotate; null if there is.
        deleted: The pods that are deleted then; empty if there is no such choice.
        costs: The deletion cost to give to each pod that needs one, by its name.
        constraints: The constraints that are looked at.
        commands: What annotates the pods; nothing was executed.
        not_modeled: What else a scheduler looks at in these pods.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    object: Workload
    running: Count
    replicas: Count
    replicas_from: ReplicaNumber | None
    why_no_costs: NoCosts | None
    deleted: Sequence[DeletedPod]
    costs: Mapping[str, int]
    constraints: Sequence[RebalancedConstraint]
    commands: Sequence[str]
    not_modeled: Sequence[str]


def render(found: DeletionCosts) -> bytes:
    """Return the result as one line of JSON, without its end."""
    workload, request = found.prepared.workload, found.prepared.request
    answer = DeletionCostsAnswer(
        object=workload,
        running=found.running,
        replicas=found.replicas,
        replicas_from=workload.replica_number if found.replicas == workload.replicas else None,
        why_no_costs=found.why_none,
        deleted=[DeletedPod(pod.name, pod.node) for pod in found.deleted],
        costs=found.costs,
        constraints=rebalanced(request, found.before, found.after),
        commands=commands(found),
        not_modeled=request.pod.unmodeled,
    )
    return dumps(answer)
