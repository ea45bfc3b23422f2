"""Where the next pod of an object would go: constraints in force, and what a real scheduler did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.model.version import KubernetesVersion
from policies.pods.placement import Placement, PlacementError, evaluate_manifest
from policies.scheduler.configuration import build
from policies.scheduler.defaults import NoConstraints
from tests.builders import a_constraint, a_node, a_policy, a_replica_set, a_workload
from tests.builders import a_pod as a_bare_pod
from tests.for_each import for_each
from tests.policies.config.contexts import a_context
from tests.policies.scheduler.clusters import an_index
from tests.policies.scheduler.scheduler_configs import a_config, with_args, with_plugins
from tests.recorded import recorded_placements

#: Pods that another plugin keeps away; the engine does not model it.
UNMODELED = {"antiaffinity-required-host"}
#: The workload whose pods the API server refuses.
REFUSED = "matchlabelkeys-trap"
#: The words that kube-scheduler adds to its message once it has tried to preempt.
PREEMPTION = " no new claims to deallocate, preemption:"


def replay(scenario: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Placement]]:
    """Yield the real scheduler's choice for each pod, and our result when the pods before it are placed."""
    index = an_index([*scenario["nodes"], *scenario["pods"], *scenario.get("objects", ())])
    context = AdmissionContext(policies=(), cluster=index)
    for number, real in enumerate(scenario["outcome"]["placements"]):
        obj = scenario["workload"] if "workload" in scenario else scenario["incoming"][number]
        placement = evaluate_manifest(obj, context)
        yield real, placement
        if real["node"] is not None:
            metadata = {**placement.pod.obj["metadata"], "name": f"placed-{number}"}
            spec = {**placement.pod.obj["spec"], "nodeName": real["node"]}
            assert [] == index.apply({**placement.pod.obj, "metadata": metadata, "spec": spec})


def feasible_nodes(placement: Placement) -> list[str]:
    verdict = placement.result
    return [node for node, fits in zip(verdict.names, verdict.feasible, strict=True) if fits]


@for_each(sorted(recorded_placements().keys() - UNMODELED - {REFUSED}))
def test_what_a_real_scheduler_did(name: str) -> None:
    """Every pod fits where the real scheduler put it, or is refused in the same words."""
    for real, placement in replay(recorded_placements()[name]):
        if real["node"] is None:
            assert [] == feasible_nodes(placement)
            assert real["message"].partition(PREEMPTION)[0] == placement.result.message
        else:
            assert real["node"] in feasible_nodes(placement)
            assert "" == placement.result.message


def test_a_pod_that_the_api_server_refuses() -> None:
    """A workload whose pods would never be created is an error that names the field."""
    with pytest.raises(PlacementError) as caught:
        next(replay(recorded_placements()[REFUSED]))

    assert ["spec.template.spec.topologySpreadConstraints[0].matchLabelKeys[0]"] == [
        str(error.path) for error in caught.value.errors
    ]


def test_anti_affinity_filters() -> None:
    """Required anti-affinity refuses every node that has such a pod, as for the real scheduler."""
    *_, (real, placement) = replay(recorded_placements()["antiaffinity-required-host"])

    assert real["node"] is None
    assert [] == feasible_nodes(placement)
    assert "3 node(s) didn't match pod anti-affinity rules" in placement.result.message


def test_terms_are_in_the_namespace_of_the_pod() -> None:
    """A pod without a namespace has its affinity terms in the namespace that it is applied to."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod = a_bare_pod(name="next", spec={"affinity": affinity})
    del pod["metadata"]["namespace"]
    other = a_bare_pod(name="other", spec={"nodeName": "n1"})
    context = AdmissionContext(policies=(), cluster=an_index([a_node("n1", "a"), other]))

    assert [] == feasible_nodes(evaluate_manifest(pod, context, namespace="shop"))
    assert ["n1"] == feasible_nodes(evaluate_manifest(pod, context, namespace="bank"))


SCORED = [
    name for name, entry in recorded_placements().items() if "scores" in entry["outcome"]["placements"][0]
]


@pytest.mark.parametrize("name", sorted(SCORED))
def test_what_a_real_scheduler_scored(name: str) -> None:
    """Twice our score, the plugin's weight, is what the real scheduler added for each node."""
    real, placement = next(replay(recorded_placements()[name]))
    verdict = placement.result
    plugin = {node: scores.get("PodTopologySpread") for node, scores in (real["scores"] or {}).items()}
    ours: dict[str, int | None] = dict.fromkeys(plugin)
    if verdict.scores is not None:
        ours = {node: 2 * score for node, score in zip(verdict.names, verdict.scores.tolist(), strict=True)}

    assert plugin == {node: ours[node] for node in plugin}


