"""Which folders go with a copy of an object."""

from __future__ import annotations

import pytest

from policies.model.neighbors import Copies, CopyScope, FolderIndex, FolderSums

NESTED = ("base", "base/prod")


@pytest.mark.parametrize(
    ("folders", "folder", "elsewhere", "expected"),
    [
        pytest.param(("prod",), "prod", "hpa", True, id="1 copy: whatever there is"),
        pytest.param(("prod", "test"), "prod", "prod", True, id="2 copies: its own folder"),
        pytest.param(("prod", "test"), "prod", "prod/hpa", True, id="2 copies: inside its own"),
        pytest.param(("prod", "test"), "prod", "test", False, id="2 copies: the folder of the other"),
        pytest.param(("prod", "test"), "prod", "", True, id="2 copies: above both"),
        pytest.param(("prod", "test"), "prod", "hpa", False, id="2 copies: beside both"),
        pytest.param(("prod/web", "test/web"), "prod/web", "prod/hpa", True, id="beside it in its part"),
        pytest.param(("prod/web", "test/web"), "prod/web", "test/hpa", False, id="beside the other one"),
        pytest.param(NESTED, "base", "base", True, id="its own, with another copy inside"),
        pytest.param(NESTED, "base", "base/prod", False, id="the folder of a copy inside"),
        pytest.param(NESTED, "base", "base/hpa", False, id="inside, beside a copy inside"),
        pytest.param(NESTED, "base/prod", "base", True, id="the folder of the copy around it"),
        pytest.param(NESTED, "base", "", True, id="above all"),
        pytest.param(("/srv/a", "/srv/b"), "/srv/a", "/srv", True, id="absolute paths"),
    ],
)
def test_what_goes_with_a_copy(folders: tuple[str, ...], folder: str, elsewhere: str, expected: bool) -> None:  # noqa: FBT001
    """Its own part of the repository and the folders around it, by buckets and by sums."""
    copies = Copies(("web", each) for each in folders)
    places: FolderIndex[set[str]] = FolderIndex(set)
    for bucket in places.buckets_for(elsewhere):
        bucket.add("hpa")
    place = copies.place("web", folder)
    sums = FolderSums()
    sums.add(place, 3)

    assert expected == any("hpa" in bucket for bucket in places.near(place))
    assert 3 * expected == sums.of(elsewhere)


def test_the_nearest_comes_first() -> None:
    """Entries of the same folder come before those beside it, and these before those above."""
    places: FolderIndex[list[str]] = FolderIndex(list)
    for folder in ("", "shop", "shop/prod/hpa", "shop/prod/web"):
        for bucket in places.buckets_for(folder):
            bucket.append(folder)
    found = [bucket[-1] for bucket in places.near(CopyScope("shop/prod/web", "shop/prod"))]

    assert ["shop/prod/web", "shop/prod/web", "shop", ""] == found
