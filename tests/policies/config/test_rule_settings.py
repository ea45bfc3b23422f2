"""Settings of rules, held to the rules' own types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from policies.config.policy_validation import policy_errors
from policies.manifests.wire import DocumentFields
from policies.rules.base import Context, Rule, all_rules
from tests.builders import a_policy


@dataclass(frozen=True)
class Params(DocumentFields):
    """Settings of a rule that does not exist."""

    in_use: bool = False  #: A flag.
    most: int = 3  #: A number.
    share: float = 0.5  #: A fraction.
    known_keys: tuple[str, ...] = ()  #: Texts.


def a_rule(params: type[Params] | None = Params) -> Rule:
    """Return a rule with such settings."""
    return replace(all_rules()["wrong-type"], params=params)


def _errors(rule: str, params: dict[str, Any]) -> list[str]:
    return [str(error.path) for error in policy_errors(a_policy(rules={rule: {"params": params}}))]


@pytest.mark.parametrize(
    ("rule", "params", "paths"),
    [
        pytest.param("no-spread", {}, [], id="nothing"),
        pytest.param("no-spread", {"minReplicas": 4}, [], id="one that is right"),
        pytest.param("no-spread", {"min_replicas": 4}, ["min_replicas"], id="not as documents spell it"),
        pytest.param("no-spread", {"minReplicas": True}, ["minReplicas"], id="another type"),
        pytest.param("wrong-type", {"a": 1, "b": 2}, ["a", "b"], id="a rule without settings"),
        pytest.param("a-later-rule", {"a": 1}, [], id="a rule of another version"),
    ],
)
def test_errors(rule: str, params: dict[str, Any], paths: list[str]) -> None:
    """Unknown names and wrong types are told, all at once."""
    assert [f"spec.rules[{rule}].params.{path}" for path in paths] == _errors(rule, params)


def test_build() -> None:
    """Settings that are left out have the rule's default."""
    given = a_rule().context_for(Context(), {"inUse": True, "knownKeys": ["a"]})

    assert Params(in_use=True, known_keys=("a",)) == given.params
