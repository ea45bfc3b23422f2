"""From a goal to the constraints that reach it, each tried by simulation, and what becomes of each loss then.

The search is that of all suggestions (``suggestion_edits``); what is tried, and in which order, says
``constraint_sets``. It takes the first set that reaches the goal, or where too few domains could take pods,
as much of it as so many can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planning.advise.constraint_sets import (
    ConstraintBasis,
    ConstraintSet,
    constraint_sets,
    edits_to,
    given_up,
)
from planning.advise.goal import Goal
from planning.advise.goal_simulator import GoalSimulator
from planning.advise.goal_trial import Failure, PlacedReplicas, Trial
from planning.advise.node_groups import NodeGroup
from planning.advise.played_goal import PlayedGoal
from planning.simulation.actions import domains_of
from planning.simulation.cluster_simulation import never
from planning.simulation.node_source import NodeSource
from planning.simulation.outcome import Outcome
from planning.simulation.scenario import ClusterState
from planning.simulation.suggestions.given_up import GivenUp
from planning.simulation.suggestions.suggestion_edits import EditSearch
from policies.config.context import AdmissionContext
from policies.config.default_constraints import Skip, own_selector, revision_keys
from policies.manifests.edits import Edit
from policies.model.constraint import Constraint
from policies.model.workload import Workload
from policies.pods.placement import DAEMON_SET

#: Sets that are tried at most.
MOST_TRIED: Final = 200
#: Replicas that all of them together place before no further set is tried: with 5,000 nodes each takes some
#: milliseconds. A set places all replicas twice, and rolls them out if it reaches the goal until then.
MOST_PLACED: Final = 20_000
#: Sets that are applied to the cluster as it runs: those that reach the goal until then.
MOST_PLAYED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReason:
    """Why a constraint is as it is: what fails if one field of it were softer."""

    constraint: Constraint | None  #: The constraint; None for the manifest's others, which are removed.
    field: str  #: The field.
    failure: Failure  #: What fails.


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The constraints that reach a goal, with what they cost and prove."""

    goal: Goal  #: What is wanted.
    reachable: Goal  #: The part of it that the domains can reach.
    workload: Workload  #: The workload before.
    domains: frozenset[str]  #: The domains that could take its pods.
    now: PlacedReplicas | None  #: Where the replicas are that run now; None if none does.
    as_is: Trial  #: What the workload comes to as it is.
    chosen: ConstraintSet | None = None  #: The constraints to write; None if it is best as it is.
    edits: tuple[Edit, ...] = ()  #: How.
    given_up: tuple[GivenUp, ...] = ()  #: What of its constraints they weaken or remove.
    trial: Trial  #: What it comes to with them.
    reasons: tuple[FieldReason, ...] = ()  #: Why each field of them is as it is.
    #: What becomes of the cluster once the workload is applied with them, and then of the loss of each
    #: domain; None where that was ended early.
    outcome: Outcome | None = None
    tried: int = 0  #: How many sets were tried.
    considered: int = 0  #: How many there are.
    complete: bool = True  #: Whether none was left out that could be preferred.
    stopped: bool = False  #: Whether that is because it was stopped.

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached, with the constraints to write if there are some."""
        return self.trial.failure(self.goal) is None

    @property
    def is_met_now(self) -> bool:
        """Whether the pods that run now are within the limit, however others would be placed."""
        return self.now is None or self.now.count <= self.goal.allowed(self.now.replicas)

    @property
    def is_limited_by_domains(self) -> bool:
        """Whether it cannot be reached since too few domains could take pods."""
        return self.goal.limit is not None and self.goal.domains_needed > len(self.domains)


def why_unadvised(workload: Workload) -> str:
    """Return why there are no replicas to spread; empty if there are."""
    if workload.kind.is_pod:
        return "no controller recreates a Pod" if workload.owner is None else "its controller decides"
    if workload.kind.kind == DAEMON_SET:
        return "it runs one pod on each node, which is lost with it"
    if workload.replicas is None or workload.replicas < 0:
        return "it has no number of replicas"
    if workload.selector is None:
        return "its pods cannot be distinguished from others"
    selector = own_selector(workload)
    return str(selector) if isinstance(selector, Skip) else ""


def advise(
    workload: Workload,
    state: ClusterState,
    goal: Goal,
    groups: Sequence[NodeGroup] = (),
    *,
    nodes_from: NodeSource | None = None,
    stop: Callable[[], bool] = never,
    on_trial: Callable[[float], None] = lambda _share: None,
) -> Advice | None:
    """Search for the constraints with which a workload reaches a goal.

    Args:
        workload: The workload, for which ``why_unadvised`` is empty.
        state: The cluster, which stays as it is.
        goal: The goal.
        groups: Nodes that an autoscaler may add.
        nodes_from: The autoscaler, where that is known.
        stop: Whether to end early; called before each replica.
        on_trial: Called after each trial with the share of the sets that were tried.

    Returns:
        None if it was stopped before the workload was tried as it is.

    Raises:
        PlacementError: Kubernetes would refuse the workload or its pods.
    """
    context = state.context
    simulator = GoalSimulator(workload, context, state.known, goal, groups, stop=stop)
    domains = simulator.usable_domains(workload)
    simulator.goal = goal.within(len(domains))
    played = PlayedGoal(workload, state, goal.range, groups, nodes_from=nodes_from, stop=stop)
    as_is = simulator.run(workload)
    if as_is.failure(simulator.goal) is None:
        as_is = replace(as_is, played=played.failure((), simulator.goal))
    if stop():
        return None
    advice = Advice(
        goal=goal,
        reachable=simulator.goal,
        workload=workload,
        domains=domains,
        now=_running(workload, context, goal),
        as_is=as_is,
        trial=as_is,
    )
    if as_is.failure(simulator.goal) is not None or as_is.evicts:
        advice = _Search(advice, simulator, played, context, groups=groups, stop=stop).run(on_trial)
    return replace(advice, outcome=None if stop() else played.with_losses(advice.edits, goal.key))


class _Search:
    """Tries sets of constraints until one reaches what can be reached."""

    def __init__(
        self,
        advice: Advice,
        simulator: GoalSimulator,
        played: PlayedGoal,
        context: AdmissionContext,
        *,
        groups: Sequence[NodeGroup],
        stop: Callable[[], bool],
    ) -> None:
        workload, goal = advice.workload, advice.reachable
        selector = workload.selector
        if selector is None:
            raise ValueError("why_unadvised tells why this has no pods to spread")
        is_new = {group.domain for group in groups} - domains_of(simulator.cluster, goal.key).keys()
        basis = ConstraintBasis(
            selector=selector,
            match_label_keys=revision_keys(workload, selector, context),
            behavior=context.behavior,
            domains=goal.domains_needed if is_new else 1,
        )
        self._advice, self._stop, self._played = advice, stop, played
        self._sets = constraint_sets(workload, goal, basis)
        self._edits = EditSearch(
            workload,
            context,
            simulator.run,
            most=MOST_TRIED,
            may_go_on=lambda: simulator.work < MOST_PLACED and played.tried <= MOST_PLAYED and not stop(),
        )
        self._trials: dict[ConstraintSet, Trial] = {}

    def run(self, on_trial: Callable[[float], None]) -> Advice:
        """Return the advice with the first set that reaches the goal, or with the best of all.

        One with which the workload evicts pods of others is taken only if every other one misses the goal,
        and the workload as it is does.
        """
        goal, found, evicting = self._advice.reachable, None, None
        for each in self._sets:
            trial = self._try(each)
            if not self._edits.complete or self._stop():
                break
            if trial is not None:
                self._trials[each] = trial
                if trial.failure(goal) is None and not trial.evicts:
                    found = each
                    break
                if trial.failure(goal) is None and evicting is None:
                    evicting = each
            on_trial(self._edits.tried / len(self._sets))
        advice = replace(
            self._advice,
            tried=self._edits.tried,
            considered=len(self._sets),
            complete=self._edits.complete and not self._stop(),
            stopped=self._stop(),
        )
        as_is = self._advice.as_is.failure(goal) is None
        return self._with(advice, found or (None if as_is else evicting or self._best()))

    def _try(self, each: ConstraintSet) -> Trial | None:
        """Place the replicas with a set; one that reaches the goal so is then applied to what runs."""
        edits, goal = edits_to(each, self._advice.workload, self._advice.goal), self._advice.reachable
        trial = self._edits.attempt(edits)
        if trial is None or trial.failure(goal) is not None:
            return trial
        return replace(trial, played=self._played.failure(edits, goal))

    def _best(self) -> ConstraintSet | None:
        """Return the set that misses the goal by least; None if the workload as it is does, or if unknown."""
        goal = self._advice.reachable
        if not self._edits.complete or self._stop():
            return None
        best = min(
            self._trials, key=lambda each: (self._trials[each].shortfall(goal), each.cost), default=None
        )
        as_is = self._advice.as_is.shortfall(goal)
        return None if best is None or self._trials[best].shortfall(goal) >= as_is else best

    def _with(self, advice: Advice, chosen: ConstraintSet | None) -> Advice:
        if chosen is None:
            return advice
        reasons = (
            FieldReason(constraint=constraint, field=field, failure=failure)
            for constraint, field, softer in chosen.softer()
            if (trial := self._trials.get(softer)) is not None
            if (failure := trial.failure(advice.reachable)) is not None
        )
        return replace(
            advice,
            chosen=chosen,
            edits=edits_to(chosen, advice.workload, advice.goal),
            given_up=tuple(given_up(chosen, advice.workload, advice.goal)),
            trial=self._trials[chosen],
            reasons=tuple(reasons),
        )


def _running(workload: Workload, context: AdmissionContext, goal: Goal) -> PlacedReplicas | None:
    if context.cluster is None or workload.own_pods is None:
        return None
    pods = context.cluster.selected_pods(workload.namespace, workload.own_pods)
    nodes = (context.cluster.nodes.find(pod.node) for pod in pods)
    counts = Counter("" if node is None else node.labels.get(goal.key, "") for node in nodes)
    if not counts:
        return None
    domain, count = max(counts.items(), key=lambda entry: entry[1])
    return PlacedReplicas(replicas=len(pods), domain=domain, count=count)
