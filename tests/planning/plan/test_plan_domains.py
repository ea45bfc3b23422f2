"""The counts of constraints, whatever the revision of the pods is."""

from __future__ import annotations

from planning.plan.plan_domains import planned_domains, with_end
from planning.simulation.cluster_simulation import ClusterSimulation
from policies.config.context import AdmissionContext
from policies.pods.placement import PreparedPod, prepare, read_workload
from tests.builders import a_constraint
from tests.planning.planned import a_cluster, a_deployment, running


def _prepared(*constraints: dict[str, object]) -> PreparedPod:
    context = AdmissionContext(policies=(), cluster=a_cluster())
    obj = a_deployment(2, spec={"topologySpreadConstraints": list(constraints)})
    return prepare(read_workload(obj, context), context)


def test_pods_of_every_revision_count() -> None:
    """``matchLabelKeys`` narrows the selector to one revision, which a plan does not."""
    prepared = _prepared(a_constraint(matchLabelKeys=["pod-template-hash"]))
    pods = running("n1", "n2")
    for number, pod in enumerate(pods):
        pod["metadata"]["labels"] = {"app": "web", "pod-template-hash": str(number)}
    (counted,) = planned_domains(prepared, prepared, ClusterSimulation(a_cluster(*pods)))

    assert {"a": 1, "b": 1, "c": 0} == counted.now


def test_a_number_changes() -> None:
    """A constraint of the same key with another maxSkew is new, and none is gone."""
    before, after = _prepared(a_constraint()), _prepared(a_constraint(maxSkew=2))
    (counted,) = planned_domains(before, after, ClusterSimulation(a_cluster()))

    assert (True, False) == (counted.is_new, counted.is_gone)


def test_planned_domains() -> None:
    """The skew is that at the end."""
    prepared = _prepared(a_constraint())
    now = planned_domains(prepared, prepared, ClusterSimulation(a_cluster()))
    done = planned_domains(prepared, prepared, ClusterSimulation(a_cluster(*running("n1", "n1", "n2"))))
    (domains,) = with_end(now, done)

    assert ({"a": 0, "b": 0, "c": 0}, {"a": 2, "b": 1, "c": 0}, 2) == (
        domains.now,
        domains.after,
        domains.skew,
    )
