"""Plans that were worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planning.plan.plan import ManifestPlan, ManifestSet, PlannedChange, make_plan, unfinished_workloads
from planning.plan.plan_differences import PlanAction, Source
from planning.simulation.object_differences import Difference
from planning.simulation.outcome import Cause, ConstraintOutcome, Did, ObjectChange, WorkloadOutcome
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.replica_sources import ReplicaSources
from policies.model.workload_ref import with_namespace
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.planning.planned import (
    NODES,
    SPREAD,
    a_cluster,
    a_deployment,
    a_set,
    a_state,
    plan,
    running,
)

ZONE = "topology.kubernetes.io/zone"
#: A pod that takes a node for itself.
BIG: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}
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


def _only(found: ManifestPlan) -> PlannedChange:
    (change,) = found.changes
    return change


def _found(change: PlannedChange) -> WorkloadOutcome:
    assert change.found is not None
    return change.found


def _zones(found: ManifestPlan) -> ConstraintOutcome:
    """Return what becomes of the zones, of the constraint in force at the end."""
    constraints = _found(_only(found)).constraints
    return next(each for each in constraints if each.applied.constraint.topology_key == ZONE)


def _gone(found: ManifestPlan) -> list[tuple[str, bool]]:
    return [(each.topology_key, each.gone) for each in _only(found).constraints]


def test_nothing_changes() -> None:
    """Equal sets are an empty plan, whatever runs."""
    found = plan(a_set(a_deployment(3)), a_set(a_deployment(3)), *running("n1"))

    assert ((), 1, True) == (found.changes, found.unchanged, found.verdict.value)


def test_a_constraint_is_added() -> None:
    """Three pods in zone a become one pod in each zone, and the constraint is new."""
    before, after = a_set(a_deployment(3)), a_set(a_deployment(3, spec=SPREAD))
    found = plan(before, after, *running("n1", "n1", "n1"))
    change, zones = _only(found), _zones(found)

    assert PlanAction.CHANGE is change.action
    assert (Difference.TEMPLATE, Difference.CONSTRAINTS) == change.differences
    assert ({"a": 1, "b": 1, "c": 1}, 0) == (zones.after, zones.skew)
    assert (3, 3, 3) == (_found(change).before, _found(change).after, _found(change).updated)


def test_a_number_of_a_constraint_changes() -> None:
    """What differs of it is told, field by field."""
    wider = {"topologySpreadConstraints": [a_constraint(maxSkew=2)]}
    found = plan(a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(3, spec=wider)))
    (each,) = _only(found).constraints

    assert (ZONE, False, [("maxSkew", "1", "2")]) == (
        each.topology_key,
        each.gone,
        list(map(tuple, each.fields)),
    )


def test_a_constraint_is_removed() -> None:
    """kube-scheduler's own constraints take its place, one of them with the same key."""
    before, after = a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(3))

    assert {("kubernetes.io/hostname", False), (ZONE, False)} == set(
        _gone(plan(before, after, *running("n1", "n2", "n3")))
    )


def test_a_constraint_of_another_key_is_gone() -> None:
    """A constraint on nodes in place of one on zones."""
    on_nodes = {"topologySpreadConstraints": [a_constraint(topologyKey="kubernetes.io/hostname")]}
    before, after = a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(3, spec=on_nodes))

    assert [("kubernetes.io/hostname", False), (ZONE, True)] == _gone(
        plan(before, after, *running("n1", "n2", "n3"))
    )


def test_more_replicas_than_fit() -> None:
    """Of 4 pods for two zones that fit and one that is tainted, 2 have no node."""
    nodes = [*NODES[:2], a_node("n3", "c", taints=[{"key": "t", "value": "", "effect": "NoSchedule"}])]
    before, after = a_set(a_deployment(2, spec=SPREAD)), a_set(a_deployment(4, spec=SPREAD))
    found = plan(before, after, *running("n1", "n2"), nodes=nodes)
    outcome = _found(_only(found))

    assert (Difference.REPLICAS,) == _only(found).differences
    assert (2, 4, 2, False) == (outcome.before, outcome.wanted, outcome.pending, found.verdict.value)
    assert "1 node(s) had untolerated taint(s)" in outcome.verdict.message


def test_a_selector_mistake() -> None:
    """A constraint that selects other pods counts none of these: all may go anywhere."""
    wrong = {"topologySpreadConstraints": [a_constraint(labelSelector={"matchLabels": {"app": "api"}})]}
    found = plan(a_set(), a_set(a_deployment(3, spec=wrong)))

    assert {"a": 0, "b": 0, "c": 0} == _zones(found).after
    assert 3 == _found(_only(found)).after


