"""The SpreadPolicy document as values."""

from __future__ import annotations

from policies.config.scope import Scope
from policies.config.spread_policy import DefaultsSource, Enforcement, InjectAt, SpreadPolicy
from tests.policies.config.documents import SOFT, policy_of


def test_defaults() -> None:
    """A policy that says nothing denies everywhere and injects nothing."""
    policy = policy_of()

    assert (
        SpreadPolicy(name="production", scope=Scope(), enforcement=Enforcement.DENY, defaults=None) == policy
    )


def test_defaults_of_defaults() -> None:
    """Defaults are the policy's own and go to pods."""
    defaults = policy_of(defaults={"constraints": [SOFT]}).defaults

    assert defaults is not None
    assert (InjectAt.PODS, DefaultsSource.POLICY) == (defaults.at, defaults.source)
    assert (SOFT,) == tuple(constraint.to_dict() for constraint in defaults.constraints)
