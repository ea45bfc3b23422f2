"""Counts that are followed stay those that an evaluation finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.model.cluster_kinds import POD
from policies.scheduler.domain_tally import DomainTally
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index

#: Nodes with and without zones, tainted, selected or not, and one that the cluster does not have.
NODES = [
    a_node("n1", {"zone": "a", "disk": "ssd"}),
    a_node("n2", {"zone": "a"}, taints=["k=v:NoSchedule"]),
    a_node("n3", {"zone": "b", "disk": "ssd"}, taints=["k=v:NoSchedule"]),
    a_node("n4", {"disk": "ssd"}),
    a_node("n5", {"zone": "c"}),
]
UNKNOWN = "n6"


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a pod with up to two constraints, or with those of the system."""
    spread = [
        a_constraint(
            topologyKey=key,
            whenUnsatisfiable=draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
            nodeTaintsPolicy=draw(st.sampled_from(["Honor", "Ignore"])),
            nodeAffinityPolicy=draw(st.sampled_from(["Honor", "Ignore"])),
        )
        for key in draw(st.lists(st.sampled_from(["zone", "kubernetes.io/hostname"]), unique=True))
    ]
    return a_pod("p", spread=spread, nodeSelector=draw(st.sampled_from([{}, {"disk": "ssd"}])))


def _found(request: SchedulingRequest, index: ClusterIndex) -> list[dict[str, int]]:
    return [
        {
            result.domains.values[each]: int(result.domains.matching[each])
            for each in result.domains.existing()
        }
        for result in evaluate(request, index).results
    ]


class TestDomainTally:
    """Counts are kept up to date without counting all pods again."""

    @given(
        pod=pods(),
        placed=st.lists(
            st.tuples(st.sampled_from(["n1", "n2", "n3", "n4", "n5", UNKNOWN]), st.booleans()), max_size=8
        ),
        kept=st.integers(0, 8),
    )
    def test_like_an_evaluation(self, pod: dict[str, Any], placed: list[tuple[str, bool]], kept: int) -> None:
        """Pods are bound to all kinds of nodes, then some are deleted."""
        index = an_index(NODES)
        request = a_request(pod, {}, index)
        tally = DomainTally(request, index)
        for number, (node, selected) in enumerate(placed):
            labels = {"app": "web" if selected else "other"}
            index.apply(a_pod(f"p{number}", node, labels))
            tally.add(node, frozenset(labels.items()), 1)
        assert list(tally.counts()) == _found(request, index)
        for number, (node, selected) in enumerate(placed[kept:], start=kept):
            index.remove(*POD, "shop", f"p{number}")
            tally.add(node, frozenset({("app", "web" if selected else "other")}), -1)
        found = _found(request, index)

        assert list(tally.counts()) == found
        assert [max(each.values(), default=0) - min(each.values(), default=0) for each in found] == list(
            tally.skews()
        )
