"""Anti-affinity that is meant for its own replicas and selects nobody; what means others is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.findings import Severity
from tests.builders import a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "anti-affinity-misses-own-pod"
NAME, INSTANCE, COMPONENT, PART_OF = (
    f"app.kubernetes.io/{name}" for name in ("name", "instance", "component", "part-of")
)
#: The labels of the pods, as charts write them.
OWN = {NAME: "shop", INSTANCE: "prod", COMPONENT: "server"}
WARNING, NOTE = [Severity.WARNING], [Severity.NOTE]
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def a_term(labels: Any, key: str = HOST, **fields: Any) -> dict[str, Any]:
    selector = labels if "matchExpressions" in labels else {"matchLabels": labels}
    return {"topologyKey": key, "labelSelector": selector, **fields}


def web(
    *terms: dict[str, Any],
    kind: str = "Deployment",
    replicas: int | None = 3,
    name: str = "shop-server",
    labels: dict[str, str] = OWN,
    metadata: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}
    workload = a_workload(kind, spec={"affinity": affinity, **spec})
    workload["metadata"] |= {"name": name, "labels": metadata or {}}
    workload["spec"]["replicas"] = replicas
    workload["spec"]["selector"] = {"matchLabels": labels}
    workload["spec"]["template"]["metadata"] = {"labels": labels}
    return workload


def severities(*objects: dict[str, Any]) -> list[Severity | None]:
    return [problem.severity for problem in problems(RULE, text_of(*objects))]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(OWN, [], id="its own labels"),
        pytest.param({COMPONENT: "server"}, [], id="one of its own labels"),
        pytest.param({}, [], id="every pod"),
        pytest.param(OWN | {COMPONENT: "web"}, WARNING, id="a component that nothing has"),
        pytest.param(OWN | {COMPONENT: "worker"}, [], id="the component of another workload"),
        pytest.param({NAME: "shop", INSTANCE: "test"}, WARNING, id="another instance, which nothing is"),
        pytest.param({"app": "shop"}, WARNING, id="its name under a key that it lacks"),
        pytest.param({"app": "shop-server"}, WARNING, id="the workload's name under a key that it lacks"),
        pytest.param(
            {"component": "shop-server"}, WARNING, id="the same under a key that names no application"
        ),
        pytest.param({"target": "server"}, WARNING, id="its component under a key that it lacks"),
        pytest.param({PART_OF: "suite"}, WARNING, id="a label of the workload that its pods lack"),
        pytest.param({PART_OF: "other"}, [], id="a label that nothing has"),
        pytest.param({NAME: "kafka"}, [], id="another application, from elsewhere"),
        pytest.param({NAME: "kafka", INSTANCE: "prod"}, [], id="another application of the release"),
        pytest.param({COMPONENT: "gateway"}, [], id="a component of who knows what"),
        pytest.param({"noisy": "true"}, [], id="a mark that others carry"),
        pytest.param(
            {
                "matchExpressions": [
                    {"key": NAME, "operator": "In", "values": ["shop", "kafka"]},
                    {"key": COMPONENT, "operator": "In", "values": ["web"]},
                ]
            },
            WARNING,
            id="expressions",
        ),
        pytest.param(
            {"matchExpressions": [{"key": NAME, "operator": "NotIn", "values": ["shop"]}]},
            [],
            id="everybody else",
        ),
        pytest.param(
            {"matchExpressions": [{"key": NAME, "operator": "DoesNotExist"}]}, [], id="the nameless"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "pod-template-hash", "operator": "Exists"}]},
            [],
            id="a label that the controller adds",
        ),
    ],
)
def test_selectors(selector: dict[str, Any], expected: list[Severity]) -> None:
    """A term is found where it names its own workload and selects no pod of the repository."""
    worker = web(name="shop-worker", labels=OWN | {COMPONENT: "worker"})

    assert expected == severities(web(a_term(selector), metadata={PART_OF: "suite"}), worker)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"app": "emailservicex"}, WARNING, id="a letter too much"),
        pytest.param({"app": "emailservce"}, WARNING, id="a letter too few"),
        pytest.param({"app": "emailservise"}, WARNING, id="another letter"),
        pytest.param({"app": "emialservice"}, WARNING, id="two letters the wrong way round"),
        pytest.param({"app": "email-service"}, WARNING, id="a hyphen"),
        pytest.param({"app": "emailservice2"}, [], id="a number: another one"),
        pytest.param({"app": "emailservicexy"}, [], id="two letters"),
        pytest.param({"tier": "backendx"}, WARNING, id="a label that names no application"),
        pytest.param({"tier": "backendx", "app": "paymentservice"}, [], id="with another application"),
        pytest.param({"tier": "backendx", "zone": "a"}, [], id="with a label that the pods lack"),
    ],
)
def test_slips(selector: dict[str, Any], expected: list[Severity]) -> None:
    """A value that is the pods' own but for a letter means them."""
    labels = {"app": "emailservice", "tier": "backend"}

    assert expected == severities(web(a_term(selector), name="emailservice", labels=labels))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, WARNING, id="the same name: a copy"),
        pytest.param({"name": "other"}, [], id="another name: another workload"),
        pytest.param({"kind": "StatefulSet"}, [], id="another kind: another workload"),
    ],
)
def test_copies(changed: dict[str, Any], expected: list[Severity]) -> None:
    """A copy of the workload whose labels the selector fits is no other workload."""
    found = severities(web(a_term(MISSING)), web(labels=MISSING, **changed))

    assert expected == found


