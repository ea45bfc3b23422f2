"""Outcomes for reports to show: of a rollout, losses of zones and nodes, a drain, a scale-down, a release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from planning.simulation.events import Event, LostDomain, ScaledWorkload
from planning.simulation.outcome import (
    AskedScenario,
    Branches,
    BudgetOutcome,
    Cause,
    ConstraintOutcome,
    Did,
    HelpfulChange,
    NodesOutcome,
    ObjectChange,
    Outcome,
    ScenarioCluster,
    Step,
    Verdict,
    WorkloadOutcome,
)
from planning.simulation.release_diff import DiffKind, ReleaseOutcome, ResponsibleChange, WorkloadDiff
from planning.simulation.survival import Survival
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.model.labels import LabelSelector
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin

_KEYS: Final = {"zone": ZONE, "hostname": HOSTNAME}


def a_verdict(cause: Cause, sentence: str, **fields: Any) -> Verdict:
    """Return a verdict."""
    return Verdict(cause=cause, sentence=sentence, **fields)


def a_survival(
    key: str, possible: int | None, before: dict[str, int] | None, after: dict[str, int], others: int = 0
) -> Survival:
    """Return what is left of a workload whose pods are in these domains, and one in each of the others."""

    def fullest(counts: dict[str, int]) -> str:
        return max(counts, key=lambda name: counts[name])

    running = sum(after.values()) + others
    return Survival(
        topology_key=_KEYS[key],
        possible=possible,
        before=before,
        after=after,
        other_domains=others,
        fullest_before=None if before is None else fullest(before),
        fullest=fullest(after),
        left_before=None if before is None else sum(before.values()) + others - max(before.values()),
        left=running - max(after.values()),
        stops=running > 1 and running == max(after.values()),
    )


def a_constraint_outcome(
    key: str, max_skew: int, skew_before: int, skew: int, **domains: dict[str, int]
) -> ConstraintOutcome:
    """Return what becomes of a hard constraint."""
    constraint = Constraint(
        max_skew=max_skew, topology_key=_KEYS[key], when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE
    )
    applied = AppliedConstraint(constraint, ConstraintOrigin.POD, LabelSelector((("app", "web"),)), 1)
    return ConstraintOutcome(
        applied=applied,
        before=domains.get("before", {}),
        after=domains.get("after", {}),
        skew_before=skew_before,
        skew=skew,
        peak=max(skew_before, skew),
    )


def a_workload_outcome(
    name: str, verdict: Verdict, *, counts: tuple[int, int, int, int], kind: str = "Deployment", **fields: Any
) -> WorkloadOutcome:
    """Return what becomes of a workload, whose counts are wanted, before, lowest and after."""
    namespace, _, short = name.partition("/")
    wanted, before, lowest, after = counts
    return WorkloadOutcome(
        ref=WorkloadRef(namespace, kind, short),
        wanted=wanted,
        before=before,
        lowest=lowest,
        after=after,
        verdicts=(verdict,),
        **fields,
    )


def an_outcome(
    verdict: Verdict,
    *workloads: WorkloadOutcome,
    events: tuple[Event, ...] = (),
    each: str | None = None,
    unread: tuple[str, ...] = (),
    nodes: int = 12,
    **fields: Any,
) -> Outcome:
    """Return an outcome."""
    return Outcome(
        **{
            "kubernetes_version": KubernetesVersion(1, 36),
            "complete": True,
            "scenario": AskedScenario(
                events=events,
                each=each,
                cluster=ScenarioCluster(nodes=nodes, pods=58, pending=1, unread=unread),
            ),
            "verdict": verdict,
            "workloads": workloads,
            "others": 0,
            "steps": (),
            "nodes": NodesOutcome(before=nodes, after=nodes),
            **fields,
        }
    )


def a_rollout() -> Outcome:
    """Return a rollout that completes, after which one zone has most of the pods."""
    verdict = a_verdict(
        Cause.FEWER_LEFT,
        "search/indexer rolls out and all 11 run, but zone c gets none and 7 of 11 go with zone a"
        " (4 of 10 before)",
    )
    indexer = a_workload_outcome(
        "search/indexer",
        verdict,
        counts=(11, 10, 10, 11),
        change=ObjectChange.CHANGED,
        updated=11,
        pending_before=1,
        constraints=(a_constraint_outcome("hostname", 2, 1, 2, before={"node-a1": 1}, after={"node-a1": 2}),),
        survival=(
            a_survival("zone", 3, {"a": 4, "b": 4, "c": 2}, {"a": 7, "b": 4, "c": 0}),
            a_survival("hostname", 10, {"node-a1": 1}, {"node-a1": 2}, 9),
        ),
    )
    return an_outcome(
        verdict,
        indexer,
        events=(Event(apply={"kind": "Deployment", "namespace": "search", "name": "indexer"}),),
        unread=("poddisruptionbudgets",),
        others=7,
        steps=(Step(0, Did.BOUND, "search/indexer-next-1", "node-a1", new=True),) * 22,
        branches=Branches(tried=53, exact=False, worst=verdict, ends_worse=0, worst_skews=(2,)),
        not_looked_at=("progressDeadlineSeconds", "minReadySeconds"),
    )


def _without(zone: str, *workloads: WorkloadOutcome) -> Outcome:
    events = (Event(lose=LostDomain(topology_key=ZONE, value=zone)),)
    worst = workloads[0].verdict
    return an_outcome(
        worst,
        *workloads,
        events=events,
        nodes=12,
    )


def _hit(
    name: str, counts: tuple[int, int, int, int], cause: Cause = Cause.FITS, **fields: Any
) -> WorkloadOutcome:
    sentence = f"{name} has {counts[3]} of {counts[0]} in the end"
    return a_workload_outcome(
        name, a_verdict(cause, sentence, **fields), counts=counts, lost=counts[1] - counts[2]
    )


def each_zone() -> Outcome:
    """Return the losses of three zones, of which one alone does no harm."""
    why = (
        "node-c3 and -c4, tainted dedicated=gpu, hold none of indexer's pods and count, so no other node may"
        " take a second one (hostname, maxSkew 1)"
    )
    indexer = _hit("search/indexer", (11, 10, 6, 6), Cause.PENDING, why=why, count=4)
    api, cart = _hit("payments/api", (4, 4, 0, 4), Cause.INTERRUPTED), _hit("shop/cart", (7, 7, 2, 7))
    checkout = _hit("shop/checkout", (3, 3, 1, 3))
    quiet = tuple(_hit(f"shop/quiet-{number}", (2, 2, 2, 2)) for number in range(4))
    losses = (
        _without("b", indexer, api, _hit("shop/cart", (7, 7, 5, 7)), checkout),
        _without("a", indexer, cart),
        _without("c", _hit("search/indexer", (11, 10, 8, 10)), _hit("shop/checkout", (3, 3, 2, 3))),
    )
    suggestions = (
        HelpfulChange(
            text="indexer: nodeTaintsPolicy: Honor",
            verdict=a_verdict(Cause.FITS, "no loss hurts it, and 11 of 11 run"),
            after=11,
        ),
        HelpfulChange(
            text="api: a zone constraint, DoNotSchedule, maxSkew 1",
            verdict=a_verdict(Cause.FITS, "2 of 4 are left without any"),
            after=4,
        ),
    )
    return an_outcome(
        a_verdict(
            Cause.PENDING,
            "zones a and b may not be lost: search/indexer stays 4 short without either, and payments/api"
            " stops with b; zone c may",
            count=4,
        ),
        indexer, api, cart, checkout, *quiet,
        each=ZONE,
        outcomes=losses,
        suggestions=suggestions,
        unread=("poddisruptionbudgets",),
    )  # fmt: skip


def each_node() -> Outcome:
    """Return the losses of more nodes than have a column each."""
    hit = _hit("shop/web", (4, 4, 3, 3), Cause.PENDING)
    losses = tuple(
        replace(
            _without(f"n{number:02}", hit), nodes=NodesOutcome(before=12, after=11, lost=(f"n{number:02}",))
        )
        for number in range(15)
    )
    verdict = a_verdict(Cause.PENDING, "no node may be lost: shop/web stays one short without any")
    return an_outcome(verdict, hit, each=HOSTNAME, outcomes=losses)


def a_drain() -> Outcome:
    """Return a drain that a budget blocks."""
    verdict = a_verdict(
        Cause.BLOCKED,
        "the drain of n1 never ends: budget shop/api wants 2 ready pods and there are 2, so api-1-a may not"
        " be evicted",
        pods=("shop/api-1-a",),
        count=1,
    )
    budget = BudgetOutcome(name="api", required=2, before=2, running=2, allowed=0, blocks=("shop/api-1-a",))
    api = a_workload_outcome("shop/api", verdict, counts=(2, 2, 2, 2), budgets=(budget,))
    why = "Cannot evict pod as it would violate the pod's disruption budget."
    then = a_verdict(Cause.ONE_DOMAIN, "the drain ends, but all 3 run on n2")
    scaled = ScaledWorkload(kind="Deployment", namespace="shop", name="api", to=3)
    help_ = HelpfulChange(
        text="scale shop/api to 3", events=(Event(scale=scaled),), cost="1 pod", verdict=then, after=3
    )
    return an_outcome(
        verdict,
        api,
        events=(Event(drain="n1"),),
        nodes=2,
        steps=(Step(0, Did.CORDONED, None, "n1"), Step(0, Did.NOT_EVICTED, "shop/api-1-a", "n1", why=why)),
        suggestions=(help_,),
    )


def a_scale_down() -> Outcome:
    """Return a scale-down that leaves zones uneven."""
    verdict = a_verdict(
        Cause.ABOVE_MAX_SKEW,
        "shop/web keeps 6, but zones are left with 2, 3, 1: skew 2, above maxSkew 1; a scale-down does not"
        " look at constraints",
    )
    zones = {"before": {"a": 3, "b": 3, "c": 3}, "after": {"a": 2, "b": 3, "c": 1}}
    web = a_workload_outcome(
        "shop/web",
        verdict,
        counts=(6, 9, 6, 6),
        change=ObjectChange.SCALED,
        constraints=(a_constraint_outcome("zone", 1, 0, 2, **zones),),
        survival=(
            a_survival("zone", 3, zones["before"], zones["after"]),
            a_survival("hostname", 10, {"node-c1": 2, "node-a1": 1}, {"node-c1": 1, "node-a1": 1}, 4),
        ),
    )
    return an_outcome(
        verdict,
        web,
        events=(Event(scale=ScaledWorkload(kind="Deployment", namespace="shop", name="web", to=6)),),
        branches=Branches(tried=12, exact=True, worst=verdict, ends_worse=0, worst_skews=(3, 1)),
    )


def _differing(name: str, kind: DiffKind, since: str, what: str) -> WorkloadOutcome:
    namespace, _, short = name.partition("/")
    found = ReleaseOutcome(feasible=("node-a1", "node-a4"), best=("node-a1", "node-a4"))
    diff = WorkloadDiff(
        namespace=namespace,
        kind="Deployment",
        name=short,
        difference=kind,
        before=found,
        after=found,
        responsible=(ResponsibleChange(since, what, "https://github.com/kubernetes/kubernetes"),),
    )
    return replace(_hit(name, (2, 2, 2, 2)), next=diff)


def a_release() -> Outcome:
    """Return a release under which pods are scored otherwise."""
    verdict = a_verdict(
        Cause.FITS,
        "with 1.36 every next pod fits the same nodes; 7 of 8 are scored otherwise, 1 has another message",
    )
    what = "balanced allocation scores how much evener it gets"
    scored = (_differing(f"shop/web-{number}", DiffKind.SCORES, "1.36", what) for number in range(7))
    message = "the condition no longer names the taint"
    return an_outcome(
        verdict,
        *scored,
        _differing("search/indexer", DiffKind.MESSAGE, "1.34.2", message),
        events=(Event(release="1.36"),),
        kubernetes_version=KubernetesVersion(1, 33),
    )


def a_deadlock() -> Outcome:
    """Return a rollout of a StatefulSet that a pod without a node stops."""
    verdict = a_verdict(
        Cause.DEADLOCK,
        "shop/db does not roll out: db-2 has no node, and OrderedReady waits for it before another pod is"
        " replaced",
        pods=("shop/db-2",),
        count=1,
        why="n1 and n2 hold one each; cp, whose taint the old pod does not tolerate, counts with 0: a third"
        " would make skew 2 (hostname, maxSkew 1)",
        message="0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match pod"
        " topology spread constraints.",
    )
    db = a_workload_outcome(
        "shop/db",
        verdict,
        kind="StatefulSet",
        counts=(3, 2, 2, 2),
        change=ObjectChange.CHANGED,
        updated=0,
        pending_before=1,
        pending=1,
        survival=(a_survival("hostname", 2, {"n1": 1, "n2": 1}, {"n1": 1, "n2": 1}),),
    )
    delete = HelpfulChange(
        text="kubectl delete pod db-2 -n shop",
        cost="nothing",
        verdict=a_verdict(Cause.FITS, "3 of 3 are updated"),
        after=3,
    )
    applied = {"kind": "StatefulSet", "namespace": "shop", "name": "db"}
    return an_outcome(verdict, db, events=(Event(apply=applied),), nodes=3, suggestions=(delete,))


def undecided() -> Outcome:
    """Return a drain that the budgets would decide, which were not read."""
    verdict = a_verdict(
        Cause.NOT_READ,
        "whether the drain of n1 ends is not known: the budgets of shop/api were not read",
        needs=("poddisruptionbudgets",),
    )
    api = a_workload_outcome("shop/api", verdict, counts=(2, 2, 1, 2), evicted=1)
    return an_outcome(
        verdict, api, events=(Event(drain="n1"),), nodes=2, unread=("poddisruptionbudgets",), complete=False,
        steps=(Step(0, Did.CORDONED, None, "n1"), Step(0, Did.EVICTED, "shop/api-1-a", "n1")),
    )  # fmt: skip


#: The outcomes by what they are about.
OUTCOMES: Final = {
    "rollout": a_rollout,
    "each_zone": each_zone,
    "each_node": each_node,
    "drain": a_drain,
    "scale_down": a_scale_down,
    "release": a_release,
    "deadlock": a_deadlock,
    "undecided": undecided,
}
