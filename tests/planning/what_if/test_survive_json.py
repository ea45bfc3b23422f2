"""Survivals for programs; the golden file has every field."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planning.what_if import survive_json
from tests.planning.what_if.survivals import a_deployment, a_mixed_survival, a_survival


def test_json(golden: Callable[[str, str], str]) -> None:
    """The whole answer; read the golden file before agreeing to it."""
    answer = orjson.loads(survive_json.render(a_mixed_survival()))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    assert golden("survive.json", text) == text


def test_what_was_not_tried() -> None:
    """An answer that is not complete says so, and has the losses that were tried."""
    answer = orjson.loads(survive_json.render(a_survival(a_deployment(), tried=1)))

    assert (False, None) == (answer["complete"], answer["survives"])
    assert (3, 1) == (answer["domains"], len(answer["losses"]))
