"""The outcome for the pods of one workload."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from planning.plan import plan_pods
from planning.plan.plan_pods import PodChanger
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import simulate_queue
from policies.config.context import AdmissionContext
from policies.model.labels import LabelSelector
from policies.model.replica_sources import ReplicaSources
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import PreparedPod, prepare, read_workload
from policies.scheduler.index import ClusterIndex
from tests.builders import ZONE, a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.planned import NODES, a_cluster, a_deployment, running
from tests.policies.scheduler.clusters import an_index

#: No policies.
CONTEXT = AdmissionContext(policies=())


def _prepared(obj: dict[str, Any], cluster: ClusterIndex) -> PreparedPod:
    context = AdmissionContext(policies=(), cluster=cluster)
    return prepare(read_workload(obj, context), context)


def _changer(cluster: ClusterIndex) -> PodChanger:
    return PodChanger(ClusterSimulation(cluster), CONTEXT, known=UNREAD_PODS)


def test_missing_ones_are_added() -> None:
    """One runs, so two come."""
    fork = a_cluster(*running("n1")).fork("")
    change = _changer(fork).add(_prepared(a_deployment(3), fork))

    assert (1, 3, ["n2", "n3"]) == (change.running, change.wanted, [step.node for step in change.steps])


def test_an_autoscaler_has_set_the_number() -> None:
    """Who leaves the number out keeps what runs."""
    fork = a_cluster(*running("n1", "n2")).fork("")
    before = _prepared(a_deployment(1), fork)
    change = _changer(fork).change(before.workload, _prepared(a_deployment(), fork), template=True)

    assert (2, 2, 2) == (change.running, change.wanted, len(change.steps))


def test_the_cluster_says_the_number() -> None:
    """The replicas of the cluster's object count before its running pods, as in all commands."""
    sources = ReplicaSources()
    sources(a_deployment(4))
    fork = a_cluster(*running("n1", "n2")).fork("")
    before = _prepared(a_deployment(1), fork)
    changer = PodChanger(
        ClusterSimulation(fork), replace(CONTEXT, replica_sources=sources), known=UNREAD_PODS
    )

    assert 4 == changer.change(before.workload, _prepared(a_deployment(), fork), template=True).wanted


def test_pods_of_the_revision_stay() -> None:
    """A template that the cluster runs already changes nothing."""
    after = a_deployment(2)
    pods = running("n1", "n2")
    for pod in pods:
        pod["metadata"]["labels"] = {"app": "web", "pod-template-hash": "7c9"}
    fork = a_cluster(a_replica_set(after, "7c9"), *pods).fork("")
    prepared = _prepared(after, fork)
    change = _changer(fork).change(prepared.workload, prepared, template=True)

    assert (2, 0, ()) == (change.running, change.removed, change.steps)


def test_a_pod_is_removed_by_its_name() -> None:
    """It has no selector."""
    fork = a_cluster(*running("n1", "n2")).fork("")
    change = _changer(fork).remove(read_workload(a_pod(name="web-0"), CONTEXT))

    assert (1, 1) == (change.running, change.removed)
    assert {("shop", "web-1")} == fork.names(("v1", "Pod"))


def test_a_daemon_set_has_a_pod_on_each_node() -> None:
    """A node that is tainted for it gets none; one that is full leaves its pod pending."""
    cpu = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}
    tainted = a_node("n4", "c", taints=[{"key": "t", "value": "", "effect": "NoSchedule"}])
    fork = a_cluster(*running("n1", app="big", **cpu), nodes=[*NODES, tainted]).fork("")
    change = _changer(fork).add(_prepared(a_workload("DaemonSet", spec=cpu), fork))

    assert [("web-n1", None), ("web-n2", "n2"), ("web-n3", "n3")] == [
        (step.name, step.node) for step in change.steps
    ]
    assert "0/4 nodes are available: 1 Insufficient cpu" in change.steps[0].message


