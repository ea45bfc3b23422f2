"""No combination makes a review do work that nobody counted: calls are counted here, and no clock is asked.

A loop over what a user may write that its budget does not know shows as many more calls than others make.
"""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Any

import pytest

from policies.admission.review_cost import MAX_STEPS, ReviewCost
from policies.config.context import AdmissionContext
from policies.model.workload import Workload
from policies.scheduler.workload_topology import WorkloadTopology
from tests.builders import kind_of
from tests.security.combinations import CHOICES, an_object, drawn, stored_before
from tests.security.reviewing import a_context, review_of
from tests.webhook.reviewing import a_review_request
from webhook.admission.respond import respond
from webhook.admission.review import Phase

#: Bytes of a review that are tried: each is read, whatever is judged, and calls cost ten times as much here.
MAX_BYTES = 60_000
#: Combinations for each number of nodes. Arbitrary.
TRIES = 25
#: Calls of Python and C that a review may make besides one for each counted step: so many for any object, and
#: so many for each byte, all of which are read.
CALLS, CALLS_A_BYTE = 30_000, 5


def calls_of(body: bytes, context: AdmissionContext) -> int:
    """Return how many functions a review calls on a cluster of which nothing was derived yet."""
    count = 0
    request = a_review_request(body, Phase.VALIDATE)

    def on_event(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        respond(request, context)
    finally:
        sys.setprofile(before)
    return count


def allowed(obj: dict[str, Any], body: bytes, context: AdmissionContext) -> int:
    """Return how many calls a review may make, by what its budget counts."""
    group = obj["apiVersion"].rpartition("/")[0]
    workload = Workload.read(obj, kind_of(obj["kind"], group), "shop")
    cost = ReviewCost(workload, context.for_rules().inventory)
    return CALLS + CALLS_A_BYTE * len(body) + min(cost.read_steps + cost.node_steps, MAX_STEPS)


def excess(combination: dict[str, Any], nodes: int) -> int:
    """Return how many more calls than allowed the review of a combination makes; at most 0 if all count."""
    obj, context = an_object(combination), a_context(nodes)
    body = review_of(obj, old=stored_before(combination, obj))
    if len(body) > MAX_BYTES:
        return 0
    return calls_of(body, context) - allowed(obj, body, context)


@pytest.mark.parametrize("nodes", [100, 300])
def test_calls_are_bounded(nodes: int) -> None:
    """The counted cost is a bound of a review's work, for any combination."""
    source = random.Random(nodes)  # a search, no secret
    for _ in range(TRIES):
        combination = drawn(source, busy=source.choice((0.15, 0.3)))

        assert excess(combination, nodes) <= 0, combination


def test_a_loop_that_nobody_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that could not fail would hold nothing."""
    find = WorkloadTopology.with_labels

    def slow(topology: WorkloadTopology, keys: frozenset[str]) -> frozenset[str]:
        for node in topology.nodes:
            for _ in range(100):
                len(node.labels)
        return find(topology, keys)

    combination = {name: options[0] for name, options in CHOICES.items()}
    combination |= {"replicas": 3, "constraints": 6, "constraint_keys": "real"}
    assert excess(combination, 300) <= 0

    monkeypatch.setattr(WorkloadTopology, "with_labels", slow)
    assert excess(combination, 300) > 0
