"""What stays, what recovers and what pends when something happens to the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.config.context import AdmissionContext
from policies.manifests.fields import FieldPath
from policies.model.taints import Taint
from policies.placement.actions import Action, AddNodes, CordonNode, DrainNode, LoseDomain, TaintNode
from policies.placement.placement import prepare, read_workload
from policies.placement.recovery import MOST_OTHERS, Outcome
from policies.placement.running_pods import RunningPods
from policies.placement.what_if import ActionError, WhatIf, what_if
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_pod, a_replica_set, a_workload
from tests.policies.placement.clusters import ZONE_KEY, a_node
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

AT = FieldPath(("actions", 0))
LOSE_A = LoseDomain(at=AT, key=ZONE_KEY, value="a")
#: Three zones with a node of 4 CPUs each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def _web(spread: Sequence[Object] = (), cpu: str = "1") -> Object:
    """Return a Deployment of three replicas."""
    resources = {"requests": {"cpu": cpu}}
    containers = [{"name": "c", "image": "web:1", "resources": resources}]
    workload = a_workload(spec={"topologySpreadConstraints": list(spread), "containers": containers})
    workload["spec"]["replicas"] = 3
    return workload


def _deployed(workload: Object, nodes: Mapping[str, str]) -> list[Object]:
    """Return the ReplicaSet of a Deployment, and its pods by name, each on a node."""
    replica_set = a_replica_set(workload, "5d9")
    template = replica_set["spec"]["template"]
    owner = ("apps/v1", "ReplicaSet", "web-5d9")
    pods = [
        a_pod(
            name=name,
            labels=template["metadata"]["labels"],
            spec={**template["spec"], "nodeName": node},
            owner=owner,
        )
        for name, node in nodes.items()
    ]
    return [replica_set, *pods]


def _other(name: str, node: str, cpu: str = "1", priority: int = 0, **fields: Any) -> Object:
    """Return a pod of another workload, in another namespace."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"nodeName": node, "priority": priority, "containers": containers}
    fields = {"owner": ("apps/v1", "ReplicaSet", "db"), "labels": {"app": "db"}, **fields}
    return a_pod(name=name, namespace="data", spec=spec, **fields)


def _what_if(
    objects: Sequence[Object],
    *actions: Action,
    workload: Object | None = None,
    known: bool = True,
    **options: Any,
) -> tuple[WhatIf, ClusterIndex]:
    context, running = AdmissionContext(policies=(), cluster=an_index(objects)), RunningPods()
    for obj in objects:
        running(obj)
    prepared = None if workload is None else prepare(read_workload(workload, context), context)
    assert context.cluster is not None
    cluster = context.cluster.fork("")
    given_pods = running if known else None
    return what_if(actions, cluster, context, prepared=prepared, running=given_pods, **options), cluster


def _outcomes(result: WhatIf) -> dict[str, str]:
    """Return the node of each displaced pod that has one again, otherwise what became of it, in turn."""
    return {
        entry.pod.name: str(entry.step.node if entry.step and entry.step.node else entry.outcome)
        for entry in result.recovery.displaced
    }


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
    web = _web([a_constraint(**fields)])
    objects = [*NODES, *_deployed(web, {"web-1": "n1", "web-2": "n2", "web-3": "n3"})]
    result, _ = _what_if(objects, LOSE_A, workload=web)
    (stages,) = result.domains

    assert {"web-1": outcome} == _outcomes(result)
    assert ({"a": 1, "b": 1, "c": 1}, left) == (stages.before, stages.disrupted)
    assert sum(stages.recovered.values()) == (2 if outcome == "pending" else 3)
    assert (2, 2) == (result.stayed, result.own_stayed)


def test_an_unreachable_zone_counts_on() -> None:
    """Its nodes stay with no pod, so the global minimum is 0; nodeTaintsPolicy Honor leaves them out."""
    outcomes = []
    for policy in ("Ignore", "Honor"):
        web = _web([a_constraint(nodeTaintsPolicy=policy)])
        objects = [*NODES, *_deployed(web, {"web-1": "n1", "web-2": "n2", "web-3": "n3"})]
        lose = LoseDomain(at=AT, key=ZONE_KEY, value="a", unreachable=True)
        outcomes.append(_outcomes(_what_if(objects, lose, workload=web)[0])["web-1"])

    assert ["pending", "n2"] == outcomes


def test_others_compete_by_priority() -> None:
    """With room for one of two, the higher priority gets it; the order of creation decides between equals."""
    web = _web(cpu="3")
    objects = [
        *NODES[:2],
        *_deployed(web, {"web-1": "n1"}),
        _other("db-new", "n1", "0", creationTimestamp="2026-02-01T00:00:00Z"),
        _other("db-old", "n1", "0", creationTimestamp="2026-01-01T00:00:00Z"),
        _other("db-first", "n1", "2", priority=1000),
    ]
    everyone, cluster = _what_if(objects, LOSE_A, workload=web)
    own, _ = _what_if(objects, LOSE_A, workload=web, others=False)
    unknown, _ = _what_if(objects, LOSE_A, workload=web, known=False)

    assert [("db-first", "n2"), ("web-1", "pending"), ("db-old", "n2"), ("db-new", "n2")] == list(
        _outcomes(everyone).items()
    )
    assert {"data": 3} == {name: len(table) for name, table in cluster.pod_tables()}
    assert ("n2", "notTried") == (_outcomes(own)["web-1"], _outcomes(own)["db-first"])
    assert ("n2", "notTried") == (_outcomes(unknown)["web-1"], _outcomes(unknown)["db-first"])
    assert (True, True, False) == tuple(each.recovery.complete for each in (everyone, own, unknown))


