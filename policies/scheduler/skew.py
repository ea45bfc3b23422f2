"""The global minimum of a constraint and the skew above it, of the matching pods of its domains.

Every answer takes them from here, be it about the cluster as it is or about a moment of a simulation.

Source: ``minMatchNum`` and ``Filter``, ``podtopologyspread/filtering.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.request import AppliedConstraint


def global_minimum(applied: AppliedConstraint, matching: NDArray[np.int64]) -> int:
    """Return the matching pods of the emptiest domain; 0 for fewer domains than ``minDomains``.

    Args:
        applied: The constraint; of ScheduleAnyway constraints ``minDomains`` has no meaning.
        matching: The matching pods of the domains that an eligible node has, shape ``(d,)``.
    """
    if not len(matching) or (applied.is_hard and len(matching) < applied.constraint.min_domains):
        return 0
    return int(np.minimum.reduce(matching))


def skew(applied: AppliedConstraint, matching: NDArray[np.int64]) -> int:
    """Return how many more pods the fullest domain has than the global minimum; 0 without domains.

    Args:
        applied: The constraint.
        matching: The matching pods of the domains that an eligible node has, shape ``(d,)``.
    """
    return int(matching.max()) - global_minimum(applied, matching) if len(matching) else 0


def skew_of(applied: AppliedConstraint, counts: Mapping[str, int]) -> int:
    """Return the skew of matching pods by domain.

    Args:
        applied: The constraint.
        counts: The matching pods of the domains that an eligible node has, by their values.
    """
    return skew(applied, np.array(list(counts.values()), np.int64))
