"""Plans of evictions, in the format json."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planning.audit import evictions_text as evictions
from tests.planning.audit.rebalances import rebalances


def test_json(golden: Callable[[str, str], str]) -> None:
    """The evictions with where the replacements go, or why there is no plan."""
    answers = [orjson.loads(evictions.render_json(*each)) for each in rebalances()]
    text = orjson.dumps(answers, option=orjson.OPT_INDENT_2).decode()

    assert golden("rebalance.json", text) == text
    assert "\x1b" not in text
