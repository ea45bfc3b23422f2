"""Taints that keep a pod away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.model.version import KNOWN_VERSION
from policies.scheduler.profile import Plugin
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting, reasons

TAINTED = a_node("n", taints=["gpu=yes:NoExecute"])


@pytest.mark.parametrize(
    ("names_taint", "expected"),
    [
        pytest.param(False, "node(s) had untolerated taint(s)", id="1.34.2 and later"),
        pytest.param(True, "node(s) had untolerated taint {gpu: yes}", id="before"),
    ],
)
def test_reason(names_taint: bool, expected: str) -> None:  # noqa: FBT001
    """A tainted node is rejected in the scheduler's own words, which named the taint in older releases."""
    behavior = replace(behavior_of(KNOWN_VERSION), names_taint=names_taint)
    result = ask([TAINTED], a_pod("next"), behavior)

    assert {Plugin.TAINT_TOLERATION: (expected, "UnschedulableAndUnresolvable")} == reasons(result)


@pytest.mark.parametrize(
    ("taints", "tolerations"),
    [
        pytest.param(["a=b:NoSchedule", "c=d:NoExecute"], [{"operator": "Exists"}], id="tolerated"),
        pytest.param(["a=b:PreferNoSchedule"], [], id="PreferNoSchedule rejects nothing"),
    ],
)
def test_feasible(taints: list[str], tolerations: list[dict[str, str]]) -> None:
    """Taints that a pod tolerates, and those that only prefer, reject no node."""
    assert ["n"] == fitting(ask([a_node("n", taints=taints)], a_pod("next", tolerations=tolerations)))
