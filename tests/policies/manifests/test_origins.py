"""Where the fields of a built object are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from policies.manifests.documents import load
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.kustomize_layers import Layer
from policies.manifests.origins import Origin

SPREAD = FieldPath(("spec", "topologySpreadConstraints"))
ZONE, HOST = "{topologyKey: zone, whenUnsatisfiable: A, %s}", "{topologyKey: host, whenUnsatisfiable: A, %s}"
BASE = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  topologySpreadConstraints:
  - topologyKey: zone
    whenUnsatisfiable: A
    maxSkew: 1
    labelSelector: {{matchLabels: {{app: web}}}}
  - {HOST % "maxSkew: 2"}
"""
PATCH = """\
kind: Pod
spec:
  topologySpreadConstraints:
  - topologyKey: zone
    whenUnsatisfiable: A
    maxSkew: 5
"""


def built(*constraints: str, api: str = "v1") -> dict[str, Any]:
    text = (
        f"{{apiVersion: {api}, kind: Pod, spec: {{topologySpreadConstraints: [{', '.join(constraints)}]}}}}"
    )
    return dict(load(text, "built")[0].value)


def an_origin(value: dict[str, Any], base: str, *patches: str) -> Origin:
    layers = [Layer(load(base, "base.yaml")[0], FieldPath())]
    for number, patch in enumerate(patches):
        layers.append(Layer(load(patch, f"{number}.yaml")[0], FieldPath(), is_patch=True))
    return Origin(build="k.yaml", value=value, find_layers=lambda: layers, count_builds=lambda _file: 1)


SELECTED = "labelSelector: {matchLabels: {app: web, env: prod}}"
PLAIN = built(HOST % "maxSkew: 2", ZONE % f"maxSkew: 1, {SELECTED}")
PATCHED = built(ZONE % f"maxSkew: 5, {SELECTED}", HOST % "maxSkew: 2")


@pytest.mark.parametrize(
    ("value", "patches", "path", "expected"),
    [
        pytest.param(PLAIN, [], (1, "maxSkew"), ("base.yaml:8", (0, "maxSkew")), id="moved from 0 to 1"),
        pytest.param(PLAIN, [], (1, "matchLabelKeys"), ("base.yaml:6", (0, "matchLabelKeys")), id="absent"),
        pytest.param(
            PLAIN, [], (1, "labelSelector"), ("base.yaml:9", (0, "labelSelector")), id="a label more"
        ),
        pytest.param(
            PLAIN, [], (1, "labelSelector", "matchLabels", "env"), None, id="a label that no text states"
        ),
        pytest.param(PLAIN, [], (), ("base.yaml:5", ()), id="the whole list"),
        pytest.param(PATCHED, [PATCH], (0, "maxSkew"), ("0.yaml:6", (0, "maxSkew")), id="of the patch"),
        pytest.param(
            PATCHED, [PATCH], (0,), ("base.yaml:6", (0,)), id="changed by a patch, given in the base"
        ),
        pytest.param(PATCHED, [PATCH, PATCH], (0, "maxSkew"), ("1.yaml:6", (0, "maxSkew")), id="of the 2nd"),
        pytest.param(
            PATCHED,
            [PATCH.replace("5", "7")],
            (0, "maxSkew"),
            None,
            id="5 built, 7 and 1 stated: nobody knows",
        ),
        pytest.param(
            built(ZONE % "maxSkew: 5", HOST % "maxSkew: 2"),
            [PATCH.replace("  - topo", "  - $patch: replace\n  - topo")],
            (0,),
            ("0.yaml:5", (1,)),
            id="a patch that replaces the list",
        ),
        pytest.param(
            built(ZONE % "maxSkew: 5", api="argoproj.io/v1alpha1"),
            [PATCH],
            (0,),
            ("0.yaml:4", (0,)),
            id="a custom resource: lists are replaced",
        ),
    ],
)
def test_written(
    value: dict[str, Any], patches: Sequence[str], path: tuple[Any, ...], expected: tuple[str, Any] | None
) -> None:
    """A field is where its built value is stated, by the path of that text; elsewhere it is nowhere."""
    written = an_origin(value, BASE, *patches).written(FieldPath((*SPREAD.segments, *path)))
    actual = written and (str(written.location), written.path.segments[len(SPREAD.segments) :])

    assert expected == actual


_LIST = "/spec/topologySpreadConstraints"


