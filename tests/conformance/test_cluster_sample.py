"""Which cases a cluster is asked."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import ConformanceCase, Operation
from conformance.cluster_sample import draw, parse_shard, why_not_asked
from policies.manifests.errors import UsageError
from policies.model.version import KubernetesVersion
from tests.conformance.cases import case_of

VERSION = KubernetesVersion(1, 36, 2)
POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {}}
LIST = {"defaultingType": "List", "defaultConstraints": []}


def _case(
    pod: dict[str, Any] = POD, *, expected: str = "best", release: str = "1.36", **request: Any
) -> ConformanceCase:
    return case_of({"pod": pod, "cluster": {}, **request}, {expected: []}, release=release)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        pytest.param(_case(), "", id="asked"),
        pytest.param(_case(expected="nodes"), "only scores", id="verdicts of plugins"),
        pytest.param(_case(release="1.35"), "of another release than 1.36", id="another release"),
        pytest.param(_case(POD | {"status": {"phase": "Failed"}}), "the pod has ended", id="ended"),
        pytest.param(_case(POD | {"spec": {"nodeName": "n"}}), "the pod has ended or has a node", id="bound"),
        pytest.param(_case(defaults=LIST), "default constraints", id="other defaults"),
        pytest.param(_case(defaults={"defaultingType": "System"}), "", id="the usual defaults"),
        pytest.param(
            _case(POD | {"spec": {"topologySpreadConstraints": [{}]}}, defaults=LIST),
            "",
            id="other defaults for a pod that has constraints",
        ),
    ],
)
def test_why_not(case: ConformanceCase, why: str) -> None:
    """What a cluster does not show, or has otherwise, it is not asked; the report has the reason."""
    found = why_not_asked(case, VERSION)

    assert bool(why) == bool(found)
    assert found.startswith(why)


def test_a_queue() -> None:
    """All pods of a queue must be such that they can be asked."""
    bound = POD | {"spec": {"nodeName": "n"}}
    queue = case_of({"queue": [POD, bound], "cluster": {}}, {"steps": []}, operation=Operation.SIMULATE)

    assert why_not_asked(queue, VERSION)


def test_the_draw() -> None:
    """Shards are all cases, each once; a sample is the same for the same seed; the rest is not run."""
    cases = [_case(expected="best" if number else "nodes", metadata=number) for number in range(11)]
    shards = [draw(cases, VERSION, size=None, seed=0, shard=(number, 3)) for number in (1, 2, 3)]
    some = [draw(cases, VERSION, size=4, seed=seed, shard=(1, 1)) for seed in (0, 0, 1)]

    assert sorted(case.id for case in cases[1:]) == sorted(name for drawn, _ in shards for name in drawn)
    assert [len(cases)] * 6 == [len(drawn) + len(others) for drawn, others in (*shards, *some)]
    assert some[0][0] == some[1][0] != some[2][0]
    assert {"declined": 1, "not run": 6} == {
        "declined": sum(result.declined for result in some[0][1]),
        "not run": sum(not result.problem for result in some[0][1]),
    }


@pytest.mark.parametrize("text", ["", "1", "0/8", "9/8", "1/0", "a/b", "-1/8"])
def test_no_shard(text: str) -> None:
    """A shard is one of those that there are."""
    with pytest.raises(UsageError):
        parse_shard(text)