#: Three zones of three nodes each; the last is cordoned.
NINE_NODES = [a_node(f"{zone}{n}", zone, unschedulable=zone == "c") for zone in "abc" for n in range(3)]
#: The constraint that the project's own rule recommends.
KEYED = {"topologySpreadConstraints": [a_constraint(matchLabelKeys=["pod-template-hash"])]}
WEB, NEXT_WEB = (a_workload(spec=KEYED | {"hostname": name}) for name in ("one", "two"))


def its_pod(replica_set: dict[str, Any], name: str, node: str = "") -> dict[str, Any]:
    """Return a pod of a ReplicaSet, bound or pending."""
    template, owner = replica_set["spec"]["template"], replica_set["metadata"]["name"]
    pod = a_bare_pod(name=name, labels=template["metadata"]["labels"], owner=("apps/v1", "ReplicaSet", owner))
    return pod | {"spec": {**template["spec"], **({"nodeName": node} if node else {})}}


def stuck(workload: dict[str, Any], revision: str = "5d9", **fields: Any) -> list[dict[str, Any]]:
    """Return a cluster with one pod of a ReplicaSet each in zones a and b: a third fits nowhere."""
    owned = a_replica_set(workload, revision, **fields)
    return [*NINE_NODES, owned, its_pod(owned, "p-a", "a0"), its_pod(owned, "p-b", "b0")]


def judged(obj: dict[str, Any], cluster: list[dict[str, Any]]) -> tuple[int, str | None]:
    """Return how many nodes a pod fits, and the hash of the revision that it was judged as."""
    placement = evaluate_manifest(obj, AdmissionContext(policies=(), cluster=an_index(cluster)))
    return placement.result.feasible_count, None if placement.revision is None else placement.revision.hash


def test_the_workload_its_replica_set_and_its_pod_agree() -> None:
    """Whoever is asked about, the pods of the running revision count and no node takes another."""
    cluster = stuck(WEB)
    owned = cluster[len(NINE_NODES)]

    assert [(0, "5d9"), (0, None), (0, None)] == [
        judged(obj, cluster) for obj in (WEB, owned, its_pod(owned, "pending"))
    ]


@pytest.mark.parametrize(
    ("workload", "more", "expected"),
    [
        pytest.param(NEXT_WEB, [], (6, None), id="another template: a rollout"),
        pytest.param(WEB, [a_replica_set(NEXT_WEB, "old", number=0)], (0, "5d9"), id="an old ReplicaSet"),
        pytest.param(NEXT_WEB, [a_replica_set(NEXT_WEB, "old", number=0)], (6, "old"), id="a rollback"),
        pytest.param(
            a_workload(spec=KEYED | {"hostname": "one"}, name="other"), [], (6, None), id="another Deployment"
        ),
        pytest.param(
            a_workload(spec=KEYED | {"hostname": "one"}, namespace="other"), [], (6, None), id="elsewhere"
        ),
    ],
)
def test_which_revision_is_judged(
    workload: dict[str, Any], more: list[dict[str, Any]], expected: tuple[int, str | None]
) -> None:
    """Pods of the revision with the workload's template count, of no other."""
    assert expected == judged(workload, [*stuck(WEB), *more])


@pytest.mark.parametrize(
    ("kind", "group", "label"),
    [
        ("Deployment", "apps", "pod-template-hash"),
        ("Rollout", "argoproj.io", "rollouts-pod-template-hash"),
    ],
)
def test_defaults_count_the_pods_of_the_replica_set(kind: str, group: str, label: str) -> None:
    """The selector of default constraints is that of the Services and of the ReplicaSet that is there."""
    cluster = stuck(a_workload(kind, group))
    placement = evaluate_manifest(
        a_workload(kind, group), AdmissionContext(policies=(), cluster=an_index(cluster))
    )
    selectors = {str(result.applied.selector) for result in placement.result.results}
    counts = [result.domains.matching.sum() for result in placement.result.results]

    assert {f"app=web,{label}=5d9"} == selectors
    assert [2, 2] == counts


