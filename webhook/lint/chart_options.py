"""How charts are rendered, as options say. Renders none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from policies.config.lint_config import Rendering
from policies.model.version import KNOWN_VERSION, KubernetesVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One way in which a chart is installed.

    Attributes:
        name: The release's name; by default an arbitrary one, since many charts build their names from it.
        namespace: Where it is installed; empty if that is not known.
        values: Files with values, the later ones first in rank.
        inline: A YAML document with values that come before those of the files; empty for none.
        settings: Options of helm with single values, which come before all others.
        api_versions: APIs that the cluster has besides those of Kubernetes.
    """

    name: str = "release"
    namespace: str = ""
    values: tuple[str, ...] = ()
    inline: bytes = b""
    settings: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """How charts are rendered.

    Attributes:
        helm: Whether helm may be run.
        version: The release of Kubernetes that charts are rendered for.
        given: How charts are installed that were given by name; None if nothing is said.
        releases: How charts are installed, by their absolute folders.
    """

    helm: Rendering = Rendering.AUTO
    version: KubernetesVersion = KNOWN_VERSION
    given: Release | None = None
    releases: Mapping[Path, tuple[Release, ...]] = field(default_factory=dict)
