"""The objects that a decision needs of a followed cluster, and decisions without them."""

from __future__ import annotations

from typing import Any

import pytest

from policies.admission.decision import AdmissionVerdict, CacheMiss
from policies.admission.injection import decide_mutation, missing_for_injection
from policies.admission.validation import decide_validation, missing_for_rules
from policies.model.workload import Owner
from tests.builders import a_constraint, a_pod, a_policy, a_replica_set, a_workload
from tests.policies.config.contexts import a_context, defaults, read

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"env": "prod"}}}
OPTED_OUT = NAMESPACE | {"metadata": {"name": "shop", "annotations": {"evenkeel.dev/inject": "false"}}}
REPLICA_SET = a_replica_set(a_workload(), "5dcb")
OWNER = ("apps/v1", "ReplicaSet", "web-5dcb")
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
#: The namespace is missing, and the owner.
NO_NAMESPACE, NO_OWNER = CacheMiss("shop"), CacheMiss("shop", Owner(*OWNER))
AT_PODS = a_policy(defaults=defaults())
AT_WORKLOADS = a_policy(defaults=defaults("workloads"))
BY_LABEL = a_policy(scope={"namespaceSelector": {"matchLabels": {"env": "prod"}}})
BY_NAME = a_policy(scope={"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}})


def of_replica_set(**fields: Any) -> dict[str, Any]:
    return a_pod(labels={"app": "web", "pod-template-hash": "5dcb"}, owner=OWNER, **fields)


@pytest.mark.parametrize(
    ("obj", "policy", "cluster", "live", "miss"),
    [
        pytest.param(of_replica_set(), AT_PODS, [NAMESPACE], True, NO_OWNER, id="no ReplicaSet"),
        pytest.param(of_replica_set(), AT_PODS, [NAMESPACE, REPLICA_SET], True, None, id="all is there"),
        pytest.param(of_replica_set(), AT_PODS, [REPLICA_SET], True, NO_NAMESPACE, id="no namespace"),
        pytest.param(of_replica_set(), AT_PODS, [OPTED_OUT], True, None, id="the namespace opted out"),
        pytest.param(of_replica_set(), AT_PODS, [], False, None, id="a file, which nothing comes into"),
        pytest.param(of_replica_set(), AT_WORKLOADS, [], True, None, id="defaults for others"),
        pytest.param(of_replica_set(), a_policy(), [], True, None, id="no defaults"),
        pytest.param(
            of_replica_set(),
            a_policy(scope={"excludeNamespaces": ["shop"]}, defaults=defaults()),
            [],
            True,
            None,
            id="out of scope",
        ),
        pytest.param(
            of_replica_set(),
            a_policy(scope={"namespaceSelector": {"matchLabels": {"env": "prod"}}}, defaults=defaults()),
            [],
            True,
            NO_NAMESPACE,
            id="a scope that the namespace's labels decide",
        ),
        pytest.param(
            of_replica_set(spec={"topologySpreadConstraints": [a_constraint()]}),
            AT_PODS,
            [],
            True,
            None,
            id="constraints of its own",
        ),
        pytest.param(a_pod(owner=("apps/v1", "DaemonSet", "d")), AT_PODS, [], True, None, id="a DaemonSet's"),
        pytest.param(
            a_pod(owner=("acme.io/v1", "Database", "d")),
            AT_PODS,
            [NAMESPACE],
            True,
            None,
            id="an owner that is not followed",
        ),
        pytest.param(a_workload(), AT_WORKLOADS, [], True, NO_NAMESPACE, id="a Deployment, no namespace"),
        pytest.param(a_workload(), AT_WORKLOADS, [NAMESPACE], True, None, id="a Deployment"),
    ],
)
def test_what_injection_needs(
    *, obj: dict[str, Any], policy: dict[str, Any], cluster: list[Any], live: bool, miss: CacheMiss | None
) -> None:
    """An object that would get defaults needs its namespace and its owner, and without them gets nothing."""
    context = a_context(policy, cluster=[*cluster, SERVICE], live=live)
    decision = decide_mutation(read(obj), context)

    workload = read(obj)
    assert miss == missing_for_injection(workload, context, context.policies_for(workload))
    assert miss == decision.miss
    assert miss is None or (AdmissionVerdict.ALLOWED, (), {"injection-skipped": str(miss)}) == (
        decision.verdict,
        decision.patch,
        decision.audit,
    )


@pytest.mark.parametrize(
    ("policy", "cluster", "miss", "verdict"),
    [
        pytest.param(BY_LABEL, [NAMESPACE], None, AdmissionVerdict.DENIED, id="the labels are known"),
        pytest.param(BY_LABEL, [], NO_NAMESPACE, AdmissionVerdict.ALLOWED, id="the labels are not known"),
        pytest.param(BY_NAME, [], None, AdmissionVerdict.DENIED, id="the name is enough"),
        pytest.param(a_policy(), [], None, AdmissionVerdict.DENIED, id="no selector"),
    ],
)
def test_what_rules_need(
    policy: dict[str, Any], cluster: list[Any], miss: CacheMiss | None, verdict: AdmissionVerdict
) -> None:
    """A policy that selects namespaces by labels needs them; what it could not hold is told."""
    context = a_context(policy, cluster=cluster, live=True)
    obj = read(a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}))
    decision = decide_validation(obj, None, context)

    assert miss == missing_for_rules(obj, context) == decision.miss
    assert verdict is decision.verdict
    assert ("withheld" in decision.audit) == (miss is not None)


def test_what_comes_is_found() -> None:
    """Waiting ends when it is there, and when the cluster cannot be used any more."""
    before, after = a_context(cluster=[]), a_context(cluster=[NAMESPACE, REPLICA_SET])

    for miss in (NO_NAMESPACE, NO_OWNER):
        assert [False, True, True] == [miss.found(found) for found in (before.snapshot, after.snapshot, None)]
