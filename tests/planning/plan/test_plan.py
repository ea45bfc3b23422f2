"""Plans that were worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planning.plan.placement_plan import PlacementPlan, PlannedWorkload
from planning.plan.plan import ManifestSet, make_plan, unfinished_workloads
from planning.plan.plan_differences import PlanAction, Source
from planning.simulation.object_differences import Difference
from planning.simulation.rollout.courses import RolloutEnd
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload_ref import with_namespace
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.request import ConstraintOrigin
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.planned import (
    NODES,
    SPREAD,
    a_cluster,
    a_deployment,
    a_set,
    plan,
    running,
)

ZONE = "topology.kubernetes.io/zone"
#: A policy that spreads the pods of all workloads over the zones.
POLICY = """
apiVersion: evenkeel.dev/v1alpha1
kind: SpreadPolicy
metadata: {name: spread}
spec:
  defaults:
    at: workloads
    constraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]
"""


def _only(found: PlacementPlan) -> PlannedWorkload:
    (workload,) = found.workloads
    return workload


def test_nothing_changes() -> None:
    """Equal sets are an empty plan, whatever runs."""
    found = plan(a_set(a_deployment(3)), a_set(a_deployment(3)), *running("n1"))

    assert ((), 1, 0, False) == (found.workloads, found.unchanged, found.pending, found.fails)


def test_a_constraint_is_added() -> None:
    """Three pods in zone a become one pod in each zone, and the constraint is new."""
    before, after = a_set(a_deployment(3)), a_set(a_deployment(3, spec=SPREAD))
    workload = _only(plan(before, after, *running("n1", "n1", "n1")))
    (domains,) = workload.domains

    assert PlanAction.CHANGE is workload.action
    assert (Difference.TEMPLATE, Difference.CONSTRAINTS) == workload.differences
    assert ({"a": 3, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 1}) == (domains.now, domains.after)
    assert (True, False, 0) == (domains.is_new, domains.is_gone, domains.skew)


def test_a_constraint_is_removed() -> None:
    """Domains of a removed constraint are still shown, under the defaults that replace it."""
    before, after = a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(3))
    domains = _only(plan(before, after, *running("n1", "n2", "n3"))).domains
    origins = [ConstraintOrigin.SCHEDULER_SYSTEM] * 2

    # kube-scheduler's own constraints take its place, one of them with the same key.
    assert origins == [each.applied.origin for each in domains]
    assert [False, False] == [each.is_gone for each in domains]


def test_a_constraint_of_another_key_is_gone() -> None:
    """A constraint on nodes in place of one on zones: the zones are counted all the same."""
    on_nodes = {"topologySpreadConstraints": [a_constraint(topologyKey="kubernetes.io/hostname")]}
    before, after = a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(3, spec=on_nodes))
    new, gone = _only(plan(before, after, *running("n1", "n2", "n3"))).domains

    assert ("kubernetes.io/hostname", True, False) == (
        new.applied.constraint.topology_key,
        new.is_new,
        new.is_gone,
    )
    assert (ZONE, False, True) == (gone.applied.constraint.topology_key, gone.is_new, gone.is_gone)


def test_more_replicas_than_fit() -> None:
    """Of 7 pods for two zones that fit and one that is tainted, 4 are placed beside those that run."""
    nodes = [*NODES[:2], a_node("n3", "c", taints=[{"key": "t", "value": "", "effect": "NoSchedule"}])]
    before, after = a_set(a_deployment(2, spec=SPREAD)), a_set(a_deployment(4, spec=SPREAD))
    found = plan(before, after, *running("n1", "n2"), nodes=nodes)
    workload = _only(found)

    assert (Difference.REPLICAS,) == workload.differences
    assert (2, 4, 2, True) == (workload.pods.running, workload.pods.wanted, found.pending, found.fails)
    assert all(
        "1 node(s) had untolerated taint(s), 2 node(s) didn't match pod topology" in step.message
        for step in workload.pending
    )


def test_a_selector_mistake() -> None:
    """A constraint that selects other pods counts none of these: all may go anywhere."""
    wrong = {"topologySpreadConstraints": [a_constraint(labelSelector={"matchLabels": {"app": "api"}})]}
    found = plan(a_set(), a_set(a_deployment(3, spec=wrong)))
    (domains,) = _only(found).domains

    assert {"a": 0, "b": 0, "c": 0} == domains.after
    assert 0 == found.pending


def test_the_room_is_shared() -> None:
    """Removed workloads make room for added ones, which come last."""
    big = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}
    old, new = a_deployment(3, "old", spec=big), a_deployment(3, "new", spec=big)
    pods = running("n1", "n2", "n3", app="old", **big)
    both = plan(a_set(old), a_set(new), *pods)
    beside = plan(a_set(old), a_set(old, new), *pods)

    assert [PlanAction.REMOVE, PlanAction.ADD] == [each.action for each in both.workloads]
    assert (0, 3) == (both.pending, beside.pending)


def test_a_new_selector_replaces() -> None:
    """The selector of a Deployment cannot be changed: its pods go, and new ones come."""
    after = a_deployment(2)
    after["spec"]["selector"] = {"matchLabels": {"app": "web", "tier": "front"}}
    after["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "front"}
    workload = _only(plan(a_set(a_deployment(2)), a_set(after), *running("n1", "n2")))

    assert PlanAction.REPLACE is workload.action
    assert (2, 2, 2) == (workload.pods.running, workload.pods.removed, len(workload.pods.steps))


@pytest.mark.parametrize(
    ("annotations", "policy"),
    [
        pytest.param({}, None, id="stored without constraints"),
        pytest.param({INJECTED_ANNOTATION: "spread"}, "spread", id="injected when it was created"),
    ],
)
def test_a_policy_and_a_stored_object(annotations: dict[str, str], policy: str | None) -> None:
    """A manifest that is applied over a stored object gets nothing anew, and keeps what was injected."""
    spec = SPREAD if annotations else None
    before = a_set(a_deployment(2, spec=spec, annotations=annotations, uid="u1"), policy=POLICY)
    found = plan(before, a_set(a_deployment(3), policy=POLICY), *running("n1", "n1"))

    assert policy == _only(found).policy


def test_a_policy_changes() -> None:
    """Defaults of a policy are for objects that are created: pods that run stay."""
    found = plan(a_set(a_deployment(2)), a_set(a_deployment(2), policy=POLICY), *running("n1", "n1"))
    workload = _only(found)

    assert (Difference.CONSTRAINTS,) == workload.differences
    assert ("spread", True, ()) == (workload.policy, workload.pods.stay, workload.pods.steps)


def test_a_cluster_without_pods() -> None:
    """Only nodes were saved: the pods of the first set are placed first, and count as now."""
    found = plan(a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(6, spec=SPREAD)))
    workload = _only(found)

    assert found.assumed
    assert {"a": 1, "b": 1, "c": 1} == workload.domains[0].now
    assert {"a": 2, "b": 2, "c": 2} == workload.domains[0].after


def test_refused() -> None:
    """Pods that the API server rejects are not placed, and running ones stay."""
    broken = a_deployment(2, spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    workload = _only(plan(a_set(a_deployment(2)), a_set(broken), *running("n1", "n2")))

    assert (2, (), True) == (workload.pods.running, workload.pods.steps, workload.fails)
    assert ["spec.template.spec.topologySpreadConstraints[0].maxSkew"] == [
        str(error.path) for error in workload.errors
    ]


def test_the_old_template() -> None:
    """Pods that are added before a rollout are old ones: they are bound, counted, and left over as such.

    3 pods become 6 while the constraint becomes hard; a zone takes none.
    """
    nodes = [*NODES, a_node("n4", "d", unschedulable=True)]
    soft = {"topologySpreadConstraints": [a_constraint(whenUnsatisfiable="ScheduleAnyway")]}
    before, after = a_deployment(3, spec=soft), a_deployment(6, spec=SPREAD)
    found = _only(plan(a_set(before), a_set(after), *running("n1", "n2", "n3"), nodes=nodes))
    rollout = found.pods.rollout

    assert rollout is not None
    likely = rollout.courses.likely
    assert (3, False) == (rollout.placed, rollout.assumed)
    assert likely.old - likely.old_pending == sum(found.domains[0].after.values())
    assert 0 < likely.old


def _builds(**replicas: int) -> ManifestSet:
    """Return the builds of one Deployment by overlays."""
    found = a_set(*(a_deployment(count) for count in replicas.values()))
    return replace(found, sources=[Source(name, name) for name in replicas])


def test_builds_that_are_alike() -> None:
    """Overlays that come to the same object are planned once."""
    found = plan(_builds(a=2, b=2), _builds(a=4, b=4), *running("n1", "n2"))

    assert [(("a", "b"), 2)] == [(entry.builds, len(entry.pods.steps)) for entry in found.workloads]


def test_builds_that_differ() -> None:
    """Each is planned in a cluster without the others; those that stay are unchanged."""
    found = plan(_builds(a=2, b=2, c=2), _builds(a=3, b=4, c=2), *running("n1", "n2"))

    assert 1 == found.unchanged
    assert [(("a",), 2, 1), (("b",), 2, 2)] == [
        (entry.builds, entry.pods.running, len(entry.pods.steps)) for entry in found.workloads
    ]


def test_builds_where_none_runs() -> None:
    """The pods that a build has now are placed first, without those of the other builds."""
    found = plan(_builds(a=2, b=1), _builds(a=3, b=2))

    assert [2, 1] == [entry.pods.running for entry in found.workloads]


def test_not_tried_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of more pods than are scheduled says which workload it does not know the end of."""
    monkeypatch.setattr("planning.plan.plan_pods.MOST_SCHEDULED", 1)
    found = plan(a_set(), a_set(a_deployment(2)))

    assert [("shop", "Deployment.apps", "web")] == list(map(tuple, found.unplanned))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(1, 1, [("web", False)], id="the same"),
        pytest.param(1, 2, [("web", True)], id="changed"),
        pytest.param(None, 2, [("web", True)], id="new"),
    ],
)
def test_unfinished(before: int | None, after: int, expected: list[tuple[str, bool]]) -> None:
    """A workload with placeholders that changed is one that is not planned."""
    old = a_set(*([] if before is None else [a_deployment(before)])).workloads
    found = unfinished_workloads(old, a_set(a_deployment(after)).workloads)

    assert expected == [(entry.key.name, entry.changed) for entry in found]


