"""An edited manifest: its problems, suggestions made in it, and patches that lead to it."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.builders import a_pod, a_workload
from tests.webhook.ui.pages import DEPLOYMENT, a_page_cluster
from webhook.ui.bodies import ManifestBody, PatchBody, SuggestBody
from webhook.ui.editing import check, patch, suggest
from webhook.ui.manifest import ProblemsError

CLUSTER = a_page_cluster()
TEXT = """\
# The shop's front.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3  # one a zone
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: registry.example/web:1}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash]
"""


def _check(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(check(CLUSTER, ManifestBody(manifest=text)))
    return found


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param(TEXT, [], id="nothing wrong"),
        pytest.param(TEXT.replace("Skew: 1", "Skew: 0"), [(13, "max-skew-not-positive", "error")], id="API"),
        pytest.param(
            TEXT.replace("maxSkew:", "maxSkews:"),
            [(13, "max-skew-not-positive", "error"), (13, "unknown-field", "error")],
            id="misspelt",
        ),
        pytest.param(
            TEXT.replace("topology.", "example."), [(14, "topology-key-on-no-node", "error")], id="cluster"
        ),
        pytest.param(TEXT.replace("spec:\n  rep", "spec: [\n  rep"), [(7, "unreadable", "error")], id="YAML"),
        pytest.param("kind: Service\napiVersion: v1\n", [(0, "unreadable", "error")], id="no pods"),
        pytest.param("hello", [(0, "unreadable", "error")], id="no object"),
        pytest.param(f"{TEXT}---\n{TEXT}", [(20, "unreadable", "error")], id="two"),
    ],
)
def test_check(text: str, problems: list[tuple[int, str, str]]) -> None:
    """Errors of YAML, of the API and of rules, each at its line."""
    found = _check(text)

    assert problems == [(each["line"], each["rule"], each["severity"]) for each in found["problems"]]


def test_checked_object() -> None:
    """The object of a manifest is read even if there are problems."""
    assert {"kind": "Deployment.apps", "namespace": "shop", "name": "web", "replicas": 3} == _check(
        TEXT.replace("maxSkew: 1", "maxSkew: 0")
    )["object"]
    assert _check("a: [")["object"] is None


def test_suggestion() -> None:
    """The edits of a suggestion are made in the text; comments stay."""
    path = ["spec", "template", "spec", "topologySpreadConstraints", 0, "whenUnsatisfiable"]
    edits = [{"field": "", "path": path, "old": "DoNotSchedule", "new": "ScheduleAnyway"}]
    found = json.loads(suggest(CLUSTER, SuggestBody(manifest=TEXT, edits=edits)))

    assert TEXT.replace("DoNotSchedule", "ScheduleAnyway") == found["manifest"]
    assert "+        whenUnsatisfiable: ScheduleAnyway\n" in found["diff"]


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([], id="empty"),
        pytest.param([{"path": []}], id="no path"),
        pytest.param([{"path": [None]}], id="no name"),
        pytest.param([{"path": ["spec", -1]}], id="a negative position"),
        pytest.param([{"path": ["spec", "replicas", "x"], "new": 1}], id="below a number"),
        pytest.param([{"path": ["kind", "x", 5], "new": 1}], id="below a text"),
    ],
)
def test_edits_that_do_not_fit(edits: list[dict[str, Any]]) -> None:
    """A text that is no edit of the manifest is rejected."""
    with pytest.raises(ProblemsError):
        suggest(CLUSTER, SuggestBody(manifest=TEXT, edits=edits))


def test_patch() -> None:
    """Both patches lead from one manifest to the other, and the command applies the first."""
    edited = copy.deepcopy(DEPLOYMENT)
    edited["spec"] |= {"replicas": 9, "paused": True}
    edited["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["maxSkew"] = 2
    del edited["spec"]["template"]["spec"]["containers"][0]["image"]
    body = PatchBody(original=json.dumps(DEPLOYMENT), manifest=yaml.safe_dump(edited))
    found = json.loads(patch(CLUSTER, body))

    assert edited == jsonpatch.apply_patch(DEPLOYMENT, found["jsonPatch"])
    assert {"replicas": 9, "paused": True} == {
        name: yaml.safe_load(found["mergePatch"])["spec"][name] for name in ("replicas", "paused")
    }
    assert found["command"].startswith("kubectl patch deployment.apps/web --namespace shop --type merge ")


def test_changes_can_be_taken_back() -> None:
    """Each has the value that its field had: the edit the other way gives the first manifest again."""
    edited = copy.deepcopy(DEPLOYMENT)
    edited["spec"]["replicas"] = 9
    edited["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["maxSkew"] = 2
    del edited["spec"]["template"]["spec"]["containers"][0]["image"]
    text = yaml.safe_dump(edited)
    changes = json.loads(patch(CLUSTER, PatchBody(original=json.dumps(DEPLOYMENT), manifest=text)))["changes"]
    back = [change | {"old": change["new"], "new": change["old"]} for change in changes]

    assert {
        "spec.replicas",
        "spec.template.spec.topologySpreadConstraints[0].maxSkew",
        "spec.template.spec.containers[0].image",
    } == {change["field"] for change in changes}
    restored = json.loads(suggest(CLUSTER, SuggestBody(manifest=text, edits=back)))["manifest"]
    assert yaml.safe_load(restored) == DEPLOYMENT


@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_what_cannot_be_changed(kind: str) -> None:
    """Of a Pod or a Job there is no command: its fields stay as they are."""
    obj = a_pod() if kind == "Pod" else a_workload("Job", "batch")
    edited = json.dumps(obj).replace("web:1", "web:2")

    body = PatchBody(original=json.dumps(obj), manifest=edited)

    assert "" == json.loads(patch(CLUSTER, body))["command"]
