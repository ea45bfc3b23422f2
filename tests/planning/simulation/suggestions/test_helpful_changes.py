"""What would help where a scenario ends badly, each tried by applying it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from planning.simulation.events import Event
from planning.simulation.outcome import Cause, HelpfulChange, Outcome
from planning.simulation.play import play
from planning.simulation.scenario import ClusterState, Scenario
from planning.simulation.suggestions.helpful_changes import MOST_FOUND, suggestions_for, with_change
from policies.scheduler.configuration import SchedulerConfig, build_profile
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.rollouts import CORDONED, THREE_ZONES, a_deployment, a_stateful_set, ordinals, running
from tests.planning.scenarios import a_state, of
from tests.recorded import recorded_rollouts

Object = dict[str, Any]

#: Two of three zones have a pod, and the third takes none.
STUCK = [*CORDONED, *running("old", n1=1, n2=1)]
#: The same with a taint in place of the cordon: a policy of the constraint can leave the zone out.
TAINTED = [
    *CORDONED[:2],
    a_node("n3", "c", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
    *running("old", n1=1, n2=1),
]


def _asked(state: ClusterState, *events: Event, **fields: Any) -> tuple[Outcome, tuple[HelpfulChange, ...]]:
    """Return an outcome and what would help; each promises what applying it says."""
    scenario = Scenario(cluster=state, events=events, runs=1, **fields)
    outcome = play(scenario)
    found = suggestions_for(scenario, outcome)
    for each in found:
        changed = with_change(scenario, each)
        assert changed is not None
        assert each.workload is not None
        after = of(play(changed), each.workload.name)
        assert (True, each.verdict, each.after) == (after.verdict.value, after.verdict, after.after)
    return outcome, found


def _edits(found: tuple[HelpfulChange, ...]) -> list[str]:
    return [
        " ".join(f"{edit.path.segments[-1]}={edit.new}" for edit in each.edits)
        for each in found
        if each.edits
    ]


@pytest.mark.parametrize(
    ("obj", "cluster", "expected"),
    [
        pytest.param(
            a_deployment(2, a_constraint(), surge=1, unavailable=0),
            STUCK,
            ["matchLabelKeys=['pod-template-hash']", "maxUnavailable=1"],
            id="a cordoned zone: count one revision, or let one go",
        ),
        pytest.param(
            a_deployment(2, a_constraint(), surge=1, unavailable=0),
            TAINTED,
            ["matchLabelKeys=['pod-template-hash']", "maxUnavailable=1", "nodeTaintsPolicy=Honor"],
            id="a tainted zone: or leave it out of the counts",
        ),
        pytest.param(
            a_stateful_set(3, a_constraint()),
            [*CORDONED, *ordinals("n1", "n2", "n3")],
            ["maxSkew=2"],
            id="a StatefulSet has no strategy that would help",
        ),
    ],
)
def test_edits(obj: Object, cluster: list[Object], expected: list[str]) -> None:
    """Those that give up least come first."""
    outcome, found = _asked(a_state(cluster), Event(apply=obj))

    assert outcome.verdict.value is False
    assert expected == _edits(found)[: len(expected)]
    assert len(found) <= MOST_FOUND


def test_a_wider_max_skew_that_all_need() -> None:
    """1 more lets in the next pod alone: 1 and 1 beside an empty zone; 3 lets in all 6."""
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
    obj["spec"]["replicas"] = 6
    full = {**a_node("n3", "c"), "status": {"allocatable": {"pods": "1"}}}
    other = a_pod(name="other", labels={}, spec={"nodeName": "n3"})
    outcome, found = _asked(a_state([*CORDONED[:2], full, other]), Event(apply=obj))

    assert (Cause.PENDING, 2) == (outcome.verdict.cause, of(outcome, "web").after)
    assert "maxSkew=3" in _edits(found)
    assert all(each.after == 6 for each in found)


def test_constraints_of_its_own() -> None:
    """No manifest has the constraints that a policy or the scheduler gives: it may have its own instead."""
    constraint = {key: value for key, value in a_constraint().items() if key != "labelSelector"}
    profile = build_profile({"defaultingType": "List", "defaultConstraints": [constraint]})
    obj = a_workload("StatefulSet")
    obj["spec"]["replicas"] = 4
    state = a_state(TAINTED[:3], scheduler=SchedulerConfig({}, fallback=profile))
    _, found = _asked(state, Event(apply=obj))
    (edit,) = found[0].edits

    assert [a_constraint(nodeTaintsPolicy="Honor")] == edit.new
    assert found[0].text.startswith("give it constraints of its own: ")


def test_what_needs_none() -> None:
    """Where the verdict is not false, nothing is looked for."""
    outcome, found = _asked(a_state(THREE_ZONES), Event(apply=a_deployment(3)))

    assert (True, ()) == (outcome.verdict.value, found)


@pytest.mark.parametrize(
    ("name", "edits"),
    [
        pytest.param("stspending-2", 0, id="the new template fits"),
        pytest.param("sts-rollout-6", 1, id="the new one fits nowhere either"),
    ],
)
def test_a_pod_that_an_ordered_set_waits_for(name: str, edits: int) -> None:
    """No change of the manifest reaches an old pod without a node: it must be deleted, too."""
    record = recorded_rollouts()[name]
    state = a_state(record["cluster"]["items"])
    outcome, found = _asked(state, Event(apply=record["workload"]))

    assert Cause.DEADLOCK is outcome.verdict.cause
    assert found
    assert edits == len(found[0].edits)
    names = [f"kubectl delete pod {event.delete.name}" for event in found[0].then if event.delete is not None]
    assert names
    assert all(name in found[0].text for name in names)


def _api(*nodes: str) -> list[Object]:
    """Return a Deployment whose pods are on nodes, with a budget that allows no eviction."""
    stored = a_workload(spec={}, uid="u1")
    stored["spec"]["replicas"] = len(nodes)
    budget = {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minAvailable": len(nodes), "selector": {"matchLabels": {"app": "web"}}},
    }  # fmt: skip
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [
        a_pod(name=f"web-{number}", labels={"app": "web", "pod-template-hash": "7c9"},
              owner=("apps/v1", "ReplicaSet", "web-7c9"), spec={"nodeName": node}) | {"status": status}
        for number, node in enumerate(nodes)
    ]  # fmt: skip
    return [stored, a_replica_set(stored, "7c9"), budget, *pods]


def test_a_blocked_drain() -> None:
    """One replica more lets a budget go on."""
    state = a_state([a_node("n1", "a"), a_node("n2", "b"), *_api("n1", "n2")])
    outcome, found = _asked(state, Event(drain="n1"))

    assert Cause.BLOCKED is outcome.verdict.cause
    assert ["scale shop/web to 3"] == [each.text for each in found[:1]]
    assert (3, "1 more replica") == (found[0].after, found[0].cost)


def test_each_loss() -> None:
    """A change of the manifest in the cluster comes before the losses, and is tried against each of them."""
    nodes = [*(a_node(f"n{at}", zone, cpu="1") for at, zone in enumerate("aabb")), TAINTED[2]]
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
        "topologySpreadConstraints": [a_constraint(matchLabelKeys=["pod-template-hash"])],
    }
    stored = a_workload(spec=deepcopy(spec), uid="u1")
    stored["spec"]["replicas"] = 2
    labels = {"app": "web", "pod-template-hash": "7c9"}
    owner = ("apps/v1", "ReplicaSet", "web-7c9")
    pods = [
        a_pod(name=f"web-{at}", labels=labels, owner=owner, spec={**spec, "nodeName": node})
        for at, node in enumerate(("n0", "n2"))
    ]
    state = a_state([*nodes, stored, a_replica_set(stored, "7c9"), *pods])
    outcome, found = _asked(state, each="zone")

    assert (Cause.PENDING, False) == (outcome.verdict.cause, outcome.verdict.value)
    assert "nodeTaintsPolicy=Honor" in _edits(found)
    assert all(each.after == 2 for each in found)
