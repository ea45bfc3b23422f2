"""The suggestions for a StatefulSet whose volumes are where its constraints allow no pod."""

from __future__ import annotations

from typing import Any

import pytest

from planning.explain import json, text
from planning.explain.explain import Explained, explain_object
from planning.simulation.scenario import ClusterState
from planning.simulation.suggestions.words import in_cluster
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.changes import ChangeKind
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, with_storage
from tests.policies.scheduler.storage_objects import (
    ZONE,
    a_claim,
    a_class,
    a_csi_node,
    a_volume,
    using,
)

Object = dict[str, Any]
#: The provisioner of classes whose volumes are made by hand.
BY_HAND = "kubernetes.io/no-provisioner"


def a_stateful_set(*, replicas: int = 3, **fields: Any) -> Object:
    spec = {"containers": [{"name": "c"}], "topologySpreadConstraints": [a_constraint(ZONE, **fields)]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": a_claim("data")["spec"]}],
        },
    }


@pytest.mark.parametrize(
    ("policy", "fitting"),
    [("OrderedReady", 0), ("Parallel", 2)],
    ids=["in order: none after one that fits nowhere", "parallel: 2 of 3, each by its own volume"],
)
def test_replicas_of_a_lost_zone(policy: str, fitting: int) -> None:
    """Whether other replicas get a node while the volume of the first is lost is up to the controller."""
    obj = a_stateful_set(whenUnsatisfiable="ScheduleAnyway")
    obj["spec"]["podManagementPolicy"] = policy
    found = explained(obj, *bound("lost", "a", "b"))

    assert found.replicas is not None
    assert (3, fitting, True) == (found.replicas.wanted, found.replicas.fitting, found.replicas.complete)


def bound(*places: str) -> list[Object]:
    """Return the claims of the first replicas, with volumes in zones."""
    claims = [a_claim(f"data-web-{number}", f"v{number}") for number in range(len(places))]
    volumes = [a_volume(f"v{number}", f"data-web-{number}", zone) for number, zone in enumerate(places)]
    return [*claims, *volumes]


def explained(obj: Object, *objects: Object, zones: str = "abc") -> Explained:
    nodes = [made for zone in zones for made in (a_node(zone, {ZONE: zone}), a_csi_node(zone))]
    cluster = with_storage([*nodes, *objects])
    context = AdmissionContext(policies=(), cluster=cluster, reads_stored=True)
    state = ClusterState(context=context, known=UNREAD_PODS, workloads=ClusterWorkloads(context.kinds))
    return explain_object(obj, state)


def remade(found: Explained) -> list[tuple[str, ...]]:
    """Return the suggestions that make claims again: the kind, claims, classes, and how many replicas fit."""
    return [
        (
            str(change.what),
            *change.remade.names,
            change.remade.storage_class,
            change.remade.like,
            "" if entry.replicas is None else f"{entry.replicas.fitting}/{entry.replicas.wanted}",
        )
        for entry in found.suggestions.found
        if (change := entry.in_cluster) is not None and change.remade.names
    ]


@pytest.mark.parametrize(
    ("objects", "zones", "expected"),
    [
        pytest.param(
            [a_class(), *bound("a", "a")],
            "abc",
            [("persistentVolumeClaim", "data-web-1", "", "", "3/3")],
            id="volumes of web-0 and web-1 in a: that of web-1 is made again",
        ),
        pytest.param(
            [a_class(), *bound("a", "a", "a")],
            "abc",
            [("persistentVolumeClaim", "data-web-1", "", "", "2/3")],
            id="all volumes in a: only one replica more fits",
        ),
        pytest.param([a_class(), *bound("a", "b")], "abc", [], id="volumes in a and b: all fit"),
        pytest.param(
            [a_class(waits=False), *bound("a", "a")],
            "abc",
            [("storageClass", "data-web-1", "ssd-wait-for-consumer", "ssd", "3/3")],
            id="a class that binds at once: a new one like it",
        ),
        pytest.param(
            [a_class(waits=False), a_class("late"), *bound("a", "a")],
            "abc",
            [("storageClass", "data-web-1", "late", "", "3/3")],
            id="a class that waits is there already",
        ),
        pytest.param(
            [a_class(waits=False), a_class("late", provisioner="other.example.com"), *bound("a", "a")],
            "abc",
            [("storageClass", "data-web-1", "ssd-wait-for-consumer", "ssd", "3/3")],
            id="a class of another provisioner is no substitute",
        ),
        pytest.param(
            [
                a_class(
                    allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}],
                ),
                *bound("a", "a"),
            ],
            "abc",
            [],
            id="a class that makes volumes in a alone: none elsewhere",
        ),
        pytest.param(
            [a_class(provisioner=BY_HAND), *bound("a", "a")],
            "abc",
            [],
            id="volumes made by hand, none is free",
        ),
        pytest.param(
            [a_class(provisioner=BY_HAND), *bound("a", "a"), a_volume("free", zone="b")],
            "abc",
            [("persistentVolumeClaim", "data-web-1", "", "", "2/3")],
            id="volumes made by hand, one is free in b",
        ),
        pytest.param(
            [a_class(), *bound("a")],
            "bc",
            [("persistentVolumeClaim", "data-web-0", "", "", "3/3")],
            id="the zone of the volume is lost",
        ),
    ],
)  # fmt: skip
def test_claims_that_are_made_again(
    objects: list[Object], zones: str, expected: list[tuple[str, ...]]
) -> None:
    """A claim is made again, in its class or one that waits, only where the pod is proved to fit then."""
    assert expected == remade(explained(a_stateful_set(), *objects, zones=zones))