def test_what_nothing_replaces() -> None:
    """Bare pods, those of DaemonSets and static ones are gone."""
    objects = [
        *NODES,
        _other("bare", "n1", owner=None),
        _other("agent", "n1", owner=("apps/v1", "DaemonSet", "agent")),
        _other("static", "n1", owner=("v1", "Node", "n1")),
    ]
    result, cluster = _what_if(objects, LOSE_A)

    assert (3, 0) == (result.recovery.count(Outcome.NOT_RECREATED), cluster.pod_count)


def test_a_pod_that_nothing_can_prepare() -> None:
    """What the API server would reject is not scheduled again, and says why."""
    broken = _other("db", "n1")
    broken["spec"]["topologySpreadConstraints"] = [a_constraint(maxSkew=0)]
    result, _ = _what_if([*NODES, broken], LOSE_A)

    assert [Outcome.NOT_TRIED] == [entry.outcome for entry in result.recovery.displaced]


def test_more_others_than_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The given workload's pods are all scheduled again, however many others there are."""
    assert MOST_OTHERS > 1
    monkeypatch.setattr("policies.placement.recovery.MOST_OTHERS", 1)
    web = _web(cpu="1m")
    objects = [*NODES, *_deployed(web, {"web-1": "n1"}), _other("db-1", "n1", "0"), _other("db-2", "n1", "0")]
    result, _ = _what_if(objects, LOSE_A, workload=web)

    assert {"db-1": "n2", "db-2": "notTried", "web-1": "n3"} == _outcomes(result)


def test_errors_come_all_at_once() -> None:
    """Every action that names what the cluster does not have is an error."""
    actions: list[Action] = [DrainNode(at=AT, node="n8"), LOSE_A, CordonNode(at=AT, node="n9")]
    with pytest.raises(ActionError) as caught:
        _what_if(NODES, *actions)

    assert 2 == len(caught.value.errors)


def test_preemption_is_named() -> None:
    """A pod with a priority that pends might evict others, which is not modeled."""
    objects = [*NODES[:2], _other("low", "n2", "4"), _other("high", "n1", "4", priority=10)]
    result, _ = _what_if(objects, LOSE_A)

    assert ({"high": "pending"}, ("preemption",)) == (_outcomes(result), result.recovery.unmodeled)


_names = st.sampled_from(["n1", "n2", "n3", "n4"])
_effects = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
_taints = st.builds(Taint, st.just("team"), st.sampled_from(["", "x"]), _effects)
_actions = st.one_of(
    st.builds(
        LoseDomain,
        at=st.just(AT),
        key=st.just(ZONE_KEY),
        value=st.sampled_from("ab"),
        unreachable=st.booleans(),
    ),
    st.builds(DrainNode, at=st.just(AT), node=_names),
    st.builds(CordonNode, at=st.just(AT), node=_names),
    st.builds(TaintNode, at=st.just(AT), node=_names, taint=_taints),
    st.builds(AddNodes, at=st.just(AT), like=_names, count=st.integers(0, 2)),
)


@given(
    own=st.lists(_names, max_size=8),
    others=st.lists(_names, max_size=4),
    actions=st.lists(_actions, min_size=1, max_size=3),
    max_skew=st.integers(1, 3),
    known=st.booleans(),
)
def test_whatever_happens(
    own: list[str], others: list[str], actions: list[Action], max_skew: int, *, known: bool
) -> None:
    """No pod is where no pod can be, what stayed did not move, and every pod is accounted for once."""
    nodes = [a_node(name, zone, cpu="3") for name, zone in zip(["n1", "n2", "n3", "n4"], "aabb", strict=True)]
    web = _web([a_constraint(maxSkew=max_skew)])
    pods = _deployed(web, {f"web-{number}": node for number, node in enumerate(own)})
    objects = [*nodes, *pods, *(_other(f"db-{number}", node) for number, node in enumerate(others))]
    before = set(an_index(objects).pods_on(["n1", "n2", "n3", "n4"]))
    try:
        result, cluster = _what_if(objects, *actions, workload=web, known=known)
    except ActionError:
        return  # A node was lost before.
    displaced, recovery = result.recovery.displaced, result.recovery
    after = set(cluster.pods_on(cluster.nodes.names()))
    moved = {entry.pod for entry in displaced}
    placed = {(e.pod.namespace, e.pod.name, e.step.node) for e in displaced if e.step and e.step.node}
    closed = set(recovery.disruption.lost) | {
        action.node for action in actions if isinstance(action, DrainNode | CordonNode)
    }

    assert len(displaced) == len(moved)
    assert before - moved <= after
    assert len(before) - len(moved) == result.stayed
    assert {pod[:3] for pod in after - (before - moved)} == placed
    assert not {node for *_, node in placed} & closed
    assert all(entry.workload is not None or known for entry in displaced if entry.step)
    counts = {outcome: recovery.count(outcome) for outcome in Outcome}
    assert sum(counts.values()) == len(displaced)
    assert sorted(displaced, key=lambda entry: -entry.priority) == list(displaced)
