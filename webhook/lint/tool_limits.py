"""How helm renders charts, as options say, and how much time and room it, kustomize and Git may take.

Nothing is run here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from policies.config.lint_config import Rendering
from policies.manifests.skipped import SkipReason
from policies.model.version import KNOWN_VERSION, KubernetesVersion

#: Seconds that a program may take for one chart or kustomization. They take one or two.
TIMEOUT_S: Final = 60
#: Seconds of the processor that a program may take; the largest charts take two.
PROCESSOR_S: Final = 10
#: Seconds of the processor that every program of a run may take, however many there are.
ORDINARY_S: Final = 2
#: Seconds of the processor that all programs of a run may take beyond that, together.
EXTRA_S: Final = 60
#: Bytes that a program may print; the largest charts print a sixth of it.
MAX_OUTPUT: Final = 2**25
#: Bytes of address space that a program may have. Helm and kustomize reserve 0.8 GiB and seldom use 0.2 more.
MAX_MEMORY: Final = 2**31


class ToolError(Exception):
    """Something could not be rendered; the text says why.

    Attributes:
        reason: The same for programs.
        needs: What would have to be downloaded.
    """

    def __init__(
        self, text: str, reason: SkipReason = SkipReason.TOOL_FAILED, needs: tuple[str, ...] = ()
    ) -> None:
        super().__init__(text)
        self.reason, self.needs = reason, needs


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
