"""How objects that cannot be read are named."""

from __future__ import annotations

import pytest

from webhook.kube.kind_record import LeftOutObject, left_out_warning


@pytest.mark.parametrize(
    ("count", "named", "more"),
    [
        pytest.param(1, 1, False, id="1: named"),
        pytest.param(3, 3, False, id="3: named"),
        pytest.param(1_000, 3, True, id="1,000: 3 named"),
    ],
)
def test_a_warning_stays_short(count: int, named: int, *, more: bool) -> None:
    """However many there are, a few are named and the others are counted."""
    found = [
        LeftOutObject(kind="Pod", namespace="shop", name=f"p{n}", reason="x" * 9_999) for n in range(count)
    ]
    text = left_out_warning(found)

    assert named == text.count("Pod shop/p")
    assert more == (f"{count - 3:,} more" in text)
    assert len(text) < 1_000


def test_hostile_names() -> None:
    """A name steers no terminal."""
    obj = LeftOutObject(kind="Pod", name="a\x1b[31m\nb", reason="it is\nnull")

    assert str(obj).isprintable()
    assert left_out_warning([obj]).isprintable()
