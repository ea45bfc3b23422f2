"""The engine against kube-scheduler's own verdicts, and against the loops of the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.version import KNOWN_VERSION
from policies.scheduler.evaluate import evaluate
from policies.scheduler.releases import behavior_of
from tests.examples import examples
from tests.policies.scheduler import oracle
from tests.policies.scheduler.clusters import (
    a_constraint,
    a_node,
    a_pod,
    a_request,
    an_index,
    as_recorded,
    judged,
    zones,
)
from tests.policies.scheduler.oracle_constraints import Behavior as OracleBehavior
from tests.policies.scheduler.strategies import cases
from tests.recorded import alike, recorded_edges, recorded_schedules

#: The changes between releases, in the oracle's and the engine's words.
FLAGS = ("min_domains", "inclusion_policies", "match_label_keys", "empty_selector_counts")


def test_recorded_schedules() -> None:
    """On every recorded cluster each plugin says of each node what kube-scheduler 1.36 said."""
    recorded = list(recorded_schedules())
    different = [case["name"] for case in recorded if judged(case) != case["expected"]]

    assert (1200, []) == (len(recorded), different)


@pytest.mark.slow
def test_recorded_edges() -> None:
    """The same of rare cases: resizes in place, resources of a whole pod, odd quantities and names."""
    recorded = list(recorded_edges())
    different = [case["name"] for case in recorded if not alike(judged(case), case["expected"])]

    assert (264, []) == (len(recorded), different)


@examples(400)  # Some rules meet in one of a hundred clusters only.
@given(cases(), st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS}))
def test_arrays_say_what_loops_say(case: dict[str, Any], flags: dict[str, bool]) -> None:
    """For any cluster, pod and release, arrays and plain loops agree on every node."""
    expected = oracle.judge(case, OracleBehavior(**flags))

    assert expected == judged(case, replace(behavior_of(KNOWN_VERSION), **flags))


def test_filters_only() -> None:
    """A result of filters alone has no scores, but feasible nodes and what soft constraints count."""
    index = an_index(zones(a=2, b=0))
    pod = a_pod("web-9", spread=[a_constraint("zone", "ScheduleAnyway")])
    request = a_request(pod, {}, index)
    whole, part = (evaluate(request, index, filters_only=alone) for alone in (False, True))

    assert (True, False) == (bool(whole.plugin_scores), bool(part.plugin_scores))
    assert as_recorded(whole) == as_recorded(part)
    assert [whole.results[0].domains.by_value()] == [part.results[0].domains.by_value()] == [{"a": 2, "b": 0}]


def test_filters_only_evict_nobody() -> None:
    """Of a pod that fits nowhere filters alone say why, and not whom it would preempt."""
    index = an_index([a_node("n1"), a_pod("held", "n1", cpu="4")])
    request = a_request(a_pod("in", cpu="2", priority=1), {}, index)
    whole, part = (evaluate(request, index, filters_only=alone) for alone in (False, True))

    assert (True, None) == (bool(whole.preemption), part.preemption)
    assert whole.message == part.message == part.condition
