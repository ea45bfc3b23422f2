"""The ladder of verdicts, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from planning.simulation.disruption_budgets import (
    SEVERAL_BUDGETS,
    VIOLATES_BUDGET,
    BudgetCount,
    RefusedEviction,
)
from planning.simulation.drain import NO_CONTROLLER
from planning.simulation.judge import (
    MOST_CHARACTERS,
    WorkloadFacts,
    judge_workload,
)
from planning.simulation.judge_all import judge_all, judge_losses, judge_release
from planning.simulation.outcome import (
    BudgetOutcome,
    Cause,
    ConstraintOutcome,
    ObjectChange,
    WorkloadOutcome,
)
from planning.simulation.release_diff import DiffKind, ReleaseOutcome, WorkloadDiff
from planning.simulation.survival import Survival
from policies.model.constraint import Constraint
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.model.workload_ref import WorkloadRef
from policies.scheduler.index import PodOnNode
from policies.scheduler.request import AppliedConstraint, ConstraintOrigin
from tests.policies.scheduler.clusters import a_constraint

CHANGED, SCALED, ADDED = ObjectChange.CHANGED, ObjectChange.SCALED, ObjectChange.ADDED


def _outcome(title: str = "shop/web", kind: str = "Deployment", **fields: Any) -> WorkloadOutcome:
    namespace, _, name = title.partition("/")
    given: dict[str, Any] = {"wanted": 3, "before": 3, "after": 3, "verdicts": ()} | fields
    given.setdefault("lowest", min(given["before"], given["after"]))
    return WorkloadOutcome(ref=WorkloadRef(namespace, kind, name), **given)


def _judged(outcome: WorkloadOutcome, **facts: Any) -> list[tuple[str, str]]:
    found = judge_workload(outcome, WorkloadFacts(**facts))
    return [(str(verdict.cause), verdict.sentence) for verdict in found]


def _with_verdicts(outcome: WorkloadOutcome, **facts: Any) -> WorkloadOutcome:
    return replace(outcome, verdicts=judge_workload(outcome, WorkloadFacts(**facts)))


def _differing(kind: DiffKind, **after: Any) -> WorkloadDiff:
    before = ReleaseOutcome(feasible=("n1",))
    return WorkloadDiff(
        namespace="shop",
        kind="Deployment",
        name="web",
        difference=kind,
        before=before,
        after=replace(before, **after),
        responsible=(),
    )


def _survival(
    after: Mapping[str, int], before: Mapping[str, int] | None = None, key: str = ZONE, *, stops: bool = False
) -> Survival:
    def left(counts: Mapping[str, int]) -> int:
        return sum(counts.values()) - max(counts.values())

    return Survival(
        topology_key=key,
        possible=len(after),
        before=before,
        after=after,
        fullest_before=None if before is None else max(before, key=before.__getitem__),
        fullest=max(after, key=after.__getitem__),
        left_before=None if before is None else left(before),
        left=left(after),
        stops=stops,
    )


def _constraint(
    after: Mapping[str, int], skew: int, action: str = "DoNotSchedule", **fields: Any
) -> ConstraintOutcome:
    constraint = Constraint.parse(a_constraint(ZONE, action, **fields))
    applied = AppliedConstraint(constraint, ConstraintOrigin.POD, constraint.selector, 1)
    return ConstraintOutcome(
        applied=applied, before=after, after=after, skew_before=skew, skew=skew, peak=skew
    )


def _refusal(
    why: str, *budgets: str, counted: BudgetCount | None = None, pod: str = "api-1-a"
) -> RefusedEviction:
    return RefusedEviction(PodOnNode("shop", pod, "n1", terminating=False), why, budgets, counted)


WHY = "zone c has none and no node there takes one"


@pytest.mark.parametrize(
    ("fields", "facts", "sentence"),
    [
        ({}, {}, "all 3 pods of shop/web run"),
        ({"wanted": 1, "before": 1, "after": 1}, {}, "the pod of shop/web runs"),
        ({"wanted": 0, "before": 0, "after": 0}, {}, "shop/web runs no pod"),
        ({"wanted": 4, "pending_before": 1, "pending": 1}, {}, "3 of 4 pods of shop/web run"),
        ({"lost": 2}, {}, "all 3 pods of shop/web run again"),
        ({"evicted": 2, "after": 2}, {"allow_missing": 1}, "2 of 3 pods of shop/web run again"),
        ({"lost": 4, "before": 8, "after": 4, "wanted": 4}, {}, "4 of 8 pods of shop/web run again"),
        ({"change": CHANGED, "updated": 3}, {"rollout": Cause.FITS}, "shop/web rolls out and all 3 run"),
        (
            {"change": CHANGED, "updated": 1},
            {"rollout": Cause.FITS},
            "shop/web rolls out: 1 of 3 are updated, the partition keeps 2",
        ),
        ({"change": CHANGED, "wanted": 0, "after": 0, "updated": 0}, {}, "shop/web rolls out without pods"),
        ({"change": ADDED, "before": 0, "wanted": 1, "after": 1}, {}, "shop/web is created and its pod runs"),
        ({"change": SCALED, "wanted": 2, "after": 2}, {}, "shop/web keeps 2"),
        ({"change": SCALED, "wanted": 5, "after": 5}, {}, "shop/web is scaled and all 5 run"),
        ({"change": ObjectChange.RESTARTED, "updated": 3}, {}, "shop/web restarts and all 3 run"),
        (
            {"change": ObjectChange.REMOVED, "after": 0, "wanted": 0},
            {},
            "shop/web is removed with its 3 pods",
        ),
        ({"change": ADDED, "wanted": None, "before": 0, "after": 2}, {}, "shop/web is created and both run"),
    ],
)
def test_what_fits(fields: dict[str, Any], facts: dict[str, Any], sentence: str) -> None:
    """What is as it should be is said of it."""
    assert [("fits", sentence)] == _judged(_outcome(**fields), **facts)


@pytest.mark.parametrize(
    ("fields", "facts", "cause", "sentence"),
    [
        (
            {"change": CHANGED},
            {"refused": "spec.x: no"},
            "refused",
            "the API server refuses shop/web or its pods",
        ),
        (
            {"change": CHANGED, "after": 0, "updated": 0},
            {"why_pending": WHY},
            "down",
            f"no pod of shop/web runs in the end: {WHY}",
        ),
        ({"lost": 3, "after": 0}, {}, "down", "no pod of shop/web runs in the end"),
        (
            {"next": _differing(DiffKind.NODES, feasible=())},
            {"release": "1.36"},
            "pending",
            "with 1.36 the next pod of shop/web fits no node any more",
        ),
        (
            {"next": _differing(DiffKind.VALIDITY, errors=("spec: Invalid value",)), "lost": 1, "after": 2},
            {"unfinished": Cause.STOPPED},
            "refused",
            "with the other release the API server refuses shop/web",
        ),
        (
            {"change": CHANGED, "updated": 0, "after": 2, "pending": 1},
            {"rollout": Cause.DEADLOCK, "in_order": True, "pending": ("web-2",)},
            "deadlock",
            (
                "shop/web does not roll out: web-2 has no node, and OrderedReady waits for it before "
                "another pod is replaced"
            ),
        ),
        (
            {"change": CHANGED, "updated": 2, "pending": 2},
            {"rollout": Cause.DEADLOCK, "pending": ("web-x", "web-y")},
            "deadlock",
            (
                "shop/web does not roll out: web-x, web-y have no node, and no other pod is replaced "
                "before they run"
            ),
        ),
        (
            {},
            {
                "drained": True,
                "evictions": (_refusal(VIOLATES_BUDGET, "api", counted=BudgetCount(2, 2, 0)),),
            },
            "blocked",
            (
                "the drain of n1 never ends: budget shop/api wants 2 ready pods and there are 2, so "
                "api-1-a may not be evicted"
            ),
        ),
        (
            {},
            {"evictions": (_refusal(SEVERAL_BUDGETS, "any", "api"), _refusal(SEVERAL_BUDGETS, "any", "api"))},
            "blocked",
            (
                "api-1-a may not be evicted: 2 budgets select it (any, api), which the Eviction API "
                "refuses (and 1 more pod)"
            ),
        ),
        (
            {},
            {"drained": True, "evictions": (_refusal(NO_CONTROLLER),)},
            "blocked",
            ("kubectl drain evicts nothing of n1: api-1-a has no controller, and would be lost with --force"),
        ),
        (
            {},
            {"evictions": (_refusal(VIOLATES_BUDGET, "api", counted=BudgetCount(1, 2, 0)),)},
            "blocked",
            "api-1-a may not be evicted: budget shop/api allows no eviction by its status",
        ),
        (
            {
                "lost": 2,
                "after": 2,
                "budgets": (BudgetOutcome(name="api", required=3, before=3, running=2, allowed=0),),
            },
            {"allow_missing": 1},
            "below-budget",
            "shop/web stays below budget shop/api, which wants 3 ready pods: 2 in the end",
        ),
        (
            {"lost": 2, "after": 2},
            {"why_pending": WHY},
            "pending",
            f"shop/web stays 1 short: {WHY}",
        ),
        (
            {"change": CHANGED, "updated": 2, "after": 3},
            {"rollout": Cause.PENDING, "why_pending": WHY},
            "pending",
            f"shop/web rolls out: 2 of 3 are updated, 3 run: {WHY}",
        ),
        (
            {"change": SCALED, "before": 5, "wanted": 7, "after": 4, "pending": 3},
            {},
            "pending",
            "shop/web is scaled: 4 of 7 run",
        ),
        (
            {"change": SCALED, "wanted": 5, "after": 4, "pending": 1},
            {},
            "pending",
            "shop/web is scaled: 4 of 5 run",
        ),
        (
            {"change": CHANGED, "updated": 0},
            {"rollout": Cause.WAITS_FOR_DELETION},
            "waits-for-deletion",
            "shop/web is not rolled out: 3 old pods stay until someone deletes them (OnDelete)",
        ),
        (
            {"lost": 3, "lowest": 0},
            {},
            "interrupted",
            "shop/web stops: all 3 pods are lost at once, and 3 run again in the end",
        ),
        (
            {"evicted": 1},
            {"unread": ("poddisruptionbudgets",)},
            "not-read",
            "all 3 pods of shop/web run again, but poddisruptionbudgets were not read, which may change that",
        ),
        (
            {"lost": 2, "after": 1, "not_tried": 2},
            {},
            "not-tried",
            "shop/web is undecided: 2 pods were not tried, since what would replace them is not known",
        ),
        (
            {"change": CHANGED, "updated": 1},
            {"unfinished": Cause.NOT_TRIED, "limit": "2,000 pods are rolled out"},
            "not-tried",
            "shop/web is undecided: not all was tried, since a limit was reached (2,000 pods are rolled out)",
        ),
        (
            {"lost": 2, "after": 1, "not_tried": 1},
            {"unfinished": Cause.STOPPED},
            "stopped",
            "shop/web is undecided: 1 pod was not tried, since the work was ended",
        ),
        (
            {"change": CHANGED, "updated": 3, "on_new_nodes": 2},
            {"new_nodes": 4},
            "needs-nodes",
            "with 4 new nodes shop/web rolls out and all 3 run",
        ),
        (
            {"survival": (_survival({"b": 3, "a": 0}, stops=True),)},
            {},
            "one-domain",
            "all 3 pods of shop/web run, but all 3 are in zone b, whose loss stops it",
        ),
        (
            {
                "survival": (
                    _survival({"b": 3, "a": 0}, stops=True),
                    _survival({"n4": 3, "n1": 0}, key=HOSTNAME, stops=True),
                )
            },
            {},
            "one-domain",
            "all 3 pods of shop/web run, but all 3 are in zone b and on n4, whose loss stops it",
        ),
        (
            {
                "change": SCALED,
                "before": 9,
                "wanted": 6,
                "after": 6,
                "constraints": (_constraint({"a": 2, "b": 3, "c": 1}, 2),),
            },
            {},
            "above-max-skew",
            "shop/web keeps 6, but zones are left with 2, 3, 1: skew 2, above maxSkew 1",
        ),
        (
            {"constraints": (_constraint({"a": 2}, 2, minDomains=3),)},
            {},
            "above-max-skew",
            (
                "all 3 pods of shop/web run, but the fullest zone is left with 2: skew 2, of fewer zones "
                "than minDomains 3, above maxSkew 1"
            ),
        ),
        (
            {"lost": 1, "not_recreated": 1, "after": 2},
            {},
            "not-recreated",
            "1 pod of shop/web is lost: nothing creates it anew",
        ),
        (
            {"kind": "Pod", "lost": 1, "not_recreated": 1, "wanted": None, "before": 1, "after": 0},
            {},
            "not-recreated",
            "pod shop/web is lost: nothing creates it anew",
        ),
        (
            {
                "title": "search/indexer",
                "change": CHANGED,
                "wanted": 11,
                "before": 10,
                "after": 11,
                "updated": 11,
                "survival": (_survival({"a": 7, "b": 4, "c": 0}, {"a": 4, "b": 4, "c": 2}),),
            },
            {"rollout": Cause.FITS},
            "fewer-left",
            (
                "search/indexer rolls out and all 11 run, but zone c gets none and 7 of 11 go with zone "
                "a (4 of 10 before)"
            ),
        ),
        (
            {"constraints": (_constraint({"a": 3, "b": 0}, 3, "ScheduleAnyway"),)},
            {},
            "uneven",
            "all 3 pods of shop/web run, but zones are left with 3, 0: skew 3, above maxSkew 1",
        ),
    ],
)
def test_causes(fields: dict[str, Any], facts: dict[str, Any], cause: str, sentence: str) -> None:
    """Each cause has its sentence; it is the worst of what is found here."""
    found = _judged(_outcome(**fields), **facts)

    assert (cause, sentence) == found[0]
    assert [Cause(each) for each, _ in found] == sorted(
        (Cause(each) for each, _ in found), key=list(Cause).index
    )


@pytest.mark.parametrize(
    "fields",
    [
        # A scale-down is wanted, whatever it leaves below a budget.
        {
            "change": SCALED,
            "wanted": 2,
            "after": 2,
            "budgets": (BudgetOutcome(name="b", required=3, before=3, running=2, allowed=0),),
        },
        # As many as before where fewer than required ran.
        {
            "lost": 1,
            "budgets": (BudgetOutcome(name="b", required=5, before=3, running=3, allowed=0),),
        },
        # Recreate asks for an interruption.
        {"change": CHANGED, "updated": 3, "lowest": 0},
        # A single replica is always lost at once.
        {"wanted": 1, "before": 1, "after": 1, "lost": 1, "lowest": 0},
        # More replicas, spread as before.
        {
            "change": SCALED,
            "before": 3,
            "after": 6,
            "wanted": 6,
            "survival": (_survival({"a": 3, "b": 3}, {"a": 2, "b": 1}),),
        },
        # Fewer replicas, and a smaller share in each domain.
        {
            "change": SCALED,
            "before": 6,
            "wanted": 4,
            "after": 4,
            "survival": (_survival({"a": 2, "b": 2}, {"a": 4, "b": 2}),),
        },
        # One pod alone is always in one domain.
        {
            "lost": 1,
            "before": 2,
            "after": 1,
            "wanted": 1,
            "survival": (_survival({"a": 1, "b": 0}, {"a": 1, "b": 1}),),
        },
        # An older pod that is pending judges nothing.
        {"wanted": 5, "before": 3, "lost": 1, "pending": 2, "pending_before": 2},
        # A DaemonSet has no node for it any more.
        {"kind": "DaemonSet", "wanted": 2, "before": 3, "after": 2, "lost": 1},
    ],
)
def test_what_is_no_damage(fields: dict[str, Any]) -> None:
    """What was asked for, or was so before, is nobody's fault."""
    assert ["fits"] == [cause for cause, _ in _judged(_outcome(**fields), rollout=Cause.FITS)]


