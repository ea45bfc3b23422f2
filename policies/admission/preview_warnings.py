"""The warnings of a preview for the author of a policy or of a namespace's labels: a line a change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from policies.admission.policy_preview import EffectChange, PolicyPreview
from policies.admission.warnings import AdmissionWarning
from policies.manifests.words import IN_PHRASE, listed, plural

#: What is warned of, the gravest first, each with the changes that it sums up.
_LINES: Final = (
    ("would be denied", frozenset({EffectChange.DENIED})),
    ("would be warned about", frozenset({EffectChange.WARNED})),
    (
        "would get other default constraints",
        frozenset(
            {EffectChange.INJECTED, EffectChange.INJECTED_DIFFERENTLY, EffectChange.NO_LONGER_INJECTED}
        ),
    ),
)
#: A server does not watch them.
_NOT_AMONG: Final = "none of them DaemonSets or Jobs"
_SEE_ALL: Final = "kubectl evenkeel policy preview lists all"


def preview_warnings(preview: PolicyPreview) -> list[str]:
    """Return at most three lines of what would happen to existing workloads, and how many were looked at.

    Nothing where nothing would happen and all were looked at.
    """
    lines = [text for headline, changes in _LINES if (text := _line(preview, headline, changes))]
    if not lines and preview.looked_at == preview.total:
        return []
    count = f"looked at {preview.looked_at} of {preview.total} existing workloads, {_NOT_AMONG}"
    if preview.looked_at < preview.total:
        count += ": there was no time for more"
    return [str(AdmissionWarning(text)) for text in (*lines, f"{count}; {_SEE_ALL}")]


def _line(preview: PolicyPreview, headline: str, changes: Collection[EffectChange]) -> str:
    """Return how many workloads have one of some changes, and which are the first; empty if none has."""
    found = list(_affected(preview, changes))
    if not found:
        return ""
    # The API server has room for 256 characters.
    return f"{plural(len(found), 'existing workload')} {headline}: {listed(found, IN_PHRASE)}"


def _affected(preview: PolicyPreview, changes: Collection[EffectChange]) -> Iterator[str]:
    for workload in preview.workloads:
        details = [entry.details for entry in workload.changes if entry.change in changes]
        if details:
            yield f"{workload.kind} {workload.namespace}/{workload.name} ({', '.join(details[0])})"
