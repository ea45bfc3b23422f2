"""Which files state what of the objects that kustomize builds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from policies.manifests.documents import load, objects
from policies.manifests.fields import FieldPath
from policies.manifests.origins import BuiltObject
from webhook.lint.field_origins import FieldOrigins
from webhook.lint.inputs import Tools, gather_texts
from webhook.lint.kustomizations import read_kustomization
from webhook.lint.parse import parse

CONSTRAINT = "{topologyKey: %s, maxSkew: %d, whenUnsatisfiable: DoNotSchedule}"
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  template:
    spec:
      topologySpreadConstraints:
      - topologyKey: zone
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
"""
PATCH = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec: {{template: {{spec: {{topologySpreadConstraints: [
  {CONSTRAINT % ("zone", 2)}]}}}}}}
"""
ADD = "- {op: add, path: /spec/template/spec/topologySpreadConstraints/-, value: %s}"
COMPONENT = f"""\
kind: Component
apiVersion: kustomize.config.k8s.io/v1alpha1
patches:
- target: {{kind: Deployment}}
  patch: |
    {ADD % (CONSTRAINT % ("rack", 3))}
"""
OVERLAY = """\
resources: [../base]
components: [../comp]
patches: [{path: patch.yaml}]
namePrefix: a-
namespace: shop
labels: [{pairs: {env: prod}, includeTemplates: true}]
"""
REPLACE = "- {op: replace, path: /spec/template/spec/topologySpreadConstraints, value: [%s]}"
SPREAD = ("spec", "template", "spec", "topologySpreadConstraints")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(*name.split("__")[:-1], name.rsplit("__", 1)[-1] + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def built(root: str, name: str, *constraints: tuple[str, int], kind: str = "Deployment") -> BuiltObject:
    entries = ", ".join(CONSTRAINT % each for each in constraints)
    spread = f"{{template: {{spec: {{topologySpreadConstraints: [{entries}]}}}}}}"
    text = f"{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}}}, spec: {spread}}}"
    (manifest,) = objects(load(text, root)[0])
    return FieldOrigins().built(read_kustomization(root), manifest)


def lines(manifest: BuiltObject, count: int) -> list[str]:
    paths = (FieldPath((*SPREAD, number, "maxSkew")) for number in range(count))
    found = (manifest.origin.written(path) for path in paths)
    return [str(written.location) if written else "" for written in found]


@pytest.mark.parametrize(
    ("kustomization", "expected"),
    [
        pytest.param("", "base/web.yaml:9", id="no patch"),
        pytest.param("patches: [{path: patch.yaml}]", "over/patch.yaml:5", id="patches, a file"),
        pytest.param("patchesStrategicMerge: [patch.yaml]", "over/patch.yaml:5", id="patchesStrategicMerge"),
        pytest.param(
            "patches: [{path: patch.yaml, target: {kind: Deploy.*, name: w.b}}]",
            "over/patch.yaml:5",
            id="a target",
        ),
        pytest.param("patches: [{path: patch.yaml, target: {name: we}}]", "", id="another target"),
        pytest.param(
            "patches: [{path: patch.yaml, target: {labelSelector: 'app in (web, api)'}}]",
            "over/patch.yaml:5",
            id="a selector",
        ),
        pytest.param(
            "patches: [{path: patch.yaml, target: {labelSelector: app!=web}}]", "", id="another selector"
        ),
        pytest.param(
            "patches:\n- patch: |-\n" + "".join(f"    {line}\n" for line in PATCH.splitlines()),
            "over/kustomization.yaml:8",
            id="a literal block",
        ),
        pytest.param(
            "patchesStrategicMerge:\n- |\n" + "".join(f"  {line}\n" for line in PATCH.splitlines()),
            "over/kustomization.yaml:8",
            id="a literal block in a list",
        ),
        pytest.param(
            f"patches:\n- target: {{kind: Deployment}}\n  patch: '{REPLACE % (CONSTRAINT % ('zone', 2))}'",
            "over/kustomization.yaml:4",
            id="a text on one line",
        ),
        pytest.param(
            f"patches:\n- target: {{kind: Deployment}}\n  patch: '{ADD % (CONSTRAINT % ('zone', 2))}'",
            "",
            id="beside one of the same keys",
        ),
        pytest.param("patches: [{path: nowhere.yaml}]", "", id="no such file"),
        pytest.param("patches: [3, {path: 3}, {patch: '{'}, null]", "", id="rubbish"),
    ],
)
def test_patches(folder: Path, kustomization: str, expected: str) -> None:
    """A value is where the patch says it; in the base only where the base says the same."""
    write(base__kustomization="resources: [web.yaml]", base__web=WEB, over__patch=PATCH)
    write(over__kustomization=f"resources: [../base]\n{kustomization}\n")
    manifest = built("over/kustomization.yaml", "web", ("zone", 2 if kustomization else 1))

    assert [expected] == lines(manifest, 1)


@pytest.mark.parametrize(
    ("files", "name", "expected"),
    [
        pytest.param({}, "a-web-z", "base/web.yaml:9", id="a prefix and a suffix"),
        pytest.param({}, "web", "", id="another name"),
        pytest.param(
            {"base__kustomization": "resources: [web.yaml, web.yaml]"}, "a-web-z", "", id="two of one name"
        ),
        pytest.param(
            {"base__web": WEB + "---\n" + WEB.replace("apps", "b")}, "a-web-z", "", id="two in a file"
        ),
        pytest.param({"base__web": WEB.replace("kind: ", "kind: X")}, "a-web-z", "", id="another kind"),
        pytest.param({"base__kustomization": "resources: [../over]"}, "a-web-z", "", id="in a circle"),
    ],
)
def test_names(folder: Path, files: dict[str, str], name: str, expected: str) -> None:
    """An object is known by its kind and its name as it was built; of two nobody knows which it is."""
    write(base__kustomization="resources: [web.yaml]", base__web=WEB)
    write(over__kustomization="resources: [../base]\nnamePrefix: a-\nnameSuffix: -z\n", **files)

    assert [expected] == lines(built("over/kustomization.yaml", name, ("zone", 1)), 1)


RENAME = """\
resources: [../base]
patches:
- target: {kind: Deployment, name: web}
  patch: |
    - {op: test, path: /metadata/name, value: web}
    - {op: OP, path: /metadata/name, value: shop}
