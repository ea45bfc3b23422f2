"""Rollouts whose pods have others evicted: against a plain implementation, and whom that hurts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.pod_facts import PodFacts
from planning.simulation.recovery import PodOutcome
from planning.simulation.rescheduling import Rescheduling
from planning.simulation.rollout.choices import UsualChoices
from planning.simulation.rollout.courses import Course, PodAction, RolloutEnd
from planning.simulation.rollout.replica_pods import ReplicaPods
from planning.simulation.rollout.rollout import Rollout, simulate_rollout
from planning.simulation.rollout.rollout_plan import DeploymentController
from planning.simulation.rollout.rollout_start import RolloutSettings
from planning.simulation.rollout.victims import Replica, find_victims
from policies.config.context import AdmissionContext
from policies.model.scaling import RollingUpdate
from policies.pods.known_pods import UNREAD_PODS, KnownPods
from policies.pods.pod_objects import PodObjects
from tests.builders import a_constraint as a_spread_constraint
from tests.examples import examples
from tests.planning.plain_queue import Object, PlainQueue
from tests.planning.rollouts import a_context, a_deployment, a_stateful_set, story
from tests.policies.scheduler.clusters import a_constraint, a_node, a_pod, a_request, an_index

NODES = [a_node(f"n{number}", {"zone": "ab"[number % 2]}) for number in range(4)]
NAMES = [node["metadata"]["name"] for node in NODES]

_sizes = st.sampled_from(("1", "2", "3", "4"))
_others = st.lists(
    st.tuples(st.sampled_from(NAMES), _sizes, st.integers(0, 3), st.booleans()), min_size=2, max_size=8
)
_spread = st.sampled_from((None, a_constraint()))
_before = st.tuples(_sizes, st.integers(0, 3), _spread)
_after = st.tuples(_sizes, st.integers(1, 4), _spread)
_updates = st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(any)


def _template(revision: str, cpu: str, priority: int, *spread: Object) -> Object:
    labels = {"app": "web", "pod-template-hash": revision}
    return a_pod("web-", labels=labels, cpu=cpu, priority=priority, spread=spread)


def _owned(pod: Object, kind: str = "ReplicaSet", name: str = "other") -> Object:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


class _PlainPods:
    """The pods of a rollout, of which every verdict starts anew: what a controller needs of them."""

    def __init__(self, queue: PlainQueue, templates: dict[str, Object]) -> None:
        self.queue, self._templates = queue, templates
        self._own: dict[str, Replica] = {}
        self._objects = copy.deepcopy(queue.pods)
        self._waiting: list[str] = []
        self._starting: list[str] = []
        self._is_freed = False
        self.evicted: dict[str, str | None] = {}
        self.events: list[str] = []
        # Names are never used again.
        self._used: set[str] = set()

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._own.values())

    def of(self, revision: str) -> list[Replica]:
        return [pod for pod in self if pod.revision == revision]

    @contextmanager
    def together(self) -> Iterator[None]:
        yield

    def create(self, revision: str, count: int) -> None:
        for _ in range(count):
            number = 1
            while (name := f"web-{revision}-{number}") in {*self._own, *self._used}:
                number += 1
            self._used.add(name)
            pod = self._own[name] = Replica(name, revision, frozenset())
            self._try(pod)
            self.events.append(f"+ {revision} {pod.node}")
        self.retry()

    def delete(self, pods: Sequence[Replica]) -> None:
        for pod in pods:
            self._lose(pod)
            self.queue.pods.pop(pod.name, None)
            self.events.append(f"- {pod.revision} {pod.node}")
        self._is_freed = True
        self.retry()

    def scale_down(self, pods: Sequence[Replica], count: int) -> list[Replica]:
        victims = find_victims(pods, count, self)
        return victims.certain + sorted(victims.tied, key=lambda pod: pod.name)[: victims.picks]

    def start_next(self) -> bool:
        if self._starting:
            self._own[self._starting.pop(0)].ready = True
            return True
        return False

    def retry(self) -> None:
        """Try every pending pod until nothing changes, then what replaces others."""
        while True:
            before = self.queue.places()
            for pod in [pod for pod in self if pod.node is None]:
                if pod.name in self._own and self._try(pod):
                    self.events.append(f"* {pod.revision} {pod.node}")
            if before != self.queue.places():
                continue
            waiting, self._waiting = self._waiting, []
            if waiting:
                self._place(waiting)
            elif self._is_freed:
                self._is_freed = False
                self._place([name for name, node in self.evicted.items() if node is None])
            else:
                return

    def _place(self, names: list[str]) -> None:
        queue = []
        for name in names:
            obj = copy.deepcopy(self._objects[name])
            self.evicted[name] = None
            if "ownerReferences" in obj["metadata"]:
                obj["spec"]["nodeName"] = ""
                queue.append(obj)
        queue.sort(key=lambda obj: (-obj["spec"]["priority"], obj["metadata"]["name"]))
        for obj in queue:
            self.queue.pods.pop(obj["metadata"]["name"], None)
        self._run(queue)
        for obj in queue:
            name = obj["metadata"]["name"]
            self.evicted[name] = self.queue.places().get(name)
            if self.evicted[name] is None:
                # What waits is no part of the cluster.
                self.queue.pods.pop(name, None)

    def _try(self, pod: Replica) -> bool:
        obj = copy.deepcopy(self._templates[pod.revision])
        obj["metadata"]["name"] = pod.name
        self._run([obj])
        pod.node = self.queue.places().get(pod.name)
        if pod.node is None:
            self.queue.pods.pop(pod.name, None)
            return False
        self._starting.append(pod.name)
        return True

    def _run(self, queue: list[Object]) -> None:
        before = self.queue.places()
        self.queue.run(queue)
        queued = {obj["metadata"]["name"] for obj in queue}
        after = self.queue.places()
        # In the order of the pods, not of a set, which differs from run to run.
        for name in [name for name in before if name not in after and name not in queued]:
            if name in self._own:
                pod = self._own[name]
                self._lose(pod)
                self.events.append(f"! {pod.revision} {pod.node}")
            else:
                self._waiting.append(name)

    def _lose(self, pod: Replica) -> None:
        del self._own[pod.name]
        if pod.name in self._starting:
            self._starting.remove(pod.name)


@pytest.mark.slow
@examples(80)
@given(_others, _before, _after, st.integers(1, 4), _updates)
def test_against_a_plain_rollout(
    others: list[Any], before: Any, after: Any, replicas: int, limits: tuple[int, int]
) -> None:
    """Every step, every victim and where it goes are those of a loop over verdicts on objects."""
    bound = []
    for number, (node, cpu, priority, is_owned) in enumerate(others):
        pod = a_pod(f"other-{number}", node, {"app": "db"}, cpu=cpu, priority=priority)
        bound.append(_owned(pod) if is_owned else pod)
    templates = {
        revision: _template(revision, cpu, priority, *filter(None, (spread,)))
        for revision, (cpu, priority, spread) in (("old", before), ("new", after))
    }
    index = an_index([*NODES, *bound])
    requests = {name: a_request(template, {}, index) for name, template in templates.items()}
    update = RollingUpdate(surge=limits[0], unavailable=limits[1])

    running = PodObjects(None)
    for obj in bound:
        running(obj)
    simulation = ClusterSimulation.of(index)
    simulation.preempts = True
    again = Rescheduling(
        simulation, PodFacts(index, (), running), AdmissionContext(policies=(), cluster=index)
    )
    pods = ReplicaPods(simulation, requests, "new", UsualChoices(), again=again)
    plain = _PlainPods(PlainQueue(NODES, bound), templates)
    for each in (pods, plain):
        _run(each, "old", (), replicas, None)
        _run(each, "new", ("old",), replicas, update)

    assert plain.events == [
        f"{_SIGNS[step.action]} {'new' if step.new else 'old'} {step.node}" for step in pods.steps
    ]
    assert plain.evicted == {
        entry.name: None if entry.step is None else entry.step.node for entry in pods.displaced
    }


def _run(pods: Any, new: str, old: tuple[str, ...], replicas: int, update: RollingUpdate | None) -> None:
    DeploymentController(pods, replicas=replicas, update=update, new=new, old=old).run()


#: The plain rollout's sign of each action on a pod.
_SIGNS = {PodAction.CREATED: "+", PodAction.SCHEDULED: "*", PodAction.DELETED: "-", PodAction.EVICTED: "!"}


def _small(*names: str, pods: int = 1) -> list[Object]:
    """Return nodes in zones of their own that have room for so many pods each."""
    nodes = [a_node(name, {"topology.kubernetes.io/zone": name}) for name in names]
    for node in nodes:
        node["status"]["allocatable"]["pods"] = str(pods)
    return nodes


def _low(name: str, node: str, priority: int = -1, **labels: str) -> Object:
    pod = a_pod(name, node, labels or {"app": "low"}, priority=priority)
    pod["metadata"]["namespace"] = "jobs"
    return pod


def _rolled(obj: Object, *objects: Object, scale: int | None = None) -> Rollout:
    known = KnownPods(None, now=0.0)
    for each in objects:
        known(each)
    return simulate_rollout(obj, a_context(*objects), RolloutSettings(scale=scale, known=known))


def _ends(course: Course) -> dict[str, str]:
    return {
        entry.name: entry.outcome if entry.step is None else entry.step.node or "pending"
        for entry in course.evicted
    }


def _old(node: str, number: int = 1, priority: int = 0) -> Object:
    labels = {"app": "web", "pod-template-hash": "old"}
    pod = a_pod(f"web-old-{number}", node, labels, priority=priority)
    return _owned(pod, name="web-old")


def test_a_victim_takes_the_room_of_an_old_pod() -> None:
    """The victim's replacement fits nowhere until the rollout deletes the pod of the old revision."""
    nodes = _small("n1", "n2")
    rollout = _rolled(a_deployment(1, surge=1, unavailable=0), *nodes, _old("n1"), _owned(_low("low", "n2")))
    course = rollout.courses.likely

    assert (RolloutEnd.COMPLETE, ["+ n2", "- old n1"], {"low": "n1"}) == (
        rollout.outcome,
        story(course),
        _ends(course),
    )
    assert ("jobs/low",) == course.steps[0].evicted
    assert (1, 0, 0) == (rollout.evicted, rollout.evicted_pending, rollout.pending)


