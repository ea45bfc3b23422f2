"""Scenarios that are played: what happens, what is left of each workload, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from planning.autoscaler.sources import deduce
from planning.simulation.events import Event, NamedPod, TargetWorkload
from planning.simulation.outcome import Cause, Did, ObjectChange
from planning.simulation.play import FIRST_OF_EQUALS, EventError
from planning.simulation.played_cluster import cluster_of
from planning.simulation.scenario import ClusterState
from planning.text.outcome import lost_domain
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_deployment, a_node
from tests.planning.autoscaled import groups, the_autoscaler
from tests.planning.losses import NODES, pods_of, pods_with_volumes
from tests.planning.scenarios import a_state, an_ordered_set, losing, numbers, of, played, restarting, scaling
from tests.planning.what_ifs import another_pod, its_pods
from tests.policies.scheduler import storage_objects as storage

Object = dict[str, Any]
_EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def _example(name: str) -> Object:
    (obj,) = yaml.safe_load_all((_EXAMPLES / name).read_text())
    return dict(obj)


@cache
def _shop() -> ClusterState:
    return a_state(_example("shop.json")["items"])


@cache
def _small() -> ClusterState:
    return a_state(_example("cluster.yaml")["items"])


def _indexer(**constraint: Any) -> Object:
    """Return the Deployment of the shop's indexer, with another constraint."""
    items = _example("shop.json")["items"]
    revision = next(
        each
        for each in items
        if each["kind"] == "ReplicaSet" and each["metadata"]["name"].startswith("indexer")
    )
    spec = deepcopy(revision["spec"])
    spec["template"]["metadata"]["labels"].pop("pod-template-hash")
    spec["selector"]["matchLabels"].pop("pod-template-hash", None)
    spec["template"]["spec"]["topologySpreadConstraints"][0] |= constraint
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "indexer", "namespace": "search"},
        "spec": spec,
    }


def test_an_edit_that_moves_pods_together() -> None:
    """All run, the skew is within maxSkew, and the loss of the fullest zone takes more than before."""
    outcome = played(_shop(), Event(apply=_indexer(maxSkew=2)))
    indexer = of(outcome, "indexer")
    zones = next(each for each in indexer.survival if each.topology_key.endswith("zone"))
    (constraint,) = indexer.constraints

    assert (10, 10, 11, 0) == numbers(outcome, "indexer")
    assert (11, 11, 1) == (indexer.wanted, indexer.updated, indexer.pending_before)
    assert ({"a": 4, "b": 4, "c": 2}, {"a": 7, "b": 4, "c": 0}) == (zones.before, zones.after)
    assert (6, 4, False) == (zones.left_before, zones.left, zones.stops)
    assert (1, 2, 2, False) == (
        constraint.skew_before,
        constraint.skew,
        constraint.peak,
        constraint.above,
    )
    assert (ObjectChange.CHANGED, Cause.FEWER_LEFT) == (indexer.change, outcome.verdict.cause)
    assert "zone c gets none and 7 of 11 go with zone a (4 of 10 before)" in outcome.verdict.sentence
    assert (22, 7) == (len(outcome.steps), outcome.others)
    assert outcome.branches is not None
    assert (53, False, (2,)) == (
        outcome.branches.tried,
        outcome.branches.exact,
        outcome.branches.worst_skews,
    )


def test_the_same_template_rolls_nothing_out() -> None:
    """Nothing happens; the pod that was pending stays so."""
    outcome = played(_shop(), Event(apply=_indexer()))

    assert (10, 10, 10, 1) == numbers(outcome, "indexer")
    assert ((), ObjectChange.NONE) == (outcome.steps, of(outcome, "indexer").change)


def test_each_zone_is_lost() -> None:
    """The workloads are those of the worst loss, and the verdict is about the domains."""
    outcome = played(_shop(), each="zone")
    indexer, api = of(outcome, "indexer"), of(outcome, "api")

    assert (10, 6, 6, 5) == numbers(outcome, "indexer")
    assert (4, 0, 4, 0) == numbers(outcome, "api")
    assert (Cause.PENDING, 4) == (indexer.verdict.cause, indexer.verdict.count)
    assert Cause.INTERRUPTED is api.verdict.cause
    assert (False, 3, 0) == (outcome.verdict.value, len(outcome.outcomes), outcome.others)
    assert ["b", "a", "c"] == [
        event.lose.value for loss in outcome.outcomes for event in loss.scenario.events if event.lose
    ]


