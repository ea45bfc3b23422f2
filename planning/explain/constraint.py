"""One constraint in words: what it counts, the operands of its check, and its domains as bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from planning.text.domains import Bar
from planning.text.words import domain_name
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from policies.model.constraint import NodeInclusionPolicy
from policies.model.topology_keys import HOSTNAME
from policies.pods.placement import Placement
from policies.reports.terminal import indented, numbers, plain_table
from policies.scheduler.domain_stats import ConstraintStats, DomainStats, EqualDomains
from policies.scheduler.node_table import MISSING

#: Lines of a histogram on either side of what maxSkew allows.
MOST_LINES: Final = 4


def constraint_text(stats: ConstraintStats, placement: Placement) -> Iterator[RenderableType]:
    """Yield the lines below a constraint's title.

    Args:
        stats: The constraint.
        placement: Of the pod that it is in force for.
    """
    for line in _lines(stats, placement):
        yield indented(Text(line))
    if not _is_of_one_node(stats, placement):
        # Where domains are many, how many are alike, too.
        if stats.histogram and not stats.all_listed:
            yield indented(_histogram(stats))
        if stats.domains:
            yield indented(_domains(stats))


def _lines(stats: ConstraintStats, placement: Placement) -> Iterator[str]:
    yield _selected(stats, placement)
    narrowed = _narrowed(stats, placement)
    if narrowed:
        yield narrowed
    if _is_of_one_node(stats, placement):
        effect = "rejects only nodes without the label" if stats.applied.is_hard else "has no effect"
        yield f"each pod is made for one node, which alone counts: the constraint {effect}"
        return
    yield _operands(stats)
    yield from _aside(stats, placement)


def _is_of_one_node(stats: ConstraintStats, placement: Placement) -> bool:
    """Return whether each pod has a single node that counts for a constraint, as a DaemonSet's have."""
    applied = stats.applied
    honors = applied.constraint.node_affinity_policy is NodeInclusionPolicy.HONOR
    return placement.result.request.pinned and (honors or not applied.is_hard)


def _selected(stats: ConstraintStats, placement: Placement) -> str:
    applied, namespace = stats.applied, one_line(placement.workload.namespace)
    effect = "rejects no node that has the label" if applied.is_hard else "prefers no node that has the label"
    if applied.selector is None:
        return f"no labelSelector: it counts no pods, so it {effect}"
    if stats.counts_nothing:
        return f"labelSelector {{}} counts no pods in Kubernetes {placement.version}, so it {effect}"
    selected = one_line(str(applied.selector))
    who = f"pods of namespace {namespace}{f' with {selected}' if selected else ''}"
    own = "this pod is one" if applied.self_match else "this pod is none, and never counts"
    return f"counts {who}; {own} (self match {applied.self_match})"


def _narrowed(stats: ConstraintStats, placement: Placement) -> str:
    """Return the effect of matchLabelKeys in words, empty if there are none."""
    keys = stats.applied.constraint.match_label_keys
    if not keys:
        return ""
    labels = placement.result.request.pod.labels
    having = [key for key in keys if key in labels]
    lacking = [key for key in keys if key not in labels]
    parts = [f"narrowed by matchLabelKeys {one_line(', '.join(having))}"] if having else []
    if lacking:
        parts.append(
            f"matchLabelKeys {one_line(', '.join(lacking))} narrows nothing: the pod has no such label"
        )
    return "; ".join(parts)


def _operands(stats: ConstraintStats) -> str:
    applied, constraint = stats.applied, stats.applied.constraint
    if stats.minimum is None:
        if stats.weight is None:
            return "nothing is scored, since no node is feasible"
        plus = f"maxSkew {constraint.max_skew:,} - 1"
        return f"raw score = matching x weight {stats.weight:.2f} + {plus}; the lowest sum is best"
    skew = f"skew = matching + self match {applied.self_match} - global minimum {stats.minimum:,}"
    check = f"{skew}; rejected above maxSkew {constraint.max_skew:,}"
    if not stats.domain_count:
        return f"{check}; the minimum is 0 because no node that counts has the label"
    if stats.domain_count < constraint.min_domains:
        found = plural(stats.domain_count, "domain")
        return (
            f"{check}; the minimum is 0 because {found} are fewer than minDomains {constraint.min_domains:,}"
        )
    return check


def _aside(stats: ConstraintStats, placement: Placement) -> Iterator[str]:
    """Yield which nodes do not count."""
    if stats.lacking_nodes:
        lack = "lacks" if stats.lacking_nodes == 1 else "lack"
        fate = _fate(stats, placement)
        yield f"{plural(stats.lacking_nodes, 'node')} {lack} the label, {fate}"
    if stats.left_out_nodes:
        why = " or ".join(_left_out_by(stats, placement))
        verb = "does" if stats.left_out_nodes == 1 else "do"
        yield f"{plural(stats.left_out_nodes, 'node')} with the label {verb} not count: {why}"


