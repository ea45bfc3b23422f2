"""The changes by an upgrade, as people read them."""

from __future__ import annotations

from collections.abc import Callable

from policies.reports import upgrade
from tests.policies.reports.upgrade.release_diffs import a_release_diff


def test_text(golden: Callable[[str, str], str]) -> None:
    """Each workload that differs, what differs, and the changes that are responsible."""
    text = upgrade.render_text(a_release_diff(), width=100, color=False)

    assert golden("release_diff.txt", text) == text
    assert "\x1b" not in text