@pytest.mark.parametrize("hook", ["test", "test-success", "pre-install, test"])
def test_pods_of_helm_test(hook: str) -> None:
    """The pods of ``helm test`` are no workload that the term could mean."""
    test = web(name="test-connection", labels=MISSING)
    test["metadata"]["annotations"] = {"helm.sh/hook": hook}

    assert WARNING == severities(web(a_term(MISSING)), test)


MISSING = OWN | {COMPONENT: "web"}
CONSTRAINT = {
    "maxSkew": 1,
    "topologyKey": HOST,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": OWN},
}


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(web(a_term(MISSING)), WARNING, id="3 replicas"),
        pytest.param(web(a_term(MISSING), replicas=1), NOTE, id="1 replica"),
        pytest.param(web(a_term(MISSING), replicas=None), NOTE, id="1 replica by default"),
        pytest.param(web(a_term(MISSING), a_term(OWN)), NOTE, id="another term keeps them apart"),
        pytest.param(web(a_term(MISSING), a_term(OWN, ZONE)), WARNING, id="another keeps them apart by zone"),
        pytest.param(
            web(a_term(MISSING), topologySpreadConstraints=[CONSTRAINT]), NOTE, id="a constraint does"
        ),
        pytest.param(web(a_term(MISSING, namespaces=["other"])), [], id="another namespace"),
        pytest.param(web(a_term(MISSING, namespaces=["shop"])), WARNING, id="its own namespace by name"),
        pytest.param(web(a_term(MISSING, namespaceSelector={})), [], id="every namespace"),
        pytest.param(web(a_term(MISSING, mismatchLabelKeys=["team"])), [], id="other teams"),
        pytest.param(web(a_term(MISSING | {NAME: "${NAME}"})), [], id="a placeholder in the term"),
        pytest.param(web(a_term(MISSING), labels=OWN | {COMPONENT: "${NAME}"}), [], id="one in the labels"),
        pytest.param(web(a_term(MISSING), labels={}), [], id="a patch"),
    ],
)
def test_workloads(workload: dict[str, Any], expected: list[Severity]) -> None:
    """It is a warning where replicas may share a domain, a note where the term only does nothing."""
    assert expected == severities(workload)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param(HOST, "replicas may share a node", id="host name"),
        pytest.param(
            "failure-domain.beta.kubernetes.io/zone", "replicas may share a zone", id="zone, old name"
        ),
        pytest.param("example.com/rack", "replicas may share a domain of example.com/rack", id="rack"),
    ],
)
def test_what_is_shared(key: str, expected: str) -> None:
    """The message says what the replicas may share."""
    (problem,) = problems(RULE, text_of(web(a_term(MISSING, key))))

    assert expected in problem.message


def test_affinity_means_others() -> None:
    """To be near other pods is what pod affinity is for."""
    workload = web()
    workload["spec"]["template"]["spec"]["affinity"] = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [a_term(MISSING)]}
    }

    assert [] == severities(workload)
