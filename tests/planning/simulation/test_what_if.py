"""The pods that stay, recover and are pending when something happens to the nodes of a cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.events import AddedNodes, LostDomain, NodeEvent
from planning.simulation.recovery import PodOutcome
from planning.simulation.what_if import ActionError
from policies.model.taints import Taint
from tests.builders import a_constraint, a_deployment, a_node
from tests.planning.clusters import ZONE_KEY
from tests.planning.what_ifs import (
    LOSE_A,
    NODES,
    Object,
    another_pod,
    its_pods,
    outcomes_of,
    tainting,
    try_out,
)
from tests.policies.scheduler.clusters import an_index


@pytest.mark.parametrize(
    ("fields", "left", "outcome"),
    [
        pytest.param({}, {"b": 1, "c": 1}, "n2", id="maxSkew 1 over the two zones that are left: it fits"),
        pytest.param(
            {"minDomains": 3}, {"b": 1, "c": 1}, "pending", id="minDomains 3 of 2: minimum 0, stuck"
        ),
        pytest.param(
            {"minDomains": None, "whenUnsatisfiable": "ScheduleAnyway"},
            {"b": 1, "c": 1},
            "n2",
            id="soft: it fits",
        ),
    ],
)
def test_a_zone_is_lost(fields: Object, left: dict[str, int], outcome: str) -> None:
    """The replicas elsewhere stay, and the lost one spreads over the domains that still exist."""
    web = a_deployment(a_constraint(**fields), cpu="1")
    objects = [*NODES, *its_pods(web, {"web-1": "n1", "web-2": "n2", "web-3": "n3"})]
    result, _ = try_out(objects, LOSE_A, workload=web)
    (stages,) = result.domains

    assert {"web-1": outcome} == outcomes_of(result)
    assert ({"a": 1, "b": 1, "c": 1}, left) == (stages.before, stages.disrupted)
    assert sum(stages.recovered.values()) == (2 if outcome == "pending" else 3)
    assert (2, 2) == (result.stayed, result.own_stayed)


def test_an_unreachable_zone_counts_on() -> None:
    """Its nodes stay with no pod, so the global minimum is 0; nodeTaintsPolicy Honor leaves them out."""
    outcomes = []
    for policy in ("Ignore", "Honor"):
        web = a_deployment(a_constraint(nodeTaintsPolicy=policy), cpu="1")
        objects = [*NODES, *its_pods(web, {"web-1": "n1", "web-2": "n2", "web-3": "n3"})]
        lose = NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a", unreachable=True))
        outcomes.append(outcomes_of(try_out(objects, lose, workload=web)[0])["web-1"])

    assert ["pending", "n2"] == outcomes


def test_errors_come_all_at_once() -> None:
    """Every action that names what the cluster does not have is an error."""
    actions: list[NodeEvent] = [NodeEvent(drain="n8"), LOSE_A, NodeEvent(cordon="n9")]
    with pytest.raises(ActionError) as caught:
        try_out(NODES, *actions)

    assert 2 == len(caught.value.errors)


_names = st.sampled_from(["n1", "n2", "n3", "n4"])
_effects = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
_taints = st.builds(Taint, st.just("team"), st.sampled_from(["", "x"]), _effects)
_lost = st.builds(
    LostDomain, topology_key=st.just(ZONE_KEY), value=st.sampled_from("ab"), unreachable=st.booleans()
)
_actions = st.one_of(
    st.builds(NodeEvent, lose=_lost),
    st.builds(NodeEvent, drain=_names),
    st.builds(NodeEvent, cordon=_names),
    st.builds(NodeEvent, uncordon=_names),
    st.builds(tainting, _names, _taints),
    st.builds(NodeEvent, add=st.builds(AddedNodes, like=_names, count=st.integers(0, 2))),
)


@given(
    own=st.lists(_names, max_size=8),
    others=st.lists(_names, max_size=4),
    actions=st.lists(_actions, min_size=1, max_size=3),
    max_skew=st.integers(1, 3),
    known=st.booleans(),
)
def test_whatever_happens(
    own: list[str], others: list[str], actions: list[NodeEvent], max_skew: int, *, known: bool
) -> None:
    """No pod is where no pod can be, what stayed did not move, and every pod is accounted for once."""
    nodes = [a_node(name, zone, cpu="3") for name, zone in zip(["n1", "n2", "n3", "n4"], "aabb", strict=True)]
    web = a_deployment(a_constraint(maxSkew=max_skew), cpu="1")
    pods = its_pods(web, {f"web-{number}": node for number, node in enumerate(own)})
    objects = [*nodes, *pods, *(another_pod(f"db-{number}", node) for number, node in enumerate(others))]
    before = set(an_index(objects).pods_on(["n1", "n2", "n3", "n4"]))
    try:
        result, cluster = try_out(objects, *actions, workload=web, known=known)
    except ActionError:
        return  # A node was lost before.
    displaced, recovery = result.recovery.displaced, result.recovery
    after = set(cluster.pods_on(cluster.nodes.names()))
    moved = {entry.pod for entry in displaced}
    placed = {(e.pod.namespace, e.pod.name, e.step.node) for e in displaced if e.step and e.step.node}
    closed = set(recovery.disruption.lost)
    for action in actions:
        match action:
            case NodeEvent(drain=str(node)) | NodeEvent(cordon=str(node)):
                closed.add(node)
            case NodeEvent(uncordon=str(node)):
                closed.discard(node)

    assert len(displaced) == len(moved)
    assert before - moved <= after
    assert len(before) - len(moved) == result.stayed
    assert {pod[:3] for pod in after - (before - moved)} == placed
    assert not {node for *_, node in placed} & closed
    assert all(entry.workload is not None or known for entry in displaced if entry.step)
    counts = {outcome: recovery.count(outcome) for outcome in PodOutcome}
    assert sum(counts.values()) == len(displaced)
    assert sorted(displaced, key=lambda entry: -entry.priority) == list(displaced)
