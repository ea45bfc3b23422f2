"""Tests of unreachable-domain-counted."""

from __future__ import annotations

import pytest

from policies.edits import apply_edits
from policies.manifests import load
from policies.model.version import KubernetesVersion
from tests.policies.engine.clusters import a_node
from tests.policies.rules.asking import problems
from tests.policies.rules.placing import HOST, ZONE, a_context, a_workload, found, most_placed, nodes_of

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
        pytest.param(a_workload(f"topologyKey: {ZONE}, own", replicas=2), [], id="two replicas: both fit"),
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
    ("version", "taints", "unschedulable", "expected"),
    [
        pytest.param("1.36", ["gpu:NoSchedule"], False, {"nodeTaintsPolicy": "Honor"}, id="taint: honor it"),
        pytest.param("1.25", ["gpu:NoSchedule"], False, {}, id="1.25 knows no policies"),
        pytest.param("1.36", [], True, {}, id="cordoned without the taint: Honor would not leave it out"),
        pytest.param(
            "1.36",
            ["node.kubernetes.io/unschedulable:NoSchedule"],
            True,
            {"nodeTaintsPolicy": "Honor"},
            id="cordoned by kubectl, which taints",
        ),
    ],
)
def test_edits(version: str, taints: list[str], unschedulable: bool, expected: dict[str, str]) -> None:  # noqa: FBT001
    """Only what gives more room is offered as a repair."""
    nodes = [*nodes_of("a", "b"), a_node("c-1", {ZONE: "c"}, taints=taints, unschedulable=unschedulable)]
    context = a_context(nodes, version=KubernetesVersion.parse(version))
    manifest = a_workload(f"topologyKey: {ZONE}, own", replicas=4)
    (problem,) = problems(RULE, manifest, context)
    mended = apply_edits(load(manifest, "test.yaml")[0].value, problem.edits)
    (entry,) = mended["spec"]["template"]["spec"]["topologySpreadConstraints"]

    assert expected == {name: value for name, value in entry.items() if name.endswith("Policy")}


def test_nodes_of_karpenter() -> None:
    """Nodes that Karpenter added show that it adds more."""
    nodes = nodes_of("a", "c", taints=TAINTED_C)
    manifest = a_workload(f"topologyKey: {HOST}, own", replicas=4)
    before = found(RULE, manifest, a_context(nodes))
    nodes[0]["metadata"]["labels"]["karpenter.sh/nodepool"] = "default"

    assert [(FIRST, 1)] == before
    assert [] == found(RULE, manifest, a_context(nodes))
