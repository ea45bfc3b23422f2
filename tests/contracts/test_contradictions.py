"""A search for contradictions: whatever happens to a cluster has one outcome, however it is asked for.

Clusters and events are random; each statement about what is played is asked in two ways that must agree. What
the search once found is in ``tests/data/contradictions.jsonl``, one cluster a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from planning.audit.audit import audit, workload_skew
from planning.audit.workload_audit import Risk
from planning.simulation.actions import domains_of
from planning.simulation.events import Event
from planning.simulation.outcome import RANK, Cause, Outcome, WorkloadOutcome
from planning.simulation.play import EventError, play
from planning.simulation.scenario import ClusterState, Scenario
from policies.config.context import AdmissionContext
from policies.manifests.wire import dumps, from_json
from policies.model.cluster_kinds import LIST_NAMES, Kind
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.replica_sources import ReplicaSources
from policies.model.snapshot import kind_of
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.model.workload_kinds import WorkloadKinds
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import ClusterIndex
from policies.scheduler.indexed_objects import READERS
from tests.contracts.random_scenarios import Case, a_case, smallest
from tests.examples import examples
from tests.planning.clusters import known_of

FOUND: Final = Path(__file__).parents[1] / "data" / "contradictions.jsonl"
#: What is renamed in everything that is sent, so that its order stays.
_RENAMED: Final = {"node-": "host-", "shop": "sport", "team": "tennis"}
#: Kinds without which less is known.
_OPTIONAL: Final = tuple(kind for kind in READERS if LIST_NAMES.get(kind))

Object = dict[str, Any]
#: Yields what two answers say of a case that contradict each other.
Statement = Callable[[Case], Iterator[str]]


def state_of(items: list[Object], unread: frozenset[Kind] = frozenset()) -> ClusterState:
    """Return the cluster of objects, of which some kinds were not read."""
    read = [obj for obj in items if kind_of(obj) not in unread]
    index, workloads, sources = (
        ClusterIndex(),
        ClusterWorkloads(WorkloadKinds(), every_kind=True),
        ReplicaSources(),
    )
    for obj in read:
        index.apply(obj)
        workloads(obj)
        sources(obj)
    index.list_kinds(READERS.keys() - unread)
    return ClusterState(
        context=AdmissionContext(policies=(), cluster=index, replica_sources=sources),
        known=known_of(read),
        workloads=workloads,
        unread=tuple(LIST_NAMES[kind].lower() for kind in unread),
    )


def played(case: Case, unread: frozenset[Kind] = frozenset(), **asked: Any) -> Outcome:
    """Return what becomes of a case, one way."""
    events = tuple(from_json(Event, event) for event in case.events)
    return play(Scenario(cluster=state_of(case.items, unread), events=events, runs=1, **asked))


def _numbers(outcome: Outcome) -> dict[str, Any]:
    """Return what is said of each workload, and of the whole."""
    answer = json.loads(dumps(outcome))
    found = {f"{each['kind']} {each['namespace']}/{each['name']}": each for each in answer["workloads"]}
    return {"verdict": answer["verdict"], **found}


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name):
            fields = {
                field: (left, right)
                for field in dict.fromkeys([*(one.get(name) or ()), *(other.get(name) or ())])
                if (left := (one.get(name) or {}).get(field)) != (right := (other.get(name) or {}).get(field))
            }
            yield f"{name}: {fields}"


def _of_loss(alone: Outcome, among: Outcome, case: Case) -> Iterator[str]:
    """Yield what differs of a loss; after other events only what does not depend on what was before it."""
    one, other = _numbers(alone), _numbers(among)
    if case.events:
        hit = [name for name, each in other.items() if name != "verdict" and each["lost"]]
        one, other = (
            {name: {field: said.get(name, {}).get(field) for field in ("after", "pending")} for name in hit}
            for said in (one, other)
        )
    yield from _differences(one, other)


def each_is_one_loss(case: Case) -> Iterator[str]:
    """What is said of the loss of each domain is what is said of that loss alone."""
    if case.events and not {"apply", "scale", "restart", "remove", "delete"} & case.events[-1].keys():
        return  # A loss would be of one moment with the event before it.
    index = played(case).final
    assert index is not None
    for key in (ZONE, HOSTNAME):
        domains = sorted(domains_of(index, key))
        if not domains:
            continue
        several = played(case, each=key)
        found = {
            outcome.scenario.events[-1].lose.value: outcome
            for outcome in several.outcomes
            if outcome.scenario.events[-1].lose is not None
        }
        if sorted(found) != domains:
            yield f"{key}: {domains} are lost one by one, not {sorted(found)}"
            continue
        for domain in domains[:3]:
            lose = {"lose": {"topologyKey": key, "value": domain}}
            alone = played(case._replace(events=[*case.events, lose]))
            for difference in _of_loss(alone, found[domain], case):
                yield f"{key}={domain}: {difference}"
        verdicts = [each.verdict for each in several.outcomes]
        verdicts += [played(case).verdict] if case.events else []
        worst = min(RANK[verdict.cause] for verdict in verdicts)
        if RANK[several.verdict.cause] != worst:
            yield f"{key}: the whole is {several.verdict.cause}, the worst {list(Cause)[worst]}"


def names_mean_nothing(case: Case) -> Iterator[str]:
    """Other names of nodes and namespaces in the same order change nothing but the names."""
    before, text = dumps(played(case)).decode(), json.dumps(case)
    for name, other in _RENAMED.items():
        before, text = before.replace(name, other), text.replace(name, other)
    after = dumps(played(Case(*json.loads(text)))).decode()
    if before != after:
        one, two = json.loads(before), json.loads(after)
        yield f"{[(name, one[name], two[name]) for name in one if one[name] != two[name]]}"


def reading_more_takes_nothing_back(case: Case) -> Iterator[str]:
    """What holds though a kind was not read holds with it, too; what does not may."""
    known = {each.ref: each.verdict for each in played(case).workloads}
    for kind in _OPTIONAL:
        if not any(kind_of(obj) == kind for obj in case.items):
            continue
        for each in played(case, frozenset({kind})).workloads:
            less, more = each.verdict, known.get(each.ref, each.verdict)
            if less.value and not more.value:
                yield (
                    f"without {LIST_NAMES[kind]} {each.ref} holds ({less.sentence}), "
                    f"with them it is {more.value} ({more.sentence})"
                )


def the_named_are_among_all(case: Case) -> Iterator[str]:
    """What is said of a workload that is named is what is said where everybody is asked about."""
    everybody = played(case)
    said = _numbers(everybody)
    for each in everybody.workloads:
        named = _numbers(played(case, workloads=(each.ref,)))
        title = f"{each.ref.kind} {each.ref.namespace}/{each.ref.name}"
        yield from _differences({title: said[title]}, {title: named.get(title)})


def the_cluster_stays(case: Case) -> Iterator[str]:
    """The cluster that is asked about stays as it is: asked again the answer is the same."""
    state = state_of(case.items)
    events = tuple(from_json(Event, event) for event in case.events)
    scenario = Scenario(cluster=state, events=events, runs=1)
    first, second = dumps(play(scenario)), dumps(play(scenario))
    if first != second:
        yield "asked again the answer differs"
    index, fresh = state.context.cluster, state_of(case.items).context.cluster
    assert index is not None
    assert fresh is not None
    if sorted(index.pods_on(index.nodes.names())) != sorted(fresh.pods_on(fresh.nodes.names())):
        yield "pods of the cluster that was asked about were moved"


def numbers_add_up(case: Case) -> Iterator[str]:
    """Numbers of one answer agree with each other."""
    outcome = played(case)
    causes = [RANK[each.verdict.cause] for each in outcome.workloads]
    if causes and RANK[outcome.verdict.cause] != min(causes):
        yield f"the whole is {outcome.verdict.cause}, the worst workload {list(Cause)[min(causes)]}"
    for each in outcome.workloads:
        ranks = [RANK[verdict.cause] for verdict in each.verdicts]
        if ranks != sorted(ranks):
            yield f"{each.ref}: verdicts are not sorted"
        if each.lowest > min(each.before, each.after) or (each.updated or 0) > each.after:
            yield f"{each.ref}: {each.lowest} to {each.after} of {each.before}, {each.updated} updated"
        yield from (f"{each.ref}: {text}" for text in _of_survival(each))


def _of_survival(workload: WorkloadOutcome) -> Iterator[str]:
    for survival in workload.survival:
        fullest = survival.after.get(survival.fullest or "", 0)
        if survival.left != workload.after - fullest or sum(survival.after.values()) > workload.after:
            yield f"{survival} of {workload.after}"
        if survival.stops and workload.verdict.value and not workload.verdict.cause.warns:
            yield f"green though it stops with {survival.fullest}"


def audited_as_played(case: Case) -> Iterator[str]:
    """Where pods are now is the same in an audit, in what the metrics are made of, and before events."""
    state = state_of(case.items)
    entries = {
        WorkloadRef(each.workload.namespace, each.kind, each.name): each
        for each in state.workloads.each()
        if each is not None and each.workload.replicas is not None
    }
    outcome = play(Scenario(cluster=state, events=(), workloads=tuple(entries), runs=1))
    now = {each.ref: each for each in outcome.workloads}
    for ref in entries.keys() & now.keys():
        whole, found = audit(entries[ref], state.context), workload_skew(entries[ref], state.context)
        if whole.survival != found.survival:
            yield f"{ref}: the audit has {whole.survival}, the metrics {found.survival}"
        was = {
            each.topology_key: (each.before, each.fullest_before, each.left_before)
            for each in now[ref].survival
        }
        said = {each.topology_key: (each.after, each.fullest, each.left) for each in whole.survival}
        if said and said != was:
            yield f"{ref}: the audit has {said}, the outcome {was}"
        stops = {each.stops for each in whole.survival}
        if (True in stops) != (Risk.ONE_DOMAIN in {each.risk for each in whole.problems}):
            yield f"{ref}: {whole.problems} though {whole.survival}"


STATEMENTS: Final[Mapping[str, Statement]] = {
    statement.__name__: statement
    for statement in (
        each_is_one_loss,
        names_mean_nothing,
        reading_more_takes_nothing_back,
        the_named_are_among_all,
        the_cluster_stays,
        numbers_add_up,
        audited_as_played,
    )
}


def _cases_found() -> Iterator[Case]:
    for line in FOUND.read_text().splitlines():
        yield Case(**json.loads(line))


def is_possible(case: Case) -> bool:
    """Return whether the events are about what is there."""
    try:
        played(case)
    except EventError:
        return False
    return True


def _contradiction(statement: Statement, case: Case) -> str:
    """Return what contradicts itself in the smallest case that does, empty for nothing."""
    if not is_possible(case) or not list(statement(case)):
        return ""
    case = smallest(case, lambda smaller: is_possible(smaller) and bool(list(statement(smaller))))
    return f"{list(statement(case))}\n{json.dumps(case._asdict())}"


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
class TestOneOutcome:
    """One scenario has one outcome."""

    @examples(40, phases=(Phase.explicit, Phase.generate))
    @given(seed=st.integers(0, 2**32 - 1))
    def test_of_random_clusters(self, statement: Statement, seed: int) -> None:
        """Nothing is found."""
        assert not _contradiction(statement, a_case(seed))

    def test_of_what_was_found(self, statement: Statement) -> None:
        """What once was a contradiction is none."""
        assert not [found for case in _cases_found() if (found := _contradiction(statement, case))]
