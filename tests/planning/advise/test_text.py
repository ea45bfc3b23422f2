"""Advice, in the format text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planning.advise import text as advise_text
from tests.planning.advise.advices import advices


@pytest.mark.slow
def test_text(golden: Callable[[str, str], str]) -> None:
    """The constraints to write and why, or what cannot be reached; then the proof."""
    text = "\n".join(advise_text.render(each, width=100, color=False) for each in advices())

    assert golden("advise.txt", text) == text
    assert "\x1b" not in text


@pytest.mark.slow
def test_narrow() -> None:
    """In a narrow terminal headings of numbers are folded as texts are, and nothing is cut off."""
    texts = [advise_text.render(each, width=40, color=False) for each in advices()]

    assert not any("…" in text for text in texts)
