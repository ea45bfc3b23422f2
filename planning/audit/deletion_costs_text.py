"""Deletion costs for a scale-down: JSON of the form ``deletion_costs.schema.json``, or text with commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Final, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from planning.audit.deletion_costs import DeletionCosts, NoCosts
from planning.audit.evictions_text import RebalancedConstraint, domain_changes, rebalanced
from planning.text.words import replica_origin_text, workload_title
from policies.manifests.sanitize import one_line
from policies.manifests.wire import Count, Keywords, dumps
from policies.model.deletion_facts import DELETION_COST_ANNOTATION
from policies.model.replica_number import ReplicaNumber
from policies.model.workload import Workload
from policies.reports.terminal import print_all

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/deletion-costs/v1"


class DeletedPod(NamedTuple):
    """A pod that the scale-down deletes."""

    pod: str  #: Its name.
    node: str | None  #: The node that it is on.


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCostsAnswer:
    """The deletion costs with which a scale-down leaves a workload within maxSkew.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    object: Workload  #: The workload.
    running: Count  #: How many pods run.
    replicas: Count  #: How many are to be left.
    replicas_from: ReplicaNumber | None  #: Where the number comes from; null where the user chose it.
    why_no_costs: NoCosts | None  #: Why there is nothing to annotate; null if there is.
    deleted: Sequence[DeletedPod]  #: The pods that are deleted then; empty if there is no such choice.
    costs: Mapping[str, int]  #: The deletion cost to give to each pod that needs one, by its name.
    constraints: Sequence[RebalancedConstraint]  #: The constraints that are looked at.
    commands: Sequence[str]  #: What annotates the pods; nothing was executed.
    not_modeled: Sequence[str]  #: What else a scheduler looks at in these pods.


def render_json(found: DeletionCosts) -> bytes:
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


def render_text(found: DeletionCosts, *, width: int, color: bool) -> str:
    """Return the report as text, no line longer than the width but commands."""
    return print_all(_parts(found), width=width, color=color)


def commands(found: DeletionCosts) -> list[str]:
    """Return the commands that annotate the pods, one for each cost."""
    namespace = found.prepared.workload.namespace
    return [
        # kubectl wants the names before the annotation.
        shlex.join(
            [
                *("kubectl", "annotate", "pods", *(name for name, _ in pods)),
                *(f"{DELETION_COST_ANNOTATION}={cost}", "--namespace", namespace, "--overwrite"),
            ]
        )
        for cost, pods in groupby(found.costs.items(), key=lambda entry: entry[1])
    ]


def _parts(found: DeletionCosts) -> Iterator[RenderableType]:
    title, scale = workload_title(found.prepared), f"{found.running:,} to {found.replicas:,} pods"
    count = len(found.costs)
    if found.why_none is None:
        noun = "pod needs a deletion cost" if count == 1 else "pods need a deletion cost"
        yield Text.assemble((title, "bold"), f", from {scale}: {count:,} {noun}")
    else:
        style = "green" if found.why_none is NoCosts.BALANCED else "red"
        yield Text.assemble((title, "bold"), f", from {scale}: ", (str(found.why_none), style))
    if found.replicas == found.prepared.workload.replicas:
        yield from replica_origin_text(found.prepared.workload)
    yield from domain_changes(found.prepared, found.before, found.after)
    if found.deleted:
        yield ""
        yield Text("The controller then deletes:")
        for pod in found.deleted:
            yield Text(f"  {one_line(pod.name)} on {one_line(pod.node or '')}")
    if found.costs:
        yield ""
        yield Text("Nothing was executed. Before the scale-down:")
        for command in commands(found):
            yield Text(command, no_wrap=True)
        yield ""
        yield Text("A pod that is no longer ready by then goes first, whatever it costs.")
    if unmodeled := found.prepared.request.pod.unmodeled:
        yield Text(f"Not modeled: {', '.join(unmodeled)}")
