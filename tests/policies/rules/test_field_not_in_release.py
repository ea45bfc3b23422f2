"""Fields that a release drops: what is told of each, and that nothing else is judged by it."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from policies.model.workload_kinds import POD_KIND
from policies.rules.base import Context
from policies.rules.field_not_in_release import check
from policies.scheduler.releases import release_fields

TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ANTI = f"spec.affinity.podAntiAffinity.{REQUIRED}[0]"
SOFT = f"spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm"


def a_pod(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec, "status": status}


def read(obj: dict[str, Any], version: KubernetesVersion) -> Workload:
    return Workload.read(obj, POD_KIND, "shop", release=release_fields(version))


def told(obj: dict[str, Any], release: str) -> list[str]:
    """Return the paths of what is found."""
    version = KubernetesVersion.parse(release)
    return [str(problem.path) for problem in check(read(obj, version), Context(version=version))]


@pytest.mark.parametrize(
    ("before", "since", "spec", "status", "path"),
    [
        pytest.param(
            "1.26", "1.27", {"schedulingGates": [{"name": "g"}]}, None, "spec.schedulingGates", id="gates"
        ),
        pytest.param(
            "1.28",
            "1.29",
            {"initContainers": [{"name": "a"}, {"restartPolicy": "Always"}]},
            None,
            "spec.initContainers[1].restartPolicy",
            id="sidecars",
        ),
        pytest.param(
            "1.30",
            "1.31",
            {"affinity": {"podAntiAffinity": {REQUIRED: [TERM | {"matchLabelKeys": ["rev"]}]}}},
            None,
            f"{ANTI}.matchLabelKeys",
            id="matchLabelKeys",
        ),
        pytest.param(
            "1.30",
            "1.31",
            {
                "affinity": {
                    "podAffinity": {
                        PREFERRED: [{"weight": 1, "podAffinityTerm": TERM | {"mismatchLabelKeys": ["rev"]}}]
                    }
                }
            },
            None,
            f"{SOFT}.mismatchLabelKeys",
            id="mismatchLabelKeys",
        ),
        pytest.param(
            "1.33", "1.34", {"resources": {"requests": {"cpu": "1"}}}, None, "spec.resources", id="pod"
        ),
        pytest.param(
            "1.34",
            "1.35",
            {"volumes": [{"name": "v", "image": {"reference": "x"}}]},
            None,
            "spec.volumes[0].image",
            id="image volumes",
        ),
        pytest.param(
            "1.32",
            "1.33",
            {},
            {"containerStatuses": [{"resources": {"requests": {"cpu": "1"}}}]},
            "status.containerStatuses",
            id="resizes",
        ),
        pytest.param(
            "1.35",
            "1.36",
            {},
            {"resources": {"requests": {"cpu": "1"}}},
            "status.resources",
            id="pod resizes",
        ),
    ],
)
def test_fields_of_pods(
    before: str, since: str, spec: dict[str, Any], status: dict[str, Any] | None, path: str
) -> None:
    """A field is told for releases that drop it, at its place, and for no other."""
    pod = a_pod(spec, status)

    assert [path] == told(pod, before)
    assert [] == told(pod, since)


@pytest.mark.parametrize(
    "spec",
    [
        {"initContainers": 1, "volumes": {}, "affinity": []},
        {
            "initContainers": [1, None],
            "volumes": ["v"],
            "affinity": {"podAffinity": {REQUIRED: [1], PREFERRED: [2]}},
        },
        {"affinity": {"podAffinity": {PREFERRED: [{"podAffinityTerm": 3}]}}},
    ],
    ids=str,
)
def test_what_is_of_the_wrong_type_is_passed_over(spec: dict[str, Any]) -> None:
    """Other rules report it."""
    assert [] == told(a_pod(spec), "1.24")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("minDomains", -1),
        ("nodeTaintsPolicy", "Sometimes"),
        ("nodeAffinityPolicy", "Sometimes"),
        ("matchLabelKeys", ["a key"]),
    ],
)
def test_what_is_dropped_is_not_judged(field: str, value: object) -> None:
    """The API server drops a field before it looks at what it says."""
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", field: value}
    pod = a_pod({"topologySpreadConstraints": [constraint]})
    older, newer = (read(pod, KubernetesVersion(1, minor)) for minor in (25, 27))

    assert () == older.errors
    assert 1 == len(older.constraints)
    assert newer.errors
    assert [f"spec.topologySpreadConstraints[0].{field}"] == told(pod, "1.25")


def test_a_selector_that_older_releases_take() -> None:
    """Up to 1.26 an invalid selector is no error of the API server's, and keeps the pod pending."""
    selector = {"matchExpressions": [{"key": "app", "operator": "Is"}]}
    constraint = {
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector
    }  # fmt: skip
    pod = a_pod({"topologySpreadConstraints": [constraint]})
    older, newer = (read(pod, KubernetesVersion(1, minor)).errors for minor in (26, 27))

    assert ["label-selector-invalid"] == [error.rule for error in older] == [error.rule for error in newer]
    assert "kube-scheduler then fails on the pod" in older[0].problem
    assert "fails" not in newer[0].problem


def test_dropped_keys_of_affinity_are_not_judged() -> None:
    """Neither are those of pod affinity, nor do they narrow a term."""
    term = {"topologyKey": "zone", "matchLabelKeys": ["rev"], "mismatchLabelKeys": ["rev"]}
    pod = a_pod({"affinity": {"podAntiAffinity": {REQUIRED: [term]}}})
    older, newer = (read(pod, KubernetesVersion(1, minor)).pod_affinity for minor in (30, 31))

    assert () == older.errors
    assert [()] == [each.match_label_keys for each in older.terms]
    assert newer.errors


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param({"minDomains": -5}, ["minDomains"], id="minDomains -5 alone"),
        pytest.param({"maxSkew": 0, "minDomains": -5}, ["minDomains"], id="minDomains -5 beside maxSkew 0"),
        pytest.param(
            {"topologyKey": "", "matchLabelKeys": ["!"]},
            ["matchLabelKeys"],
            id="a bad key beside no topologyKey",
        ),
        pytest.param(
            {"whenUnsatisfiable": "Never", "minDomains": 3, "matchLabelKeys": ["a"]},
            ["minDomains", "matchLabelKeys"],
            id="two beside an unknown whenUnsatisfiable",
        ),
        pytest.param({"maxSkew": 0, "minDomains": "three"}, [], id="a text is wrong in every release"),
        pytest.param({"maxSkew": 0, "minDomains": "${LEAST}"}, [], id="a placeholder is not known"),
        pytest.param({"maxSkew": 0, "minDomains": 1}, [], id="minDomains 1 has no effect"),
    ],
)
def test_beside_other_errors(entry: dict[str, Any], expected: list[str]) -> None:
    """A dropped field is told whatever its value is, and whatever else is wrong with its constraint."""
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"} | entry
    found = told(a_pod({"topologySpreadConstraints": [whole]}), "1.26")

    assert [f"spec.topologySpreadConstraints[0].{name}" for name in expected] == found
