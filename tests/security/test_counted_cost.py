"""No combination makes a review do work that nobody counted: calls are counted here, and no clock is asked.

A loop over what a user may write, in the object or in the cluster, that its budget does not know shows as
many more calls, or lines, than others make.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import orjson
import pytest

from policies.admission.review_cost import MAX_STEPS, ReviewCost
from policies.config.context import AdmissionContext
from policies.model.snapshot import kind_of as kind_of_object
from policies.model.step_counter import StepCounter, TooManyStepsError
from policies.model.workload import Workload
from policies.pods.placement import PlacementError, prepare
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from policies.scheduler.workload_topology import WorkloadTopology
from tests.builders import kind_of
from tests.security import clusters
from tests.security.combinations import CHOICES, an_object, drawn, stored_before
from tests.security.reviewing import a_context, context_of, review_of
from tests.security.stored import NODES, SHAPES, ClusterShape
from tests.webhook.reviewing import a_review_request
from webhook.admission.respond import respond
from webhook.admission.review import Phase

#: Bytes of a review that are tried: each is read, whatever is judged, and calls cost ten times as much here.
MAX_BYTES = 60_000
#: Combinations for each number of nodes, and for each shape of cluster. Arbitrary.
TRIES, TRIES_OF_A_SHAPE = 25, 4
#: Clusters with random numbers of everything. Arbitrary.
MIXED = 4
#: Calls of Python and C that a review may make besides one for each counted step: so many for any object, and
#: so many for each byte, all of which are read.
CALLS, CALLS_A_BYTE = 30_000, 5
#: Lines of Python that the review of a small object may run besides one for each counted step.
LINES = 20_000
#: Sizes of what a cluster has much of: counted in full, and too much of most. Arbitrary.
SIZES = (300, 3_000)


def calls_of(body: bytes, context: AdmissionContext) -> int:
    """Return how many functions a review calls on a cluster of which nothing was derived yet."""
    return _events(body, context, (sys.getprofile, sys.setprofile), frozenset({"call", "c_call"}))


def lines_of(body: bytes, context: AdmissionContext) -> int:
    """Return how many lines of Python a review runs, each turn of a loop anew."""
    return _events(body, context, (sys.gettrace, sys.settrace), frozenset({"line"}))


def _events(
    body: bytes,
    context: AdmissionContext,
    hook: tuple[Callable[[], Any], Callable[[Any], None]],
    counted: frozenset[str],
) -> int:
    """Return how many events of some kinds the interpreter tells a hook while it reviews."""
    count, request, (get, put) = 0, a_review_request(body, Phase.VALIDATE), hook

    def on_event(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event in counted
        return on_event

    before = get()
    put(on_event)
    try:
        respond(request, context)
    finally:
        put(before)
    return count


def steps_of(body: bytes, context: AdmissionContext) -> float:
    """Return the steps that the review of an object takes of those that there are."""
    obj = orjson.loads(body)["request"]["object"]
    workload = Workload.read(obj, kind_of(obj["kind"], obj["apiVersion"].rpartition("/")[0]), "shop")
    cost, cluster = ReviewCost(workload, context.for_rules().inventory), context.cluster
    assert cluster is not None
    table = cluster.pods_of("shop")
    rules = min(cost.read_steps + cost.node_steps, MAX_STEPS)
    try:
        steps = cost.forecast_steps(nodes=cluster.node_count, pods=0 if table is None else len(table))
        with cluster.reading(steps):
            evaluate(prepare(workload, context).request, cluster, filters_only=True)
    except TooManyStepsError:
        return MAX_STEPS
    except PlacementError:
        return rules
    return max(MAX_STEPS - steps.left, rules)


def excess(combination: dict[str, Any], context: AdmissionContext) -> int | None:
    """Return the calls of a review above those allowed, 0 or less if all count; None if it is too large."""
    obj = an_object(combination)
    body = review_of(obj, old=stored_before(combination, obj))
    if len(body) > MAX_BYTES:
        return None
    return calls_of(body, context) - round(CALLS + CALLS_A_BYTE * len(body) + steps_of(body, context))


def tried(context: AdmissionContext, source: random.Random, tries: int) -> None:
    """Try as many combinations on a cluster as are asked for; those that are too large do not count."""
    found = 0
    while found < tries:
        combination = drawn(source, busy=source.choice((0.15, 0.3)))
        more = excess(combination, context)
        assert more is None or more <= 0, combination
        found += more is not None


@pytest.mark.parametrize("nodes", [100, 300])
def test_calls_are_bounded(nodes: int) -> None:
    """The counted cost is a bound of a review's work, for any combination."""
    tried(a_context(nodes), random.Random(nodes), TRIES)  # a search, no secret


@pytest.mark.slow
@pytest.mark.parametrize("name", [*clusters.SHAPES, *(f"mixed {number}" for number in range(MIXED))])
def test_calls_are_bounded_on_any_cluster(name: str) -> None:
    """So it is whatever the cluster has much of, and of how much."""
    source = random.Random(name)  # a search, no secret
    if name in clusters.SHAPES:
        chosen = clusters.a_cluster(**clusters.SHAPES[name])
    else:
        chosen = drawn(source, busy=0.4, of=clusters.CLUSTER_CHOICES)
    index = ClusterIndex()
    for obj in clusters.stored_objects(chosen, NODES):
        index.apply(obj)
    index.list_kinds(INDEXED_KINDS)
    tried(context_of(index), source, TRIES_OF_A_SHAPE)


def test_a_loop_that_nobody_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that could not fail would hold nothing."""
    find = WorkloadTopology.with_labels

    def slow(topology: WorkloadTopology, keys: frozenset[str]) -> frozenset[str]:
        for node in topology.cluster.nodes or ():
            for _ in range(100):
                len(node.labels)
        return find(topology, keys)

    combination = {name: options[0] for name, options in CHOICES.items()}
    combination |= {"replicas": 3, "constraints": 6, "constraint_keys": "real"}
    assert (excess(combination, a_context(300)) or 0) <= 0

    monkeypatch.setattr(WorkloadTopology, "with_labels", slow)
    assert (excess(combination, a_context(300)) or 0) > 0


def uncounted(shape: ClusterShape, size: int) -> float:
    """Return how many more lines than allowed the review of a shape's object runs; at most 0 if all count."""
    body, context = review_of(shape.reviewed()), context_of(shape.cluster(size))
    steps = steps_of(body, context_of(shape.cluster(size)))
    # What is imported late, and what the rules derive of nodes until one changes.
    respond(a_review_request(body, Phase.VALIDATE), context_of(shape.cluster(1)))
    inventory = context.for_rules().inventory
    assert inventory is not None
    assert inventory.keys
    return lines_of(body, context) - LINES - steps


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SHAPES)
def test_what_is_stored_is_counted(name: str, size: int) -> None:
    """A loop over stored objects takes its steps from the sum of the review, or does not grow with them."""
    assert uncounted(SHAPES[name], size) <= 0


def test_every_kind_is_large_in_some_cluster() -> None:
    """A kind that is watched and that no shape has much of could be looped over for nothing."""
    many = [Counter(kind_of_object(obj) for obj in shape.objects(100)) for shape in SHAPES.values()]

    assert {kind for counts in many for kind, count in counts.items() if count >= 100} == INDEXED_KINDS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["terms of others that require nothing", "namespaces", "local volumes"])
def test_a_loop_over_stored_objects_without_a_step_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This test could not fail if steps were not what lines are compared with."""
    monkeypatch.setattr(StepCounter, "take", lambda *_: None)

    assert uncounted(SHAPES[name], SIZES[1]) > 0
