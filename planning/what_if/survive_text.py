"""Whether workloads survive single losses, for a person in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from planning.simulation.suggestions.survive_suggestions import SurvivalHelp, SurvivalSuggestion
from planning.simulation.survive.deployed_workloads import DeployedWorkload
from planning.simulation.survive.loss import Loss, LossWithNewNodes, WorkloadLoss
from planning.simulation.survive.survival_report import SurvivalReport
from planning.simulation.survive.survive import MOST_MARGIN
from planning.text.autoscale_text import uncounted_note, unhelped_text
from planning.text.suggestion_text import costs_text, numbered_suggestion
from planning.text.what_if_text import evicted_text
from planning.text.words import (
    domain_name,
    lost_volumes_text,
    replica_origin_text,
    search_ended,
    unmodeled_note,
    workload_title,
)
from planning.what_if.survive_cluster_text import MOST_MESSAGES, REMOVED_NODES, never_lost
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, IN_TABLE, listed, plural
from policies.reports import markdown
from policies.reports.terminal import (
    VERDICT_STYLES,
    add_rows,
    numbers,
    plain_table,
    print_all,
    section,
    sentence,
)
from policies.scheduler.binding import SchedulingAttempt


def render(report: SurvivalReport, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does."""
    return print_all(_parts(report), width=width, color=color)


def verdict(report: SurvivalReport) -> str:
    """Return the verdict on the workloads, in a sentence."""
    deployed = report.survival.deployed
    if len(deployed) == 1:
        return _headline(report, 0, deployed[0]).plain
    failed = sum(report.survives(number) is False for number in range(len(deployed)))
    if failed:
        do = "does" if failed == 1 else "do"
        return f"{failed:,} of {plural(len(deployed), 'workload')} {do} not survive"
    return f"All {plural(len(deployed), 'workload')} survive" if report.verdict else "No verdict: ended early"


def render_markdown(report: SurvivalReport) -> str:
    """Return the report for the summary of a CI job or a comment."""
    headline, *others = _parts(report)
    parts = others if len(report.survival.deployed) == 1 else [headline, *others]
    return markdown.render(verdict(report), verdict=report.verdict, parts=parts)


def _parts(report: SurvivalReport) -> Iterator[RenderableType]:
    survival = report.survival
    helps = {entry.workload: entry for entry in report.helps}
    for number, deployed in enumerate(survival.deployed):
        if number:
            yield ""
        yield _headline(report, number, deployed)
        yield from replica_origin_text(deployed.workload)
        yield Text(_before(deployed))
        yield from _margin(report, number)
        if deployed.lacks and deployed.pending is not None:
            yield sentence(deployed.pending.message)
        elif report.losses:
            yield from section(
                f"Losses of {one_line(survival.options.key)}", [_losses(report.losses, number)]
            )
            yield from _pending(report.losses, number)
            yield from _with_nodes(report.losses, number)
        if number in helps:
            yield from _help(helps[number])
    if report.losses:
        worst = max(report.losses, key=lambda loss: len(loss.evicted))
        yield from evicted_text(worst.evicted, f" without {domain_name(worst.domain)}")
    yield from _notes(report)


def _headline(report: SurvivalReport, number: int, deployed: DeployedWorkload) -> Text:
    tried, count = len(report.losses), len(report.survival.domains)
    failed = sum(not loss.workloads[number].survives for loss in report.losses)
    domains = f"{plural(count, 'domain')} of {one_line(report.survival.options.key)}"
    survives = report.survives(number)
    if deployed.lacks:
        verdict, rest = "lacks replicas even before a loss", ""
    elif failed:
        verdict, rest = f"does not survive the loss of {failed:,}", f" of {domains}"
    elif survives:
        verdict, rest = "survives the loss of any one", f" of {domains}"
    else:
        verdict, rest = "has no verdict", f": ended early, {tried:,} of {domains} tried"
    if failed and not deployed.lacks and any(loss.autoscaled is not None for loss in report.losses):
        rest += _would_survive(report.losses, number, failed)
    whose = workload_title(deployed.prepared)
    return Text.assemble(
        whose, " ", (verdict, VERDICT_STYLES[survives]), rest, f" (Kubernetes {report.version})"
    )


def _would_survive(losses: Sequence[Loss], number: int, failed: int) -> str:
    """Return how many of the losses that a workload does not survive it would, with nodes that are added."""
    helped = [loss for loss in _failed(losses, number) if loss.survives_with_nodes(number)]
    if not helped:
        return f", nor with the nodes that {_autoscaler(losses)} adds"
    most = max(len(loss.autoscaled.scaled.nodes) for loss in helped if loss.autoscaled is not None)
    nodes = "1 node" if most == 1 else f"up to {plural(most, 'node')}"
    which = "all of these" if len(helped) == failed else f"{len(helped):,} of these"
    return f"; it would survive {which} if {_autoscaler(losses)} adds {nodes}"


