"""Tests of anti-affinity-above-domains."""

from __future__ import annotations

import pytest

from tests.policies.rules.placing import HOST, ZONE, a_context, a_workload, found, most_placed, nodes_of

RULE = "anti-affinity-above-domains"
TERM = "spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
NODE_POOL = "\n---\n{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}}\n"


def _apart(key: str, more: str = "labelSelector: {matchLabels: {app: web}}") -> str:
    term = f"{{topologyKey: {key}, {more}}}"
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"


@pytest.mark.parametrize(
    ("zones", "key", "constraints", "replicas", "expected"),
    [
        pytest.param("aab", HOST, (), 4, 3, id="4 replicas on 3 hosts"),
        pytest.param("aab", HOST, (), 3, None, id="3 replicas on 3 hosts"),
        pytest.param("aab", ZONE, (), 3, 2, id="3 replicas in 2 zones"),
        pytest.param(
            "aaaab", HOST, (f"topologyKey: {ZONE}, own",), 5, 3, id="5 hosts, 1 of them in b: two and one"
        ),
        pytest.param(
            "aaaab", HOST, (f"topologyKey: {ZONE}, own, maxSkew: 3",), 5, None, id="maxSkew 3: four and one"
        ),
    ],
)
def test_the_number_is_what_really_fits(
    zones: str, key: str, constraints: tuple[str, ...], replicas: int, expected: int | None
) -> None:
    """As many replicas can run as the message says, in the best order, and no more."""
    nodes = nodes_of(*zones)
    manifest = a_workload(*constraints, replicas=replicas, pod=_apart(key))
    fit = replicas if expected is None else expected

    assert ([] if expected is None else [(TERM, expected)]) == found(RULE, manifest, a_context(nodes))
    assert fit == most_placed(nodes, manifest, wanted=replicas, apart=key)


@pytest.mark.parametrize(
    ("pod", "more"),
    [
        pytest.param(_apart(HOST), NODE_POOL, id="more hosts come as needed"),
        pytest.param(_apart(HOST, "labelSelector: {matchLabels: {app: api}}"), "", id="apart from others"),
        pytest.param(
            _apart(HOST, "namespaces: [elsewhere], labelSelector: {matchLabels: {app: web}}"),
            "",
            id="elsewhere",
        ),
        pytest.param(_apart("rack"), "", id="nodes lack the key, which frees them"),
        pytest.param(
            _apart(
                HOST,
                "labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [apps.kubernetes.io/pod-index]",
            ),
            "",
            id="a key that tells replicas apart",
        ),
    ],
)
def test_silent(pod: str, more: str) -> None:
    """Nothing is said of terms that do not certainly keep the replicas apart."""
    assert [] == found(RULE, a_workload(replicas=9, pod=pod) + more, a_context(nodes_of(*"aab")))


def test_zones_without_a_node_now() -> None:
    """A domain that the policy lists may take a pod later."""
    manifest = a_workload(replicas=3, pod=_apart(ZONE))

    assert [] == found(RULE, manifest, a_context(nodes_of(*"ab"), domains={ZONE: ("a", "b", "c")}))
