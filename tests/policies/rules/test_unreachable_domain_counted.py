"""Tests of unreachable-domain-counted."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.documents import load
from policies.manifests.edits import apply_edits
from policies.model.version import KubernetesVersion
from policies.rules.base import all_rules
from tests.policies.rules.placing import HOST, ZONE, a_context, a_workload, found, most_placed, nodes_of
from tests.policies.rules.run_rules import problems
from tests.policies.scheduler.clusters import a_node

RULE = "unreachable-domain-counted"
FIRST = "spec.template.spec.topologySpreadConstraints[0]"
TAINTED_C = {"c": ["dedicated=gpu:NoSchedule"]}
HPA = """
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: web}}
"""
NODE_POOL = """
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
"""


@pytest.mark.parametrize(
    ("constraint", "pod", "expected"),
    [
        pytest.param(
            f"topologyKey: {ZONE}, own", "", 2, id="zones a, b and a tainted c: one pod in a and in b"
        ),
        pytest.param(f"topologyKey: {ZONE}, own, maxSkew: 2", "", 4, id="maxSkew 2: two in each"),
        pytest.param(
            f"topologyKey: {HOST}, own", "", 3, id="hosts a-1, a-2 and b-1 beside two tainted: three"
        ),
        pytest.param(
            f"topologyKey: {ZONE}, own, matchLabelKeys: [pod-template-hash]", "", 2, id="of one revision: two"
        ),
        pytest.param(
            f"topologyKey: {ZONE}, own, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor",
            f"nodeSelector: {{{ZONE}: a}}",
            1,
            id="held to a, and b counts: one",
        ),
    ],
)
def test_the_number_is_what_really_fits(constraint: str, pod: str, expected: int) -> None:
    """As many replicas can run as the message says, in the best order, and no more."""
    nodes = nodes_of("a", "a", "b", "c", "c", taints=TAINTED_C)
    manifest = a_workload(constraint, replicas=6, pod=pod)

    assert [(FIRST, expected)] == found(RULE, manifest, a_context(nodes))
    assert expected == most_placed(nodes, manifest, wanted=6)


@pytest.mark.parametrize(
    ("constraint", "pod"),
    [
        pytest.param(f"topologyKey: {ZONE}, own, nodeTaintsPolicy: Honor", "", id="taints honored"),
        pytest.param(f"topologyKey: {ZONE}, own", "tolerations: [{operator: Exists}]", id="taint tolerated"),
        pytest.param(
            f"topologyKey: {ZONE}, own", f"nodeSelector: {{{ZONE}: a}}", id="c is outside the affinity"
        ),
        pytest.param(
            f"topologyKey: {ZONE}, labelSelector: {{matchLabels: {{app: api}}}}",
            "",
            id="counts other pods only",
        ),
        pytest.param(f"topologyKey: {ZONE}, labelSelector: {{}}", "", id="an empty selector counts nothing"),
        pytest.param(f"topologyKey: {ZONE}, own, maxSkew: 3", "", id="maxSkew 3 in two zones: six fit"),
        pytest.param("topologyKey: rack, own", "", id="no node has the key"),
    ],
)
def test_silent_where_everything_fits_or_nothing_is_certain(constraint: str, pod: str) -> None:
    """Nothing is said of a constraint that such a domain does not hold back."""
    nodes = nodes_of("a", "a", "b", "c", "c", taints=TAINTED_C)

    assert [] == found(RULE, a_workload(constraint, replicas=6, pod=pod), a_context(nodes))


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own", replicas=2, spec="strategy: {type: Recreate}"),
            [],
            id="two replicas: both fit",
        ),
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own", replicas=2) + HPA, [(FIRST, 2)], id="up to nine: two fit"
        ),
        pytest.param(
            a_workload(f"topologyKey: {HOST}, own", replicas=9) + NODE_POOL,
            [],
            id="more hosts come as needed",
        ),
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own", replicas=9) + NODE_POOL,
            [(FIRST, 2)],
            id="more nodes do not help against a tainted zone",
        ),
        pytest.param(
            a_workload(f"topologyKey: {ZONE}, own", replicas=9)
            + "---"
            + a_workload(replicas=1, kind="StatefulSet", pod="tolerations: [{operator: Exists}]"),
            [],
            id="another workload's pods, which tolerate the taint, may raise the minimum",
        ),
    ],
)
def test_what_else_the_repository_says(manifests: str, expected: list[tuple[str, int]]) -> None:
    """Autoscalers and other workloads with the same labels count."""
    nodes = nodes_of("a", "b", "c", taints=TAINTED_C)

    assert expected == found(RULE, manifests, a_context(nodes))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("1.36", {"nodeTaintsPolicy": "Honor"}, id="taint: honor it"),
        pytest.param("1.25", {}, id="1.25 knows no policies"),
    ],
)
def test_edits(version: str, expected: dict[str, str]) -> None:
    """Only edits that give more room are offered as a fix."""
    nodes = [*nodes_of("a", "b"), a_node("c-1", {ZONE: "c"}, taints=["gpu:NoSchedule"])]
    context = a_context(nodes, version=KubernetesVersion.parse(version))
    manifest = a_workload(f"topologyKey: {ZONE}, own", replicas=4)
    (problem,) = problems(RULE, manifest, context)
    mended = apply_edits(load(manifest, "test.yaml")[0].value, problem.edits)
    (entry,) = mended["spec"]["template"]["spec"]["topologySpreadConstraints"]

    assert expected == {name: value for name, value in entry.items() if name.endswith("Policy")}


@pytest.mark.parametrize(
    "state",
    [
        pytest.param({"unschedulable": True}, id="cordoned"),
        pytest.param(
            {"unschedulable": True, "taints": ["node.kubernetes.io/unschedulable:NoSchedule"]},
            id="cordoned by kubectl, which taints",
        ),
        pytest.param({"taints": ["node.kubernetes.io/unreachable:NoExecute"]}, id="unreachable"),
        pytest.param({"taints": ["node.kubernetes.io/disk-pressure:NoSchedule"]}, id="under disk pressure"),
        pytest.param({"taints": ["ToBeDeletedByClusterAutoscaler=1:NoSchedule"]}, id="about to be removed"),
    ],
)
def test_the_moment_says_nothing_of_a_manifest(state: dict[str, Any]) -> None:
    """A drain is over before a manifest is changed: no rule finds anything for it."""
    nodes = [*nodes_of("a", "b"), a_node("c-1", {ZONE: "c"}, **state)]
    manifest = a_workload(f"topologyKey: {ZONE}, own", replicas=4)
    constant = [*nodes_of("a", "b"), a_node("c-1", {ZONE: "c"})]

    for rule in all_rules():
        assert problems(rule, manifest, a_context(constant)) == problems(rule, manifest, a_context(nodes))
    assert [] == found(RULE, manifest, a_context(nodes))


@pytest.mark.parametrize(
    ("zones", "constraint", "spec", "version", "expected"),
    [
        pytest.param("abc", "", "", "1.36", {RULE: True}, id="room in 2 of 3 zones"),
        pytest.param("abc", "", "", "1.25", {"rollout-without-room": False}, id="1.25 has no Honor"),
        pytest.param("abc", ", nodeTaintsPolicy: Honor", "", "1.36", {}, id="honored: room for more"),
        pytest.param(
            "abc",
            "",
            "strategy: {rollingUpdate: {maxUnavailable: 1}}",
            "1.36",
            {},
            id="one goes first",
        ),
        pytest.param("abc", ", matchLabelKeys: [pod-template-hash]", "", "1.36", {}, id="of one revision"),
        pytest.param("bc", "", "", "1.36", {RULE: True}, id="room in 1 of 2 zones"),
    ],
)
def test_a_rollout_that_fits_nowhere(
    zones: str, constraint: str, spec: str, version: str, expected: dict[str, bool]
) -> None:
    """Where a tainted zone is why a rollout has no room, that is reported with its fix, and nothing else."""
    nodes = nodes_of(*zones, taints=TAINTED_C)
    manifest = a_workload(
        f"topologyKey: {ZONE}, own, maxSkew: {4 - len(zones)}{constraint}", replicas=2, spec=spec
    )
    context = a_context(nodes, version=KubernetesVersion.parse(version))
    reported = {
        rule: bool(problem.edits)
        for rule in (RULE, "rollout-without-room")
        for problem in problems(rule, manifest, context)
    }

    assert expected == reported


def test_nodes_of_karpenter() -> None:
    """Nodes that Karpenter added show that it adds more."""
    nodes = nodes_of("a", "c", taints=TAINTED_C)
    manifest = a_workload(f"topologyKey: {HOST}, own", replicas=4)
    before = found(RULE, manifest, a_context(nodes))
    nodes[0]["metadata"]["labels"]["karpenter.sh/nodepool"] = "default"

    assert [(FIRST, 1)] == before
    assert [] == found(RULE, manifest, a_context(nodes))
