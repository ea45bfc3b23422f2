"""The parts of an outcome that texts share: its sentence, tables of numbers, what would help, assumptions.

A part says nothing where there is nothing to say: none is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from planning.simulation.outcome import (
    Branches,
    BudgetOutcome,
    Cause,
    ConstraintOutcome,
    HelpfulChange,
    NodesOutcome,
    ObjectChange,
    Outcome,
    Verdict,
    WorkloadOutcome,
)
from planning.simulation.survival import Survival
from planning.text.suggestion_text import given_up_text
from planning.text.words import domain_name
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, IN_TABLE, ON_LINE, listed, more, plural
from policies.model.topology_keys import MISNAMED, RENAMED
from policies.reports.patch import edit_text
from policies.reports.terminal import MAX_MESSAGE, VERDICT_STYLES, add_rows, numbers, plain_table

#: What a verdict begins with, the worst first: false, undecided, true with a warning or a note, true.
FALSE, UNDECIDED, WARNING, TRUE = "✗", "?", "!", "✓"
#: Rows of a table that is one part of several.
MOST_ROWS: Final = 6
#: Lost domains that have a column each.
MOST_COLUMNS: Final = 6
#: Domains of which a row says how many pods each has.
MOST_DOMAINS: Final = 5
#: Verdicts of one workload that stand below the first.
MOST_VERDICTS: Final = 3
#: Suggestions that are shown.
MOST_SUGGESTIONS: Final = 3
#: What kinds that were not read are about, as people call it; that of all others.
_GROUPS: Final = {"poddisruptionbudgets": "budgets", "priorityclasses": "priority classes"}
_VOLUMES: Final = "volumes"
#: The causes whose pods have no node.
_WITHOUT_NODE: Final = frozenset({Cause.DOWN, Cause.DEADLOCK, Cause.PENDING})


def mark(cause: Cause) -> str:
    """Return what a verdict with a cause begins with."""
    if cause.holds is None:
        return UNDECIDED
    if not cause.holds:
        return FALSE
    return TRUE if cause is Cause.FITS else WARNING


def style(cause: Cause) -> str:
    """Return the color of a verdict with a cause."""
    return VERDICT_STYLES[None if mark(cause) == WARNING else cause.holds]


def as_sentence(text: str) -> str:
    """Return a clause as a sentence; a name at its beginning stays as it is.

    >>> as_sentence("the drain ends"), as_sentence("shop/web fits")
    ('The drain ends.', 'shop/web fits.')
    """
    line = one_line(text, MAX_MESSAGE)
    first = line.partition(" ")[0]
    begins = first.isalpha() and first.islower()
    return f"{line[0].upper() if begins else line[:1]}{line[1:]}{'' if line.endswith('.') else '.'}"


def verdict_line(verdict: Verdict) -> Table:
    """Return a verdict as its mark and its sentence."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    color = style(verdict.cause)
    grid.add_row(Text(mark(verdict.cause), color), Text(as_sentence(verdict.sentence), color))
    return grid


def further_verdicts(found: WorkloadOutcome, *, said: Verdict) -> Iterator[RenderableType]:
    """Yield what else is said of a workload, besides what is said already."""
    others = [
        each for each in found.verdicts if each.cause is not Cause.FITS and each.sentence != said.sentence
    ]
    for each in others[:MOST_VERDICTS]:
        yield verdict_line(each)


def title(found: WorkloadOutcome) -> str:
    """Return the name of a workload, with its namespace."""
    return one_line(f"{found.ref.namespace}/{found.ref.name}")


def key_name(key: str) -> str:
    """Return a topology key as people call it.

    >>> key_name("topology.kubernetes.io/zone"), key_name("example.com/rack")
    ('zone', 'example.com/rack')
    """
    meant = RENAMED.get(key) or MISNAMED.get(key) or key
    short = meant.rpartition("/")[2]
    return short if MISNAMED.get(short) == meant else one_line(key)


def has_numbers(found: WorkloadOutcome) -> bool:
    """Return whether the numbers of a workload say more than its name and verdict."""
    settled = found.pending or found.pending_before or found.lost or found.evicted or found.not_recreated
    return bool(settled) or found.updated is not None or found.after not in (found.wanted, None)


