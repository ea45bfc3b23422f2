"""The page as one file that needs no server: the bundle, and a report in it."""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

from policies.reports.audit_answer import AuditAnswer
from policies.reports.explain_answer import ExplainAnswer
from policies.reports.lint_report import LintReport
from policies.reports.simulate_answer import SimulateAnswer

#: The version of the form of an embedded report.
VERSION: Final = 1


class EmbeddedReport(TypedDict):
    """A report in a page of its own.

    Attributes:
        kind: The command that made it.
        version: The version of this form.
        evenkeel: The version of Evenkeel.
        title: What it is about.
        notes: What was left out, or is not known.
        document: What the command prints with ``-o json``.
    """

    kind: Literal["explain", "simulate", "audit", "plan", "lint"]
    version: Literal[1]
    evenkeel: str
    title: str
    notes: list[str]
    document: Any


#: The forms of the documents, and of what they are in.
REPORT_TYPES: Final = (ExplainAnswer, SimulateAnswer, AuditAnswer, LintReport, EmbeddedReport)
