"""A policy as the document that Evenkeel understands."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.loader import build, builtin_names
from policies.config.policy_validation import policy_errors
from policies.config.spread_policy import SpreadPolicy, policy_document
from tests.builders import a_policy
from tests.policies.config.documents import HARD, SOFT, builtin_policy, policy_of


@pytest.mark.parametrize(
    "policy", [builtin_policy(name) for name in builtin_names()], ids=lambda policy: policy.name
)
def test_builtins_come_back(policy: SpreadPolicy) -> None:
    """The written document loads as the same policy, but for selectors that are written as `{}`."""
    document = policy_document(policy)

    assert [] == policy_errors(document)
    assert document == policy_document(build(document))


@pytest.mark.parametrize(
    "spec",
    [
        {"enforcement": "audit", "scope": {"kinds": ["Job"], "objectSelector": {"matchLabels": {"a": "b"}}}},
        {"defaults": {"at": "both", "constraints": [SOFT, HARD | {"minDomains": 3}]}},
        {"defaults": {"source": "scheduler"}},
        {"rules": {"a": {"severity": "note"}, "b": {"enforcement": "warn"}}},
        {"topology": {"domains": {"zone": ["a"]}}},
        {"annotationExemptions": "allowed", "rules": {"a": {"annotationExemptions": "denied"}}},
        {
            "exceptions": [
                {"rules": ["selector-missing"], "reason": "old"},
                {
                    "rules": ["selector-missing"],
                    "namespaces": ["legacy", "team-*"],
                    "kinds": ["Deployment"],
                    "names": ["checkout-*"],
                    "reason": "moves next year",
                    "until": "2027-01-31",
                },
            ]
        },
    ],
)
def test_written_documents_load(spec: dict[str, Any]) -> None:
    """Everything that a policy says is written, with the defaults filled in."""
    policy = policy_of(**spec)
    document = policy_document(policy)

    assert [] == policy_errors(document)
    assert policy == build(document)


def test_defaults_are_filled_in() -> None:
    """A reader sees what an absent field means."""
    spec = policy_document(build(a_policy(defaults={"constraints": [HARD]})))["spec"]

    assert ("deny", "pods", "policy") == (
        spec["enforcement"],
        spec["defaults"]["at"],
        spec["defaults"]["source"],
    )
    assert [HARD | {"minDomains": 1, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}] == spec[
        "defaults"
    ]["constraints"]
