"""What a run was given and did not read or judge: which file or object, why, and whether it fails by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from policies.manifests.findings import Location, Severity


class SourceKind(StrEnum):
    """What was skipped; the value is its name in a sentence."""

    CHART = "chart"
    KUSTOMIZATION = "kustomization"
    HELM_RELEASE = "HelmRelease"
    APPLICATION = "Application"
    FILE = "file"
    FOLDER = "folder"
    STDIN = "standard input"
    OBJECT = "object"


class SkipReason(StrEnum):
    """Why something was skipped."""

    DOWNLOAD_NEEDED = "download-needed"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    GIT_IGNORED = "git-ignored"
    LIMIT_EXCEEDED = "limit-exceeded"
    NO_OBJECTS = "no-objects"
    NOT_A_FILE = "not-a-file"
    OUTSIDE_REPOSITORY = "outside-repository"
    SWITCHED_OFF = "switched-off"
    TEMPLATE = "template"
    TOOL_FAILED = "tool-failed"
    TOOL_MISSING = "tool-missing"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "unsupported"
    VALUES_MISSING = "values-missing"


class FailOnSkipped(StrEnum):
    """What must not be skipped: nothing, what the user names, or anything may be."""

    NAMED = "named"
    ANY = "any"
    NEVER = "never"


#: Reasons that no run fails by: the user, or Git on the user's behalf, asked for it.
_ALLOWED: Final = frozenset({SkipReason.GIT_IGNORED, SkipReason.SWITCHED_OFF, SkipReason.UNREADABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """One thing that was not read, not as it is used, or not judged to its end.

    Attributes:
        location: The file, and for an object its line; a folder where there is no file to name.
        kind: What it is.
        reason: Why it was skipped, for programs.
        message: Why it was skipped, with the whole error of the tool.
        needs: What would have to be downloaded.
        title: Kind and name of the object; empty where the whole file is meant.
        named: Whether the user names it, on the command line or in ``evenkeel.yaml``, or it is all
            that is named: nothing else holds a workload.
    """

    location: Location
    kind: SourceKind
    reason: SkipReason
    message: str
    needs: tuple[str, ...] = ()
    title: str = ""
    named: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether it was read or judged, but not to its end."""
        return self.kind is SourceKind.OBJECT or self.reason is SkipReason.GIT_IGNORED

    def fails(self, fail_on: FailOnSkipped) -> bool:
        """Tell whether the run fails by this."""
        if fail_on is FailOnSkipped.NEVER or self.reason in _ALLOWED:
            return False
        if fail_on is FailOnSkipped.ANY:
            return True
        return self.named and self.reason is not SkipReason.ENCRYPTED

    def severity(self, fail_on: FailOnSkipped) -> Severity:
        """Return how bad it is: an error if the run fails by it."""
        if self.fails(fail_on):
            return Severity.ERROR
        expected = self.reason in _ALLOWED or self.reason is SkipReason.ENCRYPTED
        return Severity.NOTE if expected else Severity.WARNING


def in_groups(skipped: Iterable[Skipped]) -> list[list[Skipped]]:
    """Return what was skipped for the same reason together, by the first place of each group."""
    groups: dict[tuple[str, str, str, bool], list[Skipped]] = {}
    for entry in sorted(set(skipped), key=_order):
        groups.setdefault((entry.kind, entry.reason, entry.message, entry.named), []).append(entry)
    return list(groups.values())


def in_order(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Return each thing once, by file and line."""
    return sorted(set(skipped), key=_order)


def _order(entry: Skipped) -> tuple[str, int, str, str, str, tuple[str, ...], str, bool]:
    where, what = entry.location, (entry.kind, entry.reason, entry.message)
    return (where.file, where.line, *what, entry.needs, entry.title, entry.named)
