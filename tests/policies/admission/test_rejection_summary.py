"""The numbers behind a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from policies.admission.rejection_summary import may_change, rejection_summaries, written
from policies.pods.placement import evaluate_manifest
from policies.scheduler.result import SchedulingResult
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.clusters import ZONE_KEY, a_bound_pod, two_full_zones
from tests.policies.config.contexts import a_context

CORES = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3500m"}}}]}
HOST = {"topologyKey": "kubernetes.io/hostname"}


def spread(*constraints: dict[str, Any]) -> dict[str, Any]:
    return {"topologySpreadConstraints": [a_constraint(**constraint) for constraint in constraints]}


def judged(spec: dict[str, Any], cluster: list[dict[str, Any]]) -> tuple[SchedulingResult, list[str]]:
    context = a_context(cluster=cluster)
    assert context.cluster is not None
    verdict = evaluate_manifest(a_pod(name="next", spec=spec), context).result
    return verdict, list(rejection_summaries(verdict, context.cluster))


@pytest.mark.parametrize(
    ("spec", "cluster", "expected"),
    [
        pytest.param(
            spread({}),
            two_full_zones(),
            [f"{ZONE_KEY}: 2+1 in zone-a - minimum 0 in zone-c = skew 3 > maxSkew 1"],
            id="2, 2 and 0 in a cordoned zone, maxSkew 1",
        ),
        pytest.param(
            spread({"minDomains": 5}),
            two_full_zones(),
            [f"{ZONE_KEY}: 2+1 in zone-a - minimum 0 (3 domain(s) < minDomains 5) = skew 3 > maxSkew 1"],
            id="3 domains, minDomains 5",
        ),
        pytest.param(
            spread({}, HOST),
            [*two_full_zones(), a_bound_pod("web-x", "n1"), a_bound_pod("web-y", "n1")],
            [
                f"{ZONE_KEY}: 2+1 in zone-b - minimum 0 in zone-c = skew 3 > maxSkew 1",
                "kubernetes.io/hostname: 1+1 in n2 - minimum 0 in n5 = skew 2 > maxSkew 1",
            ],
            id="two constraints, each with the domain that is closest to fitting",
        ),
        pytest.param(
            spread({"topologyKey": "rack"}),
            two_full_zones(),
            ["rack: 4 node(s) lack this label"],
            id="no label",
        ),
        pytest.param(
            CORES,
            [a_node("n1", "a", cpu="2"), a_node("n2", "a"), a_bound_pod("x", "n2", **CORES)],
            ["cpu: 3500m requested, at most 2 free"],
            id="2 and 500m free",
        ),
        pytest.param(
            spread({}) | CORES,
            [a_node("n1", "a"), a_bound_pod("x", "n1", **CORES), a_node("n2", "b", unschedulable=True)],
            [
                f"{ZONE_KEY}: 1+1 in a - minimum 0 in b = skew 2 > maxSkew 1",
                "cpu: 3500m requested, at most 500m free",
            ],
            id="two plugins, neither alone",
        ),
        pytest.param({"nodeSelector": {"pool": "x"}}, two_full_zones(), [], id="a selector has no numbers"),
    ],
)
def test_shortfalls(spec: dict[str, Any], cluster: list[dict[str, Any]], expected: list[str]) -> None:
    """The operands are those of the nodes that nothing else keeps away, if there are such."""
    verdict, numbers = judged(spec, cluster)

    assert 0 == verdict.feasible_count
    assert expected == numbers


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(spread({}), True, id="skew: a matching pod may go"),
        pytest.param(spread({"topologyKey": "rack"}), False, id="no label: never"),
        pytest.param({"nodeSelector": {"pool": "x"}}, False, id="no such node: never"),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5"}}}]}, False, id="5 of 4 cores"
        ),
        pytest.param(
            spread({}) | {"nodeSelector": {ZONE_KEY: "zone-c"}}, False, id="only cordoned nodes: never"
        ),
    ],
)
def test_may_change(spec: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    """Only rejections that kube-scheduler calls resolvable may change when pods are removed."""
    verdict, _ = judged(spec, two_full_zones())

    assert expected is may_change(verdict)


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", 0, "0"),
        ("cpu", 1, "1m"),
        ("cpu", 2000, "2"),
        ("memory", 0, "0"),
        ("memory", 1023, "1023"),
        ("memory", 2**30, "1Gi"),
        ("memory", 2**30 - 1, "1023.99Mi"),
        ("memory", 2**63 - 1, "7.99Ei"),
        ("acme.io/gpu", 3, "3"),
    ],
)
def test_written(resource: str, amount: int, expected: str) -> None:
    """Amounts are short, and bytes are never rounded up."""
    assert expected == written(resource, amount)