- target: {kind: Deployment, name: TARGET}
  patch: |
    - {op: add, path: /metadata/namespace, value: prod}
namePrefix: a-
"""


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds kustomizations")
@pytest.mark.parametrize("target", ["web", "shop"])
@pytest.mark.parametrize("operation", ["add", "replace"])
def test_names_that_patches_write(folder: Path, operation: str, target: str) -> None:
    """An object is found by its name before a JSON Patch renamed it, and after."""
    write(base__kustomization="resources: [web.yaml]", base__web=WEB)
    write(over__kustomization=RENAME.replace("OP", operation).replace("TARGET", target))
    texts = gather_texts(["over"], tools=Tools())
    assert [] == texts.skipped
    (manifest,) = parse(texts.texts[0]).objects

    assert {"name": "a-shop", "namespace": "prod", "labels": {"app": "web"}} == manifest.value["metadata"]
    assert isinstance(manifest, BuiltObject)
    assert ["base/web.yaml:9"] == lines(manifest, 1)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds kustomizations")
def test_as_kubectl_builds(folder: Path) -> None:
    """Fields that kubectl merges in its own order are found in resource, component and overlay."""
    write(
        base__kustomization="resources: [web.yaml]", base__web=WEB, over__patch=PATCH.replace("zone", "host")
    )
    write(comp__kustomization=COMPONENT, over__kustomization=OVERLAY)
    texts = gather_texts(["."], tools=Tools())
    assert [] == texts.skipped
    (manifest,) = parse(texts.texts[0]).objects

    assert isinstance(manifest, BuiltObject)
    assert "a-web" == manifest.value["metadata"]["name"]
    assert {"base/web.yaml:9", "comp/kustomization.yaml:6", "over/patch.yaml:5"} == set(lines(manifest, 3))
    assert (1, 0) == (manifest.origin.count_builds("base/web.yaml"), manifest.origin.count_builds("x.yaml"))
