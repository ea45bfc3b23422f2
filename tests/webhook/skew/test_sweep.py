"""A look at all workloads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from planning.audit.workload_audit import Risk
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index
from webhook.skew import controller as module
from webhook.skew.controller import MeasuredPart, SweepEndedError, sweep
from webhook.telemetry.skew_metrics import SkewReport


class Held(NamedTuple):
    """What a fork server holds."""

    context: AdmissionContext
    workloads: ClusterWorkloads | None


def a_stateful_set(name: str, *constraints: dict[str, Any]) -> dict[str, Any]:
    obj = a_workload("StatefulSet", spec={"topologySpreadConstraints": list(constraints)}, name=name)
    return obj | {"spec": obj["spec"] | {"replicas": 3}}


def held(*objects: dict[str, Any], context: AdmissionContext | None = None) -> Held:
    found = ClusterWorkloads(WorkloadKinds())
    for obj in objects:
        found(obj)
    cluster = an_index([a_node("n1", "a"), *on("n1", 3)])
    return Held(context or AdmissionContext(policies=(), cluster=cluster), found)


class Sweeping(NamedTuple):
    """Sweeps over what is held, in this process."""

    held: Held
    parts: list[MeasuredPart]
    charged: list[float]
    clock: Callable[[], float] = time.time

    @classmethod
    def over(cls, held: Held, clock: Callable[[], float] = time.time) -> Sweeping:
        return cls(held, [], [], clock)

    def __call__(self, check: Callable[[], None] = lambda: None) -> SkewReport:
        return sweep(self.ask, check, self.charged.append, clock=self.clock)

    def ask(self, work: Callable[[Any], MeasuredPart]) -> MeasuredPart:
        self.parts.append(work(self.held))
        return self.parts[-1]


def test_every_workload_is_measured() -> None:
    """Invalid ones, too; the start and the duration are reported."""
    times = iter([100.0, 103.5])
    two = held(a_stateful_set("a", a_constraint()), a_stateful_set("b", a_constraint(maxSkew=0)))
    found = Sweeping.over(two, lambda: next(times))()

    assert (100.0, 3.5, ()) == (found.measured_at, found.seconds, found.problems)
    assert ["a", "b"] == [each.name for each in found.workloads]
    assert Risk.INVALID is found.workloads[1].problems[0].risk


def test_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child looks at some of them; what goes and comes between two parts moves no other."""
    monkeypatch.setattr(module, "PART", 2)
    cluster = held(*(a_stateful_set(f"w{number}") for number in range(5)))
    sweeping = Sweeping.over(cluster)

    def between() -> None:
        if len(sweeping.parts) == 1 and cluster.workloads is not None:
            cluster.workloads.remove("StatefulSet", "shop", "w0")
            cluster.workloads.remove("StatefulSet", "shop", "w1")
            cluster.workloads(a_stateful_set("w00"))

    found = sweeping(between)

    assert [f"w{number}" for number in range(5)] == [each.name for each in found.workloads]
    assert 3 == len(sweeping.parts) == len(sweeping.charged)
    assert [part.processor_s for part in sweeping.parts] == sweeping.charged


def test_one_that_takes_too_long_is_left_out() -> None:
    """It would hold up all others."""
    many = [a_constraint(topologyKey=f"example.com/k{number}") for number in range(3000)]
    found = Sweeping.over(held(a_stateful_set("a", *many), a_stateful_set("b")))()

    assert ["b"] == [each.name for each in found.workloads]
    assert found.problems[0].startswith("StatefulSet shop/a: its ")


def test_one_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in one workload must not hide all others."""

    def fail(*_arguments: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(module, "workload_skew", fail)
    found = Sweeping.over(held(a_stateful_set("a")))()

    assert (("StatefulSet shop/a: KeyError: 'oops'",), ()) == (found.problems, found.workloads)


@pytest.mark.parametrize("last", [0, 1], ids=["before it begins", "before it ends"])
def test_a_cache_that_cannot_be_used_ends_it(last: int) -> None:
    """Half of it would be old, and nothing would say which half; at first no workload may be there yet."""
    sweeping = Sweeping.over(held(a_stateful_set("a")))

    def check() -> None:
        if len(sweeping.parts) == last:
            raise SweepEndedError("stale")

    with pytest.raises(SweepEndedError, match="stale"):
        sweeping(check)


def test_a_cluster_that_is_not_there() -> None:
    """Nothing is measured."""
    with pytest.raises(SweepEndedError, match="away"):
        Sweeping.over(held(context=AdmissionContext(policies=()).without_cluster("away")))()
