"""Where each kind of workload keeps its pod template and its selector."""

from __future__ import annotations

import pytest

from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorList
from policies.model.labels import LabelSelector
from policies.model.pod import read_pod_part
from policies.model.workload import KNOWN_KINDS, WorkloadKind, WorkloadKinds, parse_workload_kind
from tests.builders import APP, a_constraint, a_pod, a_workload


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_every_kind_shows_its_pod_part(kind: WorkloadKind) -> None:
    """The constraints and labels of the pod part are found wherever the kind keeps its template."""
    spec = {"topologySpreadConstraints": [a_constraint()], "schedulerName": "batch"}
    obj = a_pod(spec=spec) if kind.is_pod else a_workload(kind.kind, kind.group, spec=spec)
    found = ErrorList()

    pod = read_pod_part(obj, kind, found)

    assert (APP, [a_constraint()], "batch", True) == (
        pod.labels,
        pod.constraints,
        pod.scheduler_name,
        pod.exists,
    )
    assert [] == found.errors


@pytest.mark.parametrize(
    "kind", [kind for kind in KNOWN_KINDS if kind.selector is not None], ids=lambda kind: kind.name
)
def test_own_selectors(kind: WorkloadKind) -> None:
    """A workload's selector is read, also where it is a plain map of labels."""
    assert LabelSelector((("app", "web"),)) == kind.read_selector(a_workload(kind.kind, kind.group))


@pytest.mark.parametrize(
    "selector", [None, {}, [], "x", {"matchLabels": {"a b": "c"}}, {"matchLabels": 3}], ids=repr
)
def test_no_selector_without_a_valid_one(selector: object) -> None:
    """A selector that is missing, empty or invalid is none."""
    deployment = a_workload()
    deployment["spec"]["selector"] = selector

    assert KNOWN_KINDS[3].read_selector(deployment) is None


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        ({"spec": []}, "spec"),
        ({"spec": {"template": "x"}}, "spec.template"),
        ({"spec": {"template": {"spec": 1}}}, "spec.template.spec"),
        ({"spec": {"template": {"metadata": {"labels": ["app"]}}}}, "spec.template.metadata.labels"),
        ({"spec": {"template": {"metadata": {"labels": {"app": 1}}}}}, "spec.template.metadata.labels[app]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_shapes_are_told(broken: dict[str, object], path: str) -> None:
    """A part of the wrong type is an error at its path and is read as empty."""
    found = ErrorList()
    read_pod_part(broken, KNOWN_KINDS[3], found)

    assert [path] == [str(error.path) for error in found.errors]


def test_kinds_are_told_apart_by_group() -> None:
    """Two groups may have kinds of one name; versions do not matter."""
    kinds = WorkloadKinds()

    assert kinds.find("apps", "StatefulSet") != kinds.find("apps.kruise.io", "StatefulSet")
    assert kinds.find("example.com", "Deployment") is None


def test_a_setting_adds_a_kind() -> None:
    """A custom resource is known once a setting names where it keeps its template."""
    kinds = WorkloadKinds([parse_workload_kind("acme.io/Widget=spec.pod.template,spec.selector,spec.size")])

    assert kinds.find("acme.io", "Widget") == WorkloadKind(
        "acme.io", "Widget", ("spec", "pod", "template"), ("spec", "selector"), replicas=("spec", "size")
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Widget=spec",
        "acme.io/Widget",
        "acme.io/Widget=",
        "acme.io/widget=spec",
        "a/B=x,,y",
        "a/B=x,y,z,w",
    ],
)
def test_settings_of_another_form_are_refused(text: str) -> None:
    """A setting that is not GROUP/KIND=PATHS is a usage error."""
    with pytest.raises(UsageError, match="GROUP/KIND=TEMPLATE"):
        parse_workload_kind(text)
