"""Snapshot files, as kubectl prints them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

from policies.errors import DocumentError
from webhook.cluster.snapshot_file import SnapshotFile

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
LIST = {"apiVersion": "v1", "kind": "List", "items": [SERVICE]}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(LIST).encode(),
        yaml.safe_dump(LIST).encode(),
        gzip.compress(json.dumps(LIST).encode()),
        yaml.safe_dump_all([SERVICE, {"apiVersion": "v1", "kind": "ConfigMap"}]).encode(),
    ],
    ids=["JSON", "YAML", "gzip", "documents"],
)
def test_every_form_is_read(tmp_path: Path, content: bytes) -> None:
    """A list in JSON or YAML, packed or not, and single documents hold the same cluster."""
    (tmp_path / "cluster").write_bytes(content)
    source = SnapshotFile(tmp_path / "cluster")

    assert [{"app": "web"}] == source.snapshot().service_selectors("shop", {"app": "web"})
    assert () == source.problems


def test_broken_objects_are_named_with_the_file(tmp_path: Path) -> None:
    """An object that is broken is left out and told."""
    broken = SERVICE | {"spec": {"selector": "app=web"}}
    (tmp_path / "cluster.json").write_text(json.dumps(LIST | {"items": [broken, SERVICE]}))
    source = SnapshotFile(tmp_path / "cluster.json")

    assert [{"app": "web"}] == source.snapshot().service_selectors("shop", {"app": "web"})
    assert 1 == len(source.problems)
    assert source.problems[0].startswith(f"{tmp_path}/cluster.json: Service shop/web left out: spec.selector")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"just text",
        b"[1, 2]",
        b"\x1f\x8bnot gzip",
        gzip.compress(b"{}")[:-9],
        b"\xff\xfe\xff",
        b"{",
    ],
    ids=["empty", "text", "numbers", "bad gzip", "cut gzip", "binary", "cut JSON"],
)
def test_other_files_are_document_errors(tmp_path: Path, content: bytes) -> None:
    """A file without Kubernetes objects is refused with its name."""
    (tmp_path / "cluster").write_bytes(content)

    with pytest.raises(DocumentError, match="cluster"):
        SnapshotFile(tmp_path / "cluster")
