"""A value of the wrong type is told, and hides nothing of the rest of the object."""

from __future__ import annotations

import pytest

from policies.config.context import AdmissionContext
from policies.lint.run import lint
from policies.manifests.documents import load, objects

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: failure-domain.beta.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: shop}}
      containers: [{name: web, image: web}]
"""
KEY, MISSES, REVISION = "topology-key-deprecated", "selector-misses-own-pod", "revision-key-missing"


def found(old: str, new: str) -> list[str]:
    """Return the rules that find something once a piece of the manifest is another."""
    assert old in WEB
    manifests = [entry for document in load(WEB.replace(old, new), "f.yaml") for entry in objects(document)]
    return sorted(finding.rule for finding in lint(manifests, AdmissionContext(policies=())).findings)


@pytest.mark.parametrize(
    ("old", "new", "others"),
    [
        pytest.param("maxSkew: 1", "maxSkew: '2'", [MISSES, KEY], id="maxSkew: a number in quotes"),
        pytest.param("maxSkew: 1", "maxSkew: {}", [MISSES, KEY], id="maxSkew: an object"),
        pytest.param("maxSkew: 1", "maxSkew: 99999999999", [MISSES, KEY], id="maxSkew: too large"),
        pytest.param("maxSkew: 1", "minDomains: '2'\n          maxSkew: 1", [MISSES, KEY], id="minDomains"),
        pytest.param("maxSkew: 1", "nodeTaintsPolicy: 1\n          maxSkew: 1", [MISSES, KEY], id="policy"),
        pytest.param("maxSkew: 1", "matchLabelKeys: app\n          maxSkew: 1", [MISSES, KEY], id="twice"),
        pytest.param("{app: shop}}", "{app: 1}}", [REVISION, KEY], id="a selector that cannot be read"),
        pytest.param("{matchLabels: {app: shop}}", "web", [REVISION, KEY], id="no selector at all"),
        pytest.param("DoNotSchedule", "[]", [], id="whenUnsatisfiable: nothing is known without it"),
        pytest.param("- maxSkew", "- web\n        - maxSkew", [MISSES, KEY], id="another entry"),
        pytest.param("{labels: {app: web}}", "{labels: {app: web, x: true}}", [MISSES, KEY], id="a label"),
        pytest.param("{labels: {app: web}}", "{labels: {app: 1, x: z}}", [REVISION, KEY], id="its own label"),
        pytest.param("{labels: {app: web}}", "{labels: {app: 1}}", [], id="every label"),
        pytest.param("replicas: 3", "replicas: '3'", [MISSES, KEY], id="replicas"),
        pytest.param("replicas: 3", "replicas: -3", [MISSES, KEY], id="fewer replicas than none"),
        pytest.param("replicas: 3", "replicas: 2147483648", [MISSES, KEY], id="more than 32 bits"),
        pytest.param("selector: {matchLabels: {app: web}}", "selector: web", [MISSES, KEY], id="selector"),
        pytest.param("name: web, namespace", "name: 7, namespace", [MISSES, KEY], id="name"),
        pytest.param("containers:", "tolerations: x\n      containers:", [MISSES, KEY], id="tolerations"),
        pytest.param("containers:", "affinity: []\n      containers:", [MISSES, KEY], id="affinity"),
        pytest.param("containers:", "nodeSelector: x\n      containers:", [MISSES, KEY], id="nodeSelector"),
    ],
)  # fmt: skip
def test_what_else_is_found(old: str, new: str, others: list[str]) -> None:
    """Every other rule is run over what can be read; what cannot be read is not held against anybody."""
    assert sorted([*others, "wrong-type"]) == found(old, new)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        pytest.param("", [], id="left out: perhaps a patch of metadata"),
        pytest.param("spec:", ["wrong-type"], id="null"),
        pytest.param("spec: {}", ["wrong-type"], id="nothing in it"),
        pytest.param("$patch: delete", [], id="a patch that deletes it needs none"),
    ],
)
def test_a_spec_that_is_missing(rest: str, expected: list[str]) -> None:
    """No controller makes pods without a template."""
    head = WEB.partition("spec:")[0]
    assert expected == found(WEB, f"{head}{rest}")


def test_a_custom_resource_without_a_template() -> None:
    """Its own controller says what it must have: a Rollout may name a Deployment instead."""
    knative = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}\nspec: {}\n"
    assert [] == found(WEB, knative)


def test_replicas_that_are_still_to_be_filled_in() -> None:
    """A placeholder has the right type later."""
    assert sorted([MISSES, KEY]) == found("replicas: 3", "replicas: ${REPLICAS}")
