"""Files that a kustomization has kustomize open; others that it must not are hostile repositories."""

from __future__ import annotations

import pytest

from policies.manifests.documents import load
from webhook.lint.kustomization_fields import listed_by

EVERYTHING = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata: {name: shop, annotations: {a: https://example.com}}
resources: [web.yaml, ../base]
bases: [old]
components: [extra]
crds: [crd.json]
configurations: [names.yaml]
patches:
- path: web-patch.yaml
  target: {kind: Deployment}
  options: {allowNameChange: true}
- patch: |-
    - op: add
      path: /metadata/labels/a
      value: https://example.com
  target: {kind: Deployment}
patchesStrategicMerge:
- old-patch.yaml
- |-
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
patchesJson6902:
- {path: json.yaml, target: {kind: Deployment, name: web, version: v1}}
replacements:
- path: replacement.yaml
- {source: {kind: Pod}, targets: []}
configMapGenerator:
- {name: a, namespace: b, behavior: merge, files: [c, d=e], envs: [f], literals: ['a=https://x']}
secretGenerator:
- {name: a, env: g, type: Opaque}
generators:
- generator.yaml
transformers:
- |-
  apiVersion: builtin
  kind: LabelTransformer
  metadata: {name: a}
openapi: {path: schema.json}
namePrefix: a
nameSuffix: b
namespace: c
commonLabels: {a: b}
labels: [{pairs: {a: b}, includeSelectors: true}]
commonAnnotations: {a: https://example.com}
images: [{name: a, newTag: b}]
replicas: [{name: a, count: 1}]
vars: []
sortOptions: {order: fifo}
generatorOptions: {disableNameSuffixHash: true}
buildMetadata: [originAnnotations]
helmGlobals: {chartHome: charts}
validators: null
"""


def test_every_field() -> None:
    """Each is known, and each name that kustomize opens is found."""
    (document,) = load(EVERYTHING, "kustomization.yaml")
    listed = listed_by(document)

    assert [] == listed.errors
    assert ["web.yaml", "../base", "old", "extra"] == listed.resources
    assert {
        "crd.json", "names.yaml", "web-patch.yaml", "old-patch.yaml", "json.yaml", "replacement.yaml",
        "generator.yaml",
    } == set(listed.parts)  # fmt: skip
    assert ["generator.yaml"] == listed.plugins
    assert ["c", "d=e", "f", "g", "schema.json"] == listed.sources
    assert 1 == len(listed.inline)


@pytest.mark.parametrize(
    ("text", "path", "rule"),
    [
        pytest.param("Resources: []", "Resources", "unknown-field", id="another case"),
        pytest.param("patches: [{Path: a}]", "patches[0].Path", "unknown-field", id="inside"),
        pytest.param("resources: a", "resources", "wrong-type", id="no list"),
        pytest.param("resources: [1]", "resources[0]", "wrong-type", id="no text"),
        pytest.param("patches: [1]", "patches[0]", "wrong-type", id="no object"),
        pytest.param('resources: ["a\\nb"]', "resources[0]", "value-invalid", id="2 lines"),
        pytest.param('generators: ["a\\nb"]', "generators[0]", "value-invalid", id="2 lines, no object"),
        pytest.param("kind: Pod", "kind", "value-invalid", id="another kind"),
        pytest.param("resources: []\nresources: []", "resources", "value-invalid", id="a key twice"),
        pytest.param("helmCharts: [{name: a}]", "helmCharts[0]", "value-invalid", id="a local chart"),
        pytest.param(
            "helmChartInflationGenerator: [{chartName: a}]",
            "helmChartInflationGenerator[0]",
            "value-invalid",
            id="a local chart of an older field",
        ),
        pytest.param("[]", "", "wrong-type", id="a list"),
    ],
)
def test_errors(text: str, path: str, rule: str) -> None:
    """They name the field."""
    (document,) = load(text, "kustomization.yaml")

    assert [(path, rule)] == [(str(error.path), error.rule) for error in listed_by(document).errors]
