"""A run of the linter as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema
import pytest
from hypothesis import given

from docs.generator.published import report_schemas
from policies.lint.reports.json import render
from policies.lint.reports.run import LintRun
from tests.policies.lint.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN

FORM = report_schemas()["policies/lint/lint.schema.json"]
VALIDATOR = jsonschema.Draft202012Validator(FORM)


def test_render(golden: Callable[[str, str], str]) -> None:
    """Everything that is known of a run."""
    actual = render(RUN)

    assert golden("lint.json", actual) == actual


def test_schema() -> None:
    """The schema is one."""
    jsonschema.Draft202012Validator.check_schema(FORM)


@pytest.mark.parametrize("run", [RUN, CLEAN], ids=["everything", "nothing"])
def test_schema_describes_every_field(run: LintRun) -> None:
    """Reports have the fields of the schema, and no others: it closes every object."""
    report = json.loads(render(run))

    VALIDATOR.validate(report)
    assert not VALIDATOR.is_valid(report | {"more": 1})
    assert not VALIDATOR.is_valid(report | {"summary": {}})


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever a manifest contains, the report is JSON of the form, with its texts as they were."""
    report = json.loads(render(run))

    VALIDATOR.validate(report)
    assert [finding.message.encode(errors="backslashreplace").decode() for finding in run.findings] == [
        finding["message"] for finding in report["findings"]
    ]
