"""The nodes that an autoscaler removes, as text: which go and stay, and whether that undoes the balance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.simulation.autoscaled import (
    KeptNode,
    RemovedNode,
    ScaledDown,
    WhyKept,
    WhyRemoved,
    is_undone,
)
from planning.simulation.domain_changes import MOST_COUNTED, DomainChange
from planning.text.what_if_text import displaced_text, evicted_text
from planning.text.words import constraint_title
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, listed, plural
from policies.reports.terminal import add_rows, numbers, plain_table, section

_GOES: Final = {
    WhyRemoved.EMPTY: "no pod has to move",
    WhyRemoved.UNDERUTILIZED: "its pods fit elsewhere",
    WhyRemoved.SINGLE_NODE: "consolidated alone",
    WhyRemoved.MULTI_NODE: "consolidated with others",
}
_STAYS: Final = {
    WhyKept.NOT_IN_GROUP: "in no node group or NodePool",
    WhyKept.BEING_DELETED: "being deleted",
    WhyKept.ANNOTATED: "an annotation keeps the node",
    WhyKept.MIN_SIZE: "the node group is as small as it may become",
    WhyKept.NOT_UNDERUTILIZED: "pods request more of it than the threshold",
    WhyKept.UTILIZATION_UNKNOWN: "it does not say how much CPU or memory it has",
    WhyKept.NO_PLACE: "its pods do not fit elsewhere",
    WhyKept.NOT_TRIED: "not looked at: others go first",
    WhyKept.UNNEEDED: "not needed, and not gone yet",
    WhyKept.POD_UNKNOWN: "the spec of a pod is not known",
    WhyKept.POD_NOT_REPLICATED: "nothing recreates a pod",
    WhyKept.POD_OF_SYSTEM: "a pod of kube-system has no PodDisruptionBudget",
    WhyKept.POD_ANNOTATED: "an annotation of a pod",
    WhyKept.POD_LOCAL_STORAGE: "a pod has a hostPath or emptyDir volume",
    WhyKept.POD_BUDGET: "a PodDisruptionBudget allows no eviction of a pod",
    WhyKept.POD_COMPLETES: "a pod must end by itself first",
    WhyKept.CONSOLIDATION_OFF: "consolidateAfter is Never",
    WhyKept.NOT_EMPTY: "consolidationPolicy is WhenEmpty, and it has pods",
    WhyKept.BUDGET: "a budget of the NodePool",
    WhyKept.TYPE_UNKNOWN: "its instance type, capacity type or zone is not known",
    WhyKept.PRICE_UNKNOWN: "its pods need a new node, and prices are not known",
    WhyKept.POLICY_NOT_MODELED: "the consolidationPolicy is not modeled",
    WhyKept.NOT_CHEAPER: "no cheaper node takes its pods",
    WhyKept.SPOT: "no spot node is replaced with another one",
    WhyKept.TOO_MANY_NEW: "its pods need several new nodes",
}


def scaled_down_text(scaled: ScaledDown) -> Iterator[RenderableType]:
    """Yield which nodes go and where their pods go, which stay and why, and what becomes of the balance."""
    yield from section(f"Nodes that {scaled.autoscaler} removes", _removed(scaled))
    yield from displaced_text(scaled.evicted)
    yield from evicted_text(scaled.evicted, " after that")
    if scaled.kept:
        yield from section("Nodes that stay", [_kept(scaled.kept)])
    if scaled.removed and scaled.domains:
        yield from section("The balance without these nodes", _balance(scaled))
    yield ""
    yield Text(f"Not modeled of the removal: {'; '.join(scaled.not_modeled)}.", "yellow")
    if not scaled.complete:
        yield from ("", Text("Not played to the end: further nodes may go.", "yellow"))


def _removed(scaled: ScaledDown) -> Iterator[RenderableType]:
    if not scaled.removed:
        yield Text("None.")
        return
    names = listed([node.name for node in scaled.removed])
    rounds = plural(scaled.rounds, "round") + (", some minutes apart" if scaled.rounds > 1 else "")
    yield Text(f"{plural(len(scaled.removed), 'node')} in {rounds}: {names}")
    table = plain_table(*numbers("ROUND"), "NODE", "OF", *numbers("REQUESTED"), "WHY", "PODS THAT MOVE")
    yield add_rows(table, map(_row, scaled.removed), rest_in=1)


def _row(node: RemovedNode) -> tuple[str, ...]:
    share = "" if node.utilization is None else f"{node.utilization:.0%}"
    came = node.replaced_by
    why = _GOES[node.why] if came is None else f"{_GOES[node.why]}, for {came.name} ({came.instance_type})"
    return (
        f"{node.round:,}",
        one_line(node.name),
        one_line(node.group),
        share,
        one_line(why),
        listed(node.pods),
    )


def _kept(kept: Sequence[KeptNode]) -> Table:
    """Return the nodes that stay, those of one reason together."""
    alike: dict[WhyKept, list[str]] = {}
    for node in kept:
        alike.setdefault(node.why, []).append(f"{node.name} ({node.pod})" if node.pod else node.name)
    rows = ((f"{len(names):,}", _STAYS[why], listed(names)) for why, names in alike.items())
    return add_rows(plain_table(*numbers("NODES"), "WHY", ""), rows, rest_in=1)


def _balance(scaled: ScaledDown) -> Iterator[RenderableType]:
    undone = [change for change in scaled.domains if is_undone(change)]
    if undone:
        pods = listed(dict.fromkeys(change.pod for change in undone), IN_SENTENCE)
        text = f"It undoes the balance of {plural(len(undone), 'constraint')}: {pods}"
        yield Text(text, "bold red")
    else:
        yield Text("No skew grows above maxSkew, and no pods are in fewer domains.", "bold green")
    table = plain_table("OF POD", "CONSTRAINT", *numbers("SKEW", "THEN", "DOMAINS WITH PODS", "THEN"))
    yield add_rows(table, map(_change, scaled.domains))
    if not scaled.all_domains:
        text = f"Of more than {MOST_COUNTED} different pods only the first are counted."
        yield from ("", Text(text, "yellow"))


def _change(change: DomainChange) -> tuple[str, ...]:
    title = constraint_title(change.applied, None).plain
    numbers = (change.skew_before, change.skew, change.held_before, change.held)
    return one_line(change.pod), title, *(f"{number:,}" for number in numbers)
