"""A what-if request: what of it is refused, and where that is."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from planning.simulation.outcome import Cause, Outcome
from policies.config.context import AdmissionContext
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_node, a_workload
from tests.planning.verdicts import on
from webhook.requests.frame import RequestError
from webhook.requests.what_if import Work, what_if_request

NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "b")]


def _ask(work: Work = Work(), **fields: Any) -> Outcome:  # noqa: B008  # it has no state
    """Return the outcome of a request about three nodes in two zones, on the first of which two pods run."""
    body = {"cluster": {"nodes": NODES, "pods": on("n1", 2)}, **fields}
    return what_if_request(orjson.dumps(body), AdmissionContext(policies=()), UNREAD_PODS, None, work)


def _many(replicas: int) -> dict[str, Any]:
    web = a_workload()
    return {"apply": web | {"spec": web["spec"] | {"replicas": replicas}}}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"events": [{"cordon": "n1"}, {"drain": "n9"}]}, "events[1].drain", id="no such node"),
        pytest.param(
            {"events": [{"lose": {"topologyKey": "zone", "value": "z"}}]}, "events[0].lose.value", id="domain"
        ),
        pytest.param({"each": "rack"}, "each", id="no such label"),
        pytest.param(
            {"workloads": [{"kind": "Deployment", "namespace": "shop", "name": "gone"}]}, "workloads[0]",
            id="no such workload",
        ),
        pytest.param({"events": [_many(100_000)]}, "events[0].apply.spec.replicas", id="too many replicas"),
        pytest.param(
            {"events": [_many(2_000)], "runs": 100}, "events[0].apply.spec.replicas", id="too many ways"
        ),
        pytest.param({"events": [{"drain": "n1", "cordon": "n1"}]}, "events[0]", id="two events in one"),
        pytest.param({"autoscale": []}, "autoscale", id="no node group"),
        pytest.param({"kubernetesVersion": "new"}, "kubernetesVersion", id="no release"),
        pytest.param({"runs": 0}, "runs", id="no way"),
    ],
)  # fmt: skip
def test_refused(fields: dict[str, Any], path: str) -> None:
    """Each error has the path in the request."""
    with pytest.raises(RequestError) as caught:
        _ask(**fields)

    assert [path] == [str(error.path) for error in caught.value.errors]


def test_an_applied_workload_may_be_asked_for() -> None:
    """The verdict is about it, though the cluster does not have it before."""
    ref = {"kind": "Deployment", "namespace": "shop", "name": "web"}
    outcome = _ask(events=[_many(2)], workloads=[ref])

    assert ["web"] == [found.ref.name for found in outcome.workloads if found.ref.kind == "Deployment"]
    assert outcome.scenario.workloads is not None


def test_each_is_short_for_a_key() -> None:
    """Every domain is lost once; nodes that are unreachable stay."""
    gone, stay = (_ask(each="zone", unreachable=unreachable) for unreachable in (False, True))

    assert {"a", "b"} == {loss.scenario.events[0].lose.value for loss in gone.outcomes}  # type: ignore[union-attr]
    assert {1, 2} == {loss.nodes.after for loss in gone.outcomes}
    assert {3} == {loss.nodes.after for loss in stay.outcomes}


def test_out_of_time() -> None:
    """What was not played leaves no green verdict."""
    outcome = _ask(Work(stop=lambda: True), events=[{"drain": "n1"}])

    assert not outcome.complete
    assert Cause.STOPPED is outcome.verdict.cause
