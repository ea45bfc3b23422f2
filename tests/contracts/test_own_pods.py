"""Whose a pod is: its controller decides wherever pods of a workload are looked for, no selector alone."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planning.audit.audit import audit
from planning.plan.plan import ManifestSet, make_plan
from planning.simulation.pod_facts import PodFacts
from planning.simulation.replicas import running_replicas
from planning.simulation.rollout.running_pods import find_running
from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload, ClusterWorkloads
from policies.model.workload import Workload
from policies.pods.known_pods import UNREAD_PODS, KnownPods
from policies.pods.placement import PreparedPod, prepare
from tests.builders import APP, a_node, a_pod, a_replica_set, a_workload, kind_of
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: What asks the cluster for pods that a selector selects.
ASKING = {"count_pods", "selected_pods", "selected_names", "all_spread", "count_nodes", "unbind",
          "delete_selected", "find_running"}  # fmt: skip
#: Workloads of one name and with the same labels, and how many pods each has.
OWNED = {("", "ReplicationController"): 2, ("apps", "Deployment"): 3, ("apps", "StatefulSet"): 1,
         ("argoproj.io", "Rollout"): 2, ("apps.kruise.io", "CloneSet"): 4}  # fmt: skip
#: Pods of the same labels that no controller owns.
BARE = 1


def a_workload_of(group: str, kind: str, name: str = "web") -> Object:
    obj = a_workload(kind, group, name=name)
    obj["spec"]["replicas"] = OWNED[group, kind]
    return obj


def pods_of(group: str, kind: str, name: str = "web") -> list[Object]:
    """Return the objects of the pods of a workload, and its ReplicaSet if it has one."""
    obj, found, labels = a_workload_of(group, kind, name), [], dict(APP)
    owner = (obj["apiVersion"], kind, name)
    if label := kind_of(kind, group).revision_label:
        revision = kind.lower()
        found.append(a_replica_set(obj, revision))
        owner, labels[label] = ("apps/v1", "ReplicaSet", f"{name}-{revision}"), revision
    for number in range(OWNED[group, kind]):
        title = f"{name}-{number}" if kind == "StatefulSet" else f"{kind.lower()}-{name}-{number}"
        pod = a_pod(name=title, labels=labels, spec={"nodeName": "n1"}, owner=owner)
        found.append(pod | {"status": {"phase": "Running"}})
    return found


CLUSTER = [
    a_node("n1", "a"),
    *(each for group, kind in OWNED for each in pods_of(group, kind)),
    *pods_of("apps", "Deployment", "other"),
    a_pod(name="bare", labels=APP, spec={"nodeName": "n1"}) | {"status": {"phase": "Running"}},
]


def known_pods() -> KnownPods:
    known = KnownPods(None, now=0.0)
    for obj in CLUSTER:
        known(obj)
    return known


def of_audit(prepared: PreparedPod, context: AdmissionContext) -> int | None:
    workload = prepared.workload
    return audit(ClusterWorkload(workload, workload.kind.kind, "web", 0), context).running


def of_facts(prepared: PreparedPod, _: AdmissionContext) -> int:
    return PodFacts(prepared.cluster, [prepared], UNREAD_PODS.running).own_count


def of_plan(prepared: PreparedPod, context: AdmissionContext) -> int:
    cluster = ClusterState(context=context, known=UNREAD_PODS, workloads=ClusterWorkloads(context.kinds))
    old = ManifestSet(workloads=[prepared.workload], context=context)
    (change,) = make_plan(old, replace(old, workloads=[]), cluster).changes
    assert change.found is not None
    return change.found.before


def of_placement(prepared: PreparedPod, _context: AdmissionContext) -> int:
    found = running_replicas(prepared)
    assert found is not None
    # The bare pod is of no revision.
    return found.placed + BARE * (prepared.workload.kind.revision_label is not None)


def of_rollout(prepared: PreparedPod, _context: AdmissionContext) -> int:
    # Pods of a StatefulSet are known by their ordinals as well.
    return find_running(prepared, known_pods()).bound + BARE * (prepared.workload.kind.kind == "StatefulSet")


WAYS: dict[str, Callable[[PreparedPod, AdmissionContext], int | None]] = {
    "audit": of_audit,
    "explain, scale, simulate": of_placement,
    "rollout, rebalance": of_rollout,
    "simulate --evict": lambda prepared, _: (
        PodFacts(prepared.cluster, [prepared], UNREAD_PODS.running).own_count
    ),
    "plan": of_plan,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("group", "kind"), OWNED, ids=[kind for _, kind in OWNED])
def test_each_workload_has_its_own_pods(
    group: str, kind: str, way: Callable[[PreparedPod, AdmissionContext], int | None]
) -> None:
    """Its controller's pods count, and those of nobody, which it would adopt; those of others do not."""
    context = AdmissionContext(policies=(), cluster=an_index(CLUSTER))
    workload = Workload.read(a_workload_of(group, kind), kind_of(kind, group), "shop")
    assert OWNED[group, kind] + BARE == way(prepare(workload, context), context)


def test_kinds_of_others() -> None:
    """What makes the pods of a kind that a user adds is not known: there the selector decides."""
    kind = kind_of("Deployment", "apps")
    obj = a_workload_of("apps", "Deployment")
    added = Workload.read(obj, type(kind)("acme.io", "App", kind.template, kind.selector), "shop")

    assert added.selector is not None
    assert added.own_pods == added.selector


def functions_asking() -> list[Any]:
    """Return the functions of the source that ask a cluster for selected pods, with the module of each."""
    root = Path(__file__).parents[2]
    found = []
    parts = ("planning", "policies", "webhook")
    for path in sorted(each for part in parts for each in (root / part).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(each, ast.Attribute) and each.attr in ASKING for each in ast.walk(node)
            ):
                where = path.relative_to(root).as_posix()
                found.append(pytest.param(node, id=f"{where}:{node.name}"))
    return found


@pytest.mark.parametrize("function", functions_asking())
def test_no_selector_of_a_workload_is_asked_with(function: ast.FunctionDef) -> None:
    """Who asks for the pods of a workload asks with ``own_pods``."""
    used = {
        ast.unparse(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "selector"
    }

    assert set() == {
        text for text in used if text.rpartition(".")[0].rpartition(".")[2] in ("workload", "before", "after")
    }
