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
from planning.text.words import at_most, named, search_ended, taints_text
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.model.constraint import NodeInclusionPolicy
from policies.model.next_pod import SELECTING_KINDS
from policies.pods.placement import Placement
from policies.reports.patch import edit_text
from policies.reports.terminal import indented, item
from policies.scheduler.changes import LOSES_DATA, Change, ChangeKind, ClusterChange, RemadeClaims
from policies.scheduler.request import ConstraintOrigin

_COSTS: Final = {
    ChangeKind.SCHEDULING_GATES: "nothing waits any more for what the gates were set for",
    ChangeKind.TOPOLOGY_KEY: "nothing: it is what the label is called",
    ChangeKind.LABEL_SELECTOR: "pods of other workloads no longer count",
    ChangeKind.MATCH_LABEL_KEYS: "pods of earlier revisions no longer count",
    ChangeKind.TERMINATION: "time",
    ChangeKind.CORDON: "the node may still be under maintenance",
    ChangeKind.NODE_LABEL: "nothing if the label is true; pods count where it says",
    ChangeKind.REQUESTS: "less is set aside for the pod",
    ChangeKind.WHEN_UNSATISFIABLE: "spreading becomes a preference, which other scores can outweigh",
    ChangeKind.TOLERATIONS: "the pod may take room on nodes that are reserved",
    ChangeKind.NODE_SELECTOR: "the pod may go to nodes that it was kept off",
    ChangeKind.NODE_AFFINITY: "the pod may go to nodes that it was kept off",
    ChangeKind.NODE_NAME: "the pod may go to nodes that it was kept off",
}
#: How edits are had as a diff.
DIFF_HINT: Final = "With --diff N suggestion N is printed as a diff."
#: Kinds that replace the pods that run once their template changes.
_ROLLED_OUT: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Rollout", "CloneSet", "Service"})


def cost_of(change: Change | ClusterChange, placement: Placement) -> str:
    """Return the cost of a change, in words.

    Args:
        change: The change.
        placement: Of the pod before it.
    """
    if isinstance(change, ClusterChange):
        if change.what in LOSES_DATA:
            of = listed(change.remade.names)
            return f"CAUTION: the data of {of} are lost, unless they are restored from a backup"
        return plural(change.count, "node") if change.what is ChangeKind.NEW_NODE else _COSTS[change.what]
    match change.what:
        case ChangeKind.NODE_TAINTS_POLICY:
            return "domains whose nodes are all tainted for the pod may stay empty"
        case ChangeKind.NODE_AFFINITY_POLICY if change.value == NodeInclusionPolicy.HONOR:
            return "domains outside the pod's node affinity may stay empty"
        case ChangeKind.NODE_AFFINITY_POLICY:
            return "domains that the pod cannot use count for minDomains"
        case ChangeKind.MIN_DOMAINS:
            enough = "1 domain is" if change.value == 1 else f"{change.value:,} domains are"
            return f"{enough} enough: no autoscaler is made to add another"
        case ChangeKind.MAX_SKEW:
            return f"a domain may hold {change.value:,} pods more than another"
        case ChangeKind.CONSTRAINT:
            return f"nothing spreads the pods by {_key(change, placement)} any more"
        case ChangeKind.TOLERATIONS if change.hollow:
            return "CAUTION: the pod runs beside the control plane, and can starve it"
    return _COSTS[change.what]


def given_up_text(given_up: GivenUp) -> str:
    """Return the guarantee of a constraint that is given up, in a line."""
    field, before, after = given_up.field, given_up.before, given_up.after
    what = f" {field} {before}, which becomes {after}" if field else ", all of it"
    return f"Given up: {one_line(given_up.key)}{what}"


def _key(change: Change, placement: Placement) -> str:
    results = placement.result.results
    position = change.constraint
    known = position is not None and position < len(results)
    return (
        one_line(results[position].applied.constraint.topology_key) if known and position is not None else ""
    )


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


def in_cluster(change: ClusterChange) -> str:
    """Return the action in the cluster, with the command where there is one."""
    if change.what in LOSES_DATA:
        return _remade(change.remade)
    names = ", ".join(map(one_line, change.nodes))
    key, value = one_line(change.key), None if change.value is None else one_line(change.value)
    match change.what:
        case ChangeKind.TERMINATION:
            which = (
                f"{plural(change.count, 'node')}{': ' if change.count == len(change.nodes) else ', such as '}"
            )
            return f"wait until pods that are being deleted are gone from {which}{names}"
        case ChangeKind.CORDON:
            return f"uncordon {names}, or wait until its drain is over: kubectl uncordon {names}"
        case ChangeKind.NODE_LABEL:
            command = f"kubectl label node {names} {key}={value}"
            return f"give {names} the label {key} that it lacks; if {value} is true: {command}"
    without = f", without {taints_text(change.without)}" if change.without else ""
    if change.key and value is None:
        each = "a new domain" if change.count == 1 else "a new domain each"
        return f"add {plural(change.count, 'node')} like {names}, in {each} of {key}{without}"
    return f"add a node like {names}{f' with {key} {value}' if key else ''}{without}"


def _remade(claims: RemadeClaims) -> str:
    """Return how claims are made again, elsewhere."""
    names, space = " ".join(map(one_line, claims.names)), one_line(claims.namespace)
    which = listed(claims.names)
    new, old = one_line(claims.storage_class), one_line(claims.like)
    how = ""
    if new:
        how = f" in StorageClass {new}, which waits for the pod (name it where the claim is declared)"
    if old:
        how += (
            f"; create it like {old} with volumeBindingMode WaitForFirstConsumer, "
            f"since {old} itself cannot be changed"
        )
    return (
        f"delete the volume of {which} with its data, and make the claim again{how}: "
        f"kubectl delete pvc {names} -n {space}, then kubectl delete pod {one_line(claims.pod)} -n {space}; "
        "a StatefulSet makes both again by itself"
    )


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
