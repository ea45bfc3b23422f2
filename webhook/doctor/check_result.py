"""The result of a check: how bad it is, the evidence, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """How a check came out, the worst first."""

    PROBLEM = "problem"
    WARNING = "warning"
    SKIPPED = "skipped"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of a report, as JSON has it too."""

    group: str  #: The heading of the check in reports for people; set when the check has run.
    check: str  #: The check's id, for programs; set when the check has run. An id never changes its meaning.
    status: CheckStatus  #: How bad it is.
    evidence: str  #: What was observed, with names and numbers, on one line.
    #: What to do, a command where there is one; None if there is nothing to do.
    suggestion: str | None = None


def ok(evidence: str) -> CheckResult:
    """Return that this is in order."""
    return CheckResult("", "", CheckStatus.OK, evidence)


def skipped(reason: str) -> CheckResult:
    """Return that this could not be checked."""
    return CheckResult("", "", CheckStatus.SKIPPED, reason)


def warning(evidence: str, suggestion: str) -> CheckResult:
    """Return the result for something that may go wrong."""
    return CheckResult("", "", CheckStatus.WARNING, evidence, suggestion)


def problem(evidence: str, suggestion: str) -> CheckResult:
    """Return the result for something that does not work, or keeps other things from working."""
    return CheckResult("", "", CheckStatus.PROBLEM, evidence, suggestion)
