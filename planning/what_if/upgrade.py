"""The changes by an upgrade of Kubernetes: JSON of the form ``diff.schema.json``, or text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from planning.simulation.release_diff import DiffKind, ResponsibleChange, WorkloadDiff
from policies.manifests.sanitize import one_line
from policies.manifests.wire import INLINE, Count, Keywords, SentAs, dumps
from policies.manifests.words import ON_SCREEN, listed, object_title, plural
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.reports.terminal import indented, print_all, sentence

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/diff/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDiff:
    """The workloads of a cluster under two releases."""

    before: KubernetesVersion  #: The earlier release.
    after: KubernetesVersion  #: The later release.
    total: int  #: How many workloads were compared.
    #: Those for which the releases differ, the gravest differences first.
    workloads: tuple[WorkloadDiff, ...]
    left: int = 0  #: How many objects were not looked at, because the comparison was ended.
    unread: tuple[str, ...] = ()  #: What could not be read of the cluster, a line each.

    @property
    def breaks(self) -> bool:
        """Whether the later release refuses or cannot place pods that the earlier one places."""
        return any(found.breaks for found in self.workloads)

    @property
    def notes(self) -> tuple[str, ...]:
        """The limits of the comparison, and the objects that could not be read."""
        scores = f"but for the changes in the table, scores are those of Kubernetes {KNOWN_VERSION}"
        newer = f"nothing is known of releases after {KNOWN_VERSION} but what has been announced"
        return (scores, *((newer,) if self.after > KNOWN_VERSION else ()), *self.unread)


def render_text(diff: ReleaseDiff, *, width: int, color: bool) -> str:
    """Return the report as text, no line longer than the width but the scheduler's messages."""
    return print_all(_parts(diff), width=width, color=color)


def what(found: WorkloadDiff) -> str:
    """Return the difference for a workload, in one line."""
    before, after = found.before, found.after
    match found.difference:
        case DiffKind.VALIDITY:
            return f"{_validity(before.errors)} → {_validity(after.errors)}"
        case DiffKind.NODES:
            return f"feasible nodes: {len(before.feasible):,} → {len(after.feasible):,}"
        case DiffKind.BEST:
            return f"best nodes: {_named(before.best)} → {_named(after.best)}"
        case DiffKind.SCORES:
            return "scores differ; the best nodes stay the best"
        case DiffKind.CONSTRAINTS:
            return "the constraints in force differ, though not for the next pod on this cluster"
        case DiffKind.MESSAGE:
            return "only the scheduler's message differs"


def _parts(diff: ReleaseDiff) -> Iterator[RenderableType]:
    groups: dict[tuple[ResponsibleChange, ...], list[WorkloadDiff]] = {}
    for found in diff.workloads:
        groups.setdefault(found.responsible, []).append(found)
    for changes, workloads in groups.items():
        yield from _group(changes, workloads)
        yield ""
    title = f"Kubernetes {diff.before.exact} → {diff.after.exact}: {plural(diff.total, 'workload')}"
    yield Text(f"{title}, {len(diff.workloads):,} differ{_kinds(diff.workloads)}")
    if diff.left:
        yield Text(f"Ended early; objects that were not looked at: {diff.left:,}")
    for text in diff.notes:
        yield Text(f"Note: {one_line(text)}")


def _group(changes: tuple[ResponsibleChange, ...], workloads: list[WorkloadDiff]) -> Iterator[RenderableType]:
    """Yield the workloads for which the same changes are responsible, after these."""
    for change in changes:
        yield Text(f"{change.since}: {change.what}", "bold")
        yield Text(change.source, "dim")
    if not changes:
        yield Text("By no single entry of the table of releases:", "bold")
    differing = [found for found in workloads if found.difference is not DiffKind.SCORES]
    for found in differing[:ON_SCREEN]:
        name = object_title(found.kind, found.namespace, found.name)
        line = Text.assemble(name, ": ", (what(found), "red" if found.breaks else ""))
        yield indented(line, 2)
        if found.after.message and not found.before.message:
            yield sentence(f"    {found.after.message}")
    if rest := differing[ON_SCREEN:] + [found for found in workloads if found.difference is DiffKind.SCORES]:
        more = "more " if differing else ""
        yield indented(Text(f"{plural(len(rest), f'{more}workload')}{_kinds(rest)}"), 2)


def _kinds(workloads: Sequence[WorkloadDiff]) -> str:
    """Return how many differ in what, in brackets; empty for none."""
    counts = Counter(found.difference for found in workloads)
    kinds = ", ".join(f"{kind} {counts[kind]:,}" for kind in DiffKind if counts[kind])
    return f" ({kinds})" if kinds else ""


def _validity(errors: tuple[str, ...]) -> str:
    return one_line(errors[0]) if errors else "valid"


def _named(names: tuple[str, ...]) -> str:
    return listed(names, 1) or "none"


class DifferingWorkload(NamedTuple):
    """A workload for which two releases differ."""

    found: Annotated[WorkloadDiff, INLINE]  #: What differs.
    message: str  #: The same in words.


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffAnswer:
    """The changes by an upgrade of Kubernetes for the workloads of a cluster.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    before: Annotated[str, SentAs("from")]  #: The earlier release.
    after: Annotated[str, SentAs("to")]  #: The later release.
    total: Count  #: How many workloads were compared.
    left: Count  #: How many objects were not looked at, because the comparison was ended.
    breaks: bool  #: Whether the later release refuses or cannot place pods that the earlier one places.
    notes: Sequence[str]  #: What the comparison does not say, and what could not be read of the cluster.
    #: Those for which the releases differ, the gravest differences first.
    workloads: Sequence[DifferingWorkload]


def render_json(diff: ReleaseDiff) -> bytes:
    """Return a comparison as one line of JSON, without its end."""
    answer = DiffAnswer(
        before=diff.before.exact,
        after=diff.after.exact,
        total=diff.total,
        left=diff.left,
        breaks=diff.breaks,
        notes=diff.notes,
        workloads=[DifferingWorkload(found, what(found)) for found in diff.workloads],
    )
    return dumps(answer)
