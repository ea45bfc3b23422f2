"""Renders the chart and reads the kustomization, to compare what both would install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm/evenkeel"
KUSTOMIZE = DEPLOY / "kustomize"
#: The value that the chart requires.
IMAGE = {"image": {"repository": "evenkeel"}}
#: The release that charts are rendered for, unless a test says otherwise.
KUBERNETES = "1.36.0"
#: Labels that only a chart gives.
OF_HELM = ("app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart")

#: An object of a manifest.
Manifest = dict[str, Any]
#: Manifests by kind and name.
Manifests = dict[tuple[str, str], Manifest]


def missing(what: str, *, of_dev_extra: bool = True) -> NoReturn:
    """Skip a test whose tool is not installed; CI has no excuse for what the dev extra brings."""
    if of_dev_extra and "CI" in os.environ:
        pytest.fail(f"{what} is not installed, though the dev extra brings it")
    pytest.skip(f"{what} is not installed: nothing was checked")


def tool(name: str, *, of_dev_extra: bool = True) -> str:
    """Return the path of a program of the environment or of the machine."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or missing(name, of_dev_extra=of_dev_extra)


def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, timeout=60)


def template(
    *arguments: str, values: Mapping[str, Any] | None = None, kubernetes: str = KUBERNETES
) -> subprocess.CompletedProcess[str]:
    """Render the chart into the namespace ``evenkeel``, with values besides its own."""
    return _template(arguments, yaml.safe_dump(IMAGE | dict(values or {})), kubernetes)


@cache
def _template(arguments: tuple[str, ...], values: str, kubernetes: str) -> subprocess.CompletedProcess[str]:
    return run(
        tool("helm"), "template", "evenkeel", str(CHART), "--namespace=evenkeel", "--values=-",
        f"--kube-version={kubernetes}", *arguments, stdin=values,
    )  # fmt: skip


def render(
    *arguments: str, values: Mapping[str, Any] | None = None, kubernetes: str = KUBERNETES
) -> Manifests:
    """Return the objects that the chart renders from values."""
    done = template(*arguments, values=values, kubernetes=kubernetes)
    assert 0 == done.returncode, done.stderr
    return by_name(yaml.safe_load_all(done.stdout))


@cache
def rendered() -> Manifests:
    """Return the objects that the chart renders from its own values; callers must not change it."""
    return render()


@cache
def base() -> Manifests:
    """Return the objects of the kustomization's base; callers must not change it."""
    listed = yaml.safe_load((KUSTOMIZE / "base/kustomization.yaml").read_text())["resources"]
    return by_name(
        manifest
        for file in listed
        for manifest in yaml.safe_load_all((KUSTOMIZE / "base" / file).read_text())
    )


def build(folder: Path) -> Manifests:
    """Return the objects that a kustomization builds."""
    done = run(tool("kubectl", of_dev_extra=False), "kustomize", str(folder))
    assert 0 == done.returncode, done.stderr
    return by_name(yaml.safe_load_all(done.stdout))


def by_name(manifests: Iterable[Manifest | None]) -> Manifests:
    """Return manifests by kind and name, without what is Helm's."""
    found: Manifests = {}
    for manifest in filter(None, manifests):
        for label in OF_HELM:
            manifest["metadata"].get("labels", {}).pop(label, None)
        key = (manifest["kind"], manifest["metadata"]["name"])
        assert key not in found
        found[key] = manifest
    return found