def test_false_stays_false() -> None:
    """What was not read adds to a verdict, and makes none undecided that is false."""
    found = judge_workload(
        _outcome(lost=2, after=1),
        WorkloadFacts(unread=("persistentvolumes",), pending=("web-1", "web-2"), message="0/3 nodes"),
    )

    assert [Cause.PENDING, Cause.NOT_READ] == [verdict.cause for verdict in found]
    assert (False, 2, ("shop/web-1", "shop/web-2"), "0/3 nodes") == (
        found[0].value,
        found[0].count,
        found[0].pods,
        found[0].message,
    )
    assert ("persistentvolumes",) == found[1].needs


def test_long_names() -> None:
    """A sentence is never longer than can be read aloud, and what does not print becomes harmless."""
    long = "x" * 250
    outcome = _outcome(f"{long}/\x1b{long}", lost=2, after=1)
    cases: list[dict[str, Any]] = [
        {"why_pending": long},
        {
            "evictions": tuple(
                _refusal(VIOLATES_BUDGET, long, pod=long, counted=BudgetCount(1, 1, 0)) for _ in "123"
            )
        },
        {"rollout": Cause.DEADLOCK, "pending": (long, long, long, long)},
    ]
    for facts in cases:
        for verdict in judge_workload(outcome, WorkloadFacts(**facts, drained=True)):
            assert len(verdict.sentence) <= MOST_CHARACTERS
            assert verdict.sentence.isprintable()


