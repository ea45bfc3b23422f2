"""The changes for existing workloads when policies or namespaces change."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from policies.admission.policy_preview import PolicyPreview, preview_workloads
from policies.config.context import AdmissionContext
from policies.config.loader import build
from policies.config.spread_policy import DefaultsMode
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.snapshot import Namespace
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from tests.builders import a_constraint, a_policy, a_replica_set, a_workload

TODAY = date(2027, 1, 1)
SOFT = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
#: A workload whose constraint selects other pods, one that breaks a rule of the API server, and one without.
MISSES = a_workload(
    name="misses",
    spec={"topologySpreadConstraints": [a_constraint(labelSelector={"matchLabels": {"app": "other"}})]},
)
BROKEN = a_workload(name="broken", spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
BARE = a_workload(name="bare")

RULE = "selector-misses-own-pod"
DENY: dict[str, Any] = {"rules": {RULE: {"enforcement": "deny"}}}
WARN, AUDIT = ({"rules": {RULE: {"enforcement": value}}} for value in ("warn", "audit"))
AT_WORKLOADS = {"defaults": {"at": "workloads", "constraints": [SOFT]}}
AT_PODS = {"defaults": {"at": "pods", "constraints": [SOFT]}}
TIGHTER = {"defaults": {"at": "workloads", "constraints": [SOFT | {"maxSkew": 2}]}}


def context(*specs: dict[str, Any], labels: dict[str, str] | None = None) -> AdmissionContext:
    """Return the context of decisions with some policies, in a cluster whose namespace shop has labels."""
    cluster = ClusterIndex()
    metadata = {"name": "shop", "labels": labels or {}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    for obj in (namespace, a_replica_set(BARE, "5d9")):
        assert [] == cluster.apply(obj)
    policies = (build(a_policy(f"p{number}", **spec)) for number, spec in enumerate(specs))
    return AdmissionContext(policies=tuple(policies), cluster=cluster)


def changes(preview: PolicyPreview) -> dict[str, dict[str, list[str]]]:
    return {
        workload.name: {str(entry.change): list(entry.details) for entry in workload.changes}
        for workload in preview.workloads
    }


def previewed(before: list[dict[str, Any]], after: list[dict[str, Any]], *objects: dict[str, Any]) -> Any:
    now = context(*before)
    then = now.with_policies(context(*after).policies)
    return changes(preview_workloads(workloads(*objects or (MISSES, BROKEN, BARE)), now, then, today=TODAY))


def workloads(*objects: dict[str, Any]) -> ClusterWorkloads:
    """Return the workloads of a cluster with some objects."""
    found = ClusterWorkloads(WorkloadKinds(), every_kind=True)
    for obj in objects:
        found(obj)
    return found


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([], [], {}, id="nothing"),
        pytest.param([DENY], [DENY], {}, id="the same"),
        pytest.param(
            [],
            [DENY],
            {"misses": {"denied": [RULE]}, "broken": {"denied": ["max-skew-not-positive"]}},
            id="denied",
        ),
        pytest.param([WARN], [DENY], {"misses": {"denied": [RULE]}}, id="warned about, then denied"),
        pytest.param(
            [DENY], [WARN], {"misses": {"warned": [RULE], "noLongerDenied": [RULE]}}, id="denied, then warned"
        ),
        pytest.param([WARN], [AUDIT], {"misses": {"noLongerWarned": [RULE]}}, id="no longer warned about"),
        pytest.param(
            [AT_PODS],
            [AT_WORKLOADS],
            {"bare": {"injectedDifferently": ["p0"]}},
            id="with the selector of another level",
        ),
        pytest.param([AUDIT], [AUDIT | AT_WORKLOADS], {"bare": {"injected": ["p0"]}}, id="injected"),
        pytest.param([AUDIT], [AUDIT | AT_PODS], {"bare": {"injected": ["p0"]}}, id="injected into pods"),
        pytest.param(
            [AUDIT],
            [
                AUDIT,
                {"scope": {"kinds": ["Pod"], "objectSelector": {"matchLabels": {"app": "web"}}}, **AT_PODS},
            ],
            {"bare": {"injected": ["p1"]}},
            id="injected by a policy that selects pods only",
        ),
        pytest.param(
            [AT_WORKLOADS], [TIGHTER], {"bare": {"injectedDifferently": ["p0"]}}, id="injected differently"
        ),
        pytest.param([AT_WORKLOADS], [{}], {"bare": {"noLongerInjected": ["p0"]}}, id="no longer injected"),
        pytest.param(
            [DENY],
            [DENY, {"scope": {"namespaces": ["bank"]}, **AT_WORKLOADS}],
            {},
            id="a policy for another namespace",
        ),
    ],
)
def test_changes(
    before: list[dict[str, Any]], after: list[dict[str, Any]], expected: dict[str, dict[str, list[str]]]
) -> None:
    """Each change is reported with the rules or the policy, and nothing else is."""
    assert expected == previewed(before, after)


def test_a_replica_set_stands_for_its_deployment() -> None:
    """It is judged as its author would create it: a controller's objects are let through."""
    assert {"misses": {"denied": [RULE]}} == previewed([], [DENY], a_replica_set(MISSES, "5d9"))