def test_each_is_what_single_losses_are() -> None:
    """What one of them says of a workload is what its loss alone says."""
    for loss in played(_shop(), each="zone").outcomes:
        alone = played(_shop(), *loss.scenario.events)

        assert loss.workloads == alone.workloads
        assert loss.verdict == alone.verdict


def test_a_scale_down_beyond_max_skew() -> None:
    """A scale-down does not look at constraints."""
    outcome = played(_shop(), scaling("web", to=6))
    zones = next(
        each
        for each in of(outcome, "web").constraints
        if each.applied.constraint.topology_key.endswith("zone")
    )

    assert (9, 6, 6, 0) == numbers(outcome, "web")
    assert (Cause.ABOVE_MAX_SKEW, {"a": 2, "b": 3, "c": 1}, True) == (
        outcome.verdict.cause,
        zones.after,
        zones.above,
    )
    assert outcome.branches is not None
    assert (3, 1) == outcome.branches.worst_skews
    assert [Did.DELETED] * 3 == [step.did for step in outcome.steps]


def test_an_edit_in_a_small_cluster() -> None:
    """The old revision gets its pods first, and is replaced then."""
    outcome = played(_small(), Event(apply=_example("web-next.yaml")))

    assert (2, 2, 6, 0) == numbers(outcome, "web")
    assert (Cause.FITS, 6, 16) == (outcome.verdict.cause, of(outcome, "web").updated, len(outcome.steps))


def test_more_replicas_than_fit() -> None:
    """The template is the one that runs: the third pod fits nowhere, and nothing is rolled out."""
    outcome = played(_small(), Event(apply=_example("web.yaml")))

    assert (2, 2, 2, 1) == numbers(outcome, "web")
    assert (Cause.PENDING, ObjectChange.SCALED) == (outcome.verdict.cause, of(outcome, "web").change)


def test_what_comes_after_a_rollout() -> None:
    """A loss hits the new pods; a restart replaces them."""
    edit = Event(apply=_example("web-next.yaml"))
    lost = played(_small(), edit, losing("a"))
    again = played(_small(), edit, restarting("web"))

    assert (2, 2, 6, 0) == numbers(lost, "web")
    assert (3, ("n1",)) == (of(lost, "web").lost, lost.nodes.lost)
    assert (None, True) == (lost.branches, FIRST_OF_EQUALS in lost.assumed)
    assert (6, ObjectChange.RESTARTED) == (of(again, "web").updated, of(again, "web").change)


def test_an_ordered_set_waits_for_an_old_pod() -> None:
    """OrderedReady replaces no pod before the pending one runs; deleted after the edit, it comes anew."""
    state, edited = an_ordered_set()
    edit, delete = Event(apply=edited), Event(delete=NamedPod(namespace="shop", name="db-2"))
    stuck, done = played(state, edit), played(state, edit, delete)

    assert (2, 2, 2, 1) == numbers(stuck, "db")
    assert (Cause.DEADLOCK, 0, ()) == (stuck.verdict.cause, of(stuck, "db").updated, stuck.steps)
    assert ("shop/db-2",) == stuck.verdict.pods
    assert (2, 2, 3, 0) == numbers(done, "db")
    assert (3, True) == (of(done, "db").updated, done.verdict.value)
    assert Cause.DEADLOCK is played(state, delete, edit).verdict.cause


def test_pods_that_were_not_read_may_wait() -> None:
    """By its status a workload has more pods than have a node: whether one stops it is not known."""
    state, edited = an_ordered_set()
    outcome = played(replace(state, known=UNREAD_PODS), Event(apply=edited))

    assert (Cause.NOT_READ, ("pods",)) == (outcome.verdict.cause, outcome.verdict.needs)