def test_what_becomes_of_victims() -> None:
    """One without a controller is gone, one has no room left, and one is not known."""
    nodes = _small("n1", "n2", "n3")
    rollout = _rolled(a_deployment(1), *nodes, _owned(_low("owned", "n1")), _low("bare", "n2"), scale=3)

    assert {"owned": "pending", "bare": PodOutcome.NOT_RECREATED} == _ends(rollout.courses.likely)
    assert (RolloutEnd.COMPLETE, 2, 1, 2) == (
        rollout.outcome,
        rollout.evicted,
        rollout.evicted_pending,
        rollout.courses.likely.hurt,
    )
    unknown = simulate_rollout(
        a_deployment(1), a_context(*_small("n1"), _low("low", "n1")), RolloutSettings(known=UNREAD_PODS)
    )
    assert {"low": PodOutcome.NOT_TRIED} == _ends(unknown.courses.likely)


#: A new pod evicts an old one, whose replacement waits until it is deleted.
_TURN = ["! old n1", "+ n1", "+ old pending", "- old pending"]


def test_a_new_revision_of_higher_priority_evicts_the_old_one() -> None:
    """The old ReplicaSet creates another pod at once, which waits, and is deleted first."""
    obj = a_deployment(2, surge=1, unavailable=0)
    obj["spec"]["template"]["spec"]["priority"] = 5
    rollout = _rolled(obj, *_small("n1", "n2"), _old("n1", 1), _old("n2", 2))
    course = rollout.courses.likely

    assert (RolloutEnd.COMPLETE, ()) == (rollout.outcome, course.evicted)
    assert [*_TURN, *(step.replace("n1", "n2") for step in _TURN)] == story(course)
    assert course.steps[1].evicted == ("shop/web-old-1",)
    assert course.steps[0].evicted_for == f"shop/{course.steps[1].pod}"


