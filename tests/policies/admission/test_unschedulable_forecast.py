"""The warnings of a pod that would fit nowhere, and the cases of none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from policies.admission import review_cost
from policies.admission.decision import MAX_WARNING_LENGTH, SkipCause, SkippedRules
from policies.admission.review_cost import NoTime, ReviewCost, TimeLimit, unlimited
from policies.admission.unschedulable_forecast import Forecast, forecast
from policies.config.context import AdmissionContext
from policies.model.version import KubernetesVersion
from policies.scheduler import evaluate as scheduling
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.clusters import ZONE_KEY, a_bound_pod, two_full_zones
from tests.policies.config.contexts import a_context, read

SPREAD = {"topologySpreadConstraints": [a_constraint()]}
ELSEWHERE = {"nodeSelector": {"pool": "none"}}
NUMBERS = f"{ZONE_KEY}: 2+1 in zone-a - minimum 0 in zone-c = skew 3 > maxSkew 1"


def foretold(
    obj: dict[str, Any],
    *,
    old: dict[str, Any] | None = None,
    cluster: Iterable[dict[str, Any]] | None = None,
    **context: Any,
) -> Forecast | None:
    given = a_context(cluster=two_full_zones() if cluster is None else cluster, **context)
    found = answer(obj, given, old=old)
    assert not isinstance(found, SkippedRules)
    return found


def answer(
    obj: dict[str, Any],
    context: AdmissionContext,
    *,
    old: dict[str, Any] | None = None,
    within: TimeLimit = unlimited,
) -> Forecast | SkippedRules | None:
    before = None if old is None else read(old)
    cost = ReviewCost(read(obj), context.for_rules().inventory)
    return forecast(cost, before, context, within=within)


def test_the_warning_and_the_details() -> None:
    """A person reads the reasons and the numbers; the audit log has the scheduler's sentence."""
    found = foretold(a_workload(spec=SPREAD))

    assert found is not None
    assert NUMBERS in found.warning.text
    assert found.details == (
        "0/6 nodes are available: 2 node(s) were unschedulable, "
        f"4 node(s) didn't match pod topology spread constraints.\n{NUMBERS}"
    )


def test_what_tells_reasons_apart_stays_in_a_short_line() -> None:
    """Nodes that lack the label of a constraint are told apart from those that are full."""
    unlabeled = a_node("n7", "")
    del unlabeled["metadata"]["labels"][ZONE_KEY]
    found = foretold(a_workload(spec=SPREAD), cluster=[*two_full_zones(), unlabeled])

    assert found is not None
    assert "1 didn't match pod topology spread constraints: missing required label" in str(found.warning)


def test_a_bare_pod() -> None:
    """A pod is named as what it is, and a selector has no numbers but the nodes'."""
    found = foretold(a_pod(spec=ELSEWHERE, uid="1"))

    assert found is not None
    assert found.warning.text.startswith(
        "this pod fits 0 of 6 nodes: 4 didn't match Pod's node affinity/selector, 2 were unschedulable;"
    )


