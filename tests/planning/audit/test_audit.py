"""How workloads are spread now, against what their constraints ask for."""

from __future__ import annotations

from typing import Any

import pytest

from planning.audit.audit import audit, workload_skew
from planning.audit.words import why
from planning.audit.workload_audit import Risk, WorkloadAudit
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload
from policies.model.topology_keys import ZONE
from policies.model.workload import Workload
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod, a_policy, a_workload, kind_of
from tests.planning.verdicts import on
from tests.policies.config.contexts import a_context
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
_NO_ZONE: Object = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
}
SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}


def _audit(spread: list[Object], *objects: Object, replicas: int = 3, pending: int = 0) -> WorkloadAudit:
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": spread})
    obj["spec"]["replicas"] = replicas
    workload = Workload.read(obj, kind_of("StatefulSet", "apps"), "shop")
    return audit(ClusterWorkload(workload, "StatefulSet", "web", pending), context)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            _audit([a_constraint()], *NODES, *on("n1", 1), *on("n2", 1), *on("n3", 1)), [], id="even"
        ),
        pytest.param(
            _audit([a_constraint()], *NODES, *on("n1", 3)),
            [(Risk.VIOLATED, 0), (Risk.ONE_DOMAIN, None)],
            id="all in one zone, DoNotSchedule",
        ),
        pytest.param(
            _audit([a_constraint(**SOFT)], *NODES, *on("n1", 3)),
            [(Risk.ONE_DOMAIN, None), (Risk.UNEVEN, 0)],
            id="the same, ScheduleAnyway",
        ),
        pytest.param(
            _audit([a_constraint(minDomains=4)], *NODES, *on("n1", 1), *on("n2", 1), *on("n3", 1)),
            [(Risk.NO_ROOM, None)],
            id="one each, but minDomains is 4",
        ),
        pytest.param(
            _audit([a_constraint(minDomains=4)], *NODES, *on("n1", 1), replicas=2, pending=1),
            [],
            id="a pod is pending that fits: for another reason",
        ),
        pytest.param(
            _audit([a_constraint()], *NODES[:2], a_node("n3", "c", unschedulable=True), *on("n1", 1),
                   *on("n2", 1), pending=1),
            [(Risk.PENDING, None)],
            id="a cordoned zone keeps the minimum at 0",
        ),
        pytest.param(
            _audit([a_constraint(topologyKey="rack", **SOFT)], *NODES, *on("n1", 1)),
            [(Risk.NEVER_BINDS, 0)],
            id="no node has the key",
        ),
        pytest.param(
            _audit([a_constraint(labelSelector=None)], *NODES, *on("n1", 3)),
            [(Risk.ONE_DOMAIN, None), (Risk.NEVER_BINDS, 0)],
            id="no selector",
        ),
        pytest.param(
            _audit([a_constraint(labelSelector={"matchLabels": {"app": "other"}})], *NODES, *on("n1", 3)),
            [(Risk.ONE_DOMAIN, None), (Risk.NEVER_BINDS, 0)],
            id="a selector that matches no pod of any workload",
        ),
        pytest.param(
            _audit([a_constraint(labelSelector={"matchLabels": {"app": "other"}})], *NODES,
                   a_pod(name="other", labels={"app": "other"}, spec={"nodeName": "n1"})),
            [],
            id="a selector that matches pods of another workload alone",
        ),
        pytest.param(
            _audit([a_constraint(maxSkew=2), a_constraint(topologyKey=HOSTNAME, **SOFT)],
                   *NODES, *on("n1", 3)),
            [(Risk.VIOLATED, 0), (Risk.ONE_DOMAIN, None), (Risk.UNEVEN, 1)],
            id="two, the worst first",
        ),
        pytest.param(_audit([a_constraint(maxSkew=0)], *NODES), [(Risk.INVALID, None)], id="invalid"),
        pytest.param(
            _audit([a_constraint(minDomains=4)], *NODES, *on("n1", 1), *on("n2", 1), replicas=0),
            [],
            id="no replicas: no next one",
        ),
    ],
)  # fmt: skip
def test_risks(found: WorkloadAudit, expected: list[tuple[Risk, int | None]]) -> None:
    """Each risk, with the position of its constraint."""
    assert expected == [(problem.risk, problem.constraint) for problem in found.problems]


