"""Plans as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema
import pytest
from hypothesis import given

from docs.generator.published import report_schemas
from planning.plan.answer import SCHEMA, PlanRun, render
from tests.planning.plan.plans import EMPTY, HOSTILE_RUNS, RUN

FORM = report_schemas()["planning/schemas/plan.schema.json"]
VALIDATOR = jsonschema.Draft202012Validator(FORM)


def test_render(golden: Callable[[str, str], str]) -> None:
    """Everything that is known of a plan."""
    actual = render(RUN)

    assert golden("plan.json", actual) == actual


def test_schema() -> None:
    """The schema is one, and names the version that reports have."""
    jsonschema.Draft202012Validator.check_schema(FORM)

    assert SCHEMA == FORM["properties"]["schema"]["const"]


@pytest.mark.parametrize("run", [RUN, EMPTY], ids=["everything", "nothing"])
def test_schema_describes_every_field(run: PlanRun) -> None:
    """Reports have the fields of the schema, and no others: it closes every object."""
    report = json.loads(render(run))

    VALIDATOR.validate(report)
    assert not VALIDATOR.is_valid(report | {"more": 1})
    assert not VALIDATOR.is_valid(report | {"summary": {}})


@given(HOSTILE_RUNS)
def test_hostile(run: PlanRun) -> None:
    """Whatever a manifest contains, the report is JSON of the form."""
    VALIDATOR.validate(json.loads(render(run)))