class TestAll:
    """The verdict on several workloads."""

    def test_nobody(self) -> None:
        """Nothing happens to anybody."""
        assert (Cause.FITS, "no workload is changed, and none loses a pod") == (
            judge_all([]).cause,
            judge_all([]).sentence,
        )

    def test_all_well(self) -> None:
        """All have their pods."""
        both = [_with_verdicts(_outcome(name, lost=1)) for name in ("shop/a", "shop/b")]

        assert judge_all([], ["shop/db-2"]).sentence.endswith("; shop/db-2 that waited gets a node")
        assert "none of 2 workloads lacks a pod" == judge_all(both).sentence
        assert "all 3 pods of shop/a run again" == judge_all(both[:1]).sentence

    def test_the_worst(self) -> None:
        """The worst is said whole, what else is false in a clause."""
        well = _with_verdicts(_outcome("shop/a", lost=1))
        short = _with_verdicts(_outcome("shop/b", lost=2, after=1), pending=("b-1", "b-2"))
        stops = _with_verdicts(_outcome("shop/c", lost=3, lowest=0))
        found = judge_all([stops, well, short])

        assert (Cause.PENDING, 2, ("shop/b-1", "shop/b-2")) == (found.cause, found.count, found.pods)
        assert "shop/b stays 2 short; shop/c stops" == found.sentence
        assert "shop/b stays 2 short" == judge_all([well, short]).sentence

    def test_many(self) -> None:
        """Pods are counted together; of many workloads some are named."""
        short = [
            _with_verdicts(_outcome(f"shop/w{number}", lost=2, after=1), pending=("p",) * 8)
            for number in range(4)
        ]
        found = judge_all(short)

        assert (8, 10) == (found.count, len(found.pods))
        assert "shop/w0 stays 2 short; shop/w1 stays 2 short, shop/w2 stays 2 short and 1 more workload" == (
            found.sentence
        )


