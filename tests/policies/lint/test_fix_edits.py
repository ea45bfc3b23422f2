"""Repairs of one file, together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.lint import fix_edits
from policies.lint.fix_edits import Fix, TextFixes, compatible_fixes, worse_for
from policies.lint.workload_loader import ManifestWorkload, load_workload
from policies.manifests.documents import load, objects
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.kustomize_layers import TextKey
from policies.manifests.rewrite import RewriteRefusal, rewrite
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_constraint, a_workload

CONTEXT = AdmissionContext(policies=())
REPLICAS = FieldPath(("spec", "replicas"))


def a_declared(text: str) -> ManifestWorkload:
    (document,) = load(text, "f")
    (manifest,) = objects(document)
    entry = load_workload(manifest, CONTEXT)
    assert entry
    return entry


def spread(*constraints: dict[str, Any]) -> dict[str, Any]:
    return a_workload(spec={"topologySpreadConstraints": list(constraints)})


def a_repair(entry: ManifestWorkload, path: FieldPath, new: Any) -> Fix:
    edit = Edit(path, None, new)
    return Fix(
        location=entry.manifest.location(path),
        title="t",
        path=path,
        rule="r",
        message="m",
        text=TextKey("f"),
        edits=((entry.manifest.document.index, edit),),
        objects=((entry, (edit,)),),
    )


def test_contradiction() -> None:
    """Of two repairs of one field the first is made, the other waits and is not refused."""
    entry = a_declared(json.dumps(a_workload()))
    repairs = [a_repair(entry, REPLICAS, number) for number in (2, 3)]
    refused: list[tuple[Fix, RewriteRefusal]] = []

    assert repairs[:1] == list(compatible_fixes(repairs, [entry.manifest.document], CONTEXT, refused, {}))
    assert [] == refused


def test_one_in_the_way() -> None:
    """A repair that cannot be written is told, and the others of the file are written."""
    text = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {paused: !!bool true}}"
    entry = a_declared(text)
    paths = [FieldPath(("spec", name)) for name in ("replicas", "paused", "revisionHistoryLimit")]
    repairs = [a_repair(entry, path, 3) for path in paths]
    mended = TextFixes(text.encode(), [entry.manifest.document])
    mended.make(repairs)

    assert text.replace("true", "true, replicas: 3, revisionHistoryLimit: 3").encode() == mended.content
    assert [repairs[0], repairs[2]] == mended.made
    assert [repairs[1]] == [repair for repair, _ in mended.refused]


def test_never_worse() -> None:
    """A repair that would make an object invalid is refused; what is wrong with it anyhow stops none."""
    web = spread(a_constraint(topologyKey="zone"), a_constraint(maxSkew=0))
    path = WorkloadKinds().get(("apps", "Deployment")).constraints_path  # type: ignore[union-attr]  # it is known
    entry = a_declared(json.dumps(web))
    fields = {"maxSkew": 0, "topologyKey": "rack"}
    edits = {name: (Edit(path.index(0).child(name), None, value),) for name, value in fields.items()}
    worse = {name: worse_for(entry, edit, CONTEXT) for name, edit in edits.items()}

    assert {"maxSkew": True, "topologyKey": False} == {name: bool(text) for name, text in worse.items()}


@pytest.mark.parametrize("count", [pytest.param(4, id="4 documents"), pytest.param(40, id="40 documents")])
def test_documents_in_the_way_are_found_together(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many documents cannot be written, the file is read a few times, and the others are written."""
    tries = []

    def counted(*given: Any) -> bytes | RewriteRefusal:
        tries.append(1)
        return rewrite(*given)

    monkeypatch.setattr(fix_edits, "rewrite", counted)
    marked = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {paused: !!bool true}}\n"
    text = f"--- {marked}--- {marked.replace('!!bool ', '')}" * (count // 2)
    documents = load(text, "f")
    entries = [load_workload(entry, CONTEXT) for document in documents for entry in objects(document)]
    paths = [FieldPath(("spec", name)) for name in ("paused", "replicas")]
    repairs = [a_repair(entry, path, 3) for entry in entries if entry for path in paths]
    made = TextFixes(text.encode(), documents)
    made.make(repairs)

    assert count // 2 == len(made.refused)
    assert 3 * count // 2 == len(made.made)
    assert 4 >= len(tries)
