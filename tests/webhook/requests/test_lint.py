"""Lint requests: which objects are judged, by what, and what is wrong with a request."""

from __future__ import annotations

from datetime import date
from typing import Any

import orjson
import pytest

from policies.config.context import AdmissionContext
from policies.lint.reports.run import LintRun
from tests.builders import a_constraint, a_node, a_pod, a_policy, a_workload
from tests.policies.config.contexts import a_context
from webhook.requests.frame import RequestError
from webhook.requests.lint import lint_request

BAD = a_workload(spec={"topologySpreadConstraints": [a_constraint(labelSelector=None)]})
GOOD = a_constraint(matchLabelKeys=["pod-template-hash"])


def run(request: object, context: AdmissionContext | None = None) -> LintRun:
    body = request if isinstance(request, bytes) else orjson.dumps(request)
    server = context or a_context()
    return lint_request(body, server, today=date(2026, 1, 1), tool_version="1")


def a_list(*items: dict[str, Any], kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "items": list(items)}


@pytest.mark.parametrize(
    ("objects", "files", "found_in"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param([a_workload(), BAD], ["objects[0]", "objects[1]"], ["objects[1]"], id="a list"),
        pytest.param(
            a_list(a_workload(), BAD),
            ["objects.items[0]", "objects.items[1]"],
            ["objects.items[1]"],
            id="a List",
        ),
        pytest.param(BAD, ["objects"], ["objects"], id="one object"),
        pytest.param([a_list(BAD)], ["objects[0]"], ["objects[0]"], id="a List in a list"),
        pytest.param(
            a_list({key: value for key, value in a_pod().items() if key != "kind"}, kind="PodList"),
            ["objects.items[0]"],
            [],
            id="a typed list",
        ),
    ],
)
def test_objects(objects: object, files: list[str], found_in: list[str]) -> None:
    """Every object is judged, and a finding says by its path in the request where it is, without a line."""
    result = run({"objects": objects})

    assert files == list(result.files)
    assert found_in == [finding.location.file for finding in result.findings]
    assert all(
        finding.rule == "selector-missing" and not finding.location.line for finding in result.findings
    )


def test_objects_are_understood_together() -> None:
    """An autoscaler among the objects tells how many pods a workload runs."""
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 9,
        },
    }
    deployment = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})
    rules = {finding.rule for finding in run({"objects": [deployment, autoscaler]}).findings}

    assert {"revision-key-missing", "hard-zone-spread-without-min-domains"} == rules
    assert [] == run({"objects": [deployment]}).findings


def test_the_server_s_policies_and_cluster_count() -> None:
    """Rules have the severity of the server's policies, in their scope, and know the server's nodes."""
    policy = a_policy(
        scope={"excludeNamespaces": ["kube-system"]}, rules={"single-domain": {"severity": "note"}}
    )
    context = a_context(policy, cluster=[a_node("n1", "zone-a")])
    objects = [
        a_workload(spec={"topologySpreadConstraints": [GOOD]}, namespace=namespace)
        for namespace in ("shop", "kube-system")
    ]
    found = run({"objects": objects}, context).findings

    assert [("single-domain", "note", "objects[0]")] == [
        (finding.rule, finding.severity, finding.location.file) for finding in found
    ]


def test_exemptions_expire() -> None:
    """The day counts by which exemptions expire."""
    annotations = {"evenkeel.dev/ignore": "selector-missing: later (until 2025-12-31)"}
    result = run({"objects": [BAD | {"metadata": {"name": "web", "annotations": annotations}}]})

    assert {"selector-missing", "exemption-without-effect"} == {finding.rule for finding in result.findings}


@pytest.mark.parametrize(("version", "found"), [(None, True), ("1.36", True), ("1.26", False)])
def test_version(version: str | None, found: bool) -> None:  # noqa: FBT001
    """The request's release counts before the server's."""
    deployment = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})
    deployment["spec"]["replicas"] = 3
    result = run({"objects": [deployment], "kubernetesVersion": version})

    assert found == bool(result.findings)
    assert (version or "1.36") == str(result.kubernetes_version)


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        pytest.param({}, ["objects"], id="no objects"),
        pytest.param({"objects": 3}, ["objects"], id="a number"),
        pytest.param({"objects": [3, None]}, ["objects[0]", "objects[1]"], id="no object"),
        pytest.param({"objects": [{"kind": "Pod"}]}, ["objects[0].apiVersion"], id="no apiVersion"),
        pytest.param(
            {"objects": a_list({"kind": 1, "apiVersion": "v1"})},
            ["objects.items[0].kind"],
            id="no kind in a List",
        ),
        pytest.param({"objects": [], "cluster": {}}, ["cluster"], id="an unknown field"),
        pytest.param({"objects": [], "kubernetesVersion": "one"}, ["kubernetesVersion"], id="no release"),
        pytest.param({"objects": [], "kubernetesVersion": "1.20"}, ["kubernetesVersion"], id="before 1.24"),
        pytest.param({"objects": [], "kubernetesVersion": "9.9"}, ["kubernetesVersion"], id="after 1.99"),
        pytest.param(
            {"objects": [], "kubernetesVersion": 1.3}, ["kubernetesVersion"], id="a number as release"
        ),
        pytest.param([], [], id="a list"),
        pytest.param(b"{", [], id="no JSON"),
    ],
)
def test_errors(request_: object, fields: list[str]) -> None:
    """All errors of a request are reported at once, each with its field."""
    with pytest.raises(RequestError) as raised:
        run(request_)

    assert fields == [str(error.path) for error in raised.value.errors]
    assert raised.value.message
