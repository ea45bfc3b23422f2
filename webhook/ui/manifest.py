"""The one object of a manifest that a person edits, and what is wrong with it by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from policies.config.context import AdmissionContext
from policies.manifests.documents import ManifestObject, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FIELD_MISSING, FieldError, FieldPath, and_more
from policies.manifests.findings import Finding, Severity
from policies.manifests.wire import Count, dumps
from webhook.lint.files import UNREADABLE, unreadable

#: What the text is called.
FILE: Final = "manifest"


class ManifestProblem(NamedTuple):
    """Something that is wrong with a manifest or a request."""

    line: Count  #: The line of the manifest, from 1; 0 where it is about none.
    field: str  #: The field, as Kubernetes writes paths; empty where it is about none.
    rule: str  #: The rule that is broken.
    severity: Severity  #: How bad it is.
    message: str  #: What is wrong.


class PageError(NamedTuple):
    """Every error of the page's routes."""

    error: str  #: What is wrong, in one line.
    problems: Sequence[ManifestProblem]  #: Every field that is wrong; empty where the error is about none.


class ProblemsError(Exception):
    """A request that cannot be answered, with every reason.

    Attributes:
        problems: The reasons.
        missing: Whether it is about something that the cluster does not have.
        message: The first reason.
    """

    def __init__(self, problems: Iterable[ManifestProblem], *, missing: bool = False) -> None:
        self.problems = list(problems)
        self.missing = missing
        first = self.problems[0] if self.problems else None
        where = f"line {first.line}: " if first and first.line else ""
        field = f"{first.field}: " if first and first.field else ""
        more = and_more(len(self.problems))
        self.message = f"{where}{field}{first.message}{more}" if first else ""
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Callable[..., ProblemsError], tuple[list[ManifestProblem]]]:
        """Say how to make another one: pickle knows the message alone."""
        return partial(ProblemsError, missing=self.missing), (self.problems,)


def read_manifest(text: str, context: AdmissionContext) -> ManifestObject:
    """Return the only object of a text that is a Pod or makes some.

    Raises:
        ProblemsError: It is neither YAML nor JSON, or holds none or several.
    """
    try:
        documents = load(text, FILE)
    except DocumentError as error:
        problems = (finding_problem(unreadable(FILE, problem)) for problem in error.problems)
        raise ProblemsError(problems) from error
    entries = [entry for document in documents for entry in objects(document)]
    making = [entry for entry in entries if context.kind_of(entry.value) is not None]
    if len(making) == 1:
        return making[0]
    if not making:
        problem = "holds no Pod and no workload that makes some"
    else:
        problem = f"holds {len(making)} objects that make pods: only one can be looked at"
    line = making[1].location(FieldPath()).line if making else 0
    raise ProblemsError([_problem(line, "", UNREADABLE, problem)])


def as_json(request: object) -> bytes:
    """Return a request about a manifest as JSON.

    Raises:
        ProblemsError: The manifest has a value that JSON has not.
    """
    try:
        return dumps(request)
    except TypeError as error:
        raise ProblemsError([_problem(0, "", UNREADABLE, f"cannot be sent as JSON: {error}")]) from error


def finding_problem(finding: Finding) -> ManifestProblem:
    """Return the problem that a rule of the linter finds."""
    line, field = finding.location.line, str(finding.path)
    return ManifestProblem(line, field, finding.rule, finding.severity, finding.message)


def field_problems(
    errors: Iterable[FieldError], entry: ManifestObject | None = None, *, below: tuple[str | int, ...] = ()
) -> list[ManifestProblem]:
    """Return errors of fields in the order of their lines.

    Args:
        errors: The errors.
        entry: The object that they are about, which knows its lines; None for a request.
        below: Where the object is in the request, of errors whose paths start there.
    """
    return sorted(_by_line(errors, entry, below), key=lambda problem: problem.line)


def _by_line(
    errors: Iterable[FieldError], entry: ManifestObject | None, below: tuple[str | int, ...]
) -> Iterator[ManifestProblem]:
    for error in errors:
        path, line = error.path, 0
        if entry is not None and path.segments[: len(below)] == below:
            path = FieldPath(path.segments[len(below) :])
            line = entry.location(path).line
        yield _problem(line, str(path), error.rule, error.problem)


def _problem(line: int, field: str, rule: str, message: str) -> ManifestProblem:
    return ManifestProblem(line, field, rule, Severity.ERROR, message)


def request_problem(field: str, message: str, *, line: int = 0) -> ManifestProblem:
    """Return the problem with a field of a request."""
    return _problem(line, field, FIELD_MISSING, message)
