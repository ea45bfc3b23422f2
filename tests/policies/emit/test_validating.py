"""Emitted validations find what the rules in Python find."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.cel.check import CelCheck, NoCel
from policies.config.loader import build
from policies.config.spread_policy import Enforcement, SpreadPolicy
from policies.emit.emit import emit
from policies.emit.emitted import PolicyKind
from policies.manifests.errors import UsageError
from policies.model.version import KubernetesVersion
from policies.rules.base import all_rules
from tests.builders import a_constraint, a_policy, a_pod, a_workload
from tests.policies.emit.api_server import EmittedPolicy
from tests.policies.emit.requests import OBJECTS, PODS, a_request, decided, updates
from tests.recorded import phase_of, recorded_reviews
from webhook.admission.respond import Phase

TODAY = date(2026, 11, 22)


def policy(**spec: Any) -> SpreadPolicy:
    return build(a_policy(**spec))


@cache
def default() -> tuple[SpreadPolicy, list[EmittedPolicy]]:
    """Return a policy with the rule that must be named, and what is emitted for it."""
    found = policy(rules={"no-spread": {"severity": "warning"}})
    return found, emitted(found)


def emitted(*policies: SpreadPolicy) -> list[EmittedPolicy]:
    objects = emit(policies, PolicyKind.VALIDATING, today=TODAY).objects
    return [EmittedPolicy(entry) for entry in objects if entry["kind"] == "ValidatingAdmissionPolicy"]


def found_by_cel(request: Mapping[str, Any], policies: list[EmittedPolicy]) -> dict[str, set[str]]:
    """Return the broken rules by what becomes of the object for them."""
    return {
        entry.name.rpartition("-")[2]: {text.partition(":")[0] for text in entry.violations(request)}
        for entry in policies
        if entry.matches(request)
    }


def found_by_python(request: Mapping[str, Any], policies: list[SpreadPolicy]) -> dict[str, set[str]]:
    """Return the same of the webhook, of the rules that are emitted."""
    decision = decided(request, policies, Phase.VALIDATE)
    emitted_rules = {rule.id for rule in all_rules().values() if not isinstance(rule.cel, NoCel)}
    denied = {error.rule for error in decision.errors} & emitted_rules
    return {"deny": denied, "warn": {warning.topic for warning in decision.warnings} & emitted_rules}


def agree(request: Mapping[str, Any]) -> None:
    source, policies = default()
    found = found_by_cel(request, policies)
    if found:
        assert found_by_python(request, [source]) == found


@settings(max_examples=60)
@given(OBJECTS.map(a_request))
def test_created_workloads(request: dict[str, Any]) -> None:
    agree(request)


@settings(max_examples=30)
@given(updates())
def test_updated_workloads(request: dict[str, Any]) -> None:
    """A rule that the stored object breaks already is not enforced."""
    agree(request)


@settings(max_examples=30)
@given(PODS.map(a_request))
def test_created_pods(request: dict[str, Any]) -> None:
    agree(request)


@pytest.mark.parametrize("name", sorted(recorded_reviews()))
def test_recorded_reviews(name: str) -> None:
    request = orjson.loads(recorded_reviews()[name])["request"]
    if phase_of(name) is Phase.VALIDATE and request["object"] is not None and "subResource" not in request:
        agree(request)
