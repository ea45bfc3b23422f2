"""How charts are rendered, as options say. Renders none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from policies.config.lint_config import Rendering
from policies.model.version import KNOWN_VERSION, KubernetesVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One way in which a chart is installed."""

    #: The release's name; by default an arbitrary one, since many charts build their names from it.
    name: str = "release"
    namespace: str = ""  #: Where it is installed; empty if that is not known.
    values: tuple[str, ...] = ()  #: Files with values, the later ones first in rank.
    inline: bytes = b""  #: A YAML document with values that come before those of the files; empty for none.
    settings: tuple[str, ...] = ()  #: Options of helm with single values, which come before all others.
    api_versions: tuple[str, ...] = ()  #: APIs that the cluster has besides those of Kubernetes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """How charts are rendered."""

    helm: Rendering = Rendering.AUTO  #: Whether helm may be run.
    version: KubernetesVersion = KNOWN_VERSION  #: The release of Kubernetes that charts are rendered for.
    #: How charts are installed that were given by name; None if nothing is said.
    given: Release | None = None
    #: How charts are installed, by their absolute folders.
    releases: Mapping[Path, tuple[Release, ...]] = field(default_factory=dict)
