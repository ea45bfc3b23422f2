"""Replicas: whether they answer, stay up, stand apart and are of one release."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.labels import LabelSelector
from policies.model.version import KubernetesVersion
from tests.webhook.doctor.installation import (
    GAUGES,
    LABELS,
    a_replica,
    a_voice,
    checks_of,
    evidence,
    healthy,
    remedies,
)
from webhook.doctor import replicas
from webhook.doctor.facts import (
    Budget,
    Endpoints,
    Known,
    Place,
    Replica,
    Unknown,
    UnknownError,
    Voice,
    Workload,
)

CHECKS = checks_of(replicas.CHECKS)


def two(**changes: Any) -> Known[tuple[Replica, ...]]:
    """Return two replicas of which the second is changed."""
    return Known((a_replica("evenkeel-1"), a_replica("evenkeel-2", **changes)))


def voices(**changes: Any) -> dict[str, Voice]:
    """Return what two replicas say, of which the second is changed."""
    return {"evenkeel-1": a_voice(), "evenkeel-2": a_voice(**changes)}


@pytest.mark.parametrize(
    ("service", "endpoints", "expected"),
    [
        pytest.param(True, Endpoints(1, 1), "", id="1 of 2 ready"),
        pytest.param(
            True, Endpoints(0, 2), "no ready endpoint, 2 that are not ready: every call fails", id="0 of 2"
        ),
        pytest.param(True, Endpoints(0, 0), "no ready endpoint: every call fails", id="0 of 0"),
        pytest.param(False, Endpoints(0, 0), "does not exist", id="no Service"),
    ],
)
def test_endpoints(*, service: bool, endpoints: Endpoints, expected: str) -> None:
    """The Service leads to a replica that is ready."""
    facts = healthy(service=Known(service), endpoints=Known(endpoints))
    told = evidence(CHECKS["service-endpoints"], facts)

    assert expected in told
    assert bool(expected) == told.startswith("problem")


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        pytest.param(2, two(), [], id="2 of 2"),
        pytest.param(1, Known((a_replica(),)), ["1 replica wanted"], id="1 of 1"),
        pytest.param(3, two(), ["2 of 3 replicas exist"], id="2 of 3"),
        pytest.param(2, two(ready=False), ["evenkeel-2 is not ready"], id="1 is not ready"),
        pytest.param(
            2,
            two(ready=False, state="CrashLoopBackOff"),
            ["evenkeel-2 is not ready: CrashLoopBackOff"],
            id="and why",
        ),
        pytest.param(0, Known(()), ["0 replicas wanted"], id="scaled to 0"),
    ],
)
def test_ready(wanted: int, found: Known[tuple[Replica, ...]], expected: list[str]) -> None:
    """Two replicas are wanted, there, and ready."""
    workload = Known(Workload(name="evenkeel", replicas=wanted, labels=LABELS))
    told = evidence(CHECKS["replicas-ready"], healthy(workload=workload, replicas=found)).splitlines()

    assert len(expected) == len(told)
    assert all(line.startswith(f"warning: {start}") for line, start in zip(told, expected, strict=True))


@pytest.mark.parametrize(
    ("found", "expected"),
    [pytest.param(two(), "", id="2 pods"), pytest.param(Known(()), "problem", id="no pod")],
)
def test_without_a_deployment(found: Known[tuple[Replica, ...]], expected: str) -> None:
    """Something else may make the pods."""
    told = evidence(CHECKS["replicas-ready"], healthy(workload=Known(None), replicas=found))

    assert expected == told.partition(":")[0]


@pytest.mark.parametrize(
    ("restarts", "state", "expected"),
    [
        pytest.param(4, "Error", "", id="4"),
        pytest.param(5, "Error", "warning: evenkeel-2 restarted 5 times, last by Error", id="5"),
        pytest.param(5, "", "warning: evenkeel-2 restarted 5 times", id="5, nobody knows why"),
        pytest.param(
            1, "OOMKilled", "warning: evenkeel-2 restarted 1 time, last by OOMKilled", id="1, out of memory"
        ),
    ],
)
def test_restarts(restarts: int, state: str, expected: str) -> None:
    """Five restarts are many, one for lack of memory is, too."""
    facts = healthy(replicas=two(restarts=restarts, state=state))

    assert expected == evidence(CHECKS["replicas-restarts"], facts)
    assert (state == "OOMKilled") == (
        "--limits=memory" in "".join(remedies(CHECKS["replicas-restarts"], facts))
    )


ZONES = Known((Place("node-1", "a"), Place("node-2", "a"), Place("node-3", "b")))


@pytest.mark.parametrize(
    ("found", "places", "expected"),
    [
        pytest.param(two(), healthy().places, "", id="2 nodes of 2 zones"),
        pytest.param(
            two(node="node-1"), ZONES, "2 replicas are all on node node-1, though 3 nodes", id="1 of 3 nodes"
        ),
        pytest.param(two(), ZONES, "2 replicas are all in zone a, though 2 zones", id="1 of 2 zones"),
        pytest.param(two(node="node-1"), Known((Place("node-1", "a"),)), "", id="there is only 1 node"),
        pytest.param(two(), Known((Place("node-1", ""), Place("node-2", ""))), "", id="nodes without zones"),
        pytest.param(
            two(), Known((Place("node-1", "a"), Place("node-3", "b"))), "", id="a node that is not known"
        ),
    ],
)
def test_apart(found: Known[tuple[Replica, ...]], places: Known[tuple[Place, ...]], expected: str) -> None:
    """Replicas share a node or zone only if there is no other."""
    told = evidence(CHECKS["replicas-apart"], healthy(replicas=found, places=places))

    assert expected in told
    assert bool(expected) == bool(told)


def test_apart_needs_two() -> None:
    """One replica cannot stand apart."""
    with pytest.raises(UnknownError, match="fewer than 2"):
        list(CHECKS["replicas-apart"].ask(healthy(replicas=two(node=""))))


def a_budget(name: str = "evenkeel", **changes: Any) -> Budget:
    values: dict[str, Any] = {
        "selector": LabelSelector(tuple(LABELS.items())),
        "allows": 1,
        "asks": "maxUnavailable 1",
        "blocking": False,
    }
    return Budget(name, **{**values, **changes})


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        pytest.param((a_budget(),), "", id="1 may be evicted"),
        pytest.param((), "warning: no PodDisruptionBudget", id="none"),
        pytest.param((a_budget(selector=None),), "warning: no PodDisruptionBudget", id="it selects nothing"),
        pytest.param(
            (a_budget(selector=LabelSelector((("app", "web"),))),),
            "warning: no PodDisruptionBudget",
            id="others",
        ),
        pytest.param(
            (a_budget(allows=0, asks="minAvailable 2", blocking=True),),
            "warning: PodDisruptionBudget evenkeel (minAvailable 2) lets nothing be evicted of 2 replicas",
            id="minAvailable 2 of 2",
        ),
        pytest.param((a_budget(allows=0),), "", id="0 now, for a replica is not healthy"),
        pytest.param(
            (a_budget(), a_budget("b")), "problem: 2 PodDisruptionBudgets", id="2: no eviction at all"
        ),
    ],
)
def test_budget(budgets: tuple[Budget, ...], expected: str) -> None:
    """One budget, which lets nodes be drained."""
    told = evidence(CHECKS["disruption-budget"], healthy(budgets=Known(budgets)))

    assert told.startswith(expected)
    assert bool(expected) == bool(told)


@pytest.mark.parametrize(
    ("asks", "replicas", "end"),
    [
        pytest.param("minAvailable 2", 2, "}}'", id="2 replicas"),
        pytest.param("minAvailable 1", 1, ", with 2 replicas or more", id="1 replica"),
    ],
)
def test_command_that_mends_a_budget(asks: str, replicas: int, end: str) -> None:
    """It never says what is set or what there is already."""
    budgets = Known((a_budget(allows=0, asks=asks, blocking=True),))
    facts = healthy(budgets=budgets, replicas=Known(two().value[:replicas]))
    (command,) = remedies(CHECKS["disruption-budget"], facts)

    assert '"maxUnavailable":1' in command
    assert command.endswith(end)


def test_command_that_makes_a_budget() -> None:
    """It selects by the labels that all replicas share, but for the revision."""
    (command,) = remedies(CHECKS["disruption-budget"], healthy(budgets=Known(())))

    assert " --selector=app.kubernetes.io/name=evenkeel --max-unavailable=1" in command


@pytest.mark.parametrize(
    ("found", "said", "expected"),
    [
        pytest.param(two(), voices(), [], id="one image, one release"),
        pytest.param(two(image_id="sha256:bb"), voices(), ["warning: replicas run 2 images"], id="2 images"),
        pytest.param(
            two(),
            voices(version=Known("0.2.0")),
            ["warning: replicas are of release 0.1.0, 0.2.0, this program of 0.1.0"],
            id="2 releases",
        ),
        pytest.param(two(), voices(version=Unknown("silent")), [], id="one does not say"),
    ],
)
def test_one_release(found: Known[tuple[Replica, ...]], said: dict[str, Voice], expected: list[str]) -> None:
    """Replicas and this program are the same."""
    told = evidence(CHECKS["one-release"], healthy(replicas=found, voices=said)).splitlines()

    assert expected == [line[: len(start)] for line, start in zip(told, expected, strict=True)]


def test_releases_that_nobody_tells() -> None:
    """Images alone are compared first."""
    said = dict.fromkeys(("evenkeel-1", "evenkeel-2"), a_voice(version=Unknown("may not get pods/proxy")))
    answers = CHECKS["one-release"].ask(healthy(replicas=two(image_id="sha256:bb"), voices=said))

    assert "replicas run 2 images" in next(answers).evidence
    with pytest.raises(UnknownError, match="may not get pods/proxy"):
        next(answers)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param((), (), [], id="both ready"),
        pytest.param((), ("not synced",), ["warning: evenkeel-2: not synced"], id="1 of 2"),
        pytest.param(
            ("a", "b"),
            ("a",),
            ["problem: evenkeel-1: a", "problem: evenkeel-1: b", "problem: evenkeel-2: a"],
            id="none",
        ),
    ],
)
def test_own_words(first: tuple[str, ...], second: tuple[str, ...], expected: list[str]) -> None:
    """The reasons of /readyz are repeated; it is a problem if no replica is ready."""
    said = {"evenkeel-1": a_voice(reasons=Known(first)), "evenkeel-2": a_voice(reasons=Known(second))}

    assert expected == evidence(CHECKS["replicas-say-ready"], healthy(voices=said)).splitlines()


@pytest.mark.parametrize(("ready", "expected"), [(True, True), (False, False)], ids=["ready", "not ready"])
def test_replicas_out_of_reach(*, ready: bool, expected: bool) -> None:
    """A replica that the API server cannot reach though it is ready tells of a firewall."""
    silent = voices(reasons=Unknown("evenkeel-2 cannot be reached"), unreachable="i/o timeout")
    answers = CHECKS["replicas-say-ready"].ask(healthy(replicas=two(ready=ready), voices=silent))
    told = next(answers).evidence

    assert expected == ("does not reach evenkeel-2 on port 8443" in told and "i/o timeout" in told)


@pytest.mark.parametrize(
    ("metrics", "settings", "expected"),
    [
        pytest.param(GAUGES, {}, "", id="2 s old"),
        pytest.param(
            GAUGES | {"evenkeel_cluster_age_seconds": 181.0}, {}, "181 s old, above 180 s", id="181 s"
        ),
        pytest.param(
            GAUGES | {"evenkeel_cluster_age_seconds": 90.0},
            {"max-snapshot-age-s": "60"},
            "90 s old, above 60 s",
            id="90 s, where 60 are allowed",
        ),
        pytest.param(GAUGES, {"max-snapshot-age-s": "x"}, "", id="a setting that is no number"),
        pytest.param(GAUGES | {"evenkeel_cluster_synced": 0.0}, {}, "has no picture", id="not synced"),
        pytest.param({}, {}, "", id="it follows no cluster"),
    ],
)
def test_picture(metrics: dict[str, float], settings: dict[str, str], expected: str) -> None:
    """A picture older than the replicas' own limit is stale."""
    found = Known((a_replica("evenkeel-1", settings=settings),))
    facts = healthy(replicas=found, voices={"evenkeel-1": a_voice(metrics=Known(metrics))})
    told = evidence(CHECKS["cluster-picture"], facts)

    assert expected in told
    assert bool(expected) == bool(told)


