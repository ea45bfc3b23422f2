"""Findings as one JSON object."""

from __future__ import annotations

import json

from policies.fields import FieldPath
from policies.findings import Finding, Location, Severity
from policies.reports.json import render
from tests.policies.reports.findings import FINDINGS


def test_render() -> None:
    """The form has a version; a finding of a whole file has no line."""
    report = json.loads(render(FINDINGS))

    assert 1 == report["version"]
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
    assert render(FINDINGS) == render(FINDINGS[::-1])


def test_file_names_that_are_no_text() -> None:
    """A file name with bytes that are no characters can be printed."""
    finding = Finding(Severity.ERROR, Location("\udcff.yaml"), FieldPath(), "x", "x")

    assert "\\udcff.yaml" == json.loads(render([finding]))["findings"][0]["file"]