@pytest.mark.parametrize("seed", range(40))
def test_a_daemon_set_is_placed_as_simulated(seed: int) -> None:
    """A plan and a simulation say the same of each pod, also of those whose node others are evicted from."""
    random = Random(seed)
    nodes = [a_node(f"n{number}", random.choice("ab")) for number in range(random.randrange(2, 7))]
    pods = [
        a_pod(name=f"other-{number}", labels={"app": random.choice(["web", "other"])}, spec=spec)
        for number, spec in enumerate(
            {"nodeName": f"n{random.randrange(len(nodes))}", "priority": 0} | _cpu(random)
            for _ in range(random.randrange(9))
        )
    ]
    constraint = a_constraint(
        maxSkew=random.randrange(1, 3), nodeAffinityPolicy=random.choice([None, "Honor", "Ignore"])
    )
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": random.choice(["web", "other"])}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {
        "priority": random.choice([0, 1000]),
        "topologySpreadConstraints": [constraint] if random.random() < 0.7 else [],
        "affinity": apart if random.random() < 0.3 else None,
    } | _cpu(random)
    cluster = an_index([*nodes, *pods])
    context = AdmissionContext(policies=(), cluster=cluster)
    # Others that its constraint counts are not its own, which would be replaced.
    labels = {"app": "web", "part": "agent"}
    daemon_set = a_workload("DaemonSet", spec=spec, labels=labels, selector={"matchLabels": labels})
    planned = _changer(cluster.fork("")).add(_prepared(daemon_set, cluster))
    simulated = simulate_queue(queue_replicas(daemon_set, context, UNREAD_PODS))

    assert [(step.name, step.node, step.message) for step in simulated.steps] == [
        (step.name, step.node, step.message) for step in planned.steps
    ]


def _cpu(random: Random) -> dict[str, Any]:
    requests = {"cpu": random.choice(["1", "2", "3"])}
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}


def test_a_daemon_set_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pods that fit need none of it; of the others those beyond it are counted."""
    monkeypatch.setattr(plan_pods, "MOST_SCHEDULED", 1)
    cpu = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}
    fork = a_cluster(*running("n1", "n2", app="big", **cpu)).fork("")
    change = _changer(fork).add(_prepared(a_workload("DaemonSet", spec=cpu), fork))

    assert (3, 1, 1, 1) == (change.wanted, change.scheduled, change.pending, change.untried)


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods beyond the budget of a plan are counted."""
    monkeypatch.setattr(plan_pods, "MOST_SCHEDULED", 4)
    fork = a_cluster().fork("")
    changer = _changer(fork)
    first = changer.add(_prepared(a_deployment(3), fork))
    second = changer.add(_prepared(a_deployment(3, "api"), fork))

    assert [(3, 0), (1, 2)] == [(len(change.steps), change.untried) for change in (first, second)]


def test_a_kind_without_a_number() -> None:
    """Of a CronJob the next pod is placed."""
    fork = a_cluster().fork("")
    change = _changer(fork).add(_prepared(a_workload("CronJob", "batch"), fork))

    assert (1, True) == (change.wanted, change.next_only)


def test_a_scale_deletes_what_the_controller_deletes() -> None:
    """Of two pods on one node and one on another, one of the two goes first."""
    fork = a_cluster(*running("n1", "n2", "n2")).fork("")
    before = _prepared(a_deployment(3), fork)
    change = _changer(fork).change(before.workload, _prepared(a_deployment(2), fork), template=False)
    left = fork.selected_pods("shop", before.workload.selector or LabelSelector())

    assert (3, 1, 2) == (change.running, change.removed, change.wanted)
    assert ["n1", "n2"] == sorted(pod.node for pod in left)


def test_a_kind_whose_rollout_is_not_simulated() -> None:
    """All pods of a CloneSet are taken to be deleted first, and this is said."""
    obj = a_workload("CloneSet", "apps.kruise.io")
    obj["spec"]["replicas"] = 2
    fork = a_cluster(*running("n1", "n1")).fork("")
    before = _prepared(obj, fork)
    change = _changer(fork).change(before.workload, before, template=True)

    assert (2, 2, 2, True) == (change.running, change.removed, len(change.steps), change.recreated)
    assert change.rollout is None


def test_pods_that_are_placed_first_are_of_an_old_revision() -> None:
    """A rollout over them replaces them."""
    fork = a_cluster().fork("")
    changer, before = _changer(fork), _prepared(a_deployment(2), fork)
    changer.assume(before)
    change = changer.change(before.workload, _prepared(a_deployment(2), fork), template=True)

    assert (2, 2) == (change.running, change.removed)


@pytest.mark.parametrize(("template", "scheduled"), [(True, ["n1", "n2", "n3"]), (False, [])])
def test_a_daemon_set_changes(*, template: bool, scheduled: list[str]) -> None:
    """Another template replaces its pods; anything else leaves them."""
    fork = a_cluster(*running("n1", "n2")).fork("")
    before = _prepared(a_workload("DaemonSet"), fork)
    change = _changer(fork).change(before.workload, before, template=template)

    assert (2, scheduled) == (change.running, [step.node for step in change.steps])
    assert change.stay is not template
