"""Play a scenario: what happens to a cluster, what controllers and the scheduler do then, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from planning.simulation.actions import NodeChanges, Where, by_option, domains_of
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.daemon_pods import nodes_of_daemon
from planning.simulation.disruption_budgets import RefusedEviction
from planning.simulation.drain import Drain
from planning.simulation.events import (
    Event,
    LostDomain,
    NamedPod,
    NodeEvent,
    ScaledWorkload,
    TargetWorkload,
    topology_key,
)
from planning.simulation.judge import rank
from planning.simulation.judge_all import judge_all, judge_losses, judge_release
from planning.simulation.object_changes import ObjectChanges
from planning.simulation.outcome import (
    AskedScenario,
    Branches,
    Cause,
    Did,
    NodesOutcome,
    ObjectChange,
    Outcome,
    ScenarioCluster,
    Verdict,
    WorkloadOutcome,
)
from planning.simulation.played_cluster import PlayedCluster, cluster_of
from planning.simulation.release_diff import WorkloadDiff, diff_releases
from planning.simulation.scale_down import scale_down
from planning.simulation.scenario import Scenario
from planning.simulation.workload_outcomes import Counting, Start
from policies.manifests.errors import EvenkeelError, UsageError
from policies.manifests.fields import (
    ErrorKind,
    ErrorList,
    FieldError,
    member,
    shown,
    text_member,
)
from policies.model.workload import DEFAULT_NAMESPACE, Workload
from policies.model.workload_ref import WorkloadRef
from policies.pods.placement import DAEMON_SET, PlacementError
from policies.scheduler.index import PodOnNode
from policies.scheduler.releases import parse_release

#: The rule that an event breaks which is about something that is not there.
NOT_THERE: Final = "not-in-cluster"
#: The rule that a scale breaks which has no number, or two.
NO_NUMBER: Final = "one-number"
#: Losses that are played although they displace no pod: with as many nodes as Kubernetes supports each takes
#: a good part of a second.
MOST_EMPTY: Final = 100
#: Losses whose clusters are kept, the worst ones: what would help is looked for there, and each takes memory.
MOST_KEPT: Final = 3
#: What may happen in a real cluster meanwhile and is not played.
NOT_LOOKED_AT: Final = ("probes", "deadlines")
#: What is assumed where objects change.
ONE_BY_ONE: Final = "old and new pods become ready one after another"
#: The same where other choices were not played, though there are some.
FIRST_OF_EQUALS: Final = "of equal nodes, and of equal pods to delete, one is taken: others may end otherwise"


class EventError(EvenkeelError):
    """Events that cannot happen in this cluster; holds every error."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


def play(scenario: Scenario, where: Where = by_option) -> Outcome:
    """Return the outcome of a scenario.

    Args:
        scenario: The scenario; its cluster stays as it is.
        where: Returns where an event is that is wrong.

    Raises:
        EventError: An event is about something that is not there.
    """
    with scenario.cluster.context.reading():
        outcome = _Play(scenario, where).outcome()
    if scenario.runs is None or scenario.runs < 2:
        return outcome
    return replace(outcome, branches=_other_ways(scenario, where, outcome))


class Stage(NamedTuple):
    """What is asked of a copy of a cluster."""

    asked: Scenario  #: What is asked.
    first: Scenario | None = None  #: What is played before that, and counts as what is there before it.


def play_stages(common: Stage, apart: Iterable[Stage], where: Where = by_option) -> Iterator[Outcome]:
    """Yield the outcome of a stage, and of others that go on from its end, each on a copy of its own.

    Args:
        common: The first stage.
        apart: The others, which share what is left of the pods that may be scheduled.
        where: Returns where an event is that is wrong.

    Raises:
        EventError: An event is about something that is not there.
    """
    with common.asked.cluster.context.reading():
        begun = _begin_stage(None, common, where)
        yield begun.outcome()
        left = begun.pods_left
        for stage in apart:
            other = _begin_stage(begun, stage, where)
            other.pods_left = left
            yield other.outcome()
            left = other.pods_left


def _begin_stage(before: _Play | None, stage: Stage, where: Where) -> _Play:
    """Return the play of a stage, before its events happen."""
    if stage.first is not None:
        before = _Play(stage.first, where) if before is None else before.then(stage.first)
        before.run()
    return _Play(stage.asked, where) if before is None else before.then(stage.asked)


