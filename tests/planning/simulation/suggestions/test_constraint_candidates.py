"""Changes that the manifest suggests: its own selector, its own revision."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.suggestions.suggestion_edits import constraint_candidates
from planning.simulation.suggestions.suggestions import find_suggestions
from policies.config.context import AdmissionContext
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.pods.placement import evaluate_manifest
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]
TEAM, PART_OF = {"team": "x"}, {"app.kubernetes.io/part-of": "shop"}


def _pods(labels: dict[str, str], **nodes: int) -> list[Object]:
    return [
        a_pod(name=f"{node}-{number}", labels=labels, spec={"nodeName": node})
        for node, count in nodes.items()
        for number in range(count)
    ]


def _nodes() -> list[Object]:
    return [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True)]


def _workload(kind: str = "Deployment", selector: dict[str, str] | None = None, **fields: Any) -> Object:
    labels = {"app": "web", **TEAM, **PART_OF}
    constraint = a_constraint(labelSelector={"matchLabels": selector or TEAM}, **fields)
    return a_workload(
        kind,
        labels=labels,
        selector={"matchLabels": {"app": "web"}},
        spec={"topologySpreadConstraints": [constraint]},
    )


OTHERS = _pods({"app": "db", **TEAM, **PART_OF}, n1=2, n2=2)
OLD = _pods({"app": "web", **TEAM, "pod-template-hash": "old"}, n1=2, n2=2)


@pytest.mark.parametrize(
    ("obj", "pods", "version", "expected"),
    [
        pytest.param(
            _workload(), OTHERS, "1.36", ["labelSelector"], id="others' pods count: its own selector"
        ),
        pytest.param(
            _workload(),
            OLD,
            "1.36",
            ["labelSelector", "matchLabelKeys"],
            id="old revisions count: the key, too",
        ),
        pytest.param(_workload(), OLD, "1.25", ["labelSelector"], id="1.25 knows no matchLabelKeys"),
        pytest.param(
            _workload(selector={"app": "web"}), OLD, "1.36", ["matchLabelKeys"], id="it has its own selector"
        ),
        pytest.param(
            _workload(selector={"app": "web"}, matchLabelKeys=["pod-template-hash"]),
            OLD,
            "1.36",
            [],
            id="it has both",
        ),
        pytest.param(_workload("StatefulSet", {"app": "web"}), OLD, "1.36", [], id="no revision label"),
        pytest.param(_workload(selector=PART_OF), OTHERS, "1.36", [], id="part-of: together on purpose"),
        pytest.param(
            _workload(whenUnsatisfiable="ScheduleAnyway"), OTHERS, "1.36", [], id="soft: refuses nothing"
        ),
        pytest.param(a_workload("Job", "batch"), OTHERS, "1.36", [], id="no constraints"),
    ],
)
def test_what_is_proposed(obj: Object, pods: list[Object], version: str, expected: list[str]) -> None:
    """Only changes that can matter: to a constraint that rejects nodes, and counts others' or old pods."""
    context = AdmissionContext(
        policies=(),
        cluster=an_index([*_nodes(), *pods]),
        kubernetes_version=KubernetesVersion.parse(version),
    )

    assert expected == [str(change.what) for change in constraint_candidates(evaluate_manifest(obj, context))]


def _first_edit(obj: Object, *objects: Object) -> tuple[str, Any]:
    context = AdmissionContext(policies=(), cluster=an_index(objects), kubernetes_version=KNOWN_VERSION)
    edit = find_suggestions(evaluate_manifest(obj, context), context).found[0].edits[0]
    return str(edit.path.segments[-1]), edit.new


@pytest.mark.parametrize(
    ("obj", "objects", "expected"),
    [
        pytest.param(
            _workload(),
            [*_nodes(), *OTHERS],
            ("labelSelector", {"matchLabels": {"app": "web"}}),
            id="selector",
        ),
        pytest.param(
            _workload(selector={"app": "web"}),
            [*_nodes(), *OLD],
            ("matchLabelKeys", ["pod-template-hash"]),
            id="revision",
        ),
        pytest.param(
            _workload(topologyKey="topology.kubernetes.io/zones"),
            _nodes()[:2],
            ("topologyKey", "topology.kubernetes.io/zone"),
            id="misspelled key",
        ),
        pytest.param(
            _workload(topologyKey="failure-domain.beta.kubernetes.io/zone"),
            _nodes()[:2],
            ("topologyKey", "topology.kubernetes.io/zone"),
            id="deprecated key",
        ),
        pytest.param(
            _workload(topologyKey="hostname"),
            _nodes()[:2],
            ("topologyKey", "kubernetes.io/hostname"),
            id="short key",
        ),
    ],
)
def test_mistakes_are_mended_first(obj: Object, objects: list[Object], expected: tuple[str, Any]) -> None:
    """The fix of a mistake gives up nothing, so it is the first suggestion."""
    assert expected == _first_edit(obj, *objects)
