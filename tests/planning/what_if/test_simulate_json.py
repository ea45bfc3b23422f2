"""A simulation as JSON."""

from __future__ import annotations

import orjson

from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import simulate_queue
from planning.what_if import simulate_json
from policies.config.context import AdmissionContext
from policies.model.version import KubernetesVersion
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.releases import NEWEST_VERSION
from tests.builders import a_constraint, a_node, a_workload
from tests.policies.scheduler.clusters import an_index


def test_steps_and_domains() -> None:
    """A bound pod has a node, its score and the ties; a pending one what the scheduler would write."""
    cluster = an_index([a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)])
    context = AdmissionContext(policies=(), cluster=cluster)
    workload = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint()]})
    simulated = simulate_queue(queue_replicas(workload, context, UNREAD_PODS, count=3))
    answer = orjson.loads(simulate_json.render(simulated))
    bound, _, pending = answer["steps"]

    assert {"name", "namespace", "node", "score", "feasible", "tied"} == bound.keys()
    assert {"name", "namespace", "message", "condition"} == pending.keys()
    assert (1, True, []) == (answer["pending"], answer["allDomains"], answer["notModeled"])
    assert {"a": 1, "b": 1, "c": 0} == answer["domains"][0]["after"]


def test_a_release_that_is_newer_than_known() -> None:
    """The answer names the release that stands for it, as a score does."""
    cluster = an_index([a_node("n1", "a")])
    context = AdmissionContext(policies=(), cluster=cluster, kubernetes_version=KubernetesVersion(1, 99))
    workload = a_workload("Deployment")
    answer = orjson.loads(
        simulate_json.render(simulate_queue(queue_replicas(workload, context, UNREAD_PODS)))
    )

    assert ("1.99", NEWEST_VERSION.exact) == (answer["kubernetesVersion"], answer["judgedAs"])
