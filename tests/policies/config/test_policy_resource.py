"""Which version of a policy of the cluster is in force."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.policy_resource import MAX_SPEC_BYTES, PolicyResource, read_policy_resource
from tests.builders import a_policy
from tests.policies.config.documents import SOFT

GOOD, OTHER, BAD = {"enforcement": "warn"}, {"enforcement": "audit"}, {"enforcement": "x"}


def stored(
    spec: Any, *, generation: int = 1, uid: str = "u1", kept: tuple[int, Any] | None = None
) -> dict[str, Any]:
    """Return a policy as the API server has it; ``kept`` is the version that its status has kept."""
    obj = a_policy("p") | {"spec": spec}
    obj["metadata"] |= {"uid": uid, "generation": generation, "resourceVersion": "7", "managedFields": []}
    if kept is not None:
        obj["status"] = {"lastAccepted": {"generation": kept[0], "spec": kept[1]}}
    return obj


def read(*objects: dict[str, Any], has_scheduler_config: bool = True) -> PolicyResource:
    """Return the state of a policy after its versions were read one after the other."""
    found = None
    for obj in objects:
        found = read_policy_resource(obj, found, has_scheduler_config=has_scheduler_config)
    assert found is not None
    return found


def in_force(resource: PolicyResource) -> tuple[int, str] | None:
    accepted = resource.accepted
    return None if accepted is None else (accepted.generation, str(accepted.policy.enforcement))


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([stored(GOOD)], (1, "warn"), id="no errors"),
        pytest.param([stored(GOOD), stored(OTHER, generation=2)], (2, "audit"), id="a change"),
        pytest.param(
            [stored(GOOD), stored(BAD, generation=2)], (1, "warn"), id="errors after a good version"
        ),
        pytest.param(
            [stored(GOOD), stored(BAD, generation=2), stored(OTHER, generation=3)],
            (3, "audit"),
            id="repaired",
        ),
        pytest.param([stored(BAD)], None, id="errors from the beginning"),
        pytest.param(
            [stored(BAD, generation=4, kept=(3, GOOD))], (3, "warn"), id="a process that has started since"
        ),
        pytest.param(
            [stored(GOOD, generation=3), stored(BAD, generation=5, kept=(4, OTHER))],
            (4, "audit"),
            id="the status knows a newer one",
        ),
        pytest.param(
            [stored(GOOD, generation=3), stored(BAD, generation=4, kept=(2, OTHER))],
            (3, "warn"),
            id="the status is behind",
        ),
        pytest.param([stored(BAD, kept=(1, BAD))], None, id="what the status has kept has errors now"),
        pytest.param([stored(BAD, kept=(1, "x"))], None, id="what the status has kept is no spec"),
        pytest.param([stored(GOOD), stored(BAD, uid="u2")], None, id="deleted and created again with errors"),
        pytest.param([stored(None, kept=(1, GOOD))], (1, "warn"), id="the spec is null"),
    ],
)
def test_the_version_in_force(objects: list[dict[str, Any]], expected: tuple[int, str] | None) -> None:
    """The last good one, as far as anyone knows it."""
    assert expected == in_force(read(*objects))


def test_a_change_of_the_status_alone() -> None:
    """The policy stays the same object, so that nothing else has to change."""
    first = read(stored(GOOD))
    second = read_policy_resource(stored(GOOD, kept=(1, GOOD)), first, has_scheduler_config=True)

    assert second.accepted is first.accepted
    assert first.status != second.status


@pytest.mark.parametrize(
    ("given", "paths"), [(True, []), (False, ["spec.defaults.source"])], ids=["given", "not given"]
)
def test_the_configuration_of_the_scheduler(paths: list[str], *, given: bool) -> None:
    """A policy that needs it is an error where the server has none."""
    found = read(stored({"defaults": {"source": "scheduler"}}), has_scheduler_config=given)

    assert paths == [str(error.path) for error in found.errors]


def test_a_policy_that_is_too_large() -> None:
    """It is not checked further: every replica would spend the time."""
    many = [{"rules": ["a"], "reason": "x" * 100}] * (MAX_SPEC_BYTES // 100)
    (error,) = read(stored({"exceptions": many, "enforcement": "x"})).errors

    assert ("spec", "FieldValueTooLong") == (str(error.path), error.kind)


def test_errors_come_all_at_once() -> None:
    """Those of the shape, of the model, and of what the server lacks."""
    spec = {
        "enforcement": "x",
        "defaults": {"source": "scheduler", "constraints": [SOFT]},
        "rules": {"Bad": {}, "selector-misses-own-pod": {"params": {"nope": 1}}},
    }

    assert {
        "spec.enforcement",
        "spec.defaults.constraints",
        "spec.defaults.source",
        "spec.rules[Bad]",
        "spec.rules[selector-misses-own-pod].params.nope",
    } == {str(error.path) for error in read(stored(spec), has_scheduler_config=False).errors}
