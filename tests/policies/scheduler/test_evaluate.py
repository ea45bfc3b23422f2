"""The engine against kube-scheduler's own verdicts, and against the loops of the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.model.version import KNOWN_VERSION
from policies.scheduler.releases import behavior_of
from tests.policies.scheduler import oracle
from tests.policies.scheduler.clusters import judged
from tests.policies.scheduler.oracle_constraints import Behavior as OracleBehavior
from tests.policies.scheduler.strategies import cases
from tests.recorded import alike, recorded_edges, recorded_schedules

#: What a release may do differently, in the oracle's and the engine's words.
FLAGS = ("min_domains", "inclusion_policies", "match_label_keys", "empty_selector_counts")


def test_recorded_schedules() -> None:
    """On every recorded cluster each plugin says of each node what kube-scheduler 1.36 said."""
    recorded = list(recorded_schedules())
    different = [case["name"] for case in recorded if judged(case) != case["expected"]]

    assert (1200, []) == (len(recorded), different)


def test_recorded_edges() -> None:
    """The same of rare cases: resizes in place, resources of a whole pod, odd quantities and names."""
    recorded = list(recorded_edges())
    different = [case["name"] for case in recorded if not alike(judged(case), case["expected"])]

    assert (264, []) == (len(recorded), different)


@settings(max_examples=400)  # Some rules meet in one of a hundred clusters only.
@given(cases(), st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS}))
def test_arrays_say_what_loops_say(case: dict[str, Any], flags: dict[str, bool]) -> None:
    """Whatever the cluster, the pod and the release, arrays and plain loops agree on every node."""
    expected = oracle.judge(case, OracleBehavior(**flags))

    assert expected == judged(case, replace(behavior_of(KNOWN_VERSION), **flags))
