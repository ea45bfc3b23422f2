"""Objects that could not be reviewed: denied where a policy denies or may."""

from __future__ import annotations

from typing import Any

import pytest

from policies.admission.decision import UNREVIEWABLE, AdmissionVerdict, decide_unreviewable
from tests.builders import a_policy
from tests.policies.config.contexts import a_context

#: Selects namespaces by a label that only a cluster knows.
BY_LABEL = {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}
CLUSTER = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tier": tier}}}
    for name, tier in (("shop", "prod"), ("lab", "dev"))
]


@pytest.mark.parametrize(
    ("policy", "namespace", "verdict"),
    [
        pytest.param({}, "shop", "denied", id="deny is the default"),
        pytest.param({"enforcement": "warn"}, "shop", "warned", id="warn"),
        pytest.param({"enforcement": "audit"}, "shop", "warned", id="audit"),
        pytest.param(
            {"enforcement": "audit", "rules": {"selector-missing": {"enforcement": "deny"}}},
            "shop", "denied", id="a single rule denies",
        ),
        pytest.param({"scope": {"excludeNamespaces": ["shop"]}}, "shop", "allowed", id="excluded"),
        pytest.param({"scope": {"namespaces": ["bank"]}}, "shop", "allowed", id="another namespace"),
        pytest.param({"scope": {"kinds": ["Job"]}}, "shop", "denied", id="kinds: its owner may be one"),
        pytest.param(
            {"scope": {"objectSelector": {"matchLabels": {"a": "b"}}}}, "shop", "denied", id="its labels"
        ),
        pytest.param({"scope": BY_LABEL}, "shop", "denied", id="a label of the namespace"),
        pytest.param({"scope": BY_LABEL}, "lab", "allowed", id="another label of the namespace"),
        pytest.param({"scope": BY_LABEL}, "new", "denied", id="a namespace that is not known"),
    ],
)  # fmt: skip
def test_verdicts(policy: dict[str, Any], namespace: str, verdict: str) -> None:
    """Who writes an object chooses its form, and gains nothing by it; /mutate never denies."""
    context = a_context(a_policy(**policy), cluster=CLUSTER)
    found = decide_unreviewable(namespace, context, "it is too large", may_deny=True)

    assert AdmissionVerdict(verdict) is found.verdict
    assert (UNREVIEWABLE in found.rules) == (verdict != "allowed")
    mutated = decide_unreviewable(namespace, context, "it is too large", may_deny=False)
    assert mutated.verdict in {AdmissionVerdict.ALLOWED, AdmissionVerdict.WARNED}


def test_without_a_cluster() -> None:
    """Labels that nobody knows may be any."""
    context = a_context(a_policy(scope=BY_LABEL))

    assert decide_unreviewable("lab", context, "x", may_deny=True).errors
