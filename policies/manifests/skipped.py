"""Files and objects that a run was given and did not read or evaluate: why, and whether it fails by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from policies.manifests.findings import Location, Severity


class SourceKind(StrEnum):
    """The kind of source that was skipped; the value is its name in a sentence."""

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
    NO_POD_TEMPLATE = "no-pod-template"
    OUT_OF_SCOPE = "out-of-scope"
    OUTSIDE_REPOSITORY = "outside-repository"
    PATCH = "patch"
    SWITCHED_OFF = "switched-off"
    TEMPLATE = "template"
    TEST_VALUES = "test-values"
    TOOL_FAILED = "tool-failed"
    TOOL_MISSING = "tool-missing"
    UNDECIDED = "undecided"
    UNKNOWN_SCHEDULER = "unknown-scheduler"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "unsupported"
    VALUES_MISSING = "values-missing"


class FailOnSkipped(StrEnum):
    """The sources whose skipping fails a run: those that the user names, any, or none."""

    NAMED = "named"
    ANY = "any"
    NEVER = "never"


#: What has these was read, but not all of it, or not as it is installed.
PARTLY_READ: Final = frozenset({SkipReason.GIT_IGNORED, SkipReason.TEST_VALUES})
#: Reasons that no run fails by: the user, or Git on the user's behalf, wants it.
_ALLOWED: Final = PARTLY_READ | {SkipReason.SWITCHED_OFF, SkipReason.UNREADABLE}
#: Reasons that are usual in repositories: no warning.
_EXPECTED: Final = frozenset(
    {SkipReason.ENCRYPTED, SkipReason.OUT_OF_SCOPE, SkipReason.PATCH, SkipReason.UNKNOWN_SCHEDULER}
)
#: Reasons for which nothing of an object was judged.
_WHOLE: Final = frozenset({SkipReason.OUT_OF_SCOPE, SkipReason.NO_POD_TEMPLATE})


_RENDERED: Final = "render it and lint what comes out"
_VALUES: Final = "give it values with charts of evenkeel.yaml"
_MERGED: Final = "lint what it is merged into, or complete it if it is not a patch"
_EXCLUDED: Final = "exclude it in evenkeel.yaml if it is not meant to be read"
#: What to do about it; the kind counts where there are two ways.
_SUGGESTIONS: Final[dict[SkipReason | tuple[SkipReason, SourceKind], str]] = {
    SkipReason.DOWNLOAD_NEEDED: _RENDERED,
    (SkipReason.DOWNLOAD_NEEDED, SourceKind.CHART): "run helm dependency build, or render it",
    (SkipReason.DOWNLOAD_NEEDED, SourceKind.KUSTOMIZATION): "build it and lint what comes out",
    SkipReason.EMPTY: _EXCLUDED,
    (SkipReason.EMPTY, SourceKind.STDIN): "see why nothing was written to it",
    SkipReason.ENCRYPTED: "decrypt it first if it holds workloads",
    SkipReason.LIMIT_EXCEEDED: _EXCLUDED,
    (SkipReason.LIMIT_EXCEEDED, SourceKind.OBJECT): "fix those that are listed first",
    SkipReason.NO_OBJECTS: "name a file or folder with manifests",
    SkipReason.NOT_A_FILE: _EXCLUDED,
    SkipReason.NO_POD_TEMPLATE: _MERGED,
    SkipReason.PATCH: _MERGED,
    SkipReason.OUT_OF_SCOPE: "widen the scope of a policy, or leave out --policy",
    SkipReason.OUTSIDE_REPOSITORY: "lint it where it lies",
    SkipReason.TEMPLATE: _RENDERED,
    SkipReason.TEST_VALUES: _VALUES,
    SkipReason.TOOL_FAILED: _EXCLUDED,
    (SkipReason.TOOL_FAILED, SourceKind.CHART): _VALUES,
    SkipReason.TOOL_MISSING: "install it",
    SkipReason.UNDECIDED: "play it alone, with evenkeel what-if --autoscale",
    SkipReason.UNKNOWN_SCHEDULER: "give that configuration if it is a profile of kube-scheduler",
    SkipReason.UNREADABLE: _EXCLUDED,
    SkipReason.UNSUPPORTED: _EXCLUDED,
    (SkipReason.UNSUPPORTED, SourceKind.KUSTOMIZATION): "build it and lint what comes out, or exclude it",
    SkipReason.VALUES_MISSING: _RENDERED,
}
#: Characters of a word that names a thing: a path, a placeholder, a number, or what is quoted.
_NAMING: Final = frozenset("/@{}%'\"`0123456789")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """One thing that was not read, not as it is used, or not checked to its end."""

    location: Location  #: The file, and for an object its line; a folder where there is no file to name.
    kind: SourceKind  #: What it is.
    reason: SkipReason  #: Why it was skipped, for programs.
    message: str  #: Why it was skipped, with the whole error of the tool.
    needs: tuple[str, ...] = ()  #: What would have to be downloaded.
    title: str = ""  #: Kind and name of the object; empty where the whole file is meant.
    #: Whether the user names it, on the command line or in ``evenkeel.yaml``, or it is all that is named:
    #: nothing else holds a workload.
    named: bool = False
    alone: bool = False  #: Whether what was skipped leaves nothing: not a single object was judged.

    @property
    def is_partial(self) -> bool:
        """Whether it was read or checked, but not to its end."""
        return self.reason in PARTLY_READ or (self.kind is SourceKind.OBJECT and self.reason not in _WHOLE)

    @property
    def cause(self) -> str:
        """Why it was skipped, without the names and numbers in which messages of one cause differ."""
        return " ".join("…" if _NAMING.intersection(word) else word for word in self.message.split())

    @property
    def suggestion(self) -> str:
        """The advice about it; empty where the user excluded it."""
        return _SUGGESTIONS.get((self.reason, self.kind), _SUGGESTIONS.get(self.reason, ""))

    def fails(self, fail_on: FailOnSkipped) -> bool:
        """Return whether the run fails by this."""
        if fail_on is FailOnSkipped.NEVER or self.reason in PARTLY_READ:
            return False
        if self.alone:
            return True
        if self.reason in _ALLOWED:
            return False
        if self.reason is SkipReason.OUT_OF_SCOPE:
            return self.named
        return fail_on is FailOnSkipped.ANY or (self.named and self.reason is not SkipReason.ENCRYPTED)

    def severity(self, fail_on: FailOnSkipped) -> Severity:
        """Return how bad it is: an error if the run fails by it."""
        if self.fails(fail_on):
            return Severity.ERROR
        return Severity.NOTE if self.reason in _ALLOWED | _EXPECTED else Severity.WARNING


def as_all_there_is(skipped: Iterable[Skipped], *, workloads: int, objects: int) -> list[Skipped]:
    """Return the skipped sources, as named by the user where they leave no workload to judge.

    Args:
        skipped: What was skipped.
        workloads: How many workloads and other objects with constraints were judged.
        objects: How many objects of any kind.
    """
    if workloads:
        return list(skipped)
    return [replace(entry, named=True, alone=not objects) for entry in skipped]


def in_groups(skipped: Iterable[Skipped]) -> list[list[Skipped]]:
    """Return the skipped entries grouped by cause, in the order of the first place of each group."""
    groups: dict[tuple[str, str, str, bool], list[Skipped]] = {}
    for entry in sorted(set(skipped), key=_order):
        groups.setdefault((entry.kind, entry.reason, entry.cause, entry.named), []).append(entry)
    return list(groups.values())


def in_order(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Return each thing once, by file and line."""
    return sorted(set(skipped), key=_order)


def _order(entry: Skipped) -> tuple[str, int, str, str, str, tuple[str, ...], str, bool]:
    where, what = entry.location, (entry.kind, entry.reason, entry.message)
    return (where.file, where.line, *what, entry.needs, entry.title, entry.named)
