"""The findings of one folder are those of each of its copies, and none is because of them."""

from __future__ import annotations

import pytest

from policies.config.context import AdmissionContext
from policies.lint.run import LintResult, lint
from policies.manifests.documents import load, objects
from tests.policies.rules.placing import ZONE, a_context, nodes_of

NODES = a_context(nodes_of("a", "b", "c", taints={"c": ["dedicated=gpu:NoSchedule"]})).inventory
SKEWED = f"maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: DoNotSchedule"


def web(selector: str = "app: web", *, replicas: int = 6, more: str = "", name: str = "web") -> str:
    """Return a Deployment and other objects, as YAML."""
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}, release: shop}}}}
    spec:
      topologySpreadConstraints:
        - {{{SKEWED}, labelSelector: {{matchLabels: {{{selector}}}}}}}
      containers: [{{name: web, image: web}}]
---
{more}
"""


HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: web}}
"""
BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 6, selector: {matchLabels: {app: web}}}
"""
WORKER = web(name="worker", selector="app: worker", replicas=1)
ROLLOUT = """
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: roll}
spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""


def _lint(files: dict[str, str]) -> LintResult:
    every = (
        entry for file, text in files.items() for document in load(text, file) for entry in objects(document)
    )
    return lint(every, AdmissionContext(policies=()), inventory=NODES)


def _found(files: dict[str, str], file: str) -> list[tuple[str, str, str]]:
    findings = _lint(files).findings
    return [(entry.rule, entry.title, entry.message) for entry in findings if entry.location.file == file]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(web(), "unreachable-domain-counted", id="a zone whose node is tainted"),
        pytest.param(
            web(more=HPA).replace(SKEWED, f"{SKEWED}, minDomains: 3"),
            "fewer-replicas-than-domains",
            id="an autoscaler down to 2 of 3 zones",
        ),
        pytest.param(web(more=BUDGET), "disruption-budget-conflicts", id="a budget of 6 for 6 pods"),
        pytest.param(web("release: shop", more=WORKER), "selector-shared", id="another application"),
        pytest.param(web("app: worker", more=WORKER), "selector-misses-own-pod", id="the other's selector"),
        pytest.param(web(more=ROLLOUT), "unreachable-domain-counted", id="a Rollout makes the pods"),
    ],
)
@pytest.mark.parametrize("namespace", ["", "shop"])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_copies_change_nothing(text: str, rule: str, namespace: str, copies: int) -> None:
    """However many folders hold the same, each has the findings that it has alone."""
    text = text.replace("metadata: {name: ", f"metadata: {{namespace: '{namespace}', name: ")
    alone = _found({"overlays/0/all.yaml": text}, "overlays/0/all.yaml")
    files = {f"overlays/{number}/all.yaml": text for number in range(copies)}

    assert rule in {found[0] for found in alone}
    for file in files:
        assert alone == _found(files, file)