def workload_tables(workloads: Sequence[WorkloadOutcome], *, wide: bool = False) -> Iterator[RenderableType]:
    """Yield the tables of workloads: budgets, pods, what is left if a domain goes, and skews."""
    budgets = [
        (found, budget)
        for found in workloads
        for budget in found.budgets
        if wide or budget.blocks or budget.running < budget.required
    ]
    if budgets:
        yield budgets_table(budgets)
    counted = [found for found in workloads if wide or has_numbers(found)]
    if counted and not (len(counted) == 1 and budgets):
        shown = len(counted) if wide else MOST_ROWS
        yield counts_table(counted, most=shown)
        yield from rest_lines(counted[shown:])
    for table in (survival_table(workloads, wide=wide), constraints_table(workloads, wide=wide)):
        if table is not None:
            yield table


def rest_lines(rest: Sequence[WorkloadOutcome]) -> Iterator[Text]:
    """Yield how many workloads are left out, and whether anything is wrong with one of them."""
    if not rest:
        return
    wrong = [found for found in rest if found.verdict.value is not True]
    if wrong:
        yield Text(f"{more(len(rest), 'workload').removeprefix('and ')}, {len(wrong):,} not well (-o wide).")
    else:
        yield Text(f"{len(rest):,} more: every one has all its pods again (-o wide).")


def counts_table(workloads: Sequence[WorkloadOutcome], *, most: int = MOST_ROWS) -> Table:
    """Return how many pods of workloads run before, at the worst moment and in the end.

    Args:
        workloads: The workloads; a single one is not named.
        most: How many of them are shown.
    """
    several = len(workloads) > 1
    with_lowest = any(not found.before == found.lowest == found.after for found in workloads)
    with_updated = any(found.updated is not None for found in workloads)
    with_new = any(found.on_new_nodes for found in workloads)
    table = plain_table(
        *(["WORKLOAD"] if several else []),
        *numbers(
            "WANTED", "BEFORE", *(["LOWEST"] if with_lowest else []), "AFTER",
            *(["UPDATED"] if with_updated else []), *(["ON NEW NODES"] if with_new else []),
        ),
        "PENDING",
    )  # fmt: skip
    for found in workloads[:most]:
        sign = mark(found.verdict.cause)
        after = Text(f"{found.after:,}")
        if several and sign in {FALSE, UNDECIDED}:
            after.append(f" {sign}", style(found.verdict.cause))
        table.add_row(
            *([title(found)] if several else []),
            _number(found.wanted), f"{found.before:,}",
            *([f"{found.lowest:,}"] if with_lowest else []), after,
            *([_number(found.updated)] if with_updated else []),
            *([f"{found.on_new_nodes:,}"] if with_new else []),
            _pending(found, names=not several),
        )  # fmt: skip
    return table


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _pending(found: WorkloadOutcome, *, names: bool) -> str:
    """Return how many pods have no node, which, and how many had none before."""
    text = f"{found.pending:,}"
    verdict = found.verdict
    if names and found.pending and verdict.cause in _WITHOUT_NODE and verdict.pods:
        text += f": {listed((name.rpartition('/')[2] for name in verdict.pods), IN_PHRASE)}"
    if found.pending_before != found.pending:
        text += f" ({found.pending_before:,} before)"
    if found.not_tried:
        text += f", {found.not_tried:,} not tried"
    return text


def survival_table(
    workloads: Sequence[WorkloadOutcome], *, most: int = MOST_ROWS, wide: bool = False
) -> Table | None:
    """Return what is left of workloads if the fullest domain of a key goes; None without a domain.

    Args:
        workloads: The workloads; a single one is not named. Of several only those with a warning are shown.
        most: How many rows there are.
        wide: Whether every domain and every workload is shown.
    """
    several = len(workloads) > 1
    rows = [
        (found, each)
        for found in workloads
        for each in found.survival
        if not several or wide or each.stops or each.takes_more
    ]
    if not rows:
        return None
    one = rows[0][0] if not several else None
    left = f"LEFT OF {one.wanted:,}" if one is not None and one.wanted is not None else "LEFT"
    titles = ["IF IT GOES", "PODS IN", "FULLEST", left]
    with_domains = wide or not several
    columns = (Column(each, no_wrap=True) for each in titles)
    last = [""] if with_domains else []
    table = plain_table(*(["WORKLOAD"] if several else []), *columns, *last)
    for found, each in rows if wide else rows[:most]:
        worse = each.stops or each.takes_more
        color = style(Cause.ONE_DOMAIN) if worse else ""
        table.add_row(
            *([title(found)] if several else []),
            key_name(each.topology_key),
            domains_with_pods(each),
            _fullest(each),
            Text(f"{_change(each.left_before, each.left)}{f' {WARNING}' if worse else ''}", color),
            *([_by_domain(each, wide=wide)] if with_domains else []),
        )
    return table


