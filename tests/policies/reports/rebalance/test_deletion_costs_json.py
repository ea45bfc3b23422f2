"""Deletion costs, in the format json."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from policies.reports.rebalance import deletion_costs_json
from tests.policies.reports.rebalance.rebalances import scale_downs


def test_json(golden: Callable[[str, str], str]) -> None:
    """The pods with the commands that annotate them, or why there are none."""
    answers = [orjson.loads(deletion_costs_json.render(each)) for each in scale_downs()]
    text = orjson.dumps(answers, option=orjson.OPT_INDENT_2).decode()

    assert golden("deletion_costs.json", text) == text
