"""How many replicas of a workload have a node, or would get one."""

from __future__ import annotations

from typing import Any

import pytest

from planning.explain.explain import Explained, explain_object
from planning.simulation.replicas import MOST_PLACED, Replicas, count_replicas
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath
from policies.pods.placement import evaluate_manifest, evaluate_workload, read_workload
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.scenarios import a_state
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: Two zones with a node each, and a third one whose node is cordoned.
CORDONED = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]


def _context(*objects: Object) -> AdmissionContext:
    return AdmissionContext(policies=(), cluster=an_index(objects))


def _explained(*objects: Object) -> Explained:
    """Return an explanation of the workload as one of the cluster."""
    return explain_object(_workload(), a_state(objects, reads_stored=True))


def _workload(kind: str = "StatefulSet", replicas: int | None = 6, **spec: Any) -> Object:
    workload = a_workload(kind, spec={"topologySpreadConstraints": [a_constraint()], **spec})
    if replicas is not None:
        workload["spec"]["replicas"] = replicas
    return workload


@pytest.mark.parametrize(
    ("obj", "objects", "expected"),
    [
        pytest.param(_workload(), CORDONED, (6, 0, 2), id="of 6 none is there: 2 fit"),
        pytest.param(_workload(), [*CORDONED, *on("n1", 1)], (6, 1, 2), id="1 is there: 1 more"),
        pytest.param(
            _workload(), [*CORDONED, *on("n1", 1), *on("n2", 1)], (6, 2, 2), id="2 are there: stuck"
        ),
        pytest.param(_workload(replicas=2), CORDONED, (2, 0, 2), id="2 wanted: enough"),
        pytest.param(_workload(replicas=0), [*CORDONED, *on("n1", 1)], (0, 1, 1), id="0 wanted, 1 is left"),
        pytest.param(_workload(replicas=None), CORDONED, (1, 0, 1), id="replicas absent: 1"),
        pytest.param(
            _workload("Deployment"),
            [*CORDONED, *on("n1", 1)],
            (6, 0, 1),
            id="pods of another revision: not placed",
        ),
        pytest.param(a_pod(), CORDONED, None, id="a Pod: none"),
        pytest.param(a_workload("DaemonSet"), CORDONED, None, id="a DaemonSet: none"),
        pytest.param(a_workload("Job", "batch"), CORDONED, None, id="a Job: none"),
    ],
)
def test_counts(obj: Object, objects: list[Object], expected: tuple[int, int, int] | None) -> None:
    """Pods of the revision that have a node count as placed; the missing ones are placed one by one."""
    counted = count_replicas(evaluate_manifest(obj, _context(*objects)))
    replicas = None if counted is None else counted[0]

    assert expected == (replicas and (replicas.wanted, replicas.placed, replicas.fitting))


def test_a_running_revision() -> None:
    """Pods of the ReplicaSet with the same template are placed; an edited template is judged as theirs."""
    constraint = a_constraint(matchLabelKeys=["pod-template-hash"])
    workload = _workload("Deployment", 3, topologySpreadConstraints=[constraint])
    labels = {"app": "web", "pod-template-hash": "abc"}
    pods = [a_pod(name=node, labels=labels, spec={"nodeName": node}) for node in ("n1", "n2")]
    context = _context(*CORDONED, a_replica_set(workload, "abc"), *pods)
    placement = evaluate_manifest(workload, context)
    edited = apply_edits(workload, [Edit(FieldPath(("spec", "template", "spec", "hostname")), None, "x")])
    counted = count_replicas(placement)

    assert counted is not None
    assert counted[0] == Replicas(wanted=3, placed=2, fitting=2)
    assert evaluate_manifest(edited, context).result.feasible_count == 2
    next_pod = evaluate_workload(read_workload(edited, context), context, revision_of=placement)
    assert next_pod.result.feasible_count == 0


def test_the_counting_ends() -> None:
    """Of very many replicas the first so many are placed, and that is said."""
    node = {**a_node("n1", "a"), "status": {"allocatable": {"pods": "1000"}}}
    counted = count_replicas(evaluate_manifest(_workload(replicas=900), _context(node)))

    assert counted is not None
    assert counted[0] == Replicas(wanted=900, placed=0, fitting=MOST_PLACED, complete=False)
    assert counted[0].enough


def test_a_later_replica_that_does_not_fit() -> None:
    """The next pod fits, the third does not: what helps is found all the same, and counted."""
    explained = _explained(*CORDONED)

    assert explained.placement.result.feasible_count == 2
    assert "0/3 nodes are available" in explained.stuck_message
    assert {"cordon", "nodeTaintsPolicy"} > {explained.suggestions.found[0].changes[0].what}
    assert [6] == list(
        {suggestion.replicas.fitting for suggestion in explained.suggestions.found if suggestion.replicas}
    )


def test_what_is_not_enough_for_all_comes_last() -> None:
    """A toleration opens one node with room for one; everything that lets all six in comes before it."""
    small = {**a_node("n3", "c", taints=[{"key": "t", "effect": "NoSchedule"}])}
    small["status"] = {"allocatable": {"pods": "1"}}
    found = _explained(*CORDONED[:2], small).suggestions.found
    enough = [
        suggestion.replicas.enough
        for suggestion in found
        if suggestion.replicas and not suggestion.in_cluster
    ]

    assert enough == sorted(enough, reverse=True)
    assert {True, False} == set(enough)


def test_max_skew_is_as_large_as_all_replicas_need() -> None:
    """1 more would let in the next pod alone: 2 and 2 beside an empty zone; 3 lets in all 6."""
    found = _explained(*CORDONED).suggestions.found
    edits = [edit for suggestion in found for edit in suggestion.edits if edit.path.segments[-1] == "maxSkew"]

    assert [3] == [edit.new for edit in edits]
