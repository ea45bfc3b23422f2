"""The changes by an upgrade, for programs."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from policies.reports import upgrade
from tests.policies.reports.upgrade.release_diffs import a_release_diff


def test_json(golden: Callable[[str, str], str]) -> None:
    """Each workload that differs, what differs, and the changes that are responsible."""
    answer = orjson.loads(upgrade.render_json(a_release_diff()))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()

    assert golden("release_diff.json", text) == text
    assert "\x1b" not in text
