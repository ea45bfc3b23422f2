"""The outcome of a scenario for people: the verdict, what is asked, what is left if a domain goes, and help.

The same parts are a text for a terminal and Markdown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.simulation.outcome import Cause, Did, ObjectChange, Outcome, Verdict, WorkloadOutcome
from planning.simulation.release_diff import DiffKind
from planning.text.outcome import (
    as_sentence,
    basis_line,
    further_verdicts,
    left_out_line,
    losses_tables,
    lost_domain,
    mark,
    nodes_lines,
    suggestion_lines,
    title,
    verdict_line,
    ways_line,
    why_lines,
    workload_tables,
)
from planning.text.words import domain_name
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.reports import markdown
from policies.reports.terminal import MAX_MESSAGE, add_rows, indented, numbers, plain_table, print_all

#: Steps that the longer text shows.
MOST_STEPS: Final = 200


def render(outcome: Outcome, *, width: int, color: bool, wide: bool = False, source: str = "") -> str:
    """Return the outcome as text.

    Args:
        outcome: The outcome.
        width: Columns of the terminal.
        color: Whether to use its colors.
        wide: Whether everything is shown, with the steps.
        source: The file of the cluster; empty for none.
    """
    body = (indented(part, 2) for part in (*parts(outcome, wide=wide), *closing(outcome, source, wide=wide)))
    return print_all((verdict_line(outcome.verdict), *body), width=width, color=color)


def render_markdown(outcome: Outcome, *, source: str = "") -> str:
    """Return the outcome for the summary of a CI job or a comment: the closing lines are folded in."""
    verdict = outcome.verdict
    return markdown.render(
        as_sentence(verdict.sentence),
        verdict=None if mark(verdict.cause) == "!" else verdict.value,
        parts=parts(outcome),
        details=closing(outcome, source),
    )


def parts(outcome: Outcome, *, wide: bool = False) -> Iterator[RenderableType]:
    """Yield what stands between the verdict and the closing lines."""
    yield from _further_verdicts(outcome)
    if outcome.outcomes:
        yield from losses_tables(outcome, wide=wide)
    elif any(event.release is not None for event in outcome.scenario.events) and _differing(outcome):
        yield _releases(outcome)
    else:
        yield from _played(outcome, wide=wide)
    if outcome.verdict.cause is Cause.REFUSED:
        yield Text(_message(outcome.verdict))
    yield from nodes_lines(outcome.nodes)
    yield from why_lines(outcome.workloads)
    if wide:
        yield from _details(outcome)
    if outcome.suggestions:
        yield Text("What would help", "bold")
        yield from suggestion_lines(outcome.suggestions)


def closing(outcome: Outcome, source: str, *, wide: bool = False) -> Iterator[Text]:
    """Yield how it was found, and what was left out."""
    steps = "" if wide or not outcome.steps else f"{plural(len(outcome.steps), 'step')} (-o wide)."
    drained = outcome.scenario.events and [event.drain for event in outcome.scenario.events if event.drain]
    stay = (
        f"{listed(drained, IN_PHRASE)} {'stays' if len(drained) == 1 else 'stay'} cordoned."
        if drained
        else ""
    )
    for line in (
        " ".join(part for part in (steps, stay, ways_line(outcome)) if part),
        _keep_even(outcome),
        left_out_line(outcome),
        basis_line(outcome, source),
    ):
        if line:
            yield Text(line)


def _further_verdicts(outcome: Outcome) -> Iterator[RenderableType]:
    """Yield what else is said of the only workload, or of the whole that is not said of the worst one."""
    if len(outcome.workloads) != 1 or outcome.outcomes:
        return
    yield from further_verdicts(outcome.workloads[0], said=outcome.verdict)


def _played(outcome: Outcome, *, wide: bool) -> Iterator[RenderableType]:
    """Yield the tables of one scenario."""
    workloads = outcome.workloads
    if any(event.drain is not None for event in outcome.scenario.events):
        yield _drains(outcome)
    yield from workload_tables(workloads, wide=wide)


def _drains(outcome: Outcome) -> Table:
    """Return what becomes of the pods of drained nodes."""
    table = plain_table("PODS OF", *numbers("EVICTED", "BLOCKED", "LOST FOR GOOD"))
    rows = []
    for position, event in enumerate(outcome.scenario.events):
        if event.drain is None:
            continue
        did = Counter(
            step.did for step in outcome.steps if step.event == position and step.node == event.drain
        )
        counts = (did[kind] for kind in (Did.EVICTED, Did.NOT_EVICTED, Did.NOT_RECREATED))
        rows.append((one_line(event.drain), *(f"{count:,}" for count in counts)))
    return add_rows(table, rows, noun="node")


def _differing(outcome: Outcome) -> list[WorkloadOutcome]:
    return [found for found in outcome.workloads if found.next is not None]


#: What is said of workloads by how their next pod differs under another release.
_DIFFERENCES: Final = {
    DiffKind.VALIDITY: "refused or not",
    DiffKind.NODES: "other nodes",
    DiffKind.BEST: "other best nodes",
    DiffKind.SCORES: "same best nodes",
    DiffKind.CONSTRAINTS: "other constraints",
    DiffKind.MESSAGE: "another message",
}


def _releases(outcome: Outcome) -> Table:
    """Return the changes of Kubernetes that make a difference, and for whom."""
    table = plain_table("SINCE", "WHAT", "WORKLOADS")
    groups: dict[tuple[tuple[str, str], DiffKind], list[WorkloadOutcome]] = {}
    for found in _differing(outcome):
        if found.next is None:
            continue
        for change in found.next.responsible or (None,):
            entry = ("", "no single change") if change is None else (change.since, change.what)
            groups.setdefault((entry, found.next.difference), []).append(found)
    order = list(DiffKind)
    rows = [
        (since, one_line(what, MAX_MESSAGE), f"{_counted(found)}, {_DIFFERENCES[kind]}")
        for ((since, what), kind), found in sorted(groups.items(), key=lambda each: order.index(each[0][1]))
    ]
    return add_rows(table, rows, noun="change")


def _counted(workloads: Sequence[WorkloadOutcome]) -> str:
    return title(workloads[0]) if len(workloads) == 1 else f"{len(workloads):,}"


def _keep_even(outcome: Outcome) -> str:
    """Return the command that keeps a scale-down even; empty where it is."""
    uneven = [
        found
        for found in outcome.workloads
        if found.change is ObjectChange.SCALED
        and found.after < found.before
        and any(each.cause is Cause.ABOVE_MAX_SKEW for each in found.verdicts)
    ]
    if not uneven:
        return ""
    ref, wanted = uneven[0].ref, uneven[0].wanted
    name = one_line(f"{ref.kind.partition('.')[0].lower()}/{ref.name} -n {ref.namespace}")
    return f"Keep it even: evenkeel audit {name} --deletion-costs {wanted}"


def _details(outcome: Outcome) -> Iterator[RenderableType]:
    """Yield what the longer text has besides: each loss, and the steps."""
    for loss in outcome.outcomes:
        yield Text(f"Without {domain_name(lost_domain(loss))}", "bold")
        yield verdict_line(loss.verdict)
        yield from _played(loss, wide=False)
        yield from chain(nodes_lines(loss.nodes), why_lines(loss.workloads))
    messages = dict.fromkeys(filter(None, (_message(found.verdict) for found in outcome.workloads)))
    for message in messages:
        yield Text(message)
    if not outcome.steps:
        return
    table = plain_table(*numbers("STEP"), "WHAT", "POD", "NODE", "")
    rows = []
    for number, step in enumerate(outcome.steps, start=1):
        revision = {True: "new", False: "old", None: ""}[step.new]
        pod, node, why = (one_line(text or "", MAX_MESSAGE) for text in (step.pod, step.node, step.why))
        rows.append((f"{number:,}", str(step.did), f"{pod}{f' ({revision})' if revision else ''}", node, why))
    yield add_rows(table, rows, most=MOST_STEPS, rest_in=1, noun="step")


def _message(verdict: Verdict) -> str:
    return one_line(verdict.message, MAX_MESSAGE)