def _other_ways(scenario: Scenario, where: Where, likely: Outcome) -> Branches:
    """Return what other choices lead to."""
    worst, worse, tried = likely.verdict, 0, 1
    skews = _skews(likely)
    for number in range(1, scenario.runs or 1):
        if scenario.stop():
            break
        choose = scenario.choose_otherwise(number)
        with scenario.cluster.context.reading():
            other = _Play(replace(scenario, choose=choose, runs=1), where).outcome()
        tried += 1
        worse += rank(other.verdict)[0] < rank(likely.verdict)[0]
        worst = min(worst, other.verdict, key=rank)
        skews = tuple(map(max, skews, _skews(other))) if len(skews) == len(_skews(other)) else skews
    return Branches(tried=tried, exact=False, worst=worst, ends_worse=worse, worst_skews=skews)


def _skews(outcome: Outcome) -> tuple[int, ...]:
    """Return the skews of the constraints of the first workload that changes."""
    changed = (each for each in outcome.workloads if each.change is not ObjectChange.NONE)
    first = next(changed, None)
    return () if first is None else tuple(each.skew for each in first.constraints if each.skew is not None)


@dataclass(slots=True)
class _Nodes:
    """What becomes of the nodes."""

    drained: list[str] = field(default_factory=list)
    lost_domains: list[LostDomain] = field(default_factory=list)
    refused: list[RefusedEviction] = field(default_factory=list)
    drains: bool = False
    removed: list[str] = field(default_factory=list)
    is_incomplete: bool = False