def _autoscaler(losses: Iterable[Loss]) -> str:
    """Return the autoscaler's name after losses; empty without one."""
    return next((loss.autoscaled.scaled.autoscaler for loss in losses if loss.autoscaled is not None), "")


def _failed(losses: Iterable[Loss], number: int) -> list[Loss]:
    return [loss for loss in losses if not loss.workloads[number].survives]


def _before(deployed: DeployedWorkload) -> str:
    """Return how many replicas run before a loss, and where they come from."""
    parts = [f"{deployed.used:,} running now", f"{deployed.placed:,} placed here"]
    left_out = f"; {deployed.replaced:,} of other revisions left out" if deployed.replaced else ""
    left_out += f"; {deployed.untried:,} were not tried" if deployed.untried else ""
    must = f"{deployed.required:,} of {plural(deployed.wanted, 'replica')} must run"
    return f"{must}; before a loss {deployed.running:,} do ({', '.join(parts)}{left_out})."


def _margin(report: SurvivalReport, number: int) -> Iterator[Text]:
    margin = report.margin(number)
    if margin is None:
        return
    least = "at least " if margin == MOST_MARGIN else ""
    more = f"{least}{plural(margin, 'more replica')}" if margin else "no more replica"
    left_out = f"; {report.untried:,} that displace no replica were not tried" if report.untried else ""
    yield Text(f"Margin: {more} would fit after the worst of these losses{left_out}.")


def _losses(losses: tuple[Loss, ...], number: int) -> Table:
    """Return a line for each loss, or for each number of losses that come to the same."""
    few = len(losses) <= IN_TABLE
    titles = numbers(*(["NODES"] if few else []), "DISPLACED", "RUN AFTER", "MUST RUN")
    table = plain_table("LOST" if few else "LOSSES", *titles, Column("SURVIVED"))
    if few:
        for loss in sorted(losses, key=lambda loss: loss.domain):
            name = domain_name(loss.domain)
            table.add_row(name, f"{loss.nodes:,}", *_cells(_numbers(loss.workloads[number])))
        return table
    alike = Counter(_numbers(loss.workloads[number]) for loss in losses)
    ordered = sorted(alike.items(), key=lambda entry: (entry[0][-1], -entry[1]))
    for outcome, count in ordered[:IN_TABLE]:
        table.add_row(f"{count:,}", *_cells(outcome))
    if rest := ordered[IN_TABLE:]:
        table.add_row(f"and {plural(sum(count for _, count in rest), 'other')}")
    return table


def _numbers(entry: WorkloadLoss) -> tuple[int, int, int, bool]:
    return entry.displaced, entry.running, entry.required, entry.survives


def _cells(outcome: tuple[int, int, int, bool]) -> list[Text]:
    *counts, survives = outcome
    return [*(Text(f"{n:,}") for n in counts), Text("yes", "green") if survives else Text("no", "red")]


def _pending(losses: Iterable[Loss], number: int) -> Iterator[RenderableType]:
    """Yield the scheduler's words on replicas that must run and do not, those of equal words together."""
    by_message: dict[str, dict[str, SchedulingAttempt]] = {}
    for loss in losses:
        entry = loss.workloads[number]
        if not entry.survives and entry.pending is not None:
            by_message.setdefault(entry.pending.message, {})[loss.domain] = entry.pending
    if not by_message:
        return
    yield from section("Why replicas stay pending", ())
    for message, pending in list(by_message.items())[:MOST_MESSAGES]:
        yield Text(f"Without {listed(sorted(pending))}:")
        yield sentence(message)
        lost = (volume for domain in sorted(pending) for volume in pending[domain].lost_volumes)
        yield from map(Text, lost_volumes_text(lost))
    if (rest := len(by_message) - MOST_MESSAGES) > 0:
        yield Text(f"and {plural(rest, 'other message')}")


def _with_nodes(losses: Iterable[Loss], number: int) -> Iterator[RenderableType]:
    """Yield what the nodes that an autoscaler adds would change, of losses that are not survived."""
    failed = [loss for loss in _failed(losses, number) if loss.autoscaled is not None]
    if not failed:
        return
    table = plain_table("LOST", "IN ZONES", *numbers("NODES ADDED", "RUN THEN", "MUST RUN"))
    by_domain = sorted(failed, key=lambda loss: loss.domain)
    rows = (_then(loss, loss.autoscaled, number) for loss in by_domain if loss.autoscaled is not None)
    add_rows(table, rows)
    yield from section(f"If {_autoscaler(failed)} adds nodes", [table])
    yield from _why_no_nodes(failed, number)


