"""The pods that wait for a node, with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policies.model import cluster_workloads
from tests.builders import a_pod
from tests.webhook.ui.pages import a_cluster, a_page_cluster, a_replica
from webhook.ui.pending import pending


def _answer(*objects: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pending(a_page_cluster(*objects)))
    return found


def test_groups() -> None:
    """Pods of one controller are one group; the reasons are the model's, the condition is the cluster's."""
    found = _answer(*a_cluster(), a_replica("web-4"), a_pod(name="alone"))
    first, second = found["groups"]

    assert (3, 0) == (found["pods"], found["notKept"])
    assert (2, 0) == (first["count"], first["workload"])
    assert ["web-3", "web-4"] == [pod["name"] for pod in first["pods"]]
    assert "0/3 nodes are available" == first["pods"][0]["condition"]
    assert first["message"].startswith("0/3 nodes are available: ")
    assert "maxSkew 1" in first["why"]
    assert (1, -1, 2) == (second["count"], second["workload"], second["feasibleNodes"])


def test_what_is_stuck_comes_first() -> None:
    """A pod that fits no node stands before more pods that fit one."""
    fitting = [a_pod(name=f"fits-{number}", owner=("v1", "Thing", "thing")) for number in range(2)]
    stuck = a_pod(name="stuck", spec={"nodeSelector": {"no": "such"}})
    found = _answer(*a_cluster(), *fitting, stuck)["groups"]

    assert [0, 0, 2] == [group["feasibleNodes"] for group in found]
    assert 2 == found[-1]["count"]


def test_a_pod_that_is_not_evaluated() -> None:
    """A pod that the API server would refuse has its problems in place of a verdict."""
    (group,) = _answer(a_pod(name="odd", spec={"topologySpreadConstraints": [{"maxSkew": 0}]}))["groups"]

    assert group["feasibleNodes"] is None
    assert group["problems"]


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number pods are counted, not kept."""
    monkeypatch.setattr(cluster_workloads, "MOST_KEPT", 2)
    found = _answer(*(a_pod(name=f"p{number}") for number in range(5)))

    assert (5, 3, 2) == (found["pods"], found["notKept"], len(found["groups"]))
