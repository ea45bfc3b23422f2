"""Names with a slip of the pen, told from other names."""

from __future__ import annotations

import pytest

from policies.model.topology_keys import is_misspelled


@pytest.mark.parametrize(
    ("name", "other", "expected"),
    [
        pytest.param("web", "web", False, id="the same"),
        pytest.param("", "", False, id="nothing"),
        pytest.param("shops", "shop", True, id="a letter at the end"),
        pytest.param("xshop", "shop", True, id="a letter at the start"),
        pytest.param("shoop", "shop", True, id="a letter twice"),
        pytest.param("sohp", "shop", True, id="two exchanged"),
        pytest.param("shpo", "shop", True, id="the last two exchanged"),
        pytest.param("shot", "shop", True, id="another at the end"),
        pytest.param("shop1", "shop", False, id="a digit"),
        pytest.param("shop1", "shop2", False, id="another digit"),
        pytest.param("shop12", "shop21", False, id="digits exchanged"),
        pytest.param("dba", "db", False, id="3 letters"),
        pytest.param("shop-a", "shop-b", False, id="a word of 1 letter"),
        pytest.param("shop-api", "shop-app", False, id="a word of 3 letters"),
        pytest.param("shop-apis", "shop-api", True, id="a word of 4 letters"),
        pytest.param("shop-web", "shopweb", True, id="a separator"),
        pytest.param("a-b", "ab", False, id="a separator in 2 letters"),
        pytest.param("shop_web", "shop-web", False, id="another separator, the same words"),
        pytest.param("shoqs", "shop", False, id="two letters"),
        pytest.param("x" * 63, "y" * 63, False, id="63 letters"),
    ],
)
def test_is_misspelled(name: str, other: str, *, expected: bool) -> None:
    """One letter in one word of some length is a slip, whichever of the two names has it."""
    assert expected == is_misspelled(name, of=other)
    assert expected == is_misspelled(other, of=name)