def test_the_room_is_shared() -> None:
    """Removed workloads make room for added ones, which come last."""
    old, new = a_deployment(3, "old", spec=BIG), a_deployment(3, "new", spec=BIG)
    pods = running("n1", "n2", "n3", app="old", **BIG)
    both = plan(a_set(old), a_set(new), *pods)
    beside = plan(a_set(old), a_set(old, new), *pods)

    assert [PlanAction.REMOVE, PlanAction.ADD] == [each.action for each in both.changes]
    assert [ObjectChange.REMOVED, ObjectChange.ADDED] == [_found(each).change for each in both.changes]
    assert [0, 3] == [_found(each.changes[-1]).pending for each in (both, beside)]


def test_a_new_selector_replaces() -> None:
    """The selector of a Deployment cannot be changed: its pods go, and new ones come."""
    after = a_deployment(2)
    after["spec"]["selector"] = {"matchLabels": {"app": "web", "tier": "front"}}
    after["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "front"}
    change = _only(plan(a_set(a_deployment(2)), a_set(after), *running("n1", "n2")))

    assert (PlanAction.REPLACE, ObjectChange.REPLACED) == (change.action, _found(change).change)
    assert (2, 2) == (_found(change).before, _found(change).after)


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
    change = _only(found)

    assert ((Difference.CONSTRAINTS,), "spread") == (change.differences, change.policy)
    assert (ObjectChange.NONE, 2, ()) == (_found(change).change, _found(change).after, found.outcome.steps)


def test_what_was_in_force_is_that_of_the_policy_before() -> None:
    """It counts before, and not at the end."""
    before = a_set(a_deployment(2), policy=POLICY)
    found = _found(_only(plan(before, a_set(a_deployment(3)), *running("n1", "n1"))))
    zone = next(each for each in found.constraints if each.applied.constraint.max_skew == 1)

    assert (True, None) == (zone.before is not None, zone.skew)


def test_a_cluster_without_pods() -> None:
    """Only nodes were saved: the pods of the first set are placed first, and count as before."""
    found = plan(a_set(a_deployment(3, spec=SPREAD)), a_set(a_deployment(6, spec=SPREAD)))

    assert found.assumed
    assert ({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2}) == (_zones(found).before, _zones(found).after)


def test_pods_that_are_placed_first_are_of_an_old_revision() -> None:
    """A rollout over them replaces them; what is not changed stays and takes its room."""
    other = a_deployment(3, "other", spec=BIG)
    newer = a_deployment(2, spec={"priorityClassName": "x"})
    found = plan(a_set(a_deployment(2), other), a_set(newer, other))

    assert (2, 2, 1) == (_found(_only(found)).before, _found(_only(found)).updated, found.unchanged)
    assert [each.did for each in found.outcome.steps].count(Did.DELETED) == 2
    assert (0, 5) == (a_cluster().pod_count, _pods(found))


def _pods(found: ManifestPlan) -> int:
    assert found.outcome.final is not None
    return found.outcome.final.pod_count


def test_refused() -> None:
    """Pods that the API server rejects are not placed, and running ones stay."""
    broken = a_deployment(2, spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    change = _only(plan(a_set(a_deployment(2)), a_set(broken), *running("n1", "n2")))

    assert (2, Cause.REFUSED) == (_found(change).after, _found(change).verdict.cause)
    assert ["spec.template.spec.topologySpreadConstraints[0].maxSkew"] == [
        str(error.path) for error in change.errors
    ]


def _builds(**replicas: int) -> ManifestSet:
    """Return the builds of one Deployment by overlays."""
    found = a_set(*(a_deployment(count) for count in replicas.values()))
    return replace(found, sources=[Source(name, name) for name in replicas])


def test_builds_that_are_alike() -> None:
    """Overlays that come to the same object are planned once."""
    found = plan(_builds(a=2, b=2), _builds(a=4, b=4), *running("n1", "n2"))

    assert [(("a", "b"), None, 4)] == [
        (each.builds, each.alternative, _found(each).after) for each in found.changes
    ]


def test_builds_that_differ() -> None:
    """Each is planned in a cluster without the others; those that stay are unchanged."""
    found = plan(_builds(a=2, b=2, c=2), _builds(a=3, b=4, c=2), *running("n1", "n2"))

    assert 1 == found.unchanged
    assert [(("a",), 0, 2, 3), (("b",), 1, 2, 4)] == [
        (each.builds, each.alternative, _found(each).before, _found(each).after) for each in found.changes
    ]
    assert [3, 4] == [each.workloads[0].after for each in found.outcome.outcomes]


def test_builds_see_what_is_done_together() -> None:
    """What is removed leaves its room to every build."""
    old = a_deployment(3, "old", spec=BIG)
    before, after = a_set(old), a_set(a_deployment(2, spec=BIG), a_deployment(3, spec=BIG))
    overlays = replace(after, sources=[Source(name, name) for name in "ab"])
    found = plan(before, overlays, *running("n1", "n2", "n3", app="old", **BIG))

    assert [0, 0, 0] == [_found(each).pending for each in found.changes]


def test_a_build_that_fails() -> None:
    """The verdict on the whole is that of the worst build."""
    found = plan(_builds(a=1, b=1), _builds(a=2, b=9_000), *running("n1"))

    assert (False, True) == (found.verdict.value is True, found.outcome.outcomes[0].verdict.value)


def test_builds_where_none_runs() -> None:
    """The pods that a build has now are placed first, without those of the other builds."""
    found = plan(_builds(a=2, b=1), _builds(a=3, b=2))

    assert [2, 1] == [_found(each).before for each in found.changes]


def test_not_tried_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of more pods than are scheduled says which workload it does not know the end of."""
    monkeypatch.setattr("planning.simulation.object_changes.MOST_SCHEDULED", 4)
    found = plan(a_set(), a_set(a_deployment(3, "api"), a_deployment(3)))

    assert [("shop", "Deployment", "web")] == list(map(tuple, found.unplanned))
    assert (3, 1, 2) == (
        _found(found.changes[0]).after,
        _found(found.changes[1]).after,
        _found(found.changes[1]).not_tried,
    )


def test_the_end_before_the_end() -> None:
    """Workloads that were not applied are listed, and no verdict is good."""
    after = a_set(a_deployment(1, "a"), a_deployment(1, "b"))
    shares = [0.0]

    found = make_plan(
        a_set(), after, a_state(a_cluster()), progress=shares.append, stop=lambda: shares[-1] >= 0.5
    )

    assert (["b"], 1) == ([key.name for key in found.stopped], _found(found.changes[0]).after)
    assert found.verdict.value is not True


def test_the_number_that_runs_is_kept() -> None:
    """Who leaves the number out keeps what runs."""
    found = plan(a_set(a_deployment(1)), a_set(a_deployment(spec=SPREAD)), *running("n1", "n2"))

    assert (2, 2) == (_found(_only(found)).wanted, _found(_only(found)).updated)


def test_the_cluster_says_the_number() -> None:
    """The replicas of the cluster's object count before its running pods, as in all commands."""
    sources = ReplicaSources()
    sources(a_deployment(4))
    state = a_state(a_cluster(*running("n1", "n2")))
    state = replace(state, context=replace(state.context, replica_sources=sources))
    found = make_plan(a_set(a_deployment(1)), a_set(a_deployment(spec=SPREAD)), state)

    assert 4 == _found(_only(found)).wanted


def test_a_pod_is_removed_by_its_name() -> None:
    """It has no selector."""
    found = plan(a_set(a_pod(name="web-0")), a_set(), *running("n1", "n2"))

    assert (1, 0, 1) == (_found(_only(found)).before, _found(_only(found)).after, _pods(found))


def test_a_kind_whose_rollout_is_not_played() -> None:
    """All pods of a CloneSet are taken to be deleted first, and this is said."""
    before, after = (a_workload("CloneSet", "apps.kruise.io", spec=spec) for spec in (None, SPREAD))
    for obj in (before, after):
        obj["spec"]["replicas"] = 2
    found = plan(a_set(before), a_set(after), *running("n1", "n1"))

    assert (2, 2) == (_found(_only(found)).before, _found(_only(found)).updated)
    assert "how CloneSet replaces pods: all of them were deleted first" in found.outcome.assumed


def test_the_cluster_stays() -> None:
    """A plan changes nothing: its Services are not in the cluster, nor are its pods."""
    cluster = a_cluster(*running("n1"))
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    make_plan(a_set(a_deployment(1)), a_set(a_deployment(3), along=(service,)), a_state(cluster))

    assert (1, set()) == (cluster.pod_count, cluster.names(("v1", "Service")))


def test_a_rollout_that_deadlocks() -> None:
    """Three nodes with room for one pod each: no new pod fits beside the old ones, and no old one may go."""
    after = a_deployment(3, spec={"containers": [{**BIG["containers"][0], "image": "i:2"}]})
    for obj in (before := a_deployment(3, spec=BIG), after):
        obj["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    found = plan(a_set(before), a_set(after), *running("n1", "n2", "n3", **BIG))
    outcome = _found(_only(found))

    assert (Cause.DEADLOCK, False) == (outcome.verdict.cause, found.verdict.value)
    assert (3, 0, 1) == (outcome.after, outcome.updated, outcome.pending)


def test_every_change_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each of the last changes all ways are played, and the plan goes on from the likely one."""
    monkeypatch.setattr("planning.plan.plan.MOST_SEARCHED", 2)
    names = ("a", "b", "c")
    before, after = (a_set(*(a_deployment(2, name, spec=spec) for name in names)) for spec in (None, SPREAD))
    pods = [pod for name in names for pod in running("n1", "n2", app=name)]
    found = plan(before, after, *pods)

    assert [False, True, True] == [_found(each).branches is not None for each in found.changes]
    assert found.outcome.branches is not None
    assert 2 < found.outcome.branches.tried


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
