"""Whether a webhook can keep itself or the cluster from starting."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.labels import LabelSelector
from tests.webhook.doctor.installation import (
    LABELS,
    a_namespace,
    a_webhook,
    checks_of,
    configurations,
    evidence,
    healthy,
    remedies,
)
from webhook.doctor import exclusions
from webhook.doctor.facts import Facts, Known

CHECKS = checks_of(exclusions.CHECKS)
EVERYTHING = LabelSelector()


def facts_with(*, labeled: bool = True, **changes: Any) -> Facts:
    namespaces = (a_namespace("kube-system", labeled=labeled), a_namespace("evenkeel", labeled=labeled))
    return healthy(ours=configurations(a_webhook(**changes)), protected=Known(namespaces))


@pytest.mark.parametrize(
    ("labeled", "changes", "expected"),
    [
        pytest.param(True, {}, [], id="excluded"),
        pytest.param(
            True, {"namespace_selector": EVERYTHING}, ["warning", "warning"], id="nothing excluded, Ignore"
        ),
        pytest.param(
            True,
            {"namespace_selector": EVERYTHING, "failure_policy": "Fail"},
            ["problem", "problem"],
            id="nothing excluded, Fail",
        ),
        pytest.param(
            False, {"failure_policy": "Fail"}, ["problem", "problem"], id="1.20: no name label, Fail"
        ),
        pytest.param(
            True,
            {"namespace_selector": EVERYTHING, "object_selector": LabelSelector((("app", "web"),))},
            ["warning"],
            id="own pods excluded by their labels",
        ),
        pytest.param(
            True,
            {
                "namespace_selector": EVERYTHING,
                "conditions": {"not-ours": "!(request.namespace in ['kube-system', \"evenkeel\"])"},
            },
            [],
            id="excluded by a matchCondition",
        ),
        pytest.param(
            True,
            {"namespace_selector": EVERYTHING, "conditions": {"c": "request.name != 'kube-system'"}},
            ["warning", "warning"],
            id="a matchCondition about something else",
        ),
        pytest.param(True, {"namespace_selector": EVERYTHING, "rules": ()}, [], id="no pods asked for"),
    ],
)
def test_own_namespaces(*, labeled: bool, changes: dict[str, Any], expected: list[str]) -> None:
    """The selectors are asked of the labels that the namespaces really have."""
    told = evidence(CHECKS["own-namespaces-excluded"], facts_with(labeled=labeled, **changes))

    assert expected == [line.partition(":")[0] for line in told.splitlines()]


def test_namespaces_without_the_name_label() -> None:
    """Before Kubernetes 1.21 an exclusion by name excludes nothing; the label mends it."""
    facts = facts_with(labeled=False)

    assert "kubernetes.io/metadata.name, which the namespace does not have" in evidence(
        CHECKS["own-namespaces-excluded"], facts
    )
    assert [
        f"kubectl label namespace {name} kubernetes.io/metadata.name={name}"
        for name in ("kube-system", "evenkeel")
    ] == remedies(CHECKS["own-namespaces-excluded"], facts)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, True, id="Fail, all pods"),
        pytest.param({"failure_policy": "Ignore"}, False, id="Ignore"),
        pytest.param({"rules": ()}, False, id="no pods"),
        pytest.param(
            {"object_selector": LabelSelector((("app", "web"),))}, False, id="pods with labels that ours lack"
        ),
        pytest.param({"object_selector": LabelSelector(tuple(LABELS.items()))}, True, id="pods like ours"),
        pytest.param({"namespace_selector": LabelSelector((("mesh", "on"),))}, False, id="other namespaces"),
        pytest.param({"conditions": {"c": "request.namespace != 'evenkeel'"}}, False, id="a matchCondition"),
    ],
)
def test_webhooks_of_others(changes: dict[str, Any], *, expected: bool) -> None:
    """A webhook of somebody else that fails closed on our pods is told by name."""
    webhook = a_webhook(
        **{
            "configuration": "mesh",
            "name": "inject.mesh.io",
            "namespace_selector": EVERYTHING,
            "failure_policy": "Fail",
            **changes,
        }
    )
    told = evidence(CHECKS["other-webhooks-block"], healthy(others=configurations(webhook, name="mesh")))

    assert expected == ("inject.mesh.io of MutatingWebhookConfiguration mesh" in told)
    assert expected == bool(told)