def test_pods_that_nothing_creates_anew() -> None:
    """A bare pod is gone for good, one of a DaemonSet goes with its node."""
    objects = [
        a_node("n1", "a"),
        a_node("n2", "b"),
        another_pod("agent", "n1", owner=("apps/v1", "DaemonSet", "agent")),
        another_pod("bare", "n1", owner=None),
    ]
    outcome = played(objects, losing("a"))

    assert (1, 0, 0, 0) == numbers(outcome, "bare")
    assert (1, 1) == (of(outcome, "bare").lost, of(outcome, "bare").not_recreated)
    assert (0, 0) == (of(outcome, "agent").lost, of(outcome, "agent").wanted)


def test_pods_of_nodes_that_are_not_there() -> None:
    """They run nowhere; their controller replaces them before the first event."""
    web = a_deployment(a_constraint(), cpu="1")
    objects = [a_node("n1", "a"), *its_pods(web, {"web-1": "n1", "web-2": "gone"})]
    outcome = played(objects, workloads=())

    assert [(None, Did.BOUND, "shop/web-2", "n1")] == [step[:4] for step in outcome.steps]


def test_pods_whose_objects_are_not_known() -> None:
    """They are whose their labels say; what replaces them is made of that, or nothing is certain."""
    web = a_deployment(cpu="1")
    web["spec"]["replicas"] = 2
    pods = its_pods(web, {"web-1": "n1", "web-2": "n2"})
    objects = [a_node("n1", "a"), a_node("n2", "b"), *pods, another_pod("db-1", "n1")]
    state = replace(a_state(objects), known=UNREAD_PODS)
    alone = replace(state, workloads=a_state(objects[:2]).workloads)

    assert (2, 1, 2, 0) == numbers(played(state, losing("a")), "web")
    lost = played(alone, losing("a"))
    assert (2, 1, 1, 0) == numbers(lost, "web")
    assert (Cause.NOT_TRIED, 1) == (lost.verdict.cause, of(lost, "db").not_tried)


def test_a_drain_that_its_budget_blocks() -> None:
    """The pod stays; the drain never ends."""
    web = a_deployment(cpu="3")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": web["spec"]["selector"]["matchLabels"]}},
    }
    objects = [
        a_node("n1", "a"),
        a_node("n2", "b"),
        *its_pods(web, {"web-1": "n1", "web-2": "n2"}),
        budget,
    ]
    outcome = played(objects, Event(drain="n1"))

    assert (Cause.BLOCKED, ("shop/web-1",)) == (outcome.verdict.cause, outcome.verdict.pods)
    assert [Did.CORDONED, Did.NOT_EVICTED] == [step.did for step in outcome.steps]
    assert () == outcome.nodes.drained


def test_what_is_removed() -> None:
    """Its pods go, and what waits for their room comes."""
    web = a_deployment(cpu="3")
    waiting = another_pod("db", "", "3")
    del waiting["spec"]["nodeName"]
    objects = [a_node("n1", "a"), web, *its_pods(web, {"web-1": "n1"}), waiting]
    target = TargetWorkload(kind="Deployment", namespace="shop", name="web")
    outcome = played(objects, Event(remove=target))

    assert (1, 0, 0, 0) == numbers(outcome, "web")
    assert [("data/db", "n1")] == [(step.pod, step.node) for step in outcome.steps if step.did is Did.BOUND]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(losing("nowhere"), id="no such domain"),
        pytest.param(scaling("nothing", to=3), id="no such workload"),
        pytest.param(scaling("web", namespace="shop"), id="a scale without a number"),
        pytest.param(Event(delete=NamedPod(namespace="shop", name="nothing")), id="no such pod"),
        pytest.param(Event(apply={"apiVersion": "v1", "kind": "Service"}), id="no pods"),
        pytest.param(Event(release="0.1"), id="no such release"),
    ],
)
def test_what_cannot_happen(event: Event) -> None:
    """It is an error at its place."""
    with pytest.raises(EventError) as caught:
        played(_small(), event)
    (error,) = caught.value.errors

    assert str(error.path).startswith(f"--{event.what}")


def _needing(cpu: str, replicas: int) -> Object:
    """Return a Deployment whose pods need so much CPU."""
    obj = a_deployment(cpu=cpu)
    obj["spec"]["replicas"] = replicas
    return obj


