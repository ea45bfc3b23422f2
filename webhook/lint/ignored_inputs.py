"""What becomes of files that cannot be read where ``--ignore unreadable`` says that they may be."""

from __future__ import annotations

from collections.abc import Iterable

from policies.config.lint_config import LintConfig
from policies.manifests.findings import Finding
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint.texts import UNREADABLE, shown_file


def without_ignored(
    problems: Iterable[Finding], missing: Iterable[str], config: LintConfig
) -> tuple[list[Finding], list[Skipped]]:
    """Return the problems that count, and those that the options ignore as skipped files.

    Args:
        problems: Why files cannot be read.
        missing: Files that were given by name and cannot be opened, which is never ignored.
        config: The options.
    """
    if UNREADABLE not in config.ignore:
        return list(problems), []
    given = set(map(shown_file, missing))
    counting: list[Finding] = []
    skipped: list[Skipped] = []
    for problem in problems:
        if problem.location.file in given:
            counting.append(problem)
        else:
            skipped.append(_skipped(problem))
    return counting, skipped


def _skipped(problem: Finding) -> Skipped:
    return Skipped(
        location=problem.location,
        kind=SourceKind.FILE,
        reason=SkipReason.UNREADABLE,
        message=problem.message,
    )
