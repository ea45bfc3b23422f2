"""A conformance run for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import jsonschema

from conformance import report_json, report_text
from conformance.run import CaseResult, ConformanceRun, compare_answer
from docs.generator.published import report_schemas
from tests.conformance.test_run import CASE

ANSWERS = (
    b'{"preFilter": "Skip", "nodes": [{"name": "n", "feasible": true, "total": 7}]}',
    b'{"preFilter": "Success", "nodes": [{"name": "n", "feasible": false, "total": "\\u001b[2J"}]}',
    b'{"nodes": [{"name": "n", "feasible": true}]}',
    b'{"error": "no such field", "details": [{"field": "pod.spec", "message": "unknown"}]}',
    b"y",
)


def a_run(copies: int = 1, *, stopped: str = "") -> ConformanceRun:
    """Return a run with each outcome, the answers so many times."""
    run = ConformanceRun(target="the command ./simulator", corpus="Conformance corpus 1.0.0")
    for number, body in enumerate(ANSWERS * copies):
        run.add(compare_answer(replace(CASE, id=f"case-{number}"), body))
    run.add(CaseResult.of(CASE))
    run.stopped = stopped
    return run


def test_the_report(golden: Callable[[str, str], str]) -> None:
    """Every outcome, what was not answered, and why cases failed."""
    text = report_text.render(a_run(stopped="the command ./simulator ended"))

    assert golden("conformance.txt", text) == text


def test_many_failures() -> None:
    """A report stays short; the JSON has all of it."""
    run = a_run(100)

    assert 60 > len(report_text.render(run).splitlines())
    assert 200 == report_json.render(run).count('"id": "case-')


def test_a_value_that_cannot_be_written() -> None:
    """An answer may be nested deeper than JSON is written."""
    deep = b'{"preFilter": ' + b"[" * 900 + b"]" * 900 + b"}"
    run = ConformanceRun(target="t", corpus="c")
    run.add(compare_answer(CASE, deep))

    assert "got a deeply nested value" in report_text.render(run)


def test_the_json(golden: Callable[[str, str], str]) -> None:
    """The same for programs."""
    text = report_json.render(a_run())

    assert golden("conformance.json", text) == text
    jsonschema.validate(json.loads(text), report_schemas()["conformance/conformance.schema.json"])
