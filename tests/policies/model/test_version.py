"""Versions of Kubernetes, as people and clusters write them."""

from __future__ import annotations

import pytest

from policies.manifests.errors import UsageError
from policies.model.version import KubernetesVersion


@pytest.mark.parametrize(
    "text", ["1.36", "v1.36", "v1.36.2", "1.36+", "v1.36.2-gke.1", " 1.36 ", "1.36+k3s1"]
)
def test_versions(text: str) -> None:
    """Patch releases and vendors' suffixes make no difference."""
    assert KubernetesVersion(1, 36) == KubernetesVersion.parse(text)


@pytest.mark.parametrize(
    ("text", "patch"),
    [("1.36", None), ("v1.36.2-gke.1", 2), ("1.27+", None), ("1.36-rc.1", None), ("1.36.0", 0)],
)
def test_patches(text: str, patch: int | None) -> None:
    """The patch is kept, for what patches change."""
    assert patch == KubernetesVersion.parse(text).patch


@pytest.mark.parametrize("text", ["", "1", "latest", "1.x", "1.36.2 or so", "99999.1"])
def test_other_texts_are_usage_errors(text: str) -> None:
    """Anything else is told as such, with an example."""
    with pytest.raises(UsageError, match=r"such as 1\.36"):
        KubernetesVersion.parse(text)


def test_versions_are_ordered_by_number() -> None:
    """1.9 is older than 1.27."""
    assert KubernetesVersion.parse("1.9") < KubernetesVersion.parse("1.27") < KubernetesVersion.parse("2.0")
