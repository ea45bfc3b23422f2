"""A simulation for a person in a terminal: domains before and after, where pods went, what stays pending."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.simulation.distribution import DomainSpread
from planning.simulation.domain_changes import MOST_COUNTED, DomainChange
from planning.simulation.recovery import PodOutcome
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.simulated_queue import SimulatedQueue
from planning.text import rollout_text
from planning.text.autoscale_text import autoscaled_text
from planning.text.domains import domain_table
from planning.text.scale_down_text import scaled_down_text
from planning.text.what_if_text import evicted_text, what_if_text
from planning.text.words import (
    as_revision,
    constraint_title,
    dropped,
    lost_volumes_text,
    replica_origin_text,
    rolled_out,
    unmodeled_note,
    unread_text,
    workload_title,
)
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_TABLE, ON_LINE, listed, plural
from policies.reports.terminal import (
    add_rows,
    indented,
    item,
    numbers,
    plain_table,
    print_all,
    section,
    sentence,
)
from policies.scheduler.binding import SchedulingAttempt


def render(found: SimulatedQueue | SimulatedRollout, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does; of a rollout, its own."""
    if isinstance(found, SimulatedRollout):
        return rollout_text.render(found, width=width, color=color)
    return print_all(_parts(found), width=width, color=color)


def verdict(found: SimulatedQueue | SimulatedRollout) -> str:
    """Return how a simulation ends, in a sentence."""
    if isinstance(found, SimulatedRollout):
        return rollout_text.headline(found).plain
    ends, happened = found.ends, found.what_if
    if ends is None or happened is None:
        return headline(found).plain
    text = f"{ends.running:,} of {plural(ends.running + ends.pending, 'replica')} have a node at the end"
    others = [entry for entry in happened.recovery.displaced if not entry.own]
    if not others:
        return f"{text}; no pod of another workload loses its node"
    stuck = sum(entry.outcome is PodOutcome.PENDING for entry in others)
    left = sum(entry.outcome in {PodOutcome.NOT_TRIED, PodOutcome.NOT_RECREATED} for entry in others)
    more = f", {left:,} are not scheduled again" if left else ""
    lose = "loses its node" if len(others) == 1 else "lose theirs"
    return f"{text}; {plural(len(others), 'pod')} of other workloads {lose}: {stuck:,} stay pending{more}"


def _parts(simulated: SimulatedQueue) -> Iterator[RenderableType]:
    queue = simulated.queue
    yield headline(simulated)
    yield from _replicas(simulated)
    if simulated.what_if is not None:
        yield from what_if_text(simulated.what_if, None if queue.prepared is None else queue.prepared.policy)
    if queue.pods or simulated.what_if is None:
        yield from _scheduled(simulated)
    yield from evicted_text(simulated.displaced)
    yield from _notes(simulated)


def _scheduled(simulated: SimulatedQueue) -> Iterator[RenderableType]:
    """Yield the outcome for the pods of the queue."""
    simulation = simulated.simulation
    yield from _runs(simulated)
    yield from _constraints(simulated)
    of_first = "" if simulated.distribution is None else " in the first run"
    if simulation.pending < len(simulation.steps):
        yield from section(f"Where they went{of_first}", [_by_node(simulation.steps)])
    if simulation.pending:
        yield from section(f"What stays pending{of_first}", _pending(simulation.steps))
    if simulation.autoscaled is not None:
        yield from autoscaled_text(simulation.autoscaled)
    if simulation.scaled_down is not None:
        yield from scaled_down_text(simulation.scaled_down)


def headline(simulated: SimulatedQueue) -> Text:
    """Return how many pods of a queue got a node."""
    queue, simulation = simulated.queue, simulated.simulation
    count, placed = simulation.queued, len(simulation.steps) - simulation.pending
    what = "pod" if queue.replicas is None else "replica"
    text = Text("" if queue.prepared is None else f"{workload_title(queue.prepared)}: ")
    if not count:
        if not simulated.is_judged:
            return text.append("nothing is judged: there is no node", "bold red")
        nothing = "nothing to schedule" if simulated.what_if is None else "nothing to schedule besides"
        return text.append(nothing, "bold")
    at_most = "at most " if simulation.unmodeled and placed else ""
    got = f"{at_most}{placed:,} of {plural(count, what)} placed"
    good = simulation.complete and not simulation.pending
    text.append(got, "bold green" if good else "bold red")
    untried = count - len(simulation.steps)
    if simulation.pending:
        so_far = "" if simulation.complete or untried else " so far"
        text.append(f", {simulation.pending:,} pending{so_far}", "bold red")
    if untried:
        text.append(f", {untried:,} not tried", "bold red")
    text.append(f" ({plural(queue.cluster.node_count, 'node')}, Kubernetes {queue.version})")
    if queue.rollout is not None:
        return text.append(f", after {rolled_out(queue.rollout)}")
    return text if queue.prepared is None else text.append(as_revision(queue.prepared))


def _replicas(simulated: SimulatedQueue) -> Iterator[Text]:
    """Yield how many replicas ran before."""
    queue = simulated.queue
    replicas = queue.replicas
    if replicas is None:
        return
    prepared = queue.prepared
    labeled = prepared is not None and prepared.workload.kind.revision_label
    of_revision = " of this revision" if labeled else ""
    of_wanted = f"{replicas.placed:,} of {plural(replicas.wanted, 'replica')}{of_revision}"
    before = queue.pods or simulated.what_if is not None
    more = "had a node before." if before else "have a node: --replicas N schedules N more."
    if prepared is not None:
        yield from replica_origin_text(prepared.workload)
    yield Text(f"{of_wanted} {more}")


