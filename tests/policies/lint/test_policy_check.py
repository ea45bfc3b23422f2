"""Findings of policies, as one JSON object and as lines of text."""

from __future__ import annotations

import json

import jsonschema

from docs.generator.published import report_schemas
from policies.lint.policy_check import SCHEMA, render_json, render_text
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity
from tests.policies.lint.findings import FINDINGS

FORM = report_schemas()["policies/lint/policy_check.schema.json"]
VALIDATOR = jsonschema.Draft202012Validator(FORM)


def test_schema() -> None:
    """The schema is one."""
    jsonschema.Draft202012Validator.check_schema(FORM)


def test_render() -> None:
    """The form has a version; a finding of a whole file has no line."""
    report = json.loads(render_json(FINDINGS, 2))

    VALIDATOR.validate(report)
    assert (1, 2, SCHEMA) == (report["version"], report["documents"], FORM["properties"]["schema"]["const"])
    assert not VALIDATOR.is_valid(report | {"more": 1})
    assert {
        "severity": "error",
        "rule": "wrong",
        "file": "a.yaml",
        "line": 2,
        "field": "spec.x",
        "message": "is wrong",
    } == report["findings"][0]
    assert ["wrong", "odd", "a-note", "unreadable"] == [finding["rule"] for finding in report["findings"]]
    assert report["findings"][3]["line"] is None


def test_order_does_not_depend_on_the_input() -> None:
    """The same findings give the same text."""
    assert render_json(FINDINGS, 1) == render_json(FINDINGS[::-1], 1)


def test_file_names_that_are_no_text() -> None:
    """A file name with bytes that are no characters can be printed."""
    finding = Finding(Severity.ERROR, Location("\udcff.yaml"), FieldPath(), "x", "x")

    assert "\\udcff.yaml" == json.loads(render_json([finding], 1))["findings"][0]["file"]


def test_lines() -> None:
    """One line a finding; what is no error says so behind the place."""
    assert (
        "a.yaml:2: spec.x: is wrong\n"
        "a.yaml:2: warning: spec: is odd\n"
        "a.yaml:10: note: is a document\n"
        "b.yaml: is unreadable\n"
    ) == render_text(FINDINGS)


def test_nothing() -> None:
    """No findings are no lines."""
    assert "" == render_text([])
