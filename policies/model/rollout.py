"""How many pods a Deployment's rolling update may have too few or too many."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from policies.model.declared import Workload

#: What both ends are where a Deployment does not say: ``SetDefaults_Deployment``, ``apis/apps/v1``.
DEFAULT_SHARE = "25%"
_PERCENT = re.compile(r"(\d{1,6})%")


class RollingUpdate(NamedTuple):
    """How far the number of pods may stray while revisions change."""

    unavailable: int
    surge: int


def rolling_update(workload: Workload, replicas: int) -> RollingUpdate | None:
    """Return the limits of a Deployment's rolling update; None for other kinds and ways, and broken values.

    Source: ``ResolveFenceposts``, ``pkg/controller/deployment/util/deployment_util.go``, Kubernetes 1.36.
    """
    if (workload.kind.group, workload.kind.kind) != ("apps", "Deployment"):
        return None
    spec = workload.obj.get("spec")
    strategy: Any = (spec.get("strategy") if isinstance(spec, dict) else None) or {}
    if not isinstance(strategy, dict) or strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return None
    limits = strategy.get("rollingUpdate") or {}
    if not isinstance(limits, dict):
        return None
    unavailable = _resolved(limits.get("maxUnavailable"), replicas, up=False)
    surge = _resolved(limits.get("maxSurge"), replicas, up=True)
    if unavailable is None or surge is None:
        return None
    return RollingUpdate(unavailable or int(surge == 0), surge)


def _resolved(value: object, replicas: int, *, up: bool) -> int | None:
    """Return a number of pods, or a share of the replicas rounded up or down.

    >>> _resolved("25%", 3, up=False), _resolved("25%", 3, up=True), _resolved(2, 3, up=True)
    (0, 1, 2)
    """
    if value is None:
        value = DEFAULT_SHARE
    if type(value) is int:
        return value
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if percent is None:
        return None
    hundredths = int(percent[1]) * replicas
    return -(-hundredths // 100) if up else hundredths // 100
