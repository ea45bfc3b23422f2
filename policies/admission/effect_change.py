"""The kinds of change that a policy brings to a workload."""

from __future__ import annotations

from enum import StrEnum


class EffectChange(StrEnum):
    """The kinds of change for a workload, the gravest first; the last is none, for it is so already."""

    DENIED = "denied"
    WARNED = "warned"
    INJECTED = "injected"
    INJECTED_DIFFERENTLY = "injectedDifferently"
    NO_LONGER_INJECTED = "noLongerInjected"
    NO_LONGER_DENIED = "noLongerDenied"
    NO_LONGER_WARNED = "noLongerWarned"
    NOT_INJECTED = "notInjected"