def test_the_cluster_stays() -> None:
    """A plan changes nothing: its Services are not in the cluster, nor are its pods."""
    cluster = a_cluster(*running("n1"))
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    make_plan(a_set(a_deployment(1)), a_set(a_deployment(3), along=(service,)), cluster, known=UNREAD_PODS)

    assert (1, set()) == (cluster.pod_count, cluster.names(("v1", "Service")))


def test_claims_are_not_modeled() -> None:
    """Inputs of kube-scheduler that the plan does not model are named."""
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    workload = _only(plan(a_set(), a_set(a_deployment(1, spec=claim))))

    assert "persistentVolumeClaims" == workload.unmodeled[0]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"name": "web"}, "shop", id="none: the one that is given"),
        pytest.param({"name": "web", "namespace": "own"}, "own", id="its own"),
    ],
)
def test_with_namespace(metadata: dict[str, Any], expected: str) -> None:
    """An object keeps the namespace that it names."""
    obj = a_pod() | {"metadata": metadata}

    assert expected == with_namespace(obj, "shop")["metadata"]["namespace"]


def test_a_rollout_that_deadlocks() -> None:
    """Three nodes with room for one pod each: no new pod fits beside the old ones, and no old one may go."""
    big: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]
    }
    after = a_deployment(3, spec={"containers": [{**big["containers"][0], "image": "i:2"}]})
    for obj in (before := a_deployment(3, spec=big), after):
        obj["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    found = plan(a_set(before), a_set(after), *running("n1", "n2", "n3", **big))
    workload = _only(found)

    assert (1, 1, True) == (found.deadlocks, found.pending, found.fails)
    assert (RolloutEnd.DEADLOCK, 0) == (workload.outcome, workload.pods.removed)


def test_the_end_before_the_end() -> None:
    """Workloads that were not applied are listed; those that were are planned."""
    answers = iter([False, False, True])
    after = a_set(a_deployment(1, "a"), a_deployment(1, "b"))
    found = make_plan(a_set(), after, a_cluster(), known=UNREAD_PODS, stop=lambda: next(answers, True))

    assert ["a"] == [workload.key.name for workload in found.workloads]
    assert ["b"] == [key.name for key in found.stopped]
