"""Policies as objects of a cluster: applied, changed and deleted while replicas run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.installation import Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import HOSTNAME_KEY, constraint, deployment
from tests.e2e.readiness import asked
from tests.waiting import eventually

NAME = "shop"
#: A default constraint whose minDomains means nothing.
SOFT: Manifest = {
    "maxSkew": 1,
    "topologyKey": HOSTNAME_KEY,
    "whenUnsatisfiable": "ScheduleAnyway",
    "minDomains": 2,
}


def policy(space: str = "", name: str = NAME, **spec: Any) -> Manifest:
    """Return a policy for a namespace."""
    scope = {"namespaces": [space]} if space else {}
    return {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": name},
        "spec": {"scope": scope, **spec},
    }


def review(space: str, obj: Manifest) -> Manifest:
    """Return the review of a Deployment that a person creates."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
            "namespace": space,
            "operation": "CREATE",
            "object": obj,
        },
    }


def denied_by(installed: Installation, space: str) -> list[int]:
    """Return the replicas that deny a Deployment whose spread is soft, which only a policy's setting does."""
    obj = deployment(constraints=[constraint(labelSelector={"matchLabels": {"app": "other"}})])
    return [
        port
        for port in installed.replicas
        if b'"allowed":false' in asked(port, installed.path("/validate"), body=review(space, obj))[1]
    ]


#: Denies where the rule otherwise warns.
STRICT: Manifest = {"rules": {"selector-misses-own-pod": {"enforcement": "deny"}}}
LENIENT: Manifest = {"rules": {"selector-misses-own-pod": {"enforcement": "audit"}}}


def accepted(kubectl: Kubectl, name: str = NAME) -> str:
    """Return the status of the condition Accepted; empty before there is one."""
    conditions = kubectl.get("spreadpolicies", name).get("status", {}).get("conditions", [])
    return next((str(entry["status"]) for entry in conditions), "")


@pytest.fixture(autouse=True)
def _no_policies(kubectl: Kubectl) -> Iterator[None]:
    """Leave no policy to other tests."""
    yield
    kubectl.do("delete", "spreadpolicies", "--all")


def test_a_policy_is_in_force_in_every_replica(installed: Installation, kubectl: Kubectl, space: str) -> None:
    """Created, changed and deleted; no replica is restarted."""
    before = denied_by(installed, space)
    kubectl.do("apply", "-f", "-", stdin=policy(space, **STRICT))
    eventually(lambda: list(installed.replicas) == denied_by(installed, space))
    kubectl.do("apply", "-f", "-", stdin=policy(space, **LENIENT))
    eventually(lambda: [] == denied_by(installed, space))
    kubectl.do("apply", "-f", "-", stdin=policy(space, **STRICT))
    eventually(lambda: list(installed.replicas) == denied_by(installed, space))
    kubectl.do("delete", "spreadpolicy", NAME)
    eventually(lambda: [] == denied_by(installed, space))

    assert [] == before


def test_errors_are_rejected_all_at_once(installed: Installation, kubectl: Kubectl, space: str) -> None:
    """By kubectl apply, with their fields; nothing is stored."""
    broken = policy(
        space,
        rules={"Bad": {}, "selector-misses-own-pod": {"params": {"nope": 1}}},
        topology={"domains": {"not a key": ["a"]}},
    )
    told = kubectl("apply", "-f", "-", stdin=broken)

    assert 1 == told.code
    for field in (
        "spec.rules[Bad]:",
        "spec.rules[selector-misses-own-pod].params.nope:",
        "spec.topology.domains[not a key]:",
    ):
        assert field in told.err
    assert [] == kubectl.get("spreadpolicies")["items"]


def test_a_person_is_warned(installed: Installation, kubectl: Kubectl, space: str) -> None:
    """A likely mistake that is no error is printed as a warning when the policy is applied."""
    told = kubectl("apply", "-f", "-", stdin=policy(space, rules={"no-such-rule": {}}))

    assert 0 == told.code
    assert ["no-such-rule" in warning for warning in told.warnings] == [True]


def test_the_last_good_version_stays_in_force(installed: Installation, kubectl: Kubectl, space: str) -> None:
    """One with errors that was stored during an outage; also in a replica that starts afterwards."""
    kubectl.do("apply", "-f", "-", stdin=policy(space, **STRICT))
    eventually(lambda: kubectl.get("spreadpolicies", NAME).get("status", {}).get("lastAccepted"))
    with installed.unregistered():
        eventually(lambda: 0 == kubectl("apply", "-f", "-", stdin=policy(space, rules={"Bad": {}})).code)
    eventually(lambda: "False" == accepted(kubectl))
    port = next(iter(installed.replicas))
    installed.stop(port)
    installed.wait_until_left_alone(port)
    installed.start(port)
    installed.wait_until_chosen(port)
    denying = denied_by(installed, space)
    columns = kubectl.do("get", "spol", NAME, "-o", "wide")
    warnings = installed.health(port)[1].get("warnings", [])
    gauge = installed.gauge(port, 'evenkeel_policies_invalid{source="cluster"}')
    kubectl.do("apply", "-f", "-", stdin=policy(space, **LENIENT))
    eventually(lambda: "True" == accepted(kubectl))

    assert set(installed.replicas) == set(denying)
    assert "generation 1 stays in force" in columns
    assert ["spec.rules[Bad]" in warning for warning in warnings] == [True]
    assert 1 == gauge


def test_the_status_counts_workloads(installed: Installation, kubectl: Kubectl, space: str) -> None:
    """A StatefulSet that was there before the policy is selected, and would be denied."""
    obj = deployment(constraints=[constraint(labelSelector={"matchLabels": {"app": "other"}})])
    obj |= {"kind": "StatefulSet", "spec": obj["spec"] | {"serviceName": "web"}}
    kubectl.do("apply", "-f", "-", stdin=obj)
    kubectl.do("apply", "-f", "-", stdin=policy(space, **STRICT))
    eventually(
        lambda: (
            {"selected": 1, "denied": 1}
            == kubectl.get("spreadpolicies", NAME).get("status", {}).get("workloads")
        ),
    )

    assert ["1", "1"] == kubectl.do("get", "spreadpolicies", NAME, "--no-headers").split()[3:5]


@pytest.mark.kubernetes(since="1.30")
@pytest.mark.parametrize(
    ("defaults", "message"),
    [
        ({"constraints": [SOFT]}, "minDomains may only be set when"),
        ({"source": "policy"}, "must not be empty when source is policy"),
        ({"source": "scheduler", "constraints": [SOFT | {"minDomains": None}]}, "only be set when source is"),
    ],
)
def test_the_api_server_alone_rejects(
    installed: Installation, kubectl: Kubectl, defaults: Manifest, message: str
) -> None:
    """CEL rules are evaluated even if no webhook is registered."""
    with installed.unregistered():
        told = kubectl("apply", "-f", "-", stdin=policy(defaults=defaults))

    assert 1 == told.code
    assert message in told.err


def test_a_default_is_filled_in(installed: Installation, kubectl: Kubectl) -> None:
    """The policies that kubectl prints pass policy check."""
    kubectl.do("apply", "-f", "-", stdin=policy(defaults={"constraints": [SOFT | {"minDomains": None}]}))
    stored = kubectl.get("spreadpolicies")
    told = installed.evenkeel("policy", "check", "-", stdin=stored)

    assert ("deny", "pods") == (
        stored["items"][0]["spec"]["enforcement"],
        stored["items"][0]["spec"]["defaults"]["at"],
    )
    assert (0, "") == (told.code, told.err)
