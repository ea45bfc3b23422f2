"""Tests of min-domains-above-domains."""

from __future__ import annotations

import pytest

from policies.model.version import KubernetesVersion
from tests.policies.rules.placing import ZONE, a_context, a_workload, found, most_placed, nodes_of

RULE = "min-domains-above-domains"
FIELD = "spec.template.spec.topologySpreadConstraints[0].minDomains"
NODE_POOL = "\n---\n{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}}\n"


@pytest.mark.parametrize(
    ("constraint", "replicas", "expected"),
    [
        pytest.param("minDomains: 3", 4, [(FIELD, 2)], id="2 zones under minDomains 3: one pod each"),
        pytest.param("minDomains: 3, maxSkew: 2", 5, [(FIELD, 4)], id="maxSkew 2: two pods each"),
        pytest.param("minDomains: 3", 2, [], id="2 replicas fit all the same"),
        pytest.param("minDomains: 2", 9, [], id="2 zones for minDomains 2: any number fits"),
    ],
)
def test_the_number_is_what_really_fits(
    constraint: str, replicas: int, expected: list[tuple[str, int]]
) -> None:
    """As many replicas can run as the message says, in the best order, and no more."""
    nodes = nodes_of("a", "a", "b")
    manifest = a_workload(f"topologyKey: {ZONE}, own, {constraint}", replicas=replicas)
    fit = expected[0][1] if expected else replicas

    assert expected == found(RULE, manifest, a_context(nodes))
    assert fit == most_placed(nodes, manifest, wanted=replicas)


def test_no_node_suits_at_all() -> None:
    """Pods that no node suits are not pending for want of domains."""
    constraint = f"topologyKey: {ZONE}, own, minDomains: 3"
    manifest = a_workload(constraint, replicas=4, pod="nodeSelector: {disk: ssd}")

    assert [] == found(RULE, manifest, a_context(nodes_of("a", "b")))


@pytest.mark.parametrize(
    ("listed", "more", "version", "expected"),
    [
        pytest.param((), "", "1.26", [], id="1.26 does not know minDomains"),
        pytest.param((), NODE_POOL, "1.36", [], id="a node in a third zone may be added"),
        pytest.param(("a", "b"), NODE_POOL, "1.36", [(FIELD, 2)], id="the policy lists the only two zones"),
        pytest.param(("a", "b", "c"), "", "1.36", [], id="the policy lists a third zone, without a node now"),
        pytest.param(("a", "b", "c"), "", "1.36", [], id="listed zones count once they have a node"),
    ],
)
def test_what_else_is_known(
    listed: tuple[str, ...], more: str, version: str, expected: list[tuple[str, int]]
) -> None:
    """The release, autoscalers and listed domains decide what is certain."""
    manifest = a_workload(f"topologyKey: {ZONE}, own, minDomains: 3", replicas=4)
    domains = {ZONE: listed} if listed else {}
    context = a_context(nodes_of("a", "b"), domains=domains, version=KubernetesVersion.parse(version))

    assert expected == found(RULE, manifest + more, context)


def test_leaves_affinity_to_its_own_rule() -> None:
    """Where the affinity alone leaves too few domains, affinity-below-min-domains says so."""
    constraint = f"topologyKey: {ZONE}, own, minDomains: 3"
    manifest = a_workload(constraint, replicas=4, pod=f"nodeSelector: {{{ZONE}: a}}")
    nodes = nodes_of("a", "b", "c")

    assert [] == found(RULE, manifest, a_context(nodes))
    assert [(FIELD, 1)] == found("affinity-below-min-domains", manifest, a_context(nodes))
    assert 1 == most_placed(nodes, manifest, wanted=4)
