"""Pods are found by their names, as an alert has them, pending ones too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.ui.pages import a_client, a_cluster, a_replica
from webhook.ui.lookups import MOST_FOUND


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("web-1", [("shop", "web-1", "na", 0)], id="a name"),
        pytest.param(
            "SHOP web-",
            [("shop", f"web-{number}", node, 0) for number, node in ((1, "na"), (2, "nb"), (3, ""))],
            id="words of namespace and name, 1 pending",
        ),
        pytest.param("bare", [("shop", "bare", "na", -1)], id="no controller"),
        pytest.param("nothing", [], id="no pod"),
    ],
)
def test_pods_that_are_found(text: str, found: list[tuple[Any, ...]]) -> None:
    """Each comes with its node and its workload."""
    answer = a_client().get(f"/api/pods?name={text}").json or {}

    assert found == [
        tuple(pod[key] for key in ("namespace", "name", "node", "workload")) for pod in answer["pods"]
    ]
    assert 0 == answer["others"]


def test_that_very_name_comes_first() -> None:
    """Of more pods than are named the others are counted."""
    objects = [*a_cluster(), *(a_replica(f"a-web-{number}", "na") for number in range(2 * MOST_FOUND))]
    answer = a_client(*objects).get("/api/pods?name=web-2").json or {}

    assert ["web-2", "a-web-2"] == [pod["name"] for pod in answer["pods"]]
    many = a_client(*objects).get("/api/pods?name=web").json or {}
    assert (MOST_FOUND, MOST_FOUND + 3) == (len(many["pods"]), many["others"])