class TestLosses:
    """The verdict on the loss of each domain."""

    INDEXER = _with_verdicts(_outcome("search/indexer", wanted=10, before=10, lost=4, after=6, lowest=6))
    STOPS = _with_verdicts(_outcome("payments/api", wanted=4, before=4, lost=4, after=4, lowest=0))
    WELL = _with_verdicts(_outcome("payments/api", wanted=4, before=4, after=4))

    def test_some_may_not_be_lost(self) -> None:
        """Which may not, what each workload suffers with which, and which may."""
        losses = {"a": [self.INDEXER, self.WELL], "b": [self.INDEXER, self.STOPS], "c": [self.WELL]}
        found = judge_losses(ZONE, losses)

        assert (
            "zones a and b may not be lost: search/indexer stays 4 short without either, and "
            "payments/api stops with b; zone c may" == found.sentence
        )
        assert (Cause.PENDING, False) == (found.cause, found.value)

    def test_one(self) -> None:
        """Of one there is nothing to tell apart."""
        assert "zone a may not be lost: search/indexer stays 4 short" == (
            judge_losses(ZONE, {"a": [self.INDEXER]}).sentence
        )

    def test_all_may(self) -> None:
        """Any one may be lost, though perhaps with a warning."""
        warned = _with_verdicts(_outcome("payments/api", survival=(_survival({"a": 3, "b": 0}, stops=True),)))

        assert "any one zone may be lost: every workload has its pods again" == (
            judge_losses(ZONE, {"a": [self.WELL], "b": []}).sentence
        )
        assert "any one node may be lost: no workload has pods there" == (
            judge_losses(HOSTNAME, {"a": [], "b": []}).sentence
        )
        found = judge_losses(ZONE, {"a": [self.WELL], "b": [warned]})
        assert (Cause.ONE_DOMAIN, True) == (found.cause, found.value)
        assert (
            "any one zone may be lost; then all 3 pods of payments/api run, but all 3 are in "
            "zone a, whose loss stops it" == found.sentence
        )
        assert "there is no zone to lose" == judge_losses(ZONE, {}).sentence

    def test_undecided(self) -> None:
        """What is not known of one is undecided of all, unless another may not be lost."""
        unknown = _with_verdicts(_outcome("shop/web", lost=1), unread=("persistentvolumes",))
        found = judge_losses(ZONE, {"a": [unknown], "b": [self.WELL]})

        assert (Cause.NOT_READ, None) == (found.cause, found.value)
        assert found.sentence.startswith("whether zone a may be lost is undecided: ")
        assert judge_losses(ZONE, {"a": [unknown], "b": [self.STOPS]}).sentence.endswith(
            "; zone a is undecided"
        )

    def test_many(self) -> None:
        """Hundreds of nodes make no longer sentence."""
        losses = {f"node-{number}": [self.STOPS if number % 2 else self.WELL] for number in range(300)}
        found = judge_losses(HOSTNAME, losses)

        assert len(found.sentence) <= MOST_CHARACTERS
        assert found.sentence.startswith("150 nodes (node-1, node-3, node-5 and 147 more) may not be lost")


