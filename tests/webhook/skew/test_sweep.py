"""A look at all workloads."""

from __future__ import annotations

from typing import Any

import pytest

from planning.audit.workload_audit import Risk
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index
from webhook.component import Throttle
from webhook.skew import controller as module
from webhook.skew.controller import SweepEndedError, sweep

HURRY = Throttle(1.0, lambda _seconds: None)


def a_stateful_set(name: str, *constraints: dict[str, Any]) -> dict[str, Any]:
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": list(constraints)}, name=name)
    return obj | {"spec": obj["spec"] | {"replicas": 3}}


def the_workloads(*objects: dict[str, Any]) -> ClusterWorkloads:
    found = ClusterWorkloads(WorkloadKinds())
    for obj in objects:
        found(obj)
    return found


def a_context(index: ClusterIndex | None = None) -> AdmissionContext:
    return AdmissionContext(policies=(), cluster=index or an_index([a_node("n1", "a"), *on("n1", 3)]))


def test_every_workload_is_measured() -> None:
    """Invalid ones, too; the start and the duration are reported."""
    times = iter([100.0, 103.5])
    found = sweep(
        the_workloads(a_stateful_set("a", a_constraint()), a_stateful_set("b", a_constraint(maxSkew=0))),
        a_context,
        HURRY,
        clock=lambda: next(times),
    )

    assert (100.0, 3.5, ()) == (found.measured_at, found.seconds, found.problems)
    assert ["a", "b"] == [each.name for each in found.workloads]
    assert Risk.INVALID is found.workloads[1].problems[0].risk


def test_one_that_takes_too_long_is_left_out() -> None:
    """It would hold the lock of the index that reviews and events wait for."""
    many = [a_constraint(topologyKey=f"example.com/k{number}") for number in range(3000)]
    found = sweep(the_workloads(a_stateful_set("a", *many), a_stateful_set("b")), a_context, HURRY)

    assert ["b"] == [each.name for each in found.workloads]
    assert found.problems[0].startswith("StatefulSet shop/a: its ")


def test_one_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in one workload must not hide all others."""

    def fail(*_arguments: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(module, "workload_skew", fail)
    found = sweep(the_workloads(a_stateful_set("a")), a_context, HURRY)

    assert (("StatefulSet shop/a: KeyError: 'oops'",), ()) == (found.problems, found.workloads)


def test_a_cache_that_becomes_stale_ends_it() -> None:
    """Half of it would be old, and nothing would say which half."""
    contexts = iter([a_context(), a_context(), a_context().without_cluster("stale")])

    with pytest.raises(SweepEndedError, match="stale"):
        sweep(the_workloads(a_stateful_set("a"), a_stateful_set("b")), lambda: next(contexts), HURRY)


def test_a_cache_that_is_not_synced_is_not_measured() -> None:
    """It has no workload yet; that would look as if nothing were wrong."""
    with pytest.raises(SweepEndedError, match="not listed"):
        sweep(the_workloads(), lambda: a_context().without_cluster("not listed"), HURRY)


def test_the_lock_is_free_between_two_workloads() -> None:
    """Events wait for one workload at most, and never while the sweep rests."""
    index = an_index([a_node("n1", "a")])
    free = []

    class Resting(Throttle):
        def rest(self, *, at_once: bool = False) -> None:
            free.append(index.reading().acquire(blocking=False))  # type: ignore[attr-defined]

    workloads = the_workloads(a_stateful_set("a"), a_stateful_set("b"))
    sweep(workloads, lambda: a_context(index), Resting(1.0, lambda _seconds: None))

    assert [True, True] == free
