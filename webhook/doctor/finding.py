"""What a check is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from webhook.doctor.facts import Facts


class Status(StrEnum):
    """How a check came out, the worst first."""

    PROBLEM = "problem"
    WARNING = "warning"
    SKIPPED = "skipped"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that a check says.

    Attributes:
        status: How grave it is.
        evidence: What was seen, with names and numbers, on one line.
        remedy: What to do, a command where there is one; empty if nothing is to be done.
    """

    status: Status
    evidence: str
    remedy: str = ""


def ok(evidence: str) -> Verdict:
    """Return that all is well."""
    return Verdict(Status.OK, evidence)


def warning(evidence: str, remedy: str) -> Verdict:
    """Return what may go wrong."""
    return Verdict(Status.WARNING, evidence, remedy)


def problem(evidence: str, remedy: str) -> Verdict:
    """Return what does not work, or stops others from working."""
    return Verdict(Status.PROBLEM, evidence, remedy)


@dataclass(frozen=True, slots=True)
class Check:
    """One question.

    Attributes:
        id: Its name, for programs; it is never given to another question.
        ask: Answers from facts; raises UnknownError where they are missing.
    """

    id: str
    ask: Callable[[Facts], Iterator[Verdict]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict and where it comes from."""

    group: str
    check: str
    verdict: Verdict


def listed(names: list[str], *, most: int = 5) -> str:
    """Return names, not too many of them.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
