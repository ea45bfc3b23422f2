"""The outcomes of losses."""

from __future__ import annotations

from planning.simulation.survive.loss import Loss, WorkloadLoss, margin


def test_the_worst_loss() -> None:
    """The margin is the least of all losses where it was tried; one failing workload fails a loss."""
    good, better = (WorkloadLoss(displaced=1, running=3, required=3, margin=m) for m in (2, 7))
    bad = WorkloadLoss(displaced=1, running=2, required=3)
    losses = [
        Loss(domain="a", nodes=1, workloads=(better, good)),
        Loss(domain="b", nodes=1, workloads=(good, bad)),
        Loss(domain="c", nodes=1, workloads=(better, bad)),
    ]

    assert [True, False, False] == [loss.survives for loss in losses]
    assert (2, 2, None) == (margin(losses, 0), margin(losses, 1), margin(losses[2:], 1))
