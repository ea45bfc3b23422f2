"""How scores of plugins are brought to 0 to 100."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The best score a plugin gives: ``MaxNodeScore``.
MAX_SCORE: Final = 100


class NodeScores(NamedTuple):
    """A plugin's raw and normalized scores of each node, shape ``(n,)``; only the feasible nodes count."""

    raw: NDArray[np.int64]  #: What Score returns.
    normalized: NDArray[np.int64]  #: After NormalizeScore; the same where the plugin has none.


def by_highest(
    raw: NDArray[np.int64], scored: NDArray[np.bool_], *, reverse: bool = False
) -> NDArray[np.int64]:
    """Scale scores so that the highest is 100; reversed, so that 0 becomes 100 and the highest 0.

    Source: ``DefaultNormalizeScore``, ``pkg/scheduler/framework/plugins/helper``, Kubernetes 1.36.
    """
    if not raw.any():
        return np.where(scored, MAX_SCORE, 0) if reverse else np.zeros_like(raw)
    highest = int(np.where(scored, raw, 0).max(initial=0))
    scaled = MAX_SCORE * raw // highest if highest else np.zeros_like(raw)
    return np.where(scored, MAX_SCORE - scaled if reverse else scaled, 0)


def round_half_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to the nearest integer, halves away from zero as Go's ``math.Round`` (``np.rint`` makes 0.5 0).

    >>> round_half_away(np.array([0.5, 1.5, 0.49999999999999994, -2.5]))
    array([ 1,  2,  0, -3])
    """
    # Towards zero.
    whole = values.astype(np.int64)
    away = values - whole
    # Most scores are not below zero.
    if np.minimum.reduce(values, initial=0) >= 0:
        whole += away >= 0.5
        return whole
    return (whole + np.where(np.abs(away) >= 0.5, np.copysign(1.0, values), 0.0)).astype(np.int64)
