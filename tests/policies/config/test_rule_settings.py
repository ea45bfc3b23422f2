"""Settings of rules, held to the rules' own types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from policies.config.policy_validation import settings_errors
from policies.manifests.fields import FieldPath
from policies.manifests.wire import DocumentFields
from policies.rules.base import Context, Rule, all_rules


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


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"inUse": True, "most": 4, "share": 1, "knownKeys": ["a"]}, [], id="4 good"),
        pytest.param({"in_use": True}, ["in_use"], id="not as documents spell it"),
        pytest.param(
            {"inUse": 1, "most": True, "knownKeys": "a"}, ["inUse", "knownKeys", "most"], id="3 types"
        ),
        pytest.param({"knownKeys": [1]}, ["knownKeys[0]"], id="a type in a list"),
    ],
)
def test_errors(raw: dict[str, Any], expected: list[str]) -> None:
    """Unknown names and wrong types are told, all at once."""
    assert expected == [str(error.path) for error in settings_errors(a_rule(), raw, FieldPath())]


def test_a_rule_without_settings() -> None:
    """Such a rule takes none."""
    assert 1 == len(list(settings_errors(a_rule(None), {"a": 1}, FieldPath())))


def test_build() -> None:
    """Settings that are left out have the rule's default."""
    given = a_rule().context_for(Context(), {"inUse": True, "knownKeys": ["a"]})

    assert Params(in_use=True, known_keys=("a",)) == given.params