def test_numbers() -> None:
    """The audit counts pods, skew, minimum and the room for more."""
    found = _audit([a_constraint()], *NODES, *on("n1", 2), *on("n2", 1))
    (skew,) = found.constraints

    assert (3, 3, 0) == (found.wanted, found.running, found.pending)
    assert (3, 0, 2, "a", 2) == (skew.domains, skew.minimum, skew.most, skew.fullest, skew.skew)
    assert found.room is not None
    # 110 pods fit on a node.
    assert 327 == found.room.pods


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(on("n1", 2), [Risk.ONE_DOMAIN], id="2-built-in"),
        pytest.param(on("n1", 5), [Risk.ONE_DOMAIN, Risk.UNEVEN], id="5-built-in-uneven-too"),
        pytest.param([*on("n1", 2), *on("n2", 1)], [], id="3-in-2-zones"),
    ],
)
def test_built_in_defaults(pods: list[Object], expected: list[Risk]) -> None:
    """kube-scheduler's own defaults are no protection."""
    replica_set = a_workload("ReplicaSet")
    context = AdmissionContext(policies=(), cluster=an_index([*NODES, replica_set, *pods]))
    workload = Workload.read(replica_set, kind_of("ReplicaSet", "apps"), "shop")
    found = audit(ClusterWorkload(workload, "ReplicaSet", "web", 0), context)
    assert expected == [problem.risk for problem in found.problems]


@pytest.mark.parametrize(
    ("nodes", "pods", "expected"),
    [
        pytest.param(NODES, [*on("n1", 2), *on("n2", 1)], (3, "a", 1), id="2-of-3"),
        pytest.param(NODES, [*on("n2", 1), *on("n1", 1)], (3, "a", 1), id="1-of-2-first-by-name"),
        pytest.param(NODES, [], (3, None, 0), id="0-of-0"),
        pytest.param([_NO_ZONE], on("n1", 2), (0, None, 2), id="no-zones"),
    ],
)
def test_survival(nodes: list[Object], pods: list[Object], expected: tuple[int, str | None, int]) -> None:
    """How many pods are left without the zone that has most, of how many there could be."""
    zone, _ = _audit([a_constraint()], *nodes, *pods).survival
    assert expected == (zone.possible, zone.fullest, zone.left)


def test_pods_elsewhere_than_they_may_be() -> None:
    """Where its pods could be in no other zone, that they are all in one is not held against them."""
    tainted = [a_node(name, zone, taints=[{"key": "gpu", "effect": "NoSchedule"}]) for name, zone in
               (("n2", "b"), ("n3", "c"))]  # fmt: skip
    found = _audit([a_constraint()], NODES[0], a_node("n4", "a"), *tainted, *on("n1", 1), *on("n4", 1))

    assert Risk.ONE_DOMAIN not in {problem.risk for problem in found.problems}
    assert [(1, False), (2, False)] == [(each.possible, each.stops) for each in found.survival]


@pytest.mark.parametrize(
    ("nodes", "pods", "expected"),
    [
        pytest.param(NODES, on("n1", 2), {ZONE: "a", HOSTNAME: "n1"}, id="one zone"),
        pytest.param(
            [a_node("n1", "a"), a_node("n2", "a")], on("n1", 2), {HOSTNAME: "n1"}, id="one zone in all"
        ),
        pytest.param(NODES, [*on("n1", 1), *on("n2", 1)], {}, id="two zones"),
        pytest.param(NODES, on("n1", 1), {}, id="a single pod"),
        pytest.param(NODES[:1], on("n1", 2), {}, id="a single node"),
    ],
)
def test_pods_without_constraints(nodes: list[Object], pods: list[Object], expected: dict[str, str]) -> None:
    """Several pods without a constraint in one of several domains are a risk."""
    context = AdmissionContext(policies=(), cluster=an_index([*nodes, *pods]))
    # A CloneSet gets no defaults: kube-scheduler does not know its selector.
    obj = a_workload("CloneSet", "apps.kruise.io")
    workload = Workload.read(obj, kind_of("CloneSet", "apps.kruise.io"), "shop")
    found = audit(ClusterWorkload(workload, "CloneSet", "web", 0), context)

    assert expected == {each.topology_key: each.fullest for each in found.survival if each.stops}
    assert ([Risk.ONE_DOMAIN] if expected else []) == [problem.risk for problem in found.problems]


