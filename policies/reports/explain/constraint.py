"""One constraint in words: what it counts, the operands of its check, and its domains."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from policies.model.constraint import NodeInclusionPolicy
from policies.model.topology_keys import HOSTNAME
from policies.placement.core.placement import Placement
from policies.reports.domains import domain_bars
from policies.reports.terminal import indented
from policies.scheduler.domain_stats import ConstraintStats
from policies.scheduler.node_table import MISSING


def constraint_text(stats: ConstraintStats, placement: Placement, *, width: int) -> Iterator[RenderableType]:
    """Yield the lines below a constraint's title.

    Args:
        stats: The constraint.
        placement: Of the pod that it is in force for.
        width: Columns of the terminal.
    """
    for line in _lines(stats, placement):
        yield indented(Text(line))
    if not _is_of_one_node(stats, placement):
        yield from domain_bars(stats, width=width)


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