def test_nodes_that_an_autoscaler_adds() -> None:
    """They count; what leans on them says so, and no node comes in a zone that is lost."""
    objects = [a_node("n1", "a", cpu="4"), a_node("n2", "b", cpu="4")]
    state = a_state(objects)
    source = the_autoscaler(groups(a=2, b=2), cluster_of(state))
    outcome = played(state, Event(apply=_needing("3", 4)), nodes_from=source)
    web = of(outcome, "web")

    assert (4, 0, 2) == (web.after, web.pending, web.on_new_nodes)
    assert (Cause.NEEDS_NODES, 2) == (outcome.verdict.cause, len(outcome.nodes.added))
    assert 4 == outcome.nodes.after
    assert 2 == sum(step.did is Did.ADDED for step in outcome.steps)

    running = its_pods(_needing("3", 2), {"web-1": "n1", "web-2": "n2"})
    lost = played(a_state([*objects, *running]), losing("a"), nodes_from=source)

    assert (2, 0, 1) == (of(lost, "web").after, of(lost, "web").pending, of(lost, "web").on_new_nodes)
    assert ["b"] == [node.zone for node in lost.nodes.added]


def test_nodes_come_before_and_after_a_loss() -> None:
    """A pod that waits gets one first; the groups of the lost zone are gone when others are added."""
    source = deduce(cluster_of(_shop()))
    outcome = played(_shop(), losing("a"), nodes_from=source)

    assert 0 == of(outcome, "indexer").pending
    assert "a" not in {node.zone for node in outcome.nodes.added[1:]}


def test_nodes_that_an_autoscaler_removes() -> None:
    """What is on them goes elsewhere first."""
    objects = [a_node("n1", "a", cpu="4"), a_node("n2", "a", cpu="4")]
    running = its_pods(_needing("1", 2), {"web-1": "n1", "web-2": "n2"})
    state = a_state([*objects, *running])
    group = {"name": "a", "zone": "a", "maxSize": 9, "allocatable": {"cpu": "4", "memory": "8Gi"}}
    document = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": [group]}
    source = the_autoscaler((document,), cluster_of(state))
    outcome = played(state, nodes_from=source, scale_down=True, workloads=())

    assert (1, 1) == (len(outcome.nodes.removed), outcome.nodes.after)
    assert (2, 2, 0) == (of(outcome, "web").before, of(outcome, "web").after, of(outcome, "web").pending)
    assert [Did.REMOVED, Did.EVICTED, Did.BOUND] == [step.did for step in outcome.steps]


def _pending_without(objects: Iterable[Object]) -> dict[str, list[str]]:
    """Return the workloads that lack pods in the end, by the zone that is lost."""
    outcome = played(objects, each="zone")
    return {
        lost_domain(each): sorted(found.ref.name for found in each.workloads if found.pending)
        for each in outcome.outcomes
    }


def test_pods_with_volumes() -> None:
    """A pod whose volume is in the lost zone fits nowhere else; one whose volume is elsewhere does."""
    without = _pending_without([*NODES, *pods_with_volumes()])

    assert {"a": ["db-0"], "b": ["db-1"], "c": []} == without


def test_each_loss_finds_the_volumes_as_they_were() -> None:
    """A volume that one loss gives a claim is free again in the next: any claim may get the one left."""
    around: list[Object] = [*NODES, *(storage.a_csi_node(node) for node in ("n1", "n2", "n3"))]
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": storage.DRIVER}}
    around += [driver, storage.a_class(provisioner="kubernetes.io/no-provisioner")]
    for name, node in (("of-a", "n1"), ("of-b", "n2")):
        around.append(storage.a_claim(name))
        around += pods_of(name, [node], "10m", volumes=storage.using(name))

    left, elsewhere = (storage.a_volume("left", zone=zone) for zone in ("c", "x"))
    assert {"a": [], "b": [], "c": []} == _pending_without([*around, left])
    assert {"a": ["of-a"], "b": ["of-b"], "c": []} == _pending_without([*around, elsewhere])


def test_victims_of_a_loss() -> None:
    """Displaced pods evict those of lower priority, which then lack them."""
    low = pods_of("low", ["n2"], cpu="3")
    high = pods_of("high", ["n1"], cpu="3", priority=10)
    outcome = played([*NODES[:2], *low, *high], losing("a"))

    assert (1, 0, 1, 0) == numbers(outcome, "high")
    assert (1, 0, 0, 1) == numbers(outcome, "low")
    assert 1 == of(outcome, "low").evicted