@pytest.mark.parametrize(
    ("operations", "path", "expected"),
    [
        pytest.param(f"- {{op: remove, path: {_LIST}/0}}\n", (0,), None, id="one was removed: which?"),
        pytest.param(
            f"- {{op: replace, path: {_LIST}/0/topologyKey, value: zone}}\n", (0,), None, id="one was renamed"
        ),
        pytest.param(
            f"- {{op: add, path: {_LIST}/-, value: {ZONE % 'maxSkew: 1'}}}\n",
            (0,),
            None,
            id="2 of the same keys",
        ),
        pytest.param(
            f"- {{op: replace, path: {_LIST}/0/minDomains, value: 2}}\n",
            (0,),
            "base.yaml:6",
            id="another field",
        ),
        pytest.param(
            "- op: add\n  path: /spec/topologySpreadConstraints/-\n  value:\n    topologyKey: rack\n"
            "    whenUnsatisfiable: A\n    maxSkew: 3\n",
            (2, "maxSkew"),
            "0.yaml:6",
            id="an entry at the end",
        ),
        pytest.param(
            "- {op: add, path: /spec/topologySpreadConstraints/0, value:\n"
            "   {topologyKey: rack, whenUnsatisfiable: A, maxSkew: 3}}\n",
            (2,),
            "0.yaml:1",
            id="an entry that moved",
        ),
        pytest.param(
            "- {op: replace, path: /spec/topologySpreadConstraints/2/maxSkew, value: 3}\n",
            (2, "maxSkew"),
            "0.yaml:1",
            id="one field",
        ),
        pytest.param(
            "- {op: remove, path: /spec/a}\n- op: add\n  path: /spec/topologySpreadConstraints\n  value:\n"
            f"  - {ZONE % 'maxSkew: 1'}\n  - {HOST % 'maxSkew: 2'}\n"
            f"  - {{topologyKey: rack, whenUnsatisfiable: A, maxSkew: 3}}\n",
            (1,),
            "0.yaml:6",
            id="the whole list",
        ),
        pytest.param(
            "- {op: add, path: /spec/topologySpreadConstraints/2/maxSkew, value: 4}\n",
            (2,),
            None,
            id="another value",
        ),
    ],
)
def test_operations(operations: str, path: tuple[Any, ...], expected: str | None) -> None:
    """A JSON Patch states what its operations add."""
    rack = "{topologyKey: rack, whenUnsatisfiable: A, maxSkew: 3}"
    value = built(ZONE % "maxSkew: 1", HOST % "maxSkew: 2", rack)
    written = an_origin(value, BASE, operations).written(FieldPath((*SPREAD.segments, *path)))

    assert expected == (written and str(written.location))


@pytest.mark.parametrize(
    ("value", "patches", "path", "old", "expected"),
    [
        pytest.param(PLAIN, [], (1, "matchLabelKeys"), None, ("base.yaml", 0), id="added to the base"),
        pytest.param(PATCHED, [PATCH], (0, "maxSkew"), 5, ("0.yaml", 0), id="changed in the patch"),
        pytest.param(PLAIN, [], (1, "topologyKey"), "zone", ("base.yaml", 0), id="a merge key of one text"),
        pytest.param(PATCHED, [PATCH], (0, "topologyKey"), "zone", None, id="a merge key of two"),
        pytest.param(PLAIN, [], (1, "labelSelector"), {}, None, id="not as the base has it"),
    ],
)
def test_placed(
    value: dict[str, Any], patches: Sequence[str], path: tuple[Any, ...], old: Any, expected: Any
) -> None:
    """An edit is made in the one text that decides, or not at all."""
    where = FieldPath((*SPREAD.segments, *path))
    placed = an_origin(value, BASE, *patches).placed([Edit(where, old, "new")])
    actual = placed and (placed.layer.document.file, placed.edits[0].path.segments[2])

    assert expected == actual


@pytest.mark.parametrize(
    ("label", "expected"),
    [pytest.param("web", True, id="a label of the base"), pytest.param("prod", False, id="an overlay's")],
)
def test_labels_that_are_written(label: str, expected: bool) -> None:  # noqa: FBT001  # a table
    """Labels that a kustomization adds are not written into what others use."""
    where = FieldPath((*SPREAD.segments, 0, "labelSelector"))
    placed = an_origin(PLAIN, BASE).placed([Edit(where, None, {"matchLabels": {"app": label}})])

    assert expected is (placed is not None)
