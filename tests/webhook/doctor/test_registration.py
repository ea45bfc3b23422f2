"""Registration, deadlocks of the webhooks with themselves, and timeouts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.webhook.doctor.installation import (
    CONFIGURATIONS,
    DEPLOYMENT,
    LABELS,
    MUTATING,
    VALIDATING,
    Change,
    Cluster,
    all_of,
    diagnosis,
    excluding,
    found,
    with_policies,
    wording,
)
from tests.webhook.registrations import IDLE
from webhook.registration import OPERATIONS

UNREGISTERED = ("webhooks-registered", "problem")
CALLED_ELSEWHERE = ("webhooks-registered", "warning")
DEADLOCK, WAIT = ("own-namespaces-excluded", "problem"), ("own-namespaces-excluded", "warning")
OTHER_PODS = {"matchLabels": {"app": "web"}}


def both_deleted(cluster: Cluster) -> None:
    for path in CONFIGURATIONS.values():
        del cluster.objects[path]


def with_other_pods(cluster: Cluster) -> None:
    metadata = {"name": "web", "namespace": "shop", "labels": {"app": "web"}}
    cluster.objects["/api/v1/namespaces/shop/pods/web"] = {"metadata": metadata}


def calling(client: dict[str, object]) -> Change:
    return lambda cluster: cluster.webhook(MUTATING)["clientConfig"].update(client)


def condition(expression: str) -> dict[str, object]:
    return {"namespaceSelector": {}, "matchConditions": [{"name": "c", "expression": expression}]}


def unlabeled(cluster: Cluster) -> None:
    """Take the template away whose labels say what our pods are."""
    del cluster.objects[DEPLOYMENT]


#: A rule for objects that the mutating webhook ignores.
JOBS = {"operations": ["*"], "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}


def refused(status: int, message: str, *, asked: set[str]) -> Change:
    """Have the API server refuse a probe."""

    def change(cluster: Cluster) -> None:
        cluster.answers["/apis/apps/v1/namespaces/shop/deployments"] = (status, {"message": message})
        cluster.answering = asked

    return change


def without_workloads(cluster: Cluster) -> None:
    del cluster.objects[CONFIGURATIONS[VALIDATING]]["webhooks"][0]


def idle(change: str) -> Change:
    return lambda cluster: IDLE[change](cluster.webhook(VALIDATING))


UNASKED = ("webhooks-answer", "problem")
CASES = [
    *(
        pytest.param(
            idle(change),
            {UNREGISTERED},
            id=f"/validate has {change}" if change.startswith("a") else change,
        )
        for change in IDLE
    ),
    pytest.param(
        lambda cluster: cluster.answering.remove("/validate"), {UNASKED}, id="nobody asks /validate"
    ),
    pytest.param(lambda cluster: cluster.answering.clear(), {UNASKED}, id="nobody asks"),
    pytest.param(
        refused(403, "exceeded quota: deployments", asked={"/mutate"}),
        {("webhooks-answer", "skipped")},
        id="somebody else refuses before /validate is asked",
    ),
    pytest.param(
        refused(
            403, 'admission webhook "validate.evenkeel.dev" denied the request: no', asked=set(OPERATIONS)
        ),
        set(),
        id="/validate refuses it",
    ),
    pytest.param(
        refused(500, 'failed calling webhook "mutate.evenkeel.dev": 404', asked=set()),
        {UNASKED, ("webhooks-answer", "skipped")},
        id="/mutate cannot be called, Fail",
    ),
    pytest.param(
        without_workloads,
        {UNREGISTERED},
        id="policies alone",
    ),
    pytest.param(
        lambda cluster: cluster.webhook(VALIDATING).update(
            rules=[rule | {"operations": ["CREATE"]} for rule in cluster.webhook(VALIDATING)["rules"]]
        ),
        {UNREGISTERED},
        id="CREATE alone",
    ),
    pytest.param(
        lambda cluster: cluster.webhook(VALIDATING).update(
            namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
        ),
        {UNREGISTERED},
        id="one namespace alone",
    ),
    pytest.param(
        lambda cluster: cluster.webhook(VALIDATING)["rules"][1]["resources"].remove("deployments"),
        {UNREGISTERED},
        id="rules without Deployments",
    ),
    pytest.param(
        lambda cluster: cluster.webhook(VALIDATING)["matchConditions"].append(
            {"name": "not-bob", "expression": "request.userInfo.username != 'bob'"}
        ),
        {UNREGISTERED},
        id="matchCondition that lets a user off",
    ),
    pytest.param(with_policies("Ignore"), set(), id="policies fail open"),
    pytest.param(with_policies("Fail"), {("policies-fail-open", "warning")}, id="policies fail closed"),
    pytest.param(
        both_deleted,
        {
            UNREGISTERED,
            ("own-namespaces-excluded", "skipped"),
            ("webhooks-answer", "skipped"),
            ("timeout-own", "skipped"),
            ("ca-bundle", "skipped"),
            ("certificate-trusted", "skipped"),
            ("service-port", "skipped"),
            ("service-answers", "skipped"),
        },
        id="both configurations are deleted",
    ),
    pytest.param(
        lambda cluster: cluster.objects.pop(CONFIGURATIONS[VALIDATING]), {UNREGISTERED}, id="one is deleted"
    ),
    pytest.param(
        lambda cluster: cluster.objects[CONFIGURATIONS[VALIDATING]].update(webhooks=None),
        {UNREGISTERED},
        id="one has no webhooks",
    ),
    pytest.param(
        calling({"service": {"namespace": "ops", "name": "keel", "path": "/mutate"}}),
        {CALLED_ELSEWHERE},
        id="another Service",
    ),
    pytest.param(
        calling({"service": None, "url": "https://keel/mutate?a=b"}), {CALLED_ELSEWHERE}, id="a URL"
    ),
    pytest.param(
        lambda cluster: cluster.set_webhooks(clientConfig={"url": "https://keel"}),
        {CALLED_ELSEWHERE, UNREGISTERED, ("webhooks-answer", "skipped"), ("ca-bundle", "problem")},
        id="both call a URL without a path, by the system's CAs",
    ),
    pytest.param(
        lambda cluster: cluster.set_webhooks(namespaceSelector={}, failurePolicy="Fail"),
        {DEADLOCK},
        id="no exclusion, Fail",
    ),
    pytest.param(
        lambda cluster: cluster.set_webhooks(namespaceSelector=excluding("kube-system")),
        {WAIT},
        id="own namespace is included, Ignore",
    ),
    pytest.param(
        all_of(
            with_other_pods,
            lambda cluster: cluster.set_webhooks(
                namespaceSelector=excluding("kube-system"), objectSelector=OTHER_PODS
            ),
        ),
        set(),
        id="own namespace is included, but not the labels of the replicas",
    ),
    pytest.param(
        all_of(
            unlabeled,
            with_other_pods,
            lambda cluster: cluster.set_webhooks(
                namespaceSelector=excluding("kube-system"), objectSelector=OTHER_PODS
            ),
        ),
        {WAIT},
        id="own namespace is included, and the labels of the replicas are not known",
    ),
    pytest.param(
        lambda cluster: cluster.set_webhooks(
            **condition("!(request.namespace in ['kube-system', \"evenkeel\"])")
        ),
        {UNREGISTERED},
        id="matchCondition that names both namespaces",
    ),
    pytest.param(
        lambda cluster: cluster.set_webhooks(**condition("request.namespace != 'kube'")),
        {UNREGISTERED, WAIT},
        id="matchCondition that names another namespace",
    ),
    pytest.param(
        lambda cluster: cluster.set_webhooks(namespaceSelector={}, rules=[JOBS]),
        {UNREGISTERED, ("webhooks-answer", "skipped")},
        id="rules without pods",
    ),
    pytest.param(lambda cluster: cluster.set_webhooks(timeoutSeconds=10), set(), id="timeout of 10 s"),
    pytest.param(
        lambda cluster: cluster.set_webhooks(timeoutSeconds=11),
        {("timeout-own", "warning")},
        id="timeout of 11 s",
    ),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_findings(change: Change, expected: set[tuple[str, str]]) -> None:
    """Problems are reported, and nothing else."""
    assert expected == set(found(diagnosis(change)))


def test_wording(golden: Callable[[str, str], str]) -> None:
    """Each case reads as agreed."""
    text = wording(CASES)

    assert golden("registration.txt", text) == text


def test_labels_of_replicas_are_those_of_the_template() -> None:
    """A webhook whose objectSelector selects the replicas waits for itself."""
    selecting = {"namespaceSelector": excluding("kube-system"), "objectSelector": {"matchLabels": LABELS}}

    assert [WAIT, WAIT] == found(diagnosis(lambda cluster: cluster.set_webhooks(**selecting)))
