"""The requests that a bound pod holds while it is resized."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.held_amounts import pod_requests
from tests.policies.model.containers import a_container

SPEC = FieldPath(("spec",))


def _status(name: str, allocated: str, actual: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": actual}}
    return {"name": name, "allocatedResources": {"cpu": allocated}, "resources": resources}


@pytest.mark.parametrize(
    ("statuses", "reason", "expected"),
    [
        pytest.param([_status("a", "1", "1"), _status("b", "2", "2")], None, 3000, id="spec 1, 2; as asked"),
        pytest.param([_status("b", "2000m", "2")], None, 3000, id="spec 1, 2; written otherwise"),
        pytest.param([_status("a", "3", "1")], "Deferred", 5000, id="spec 1, 2; a allocated 3"),
        pytest.param([_status("a", "1", "4")], None, 6000, id="spec 1, 2; a still uses 4"),
        pytest.param([_status("b", "1", "1")], None, 3000, id="spec 1, 2; b is to grow from 1"),
        pytest.param([_status("b", "1", "1")], "Infeasible", 2000, id="spec 1, 2; b cannot grow from 1"),
        pytest.param(
            [{"name": "a"}, {"name": "b", "resources": {}}], None, 3000, id="spec 1, 2; says nothing"
        ),
        pytest.param(
            [{"name": "a", "allocatedResources": {"cpu": "7"}}],
            None,
            3000,
            id="spec 1, 2; 7 without resources",
        ),
        pytest.param(
            [{"name": "b", "resources": {}}], "Infeasible", 1000, id="spec 1, 2; b cannot grow from nothing"
        ),
    ],
)
def test_a_resize_holds_the_larger_amount(statuses: list[Any], reason: str | None, expected: int) -> None:
    """While a bound pod is resized it takes the larger of what it asks for and what it holds."""
    spec = {"containers": [a_container("1", name="a"), a_container("2", name="b")]}
    conditions = [{"type": "PodResizePending", "reason": reason}] if reason else []
    status = {"containerStatuses": statuses, "conditions": conditions}
    found = ErrorList()

    assert (("cpu", expected),) == pod_requests(spec, SPEC, found, status=status)
    assert [] == found.errors


_SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("fields", "status", "expected"),
    [
        pytest.param(
            {}, {"initContainerStatuses": [_status("i", "7", "7")]}, 2000, id="init 2: never resized"
        ),
        pytest.param(
            {"initContainers": [a_container("2", name="i", **_SIDECAR)]},
            {"initContainerStatuses": [_status("i", "7", "7")]},
            8000,
            id="sidecar 2, holds 7: 1 + 7",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3"}}},
            {"resources": {"requests": {"cpu": "4"}}, "allocatedResources": {"cpu": "5"}},
            5000,
            id="pod 3, uses 4, allocated 5",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3"}}},
            {"allocatedResources": {"cpu": "5"}},
            3000,
            id="pod 3, allocated 5 without resources",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3"}}},
            {
                "resources": {},
                "allocatedResources": {"cpu": "1", "memory": "9"},
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            },
            1000,
            id="pod 3, cannot grow from 1; memory it did not ask for",
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "5"}, "requests": {"memory": "5"}}},
            {"resources": {"requests": {"cpu": "9", "memory": "5"}}},
            9000,
            id="pod limits memory: cpu 2 of containers is the pod's, uses 9",
        ),
    ],
)
def test_a_resize_of_a_pod_and_its_init_containers(
    fields: dict[str, Any], status: dict[str, Any], expected: int
) -> None:
    """The amounts of a pod as a whole and of its sidecars count, those of other init containers do not."""
    spec = {"containers": [a_container("1")], "initContainers": [a_container("2", name="i")], **fields}
    found = ErrorList()

    assert expected == dict(pod_requests(spec, SPEC, found, status=status))["cpu"]
    assert [] == found.errors
