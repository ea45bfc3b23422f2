"""The warnings that kubectl prints to a person who applies an object: few, short, the most important first.

The API server truncates long warnings and drops those with control characters. The audit log has all findings
in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from policies.manifests.fields import FieldPath
from policies.manifests.sanitize import cut, one_line
from policies.manifests.words import more

#: Warnings that one request gets from both webhooks together: what a person reads.
MAX_WARNINGS = 3
#: Characters of a warning: the API server truncates longer ones once all together have 4,096.
MAX_LENGTH = 256
#: Shows which webhook warns.
PREFIX = "evenkeel: "
#: Characters that the fields may take of a warning, so that the text has room.
_FIELDS_LENGTH = 128
#: Where a path starts that a warning shows: what is before it, every workload of the kind has.
_STARTS = ("topologySpreadConstraints", "affinity")
_SEE_ALL = "; run kubectl evenkeel lint FILE to see all"


@dataclass(frozen=True, slots=True)
class AdmissionWarning:
    """One thing that a person should read."""

    text: str  #: The problem.
    #: The id of the rule, or the annotation that it is about; empty where the text has no subject.
    topic: str = ""
    paths: tuple[FieldPath, ...] = ()  #: The fields that have the problem.

    def __str__(self) -> str:
        fields = cut(", ".join(map(_short_path, self.paths)), _FIELDS_LENGTH)
        about = "".join(f"{part}: " for part in (self.topic, fields) if part)
        return one_line(f"{PREFIX}{about}{self.text}", MAX_LENGTH)


def warning_texts(warnings: Sequence[AdmissionWarning], most: int) -> list[str]:
    """Return the texts of the first warnings; if there are more, the last text names the others.

    Args:
        warnings: The most important first.
        most: Texts, at least 1.

    >>> warning_texts([AdmissionWarning("is 5", "max-skew", (FieldPath(("spec", "maxSkew")),))], 3)
    ['evenkeel: max-skew: spec.maxSkew: is 5']
    """
    warnings = _merged(warnings)
    if len(warnings) <= most:
        return [str(warning) for warning in warnings]
    first, others = warnings[: most - 1], warnings[most - 1 :]
    topics = ", ".join(dict.fromkeys(warning.topic for warning in others if warning.topic))
    head = f"{PREFIX}{more(len(others))}: "
    rest = head + one_line(topics, MAX_LENGTH - len(head) - len(_SEE_ALL)) + _SEE_ALL
    return [*(str(warning) for warning in first), rest]


def _merged(warnings: Sequence[AdmissionWarning]) -> list[AdmissionWarning]:
    """Return warnings without repeats: the same problem of several fields is one."""
    found: dict[tuple[str, str], AdmissionWarning] = {}
    for warning in warnings:
        first = found.get((warning.topic, warning.text))
        merged = warning if first is None else replace(first, paths=first.paths + warning.paths)
        found[warning.topic, warning.text] = merged
    return list(found.values())


def _short_path(path: FieldPath) -> str:
    start = next((number for number, name in enumerate(path.segments) if name in _STARTS), 0)
    return str(FieldPath(path.segments[start:]))