def test_a_stateful_set() -> None:
    """A StatefulSet with the stored template is judged as its update revision, another one as a new one."""
    keyed = {"topologySpreadConstraints": [a_constraint(matchLabelKeys=["controller-revision-hash"])]}
    running, changed = (a_workload("StatefulSet", spec=keyed | {"hostname": name}) for name in ("one", "two"))
    labels = {"app": "web", "controller-revision-hash": "web-5d9"}
    pods = [
        a_bare_pod(name=f"web-{n}", labels=labels, spec={"nodeName": f"{z}0"}) for n, z in enumerate("ab")
    ]
    cluster = [*NINE_NODES, *pods, running | {"status": {"updateRevision": "web-5d9"}}]

    assert (0, "web-5d9") == judged(running, cluster)
    assert (6, None) == judged(changed, cluster)


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        pytest.param(24, ["minDomains", "nodeTaintsPolicy", "matchLabelKeys"], id="1.24"),
        pytest.param(26, ["minDomains", "matchLabelKeys"], id="1.26"),
        pytest.param(27, [], id="1.27"),
    ],
)
def test_fields_that_the_release_drops(minor: int, expected: list[str]) -> None:
    """They are named, as far as they ask for something."""
    fields = {"minDomains": 3, "nodeTaintsPolicy": "Honor", "nodeAffinityPolicy": "Honor"}
    constraint = a_constraint(
        **fields, matchLabelKeys=["pod-template-hash"], whenUnsatisfiable="DoNotSchedule"
    )
    context = AdmissionContext(
        policies=(), cluster=an_index([]), kubernetes_version=KubernetesVersion(1, minor)
    )

    assert (
        expected
        == evaluate_manifest(a_workload(spec={"topologySpreadConstraints": [constraint]}), context).dropped
    )


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        pytest.param("", ["n1"], id="the default profile spreads load"),
        pytest.param("packing", ["n2"], id="another one packs"),
        pytest.param("unknown", ["n1"], id="what is not configured is taken for the default"),
    ],
)
def test_the_profile_of_the_scheduler(scheduler: str, expected: list[str]) -> None:
    """The pod's schedulerName picks the profile by which nodes are scored, and what of it is not known."""
    packing = with_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})
    config = build(a_config({"schedulerName": "default-scheduler"}, {"schedulerName": "packing", **packing}))
    pods = [a_bare_pod(name=f"on-{number}", spec={"nodeName": "n2"}) for number in range(9)]
    nodes = [a_node(name, "a") for name in ("n1", "n2")]
    context = AdmissionContext(policies=(), cluster=an_index([*nodes, *pods]), scheduler=config)
    verdict = evaluate_manifest(a_bare_pod(spec={"schedulerName": scheduler}), context).result

    assert expected == [verdict.names[node] for node in verdict.best]
    assert (scheduler == "unknown") is bool(verdict.request.unmodeled)


def test_constraints_without_effect() -> None:
    """A pod's constraints are not in force where its profile does not run PodTopologySpread."""
    config = build(a_config(with_plugins(multiPoint={"-PodTopologySpread": None})))
    context = AdmissionContext(policies=(), cluster=an_index([a_node("n1", "a")]), scheduler=config)
    placement = evaluate_manifest(a_workload(spec={"topologySpreadConstraints": [a_constraint()]}), context)

    assert NoConstraints.NOT_RUN is placement.why_none
    assert () == placement.request.constraints
    assert placement.result.feasible.all()


@pytest.mark.parametrize(
    ("at", "metadata", "policy"),
    [
        pytest.param("workloads", {}, "production", id="workloads, a new object"),
        pytest.param("workloads", {"uid": "u1"}, None, id="workloads, a stored object"),
        pytest.param("pods", {"uid": "u1"}, "production", id="pods: the next one is new"),
        pytest.param("both", {"uid": "u1"}, "production", id="both: the next pod is new"),
    ],
)
def test_defaults_of_a_policy(at: str, metadata: dict[str, Any], policy: str | None) -> None:
    """Defaults are injected only into objects that are created, never into stored ones."""
    default = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
    given = a_policy(defaults={"at": at, "constraints": [default]})
    context = a_context(given, cluster=[a_node("n1", "a")])

    assert policy == evaluate_manifest(a_workload("StatefulSet", **metadata), context).policy
    # Objects of a snapshot may lack the uid.
    stored = evaluate_manifest(a_workload("StatefulSet"), replace(context, reads_stored=True))
    assert (None if at == "workloads" else "production") == stored.policy