def _change(before: int | None, after: int) -> str:
    """Return a number before and after; one that is new has no before."""
    return f"{after:,}" if before is None else f"{before:,} → {after:,}"


def domains_with_pods(each: Survival) -> str:
    """Return in how many domains the pods are, of how many there could be."""

    def count(counts: Mapping[str, int]) -> int:
        return sum(1 for pods in counts.values() if pods)

    before = None if each.before is None else count(each.before)
    of = "" if each.possible is None else f" of {each.possible:,}"
    beyond = "+" if each.other_domains else ""
    return f"{_change(before, count(each.after))}{beyond}{of}"


def _fullest(each: Survival) -> str:
    if each.fullest is None:
        return "none"
    after, name = each.after.get(each.fullest, 0), domain_name(each.fullest)
    if each.before is None or each.fullest_before is None:
        return f"{name} {after:,}"
    before = each.before.get(each.fullest_before, 0)
    if each.fullest == each.fullest_before:
        return f"{name} {before:,} → {after:,}"
    return f"{domain_name(each.fullest_before)} {before:,} → {name} {after:,}"


def _by_domain(each: Survival, *, wide: bool) -> str:
    """Return the pods of each domain; empty where these are too many for a line."""
    names = sorted({*each.after, *(each.before or {})})
    if (len(names) > MOST_DOMAINS or each.other_domains) and not wide:
        return ""
    return _counts_by_domain(names, each.before, each.after)


def _counts_by_domain(
    names: Sequence[str], before: Mapping[str, int] | None, after: Mapping[str, int]
) -> str:
    was = {name: "" if before is None else f"{before.get(name, 0):,}→" for name in names}
    return "  ".join(f"{domain_name(name)} {was[name]}{after.get(name, 0):,}" for name in names)


def losses_tables(outcome: Outcome, *, wide: bool) -> Iterator[RenderableType]:
    """Yield what the loss of each domain does to workloads: a column each, or of many a row each."""
    losses = outcome.outcomes
    if len(losses) > MOST_COLUMNS:
        yield _each_loss(losses, most=len(losses) if wide else IN_TABLE)
        return
    of = [{found.ref: found for found in loss.workloads} for loss in losses]
    order = sorted(range(len(losses)), key=lambda number: lost_domain(losses[number]))
    table = plain_table(
        "RIGHT AFTER → IN THE END",
        *numbers("WANTED", "BEFORE", folded=True),
        *(f"without {domain_name(lost_domain(losses[number]))}" for number in order),
    )
    hit = [found for found in outcome.workloads if wide or _is_hit(found)]
    hit = hit or list(outcome.workloads)
    shown = hit if wide else hit[:MOST_ROWS]
    for found in shown:
        cells = (_loss_cell(found, of[number].get(found.ref)) for number in order)
        wanted = "" if found.wanted is None else f"{found.wanted:,}"
        table.add_row(title(found), wanted, f"{found.before:,}", *cells)
    yield table
    yield from rest_lines([found for found in outcome.workloads if found not in shown])


def _is_hit(found: WorkloadOutcome) -> bool:
    """Return whether something happens to a workload, or is wrong with it."""
    is_changed = found.change is not ObjectChange.NONE
    return is_changed or found.lowest < found.before or found.verdict.value is not True


def lost_domain(outcome: Outcome) -> str:
    """Return the domain that is lost last; empty for none."""
    lost = [event.lose for event in outcome.scenario.events if event.lose is not None]
    return lost[-1].value if lost else ""


