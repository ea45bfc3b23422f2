"""The lines of a preview that the author of a policy reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.admission.decision import MAX_WARNING_LENGTH
from policies.admission.effect_change import EffectChange
from policies.admission.policy_preview import (
    ComparedWorkload,
    PolicyPreview,
    WorkloadChange,
    preview_warnings,
)


def a_preview(
    *affected: tuple[EffectChange, int], looked_at: int = 10, total: int = 10, name: str = "web"
) -> PolicyPreview:
    """Return a preview with so many workloads for each change."""
    compared = {
        ("Deployment", "shop", f"{name}-{change}-{number}"): ComparedWorkload(
            0, (WorkloadChange(change, ("some-rule",)),)
        )
        for change, count in affected
        for number in range(count)
    }
    return PolicyPreview(looked_at=looked_at, total=total, compared=compared)


@pytest.mark.parametrize(
    "preview",
    [
        pytest.param(a_preview((EffectChange.DENIED, 1)), id="one"),
        pytest.param(
            a_preview(*((change, 5) for change in EffectChange), looked_at=100, total=2000), id="everything"
        ),
        pytest.param(a_preview(looked_at=0, total=2000), id="no time at all"),
    ],
)
def test_warnings(preview: PolicyPreview, wording: Callable[[str], str]) -> None:
    """At most three lines and a count."""
    lines = preview_warnings(preview)

    assert 4 >= len(lines)
    assert wording("\n".join(lines)) == "\n".join(lines)


@pytest.mark.parametrize(
    "preview",
    [
        pytest.param(a_preview(), id="nothing changes"),
        pytest.param(a_preview((EffectChange.NO_LONGER_DENIED, 3)), id="only for the better"),
    ],
)
def test_silence(preview: PolicyPreview) -> None:
    """A policy that hurts nothing that is there warns of nothing."""
    assert [] == preview_warnings(preview)


def test_length() -> None:
    """Names of any length and content fit."""
    lines = preview_warnings(a_preview((EffectChange.DENIED, 9), name="x\x1b" * 200))

    assert all(len(line) <= MAX_WARNING_LENGTH and line.isprintable() for line in lines)
