"""Deletion costs, for programs and for people."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planning.audit.deletion_costs_text import render_json, render_text
from tests.planning.audit.rebalances import scale_downs


def test_json(golden: Callable[[str, str], str]) -> None:
    """The pods with the commands that annotate them, or why there are none."""
    answers = [orjson.loads(render_json(each)) for each in scale_downs()]
    text = orjson.dumps(answers, option=orjson.OPT_INDENT_2).decode()

    assert golden("deletion_costs.json", text) == text


def test_text(golden: Callable[[str, str], str]) -> None:
    """The pods with the commands that annotate them, or why there are none."""
    text = "\n".join(render_text(each, width=100, color=False) for each in scale_downs())

    assert golden("deletion_costs.txt", text) == text
