"""Repositories of strangers: whatever is in them, nothing is downloaded, and no file outside is read."""

from __future__ import annotations

import select
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.skipped import SkipReason
from tests.deploy.manifests import missing
from tests.webhook.sources.charts import write
from webhook.sources.gathering import Texts, Tools, gather_texts

#: Kustomizations that have kustomize fetch something, or that it may read otherwise than we do; ADDRESS is
#: where a connection would be noticed.
FETCHING = {
    "a field in capitals": "Resources: ['http://ADDRESS/a.yaml']",
    "a field of a generator in capitals": "configMapGenerator: [{name: a, Files: ['a=http://ADDRESS/a']}]",
    "a list in capitals": "ConfigMapGenerator: [{name: a, files: ['a=http://ADDRESS/a']}]",
    "the old field of a generator": "secretGenerator: [{name: a, env: 'http://ADDRESS/a'}]",
    "a generator's file": "configMapGenerator: [{name: a, files: ['a=http://ADDRESS/a']}]",
    "a generator's file, 2 =": "configMapGenerator: [{name: a, files: ['a=http://ADDRESS/a?b=c']}]",
    "a resource": "resources: ['http://ADDRESS/a.yaml']",
    "a resource, HTTP": "resources: ['HTTP://ADDRESS/a.yaml']",
    "a resource, Git by SSH": "resources: ['me@127.0.0.1:org/repo']",
    "a resource, Git by HTTP": "resources: ['git::http://ADDRESS/org/repo']",
    "a resource, Git of a folder": "resources: ['github.com/org/repo']",
    "a resource that is a file": "resources: ['me@127.0.0.1:org/odd']",
    "a resource with a tag": "resources: [!!str 'http://ADDRESS/a.yaml']",
    "a resource by an alias": "namePrefix: &a 'http://ADDRESS/a.yaml'\nresources: [*a]",
    "a resource with escapes": 'resources: ["ht\\x74p://ADDRESS/a.yaml"]',
    "a resource in a merge": "<<: {resources: ['http://ADDRESS/a.yaml']}",
    "a resource on 2 lines": "resources:\n- |\n  http://ADDRESS/a.yaml",
    "a key that stands twice": "resources: ['http://ADDRESS/a.yaml']\nresources: []",
    "a second document": "resources: []\n---\nresources: ['http://ADDRESS/a.yaml']",
    "after a line separator": "resources: [] # a\u2028Resources: ['http://ADDRESS/a.yaml']",
    "after a next line": "resources: [] # a\x85Resources: ['http://ADDRESS/a.yaml']",
    "what kustomize rewrites": "resources: ['imageTags:/a']",
    "no mapping": "- resources: ['http://ADDRESS/a.yaml']",
    "no YAML": "resources: ['http://ADDRESS/a.yaml']\n\tx: [",
    "a base": "bases: ['http://ADDRESS/a']",
    "a component": "components: ['http://ADDRESS/a']",
    "a folder that fetches": "resources: [inner]",
    "a folder behind a link": "resources: [linked]",
    "a patch": "patches: [{path: 'http://ADDRESS/a.yaml'}]",
    "a patch in capitals": "patches: [{Path: 'http://ADDRESS/a.yaml'}]",
    "an old patch": "patchesStrategicMerge: ['http://ADDRESS/a.yaml']",
    "an older patch": "patches: ['http://ADDRESS/a.yaml']",
    "a JSON patch": "patchesJson6902: [{target: {kind: A, name: a}, path: 'http://ADDRESS/a'}]",
    "replacements": "replacements: [{path: 'http://ADDRESS/a.yaml'}]",
    "an OpenAPI document": "openapi: {path: 'http://ADDRESS/a.json'}",
    "configurations": "configurations: ['http://ADDRESS/a.yaml']",
    "CRDs": "crds: ['http://ADDRESS/a.json']",
    "a chart": "helmCharts: [{name: a, repo: 'http://ADDRESS'}]",
    "generators": "generators: ['http://ADDRESS/a.yaml']",
    "a generator's own object": (
        "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: a}\n"
        "  files: ['a=http://ADDRESS/a']"
    ),
    "a generator's own object in 1 line": (
        "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a},"
        ' files: ["a=http://ADDRESS/a"]}\']'
    ),
    "a transformer's file": "transformers: [transformer.yaml]",
    "a transformer's folder": "transformers: [inner]",
    "a validator": "validators: ['http://ADDRESS/a.yaml']",
}
#: What else is in the folder of each of them.
BESIDE = {
    "inner/kustomization.yaml": "Resources: ['http://ADDRESS/inner.yaml']",
    "github.com/org/repo/kustomization.yaml": "resources: []",
    "me@127.0.0.1:org/odd": "is no manifest",
    "transformer.yaml": (
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\nPath: 'http://ADDRESS/a.yaml'"
    ),
}


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a socket that listens on this machine: nothing may connect to it."""
    with socket.socket() as canary:
        canary.bind(("127.0.0.1", 0))
        canary.listen()
        yield f"127.0.0.1:{canary.getsockname()[1]}"
        assert not select.select([canary], [], [], 0)[0]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty Git repository, with a file outside of it that is nobody's business."""
    (tmp_path / "secret.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: hunter2}\n")
    (tmp_path / "here" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def reasons(texts: Texts) -> set[SkipReason]:
    return {entry.reason for entry in texts.skipped}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in FETCHING.items()])
def test_kustomizations_that_fetch(repository: Path, address: str, text: str) -> None:
    """They are not built, for a reason that is told, and nobody connects to where they lead."""
    if not shutil.which("kubectl"):
        missing("kubectl", of_dev_extra=False)
    every = {"app/kustomization.yaml": text, **{f"app/{name}": beside for name, beside in BESIDE.items()}}
    write(repository, {name: each.replace("ADDRESS", address) for name, each in every.items()})
    (repository / "app" / "linked").symlink_to("inner")
    texts = gather_texts(["app/kustomization.yaml"], tools=Tools())

    assert [] == texts.texts
    assert reasons(texts) <= {SkipReason.DOWNLOAD_NEEDED, SkipReason.UNSUPPORTED}
    assert texts.skipped[0].named
