"""Advice, in the format json."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import cast

import orjson
import pytest

from planning.advise.advise import Advice
from planning.advise.json import render
from policies.manifests.edits import apply_edits
from tests.builders import a_constraint
from tests.planning.advise.advices import advices
from tests.planning.goals import TEMPTING, THREE, Object, a_goal, advice_of


@pytest.mark.slow
def test_json(golden: Callable[[str, str], str]) -> None:
    """Every answer, of the form that the schema says."""
    answers = [json.loads(render(each)) for each in advices()]
    text = orjson.dumps(answers, option=orjson.OPT_INDENT_2).decode()

    assert golden("advise.json", text) == text


@pytest.fixture
def advice(request: pytest.FixtureRequest) -> Advice:
    """The advice of a case, made when the case is run."""
    return cast("Advice", request.param())


@pytest.mark.parametrize(
    "advice",
    [
        pytest.param(partial(advice_of, TEMPTING, a_goal(3, 12)), id="a new list"),
        pytest.param(
            partial(
                advice_of, THREE, a_goal(enforced=True), [a_constraint(whenUnsatisfiable="ScheduleAnyway")]
            ),
            id="another list",
        ),
    ],
    indirect=["advice"],
)
def test_patches(advice: Advice) -> None:
    """The patch does what the edits do, as the API server merges it."""
    patch = json.loads(render(advice))["patch"]

    assert patch is not None
    assert "strategic" == patch["type"]
    assert _merged(advice.workload.obj, patch["body"]) == apply_edits(advice.workload.obj, advice.edits)


def _merged(old: object, patch: object) -> object:
    """Merge a strategic patch whose lists replace, or have nothing to merge with."""
    if isinstance(patch, dict) and isinstance(old, dict):
        merged: Object = dict(old)
        for name, value in patch.items():
            merged[name] = _merged(old.get(name), value)
        return merged
    if isinstance(patch, list):
        replaces = {"$patch": "replace"} in patch
        assert replaces is bool(old)
        return [entry for entry in patch if entry != {"$patch": "replace"}]
    return patch