def test_both_are_named() -> None:
    """Claim, volume, zone and constraint stand in one sentence, in text and in JSON."""
    found = explained(a_stateful_set(), a_class(), *bound("a", "a"))
    (deadlock,) = found.deadlocks
    told = " ".join(text.render(found, width=500, color=False).split())

    assert ("data-web-1", "v1", f"{ZONE} in (a)", 1, (0,)) == (
        deadlock.claim, deadlock.volume, deadlock.reached_from, deadlock.reaching, deadlock.constraints
    )  # fmt: skip
    assert f"claim data-web-1 is bound to volume v1, reached from {ZONE} in (a); constraint 1 ({ZONE}" in told
    assert b'"deadlocks":[{"claim":"data-web-1"' in json.render(found)


def test_a_lost_zone() -> None:
    """Where no node reaches a volume, a node in its zone helps, and keeps the data: it comes first."""
    found = explained(a_stateful_set(), a_class(), *bound("a"), zones="bc")
    first, last = found.suggestions.found[0].in_cluster, found.suggestions.found[-1].in_cluster

    assert first is not None
    assert last is not None
    assert [0] == [deadlock.reaching for deadlock in found.deadlocks]
    assert (ChangeKind.NEW_NODE, ZONE, "a") == (first.what, first.key, first.value)
    assert ChangeKind.CLAIM is last.what
    assert "with its data" in in_cluster(last)


def test_relaxing_the_constraint_gives_up_no_data() -> None:
    """Suggestions that lose data come after all that relax the constraint."""
    kinds = [
        entry.changes[0].what
        for entry in explained(a_stateful_set(), a_class(), *bound("a", "a")).suggestions.found
    ]

    assert [
        ChangeKind.WHEN_UNSATISFIABLE,
        ChangeKind.MAX_SKEW,
        ChangeKind.CONSTRAINT,
        ChangeKind.CLAIM,
    ] == kinds


def test_claims_of_others_stay() -> None:
    """A claim that another pod uses is not made again."""
    pod = a_pod("next", spread=[a_constraint(ZONE)], volumes=using("data-web-0"))
    user = a_pod("user", "a", volumes=using("data-web-0"))

    assert [] == remade(explained(pod, a_class(), *bound("a"), user))
    assert [("persistentVolumeClaim", "data-web-0", "", "", "")] == remade(
        explained(pod, a_class(), *bound("a"), a_pod("other", "a"))
    )


@pytest.mark.parametrize(
    ("running", "replicas", "expected"),
    [
        pytest.param("", 3, "web-0", id="none of 3 runs"),
        pytest.param("0", 3, "web-1", id="web-0 runs"),
        pytest.param("02", 3, "web-1", id="web-1 is missing"),
        pytest.param("012", 3, "web-2", id="all run: the last is replaced first"),
    ],
)
def test_the_next_replica(running: str, replicas: int, expected: str) -> None:
    """Which claims a replica has depends on its ordinal: that of the first missing one."""
    pods = [a_pod(f"web-{number}", "a") for number in running]
    pod = explained(a_stateful_set(replicas=replicas), a_class(), *pods).placement.request.pod

    assert expected == pod.name
    assert [f"data-{expected}"] == [claim.name for claim in pod.volumes.claims]