def _loss_cell(found: WorkloadOutcome, then: WorkloadOutcome | None) -> Text:
    if then is None or (then.before == then.lowest == then.after and then.verdict.value is True):
        return Text(f"{found.before:,}")
    sign = mark(then.verdict.cause)
    shown = f" {sign}" if then.verdict.value is not True else ""
    return Text(f"{then.lowest:,} → {then.after:,}{shown}", style(then.verdict.cause) if shown else "")


def _each_loss(losses: Sequence[Outcome], *, most: int) -> Table:
    """Return a row for each lost domain, the worst first."""
    table = plain_table("WITHOUT", *numbers("NODES", "PODS LOST", "NOT WELL", "PENDING"), "WORST")
    rows = []
    for loss in losses:
        wrong = [found for found in loss.workloads if found.verdict.value is not True]
        worst = f"{title(wrong[0])}: {wrong[0].verdict.cause}" if wrong else ""
        rows.append(
            (
                Text(
                    f"{mark(loss.verdict.cause)} {domain_name(lost_domain(loss))}", style(loss.verdict.cause)
                ),
                f"{len(loss.nodes.lost):,}",
                f"{sum(found.lost for found in loss.workloads):,}",
                f"{len(wrong):,}",
                f"{sum(found.pending for found in loss.workloads):,}",
                worst,
            )
        )
    return add_rows(table, rows, most=most, noun="domain")


def constraints_table(workloads: Sequence[WorkloadOutcome], *, wide: bool = False) -> Table | None:
    """Return the skew of constraints before and after; None where none changes or is above its maxSkew."""
    several = len(workloads) > 1
    rows = [
        (found, each)
        for found in workloads
        for each in found.constraints
        if wide or each.above or each.skew != each.skew_before
    ]
    if not rows:
        return None
    with_peak = any(each.peak > max(each.skew or 0, each.skew_before or 0) for _, each in rows)
    table = plain_table(
        *(["WORKLOAD"] if several else []), "CONSTRAINT", Column("SKEW", no_wrap=True),
        *numbers(*(["WORST"] if with_peak else []), "MAX"), *([""] if wide else []),
    )  # fmt: skip
    for found, each in rows if wide else rows[:MOST_ROWS]:
        constraint = each.applied.constraint
        table.add_row(
            *([title(found)] if several else []),
            f"{key_name(constraint.topology_key)} {constraint.when_unsatisfiable}",
            Text(_skews(each), style(Cause.ABOVE_MAX_SKEW) if each.above else ""),
            *([f"{each.peak:,}"] if with_peak else []),
            f"{constraint.max_skew:,}",
            *([_domains_of(each)] if wide else []),
        )
    return table


def _skews(each: ConstraintOutcome) -> str:
    if each.skew is None:
        return f"{each.skew_before or 0:,} → not in force"
    return f"{_change(each.skew_before, each.skew)}{f' {WARNING}' if each.above else ''}"


def _domains_of(each: ConstraintOutcome) -> str:
    after = each.after or {}
    return _counts_by_domain(sorted({*after, *(each.before or {})}), each.before, after)


def budgets_table(budgets: Sequence[tuple[WorkloadOutcome, BudgetOutcome]]) -> Table:
    """Return budgets, and the evictions that each refuses for good."""
    table = plain_table("BUDGET", *numbers("WANTS", "READY", "MAY GO"), "BLOCKS")
    for found, each in budgets[:MOST_ROWS]:
        blocks = listed((name.rpartition("/")[2] for name in each.blocks), IN_PHRASE)
        if blocks:
            blocks += f", until {each.required + 1:,} are ready"
        table.add_row(
            one_line(f"{found.ref.namespace}/{each.name}"),
            f"{each.required:,}", f"{each.running:,}", f"{each.allowed:,}", blocks,
        )  # fmt: skip
    return table


def nodes_lines(nodes: NodesOutcome) -> Iterator[Text]:
    """Yield the nodes that an autoscaler adds and removes, and what that costs."""
    groups = Counter((each.group, each.zone) for each in nodes.added)
    if groups:
        per = (
            f"{count:,} of {one_line(group)}{f' in zone {one_line(zone)}' if zone else ''}"
            for (group, zone), count in groups.items()
        )
        yield Text(f"Added: {plural(len(nodes.added), 'node')}: {listed(per)}.")
    if nodes.removed:
        yield Text(f"Removed: {plural(len(nodes.removed), 'node')}: {listed(nodes.removed)}.")
    if nodes.cost_per_hour is not None and (groups or nodes.removed):
        yield Text(f"That changes the price of an hour by {nodes.cost_per_hour:+,.2f}.")


