"""Deletion costs for a scale-down, as text for a person, with the commands that set them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from policies.manifests.sanitize import one_line
from policies.model.deletion_facts import DELETION_COST_ANNOTATION
from policies.placement.rebalance.deletion_costs import DeletionCosts, NoCosts
from policies.reports.rebalance.text import domain_changes
from policies.reports.words import print_all, replica_origin_text, workload_title


def render(found: DeletionCosts, *, width: int, color: bool) -> str:
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
