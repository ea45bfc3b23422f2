"""The version of a Kubernetes cluster, as far as behavior depends on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})\+?([.+-]\S*)?")


@dataclass(frozen=True, slots=True, order=True)
class KubernetesVersion:
    """A minor release; patches change no rule that Evenkeel knows."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> KubernetesVersion:
        """Read ``1.36``, ``v1.36.2`` or ``1.27+``.

        Raises:
            UsageError: The text is no version.

        >>> str(KubernetesVersion.parse("v1.30.4-gke.1"))
        '1.30'
        """
        match = _VERSION.fullmatch(text.strip())
        if match is None:
            raise UsageError(
                f"Invalid value: {shown(text[:40])}: must be a Kubernetes version such as 1.36 or v1.36.2"
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


#: The release whose API and behavior the rules were measured on.
KNOWN_VERSION = KubernetesVersion(1, 36)
#: The first release whose API server and scheduler know ``matchLabelKeys`` by default (KEP-3243).
MATCH_LABEL_KEYS_SINCE = KubernetesVersion(1, 27)
