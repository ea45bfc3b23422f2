"""Literals of CEL."""

from __future__ import annotations

from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel

from policies.emit.cel import literal

_ENVIRONMENT = celpy.Environment()


@pytest.mark.parametrize(
    "value", ["it's", 'a "b"', "a\\nb", "é\n\x00", 3, True, ["a", "b"], {"a": 1, "b": ["x"], "c": {"d": "'"}}]
)
def test_literals(value: Any) -> None:
    """A literal means the value that it was written for."""
    program = _ENVIRONMENT.program(_ENVIRONMENT.compile(literal(value)))

    assert json_to_cel(value) == program.evaluate({})
