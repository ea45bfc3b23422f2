"""The result of a preview of policies, and its inputs: for all formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policies.admission.policy_preview import EffectChange, PolicyPreview
from policies.model.version import KubernetesVersion

#: What people read of each change.
HEADLINES: Final[Mapping[EffectChange, str]] = {
    EffectChange.DENIED: "would be denied",
    EffectChange.WARNED: "would be warned about",
    EffectChange.INJECTED: "would get default constraints",
    EffectChange.INJECTED_DIFFERENTLY: "would get other default constraints",
    EffectChange.NO_LONGER_INJECTED: "would get no default constraints any more",
    EffectChange.NO_LONGER_DENIED: "would no longer be denied",
    EffectChange.NO_LONGER_WARNED: "would no longer be warned about",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRun:
    """A preview.

    Attributes:
        preview: What it found.
        policies: The names of the policies that are previewed.
        in_force: The names of those in force now.
        version: The release of the cluster.
        unread: What was not looked at, and why.
        top: How many workloads a text lists under each change.
    """

    preview: PolicyPreview
    policies: tuple[str, ...]
    in_force: tuple[str, ...]
    version: KubernetesVersion
    unread: tuple[str, ...]
    top: int
