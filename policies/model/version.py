"""The version of a Kubernetes cluster, as far as behavior depends on it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4})(?!\d))?\+?(?:[.+-]\S*)?")


@dataclass(frozen=True, slots=True, order=True)
class KubernetesVersion:
    """A minor release, and its patch where that is known.

    Two patches of one release are equal: what differs between them is found with ``reaches``. Without a
    patch the newest is meant.
    """

    major: int
    minor: int
    patch: int | None = field(default=None, compare=False)

    def wire_form(self) -> str:
        """Return the release as it is sent."""
        return str(self)

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
        return cls(int(match[1]), int(match[2]), int(match[3]) if match[3] else None)

    def reaches(self, since: KubernetesVersion) -> bool:
        """Return whether this is a release, or one after it; a release without a patch starts with its first.

        >>> fixed = KubernetesVersion(1, 34, 2)
        >>> [KubernetesVersion.parse(text).reaches(fixed) for text in ("1.34.1", "1.34", "1.35.0")]
        [False, True, True]
        """
        if self == since and self.patch is not None:
            return self.patch >= (since.patch or 0)
        return self >= since

    @property
    def exact(self) -> str:
        """The release with its patch, where that is known.

        >>> KubernetesVersion.parse("v1.30.4-gke.1").exact
        '1.30.4'
        """
        return str(self) if self.patch is None else f"{self}.{self.patch}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


#: The release whose API and behavior the rules were measured on.
KNOWN_VERSION = KubernetesVersion(1, 36)
#: The first release whose API server and scheduler know ``matchLabelKeys`` by default (KEP-3243).
MATCH_LABEL_KEYS_SINCE = KubernetesVersion(1, 27)