@pytest.mark.parametrize(
    ("allowed", "gone"), [pytest.param(0, "b", id="a budget protects a"), pytest.param(1, "a", id="or not")]
)
def test_budgets(allowed: int, gone: str) -> None:
    """A node is chosen on which no PodDisruptionBudget is violated, as far as there is one."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a", "namespace": "jobs"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": allowed},
    }
    pods = [_owned(_low(name, f"n-{name}", app=name)) for name in "ab"]
    rollout = _rolled(a_deployment(0), *_small("n-a", "n-b"), *pods, budget, scale=1)

    assert {gone} == _ends(rollout.courses.likely).keys()


def test_equal_nodes() -> None:
    """Where nodes are equally good for evictions, all are listed, and the worst course of all is taken."""
    pods = [_owned(_low("owned", "n1")), _low("bare", "n2", app="bare")]
    spare = a_node("n3", {"topology.kubernetes.io/zone": "n1", "only": "low"}, taints=["a=b:NoSchedule"])
    pods[0]["spec"]["tolerations"] = [{"operator": "Exists"}]
    rollout = _rolled(a_deployment(0), *_small("n1", "n2"), spare, *pods, scale=1)
    likely, worst = rollout.ends
    decision = likely.steps[0].decision

    assert decision is not None
    assert ("n1", ("n1", "n2")) == (decision.node, decision.tied)
    assert ({"owned": "n3"}, {"bare": PodOutcome.NOT_RECREATED}) == (_ends(likely), _ends(worst))
    assert rollout.courses.exact


def test_a_stateful_set() -> None:
    """An ordinal that is evicted for another of a higher revision is created again under its name."""
    obj = a_stateful_set(2)
    obj["spec"]["template"]["spec"]["priority"] = 5
    labels = {"app": "web", "controller-revision-hash": "old"}
    pods = [_owned(a_pod(f"web-{n}", f"n{n + 1}", labels, priority=0), "StatefulSet") for n in range(2)]
    for pod in pods:
        pod["spec"]["nodeSelector"] = {}
    rollout = _rolled(obj, *_small("n1", "n2"), *pods)

    assert (RolloutEnd.COMPLETE, 0) == (rollout.outcome, rollout.evicted)
    assert {"web-0", "web-1"} == {step.pod for step in rollout.courses.likely.steps}


def test_old_pods_that_are_placed_first() -> None:
    """The cluster runs none: who is evicted for those before the rollout counts as well."""
    nodes = [*_small("n1"), *_small("n2")]
    rollout = _rolled(a_deployment(1, surge=0, unavailable=1), *nodes, _low("a", "n1"), _low("b", "n2"))

    assert (1, 1, "shop/web-previous-1") == (
        rollout.placed,
        rollout.evicted,
        rollout.courses.likely.evicted[0].preemptor,
    )


def test_constraints_count_victims() -> None:
    """A pod of another workload that the constraint selects counts no more once it is evicted."""
    low = a_pod("low", "n1", {"app": "web", "tier": "x"}, priority=-1)
    obj = a_deployment(1, a_spread_constraint())
    rollout = _rolled(obj, *_small("n1", "n2", pods=2), low, _low("bare", "n2"), scale=2)
    course = rollout.courses.likely
    zones = {"n1": 0, "n2": 0}
    for pod in course.cluster.pods_on(zones):
        zones[pod.node] += pod.namespace == "shop"

    assert zones == course.after[0]
