"""Findings: what any check of a file reports, and where in the file it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from policies.manifests.fields import FieldPath


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """How many severities are worse."""
        return _RANKS[self]

    def is_as_bad(self, least: Severity) -> bool:
        """Return whether it is as bad as another severity or worse."""
        return self.rank <= least.rank


_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; lines count from 1, 0 means the whole file."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Build:
    """A kustomization in whose objects a finding was made."""

    file: str  #: The kustomization.
    title: str  #: Kind and name of the object as it was built.
    path: FieldPath  #: The field, in that object.
    message: str  #: What was found there.


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of one field of one file."""

    severity: Severity  #: How bad it is.
    location: Location  #: Where the field is.
    path: FieldPath  #: The field, in its object.
    message: str  #: What was found, with its numbers.
    rule: str  #: The id of the rule.
    title: str = ""  #: Kind and name of the object; empty where there is none.
    fixable: bool = False  #: Whether ``evenkeel lint --fix`` can fix it.
    builds: tuple[Build, ...] = ()  #: The kustomizations that have it, where it was found in what they build.
    #: How many kustomizations are built from the file, those with the finding included.
    used_in_builds: int = 0

    def __str__(self) -> str:
        where = f"{self.location}: {self.path}" if self.path.segments else str(self.location)
        return f"{where}: {self.message}"
