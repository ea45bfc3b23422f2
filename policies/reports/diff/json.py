"""The changes by an upgrade of Kubernetes, as one JSON object of the form ``diff.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from policies.manifests.wire import INLINE, Count, Keywords, SentAs, dumps
from policies.placement.audit.release_diff import WorkloadDiff
from policies.reports.diff.text import ReleaseDiff, what

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/diff/v1"


class ResponsibleChange(NamedTuple):
    """An entry of the table of releases.

    Attributes:
        since: The first release that does so.
        what: What changes.
        source: Where it is written.
    """

    since: str
    what: str
    source: str


class DifferingWorkload(NamedTuple):
    """A workload for which two releases differ.

    Attributes:
        found: What differs.
        message: The same in words.
        responsible: The changes between the releases that make a difference as grave.
    """

    found: Annotated[WorkloadDiff, INLINE]
    message: str
    responsible: Sequence[ResponsibleChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffAnswer:
    """The changes by an upgrade of Kubernetes for the workloads of a cluster.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        before: The earlier release.
        after: The later release.
        total: How many workloads were compared.
        left: How many objects were not looked at, because the comparison was ended.
        breaks: Whether the later release refuses or cannot place pods that the earlier one places.
        notes: What the comparison does not say, and what could not be read of the cluster.
        workloads: Those for which the releases differ, the gravest differences first.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA
    before: Annotated[str, SentAs("from")]
    after: Annotated[str, SentAs("to")]
    total: Count
    left: Count
    breaks: bool
    notes: Sequence[str]
    workloads: Sequence[DifferingWorkload]


def render(diff: ReleaseDiff) -> bytes:
    """Return a comparison as one line of JSON, without its end."""
    answer = DiffAnswer(
        before=diff.before.exact,
        after=diff.after.exact,
        total=diff.total,
        left=diff.left,
        breaks=diff.breaks,
        notes=diff.notes,
        workloads=[
            DifferingWorkload(
                found,
                what(found),
                [
                    ResponsibleChange(change.after(diff.before).exact, change.what, change.source)
                    for change in found.responsible
                ],
            )
            for found in diff.workloads
        ],
    )
    return dumps(answer)
