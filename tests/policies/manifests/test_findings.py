"""Findings, as a line of text."""

from __future__ import annotations

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity


def test_a_finding_names_file_line_and_field() -> None:
    """A finding reads ``file:line: field: message``, without the parts that it has not."""
    where = Location("web.yaml", 7)

    assert "web.yaml:7: spec.a: wrong" == str(
        Finding(Severity.ERROR, where, FieldPath(("spec", "a")), "wrong", "r")
    )
    assert "web.yaml: wrong" == str(Finding(Severity.NOTE, Location("web.yaml"), FieldPath(), "wrong", "r"))
