"""The pods of a workload that run before its rollout, and what they are made of."""

from __future__ import annotations

from planning.simulation.rollout.running_pods import prepare_sample
from policies.config.context import AdmissionContext
from policies.pods.placement import read_workload
from tests.builders import a_node, a_pod, a_workload
from tests.planning.clusters import known_of
from tests.policies.scheduler import storage_objects as storage
from tests.policies.scheduler.clusters import an_index


def test_a_sample_has_the_claims_of_its_name() -> None:
    """The old pod that is made again has its own volume, not that of the pod that shows what it is like."""
    claim = storage.a_claim("data")
    workload = a_workload("StatefulSet", uid="u")
    workload["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim["spec"]}]
    owner, labels = ("apps/v1", "StatefulSet", "web"), {"app": "web", "controller-revision-hash": "old"}
    spec = {"nodeName": "n1", "volumes": storage.using("data-web-1", "data-web-other")}
    pod = a_pod(name="web-1", labels=labels, owner=owner, spec=spec)
    objects = [a_node("n1", "a"), workload, pod]
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    read = read_workload(workload, context)
    found = prepare_sample(read, context, known_of(objects), "old", "web-0")

    assert found is not None
    assert ["data-web-0", "data-web-other"] == [each.name for each in found.request.pod.volumes.claims]
