"""The outcome for the pods of one workload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.model.labels import LabelSelector
from policies.model.replica_sources import ReplicaSources
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.placement.core.placement import PreparedPod, prepare, read_workload
from policies.placement.plan import plan_pods
from policies.placement.plan.plan_pods import PodChanger
from policies.scheduler.index import ClusterIndex
from tests.builders import a_node, a_pod, a_replica_set, a_workload
from tests.policies.placement.planned import NODES, a_cluster, a_deployment, running

#: No policies.
CONTEXT = AdmissionContext(policies=())


def _prepared(obj: dict[str, Any], cluster: ClusterIndex) -> PreparedPod:
    context = AdmissionContext(policies=(), cluster=cluster)
    return prepare(read_workload(obj, context), context)


def test_missing_ones_are_added() -> None:
    """One runs, so two come."""
    fork = a_cluster(*running("n1")).fork("")
    change = PodChanger(ClusterSimulation(fork), CONTEXT).add(_prepared(a_deployment(3), fork))

    assert (1, 3, ["n2", "n3"]) == (change.running, change.wanted, [step.node for step in change.steps])


def test_an_autoscaler_has_set_the_number() -> None:
    """Who leaves the number out keeps what runs."""
    fork = a_cluster(*running("n1", "n2")).fork("")
    before = _prepared(a_deployment(1), fork)
    change = PodChanger(ClusterSimulation(fork), CONTEXT).change(
        before.workload, _prepared(a_deployment(), fork), template=True
    )

    assert (2, 2, 2) == (change.running, change.wanted, len(change.steps))


def test_the_cluster_says_the_number() -> None:
    """What the object of the cluster wants counts before what runs of it, as in all commands."""
    sources = ReplicaSources()
    sources(a_deployment(4))
    fork = a_cluster(*running("n1", "n2")).fork("")
    before = _prepared(a_deployment(1), fork)
    changer = PodChanger(ClusterSimulation(fork), replace(CONTEXT, replica_sources=sources))

    assert 4 == changer.change(before.workload, _prepared(a_deployment(), fork), template=True).wanted


def test_pods_of_the_revision_stay() -> None:
    """A template that the cluster runs already changes nothing."""
    after = a_deployment(2)
    pods = running("n1", "n2")
    for pod in pods:
        pod["metadata"]["labels"] = {"app": "web", "pod-template-hash": "7c9"}
    fork = a_cluster(a_replica_set(after, "7c9"), *pods).fork("")
    prepared = _prepared(after, fork)
    change = PodChanger(ClusterSimulation(fork), CONTEXT).change(prepared.workload, prepared, template=True)

    assert (2, 0, ()) == (change.running, change.removed, change.steps)


def test_a_pod_is_removed_by_its_name() -> None:
    """It has no selector."""
    fork = a_cluster(*running("n1", "n2")).fork("")
    change = PodChanger(ClusterSimulation(fork), CONTEXT).remove(read_workload(a_pod(name="web-0"), CONTEXT))

    assert (1, 1) == (change.running, change.removed)
    assert {("shop", "web-1")} == fork.names(("v1", "Pod"))


def test_a_daemon_set_has_a_pod_on_each_node() -> None:
    """A node that is tainted for it gets none; one that is full leaves its pod pending."""
    cpu = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}
    tainted = a_node("n4", "c", taints=[{"key": "t", "value": "", "effect": "NoSchedule"}])
    fork = a_cluster(*running("n1", app="big", **cpu), nodes=[*NODES, tainted]).fork("")
    change = PodChanger(ClusterSimulation(fork), CONTEXT).add(
        _prepared(a_workload("DaemonSet", spec=cpu), fork)
    )

    assert [("web-n1", None), ("web-n2", "n2"), ("web-n3", "n3")] == [
        (step.name, step.node) for step in change.steps
    ]
    assert "n1: Insufficient cpu" == change.steps[0].message


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods beyond the budget of a plan are counted."""
    monkeypatch.setattr(plan_pods, "MOST_SCHEDULED", 4)
    fork = a_cluster().fork("")
    changer = PodChanger(ClusterSimulation(fork), CONTEXT)
    first = changer.add(_prepared(a_deployment(3), fork))
    second = changer.add(_prepared(a_deployment(3, "api"), fork))

    assert [(3, 0), (1, 2)] == [(len(change.steps), change.untried) for change in (first, second)]


def test_a_kind_without_a_number() -> None:
    """Of a CronJob the next pod is placed."""
    fork = a_cluster().fork("")
    change = PodChanger(ClusterSimulation(fork), CONTEXT).add(_prepared(a_workload("CronJob", "batch"), fork))

    assert (1, True) == (change.wanted, change.next_only)


def test_a_scale_deletes_what_the_controller_deletes() -> None:
    """Of two pods on one node and one on another, one of the two goes first."""
    fork = a_cluster(*running("n1", "n2", "n2")).fork("")
    before = _prepared(a_deployment(3), fork)
    change = PodChanger(ClusterSimulation(fork), CONTEXT).change(
        before.workload, _prepared(a_deployment(2), fork), template=False
    )
    left = fork.selected_pods("shop", before.workload.selector or LabelSelector())

    assert (3, 1, 2) == (change.running, change.removed, change.wanted)
    assert ["n1", "n2"] == sorted(pod.node for pod in left)


def test_a_kind_whose_rollout_is_not_simulated() -> None:
    """All pods of a CloneSet are taken to be deleted first, and this is said."""
    obj = a_workload("CloneSet", "apps.kruise.io")
    obj["spec"]["replicas"] = 2
    fork = a_cluster(*running("n1", "n1")).fork("")
    before = _prepared(obj, fork)
    change = PodChanger(ClusterSimulation(fork), CONTEXT).change(before.workload, before, template=True)

    assert (2, 2, 2, True) == (change.running, change.removed, len(change.steps), change.recreated)
    assert change.rollout is None


def test_pods_that_are_placed_first_are_of_an_old_revision() -> None:
    """A rollout over them replaces them."""
    fork = a_cluster().fork("")
    changer, before = PodChanger(ClusterSimulation(fork), CONTEXT), _prepared(a_deployment(2), fork)
    changer.assume(before)
    change = changer.change(before.workload, _prepared(a_deployment(2), fork), template=True)

    assert (2, 2) == (change.running, change.removed)


@pytest.mark.parametrize(("template", "scheduled"), [(True, ["n1", "n2", "n3"]), (False, [])])
def test_a_daemon_set_changes(*, template: bool, scheduled: list[str]) -> None:
    """Another template replaces its pods; anything else leaves them."""
    fork = a_cluster(*running("n1", "n2")).fork("")
    before = _prepared(a_workload("DaemonSet"), fork)
    change = PodChanger(ClusterSimulation(fork), CONTEXT).change(before.workload, before, template=template)

    assert (2, scheduled) == (change.running, [step.node for step in change.steps])
    assert change.stay is not template
