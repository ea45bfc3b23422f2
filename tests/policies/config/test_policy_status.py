"""The status that the leader writes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from docs.generator.type_schema import class_schema
from policies.config.policy_resource import PolicyStatus, policy_status, summary_of
from policies.config.spread_policy import NOT_INJECTED, DefaultsMode
from policies.manifests.fields import ErrorKind, FieldError, FieldPath
from policies.manifests.words import IN_SENTENCE
from tests.policies.config.documents import SOFT
from tests.policies.config.test_policy_resource import BAD, GOOD, read, stored

NOW = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
MODE = DefaultsMode.POLICY


def condition(status: PolicyStatus) -> dict[str, Any]:
    (found,) = status["conditions"]
    return dict(found)


def test_an_accepted_policy() -> None:
    """The condition holds, and the spec is kept for replicas that start later."""
    status = policy_status(read(stored(GOOD, generation=3)), {"selected": 7, "denied": 2}, now=NOW, mode=MODE)

    jsonschema.validate(status, class_schema(PolicyStatus))
    assert ("True", "Accepted", 3, "2026-11-22T08:00:00Z") == (
        condition(status)["status"],
        condition(status)["reason"],
        condition(status)["observedGeneration"],
        condition(status)["lastTransitionTime"],
    )
    assert {"generation": 3, "spec": GOOD} == status["lastAccepted"]
    assert {"selected": 7, "denied": 2} == status["workloads"]


def test_a_policy_with_errors() -> None:
    """The condition names every error and what is in force instead."""
    status = policy_status(read(stored(GOOD), stored(BAD, generation=2)), None, now=NOW, mode=MODE)

    assert ("False", "Invalid") == (condition(status)["status"], condition(status)["reason"])
    assert "generation 1 stays in force" in condition(status)["message"]
    assert "spec.enforcement" in condition(status)["message"]
    assert 2 == status["observedGeneration"]
    assert 1 == status["lastAccepted"]["generation"]
    assert "workloads" not in status


def test_what_has_not_changed_stays() -> None:
    """The time of the transition and the numbers are those of the status before."""
    obj = stored(GOOD)
    first = policy_status(read(obj), {"selected": 7, "denied": 2}, now=NOW, mode=MODE)
    again = policy_status(read(obj | {"status": first}), None, now=LATER, mode=MODE)
    broken = policy_status(
        read(obj | {"status": first}, stored(BAD) | {"status": first}), None, now=LATER, mode=MODE
    )

    assert first == again
    assert "2026-11-22T09:00:00Z" == condition(broken)["lastTransitionTime"]


def test_a_status_of_anything() -> None:
    """Who may write it may write anything."""
    obj = stored(GOOD) | {"status": {"conditions": [3, {"type": "Accepted", "status": "True"}]}}

    assert (
        "2026-11-22T08:00:00Z"
        == condition(policy_status(read(obj), None, now=NOW, mode=MODE))["lastTransitionTime"]
    )


def test_many_errors() -> None:
    """A few are listed, and the others counted."""
    errors = [
        FieldError(FieldPath(("spec", f"f{number}")), "is wrong", ErrorKind.INVALID, "r")
        for number in range(IN_SENTENCE + 3)
    ]

    assert IN_SENTENCE == summary_of(errors).count("is wrong")
    assert summary_of(errors).endswith("and 3 more")


@pytest.mark.parametrize("mode", DefaultsMode)
@pytest.mark.parametrize("spec", [GOOD, {"defaults": {"constraints": [SOFT]}}], ids=["none", "defaults"])
def test_defaults_that_are_not_injected(mode: DefaultsMode, spec: dict[str, Any]) -> None:
    """The policy is accepted all the same: what else it says is in force."""
    found = condition(policy_status(read(stored(spec)), None, now=NOW, mode=mode))

    assert "True" == found["status"]
    assert (mode is DefaultsMode.OFF and "defaults" in spec) == (NOT_INJECTED in found["message"])
