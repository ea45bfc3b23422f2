"""The changes by an upgrade, as people read them and for programs."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planning.what_if import upgrade
from tests.planning.simulation.release_diffs import a_release_diff


def test_text(golden: Callable[[str, str], str]) -> None:
    """Each workload that differs, what differs, and the changes that are responsible."""
    text = upgrade.render_text(a_release_diff(), width=100, color=False)

    assert golden("release_diff.txt", text) == text
    assert "\x1b" not in text


def test_json(golden: Callable[[str, str], str]) -> None:
    """Each workload that differs, what differs, and the changes that are responsible."""
    answer = orjson.loads(upgrade.render_json(a_release_diff()))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()

    assert golden("release_diff.json", text) == text
    assert "\x1b" not in text
