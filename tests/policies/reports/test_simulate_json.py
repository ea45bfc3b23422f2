"""A simulation as JSON."""

from __future__ import annotations

import orjson

from policies.config.context import AdmissionContext
from policies.placement.scheduling_queue import queue_replicas, simulate_queue
from policies.reports import simulate_json
from tests.builders import a_constraint, a_workload
from tests.policies.reports.verdicts import a_node
from tests.policies.scheduler.clusters import an_index


def test_steps_and_domains() -> None:
    """A bound pod has a node, its score and the ties; a pending one what the scheduler would write."""
    cluster = an_index([a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)])
    context = AdmissionContext(policies=(), cluster=cluster)
    workload = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint()]})
    simulated = simulate_queue(queue_replicas(workload, context, count=3))
    answer = orjson.loads(simulate_json.render(simulated))
    bound, _, pending = answer["steps"]

    assert {"name", "namespace", "node", "score", "feasible", "tied"} == bound.keys()
    assert {"name", "namespace", "message", "condition"} == pending.keys()
    assert (1, True, []) == (answer["pending"], answer["allDomains"], answer["notModeled"])
    assert {"a": 1, "b": 1, "c": 0} == answer["domains"][0]["after"]