class _Play:
    """Plays one way of a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        where: Where,
        played: PlayedCluster | None = None,
        start: Start | None = None,
    ) -> None:
        self._scenario, self._where = scenario, where
        state = scenario.cluster
        if played is None:
            simulation = ClusterSimulation.of(cluster_of(state), stop=scenario.stop)
            played = PlayedCluster.of(state, simulation, scenario.nodes_from)
        played.simulation.choose = scenario.choose
        self._played = played
        self._start = start or Start.of(state, played)
        self._objects = ObjectChanges(played, scenario.choose)
        self._found = ErrorList()
        self._changes = NodeChanges(played.simulation, played.facts, self._found, where, evicts=False)
        self._nodes = _Nodes()
        self._next: dict[WorkloadRef, WorkloadDiff] = {}
        self._is_nested = start is not None
        self._done = 0

    def outcome(self) -> Outcome:
        """Play the scenario; return what comes of it."""
        self.run()
        if self._scenario.scale_down and self._is_complete:
            self._scale_down()
        outcome = self._count()
        return outcome if self._scenario.each is None else self._lose_each(outcome)

    def then(self, scenario: Scenario) -> _Play:
        """Return the play of another scenario on a copy of what this one leaves."""
        played = self._played.fork()
        played.go_on(scenario.cluster, scenario.nodes_from)
        return _Play(scenario, self._where, played.fork(), Start.played(self._start, played))

    @property
    def pods_left(self) -> int:
        """How many pods may still be scheduled for objects."""
        return self._objects.pods_left

    @pods_left.setter
    def pods_left(self, count: int) -> None:
        self._objects.pods_left = count

    def run(self) -> None:
        """Let everything happen."""
        events, scenario, played = self._scenario.events, self._scenario, self._played
        if not self._is_nested:
            self._begin()
        position = 0
        while position < len(events):
            if scenario.stop():
                break
            moment = list(_moment(events, position))
            played.progress = partial(self._progress, position, len(moment))
            if len(moment) > 1 or _is_on_nodes(events[position]):
                self._on_nodes(moment)
            else:
                is_last = position >= len(events) - scenario.searches
                self._objects.search = is_last and scenario.each is None and scenario.runs is None
                self._on_objects(position, events[position])
            self._check()
            position += len(moment)
            self._done = position
            scenario.progress(position / len(events))

    def _progress(self, position: int, events: int, share: float) -> None:
        """Report the share that is done, of some events at a position."""
        self._scenario.progress((position + share * events) / len(self._scenario.events))

    def _check(self) -> None:
        if self._found.errors:
            raise EventError(tuple(self._found.errors))

    def _begin(self) -> None:
        """Try what waits, and replace pods whose nodes are not there."""
        played = self._played
        gone = played.simulation.evict(played.without_nodes())
        played.leave(gone)
        for pod in gone:
            # It runs nowhere, so it is not among those that run.
            if (ref := played.workload_of(pod.namespace, pod.name)) is not None:
                played.claim(ref, [pod.name])
        waiting = (PodOnNode(*key, "", terminating=False) for key in played.state.known.running.waiting())
        played.settle([*gone, *waiting])

    def _on_nodes(self, moment: list[tuple[int, Event]]) -> None:
        """Let events happen to nodes; then schedule what they displace, and drain as budgets allow."""
        played, done = self._played, self._changes.done
        displaced: list[PodOnNode] = []
        drains = len(self._changes.drained)
        for position, event in moment:
            played.event = position
            counts = len(done.evicted), len(done.lost), len(done.added)
            self._changes.apply(position, event)
            gone = done.evicted[counts[0] :]
            self._tell_nodes(event, done.lost[counts[1] :], done.added[counts[2] :])
            self._tell_lost(event, gone)
            displaced += gone
        self._check()
        self._without_domains()
        self._give_daemons(self._opened(moment))
        played.settle(displaced)
        if drained := self._changes.drained[drains:]:
            self._drain(drained)
        # There may be room for what waits on nodes that are new or free.
        self._objects.resume(self._objects.unfinished())

    def _opened(self, moment: list[tuple[int, Event]]) -> set[str]:
        """Return the nodes that may take pods which they did not take before."""
        names = set(self._changes.done.added)
        for _, event in moment:
            freed = event.untaint or event.label
            names |= {event.uncordon} if event.uncordon is not None else set()
            names |= {freed.node} if freed is not None else set()
        return names

    def _tell_nodes(self, event: Event, lost: list[str], added: list[str]) -> None:
        played = self._played
        for name in lost:
            played.note(Did.LOST, node=name)
        for name in added:
            played.note(Did.ADDED, node=name)
        match event:
            case Event(drain=str(name)) | Event(cordon=str(name)):
                played.note(Did.CORDONED, node=name)
            case Event(uncordon=str(name)):
                played.note(Did.CHANGED, node=name)
            case Event() if (changed := event.taint or event.untaint or event.label) is not None:
                played.note(Did.CHANGED, node=changed.node)
        if event.lose is not None:
            self._nodes.lost_domains.append(event.lose)

    def _tell_lost(self, event: Event, gone: list[PodOnNode]) -> None:
        """Note the pods that lost their node to an event."""
        played = self._played
        did = Did.LOST if event.lose is not None else Did.EVICTED
        refs = dict[WorkloadRef, int]()
        for pod in gone:
            played.note(did, pod=f"{pod.namespace}/{pod.name}", node=pod.node)
            if (ref := played.workload_of(pod.namespace, pod.name)) is not None:
                # A pod of a DaemonSet goes with its node, as it is meant to.
                refs[ref] = refs.get(ref, 0) + (not played.facts.is_tied(pod) or did is Did.EVICTED)
        played.leave(gone)
        for ref, count in refs.items():
            played.hit(ref).lost += count
            played.dip(ref)

    def _without_domains(self) -> None:
        """Let no node come in a domain that is lost."""
        if (scaling := self._played.scaling) is not None:
            for lost in self._nodes.lost_domains:
                scaling.autoscaler = scaling.autoscaler.without(lost.key, lost.value)
        self._nodes.lost_domains.clear()

    def _give_daemons(self, nodes: Collection[str]) -> None:
        """Give nodes that are new or otherwise the pods of DaemonSets, before others take the room."""
        played = self._played
        for ref in sorted(played.state.workloads.known_by()) if nodes else ():
            if ref.kind != DAEMON_SET or (request := self._start.request(ref)) is None:
                continue
            result, there = played.simulation.evaluate(request), played.running(ref)
            for position in nodes_of_daemon(result):
                node = result.names[position]
                if node in nodes and node not in there and result.feasible[position]:
                    name = f"{ref.name}-{node}"
                    played.simulation.bind(request.pod, name, node)
                    played.claim(ref, [name])
                    played.hit(ref)
                    played.note(Did.BOUND, pod=f"{ref.namespace}/{name}", node=node)

    def _drain(self, nodes: list[str]) -> None:
        """Evict the pods of nodes, round by round, as their budgets allow."""
        played = self._played
        drain = Drain(played.simulation, played.facts, played.budgets, nodes)
        self._nodes.drains = True
        while not self._scenario.stop():
            evicted = len(drain.evicted)
            replaced = drain.round()
            gone = drain.evicted[evicted:]
            if not gone:
                break
            self._tell_evicted(gone)
            played.settle(replaced)
        for refused in drain.refused:
            self._refuse(refused)
        self._nodes.drained += drain.drained

    def _tell_evicted(self, gone: Iterable[PodOnNode]) -> None:
        played, pods = self._played, list(gone)
        played.gone += pods
        for pod in pods:
            played.note(Did.EVICTED, pod=f"{pod.namespace}/{pod.name}", node=pod.node)
        refs = Counter(
            ref for pod in pods if (ref := played.workload_of(pod.namespace, pod.name)) is not None
        )
        for ref, count in refs.items():
            played.hit(ref).evicted += count
            played.dip(ref)

    def _refuse(self, refused: RefusedEviction) -> None:
        pod = refused.pod
        title = f"{pod.namespace}/{pod.name}"
        self._played.note(Did.NOT_EVICTED, pod=title, node=pod.node, why=refused.why)
        self._nodes.refused.append(refused)
        if (ref := self._played.workload_of(pod.namespace, pod.name)) is not None:
            self._played.hit(ref)

    def _on_objects(self, position: int, event: Event) -> None:
        self._played.event = position
        unfinished = self._objects.unfinished()
        try:
            self._happen(event)
        except PlacementError as error:
            at = self._where(position, event.what, ())
            self._found.extend(replace(each, path=at + each.path) for each in error.errors)
        self._check()
        self._objects.resume(unfinished)

    def _happen(self, event: Event) -> None:
        """Let an event happen that is not about nodes."""
        match event:
            case Event(apply=dict(obj)):
                self._objects.apply(obj)
            case Event(scale=ScaledWorkload() as scaled):
                self._scale(scaled)
            case Event(restart=TargetWorkload() as target):
                if (found := self._target(target, "restart")) is not None:
                    self._objects.restart(*found)
            case Event(remove=TargetWorkload() as target):
                if (found := self._target(target, "remove")) is not None:
                    self._objects.remove(found[0])
            case Event(delete=NamedPod() as pod):
                self._delete(pod.namespace, pod.name)
            case Event(evict=NamedPod() as pod):
                self._evict(pod.namespace, pod.name)
            case Event(release=str(text)):
                self._release(text)

    def _target(self, target: TargetWorkload, name: str) -> tuple[WorkloadRef, Workload] | None:
        """Return the workload that an event is about; what is not there is an error."""
        ref = WorkloadRef(target.namespace, target.kind.partition(".")[0], target.name)
        workload = self._played.object_of(ref)
        if workload is None:
            text = f"Invalid value: {shown(target.name)}: no such {shown(target.kind)} in {target.namespace}"
            self._wrong(name, ("name",), text)
            return None
        return ref, workload

    def _wrong(self, name: str, way: tuple[str, ...], text: str, rule: str = NOT_THERE) -> None:
        at = self._where(self._played.event or 0, name, way)
        self._found.add(FieldError(at, text, ErrorKind.INVALID, rule))

    def _scale(self, scaled: ScaledWorkload) -> None:
        found = self._target(scaled, "scale")
        if found is None:
            return
        ref, workload = found
        if (scaled.to is None) == (scaled.by is None):
            self._wrong("scale", (), "Invalid value: must have one of to and by", NO_NUMBER)
        elif workload.kind.replicas is None:
            self._wrong(
                "scale", ("kind",), f"Invalid value: {shown(scaled.kind)}: has no replicas", NO_NUMBER
            )
        else:
            now = self._played.wanted(ref) or 0
            self._objects.scale(
                ref, workload, scaled.to if scaled.to is not None else max(now + (scaled.by or 0), 0)
            )

    def _delete(self, namespace: str, name: str) -> None:
        """Delete a pod, which its controller replaces."""
        played, title = self._played, f"{namespace}/{name}"
        ref = played.workload_of(namespace, name)
        now = None if ref is None else played.objects.get(ref)
        if ref is not None:
            played.hit(ref)
        pod = self._bound(namespace, name)
        if pod is not None:
            replaced = played.simulation.evict([pod])
            played.leave([pod])
            played.note(Did.DELETED, pod=title, node=pod.node)
            if ref is not None:
                played.dip(ref)
            if now is None or now.unfinished is None:
                played.settle(replaced)
        elif now is not None and any(each.name == name for each in now.waiting):
            now.waiting = tuple(each for each in now.waiting if each.name != name)
            played.note(Did.DELETED, pod=title)
        elif any(each.key == (namespace, name) for each in played.again.displaced):
            played.again.forget([(namespace, name)])
            played.note(Did.DELETED, pod=title)
            if ref is not None and ref.kind != "Pod" and (now is None or now.unfinished is None):
                played.settle([PodOnNode(namespace, name, "", terminating=False)])
        else:
            self._wrong("delete", ("name",), f"Invalid value: {shown(name)}: no such pod in {namespace}")

    def _evict(self, namespace: str, name: str) -> None:
        """Evict a pod if its budgets allow that."""
        played, pod = self._played, self._bound(namespace, name)
        if pod is None:
            self._wrong("evict", ("name",), f"Invalid value: {shown(name)}: no pod in {namespace} has a node")
            return
        played.budgets.recount()
        refused = played.budgets.refusal(pod)
        if refused is not None:
            self._refuse(refused)
            return
        replaced = played.simulation.evict([pod])
        played.budgets.note_gone([pod])
        self._tell_evicted([pod])
        played.settle(replaced)

    def _bound(self, namespace: str, name: str) -> PodOnNode | None:
        """Return where a pod is; None for one without a node."""
        cluster = self._played.cluster
        table = cluster.pods_of(namespace)
        row = None if table is None else table.find(name)
        if row is None:
            return None
        return PodOnNode(namespace, name, cluster.nodes.name_of(row.node), bool(row.terminating))

    def _release(self, text: str) -> None:
        """Evaluate each workload's next pod by two releases, and go on under the second one."""
        played = self._played
        try:
            version = parse_release(text)
        except UsageError as error:
            self._wrong("release", (), str(error), "kubernetes-version")
            return
        before = played.context.kubernetes_version
        for entry in played.state.workloads.each():
            if entry is None or self._scenario.stop():
                continue
            found = diff_releases(entry, played.context, before, version)
            if found is not None:
                ref = WorkloadRef(entry.workload.namespace, entry.kind, entry.name)
                self._next[ref] = found
                played.hit(ref)
        played.use_release(version)

    def _scale_down(self) -> None:
        """Let the autoscaler remove the nodes that are not needed, and schedule what replaces their pods."""
        played = self._played
        if played.scaling is None:
            return
        found = scale_down(
            (),
            played.simulation,
            played.scaling.autoscaler,
            played.context,
            workloads=played.placed,
            running=played.state.known.running,
        )
        played.event = None
        self._nodes.removed += (node.name for node in found.removed)
        self._nodes.is_incomplete = not found.complete
        for node in self._nodes.removed:
            played.note(Did.REMOVED, node=node)
        self._tell_evicted(entry.pod for entry in found.evicted)
        played.adopt(found.evicted)

    def _count(self) -> Outcome:
        """Return the outcome of what was played."""
        counting = self._counting(self._played, self._objects)
        workloads = counting.outcomes(self._next, complete=self._is_complete)
        ways = dict(self._ways(workloads))
        found = {_key(ref): each for ref, each in ways.items()}
        workloads = tuple(replace(each, branches=found.get(_key(each.ref))) for each in workloads)
        return self._outcome(workloads, _together(list(ways.values())))

    def _counting(self, played: PlayedCluster, objects: ObjectChanges) -> Counting:
        return Counting(
            self._scenario, self._start, played, objects, self._nodes.refused, drains=self._nodes.drains
        )

    @property
    def _is_complete(self) -> bool:
        stopped = (
            self._done < len(self._scenario.events) or self._scenario.stop() or self._nodes.is_incomplete
        )
        return not stopped and not any(each.untried for each in self._objects.done.values())

    def _outcome(self, workloads: tuple[WorkloadOutcome, ...], branches: Branches | None) -> Outcome:
        scenario, played = self._scenario, self._played
        judged = workloads
        if scenario.workloads is not None:
            named = {_key(ref) for ref in scenario.workloads}
            judged = tuple(each for each in workloads if _key(each.ref) in named)
        bound = [step.pod for step in played.steps if step.did is Did.BOUND and step.pod is not None]
        verdict = judge_release(scenario.upgrade, judged) if scenario.upgrade else judge_all(judged, bound)
        state, before = scenario.cluster, self._start.cluster
        not_played = [each.not_played for each in self._objects.done.values() if each.not_played]
        courses = [each.rollout.courses for each in self._objects.done.values() if each.rollout is not None]
        one_way = branches is None and any(each.free for each in courses)
        return Outcome(
            kubernetes_version=played.context.kubernetes_version,
            complete=self._is_complete,
            scenario=AskedScenario(
                events=tuple(map(_asked, scenario.events)),
                each=None if scenario.each is None else topology_key(scenario.each),
                workloads=scenario.workloads,
                autoscaler=None if scenario.nodes_from is None else scenario.nodes_from.name,
                unreachable=scenario.unreachable,
                allow_missing=scenario.allow_missing,
                cluster=ScenarioCluster(
                    nodes=before.node_count,
                    pods=before.pod_count,
                    pending=len(state.known.running.waiting()),
                    unread=state.unread,
                ),
            ),
            verdict=_unless_ended(verdict, complete=self._is_complete),
            workloads=workloads,
            others=self._others(each.ref for each in workloads),
            steps=tuple(played.steps),
            nodes=self._nodes_outcome(),
            branches=branches,
            assumed=(
                *((ONE_BY_ONE,) if courses else ()),
                *((FIRST_OF_EQUALS,) if one_way else ()),
                *not_played,
            ),
            not_modeled=played.again.unmodeled,
            not_looked_at=NOT_LOOKED_AT,
            final=played.cluster,
        )

    def _others(self, listed: Iterable[WorkloadRef]) -> int:
        """Return how many workloads there are that are not listed."""
        known = {_key(ref) for ref in self._scenario.cluster.workloads.known_by()}
        return len(known.difference(map(_key, listed)))

    def _nodes_outcome(self) -> NodesOutcome:
        played, done = self._played, self._changes.done
        scaling = played.scaling
        scaled = None if scaling is None else scaling.scaled
        added = () if scaled is None else scaled.nodes
        return NodesOutcome(
            before=self._start.cluster.node_count,
            after=played.cluster.node_count,
            lost=tuple(done.lost),
            drained=tuple(dict.fromkeys(self._nodes.drained)),
            changed=tuple(self._changes.changed_nodes()),
            added=tuple(added),
            created=tuple(done.added),
            removed=tuple(self._nodes.removed),
            # What a removed one costs is not known.
            cost_per_hour=None if scaled is None or self._nodes.removed else scaled.cost_per_hour,
        )

    def _ways(self, workloads: Iterable[WorkloadOutcome]) -> Iterator[tuple[WorkloadRef, Branches]]:
        """Yield the ways in which changes can go of which all were searched."""
        likely = {_key(each.ref): each.verdict for each in workloads}
        for ref, outcome in self._objects.done.items():
            if not outcome.searched or outcome.rollout is None:
                continue
            courses, verdict = outcome.rollout.courses, likely[_key(ref)]
            worst = self._judge_worst(ref) if courses.worst is not courses.likely else None
            yield (
                ref,
                Branches(
                    tried=courses.count,
                    exact=courses.exact,
                    worst=min((worst or verdict), verdict, key=rank),
                    ends_worse=courses.worse,
                    worst_skews=courses.worst_skews,
                ),
            )

    def _judge_worst(self, ref: WorkloadRef) -> Verdict | None:
        """Return the verdict where the rollout of a workload goes as it goes worst."""
        if (worst := self._objects.worst_of(ref)) is None:
            return None
        return self._counting(*worst).outcome_of(ref, complete=self._is_complete).verdict

    def _lose_each(self, before: Outcome) -> Outcome:
        """Return the outcome with the loss of each domain, each on its own copy."""
        scenario, played = self._scenario, self._played
        key = topology_key(scenario.each or "")
        domains = domains_of(played.cluster, key)
        pods = {domain: len(played.cluster.pods_on(names)) for domain, names in domains.items()}
        ordered = sorted(domains, key=lambda domain: (-pods[domain], -len(domains[domain]), domain))
        start = Start.played(self._start, played)
        losses: dict[str, Outcome] = {}
        kept: list[str] = []
        for turn, domain in enumerate(ordered):
            if scenario.stop():
                break
            if not pods[domain] and turn >= MOST_EMPTY:
                continue
            lost = LostDomain(topology_key=key, value=domain, unreachable=scenario.unreachable or None)
            one = replace(
                scenario, events=(Event(lose=lost),), each=None, runs=1, progress=lambda _share: None
            )
            outcome = _Play(one, self._where, played.fork(), start).outcome()
            losses[domain] = outcome
            kept = sorted((*kept, domain), key=lambda each: _badness(losses[each]))
            for other in kept[MOST_KEPT:]:
                losses[other] = replace(losses[other], final=None)
            del kept[MOST_KEPT:]
            scenario.progress((turn + 1) / len(ordered))
        return self._worst_of(before, key, losses, complete=before.complete and len(losses) == len(ordered))

    def _worst_of(
        self, before: Outcome, key: str, losses: Mapping[str, Outcome], *, complete: bool
    ) -> Outcome:
        """Return an outcome with those of single losses: its workloads are the worst of them."""
        named = None if self._scenario.workloads is None else {_key(ref) for ref in self._scenario.workloads}
        worst: dict[tuple[str, str, str], WorkloadOutcome] = {}
        for each in chain(before.workloads, *(loss.workloads for loss in losses.values())):
            known = worst.get(_key(each.ref))
            if known is None:
                worst[_key(each.ref)] = each
            elif rank(each.verdict) < rank(known.verdict):
                worst[_key(each.ref)] = replace(each, change=known.change, next=known.next)
        judged = {
            domain: [each for each in loss.workloads if named is None or _key(each.ref) in named]
            for domain, loss in sorted(losses.items())
        }
        verdict = judge_losses(key, judged)
        if self._scenario.events:
            verdict = min(before.verdict, verdict, key=rank)
        complete = complete and all(loss.complete for loss in losses.values())
        return replace(
            before,
            complete=complete,
            verdict=_unless_ended(verdict, complete=complete),
            workloads=tuple(sorted(worst.values(), key=lambda each: (rank(each.verdict), each.ref))),
            others=self._others(each.ref for each in worst.values()),
            outcomes=tuple(sorted(losses.values(), key=_badness)),
        )


