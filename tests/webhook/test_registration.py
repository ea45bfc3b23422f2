"""Why a registered webhook is sent nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from certs.inject import CONFIGURATION_KINDS
from policies.model.labels import LabelSelector
from policies.model.workload_kinds import KNOWN_KINDS, parse_workload_kind
from tests.deploy.manifests import base, render
from tests.webhook.registrations import IDLE, NOWHERE
from webhook.registration import OPERATIONS, faults, labels_for, unsent

PATHS = dict(zip(CONFIGURATION_KINDS, OPERATIONS, strict=True))
NAMESPACES = [{"kubernetes.io/metadata.name": name} for name in ("kube-system", "evenkeel", "shop")]


def shipped() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the webhooks of the manifests with their paths."""
    for kind, path in PATHS.items():
        for webhook in base()[kind, "evenkeel"]["webhooks"]:
            yield path, copy.deepcopy(webhook)


def found(webhook: dict[str, Any], path: str = "/validate", **options: Any) -> list[str]:
    given: dict[str, Any] = {"namespaces": NAMESPACES, "selects": lambda _selector: False} | options
    return list(faults(webhook, path, KNOWN_KINDS, **given))


@pytest.mark.parametrize(("path", "webhook"), [pytest.param(*each, id=each[1]["name"]) for each in shipped()])
def test_what_is_shipped_is_in_order(path: str, webhook: dict[str, Any]) -> None:
    """All four webhooks have something to review."""
    assert [] == found(webhook, path)


@pytest.mark.parametrize("change", IDLE, ids=IDLE.keys())
def test_what_leaves_nothing(change: str) -> None:
    """Each has one reason."""
    (_, webhook), *_ = ((path, each) for path, each in shipped() if each["name"] == "validate.evenkeel.dev")
    IDLE[change](webhook)

    assert 1 == len(found(webhook))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
                                 "resources": ["*/*"]}]}, id="everything"),
        pytest.param({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}},
                     id="one namespace"),
        pytest.param({"matchConditions": [{"name": "a", "expression": "!(request.namespace == 'false')"}]},
                     id="a condition"),
        pytest.param({"rules": [{"operations": ["CREATE"], "apiGroups": ["argoproj.io"],
                                 "apiVersions": ["v1alpha1"], "resources": ["rollouts"]}]},
                     id="Rollouts alone"),
        pytest.param({"clientConfig": {"url": "https://keel.example/validate?a=b"}}, id="a URL"),
    ],
)  # fmt: skip
def test_what_leaves_something(fields: dict[str, Any]) -> None:
    """Administrators may narrow it."""
    (webhook,) = (each for _, each in shipped() if each["name"] == "validate.evenkeel.dev")

    assert [] == found(webhook | fields)


def test_what_is_not_known_is_no_fault() -> None:
    """Without the cluster only what is written counts."""
    (webhook,) = (each for _, each in shipped() if each["name"] == "validate.evenkeel.dev")
    webhook |= {"namespaceSelector": NOWHERE, "objectSelector": NOWHERE}

    assert [] == found(webhook, namespaces=None, selects=lambda _selector: True)


def test_kinds_that_no_rule_matches() -> None:
    """All known kinds are sent, and those that the chart was told of."""
    widget = parse_workload_kind("acme.io/Widget=spec.pod")
    for kind, path in PATHS.items():
        webhooks = base()[kind, "evenkeel"]["webhooks"]

        assert [] == unsent(webhooks, path, KNOWN_KINDS)
        assert ([widget] if path == "/validate" else []) == unsent(webhooks, path, [widget])
    values = {"customKinds": [{"group": "acme.io", "kind": "Widget", "resource": "widgetry",
                               "template": "spec.pod"}]}  # fmt: skip
    told = render(values=values)["ValidatingWebhookConfiguration", "evenkeel"]["webhooks"]

    assert [] == unsent(told, "/validate", [widget])


@pytest.mark.parametrize(
    ("selectors", "labels"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([{"matchLabels": {"a": "b"}}, {"matchLabels": {"c": "d"}}], {"a": "b", "c": "d"},
                     id="two"),
        pytest.param([{"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}], None,
                     id="against each other"),
        pytest.param(
            [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]},
                                   {"key": "a", "operator": "NotIn", "values": ["b"]},
                                   {"key": "d", "operator": "Exists"},
                                   {"key": "e", "operator": "DoesNotExist"}]}],
            {"a": "c", "d": "any"},
            id="every operator",
        ),
    ],
)  # fmt: skip
def test_labels_for_selectors(selectors: list[dict[str, Any]], labels: dict[str, str] | None) -> None:
    """A probe must be selected."""
    assert labels == labels_for(map(LabelSelector.parse, selectors))
