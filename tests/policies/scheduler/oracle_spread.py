"""How the constraints in force filter and score nodes; shares no code with ``policies``.

Source: ``filtering.go`` and ``scoring.go``, ``pkg/scheduler/framework/plugins/podtopologyspread``, Kubernetes
1.36.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from tests.policies.scheduler.oracle_constraints import HOSTNAME, Behavior, Spread
from tests.policies.scheduler.oracle_matching import (
    Object,
    affinity_allows,
    has_untolerated_taint,
    labels_of,
    matches,
    name_of,
    namespace_of,
)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A pod before a cluster: the nodes and, by node name, the pods that are there for the scheduler."""

    pod: Object
    nodes: list[Object]
    pods_on: dict[str, list[Object]]
    hard: list[Spread]
    soft: list[Spread]
    #: Whether the soft constraints are the built-in ones, which score nodes that lack a key.
    lenient: bool
    behavior: Behavior

    def count(self, spread: Spread, node: Object) -> int:
        """Count the pods on a node that a constraint counts.

        "Only pods of the incoming pod's namespace count"; "a pod with deletionTimestamp is on the node but is
        not counted"; ``{}`` "matches every pod as a self match, but the count over existing pods is 0".
        """
        if spread.selector == () and not self.behavior.empty_selector_counts:
            return 0
        return sum(
            namespace_of(pod) == namespace_of(self.pod)
            and not pod["metadata"].get("deletionTimestamp")
            and matches(spread.selector, labels_of(pod))
            for pod in self.pods_on[name_of(node)]
        )

    def takes_part(self, spread: Spread, node: Object) -> bool:
        """Tell whether the inclusion policies of a constraint let a node into its counts and domains."""
        if spread.honors_affinity and not affinity_allows(self.pod, node):
            return False
        return not (spread.honors_taints and has_untolerated_taint(self.pod, node))


def spread_refusal(situation: Situation, node: Object) -> dict[str, str]:
    """Return why, and with which code, the hard constraints refuse a node; empty if they do not.

    "For each candidate node, in constraint order: key missing -> reject; else skew = count + (1 if the pod
    matches its own selector) - minimum; skew > maxSkew -> reject. Every node is a candidate for this check,
    also one that the inclusion policies left out of the counts."
    """
    reason = "node(s) didn't match pod topology spread constraints"
    for spread in situation.hard:
        domain = labels_of(node).get(spread.topology_key)
        if domain is None:
            return {
                "podTopologySpread": f"{reason} (missing required label)",
                "podTopologySpreadCode": "UnschedulableAndUnresolvable",
            }
        counts = hard_counts(situation, spread)
        self_match = matches(spread.selector, labels_of(situation.pod))
        if counts.get(domain, 0) + self_match - global_minimum(spread, counts) > spread.max_skew:
            return {"podTopologySpread": reason, "podTopologySpreadCode": "Unschedulable"}
    return {}


def hard_counts(situation: Situation, spread: Spread) -> dict[str, int]:
    """Count the pods of each domain of a hard constraint.

    "count(domain) = matching pods on the eligible nodes of the domain. A domain exists if at least one
    eligible node carries the value, even with 0 pods. A node must carry every topology key of the constraints
    considered together to take part at all."
    """
    counts: dict[str, int] = {}
    for node in situation.nodes:
        if has_keys(node, situation.hard) and situation.takes_part(spread, node):
            domain = labels_of(node)[spread.topology_key]
            counts[domain] = counts.get(domain, 0) + situation.count(spread, node)
    return counts


def global_minimum(spread: Spread, counts: Mapping[str, int]) -> int:
    """Return the "smallest count over the existing domains, or 0 if there are fewer than minDomains"."""
    return 0 if len(counts) < spread.min_domains else min(counts.values())


def has_keys(node: Object, spreads: list[Spread]) -> bool:
    """Tell whether a node carries every topology key of constraints."""
    return all(spread.topology_key in labels_of(node) for spread in spreads)


def raw_scores(situation: Situation, feasible: list[Object]) -> tuple[dict[str, int], set[str]]:
    """Return the feasible nodes' scores before normalization, and the names of those that are ignored.

    "A feasible node that lacks one of the soft topology keys is ignored, unless the constraints are the
    built-in system defaults: then it is scored on the keys it has. Raw score = round(sum over its constraints
    of count * weight + (maxSkew - 1)), rounding halves away from zero."
    """
    considered = [node for node in feasible if situation.lenient or has_keys(node, situation.soft)]
    names = {name_of(node) for node in considered}
    sums = dict.fromkeys((name_of(node) for node in feasible), 0.0)
    for spread in situation.soft:
        counts = soft_counts(situation, spread, considered)
        size = len(considered) if spread.topology_key == HOSTNAME else len(counts)
        weight = math.log(size + 2)
        for node in considered:
            domain = labels_of(node).get(spread.topology_key)
            if domain is not None:
                own = situation.count(spread, node)
                count = own if spread.topology_key == HOSTNAME else counts[domain]
                sums[name_of(node)] += count * weight + (spread.max_skew - 1)
    return {name: round_half_away(total) for name, total in sums.items()}, sums.keys() - names


def soft_counts(situation: Situation, spread: Spread, considered: list[Object]) -> dict[str, int]:
    """Count the pods of each value that occurs among the considered nodes.

    "The sum over all nodes that carry all the soft keys (all keys not required with system defaults), pass
    that constraint's inclusion policies, and whose value occurs among the feasible ones"; with system
    defaults a "missing value counts as one more domain (the empty value)".
    """
    counts = dict.fromkeys((labels_of(node).get(spread.topology_key, "") for node in considered), 0)
    for node in situation.nodes:
        domain = labels_of(node).get(spread.topology_key, "")
        known = situation.lenient or has_keys(node, situation.soft)
        if known and domain in counts and situation.takes_part(spread, node):
            counts[domain] += situation.count(spread, node)
    return counts


def round_half_away(value: float) -> int:
    """Round as Go's ``math.Round``; no score is negative, so half up is half away from zero."""
    return int(Decimal(value).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def normalized(raw: Mapping[str, int], ignored: set[str]) -> dict[str, int]:
    """Return scores from 0 to 100, higher being better.

    "With min and max over the not ignored nodes, 100 * (max + min - raw) / max in integer division; all 100
    if max is 0; ignored nodes 0."
    """
    kept = [score for name, score in raw.items() if name not in ignored]
    scores = dict.fromkeys(raw, 0)
    for name in raw.keys() - ignored:
        scores[name] = 100 * (max(kept) + min(kept) - raw[name]) // max(kept) if max(kept) else 100
    return scores