@pytest.mark.parametrize("numbers", [(1, 2), (2, 1)], ids=["the newer is the last", "the first"])
def test_a_rollout(numbers: tuple[int, int]) -> None:
    """While a Deployment is rolled out it is judged once, by its newer ReplicaSet."""
    lenient = a_workload(name="misses")
    of = {1: lenient, 2: MISSES}
    objects = [a_replica_set(of[number], f"r{place}", number=number) for place, number in enumerate(numbers)]
    now = context()
    found = preview_workloads(
        workloads(*objects), now, now.with_policies((build(a_policy(**DENY)),)), today=TODAY
    )

    assert {"misses": {"denied": [RULE]}} == changes(found)
    assert (1, 1) == (found.looked_at, found.total)


def test_what_has_no_template_of_its_own() -> None:
    """The Deployment itself counts before its ReplicaSets; a Job of a CronJob is none of a person's."""
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    job = a_workload("Job", "batch", name="nightly-1")
    job["metadata"]["ownerReferences"] = [owner]
    found = workloads(MISSES, a_replica_set(MISSES, "5d9"), job)
    preview = preview_workloads(found, context(), context(DENY), today=TODAY)

    assert (1, 1) == (preview.looked_at, preview.total)


def test_what_was_injected_is_no_constraint_of_ones_own() -> None:
    """A workload that got default constraints would get those of the changed policy if it were created."""
    obj = deepcopy(BARE)
    obj["metadata"]["annotations"] = {INJECTED_ANNOTATION: "p0"}
    obj["spec"]["template"]["spec"]["topologySpreadConstraints"] = [a_constraint()]

    assert {"bare": {"injectedDifferently": ["p0"]}} == previewed([AT_WORKLOADS], [TIGHTER], obj)


AT_BOTH = {"defaults": {"at": "both", "constraints": [SOFT]}}
INJECTED = deepcopy(BARE)
INJECTED["metadata"]["annotations"] = {INJECTED_ANNOTATION: "p0"}
INJECTED["spec"]["template"]["spec"]["topologySpreadConstraints"] = [a_constraint()]
OPTED_OUT = deepcopy(BARE)
OPTED_OUT["metadata"]["annotations"] = {"evenkeel.dev/inject": "false"}
MISSED = {"bare": {"notInjected": ["p0"]}}


@pytest.mark.parametrize(
    ("before", "after", "obj", "expected"),
    [
        pytest.param(AT_WORKLOADS, AT_WORKLOADS, BARE, MISSED, id="created before the policy"),
        pytest.param(
            AT_WORKLOADS, AT_WORKLOADS, a_replica_set(BARE, "5d9"), MISSED, id="a ReplicaSet stands for it"
        ),
        pytest.param(AT_WORKLOADS, AT_WORKLOADS | DENY, BARE, MISSED, id="another change of the policy"),
        pytest.param(AT_WORKLOADS, AT_WORKLOADS, INJECTED, {}, id="it has them"),
        pytest.param(AT_WORKLOADS, AT_WORKLOADS, OPTED_OUT, {}, id="it wants none"),
        pytest.param(AT_PODS, AT_PODS, BARE, {}, id="its pods get them"),
        pytest.param(AT_BOTH, AT_BOTH, BARE, {}, id="its pods get them, too"),
        pytest.param({}, AT_WORKLOADS, BARE, {"bare": {"injected": ["p0"]}}, id="not in force yet"),
    ],
)
def test_what_got_no_default_constraints(
    before: dict[str, Any], after: dict[str, Any], obj: dict[str, Any], expected: dict[str, Any]
) -> None:
    """A workload that a policy in force would give constraints to, and that has none, is named."""
    assert expected == previewed([before], [after], obj)


def test_labels_of_a_namespace() -> None:
    """Labels that bring a namespace into a policy change what the policy does there."""
    scope = {"namespaceSelector": {"matchLabels": {"team": "checkout"}}}
    now = context({"scope": scope, **DENY})
    then = now.with_namespace("shop", Namespace({"team": "checkout"}, {}))
    found = preview_workloads(workloads(MISSES), now, then, today=TODAY)

    assert {"misses": {"denied": [RULE]}} == changes(found)
    assert now.snapshot is not None
    assert {} == now.snapshot.namespaces["shop"].labels


def test_domains_that_a_policy_lists() -> None:
    """A policy that selects nothing may still say which domains there are, which rules of others use."""
    wide = [a_constraint(minDomains=3)]
    obj = a_workload(name="wide", spec={"topologySpreadConstraints": wide})
    obj["spec"]["replicas"] = 6
    domains = {"domains": {"topology.kubernetes.io/zone": ["a", "b"]}}
    elsewhere = {"scope": {"namespaces": ["bank"]}, "topology": domains}

    assert ["wide"] == list(previewed([{}], [{}, elsewhere], obj))


def test_time() -> None:
    """Workloads that there is no time for are not evaluated, and how many were is known."""
    turns = iter([True, True, False])
    now = context()
    many = workloads(*(a_workload(name=f"w{number}") for number in range(5)))
    found = preview_workloads(many, now, now, today=TODAY, in_time=lambda: next(turns))

    assert (2, 5) == (found.looked_at, found.total)


def test_a_policy_in_place_of_soft_defaults() -> None:
    """What pods get without the policy counts, too."""
    now = replace(context(), defaults=DefaultsMode.SOFT)
    then = now.with_policies(context(AT_PODS).policies)

    assert {"bare": {"injectedDifferently": ["p0"]}} == changes(
        preview_workloads(workloads(BARE), now, then, today=TODAY)
    )
