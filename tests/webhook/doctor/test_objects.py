"""Objects of the API as facts."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.labels import LabelSelector
from tests.webhook.doctor.installation import (
    LABELS,
    a_configuration,
    a_pod_object,
    a_replica,
    a_webhook,
)
from webhook.doctor import objects
from webhook.doctor.facts import (
    MUTATING,
    Budget,
    Configuration,
    Endpoints,
    Namespace,
    Place,
    ServicePort,
    Workload,
)


def test_a_configuration() -> None:
    """Every field of a webhook is read."""
    found = objects.read_configuration(
        {"metadata": {"name": "evenkeel"}, **a_configuration(MUTATING)}, MUTATING
    )

    assert Configuration(MUTATING, "evenkeel", (a_webhook(conditions={"c": "true"}),)) == found


def test_a_configuration_of_a_url() -> None:
    """What an API server would fill in is as it would."""
    webhook = {"name": "a.b.c", "clientConfig": {"url": "https://a", "caBundle": "/w"}}
    ((read,)) = objects.read_configuration(
        {"metadata": {"name": "x"}, "webhooks": [webhook]}, MUTATING
    ).webhooks

    assert ((), b"/w", "Fail", 10, LabelSelector()) == (
        read.service,
        read.ca_bundle,
        read.failure_policy,
        read.timeout_s,
        read.namespace_selector,
    )


def test_a_configuration_without_webhooks() -> None:
    """It has none."""
    assert Configuration(MUTATING, "x", ()) == objects.read_configuration(
        {"metadata": {"name": "x"}}, MUTATING
    )


@pytest.mark.parametrize(("text", "expected"), [("false", True), ("true", False)])
def test_a_namespace(text: str, *, expected: bool) -> None:
    """Only "false" opts out."""
    metadata = {"name": "shop", "labels": {"a": "b"}, "annotations": {"evenkeel.dev/inject": text}}

    assert Namespace("shop", {"a": "b"}, exempt=expected) == objects.read_namespace({"metadata": metadata})


@pytest.mark.parametrize(
    ("spec", "expected"), [({}, 1), ({"replicas": 0}, 0), ({"replicas": 3}, 3)], ids=["absent: 1", "0", "3"]
)
def test_a_deployment(spec: dict[str, Any], expected: int) -> None:
    """Replicas that are not said are one."""
    template = {"metadata": {"labels": LABELS}, "spec": {}}
    found = objects.read_workload({"metadata": {"name": "e"}, "spec": {"template": template, **spec}})

    assert Workload(name="e", replicas=expected, labels=LABELS) == found


def test_endpoints() -> None:
    """Slices and Endpoints are counted alike; a condition that is not there means ready."""
    slices: list[dict[str, Any]] = [
        {"endpoints": [{"conditions": {"ready": True}}, {"conditions": {"ready": False}}]},
        {"endpoints": [{"conditions": {}}]},
        {"endpoints": None},
    ]
    subsets: list[dict[str, Any]] = [{"addresses": [{}, {}]}, {"notReadyAddresses": [{}]}]

    assert Endpoints(2, 1) == objects.read_slices(slices)
    assert Endpoints(2, 1) == objects.read_endpoints({"subsets": subsets})
    assert Endpoints(0, 0) == objects.read_endpoints({})


def test_a_replica() -> None:
    """Of its containers, the one with the port counts."""
    assert a_replica("evenkeel-1", restarts=1) == objects.read_replica(a_pod_object("evenkeel-1"))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param({"state": {"running": {}}}, "", id="running"),
        pytest.param(
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}}, "ImagePullBackOff", id="waiting"
        ),
        pytest.param(
            {
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "OOMKilled"}},
            },
            "OOMKilled",
            id="why it ended says more than that it waits",
        ),
        pytest.param(
            {"state": {"running": {}}, "lastState": {"terminated": {"reason": "Error", "exitCode": 137}}},
            "Error, exit code 137",
            id="137: it was killed",
        ),
        pytest.param(
            {"state": {"terminated": {"reason": "Completed"}}}, "Completed", id="it has ended, and stays so"
        ),
    ],
)
def test_states(told: dict[str, Any], expected: str) -> None:
    """The state is the reason that helps most."""
    pod = a_pod_object("evenkeel-1")
    pod["status"]["containerStatuses"][0] |= told

    assert expected == objects.read_replica(pod).state


@pytest.mark.parametrize(
    ("bind", "port"),
    [
        pytest.param("--bind=0.0.0.0:9443", 9443, id="9443"),
        pytest.param("--bind=rubbish", 8443, id="rubbish: the container's port"),
    ],
)
def test_the_port_that_is_bound(bind: str, port: int) -> None:
    """Where a replica listens is what it is told, not what its pod declares."""
    pod = a_pod_object("evenkeel-1")
    pod["spec"]["containers"][1]["args"].append(bind)
    found = objects.read_replica(pod)

    assert (port, {"https": 8443}) == (found.port, found.named_ports)


def test_ports_of_a_service() -> None:
    """A targetPort that is not given is the port."""
    spec = {"ports": [{"port": 443, "targetPort": "https"}, {"port": 80}]}

    assert (ServicePort(443, "https"), ServicePort(80, 80)) == objects.read_service_ports({"spec": spec})


def test_a_pod_on_no_node() -> None:
    """It is not ready because nothing took it; ports that have no name are found by their number."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    container = {"name": "evenkeel", "ports": [{"containerPort": 9}, {"containerPort": 8443}]}
    volumes = [{"name": "a", "secret": {"secretName": "tls"}}, {"name": "b", "emptyDir": {}}]
    pod = {
        "metadata": {"name": "e"},
        "spec": {"containers": [container], "volumes": volumes},
        "status": {"conditions": [condition]},
    }
    found = objects.read_replica(pod)

    assert ("Unschedulable", "", 8443, ("tls",), "default") == (
        found.state,
        found.node,
        found.port,
        found.secrets,
        found.service_account,
    )


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({"command": ["evenkeel", "serve", "--live"]}, {"live": "true"}, id="a switch"),
        pytest.param({"args": ["--lease", "a", "--bind=:1"]}, {"lease": "a", "bind": ":1"}, id="values"),
        pytest.param({"args": ["--lease"]}, {"lease": ""}, id="a value that is missing"),
        pytest.param({"args": ["--other", "--verbose=1"]}, {}, id="what is no option"),
        pytest.param({"env": [{"name": "EVENKEEL_LIVE", "value": "1"}]}, {"live": "1"}, id="a variable"),
        pytest.param({"env": [{"name": "EVENKEEL_LIVE", "value": "0"}]}, {}, id="a variable that says no"),
        pytest.param(
            {"env": [{"name": "EVENKEEL_LEASE", "valueFrom": {}}]}, {}, id="a variable from elsewhere"
        ),
        pytest.param(
            {"env": [{"name": "EVENKEEL_LEASE", "value": "a"}], "args": ["--lease=b"]},
            {"lease": "b"},
            id="both",
        ),
    ],
)
def test_settings(container: dict[str, Any], expected: dict[str, str]) -> None:
    """Options come from the command line, else from the environment."""
    assert expected == objects.read_settings(container)


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param(
            {"maxUnavailable": "50%", "selector": {"matchLabels": LABELS}},
            {"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1},
            Budget("b", LabelSelector(tuple(LABELS.items())), 1, "maxUnavailable 50%", blocking=False),
            id="maxUnavailable",
        ),
        pytest.param(
            {"minAvailable": 2},
            {"expectedPods": 2, "currentHealthy": 1, "desiredHealthy": 2},
            Budget("b", None, 0, "minAvailable 2", blocking=True),
            id="minAvailable 2 of 2, 1 healthy",
        ),
        pytest.param(
            {"maxUnavailable": 1, "selector": {}},
            {"expectedPods": 2, "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0},
            Budget("b", LabelSelector(), 0, "maxUnavailable 1", blocking=False),
            id="maxUnavailable 1 of 2, 1 healthy: 0 now",
        ),
        pytest.param(
            {"maxUnavailable": 0, "selector": {}},
            {"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 2, "disruptionsAllowed": 0},
            Budget("b", LabelSelector(), 0, "maxUnavailable 0", blocking=True),
            id="maxUnavailable 0",
        ),
        pytest.param(
            {"minAvailable": 2, "selector": {}},
            {"disruptionsAllowed": 0},
            Budget("b", LabelSelector(), 0, "minAvailable 2", blocking=False),
            id="nobody has looked at it yet",
        ),
    ],
)
def test_budgets(spec: dict[str, Any], status: dict[str, Any], expected: Budget) -> None:
    """A budget blocks if it asks for all pods; that a pod is not healthy now is another's finding."""
    assert expected == objects.read_budget({"metadata": {"name": "b"}, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("spec", "ready", "expected"),
    [
        pytest.param({}, "True", Place("n", "a"), id="ready"),
        pytest.param({"unschedulable": True}, "True", None, id="cordoned"),
        pytest.param({}, "Unknown", None, id="not ready"),
        pytest.param({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "True", None, id="tainted"),
        pytest.param(
            {"taints": [{"key": "a", "effect": "PreferNoSchedule"}]}, "True", Place("n", "a"), id="softly"
        ),
    ],
)
def test_places(spec: dict[str, Any], ready: str, expected: Place | None) -> None:
    """A node counts if it would take a pod without tolerations."""
    node = {
        "metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "a"}},
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }

    assert expected == objects.read_place(node)
