"""The glossary of verdicts: each cause, and each number of an outcome, from the types that are the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.generator.markdown import code, page, table
from docs.generator.type_schema import attribute_docs
from planning.simulation.outcome import (
    BudgetOutcome,
    Cause,
    ConstraintOutcome,
    Verdict,
    WorkloadOutcome,
)
from planning.simulation.survival import Survival
from planning.text.outcome import mark
from policies.manifests.wire import document_name

_INTRODUCTION = """\
What commands, the page and `/v1` say of what becomes of a workload is made of these words.
[What if](../what-if.md) plays it; [at three in the morning](../three-am.md) has answers and how to read them.

A **verdict** is one sentence with one **cause**. It begins with `✗` where it is false, `?` where it is
undecided, `!` where it is true with a warning or a note, and `✓` where all is well."""

_CAUSES = """\
## Causes

The worst first. `--fail-on CAUSE` ends with exit code 1 for this cause and those above it, and for an
undecided verdict."""

_NUMBERS = """\
## Numbers

The heading of a column, the member of `-o json` that has it, and what it means. The members are those of each
entry of `workloads`, or of the list there that a title names. `a → b` is before the events and at the end;
`!` beside a number is a warning."""

#: The headings of a text's columns, by the members that they show.
HEADINGS: Final = {
    WorkloadOutcome: {
        "wanted": "WANTED",
        "before": "BEFORE",
        "lowest": "LOWEST",
        "after": "AFTER",
        "updated": "UPDATED",
        "on_new_nodes": "ON NEW NODES",
        "pending": "PENDING",
        "pending_before": "PENDING",
        "lost": "",
        "evicted": "EVICTED",
        "not_recreated": "LOST FOR GOOD",
        "not_tried": "",
    },
    Survival: {
        "topology_key": "IF IT GOES",
        "possible": "PODS IN",
        "fullest": "FULLEST",
        "left": "LEFT",
        "stops": "!",
        "takes_more": "!",
    },
    ConstraintOutcome: {"skew": "SKEW", "peak": "WORST", "above": "!"},
    BudgetOutcome: {"required": "WANTS", "running": "READY", "allowed": "MAY GO", "blocks": "BLOCKS"},
}
_TITLES: Final = {
    WorkloadOutcome: ("What becomes of a workload", ""),
    Survival: ("What is left if it goes", "survival"),
    ConstraintOutcome: ("What becomes of a constraint", "constraints"),
    BudgetOutcome: ("What a budget allows", "budgets"),
}


def page_of_verdicts() -> str:
    """Return the page of the words that verdicts are made of."""
    meanings = attribute_docs(Cause)
    causes = [(code(mark(cause)), code(cause), _says(cause), meanings[cause.name]) for cause in Cause]
    return page(
        "Words of verdicts",
        _INTRODUCTION,
        _CAUSES,
        table(("", "cause", "it is", "meaning"), causes),
        table(("a verdict has", "meaning"), _members(Verdict)),
        _NUMBERS,
        *_tables(),
    )


def _says(cause: Cause) -> str:
    """Return what a verdict with a cause is."""
    if cause.holds is None:
        return "undecided"
    if not cause.holds:
        return "false"
    return "true" if cause is Cause.FITS else "a warning" if cause.warns else "a note"


def _tables() -> Iterator[str]:
    for kind, headings in HEADINGS.items():
        title, member = _TITLES[kind]
        docs = attribute_docs(kind)
        rows = [(heading, code(document_name(name)), docs[name]) for name, heading in headings.items()]
        yield f"### {title}" + (f": `{member}`" if member else "")
        yield table(("column", "member", "meaning"), rows)


def _members(kind: type) -> Iterator[tuple[str, str]]:
    return ((code(document_name(name)), text) for name, text in attribute_docs(kind).items())
