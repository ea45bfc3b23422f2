"""Evictions beside what a real control plane made of them."""

from __future__ import annotations

from typing import Any

import pytest

from planning.audit.rebalance import rebalance
from policies.pods.placement import prepare, read_workload
from tests.planning.recorded_rollouts import RecordedCluster
from tests.recorded import recorded_rebalances


@pytest.mark.parametrize("name", recorded_rebalances())
def test_recorded(name: str) -> None:
    """As many evictions as were made, of the same pods, lead to the domains that were seen.

    A replacement may have gone to another of several best nodes; later ones then do, too. Records of advice
    are not here: each is a dozen rollouts, scales and losses of a manifest that an earlier release advised,
    and such steps are among the recorded rollouts.
    """
    record: dict[str, Any] = recorded_rebalances()[name]
    cluster, observed = RecordedCluster.read(record), record["observed"]
    plan = rebalance(
        prepare(read_workload(record["workload"], cluster.context, namespace=""), cluster.context)
    )

    assert [step["pod"] for step in observed["steps"]] == [eviction.pod for eviction in plan.evictions]
    assert (None, True) == (plan.why_not, plan.proven)
    assert all(observed["domains_after"][position] == counts for position, counts in plan.after.items())
