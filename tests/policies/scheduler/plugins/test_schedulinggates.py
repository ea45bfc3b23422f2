"""Pods that wait for their gates."""

from __future__ import annotations

from dataclasses import replace

from policies.model.version import KNOWN_VERSION
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler.clusters import a_node, a_pod, ask, fitting


def test_gates_hold_a_pod_back() -> None:
    """A gated pod goes nowhere, in the releases that know gates."""
    pod = a_pod("next", schedulingGates=[{"name": "example.com/wait"}])
    older = replace(behavior_of(KNOWN_VERSION), scheduling_gates=False)

    assert [] == fitting(ask([a_node("n")], pod))
    assert ["n"] == fitting(ask([a_node("n")], pod, older))