@pytest.mark.parametrize(
    ("version", "settings", "expected"),
    [
        pytest.param((1, 36), {"live": "true"}, "", id="followed"),
        pytest.param((1, 30), {"live": "true"}, "", id="followed: the cluster's own"),
        pytest.param((1, 36), {}, "", id="not said: 1.36"),
        pytest.param((1, 30), {}, "judges by Kubernetes 1.36, the cluster runs 1.30", id="not said, on 1.30"),
        pytest.param((1, 30), {"kubernetes-version": "v1.30.4"}, "", id="said"),
        pytest.param(
            (1, 31),
            {"kubernetes-version": "1.30", "live": "true"},
            "judges by Kubernetes 1.30",
            id="said wrongly",
        ),
        pytest.param((1, 23), {"live": "true"}, "Kubernetes 1.23, older than 1.24", id="older than known"),
        pytest.param((1, 37), {"live": "true"}, "Kubernetes 1.37, newer than 1.36", id="newer than known"),
    ],
)
def test_kubernetes_version(version: tuple[int, int], settings: dict[str, str], expected: str) -> None:
    """Replicas judge by the release of the cluster."""
    facts = healthy(
        version=Known(KubernetesVersion(*version)), replicas=Known((a_replica(settings=settings),))
    )
    told = evidence(CHECKS["kubernetes-version"], facts)

    assert expected in told
    assert bool(expected) == bool(told)
