"""Requests that are lowered to what a node has left."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.suggestions.suggestion_edits import reduce_requests
from policies.manifests.edits import apply_edits
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.held_amounts import pod_requests


def _containers(*resources: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [{"name": f"c{number}", "resources": entry} for number, entry in enumerate(resources)]


def _requests(**amounts: Any) -> dict[str, Any]:
    return {"requests": {name.replace("_", "-"): amount for name, amount in amounts.items()}}


GPU, HUGE = "acme.io/gpu", "hugepages-2Mi"


@pytest.mark.parametrize(
    ("spec", "allowed", "expected"),
    [
        pytest.param(
            {"containers": _containers(None, _requests(cpu="2"), _requests(cpu=1))},
            {"cpu": 2500},
            {"containers[1].resources.requests[cpu]": ("2", "1500m")},
            id="3 to 2500m: the larger gives 500m",
        ),
        pytest.param(
            {"containers": _containers(_requests(cpu="1"), _requests(cpu="1"))},
            {"cpu": 500},
            {
                "containers[0].resources.requests[cpu]": ("1", "250m"),
                "containers[1].resources.requests[cpu]": ("1", "250m"),
            },
            id="1+1 to 500m: in proportion",
        ),
        pytest.param(
            {"containers": _containers({"limits": {"memory": "2Gi"}})},
            {"memory": 2**30 + 1},
            {"containers[0].resources.requests[memory]": (None, "1024Mi")},
            id="a limit that stands in for a request",
        ),
        pytest.param(
            {"containers": _containers({"limits": {GPU: 4}})},
            {GPU: 2},
            {
                f"containers[0].resources.requests[{GPU}]": (None, "2"),
                f"containers[0].resources.limits[{GPU}]": (4, "2"),
            },
            id="an extended resource: limit and request alike",
        ),
        pytest.param(
            {"containers": _containers({"requests": {HUGE: "8Mi"}, "limits": {HUGE: "8Mi"}})},
            {HUGE: 5 * 2**20},
            {
                f"containers[0].resources.requests[{HUGE}]": ("8Mi", "4Mi"),
                f"containers[0].resources.limits[{HUGE}]": ("8Mi", "4Mi"),
            },
            id="huge pages: whole pages",
        ),
        pytest.param(
            {
                "containers": _containers(_requests(cpu="1")),
                "initContainers": _containers(_requests(cpu="3")),
            },
            {"cpu": 2000},
            {"initContainers[0].resources.requests[cpu]": ("3", "2")},
            id="an init container that needs most",
        ),
        pytest.param(
            {"containers": _containers(_requests(cpu="1")), "overhead": {"cpu": "1"}},
            {"cpu": 1500},
            {"containers[0].resources.requests[cpu]": ("1", "500m")},
            id="overhead stays",
        ),
        pytest.param(
            {"containers": _containers(_requests(cpu="1")), "overhead": {"cpu": "1"}},
            {"cpu": 900},
            None,
            id="overhead alone is too much",
        ),
        pytest.param(
            {"containers": _containers(_requests(cpu="1")), "resources": {"requests": {"cpu": "2"}}},
            {"cpu": 1000},
            None,
            id="the pod as a whole requests",
        ),
        pytest.param(
            {"containers": _containers(_requests(cpu="1", memory="1Gi"))},
            {"cpu": 500, "memory": 2**20},
            {
                "containers[0].resources.requests[cpu]": ("1", "500m"),
                "containers[0].resources.requests[memory]": ("1Gi", "1Mi"),
            },
            id="two resources",
        ),
    ],
)
def test_lower_requests(
    spec: dict[str, Any], allowed: dict[str, int], expected: dict[str, tuple[Any, Any]] | None
) -> None:
    """After the edits the pod asks for no more than it may."""
    edits = reduce_requests(spec, FieldPath(), tuple(allowed.items()))

    assert expected == (edits and {str(edit.path): (edit.old, edit.new) for edit in edits})
    if edits:
        asked = dict(pod_requests(apply_edits(spec, edits), FieldPath(), ErrorList()))
        assert all(0 < asked[name] <= most for name, most in allowed.items())