def _fate(stats: ConstraintStats, placement: Placement) -> str:
    if stats.applied.is_hard:
        return "so it is rejected" if stats.lacking_nodes == 1 else "so they are rejected"
    if placement.result.request.requires_all_keys:
        return "and get score 0" if stats.lacking_nodes > 1 else "and gets score 0"
    return "which the built-in defaults allow"


def _left_out_by(stats: ConstraintStats, placement: Placement) -> Iterator[str]:
    constraint, request = stats.applied.constraint, placement.result.request
    by_policy = stats.applied.is_hard or constraint.topology_key != HOSTNAME
    if (
        by_policy
        and constraint.node_affinity_policy is NodeInclusionPolicy.HONOR
        and request.pod.affinity.constrains
    ):
        yield "outside the pod's node affinity (nodeAffinityPolicy Honor)"
    if by_policy and constraint.node_taints_policy is NodeInclusionPolicy.HONOR:
        yield "tainted (nodeTaintsPolicy Honor)"
    others = {
        other.applied.constraint.topology_key
        for other in placement.result.results
        if other.applied.is_hard is stats.applied.is_hard and (other.domains.of_node == MISSING).any()
    } - {constraint.topology_key}
    if others and (stats.applied.is_hard or request.requires_all_keys):
        yield f"without the label {one_line(', '.join(sorted(others)))} of another constraint"


def _domains(stats: ConstraintStats) -> Table:
    hard = stats.minimum is not None
    table = _table("DOMAIN" if stats.all_listed else "WORST AND BEST", hard=hard)
    longest = max(domain.matching for domain in stats.domains)
    for domain in stats.domains:
        nodes = f"{domain.nodes:,}" if domain.counted else "not counted"
        table.add_row(
            domain_name(domain.value),
            Bar(domain.matching / (longest or 1), domain.fits),
            f"{domain.matching:,}",
            nodes,
            *_result(domain),
        )
    return table


def _result(domain: DomainStats) -> tuple[Text, ...]:
    if domain.skew is None:
        return ()
    return Text(f"{domain.skew:,}"), _fits(
        fits=bool(domain.fits), domains=1, feasible=min(domain.feasible, 1)
    )


def _histogram(stats: ConstraintStats) -> Table:
    """Return how many domains have how many pods, in few lines."""
    applied, minimum = stats.applied, stats.minimum
    table = _table("DOMAINS", hard=minimum is not None, nodes=False)
    above = -1 if minimum is None else applied.constraint.max_skew + minimum - applied.self_match
    lines = [
        line
        for side in (
            [alike for alike in stats.histogram if minimum is None or alike.matching <= above],
            [alike for alike in stats.histogram if minimum is not None and alike.matching > above],
        )
        for line in _few(side)
    ]
    longest = max((sum(alike.domains for alike in line) for line in lines), default=0)
    for line in lines:
        domains, least, most = sum(alike.domains for alike in line), line[0].matching, line[-1].matching
        fits = None if minimum is None else least <= above
        cells: list[RenderableType] = [
            f"{domains:,}",
            Bar(domains / (longest or 1), fits),
            _span(least, most),
        ]
        if minimum is not None:
            added = applied.self_match - minimum
            feasible = sum(alike.feasible for alike in line)
            fitting = _fits(fits=bool(fits), domains=domains, feasible=feasible)
            cells += [_span(least + added, most + added), fitting]
        table.add_row(*cells)
    return table


def _few(alike: list[EqualDomains]) -> list[list[EqualDomains]]:
    """Return neighbors together, so that few lines remain."""
    size = -(-len(alike) // MOST_LINES) or 1
    return [alike[start : start + size] for start in range(0, len(alike), size)]


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _table(first: str, *, hard: bool, nodes: bool = True) -> Table:
    counts = numbers("MATCHING PODS", *(["NODES"] if nodes else []), *(["SKEW"] if hard else []))
    return plain_table(first, Column("", no_wrap=True), *counts, *([Column("FITS")] if hard else []))


def _fits(*, fits: bool, domains: int, feasible: int) -> Text:
    """Return whether the pod can go to domains: by the constraint, and by everything else."""
    if not fits:
        return Text("no", "red")
    if not feasible:
        return Text("no, other reasons", "red")
    return Text("yes" if feasible == domains else f"{feasible:,} of {domains:,}", "green")
