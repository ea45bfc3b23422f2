"""Findings for the tests of reports, in no order."""

from __future__ import annotations

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity

FINDINGS = [
    Finding(Severity.ERROR, Location("b.yaml"), FieldPath(), "is unreadable", "unreadable"),
    Finding(Severity.NOTE, Location("a.yaml", 10), FieldPath(), "is a document", "a-note"),
    Finding(Severity.WARNING, Location("a.yaml", 2), FieldPath(("spec",)), "is odd", "odd"),
    Finding(Severity.ERROR, Location("a.yaml", 2), FieldPath(("spec", "x")), "is wrong", "wrong"),
]