#: A pod on each of three nodes in one zone as ``on`` has it, created with the constraint.
_SPREAD_PODS = [
    a_pod(name=f"n1-{number}", spec={"nodeName": "n1", "topologySpreadConstraints": [a_constraint()]})
    for number in range(3)
]


@pytest.mark.parametrize(
    ("at", "pods", "expected"),
    [
        pytest.param("workloads", on("n1", 3), Risk.ONE_DOMAIN, id="workloads: it is stored without"),
        pytest.param("pods", on("n1", 3), Risk.WOULD_VIOLATE, id="pods: those that run are from before"),
        pytest.param("both", on("n1", 3), Risk.WOULD_VIOLATE, id="both: the same"),
        pytest.param("pods", [*_SPREAD_PODS[:2], *on("n1", 3)[2:]], Risk.WOULD_VIOLATE, id="pods: one is"),
        pytest.param("pods", _SPREAD_PODS, Risk.VIOLATED, id="pods: each has the constraint"),
    ],
)
def test_defaults_of_a_policy(at: str, pods: list[Object], expected: Risk) -> None:
    """A policy changes what is created: what is older was not placed by what it gives."""
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    policy = a_policy(defaults={"at": at, "constraints": [default]})
    context = a_context(policy, cluster=[*NODES, *pods])
    workload = Workload.read(a_workload("StatefulSet"), kind_of("StatefulSet", "apps"), "shop", stored=True)
    entry = ClusterWorkload(workload, "StatefulSet", "web", 0)

    found = audit(entry, context)
    assert expected is found.problems[0].risk
    assert (at == "workloads") == (Risk.NOT_INJECTED in [problem.risk for problem in found.problems])
    assert ("production" if at == "workloads" else None) == found.missed_policy
    shown = dict.fromkeys([expected, Risk.ONE_DOMAIN])
    assert list(shown) == [problem.risk for problem in workload_skew(entry, context).problems]


@pytest.mark.parametrize(
    ("owner", "own", "expected"),
    [
        pytest.param(("apps/v1", "Deployment"), [], True, id="a ReplicaSet of a Deployment"),
        pytest.param(("acme.io/v1", "App"), [], False, id="of an operator, whose template decides"),
        pytest.param(("apps/v1", "Deployment"), [a_constraint()], False, id="constraints of its own"),
    ],
)
def test_what_a_policy_would_have_given(owner: tuple[str, str], own: list[Object], *, expected: bool) -> None:
    """A policy is named that would give constraints to what the author creates, if that has none."""
    obj = a_workload("ReplicaSet", spec={"topologySpreadConstraints": own} if own else {})
    reference = {"apiVersion": owner[0], "kind": owner[1], "name": "web", "controller": True}
    obj["metadata"]["ownerReferences"] = [reference]
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    policy = a_policy(defaults={"at": "workloads", "constraints": [default]})
    workload = Workload.read(obj, kind_of("ReplicaSet", "apps"), "shop", stored=True)
    found = audit(ClusterWorkload(workload, owner[1], "web", 0), a_context(policy, cluster=NODES))
    said = [why(problem, found) for problem in found.problems if problem.risk is Risk.NOT_INJECTED]

    assert expected == ("SpreadPolicy production gives default constraints" in " ".join(said))
