"""The exceptions of policies: raised only where work cannot go on.

A mistake in a user's document is a value (``fields.FieldError``, ``findings.Finding``); an exception
carries such values to the edge that turns them into an exit code or an HTTP status.

EvenkeelError
├── DocumentError     a file is not what it should be        → exit 2, HTTP 400
├── UsageError        options that do not go together        → exit 2, HTTP 400
└── CannotRunError    the work could not be done             → exit 3
"""

from __future__ import annotations

from collections.abc import Iterable


class EvenkeelError(Exception):
    """The root of everything that Evenkeel raises on purpose."""


class DocumentError(EvenkeelError):
    """A document cannot be used; every problem is one line, ready to be read."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class UsageError(EvenkeelError):
    """Options or settings that do not go together."""


class CannotRunError(EvenkeelError):
    """The work could not be done, through no fault of the input."""