def test_another_release() -> None:
    """What is broken is named, or else what differs is counted, the gravest first."""
    scored = [
        _with_verdicts(_outcome(f"shop/web-{number}", next=_differing(DiffKind.SCORES)), release="1.36")
        for number in range(2)
    ]
    message = _with_verdicts(_outcome("shop/db", next=_differing(DiffKind.MESSAGE)), release="1.36")
    broken = [
        _with_verdicts(_outcome(title, next=_differing(DiffKind.NODES, feasible=())), release="1.36")
        for title in ("shop/api", "shop/cart")
    ]
    fits = judge_release("1.36", [message, *scored])
    several = judge_release("1.36", [*scored, *broken])

    assert (
        Cause.FITS,
        "with 1.36 every next pod fits the same nodes; 2 are scored otherwise, 1 has another message",
    ) == (fits.cause, fits.sentence)
    assert (
        Cause.PENDING,
        "with 1.36 2 workloads are refused, or their next pods fit no node: shop/api, shop/cart",
    ) == (several.cause, several.sentence)
    assert broken[0].verdict == judge_release("1.36", broken[:1])
    assert "with 1.36 the next pod of shop/db has another message" == message.verdict.sentence
    assert "with 1.36 every next pod fits the same nodes, and is scored as before" == (
        judge_release("1.36", []).sentence
    )