def _then(loss: Loss, scaled: LossWithNewNodes, number: int) -> tuple[str, ...]:
    zones = dict.fromkeys(node.zone for node in scaled.scaled.nodes if node.zone)
    counts = (len(scaled.scaled.nodes), scaled.running[number], loss.workloads[number].required)
    return domain_name(loss.domain), listed(sorted(zones)), *(f"{count:,}" for count in counts)


def _why_no_nodes(failed: Iterable[Loss], number: int) -> Iterator[RenderableType]:
    """Yield what keeps nodes from coming, of the first loss that is not survived even so."""
    for loss in failed:
        if loss.autoscaled is not None and not loss.survives_with_nodes(number):
            yield Text(f"Why not more, without {domain_name(loss.domain)}:")
            yield from unhelped_text(loss.autoscaled.scaled.unhelped)
            return


def _help(found: SurvivalHelp) -> Iterator[RenderableType]:
    title = "What would make it run" if found.domain is None else "What would make it survive"
    yield from section(title, ())
    if not found.found and found.complete:
        yield Text("No one or two changes of the manifest or the cluster that Evenkeel knows.")
    for number, entry in enumerate(found.found, start=1):
        outcome = [_outcome(entry, found), costs_text(entry.suggestion, found.placement)]
        yield from numbered_suggestion(number, entry.suggestion, found.placement, outcome)
    if any(entry.survives is None and entry.suggestion.edits for entry in found.found):
        yield Text("Not every change of the manifest was tried against every loss.", "dim")
    if not found.complete:
        yield search_ended(plural(found.verdicts, "verdict"))


def _outcome(entry: SurvivalSuggestion, found: SurvivalHelp) -> str:
    after = entry.suggestion.replicas
    where = "before a loss" if found.domain is None else f"without {one_line(found.domain)}"
    fits = "" if after is None else f"{after.fitting:,} of {after.wanted:,} replicas fit"
    if entry.survives:
        return "then every single loss is survived"
    if entry.survives is None:
        return f"then {fits or 'it fits'} {where}; other losses were not tried with it"
    return f"then {fits or 'it fits'} {where}, but not every loss is survived"


def _notes(report: SurvivalReport) -> Iterator[RenderableType]:
    """Yield notes on the assumptions of the numbers, and on what they leave out."""
    lines = [*_other_pods(report), *_assumptions(report)]
    if lines:
        yield ""
    yield from (Text(line, "yellow") for line in lines)


def _other_pods(report: SurvivalReport) -> Iterator[str]:
    others = [loss.others for loss in report.losses if loss.others is not None]
    displaced = max((entry.displaced for entry in others), default=0)
    pending = max((entry.pending for entry in others), default=0)
    untried = max((entry.untried for entry in others), default=0)
    if displaced:
        stay = f"up to {pending:,} of them stay" if pending else "none of them stays"
        worst = max(others, key=lambda entry: entry.pending)
        owners = [f"{each.owner} of {each.namespace} ({each.pods:,})" for each in worst.pending_of]
        told = f"{stay} pending: {listed(owners, IN_SENTENCE)}" if owners else f"{stay} pending"
        yield f"Pods of other workloads that lose their node with it: up to {displaced:,}; {told}."
    if untried:
        yield f"Not scheduled again of those, so that they take no room: up to {untried:,}."
    if evicted := max((len(loss.evicted) for loss in report.losses), default=0):
        text = "Pods that are evicted for those of higher priority (-o json names those of each loss)"
        yield f"{text}: up to {evicted:,}."


def _assumptions(report: SurvivalReport) -> Iterator[str]:
    survival, unmodeled = report.survival, report.unmodeled
    if survival.without_key:
        yield never_lost(survival.options.key, survival.without_key)
    if report.verdict and not survival.options.unreachable:
        yield REMOVED_NODES
    if unmodeled:
        yield unmodeled_note(unmodeled)
    for workload, why in report.unjudged:
        yield f"Not evaluated: {one_line(workload.title)}: {why}."
    if scaled := next((loss.autoscaled.scaled for loss in report.losses if loss.autoscaled), None):
        yield uncounted_note(scaled)
    if not report.complete:
        yield f"Ended early: only {len(report.losses):,} of {len(survival.domains):,} losses were tried."
    elif report.stopped:
        yield "Ended early: not all changes were tried that may help."