def _unless_ended(verdict: Verdict, *, complete: bool) -> Verdict:
    """Return a verdict, which does not hold for certain where not all was played."""
    if complete or verdict.value is not True:
        return verdict
    return Verdict(
        cause=Cause.STOPPED, sentence="nothing is certain: the work was ended before all was played"
    )


def _together(ways: Sequence[Branches]) -> Branches | None:
    """Return the ways of several changes as those of the whole; None where none was searched."""
    if not ways:
        return None
    return Branches(
        tried=sum(each.tried for each in ways) - (len(ways) - 1),
        exact=all(each.exact for each in ways),
        worst=min((each.worst for each in ways), key=rank),
        ends_worse=sum(each.ends_worse for each in ways),
        worst_skews=ways[0].worst_skews if len(ways) == 1 else (),
    )


def _badness(outcome: Outcome) -> tuple[tuple[int, int], int, str]:
    """Sort outcomes of losses, the worst first."""
    (event,) = outcome.scenario.events
    failing = sum(each.verdict.value is False for each in outcome.workloads)
    return rank(outcome.verdict), -failing, "" if event.lose is None else event.lose.value


def _is_on_nodes(event: Event) -> bool:
    """Return whether an event is about nodes."""
    return event.what in _ON_NODES


_ON_NODES: Final = frozenset(NodeEvent.__dataclass_fields__)


def _moment(events: tuple[Event, ...], position: int) -> Iterator[tuple[int, Event]]:
    """Yield the events of one moment: events on nodes that follow one another, or one other event."""
    if not _is_on_nodes(events[position]):
        yield position, events[position]
        return
    for number in range(position, len(events)):
        if not _is_on_nodes(events[number]):
            return
        yield number, events[number]


def _key(ref: WorkloadRef) -> tuple[str, str, str]:
    """Return a workload without the group of its kind."""
    return ref.namespace, ref.kind.partition(".")[0], ref.name


def _asked(event: Event) -> Event:
    """Return an event as it is sent: of an object its kind and names alone."""
    if event.apply is None:
        return event
    metadata = member(event.apply, "metadata")
    named = {
        "kind": text_member(event.apply, "kind"),
        "namespace": text_member(metadata, "namespace") or DEFAULT_NAMESPACE,
        "name": text_member(metadata, "name"),
    }
    return Event(apply=named)
