"""Which workloads may have the pods of a hard constraint evicted."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.lint.run import Selection, lint
from policies.manifests.documents import load, objects
from policies.model.topology import ClusterTopology, PriorityClass
from policies.rules.base import Context
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "preemptible-spread"
HARD = [a_constraint()]


def a_class(name: str, value: int, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def _spread(**spec: Any) -> dict[str, Any]:
    workload = a_workload(spec={"topologySpreadConstraints": HARD, **spec})
    workload["spec"]["replicas"] = 3
    return workload


def _other(name: str = "checkout", **spec: Any) -> dict[str, Any]:
    workload = a_workload(spec=spec)
    workload["metadata"]["name"] = name
    labels = {"app": name}
    workload["spec"]["selector"] = {"matchLabels": labels}
    workload["spec"]["template"]["metadata"]["labels"] = labels
    return workload


def _run(*manifests: dict[str, Any], inventory: ClusterTopology | None = None) -> tuple[int, list[str]]:
    """Return how many findings there are, and the rules that could not run."""
    found = [entry for document in load(text_of(*manifests), "test.yaml") for entry in objects(document)]
    selection = Selection(select=frozenset({RULE}))
    result = lint(found, AdmissionContext(policies=()), selection=selection, inventory=inventory)
    return len(result.findings), list(result.skipped)


URGENT = a_class("urgent", 1000)


@pytest.mark.parametrize(
    ("own", "other", "classes", "expected"),
    [
        pytest.param({}, {"priorityClassName": "urgent"}, [URGENT], 1, id="0 against 1000"),
        pytest.param({}, {}, [URGENT], 0, id="0 against 0"),
        pytest.param({"priorityClassName": "urgent"}, {}, [URGENT], 0, id="1000 against 0"),
        pytest.param(
            {"priorityClassName": "urgent"}, {"priorityClassName": "urgent"}, [URGENT], 0, id="equal"
        ),
        pytest.param({}, {"priority": 7}, [], 1, id="a number"),
        pytest.param({"priority": -1}, {}, [], 1, id="-1 against 0"),
        pytest.param({}, {"priorityClassName": "system-node-critical"}, [], 1, id="Kubernetes' own class"),
        pytest.param(
            {},
            {"priorityClassName": "urgent", "preemptionPolicy": "Never"},
            [URGENT],
            0,
            id="a pod that never preempts",
        ),
        pytest.param(
            {},
            {"priorityClassName": "urgent"},
            [a_class("urgent", 1000, preemptionPolicy="Never")],
            0,
            id="a class that never preempts",
        ),
        pytest.param(
            {},
            {"priorityClassName": "urgent"},
            [URGENT, a_class("usual", 2000, globalDefault=True)],
            0,
            id="the default class is higher",
        ),
        pytest.param(
            {},
            {"priorityClassName": "urgent"},
            [URGENT, a_class("urgent", 0)],
            0,
            id="two of that name, one of 0: which is in force is not known",
        ),
        pytest.param(
            {"nodeSelector": {"pool": "a"}},
            {"priorityClassName": "urgent", "nodeSelector": {"pool": "b"}},
            [URGENT],
            0,
            id="pools of their own",
        ),
        pytest.param(
            {"nodeSelector": {"pool": "a"}},
            {"priorityClassName": "urgent", "nodeSelector": {"disk": "ssd"}},
            [URGENT],
            1,
            id="nodes may have both labels",
        ),
    ],
)
def test_priorities(
    own: dict[str, Any], other: dict[str, Any], classes: list[dict[str, Any]], expected: int
) -> None:
    """Only pods that surely have a higher priority, and may preempt, are told."""
    assert (expected, []) == _run(_spread(**own), _other(**other), *classes)


@pytest.mark.parametrize(
    "constraint",
    [
        pytest.param(a_constraint(whenUnsatisfiable="ScheduleAnyway"), id="soft"),
        pytest.param(a_constraint(maxSkew=3), id="3 replicas, maxSkew 3"),
        pytest.param(a_constraint(labelSelector={"matchLabels": {"app": "x"}}), id="counts other pods"),
    ],
)
def test_constraints(constraint: dict[str, Any]) -> None:
    """Evictions break no constraint that never keeps a pod from a domain."""
    workload = _spread(topologySpreadConstraints=[constraint])

    assert (0, []) == _run(workload, _other(priority=1))


@pytest.mark.parametrize(
    ("own", "other"),
    [
        pytest.param({}, {"priorityClassName": "urgent"}, id="of the other"),
        pytest.param({"priorityClassName": "urgent"}, {"priority": 1}, id="of its own"),
    ],
)
def test_unknown_classes(own: dict[str, Any], other: dict[str, Any]) -> None:
    """The rule does not guess, and what it cannot judge is not green."""
    assert (0, [RULE]) == _run(_spread(**own), _other(**other))


def test_the_class_of_a_cluster() -> None:
    """The cluster's classes count."""
    inventory = ClusterTopology((), priority_classes=(PriorityClass("urgent", 1000),))

    assert (1, []) == _run(_spread(), _other(priorityClassName="urgent"), inventory=inventory)


def test_those_of_the_highest_priority_are_named() -> None:
    """A finding names the first few, whichever come first in the files."""
    others = [_other(f"job-{number:02}", priority=number) for number in range(30)]
    (found,) = problems(RULE, text_of(_spread(), *others), Context())

    assert "Deployment job-29 (priority 29), Deployment job-28 (priority 28)" in found.message


def test_it_is_opt_in() -> None:
    """Many repositories have priorities, and accept this."""
    found = [
        entry
        for document in load(text_of(_spread(), _other(priority=1)), "test.yaml")
        for entry in objects(document)
    ]

    assert RULE not in {finding.rule for finding in lint(found, AdmissionContext(policies=())).findings}


@pytest.mark.parametrize(
    ("folder", "expected"),
    [pytest.param("prod", [1], id="one environment"), pytest.param("dev", [], id="another environment")],
)
def test_environments(folder: str, expected: list[int]) -> None:
    """Pods of another copy of the repository's workloads do not count with this one."""
    files = {
        "prod/web.yaml": [_spread()],
        "dev/web.yaml": [_spread(topologySpreadConstraints=[])],
        f"{folder}/checkout.yaml": [_other(priority=1)],
    }
    found = [
        entry
        for file, manifests in files.items()
        for document in load(text_of(*manifests), file)
        for entry in objects(document)
    ]
    result = lint(found, AdmissionContext(policies=()), selection=Selection(select=frozenset({RULE})))

    assert expected == [1 for _ in result.findings]