def why_lines(workloads: Sequence[WorkloadOutcome]) -> Iterator[Text]:
    """Yield why the worst workloads are as they are, a sentence each, and the scheduler's own words."""
    said = [found for found in workloads if found.verdict.why]
    several = len(workloads) > 1
    for found in said[: 2 if several else 1]:
        whose = f"Why {one_line(found.ref.name)}" if several else "Why"
        yield Text(f"{whose}: {one_line(found.verdict.why, MAX_MESSAGE).rstrip('.')}.")


def suggestion_lines(suggestions: Sequence[HelpfulChange]) -> Iterator[RenderableType]:
    """Yield what would help, the best first, each with what applying it then says."""
    for number, each in enumerate(suggestions[:MOST_SUGGESTIONS], start=1):
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        words = [one_line(each.text, MAX_MESSAGE), *map(edit_text, each.edits if not each.text else ())]
        text = Text("; ".join(word for word in words if word))
        cost = f"; costs: {one_line(each.cost)}" if each.cost else ""
        then = f"then {one_line(each.verdict.sentence, MAX_MESSAGE).rstrip('.')}{cost}"
        then += "".join(f". {given_up_text(given_up)}" for given_up in each.given_up)
        text.append(f": {then}", "yellow" if each.caution or each.given_up else "dim")
        grid.add_row(str(number), text)
        yield grid
    if (rest := len(suggestions) - MOST_SUGGESTIONS) > 0:
        yield Text(as_sentence(more(rest, "suggestion")))


def basis_line(outcome: Outcome, source: str) -> str:
    """Return by what an outcome was found: release, nodes, the file if there is one, and what is left out."""
    nodes = plural(outcome.nodes.before, "node")
    parts = [f"Kubernetes {outcome.kubernetes_version}", nodes, *([one_line(source)] if source else [])]
    text = ", ".join(parts)
    if outcome.not_looked_at:
        text += f"; not looked at: {listed(outcome.not_looked_at, ON_LINE)}"
    return f"{text}."


def left_out_line(outcome: Outcome) -> str:
    """Return what was not read, tried or modeled, and what was assumed; empty without any of these."""
    unread = dict.fromkeys(_GROUPS.get(kind, _VOLUMES) for kind in outcome.scenario.cluster.unread)
    parts = [
        f"Not read: {listed(unread, ON_LINE)}." if unread else "",
        "" if outcome.complete else "Not everything was played to its end.",
        f"Not modeled: {listed(outcome.not_modeled, ON_LINE)}." if outcome.not_modeled else "",
        f"Assumed: {listed(outcome.assumed, IN_PHRASE, between='; ')}." if outcome.assumed else "",
    ]
    return " ".join(part for part in parts if part)


def ways_line(outcome: Outcome) -> str:
    """Return how the other ways end in which chance may decide; empty where one was played."""
    return ways_of(outcome.branches, outcome.workloads)


def ways_of(branches: Branches | None, workloads: Sequence[WorkloadOutcome]) -> str:
    """Return the same of the ways in which workloads can change."""
    if branches is None or branches.tried < 2:
        return ""
    by_chance, tried = "Chance decides between equal nodes:", f"{branches.tried:,} ways"
    if branches.ends_worse:
        worst = one_line(branches.worst.sentence, MAX_MESSAGE).rstrip(".")
        return f"{by_chance} in {branches.ends_worse:,} of {tried} {worst}."
    constraints = [each for found in workloads for each in found.constraints]
    end = "none ends worse"
    for skew, each in zip(branches.worst_skews, constraints, strict=False):
        if skew > (each.skew or 0):
            end = f"the skew of {key_name(each.applied.constraint.topology_key)} is up to {skew:,}"
            break
    return f"{by_chance} {tried} were played{'' if branches.exact else ', not all'}; {end}."
