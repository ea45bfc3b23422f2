"""Why a pod goes where it goes, or fits nowhere, for a person in a terminal: words, operands and bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from rich.text import Text

from planning.explain.constraint import constraint_text
from planning.explain.explain import Explained, PlayedWorkload
from planning.explain.score_profile import profile_name, profile_text, unmodeled_text
from planning.simulation.explained_pod import Moment
from planning.simulation.suggestions.outvoted import MOST_EVALUATIONS, OutvotedSpread
from planning.text.outcome import (
    as_sentence,
    counts_table,
    has_numbers,
    left_out_line,
    suggestion_lines,
    verdict_line,
)
from planning.text.suggestion_text import DIFF_HINT, how_edited, suggestions_text
from planning.text.words import (
    constraint_title,
    domain_name,
    dropped,
    fits_text,
    named,
    replica_origin_text,
    replicas_text,
    unread_text,
    workload_title,
)
from policies.admission.rejection_summary import written
from policies.manifests.sanitize import one_line
from policies.manifests.words import listed, ordinal, plural
from policies.reports.terminal import indented, item, print_all, section, sentence
from policies.scheduler.profile import Plugin
from policies.scheduler.rejections import (
    EVERY_NODE,
    EXAMPLES,
    RejectedNodes,
    Rejection,
    Shortage,
    SkewViolation,
)
from policies.scheduler.result import Preemption, SchedulingResult

if TYPE_CHECKING:
    from planning.simulation.autoscaled import WithNewNodes

#: What can be done about a volume that is not reached.
NO_MOVE: Final = (
    "a volume does not move: to get a new one elsewhere, delete claim and pod, which loses its data"
)
#: What is said where nothing helps that was tried.
NO_CHANGE: Final = "No change of the manifest or the cluster that Evenkeel knows."
#: Groups of refusing nodes, and tiers of feasible ones, that are listed.
MOST_GROUPS: Final = 8


def render(explained: Explained, *, width: int, color: bool, wide: bool = False) -> str:
    """Return the report as text, as ``print_all`` does; ``wide`` lists all groups of nodes."""
    groups = EVERY_NODE if wide else MOST_GROUPS
    return print_all(_parts(explained, groups), width=width, color=color)


def _parts(explained: Explained, groups: int) -> Iterator[RenderableType]:
    placement, explanation = explained.placement, explained.explanation
    result = placement.result
    if explained.played is not None:
        yield from _played(explained.played, explained)
    else:
        yield from _next(explained)
    yield from map(Text, profile_text(result.request.profile))
    if result.message:
        yield sentence(result.message)
    yield from _constraints(explained)
    if explained.deadlocks:
        yield from section("Volumes against constraints", map(Text, deadlock_lines(explained)))
    if explanation.rejected:
        yield from section("Why nodes reject it", _refusing(result, explanation.rejected, groups))
    if explanation.tiers:
        yield from section("Where it would go", _outlook(explained, groups))
    if result.preemption is not None and result.preemption.nominated:
        yield from section("Whom it would preempt", map(Text, preemption_lines(result.preemption)))
    if explained.stuck_message and result.names and explained.played is None:
        yield from _help(explained)
    if explained.autoscaled is not None:
        yield from _autoscaled(explained.autoscaled)
    yield from _notices(result)


def _next(explained: Explained) -> Iterator[Text]:
    """Yield whose next pod fits how many nodes, and why it fits none."""
    yield placed(explained)
    if explained.why and not explained.placement.result.feasible_count:
        yield Text(as_sentence(explained.why))
    if explained.node:
        yield Text(f"It is on {one_line(explained.node)}; this is as if it were scheduled again.")
    yield from replicas_text(explained.placement, explained.replicas)


def _played(played: PlayedWorkload, explained: Explained) -> Iterator[RenderableType]:
    """Yield what becomes of an object that is played, which of its pods is explained, and what would help."""
    found, moment = played.found, played.moment
    yield verdict_line(played.verdict)
    yield from replica_origin_text(explained.placement.workload)
    if has_numbers(found):
        yield counts_table([found])
    yield from _which(moment, explained)
    if explained.why and explained.why not in played.verdict.sentence:
        yield Text(as_sentence(explained.why))
    if played.helpful:
        yield from section("What would help", suggestion_lines(played.helpful))
        if any(each.edits for each in played.helpful):
            yield Text(f"{how_edited(explained.placement, explained.waits_for)} {DIFF_HINT}", "dim")
    elif played.verdict.value is False:
        yield from section("What would help", [Text(NO_CHANGE)])
    if left_out := left_out_line(played.outcome):
        yield Text(left_out, "dim")


def _which(moment: Moment | None, explained: Explained) -> Iterator[Text]:
    """Yield which pod is explained, and how many nodes it fits."""
    if moment is None:
        yield placed(explained)
        return
    replaced = f"{moment.replaced:,} {'was' if moment.replaced == 1 else 'were'} replaced"
    which = f"The {ordinal(moment.number)} new pod{f', after {replaced}' if moment.replaced else ''}: "
    yield Text(which).append(_fits(explained, one_line(moment.pod)))


def _help(explained: Explained) -> Iterator[RenderableType]:
    """Yield why pods stay pending, and what would help."""
    title = "What would make it fit"
    if explained.placement.result.feasible_count:
        title = "What would make the other replicas fit"
        first = Text(f"The first that does not fit: {explained.why}.")
        yield from section("Why not all replicas fit", [first, sentence(explained.stuck_message)])
    suggested = suggestions_text(
        explained.suggestions, explained.placement, explained.replicas, explained.waits_for
    )
    yield from section(title, suggested)


def headline(explained: Explained) -> str:
    """Return what becomes of an object in a line, or whose pod fits how many nodes."""
    if explained.played is not None:
        return as_sentence(explained.played.verdict.sentence)
    return placed(explained).plain


def placed(explained: Explained) -> Text:
    """Return whose pod fits how many nodes, and which nodes an autoscaler adds for it."""
    return _fits(explained, workload_title(explained.placement))


def _fits(explained: Explained, whose: str) -> Text:
    text, autoscaled = fits_text(explained.placement, whose), explained.autoscaled
    if autoscaled is None:
        return text
    pod = "the first replica that does not fit" if explained.placement.result.feasible_count else "it"
    nodes, step, adding = autoscaled.scaled.nodes, autoscaled.step, autoscaled.scaled.autoscaler
    if autoscaled.scaled.stopped:
        return text.append(f"; ended early: what {adding} adds is not known")
    if not nodes:
        return text.append(f"; {adding} adds no node for {pod}")
    adds = f"; if {adding} adds {plural(len(nodes), 'node')}, {pod}"
    return text.append(f"{adds} {'stays pending' if step.node is None else f'goes to {one_line(step.node)}'}")


def _autoscaled(autoscaled: WithNewNodes) -> Iterator[RenderableType]:
    """Yield the nodes that come for one pod, and what the scheduler does then."""
    # Only whoever has an autoscaler pays for its words.
    from planning.text.autoscale_text import autoscaled_text  # noqa: PLC0415

    yield from autoscaled_text(autoscaled.scaled)
    if autoscaled.step.node is None and autoscaled.scaled.nodes:
        yield from section("Why it stays pending beside the new nodes", [sentence(autoscaled.step.message)])
    yield from ("", Text("This is for one pod: evenkeel what-if --autoscale places all.", "dim"))


def _notices(result: SchedulingResult) -> Iterator[RenderableType]:
    """Yield notes on facts that are not known or not modeled."""
    if result.unread:
        text = f"Not known, and may change who is evicted: {', '.join(result.unread)}."
        yield from ("", Text(text, "yellow"))
    if result.request.pod.unmodeled:
        asked = ", ".join(result.request.pod.unmodeled)
        text = f"Not modeled, and may reject more nodes: the pod's {asked}."
        yield from ("", Text(text, "yellow"))
    for text in (*unread_text(result.why_unread), *unmodeled_text(result.request.profile)):
        yield from ("", Text(text, "yellow"))


def _constraints(explained: Explained) -> Iterator[RenderableType]:
    placement, all_stats = explained.placement, explained.explanation.constraints
    if placement.why_none:
        yield from ("", Text(f"No constraint is in force: {placement.why_none}."))
        return
    yield ""
    yield Text("Constraints in force", "bold")
    for number, stats in enumerate(all_stats, start=1):
        yield item(number, constraint_title(stats.applied, placement.policy))
        yield from constraint_text(stats, placement)
    yield from dropped(placement)


def _refusing(
    result: SchedulingResult, groups: tuple[RejectedNodes, ...], most: int
) -> Iterator[RenderableType]:
    for group in groups[:most]:
        yield Text(named(group.examples, group.count))
        for rejection in group.rejections:
            for line in rejection_lines(result, rejection):
                yield indented(Text(line))
    if rest := groups[most:]:
        rejected = plural(sum(group.count for group in rest), "node")
        yield Text(f"and {rejected} for {plural(len(rest), 'other set')} of reasons")


def rejection_lines(result: SchedulingResult, rejection: Rejection) -> Iterator[str]:
    """Yield why a plugin refuses a group of nodes, with its numbers; a line for each reason."""
    words = f"{rejection.plugin}: {one_line(', '.join(rejection.texts))}"
    if rejection.taint is not None:
        yield f"{words}: {one_line(str(rejection.taint))}"
    elif rejection.shortages:
        for shortage in rejection.shortages:
            yield f"{rejection.plugin}: {_shortage(shortage)}"
    elif rejection.plugin is Plugin.POD_TOPOLOGY_SPREAD:
        for violation in rejection.violations:
            constraint = f"constraint {violation.constraint + 1}"
            yield f"{rejection.plugin}: {constraint}: {_violation(result, violation)}"
    else:
        yield words
        for volume in rejection.volumes:
            claim, name = one_line(volume.claim), one_line(volume.volume)
            yield f"claim {claim} is bound to volume {name}: {one_line(volume.reached_from)}"
        if rejection.volumes:
            yield NO_MOVE


def deadlock_lines(explained: Explained) -> Iterator[str]:
    """Yield which volumes leave a pod no node, and the constraints that forbid the nodes that they are on."""
    results = explained.placement.result.results
    for deadlock in explained.deadlocks:
        where = f"claim {one_line(deadlock.claim)} is bound to volume {one_line(deadlock.volume)}"
        where += f", reached from {one_line(deadlock.reached_from)}"
        if not deadlock.reaching:
            yield f"{where}: no node is there."
            continue
        forbidding = listed(
            f"constraint {at + 1} ({results[at].applied.constraint.topology_key}"
            f" maxSkew {results[at].applied.constraint.max_skew:,})"
            for at in deadlock.constraints
        )
        yield f"{where}; {forbidding} allows no pod there."


def preemption_lines(preemption: Preemption) -> Iterator[str]:
    """Yield where the scheduler would make room for a pod, and whom it would evict there."""
    node = preemption.nominated[0]
    evicted = listed(list(preemption.victims[node]))
    yield f"{one_line(node)}: kube-scheduler evicts {evicted}, of lower priority; then the pod goes there."
    if others := len(preemption.nominated) - 1:
        nodes = plural(others, "node")
        yield f"{nodes} more would do as well; kube-scheduler takes one of them all at random."


def _shortage(shortage: Shortage) -> str:
    least, most = (written(shortage.resource, max(0, left)) for left in (shortage.least, shortage.most))
    left = most if least == most else f"{least} to {most}"
    if shortage.resource == "pods":
        return f"Too many pods: {left} more allowed"
    requested = written(shortage.resource, shortage.requested)
    return f"Insufficient {one_line(shortage.resource)}: {requested} requested, {left} left"


def _violation(result: SchedulingResult, violation: SkewViolation) -> str:
    applied = result.results[violation.constraint].applied
    if violation.lacks_key:
        return f"no label {one_line(applied.constraint.topology_key)}"
    limit = f"above maxSkew {applied.constraint.max_skew:,}"
    if violation.least != violation.most:
        return f"skew {violation.least:,} to {violation.most:,} in {violation.domains:,} domains, {limit}"
    # matching + self match - minimum = skew.
    minimum = violation.matching + applied.self_match - violation.least
    where = f"{violation.domains:,} domains" if violation.domain is None else domain_name(violation.domain)
    operands = f"{violation.matching:,} matching + {applied.self_match} - minimum {minimum:,}"
    return f"{where}: {operands} = skew {violation.least:,}, {limit}"


def _outlook(explained: Explained, most: int) -> Iterator[RenderableType]:
    explanation, placement, outvoted = explained.explanation, explained.placement, explained.outvoted
    tiers = explanation.tiers
    if placement.result.request.pinned:
        yield Text(f"{named(tiers[0].examples, tiers[0].count)}: a pod each.")
        return
    if tiers[0].score is None:
        text = named(tiers[0].examples, tiers[0].count)
        yield Text(f"{text}: {_unscored(tiers[0].count)}")
        if tiers[0].count > 1:
            yield from map(Text, _choice(placement.result, outvoted))
        return
    for tier in tiers[:most]:
        text = f"score {tier.score}, {tier.points} points: {named(tier.examples, tier.count)}"
        yield indented(Text(text))
    if rest := tiers[most:]:
        yield indented(Text(f"lower: {plural(sum(tier.count for tier in rest), 'node')}"))
    lead = explanation.lead
    ahead = "All are equal by spread." if lead is None else f"The best score leads by {lead} points."
    profile = placement.result.request.profile
    weight = f"weight {profile.weight(Plugin.POD_TOPOLOGY_SPREAD)} in {profile_name(profile)}"
    yield Text(f"{ahead} Points are PodTopologySpread's score, 0 to 100, times its {weight}.")
    yield from map(Text, _choice(placement.result, outvoted))


def _choice(result: SchedulingResult, outvoted: OutvotedSpread | None) -> Iterator[str]:
    """Yield which nodes have the highest total, and why if PodTopologySpread prefers others."""
    best = result.best
    chosen = named(tuple(result.names[node] for node in best[:EXAMPLES]), len(best))
    text = f"By all plugins: {chosen}, {int(result.total[best[0]])} points."
    if outvoted is None:
        yield text
        return
    preference = f"PodTopologySpread prefers {outvoted.preferred}"
    outvoting = ", ".join(f"{plugin} {gain:+}" for plugin, gain in outvoted.gains)
    yield f"{text} {preference}, but is outvoted by {outvoted.margin} points: {outvoting}."
    yield f"It would win with weight {outvoted.weight} of PodTopologySpread{_smaller_max_skew(outvoted)}."


def _smaller_max_skew(outvoted: OutvotedSpread) -> str:
    found = outvoted.max_skew
    if found is None:
        tried = "" if outvoted.complete else f" of the {MOST_EVALUATIONS} that were tried"
        return f"; no smaller maxSkew{tried} is enough"
    numbers = " and ".join(str(position + 1) for position in found.constraints)
    which = f"constraint {numbers}" if len(found.constraints) == 1 else f"constraints {numbers}"
    return f", or with maxSkew {found.max_skew} of {which}"


def _unscored(count: int) -> str:
    if count == 1:
        return "the only one, so that nothing is scored."
    return "PodTopologySpread scores none of them (no ScheduleAnyway constraint)."