def _runs(simulated: SimulatedQueue) -> Iterator[RenderableType]:
    """Yield the outcome of all runs together."""
    found, settings = simulated.distribution, simulated.settings
    if found is not None:
        runs = plural(settings.runs or found.runs, "run")
        runs = runs if found.runs == settings.runs else f"{found.runs:,} of {runs}"
        yield ""
        yield Text(f"{runs} (seed {settings.used_seed})", "bold")
        yield Text(f"pending pods: {_times(found.pending, found.runs)}")


def _times(counted: Mapping[int, int], runs: int) -> str:
    """Return in how many runs each number came out; of many numbers, their range."""
    if len(counted) == 1:
        return f"{next(iter(counted)):,} in every run"
    if len(counted) > ON_LINE:
        usual = max(counted, key=lambda number: counted[number])
        often = f"most often {usual:,} ({counted[usual]:,} of {runs:,} runs)"
        return f"{min(counted):,} to {max(counted):,}, {often}"
    return ", ".join(f"{number:,} in {times:,}" for number, times in counted.items()) + " runs"


def _constraints(simulated: SimulatedQueue) -> Iterator[RenderableType]:
    prepared, simulation = simulated.queue.prepared, simulated.simulation
    if prepared is not None and prepared.why_none:
        yield from ("", Text(f"No constraint is in force: {prepared.why_none}."))
    for position, change in enumerate(simulation.domains):
        title = constraint_title(change.applied, None if prepared is None else prepared.policy)
        if prepared is None:
            title.append(f", of pod {one_line(change.pod)}", "dim")
        found = simulated.distribution
        spread = None if found is None else found.domains[position]
        yield ""
        yield item(position + 1, title)
        yield indented(_skew(change, spread, 1 if found is None else found.runs))
        if change.after:
            yield indented(_domains(change, spread))
    if not simulation.all_counted:
        text = f"Of more than {MOST_COUNTED} different pods only the first are counted."
        yield from ("", Text(text, "yellow"))
    if prepared is not None:
        yield from dropped(prepared)


def _skew(change: DomainChange, spread: DomainSpread | None, runs: int) -> Text:
    if not change.after:
        return Text("no eligible node has the key")
    before = f"skew {change.skew_before:,} before"
    if spread is None:
        return Text(f"{before}, {change.skew:,} after")
    return Text(f"{before}; after: {_times(spread.skews, runs)}")


def _domains(change: DomainChange, spread: DomainSpread | None) -> Table:
    if spread is None:
        return domain_table(("BEFORE", "AFTER"), (change.before, change.after), shown=1)
    columns = (change.before, spread.least, spread.median, spread.most)
    return domain_table(("BEFORE", "MIN", "MEDIAN", "MAX"), columns, shown=2)


def _by_node(steps: Iterable[SchedulingAttempt]) -> Table:
    """Return the pods of each node, or how many nodes got as many."""
    went: dict[str, list[str]] = {}
    for step in steps:
        if step.node is not None:
            went.setdefault(step.node, []).append(step.name)
    if len(went) <= IN_TABLE:
        rows = ((one_line(node), f"{len(names):,}", listed(names)) for node, names in sorted(went.items()))
        return add_rows(plain_table("NODE", *numbers("PODS"), ""), rows)
    by_count: dict[int, list[str]] = {}
    for node, names in sorted(went.items()):
        by_count.setdefault(len(names), []).append(node)
    most_first = sorted(by_count.items(), reverse=True)[:IN_TABLE]
    rows = ((f"{len(found):,}", f"{count:,}", listed(found)) for count, found in most_first)
    return add_rows(plain_table(*numbers("NODES", "PODS ON EACH"), ""), rows)


def _pending(steps: Iterable[SchedulingAttempt]) -> Iterator[RenderableType]:
    """Yield the scheduler's words on the pods that it leaves, those of equal words together."""
    left: dict[str, list[SchedulingAttempt]] = {}
    for step in steps:
        if step.node is None:
            left.setdefault(step.message, []).append(step)
    for message, alike in list(left.items())[:IN_TABLE]:
        yield Text(f"{len(alike):,}: {listed(step.name for step in alike)}")
        yield sentence(message)
        yield from map(Text, lost_volumes_text(lost for step in alike for lost in step.lost_volumes))
    if (rest := len(left) - IN_TABLE) > 0:
        yield Text(f"and {plural(rest, 'other message')}")


def _notes(simulated: SimulatedQueue) -> Iterator[RenderableType]:
    """Yield notes on what the numbers leave out."""
    steps, unmodeled, seed = simulated.steps, simulated.unmodeled, simulated.settings.used_seed
    ties = sum(len(step.tied) > 1 for step in steps)
    if ties:
        taken = f"as was done here (seed {seed})."
        if seed is None:
            taken = "here it is the first by name; --runs N shows what else may come out."
        some = f"{ties:,} of {len(steps):,} pods had several best nodes"
        yield from ("", Text(f"{some}: kube-scheduler chooses one of them at random, {taken}"))
    if unmodeled:
        yield from ("", Text(unmodeled_note(unmodeled), "yellow"))
        unread = simulated.queue.cluster.unread
        for text in unread_text({name: unread[name] for name in unmodeled if name in unread}):
            yield from ("", Text(text, "yellow"))
    if simulated.nodes_to_find < simulated.queue.cluster.node_count:
        text = f"For each pod the search stops at {simulated.nodes_to_find:,} feasible nodes."
        yield from ("", Text(text))
    if steps:
        yield from ("", Text(f"Not looked at: {'; '.join(simulated.not_looked_at)}.", "dim"))
