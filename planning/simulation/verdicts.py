"""The sentence of a pod that no node takes: why it is pending, as one engineer would say it to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, plural
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.result import FilterResult, Rejections, SchedulingResult, ScoreResult

#: How the reason begins that a node lacks a resource, and any reason about one node.
_INSUFFICIENT: Final = "Insufficient "
_OF_NODE: Final = "node(s) "
#: What is said of nodes that a plugin refuses, where its own reason is longer.
_WORDS: Final = {
    Plugin.NODE_UNSCHEDULABLE: "cordoned",
    Plugin.NODE_AFFINITY: "outside its node affinity",
    Plugin.NODE_PORTS: "without the free port",
    Plugin.INTER_POD_AFFINITY: "against pod (anti-)affinity",
    Plugin.VOLUME_BINDING: "out of reach of its volume",
    Plugin.VOLUME_ZONE: "out of reach of its volume",
}
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")


def pending_sentence(result: SchedulingResult, cluster: ClusterIndex) -> str:
    """Return why no node takes a pod, in one sentence without its period.

    It is about the first constraint that refuses a node which everything else lets pass: the domains that
    hold its minimum, why none of their nodes takes the pod, and the domains that may not take it for that.
    Without such a constraint it has the commonest reasons.

    Args:
        result: Of a pod that fits nowhere.
        cluster: What was evaluated, not changed since.
    """
    if not result.names:
        return "there is no node"
    with cluster.reading():
        reasons = _Reasons(result, NodeView(cluster, result.request.pod))
    passing = reasons.passing()
    for spread in result.results:
        if isinstance(spread, FilterResult) and (refused := passing & ~spread.satisfied).any():
            labeled = refused & np.not_equal(spread.domains.of_node, MISSING)
            if labeled.any():
                return _of_constraint(spread, labeled, reasons)
            key = one_line(spread.applied.constraint.topology_key)
            verb = "lacks" if np.count_nonzero(refused) == 1 else "lack"
            return (
                f"{plural(int(np.count_nonzero(refused)), 'node')} that could take it {verb} the label {key}"
            )
    return f"none of {plural(len(result.names), 'node')} takes it: {reasons.of(np.ones_like(passing))}"


def refusing_domains(result: SchedulingResult, position: int, cluster: ClusterIndex) -> str:
    """Return the emptiest domains of a constraint and why none of their nodes takes a pod; empty if one does.

    Args:
        result: Of the pod.
        position: Of the constraint, among those in force.
        cluster: What was evaluated, not changed since.
    """
    spread = result.results[position]
    existing = spread.domains.existing()
    fewest = min((int(spread.domains.matching[at]) for at in existing), default=0)
    least = [at for at in existing if spread.domains.matching[at] == fewest]
    there = np.isin(spread.domains.of_node, least)
    if not least or (result.feasible & there).any():
        return ""
    with cluster.reading():
        reasons = _Reasons(result, NodeView(cluster, result.request.pod))
    verb = "takes" if len(least) == 1 else "take"
    return f"{_noun(spread, len(least))} {_who(spread, least)} {verb} none ({reasons.of(there)})"


class _Reasons:
    """The first reason of each node that refuses a pod, in few words."""

    def __init__(self, result: SchedulingResult, view: NodeView) -> None:
        self._result, self._view = result, view

    def passing(self) -> NDArray[np.bool_]:
        """Return the nodes that everything but the constraints lets pass, shape ``(n,)``."""
        passing = np.ones(len(self._result.names), np.bool_)
        for refusals in self._result.rejections:
            if refusals.plugin is not Plugin.POD_TOPOLOGY_SPREAD:
                passing &= refusals.of_node == 0
        return passing

    def of(self, asked: NDArray[np.bool_]) -> str:
        """Return the reasons of some nodes by number, the commonest first."""
        counts: Counter[str] = Counter()
        open_nodes = asked.copy()
        for refusals in self._result.rejections:
            refusing = open_nodes & (refusals.of_node > 0)
            open_nodes &= ~refusing
            for words, nodes in self._words(refusals, refusing):
                counts[words] += nodes
        common = counts.most_common(IN_PHRASE)
        texts = [f"{count:,} {words}" for words, count in common]
        if rest := sum(counts.values()) - sum(count for _, count in common):
            texts.append(f"{rest:,} for other reasons")
        return ", ".join(texts)

    def _words(self, refusals: Rejections, refusing: NDArray[np.bool_]) -> Iterator[tuple[str, int]]:
        """Yield what is said of the nodes that a plugin refuses, and of how many."""
        if refusals.plugin is Plugin.TAINT_TOLERATION:
            for number, count in _counted(self._view.taint_numbers[refusing]):
                taint = self._view.first_untolerated[number]
                value = "" if taint is None or not taint.value else f"={taint.value}"
                yield "tainted" if taint is None else f"tainted {one_line(taint.key)}{one_line(value)}", count
            return
        for number, count in _counted(refusals.of_node[refusing]):
            yield _shortened(refusals, number), count


def _counted(numbers: NDArray[np.signedinteger[Any]]) -> Iterable[tuple[int, int]]:
    return Counter(numbers.tolist()).items()


def _shortened(refusals: Rejections, number: int) -> str:
    """Return a reason without what every reason says."""
    texts = refusals.reasons[number - 1].texts
    if refusals.plugin is Plugin.POD_TOPOLOGY_SPREAD:
        return "against another constraint"
    if refusals.plugin is Plugin.NODE_RESOURCES_FIT:
        lacking = " and ".join(text.removeprefix(_INSUFFICIENT) for text in texts)
        return "full of pods" if lacking == "Too many pods" else f"short of {one_line(lacking)}"
    return _WORDS.get(refusals.plugin) or one_line(", ".join(texts)).removeprefix(_OF_NODE)


def _of_constraint(spread: FilterResult, refused: NDArray[np.bool_], reasons: _Reasons) -> str:
    """Return why a constraint refuses nodes that everything else lets pass."""
    domains, constraint = spread.domains, spread.applied.constraint
    noun = _noun(spread)
    held = sorted(
        set(domains.of_node[refused].tolist()), key=lambda at: (-domains.matching[at], domains.values[at])
    )
    then = f"{_who(spread, held)}, which {_holding(spread, held)}, may not take {_which(spread, held)}"
    rule = f"(maxSkew {constraint.max_skew})"
    existing = domains.existing()
    if len(existing) < constraint.min_domains:
        there = f"there {'is' if len(existing) == 1 else 'are'} {plural(len(existing), noun)}"
        why = f"fewer than minDomains {constraint.min_domains}, so the minimum counts as 0"
        return f"{there}, {why}: {then} {rule}"
    least = [at for at in existing if domains.matching[at] == spread.minimum]
    one = len(least) == 1
    whole = f"{noun if one else f'{noun}s'} {_who(spread, least)}"
    if len(least) > IN_PHRASE:
        whole = f"{len(least):,} {noun}s"
    number = f"{spread.minimum:,}" if spread.minimum else "none"
    has = f"{'has' if one else 'have'} {number} of these pods{'' if one or not spread.minimum else ' each'}"
    taking = "does not take one" if one else "do not take one"
    if noun != "node":
        taking = "no node there takes one"
    refusing = reasons.of(np.isin(domains.of_node, least))
    return f"{whole} {has} and {taking} ({refusing}), so {then} {rule}"


def _noun(spread: FilterResult | ScoreResult, count: int = 1) -> str:
    """Return what people call a domain of a constraint, or some."""
    key = spread.applied.constraint.topology_key
    noun = "node" if key == HOSTNAME else one_line(key.rpartition("/")[2])
    return noun if count == 1 else f"{noun}s"


def _who(spread: FilterResult | ScoreResult, positions: list[int]) -> str:
    """Return the names of domains, or how many they are."""
    names = [one_line(spread.domains.values[at]) or "(empty)" for at in positions]
    if len(names) > IN_PHRASE:
        return f"{len(names):,} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _holding(spread: FilterResult, positions: list[int]) -> str:
    """Return how many pods domains have."""
    counts = [int(spread.domains.matching[at]) for at in positions]
    if len(counts) == 1:
        return f"has {counts[0]:,}"
    low, high = min(counts), max(counts)
    return f"have {low:,} each" if low == high else f"have {low:,} to {high:,}"


def _which(spread: FilterResult, positions: list[int]) -> str:
    """Return which pod of theirs domains may not take."""
    counts = {int(spread.domains.matching[at]) for at in positions}
    if not spread.applied.self_match:
        return "this pod"
    if len(counts) == 1 and (number := counts.pop()) < len(_ORDINALS):
        return f"a {_ORDINALS[number]}"
    return "another"
