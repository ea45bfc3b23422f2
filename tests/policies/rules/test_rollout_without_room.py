"""Tests of rollout-without-room."""

from __future__ import annotations

import pytest

from tests.policies.rules.placing import HOST, ZONE, a_context, a_workload, found, most_placed, nodes_of

RULE = "rollout-without-room"
SPREAD = "spec.template.spec.topologySpreadConstraints[0]"
TERM = "spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
BY_ZONE = f"topologyKey: {ZONE}, own, minDomains: 3"


def _apart(more: str = "") -> str:
    term = f"{{topologyKey: {HOST}, labelSelector: {{matchLabels: {{app: web}}}}{more}}}"
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"


@pytest.mark.parametrize(
    ("constraint", "replicas", "spec", "expected"),
    [
        pytest.param(BY_ZONE, 2, "", [(SPREAD, 2)], id="2 pods where 2 fit: 25% of 2 unavailable is none"),
        pytest.param(BY_ZONE, 1, "", [], id="1 pod where 2 fit: a new one has room"),
        pytest.param(
            BY_ZONE, 2, "strategy: {rollingUpdate: {maxUnavailable: 1}}", [], id="an old one may go first"
        ),
        pytest.param(BY_ZONE, 2, "strategy: {type: Recreate}", [], id="all old ones go first"),
        pytest.param(
            BY_ZONE, 2, "strategy: {rollingUpdate: {maxSurge: 0}}", [], id="no surge: one goes first"
        ),
        pytest.param(
            f"{BY_ZONE}, maxSkew: 2",
            4,
            "strategy: {rollingUpdate: {maxUnavailable: 0}}",
            [(SPREAD, 4)],
            id="4 of 4",
        ),
        pytest.param(f"{BY_ZONE}, maxSkew: 2", 4, "", [], id="4 of 4, but 25% of 4 is one unavailable"),
        pytest.param(
            f"{BY_ZONE}, matchLabelKeys: [pod-template-hash]", 2, "", [], id="counts one revision only"
        ),
        pytest.param(f"topologyKey: {ZONE}, own", 2, "", [], id="no limit at all"),
    ],
)
def test_spread(constraint: str, replicas: int, spec: str, expected: list[tuple[str, int]]) -> None:
    """A rollout that may not lose a pod needs room for one more than there are."""
    nodes = nodes_of("a", "a", "b")
    manifest = a_workload(constraint, replicas=replicas, spec=spec)

    assert expected == found(RULE, manifest, a_context(nodes))
    if expected:
        assert expected[0][1] == most_placed(nodes, manifest, wanted=replicas + 1)


@pytest.mark.parametrize(
    ("pod", "replicas", "expected"),
    [
        pytest.param(_apart(), 3, [(TERM, 3)], id="3 replicas on 3 hosts, one each"),
        pytest.param(_apart(), 2, [], id="2 replicas on 3 hosts"),
        pytest.param(
            _apart(", matchLabelKeys: [pod-template-hash]"), 3, [], id="apart within a revision only"
        ),
    ],
)
def test_anti_affinity(pod: str, replicas: int, expected: list[tuple[str, int]]) -> None:
    """Required anti-affinity holds between revisions too."""
    nodes = nodes_of("a", "a", "b")
    manifest = a_workload(replicas=replicas, pod=pod)

    assert expected == found(RULE, manifest, a_context(nodes))
    if expected:
        assert expected[0][1] == most_placed(nodes, manifest, wanted=replicas + 1, apart=HOST)


def test_autoscaled_workload() -> None:
    """Between the autoscaler's limits there is a number of replicas that leaves no room."""
    manifest = a_workload(replicas=1, pod=_apart())
    scaler = (
        "\n---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
    )
    target = "scaleTargetRef: {kind: Deployment, name: web}}}\n"
    context = a_context(nodes_of(*"abc"))

    assert [(TERM, 3)] == found(
        RULE, f"{manifest}{scaler}{{minReplicas: 1, maxReplicas: 3, {target}", context
    )
    assert [] == found(RULE, f"{manifest}{scaler}{{minReplicas: 1, maxReplicas: 2, {target}", context)
