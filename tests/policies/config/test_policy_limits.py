"""How much a policy may hold, whatever it is: counted, and said where it is."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config import policy_validation
from policies.config.policy_validation import MAX_ENTRIES, MAX_ITEMS, limit_errors, policy_errors
from tests.builders import a_policy

AN_EXCEPTION = {"rules": ["selector-missing"], "reason": "why", "namespaces": ["a-*"]}
MANY = MAX_ITEMS + 1


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        pytest.param({"scope": {"namespaces": ["a*"] * MAX_ITEMS}}, [], id="1,000 patterns"),
        pytest.param(
            {"scope": {"namespaces": ["a*"] * MANY}}, ["spec.scope.namespaces"], id="1,001 patterns"
        ),
        pytest.param({"exceptions": [AN_EXCEPTION] * 100_000}, ["spec.exceptions"], id="100,000 exceptions"),
        pytest.param(
            {"exceptions": [AN_EXCEPTION | {"names": ["a"] * MANY}]},
            ["spec.exceptions[0].names"],
            id="1,001 names in one",
        ),
        pytest.param(
            {"rules": {str(number): {} for number in range(MANY)}, "scope": {"kinds": ["Pod"] * MANY}},
            ["spec.rules", "spec.scope.kinds"],
            id="two lists: both at once",
        ),
        pytest.param(
            {"topology": {"domains": {"a/b": ["x"] * MANY}}}, ["spec.topology.domains[a/b]"], id="domains"
        ),
        pytest.param({"exceptions": [AN_EXCEPTION | {"names": ["a"] * 100}] * 100}, [""], id="10,000 in all"),
    ],
)
def test_limits(spec: dict[str, Any], paths: list[str]) -> None:
    """The field with too many entries is named; the document, where only the sum is too large."""
    errors = limit_errors(a_policy(**spec))

    assert paths == [str(error.path) for error in errors]
    assert {"FieldValueTooMany"} >= {str(error.kind) for error in errors}


def test_what_others_write_is_not_counted() -> None:
    """Nothing looks into managed fields and the status."""
    policy = a_policy()
    policy["metadata"]["managedFields"] = [{}] * MANY
    policy["status"] = {"conditions": [{}] * MANY}

    assert [] == limit_errors(policy)


def test_too_much_is_not_checked_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """No field is read, which would take seconds, and nothing is checked."""
    monkeypatch.setattr(policy_validation, "form_errors", None)
    (error,) = policy_errors(a_policy(exceptions=[{}] * MANY))

    assert "spec.exceptions" == str(error.path)


def test_the_counting_is_bounded_itself() -> None:
    """One object that is repeated within itself, as an alias can, is not followed to its end."""
    bomb: list[Any] = []
    for _ in range(50):
        bomb = [bomb] * 10

    (error,) = limit_errors(a_policy(exceptions=bomb))

    assert "" == str(error.path)
    assert str(MAX_ENTRIES) in error.problem
