"""The changes that would make a pod fit, in words: edits of the manifest as a user would make them.

Each has its cost, and its effect once the manifest is edited, in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from planning.simulation.replicas import Replicas
from planning.simulation.suggestions.given_up import GivenUp, given_up_by
from planning.simulation.suggestions.suggestions import ExternalChange, Suggestion, Suggestions
from planning.simulation.suggestions.words import cost_of, in_cluster
from planning.text.words import at_most, named, search_ended
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.model.next_pod import SELECTING_KINDS
from policies.pods.placement import Placement
from policies.reports.patch import edit_text
from policies.reports.terminal import indented, item
from policies.scheduler.changes import ChangeKind
from policies.scheduler.request import ConstraintOrigin

#: How edits are had as a diff.
DIFF_HINT: Final = "With --diff N suggestion N is printed as a diff."
#: Kinds that replace the pods that run once their template changes.
_ROLLED_OUT: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Rollout", "CloneSet", "Service"})


def given_up_text(given_up: GivenUp) -> str:
    """Return the guarantee of a constraint that is given up, in a line."""
    field, before, after = given_up.field, given_up.before, given_up.after
    what = f" {field} {before}, which becomes {after}" if field else ", all of it"
    return f"Given up: {one_line(given_up.key)}{what}"


def how_edited(placement: Placement, waits_for: Sequence[str] = ()) -> str:
    """Return the effect of an edited manifest on the running pods, in a sentence.

    Args:
        placement: Of the pod.
        waits_for: The pods that must be deleted before their controller replaces any.
    """
    text, namespace = _edited(placement), one_line(placement.workload.namespace)
    deletions = listed(
        [f"kubectl delete pod {one_line(name)} -n {namespace}" for name in waits_for], IN_PHRASE
    )
    return f"{text} Its controller replaces none before this: {deletions}." if waits_for else text


def _edited(placement: Placement) -> str:
    kind, owner = placement.workload.kind, placement.workload.owner
    if kind.is_pod:
        text = "A Pod's constraints and requests cannot be edited"
        if owner is None:
            return f"{text}: delete it, and create it again with the change."
        return f"{text}: change the template of {_titled(owner.kind, owner.name)}, which replaces it."
    if owner is not None:
        title = _titled(owner.kind, owner.name)
        return f"{kind.kind} belongs to {title}: change the template there, which rolls out every pod."
    if kind.kind in _ROLLED_OUT:
        return "Editing the template rolls out every pod again."
    if (kind.group, kind.kind) == ("batch", "Job"):
        return "The template of a Job cannot be edited: delete the Job, and create it again with the change."
    if (kind.group, kind.kind) in SELECTING_KINDS:
        return (
            "Editing the template changes pods that are made from then on; those that run stay as they are."
        )
    return "Editing the template changes pods that are made from then on."


def _titled(kind: str, name: str) -> str:
    return f"{one_line(kind)} {one_line(name)}"


def suggestions_text(
    suggestions: Suggestions,
    placement: Placement,
    before: Replicas | None,
    waits_for: Sequence[str] = (),
) -> Iterator[RenderableType]:
    """Yield the changes that would make a pod fit, those first that give up least; or that none was found.

    Args:
        suggestions: What was found.
        placement: Of the pod.
        before: How many replicas fit without any change.
        waits_for: The pods that must be deleted besides, before their controller replaces any.
    """
    found = suggestions.found
    if not found and suggestions.complete:
        tried = f"{suggestions.verdicts:,} tried" if suggestions.verdicts else "nothing is left to try"
        yield Text(f"No one or two changes of the manifest or the cluster that Evenkeel knows ({tried}).")
    for number, suggestion in enumerate(found, start=1):
        outcome = _outcome(suggestion, placement, before)
        yield from numbered_suggestion(number, suggestion, placement, outcome)
    if len(found) > 1:
        yield Text(_enough(found, placement), "dim")
    if any(suggestion.edits for suggestion in found):
        # A pod that is in the cluster has no manifest to be edited.
        hint = "" if placement.workload.owner else f" {DIFF_HINT}"
        yield Text(f"{how_edited(placement, waits_for)}{hint}", "dim")
    if not suggestions.complete:
        yield search_ended(plural(suggestions.verdicts, "verdict"))


def _enough(found: tuple[Suggestion, ...], placement: Placement) -> str:
    """Return which of several suggestions are enough for every replica."""
    short = [
        suggestion
        for suggestion in found
        if suggestion.replicas is not None and not suggestion.replicas.enough
    ]
    if not short:
        if at_most(placement):
            return "As far as the pod is modeled any one of these is enough; the first gives up least."
        return "Any one of these is enough, verified on this cluster; the first gives up least."
    wanted = f"all {short[0].replicas.wanted:,} replicas" if short[0].replicas is not None else ""
    numbers = [str(number) for number, suggestion in enumerate(found, start=1) if suggestion not in short]
    if not numbers:
        return f"Each was verified alone on this cluster; none is enough for {wanted}."
    return f"Each was verified alone on this cluster; enough for {wanted}: {', '.join(numbers)}."


def numbered_suggestion(
    number: int, suggestion: Suggestion, placement: Placement, outcome: Iterable[str]
) -> Iterator[RenderableType]:
    """Yield a suggestion as an item of a list.

    Args:
        number: Which item; the first is emphasized.
        suggestion: The suggestion.
        placement: Of the pod that it makes fit.
        outcome: What comes of it, a line each.
    """
    changes = [*map(edit_text, suggestion.edits)]
    changes += (_elsewhere(entry, placement) for entry in suggestion.elsewhere)
    changes += [in_cluster(suggestion.in_cluster)] if suggestion.in_cluster else []
    yield from numbered_changes(number, changes, map(Text, outcome))
    yield from given_up_lines(given_up_by(suggestion.changes, placement.result.request))


def numbered_changes(
    number: int, changes: Iterable[str], outcome: Iterable[Text]
) -> Iterator[RenderableType]:
    """Yield changes that are made together as an item of a list, and below it what comes of them.

    Args:
        number: Which item; the first is emphasized.
        changes: The changes, one or more.
        outcome: What comes of them, a line each.
    """
    head, *others = (Text(change, "bold" if number == 1 else "") for change in changes)
    yield item(number, head)
    yield from (indented(Text.assemble("and ", line)) for line in others)
    yield from map(indented, outcome)


def given_up_lines(given_up: Iterable[GivenUp]) -> Iterator[RenderableType]:
    """Yield the guarantees of constraints that are given up, below what gives them up."""
    yield from (indented(Text(given_up_text(each), "yellow")) for each in given_up)


def costs_text(suggestion: Suggestion, placement: Placement) -> str:
    """Return the cost of a suggestion, in words."""
    return f"costs: {'; '.join(dict.fromkeys(cost_of(change, placement) for change in suggestion.changes))}"


def _outcome(suggestion: Suggestion, placement: Placement, before: Replicas | None) -> Iterator[str]:
    """Yield where the pod fits then, how many replicas do, and what it costs."""
    most = at_most(placement)
    fits = f"then it fits {most}{named(suggestion.examples, suggestion.feasible)}"
    after = suggestion.replicas
    if after is not None and before is not None and after.wanted > max(before.placed, 1):
        fits += f"; {most}{after.fitting:,} of {after.wanted:,} replicas fit, now {before.fitting:,}"
    yield fits
    yield costs_text(suggestion, placement)
    if suggestion.elsewhere:
        yield "or give the pod constraints of its own, which replace all of these"


def _elsewhere(elsewhere: ExternalChange, placement: Placement) -> str:
    constraint, change = elsewhere.constraint, elsewhere.change
    origin = placement.result.results[0].applied.origin
    where = "the scheduler's defaultConstraints"
    if origin is ConstraintOrigin.POLICY:
        where = f"the defaults of SpreadPolicy {one_line(placement.policy or '')}"
    which = f"{one_line(constraint.topology_key)} {constraint.when_unsatisfiable}"
    if change.what is ChangeKind.CONSTRAINT:
        return f"in {where}, remove the constraint {which}"
    return f"in {where}, for {which}: {change.what} {change.value}"
