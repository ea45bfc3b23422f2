"""The preview for a person who changes a policy, or the labels of a namespace: its effect on workloads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.installation import Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import constraint, deployment
from tests.e2e.test_policies import policy
from tests.waiting import eventually

#: Denies where the rule otherwise warns.
STRICT: dict[str, Any] = {"rules": {"selector-misses-own-pod": {"enforcement": "deny"}}}
#: Of the workload that ``web`` makes.
DENIED = "1 existing workload would be denied: StatefulSet {space}/web (selector-misses-own-pod)"


@pytest.fixture(autouse=True)
def _no_policies(kubectl: Kubectl) -> Iterator[None]:
    """Leave no policy to other tests."""
    yield
    kubectl.do("delete", "spreadpolicies", "--all")


@pytest.fixture
def web(kubectl: Kubectl, space: str) -> str:
    """Make a StatefulSet whose constraint selects other pods; return its namespace."""
    obj = deployment(constraints=[constraint(labelSelector={"matchLabels": {"app": "other"}})])
    kubectl.do(
        "apply", "-f", "-", stdin=obj | {"kind": "StatefulSet", "spec": obj["spec"] | {"serviceName": "x"}}
    )
    return space


def _warned(kubectl: Kubectl, *command: str, stdin: Manifest | None = None, text: str) -> list[str]:
    """Return the warnings of a command once they have a text: every replica must know the objects first."""
    found: list[str] = []

    def warned() -> bool:
        found[:] = kubectl(*command, stdin=stdin).warnings
        return any(text in warning for warning in found)

    eventually(warned)
    return found


@pytest.mark.usefixtures("installed")
def test_a_policy(kubectl: Kubectl, web: str) -> None:
    """The author of a policy reads which workloads it would deny, and nothing where it changes nothing."""
    apply = ("apply", "--dry-run=server", "-f", "-")
    warnings = _warned(kubectl, *apply, stdin=policy(web, **STRICT), text=DENIED.format(space=web))

    assert 2 == len(warnings)
    assert "kubectl evenkeel policy preview lists all" in warnings[1]
    assert [] == kubectl(*apply, stdin=policy("nowhere", **STRICT)).warnings


@pytest.mark.usefixtures("installed")
def test_labels_of_a_namespace(kubectl: Kubectl, web: str) -> None:
    """The author of a label reads what the policies do that it brings into force there."""
    scope = {"namespaceSelector": {"matchLabels": {"team": "checkout"}}}
    kubectl.do("apply", "-f", "-", stdin=policy(**STRICT) | {"spec": {"scope": scope, **STRICT}})
    label = ("label", "--dry-run=server", "namespace", web)
    warnings = _warned(kubectl, *label, "team=checkout", text=DENIED.format(space=web))

    assert "looked at 1 of 1 existing workloads" in warnings[1]
    assert [] == kubectl(*label, "team=other").warnings
    assert 0 == kubectl("label", "namespace", web, "team=checkout").code


def test_the_command(installed: Installation, web: str) -> None:
    """The command says all of it, with the rights of the person."""
    told = installed.evenkeel(
        "policy", "preview", "-f", "-", "--live", "-o", "json", stdin=policy(web, **STRICT)
    )
    (workload,) = [entry for entry in json.loads(told.out)["workloads"] if entry["namespace"] == web]

    assert 1 == told.code
    assert ("StatefulSet", "web") == (workload["kind"], workload["name"])
    assert [{"change": "denied", "details": ["selector-misses-own-pod"]}] == [
        change for change in workload["changes"] if change["change"] == "denied"
    ]
