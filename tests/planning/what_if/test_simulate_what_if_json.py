"""The changes by actions, for programs; the golden file has every field."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planning.what_if import simulate_json
from tests.planning.what_if.what_ifs import a_loss


def test_json(golden: Callable[[str, str], str]) -> None:
    """The whole answer; read the golden file before agreeing to it."""
    answer = orjson.loads(simulate_json.render(a_loss()))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    assert golden("what_if.json", text) == text
