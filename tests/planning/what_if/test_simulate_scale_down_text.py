"""The nodes that an autoscaler removes, as a person reads of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planning.simulation.autoscaled import ScaledDown, WhyKept, WhyRemoved
from planning.text.scale_down_text import _GOES, _STAYS, scaled_down_text
from policies.reports.terminal import print_all
from tests.builders import ZONE, a_node
from tests.planning.simulation.test_scale_down import (
    THREE,
    a_budget,
    a_machine,
    groups,
    on,
    pool,
    scaled,
    spread_over,
)


def text_of(found: ScaledDown) -> str:
    return print_all(scaled_down_text(found), width=80, color=False)


def cases() -> dict[str, list[Any]]:
    """Return for each golden file the documents of an autoscaler, and the objects of a cluster."""
    soft = spread_over(ZONE, "ScheduleAnyway")
    return {
        "scale_down_undoes.txt": [
            groups(), *THREE, a_node("n4", "a"), on("n4", "lone", owner=None),
            *(on(f"n{number}", f"web-{number}", spec=soft) for number in (1, 2, 3)),
        ],
        "scale_down_none.txt": [groups(least=1), *THREE, on("n1", "web-1"), a_budget(0)],
        "scale_down_karpenter.txt": [
            pool(), a_machine("m1"), a_machine("m2", "b"), a_machine("m3", "b"), on("m1", "web-1", "3500m"),
            on("m2", "web-2", "800m", spec=soft),
        ],
    }  # fmt: skip


@pytest.mark.parametrize("name", cases())
def test_texts(name: str, golden: Callable[[str, str], str]) -> None:
    """The whole text; read the golden file before agreeing to it."""
    documents, *objects = cases()[name]
    text = text_of(scaled(documents, *objects))

    assert golden(name, text) == text


def test_every_reason_has_words() -> None:
    """No reason is without a text, and no two have the same."""
    assert _GOES.keys() == set(WhyRemoved)
    assert _STAYS.keys() == set(WhyKept)
    assert len(set(_STAYS.values())) == len(_STAYS)


def test_interrupted() -> None:
    """A forecast that was not played to the end is reported as such."""
    pods = [on(f"n{number}", f"web-{number}") for number in (1, 2, 3)]
    text = text_of(scaled(groups(), *THREE, *pods, turns=1))

    assert "Not played to the end: further nodes may go." in text