@pytest.mark.parametrize(
    ("obj", "old"),
    [
        pytest.param(a_workload(), None, id="it fits"),
        pytest.param(a_pod(spec=SPREAD, owner=("apps/v1", "ReplicaSet", "w")), None, id="a controller's pod"),
        pytest.param(a_workload("DaemonSet", spec=ELSEWHERE), None, id="a DaemonSet"),
        pytest.param(a_pod(spec=SPREAD), a_pod(), id="a pod is updated"),
        pytest.param(a_workload(spec=SPREAD), a_workload(spec=SPREAD), id="nothing changed"),
        pytest.param(a_pod(spec=ELSEWHERE | {"nodeName": "n1"}), None, id="no scheduler"),
        pytest.param(a_workload(spec=ELSEWHERE | {"schedulingGates": [{"name": "g"}]}), None, id="gated"),
        pytest.param(
            a_workload(spec=SPREAD | {"priorityClassName": "high"}), None, id="it may preempt other pods"
        ),
        pytest.param(a_pod(spec=SPREAD | {"priority": 1000}), None, id="it may preempt, by number"),
        pytest.param(
            a_workload("StatefulSet", spec=SPREAD), a_workload("StatefulSet"), id="old pods go before"
        ),
        pytest.param(
            a_workload("CronJob", "batch", spec=SPREAD), None, id="at a time when others may be gone"
        ),
        pytest.param(
            a_workload(spec={"topologySpreadConstraints": [{"maxSkew": 0}]}), None, id="invalid: told anyway"
        ),
    ],
)
def test_silence(obj: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Nothing is said where it would help nobody, or might be wrong."""
    assert foretold(obj, old=old) is None


@pytest.mark.parametrize(
    ("obj", "old"),
    [
        pytest.param(a_workload(spec=SPREAD), a_workload(), id="a rollout that must surge"),
        pytest.param(a_workload("StatefulSet", spec=ELSEWHERE), a_workload("StatefulSet"), id="old pods go"),
        pytest.param(a_workload("CronJob", "batch", spec=ELSEWHERE), None, id="a CronJob"),
        pytest.param(a_workload(spec=ELSEWHERE | {"priorityClassName": "high"}), None, id="it may preempt"),
        pytest.param(
            a_workload(spec=SPREAD | {"priorityClassName": "high", "preemptionPolicy": "Never"}),
            None,
            id="a priority that does not preempt",
        ),
        pytest.param(a_pod(spec=SPREAD | {"priority": 0}), None, id="priority 0"),
        pytest.param(a_workload("Service", "serving.knative.dev", spec=SPREAD), None, id="a custom resource"),
    ],
)
def test_what_is_certain_is_told(obj: dict[str, Any], old: dict[str, Any] | None) -> None:
    """A failure that no deleted pod could resolve is reported even if pods may be deleted first."""
    assert foretold(obj, old=old) is not None


def test_no_cluster_or_no_nodes() -> None:
    """Without a cluster, or with a picture that has no nodes, nothing is known."""
    without = answer(a_workload(spec=SPREAD), a_context())

    assert without is None
    assert foretold(a_workload(spec=SPREAD), cluster=[]) is None


def test_no_time() -> None:
    """A forecast that cannot be made in time is not started, which is reported."""
    context: AdmissionContext = a_context(cluster=two_full_zones())
    found = answer(a_workload(spec=SPREAD), context, within=lambda _work: NoTime.NO_TIME)

    why = "too little of the request's timeout is left"
    assert SkippedRules(("unschedulable",), why, SkipCause.TIMEOUT) == found


@pytest.mark.parametrize(("requirements", "told"), [(50, True), (2000, False)])
def test_pods_that_would_take_long(requirements: int, told: bool) -> None:  # noqa: FBT001
    """A pod with hundreds of requirements is not evaluated: everybody would wait for it."""
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    by_label = {"key": "pool", "operator": "Gt", "values": ["1"]}
    half = requirements // 2
    terms = [{"matchFields": [by_name] * half}, {"matchExpressions": [by_label] * (requirements - half)}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = answer(
        a_workload(spec={"affinity": {"nodeAffinity": required}}), a_context(cluster=two_full_zones())
    )

    assert isinstance(found, Forecast if told else SkippedRules)


@pytest.mark.parametrize("selecting", [{}, ELSEWHERE], ids=["evictions may help", "no eviction helps"])
def test_evictions_are_not_tried(selecting: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom a pod with a priority class would preempt decides nothing: the work must not grow with budgets."""
    tried = list[object]()
    monkeypatch.setattr(scheduling, "attempt", tried.append)
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    cluster = [*two_full_zones(), important | {"metadata": {"name": "high"}}]
    found = foretold(a_workload(spec=SPREAD | selecting | {"priorityClassName": "high"}), cluster=cluster)

    assert bool(found) == bool(selecting)
    assert not tried


def test_injected_defaults_count() -> None:
    """A pod that gets a policy's constraints as it is created is judged with them."""
    hard = {"maxSkew": 1, "topologyKey": ZONE_KEY, "whenUnsatisfiable": "DoNotSchedule"}
    policy = {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": "hard"},
        "spec": {"defaults": {"at": "pods", "constraints": [hard]}},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}},
    }
    context = a_context(policy, cluster=[*two_full_zones(), service])
    found = answer(a_workload("ReplicaSet"), context)

    assert isinstance(found, Forecast)
    assert NUMBERS in found.warning.text


def test_long_reasons_are_cut() -> None:
    """Of many reasons the warning has those of most nodes and what to run, the audit log has them all."""
    taints = [[{"key": f"team-{number}", "value": "x" * 40, "effect": "NoSchedule"}] for number in range(9)]
    nodes = [a_node(f"t{number}", "zone-d", taints=taint) for number, taint in enumerate(taints)]
    # Releases before 1.36 name the taint.
    found = foretold(
        a_workload(spec=SPREAD),
        cluster=[*two_full_zones(), *nodes, a_bound_pod("web-d", "t0")],
        kubernetes_version=KubernetesVersion(1, 30),
    )

    assert found is not None
    text = str(found.warning)
    assert "fits 0 of 15 nodes: 4 didn't match pod topology spread constraints, " in text
    assert "…; see kubectl evenkeel explain" in text
    assert MAX_WARNING_LENGTH == len(text)
    assert found.details.count("untolerated taint") == 9


def test_a_replica_more_of_a_running_revision() -> None:
    """From 2 to 6 replicas: pods of the ReplicaSet count, though the key is the revision's own."""
    constraint = a_constraint(matchLabelKeys=["pod-template-hash"])
    old = a_workload(spec={"topologySpreadConstraints": [constraint]}, uid="1")
    new = {**old, "spec": {**old["spec"], "replicas": 6}}
    old["spec"]["replicas"] = 2
    owned = a_replica_set(old, "5d9")
    labels = owned["spec"]["template"]["metadata"]["labels"]
    cluster = [*two_full_zones(), owned]
    for obj in cluster:
        if obj["kind"] == "Pod":
            obj["metadata"]["labels"] = labels
    found = foretold(new, old=old, cluster=cluster)

    assert found is not None
    assert NUMBERS in found.details
    # Of a new revision nothing runs yet.
    assert None is foretold(new, old=old, cluster=cluster[:-1])


def test_what_others_have_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many terms of others leave the forecast out; it says whose they are, and later reviews read on."""
    apart = [
        {
            "topologyKey": ZONE_KEY,
            "labelSelector": {"matchExpressions": [{"key": f"k{number}", "operator": "DoesNotExist"}]},
            "namespaceSelector": {},
        }
        for number in range(1_000)
    ]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}
    other = a_pod(name="apart", namespace="pay", spec={"nodeName": "n1", "affinity": affinity})
    context = a_context(cluster=[*two_full_zones(), other])
    monkeypatch.setattr(review_cost, "MAX_STEPS", 20_000)
    found = answer(a_workload(spec=SPREAD), context)

    assert isinstance(found, SkippedRules)
    assert found.why == (
        "1,000 affinity terms take too long to look at, most of them of pods in namespace pay"
    )
    assert context.cluster is not None
    assert context.cluster.steps.left == math.inf
