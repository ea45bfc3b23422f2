"""The verdicts on a workload: a function for each cause, which decides on it and words it.

Whatever is asked, whichever door answers: what holds of a workload is decided here, of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planning.simulation.disruption_budgets import RefusedEviction
from planning.simulation.outcome import (
    MOST_NAMES,
    RANK,
    Cause,
    ConstraintOutcome,
    ObjectChange,
    Verdict,
    WorkloadOutcome,
)
from planning.simulation.phrases import all_of, shown, whose_loss_stops
from planning.simulation.release_diff import DiffKind
from planning.simulation.survival import Survival
from policies.manifests.sanitize import cut
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.model.topology_keys import domain_word

#: Characters of a sentence: what can be read aloud in one breath.
MOST_CHARACTERS: Final = 240
#: Domains whose counts a sentence lists.
_LISTED_DOMAINS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFacts:
    """The facts about a workload that its numbers do not have."""

    refused: str = ""  #: Why the API server refuses it or its pods; empty if it does not.
    #: How its rollout ends: deadlock, waits-for-deletion, pending or fits; None if nothing is rolled out.
    rollout: Cause | None = None
    in_order: bool = False  #: Whether its controller waits for each pod before it goes on (OrderedReady).
    pending: tuple[str, ...] = ()  #: The names of its pods that have no node at the end.
    why_pending: str = ""  #: Why the first of them has none, as a sentence without its end.
    message: str = ""  #: The scheduler's message on it.
    evictions: tuple[RefusedEviction, ...] = ()  #: Its pods whose eviction is refused for good, in order.
    drained: bool = False  #: Whether a drain asks for these; otherwise each was asked for.
    new_nodes: int = 0  #: How many nodes an autoscaler adds.
    #: The kinds that were not read and that something refers to which is displaced, changed or judged.
    unread: tuple[str, ...] = ()
    #: Why not all was tried: not-tried or stopped; None if all was.
    unfinished: Cause | None = None
    limit: str = ""  #: The limit to raise where it is not-tried.
    allow_missing: int = 0  #: How many replicas may be missing.
    #: The release of Kubernetes that its next pod is evaluated by besides, if nothing else happens.
    release: str = ""


def judge_workload(outcome: WorkloadOutcome, facts: WorkloadFacts) -> tuple[Verdict, ...]:
    """Return the verdicts on a workload, the worst first; never none.

    Args:
        outcome: Its numbers; the verdicts that it has are not looked at.
        facts: What else is known of it.
    """
    judged = _Workload(outcome, facts)
    if facts.release:
        return (_breaks(judged) or judged.verdict(Cause.FITS, _upgraded(judged)),)
    found = [verdict for judge in _LADDER if (verdict := judge(judged)) is not None]
    return tuple(sorted(found, key=rank)) or (judged.verdict(Cause.FITS, judged.lead),)


def reached(outcome: WorkloadOutcome, *, completes: bool) -> int:
    """Return how many pods are as they should be.

    Args:
        outcome: The numbers.
        completes: Whether its rollout completes, which a partition may keep old pods from.
    """
    return outcome.after if outcome.updated is None or completes else outcome.updated


def rank(verdict: Verdict) -> tuple[int, int]:
    """Sort verdicts, the worst first: by cause, then by how many pods they are about."""
    return RANK[verdict.cause], -verdict.count


class _Workload:
    """A workload that is judged."""

    def __init__(self, outcome: WorkloadOutcome, facts: WorkloadFacts) -> None:
        self.outcome, self.facts = outcome, facts
        self.title = title_of(outcome)

    def verdict(self, cause: Cause, *sentences: str, count: int = 0, pods: Iterable[str] = ()) -> Verdict:
        """Return a verdict with the first sentence that is short enough."""
        namespace = self.outcome.ref.namespace
        return Verdict(
            cause=cause,
            sentence=shortest(*sentences),
            pods=tuple(f"{namespace}/{name}" for name in pods)[:MOST_NAMES],
            count=count,
        )

    @property
    def changed(self) -> bool:
        """Whether the events change the workload itself."""
        return self.outcome.change is not ObjectChange.NONE

    @property
    def displaced(self) -> int:
        """How many of its pods lost their node."""
        return self.outcome.lost + self.outcome.evicted

    @property
    def reached(self) -> int:
        """How many pods are as they should be."""
        # OnDelete keeps old ones until someone deletes them.
        keeps = self.facts.rollout in {Cause.FITS, Cause.WAITS_FOR_DELETION}
        return reached(self.outcome, completes=keeps)

    @property
    def goal(self) -> int:
        """How many pods should be so: of a workload that is hit as many as ran."""
        outcome = self.outcome
        if outcome.change is ObjectChange.REMOVED:
            return 0
        if self.changed:
            return self.reached + outcome.pending if outcome.wanted is None else outcome.wanted
        before = outcome.before - outcome.not_recreated
        return before if outcome.wanted is None else min(before, outcome.wanted)

    @property
    def short(self) -> int:
        """How many pods are missing for certain, beyond those that may be."""
        missing = max(self.goal - self.reached, 0)
        if self.facts.unfinished is not None or missing <= self.facts.allow_missing:
            return 0
        return max(missing - self.outcome.not_tried, 0)

    @property
    def lead(self) -> str:
        """What becomes of it, as a sentence without its end."""
        outcome, title, after = self.outcome, self.title, self.outcome.after
        all_run = "its pod runs" if after == 1 else f"{all_of(after)} run"
        enough = after >= self.goal and self.reached >= self.goal
        updated = "" if outcome.updated is None else f"{outcome.updated:,} of {self.goal:,} are updated, "
        few = f"{updated}{after:,} run" if updated else f"{after:,} of {self.goal:,} run"
        match outcome.change:
            case ObjectChange.REMOVED:
                return f"{title} is removed with its {plural(outcome.before, 'pod')}"
            case ObjectChange.SCALED if self.goal <= after < outcome.before:
                return f"{title} keeps {after:,}"
            case ObjectChange.NONE:
                return self._unchanged()
            case change:
                done = f"{title} {_DONE[change]}"
                if not self.goal:
                    return f"{done} without pods"
                whole = enough and outcome.updated in {None, after}
                if enough and not whole and self.facts.rollout is Cause.FITS:
                    # Only a partition lets a rollout end so.
                    return f"{done}: {updated}the partition keeps {after - (outcome.updated or 0):,}"
                return f"{done} and {all_run}" if whole else f"{done}: {few}"

    def _unchanged(self) -> str:
        outcome, title = self.outcome, self.title
        again = " again" if self.displaced else ""
        should = outcome.before if self.displaced or outcome.wanted is None else outcome.wanted
        if outcome.after < should:
            return f"{outcome.after:,} of {plural(should, 'pod')} of {title} run{again}"
        if outcome.after == 1:
            return f"the pod of {title} runs{again}"
        return (
            f"all {outcome.after:,} pods of {title} run{again}" if outcome.after else f"{title} runs no pod"
        )

    def but(self, *ends: str) -> list[str]:
        """Return what becomes of it with each of some reservations, and then these without it."""
        return [*(f"{self.lead}, but {end}" for end in ends), *(f"{self.title}: {end}" for end in ends)]


#: What a release changes for a next pod, and for several, by the gravest difference.
UPGRADED: Final[Mapping[DiffKind, tuple[str, str]]] = {
    DiffKind.VALIDITY: ("is no longer refused", "are no longer refused"),
    DiffKind.NODES: ("fits other nodes", "fit other nodes"),
    DiffKind.BEST: ("has other best nodes", "have other best nodes"),
    DiffKind.SCORES: ("is scored otherwise", "are scored otherwise"),
    DiffKind.CONSTRAINTS: ("has other constraints", "have other constraints"),
    DiffKind.MESSAGE: ("has another message", "have another message"),
}
_DONE: Final = {
    ObjectChange.ADDED: "is created",
    ObjectChange.CHANGED: "rolls out",
    ObjectChange.REPLACED: "is replaced",
    ObjectChange.SCALED: "is scaled",
    ObjectChange.RESTARTED: "restarts",
}


def _upgraded(judged: _Workload) -> str:
    """Return what another release changes for its next pod, as a sentence without its end."""
    found = judged.outcome.next
    differs = "is as before" if found is None else UPGRADED[found.difference][0]
    return f"with {judged.facts.release} the next pod of {judged.title} {differs}"


def _breaks(judged: _Workload) -> Verdict | None:
    found, release = judged.outcome.next, judged.facts.release or "the other release"
    if found is None or not found.breaks:
        return None
    if found.after.errors:
        refused = f"with {release} the API server refuses {judged.title}"
        return replace(judged.verdict(Cause.REFUSED, refused, count=1), message=found.after.errors[0])
    broken = judged.verdict(
        Cause.PENDING, f"with {release} the next pod of {judged.title} fits no node any more", count=1
    )
    return replace(broken, message=found.after.message)


def _refused(judged: _Workload) -> Verdict | None:
    message = judged.facts.refused
    if not message:
        return None
    found = judged.verdict(Cause.REFUSED, f"the API server refuses {judged.title} or its pods")
    return replace(found, message=message)


def _down(judged: _Workload) -> Verdict | None:
    outcome, facts = judged.outcome, judged.facts
    if outcome.after or not judged.short:
        return None
    none = f"no pod of {judged.title} runs in the end"
    sentences = [f"{none}: {facts.why_pending}", none] if facts.why_pending else [none]
    found = judged.verdict(Cause.DOWN, *sentences, count=judged.short, pods=facts.pending)
    return replace(found, message=facts.message)


def _deadlock(judged: _Workload) -> Verdict | None:
    facts = judged.facts
    if facts.rollout is not Cause.DEADLOCK or facts.unfinished is not None:
        return None
    names = listed(map(shown, facts.pending), IN_PHRASE) or "a pod"
    many = len(facts.pending) > 1
    waits = (
        f"OrderedReady waits for {'them' if many else 'it'} before another pod is replaced"
        if facts.in_order
        else f"no other pod is replaced before {'they run' if many else 'it runs'}"
    )
    found = judged.verdict(
        Cause.DEADLOCK,
        f"{judged.title} does not roll out: {names} {'have' if many else 'has'} no node, and {waits}",
        f"{judged.title} does not roll out: {waits}",
        count=len(facts.pending),
        pods=facts.pending,
    )
    return replace(found, message=facts.message)


def _blocked(judged: _Workload) -> Verdict | None:
    refused = judged.facts.evictions
    if not refused:
        return None
    pod, why = refused[0].pod, _why_refused(refused[0])
    more = f" (and {plural(len(refused) - 1, 'more pod')})" if len(refused) > 1 else ""
    if judged.facts.drained and not refused[0].budgets:
        node = shown(pod.node)
        sentence = f"kubectl drain evicts nothing of {node}: {why}{more}"
    elif judged.facts.drained:
        nodes = listed(map(shown, dict.fromkeys(each.pod.node for each in refused)), IN_PHRASE)
        subject = f"the drain of {nodes} never ends"
        sentence = f"{subject}: {why}, so {shown(pod.name)} may not be evicted{more}"
    else:
        sentence = f"{shown(pod.name)} may not be evicted: {why}{more}"
    names = [each.pod.name for each in refused]
    return replace(
        judged.verdict(Cause.BLOCKED, sentence, count=len(refused), pods=names), message=refused[0].why
    )


def _why_refused(refused: RefusedEviction) -> str:
    namespace, counted = shown(refused.pod.namespace), refused.counted
    if not refused.budgets:
        return f"{shown(refused.pod.name)} has no controller, and would be lost with --force"
    if counted is None:
        names = listed(map(shown, refused.budgets), IN_PHRASE)
        return f"{len(refused.budgets)} budgets select it ({names}), which the Eviction API refuses"
    budget = f"budget {namespace}/{shown(refused.budgets[0])}"
    if counted.healthy > counted.required:
        return f"{budget} allows no eviction by its status"
    there = "there is 1" if counted.healthy == 1 else f"there are {counted.healthy:,}"
    return f"{budget} wants {plural(counted.required, 'ready pod')} and {there}"


def _below_budget(judged: _Workload) -> Verdict | None:
    outcome = judged.outcome
    if not judged.displaced or outcome.after >= outcome.before or judged.facts.unfinished is not None:
        return None
    for budget in outcome.budgets:
        if budget.running < min(budget.required, budget.before):
            name = f"budget {shown(outcome.ref.namespace)}/{shown(budget.name)}"
            return judged.verdict(
                Cause.BELOW_BUDGET,
                f"{judged.title} stays below {name}, which wants {plural(budget.required, 'ready pod')}: "
                f"{budget.running:,} in the end",
                count=min(budget.required, budget.before) - budget.running,
            )
    return None


def _pending(judged: _Workload) -> Verdict | None:
    facts, short = judged.facts, judged.short
    if not short:
        return None
    lead = judged.lead if judged.changed else f"{judged.title} stays {short:,} short"
    sentences = [f"{lead}: {facts.why_pending}", lead] if facts.why_pending else [lead]
    found = judged.verdict(Cause.PENDING, *sentences, count=short, pods=facts.pending)
    return replace(found, message=facts.message)


def _waits_for_deletion(judged: _Workload) -> Verdict | None:
    if judged.facts.rollout is not Cause.WAITS_FOR_DELETION:
        return None
    old = judged.outcome.after - (judged.outcome.updated or 0)
    stay = "1 old pod stays" if old == 1 else f"{old:,} old pods stay"
    return judged.verdict(
        Cause.WAITS_FOR_DELETION,
        f"{judged.title} is not rolled out: {stay} until someone deletes {'it' if old == 1 else 'them'} "
        "(OnDelete)",
        count=old,
    )


def _interrupted(judged: _Workload) -> Verdict | None:
    outcome = judged.outcome
    if outcome.before < 2 or outcome.lowest or judged.displaced < outcome.before:
        return None
    stops = f"{judged.title} stops: {all_of(outcome.before)} pods are lost at once"
    again = f", and {outcome.after:,} run again in the end" if outcome.after else ""
    return judged.verdict(Cause.INTERRUPTED, stops + again, stops, count=outcome.before)


def _not_read(judged: _Workload) -> Verdict | None:
    unread = judged.facts.unread
    if not unread:
        return None
    end = f"{listed(unread, IN_PHRASE, between=' and ')} were not read, which may change that"
    return replace(judged.verdict(Cause.NOT_READ, *judged.but(end)), needs=unread)


def _unfinished(judged: _Workload) -> Verdict | None:
    outcome, facts = judged.outcome, judged.facts
    missing = judged.goal - judged.reached > facts.allow_missing
    cause = facts.unfinished or (Cause.NOT_TRIED if outcome.not_tried and missing else None)
    if cause is None:
        return None
    limit = f" ({facts.limit})" if facts.limit else ""
    left = plural(outcome.not_tried, "pod") if outcome.not_tried else "not all"
    tried = f"{left} {'was' if outcome.not_tried < 2 else 'were'}"
    tried += " not tried" if outcome.not_tried else " tried"
    why = "the work was ended" if cause is Cause.STOPPED else f"a limit was reached{limit}"
    why = why if facts.unfinished is not None else "what would replace them is not known"
    found = judged.verdict(
        cause, f"{judged.title} is undecided: {tried}, since {why}", count=outcome.not_tried
    )
    return replace(found, needs=(facts.limit,) if facts.limit else ())


def _needs_nodes(judged: _Workload) -> Verdict | None:
    on_new, new = judged.outcome.on_new_nodes, judged.facts.new_nodes
    if not on_new or judged.short:
        return None
    return judged.verdict(Cause.NEEDS_NODES, f"with {plural(new, 'new node')} {judged.lead}", count=on_new)


def _one_domain(judged: _Workload) -> Verdict | None:
    end = whose_loss_stops(judged.outcome.survival)
    return judged.verdict(Cause.ONE_DOMAIN, *judged.but(end), count=judged.outcome.after) if end else None


def _above_max_skew(judged: _Workload) -> Verdict | None:
    return _uneven_of(judged, Cause.ABOVE_MAX_SKEW, hard=True)


def _uneven(judged: _Workload) -> Verdict | None:
    return _uneven_of(judged, Cause.UNEVEN, hard=False)


def _uneven_of(judged: _Workload, cause: Cause, *, hard: bool) -> Verdict | None:
    constraints = judged.outcome.constraints
    above = [each for each in constraints if each.above and each.applied.is_hard == hard]
    if not above:
        return None
    worst = max(above, key=lambda each: (each.skew or 0) - each.applied.constraint.max_skew)
    return judged.verdict(cause, *judged.but(_skew_words(worst)))


def _skew_words(outcome: ConstraintOutcome) -> str:
    constraint, counts = outcome.applied.constraint, list((outcome.after or {}).values())
    word, domains = domain_word(constraint.topology_key), len(counts) + outcome.other_domains
    if len(counts) > 1 and domains <= _LISTED_DOMAINS:
        held = f"{word}s are left with {', '.join(f'{count:,}' for count in counts)}"
    else:
        held = f"the fullest {word} is left with {max(counts, default=0):,}"
    few = f", of fewer {word}s than minDomains {constraint.min_domains}"
    fewer = few if domains < constraint.min_domains and outcome.applied.is_hard else ""
    return f"{held}: skew {outcome.skew or 0:,}{fewer}, above maxSkew {constraint.max_skew:,}"


def _not_recreated(judged: _Workload) -> Verdict | None:
    gone = judged.outcome.not_recreated
    if not gone:
        return None
    if judged.outcome.ref.kind == "Pod":
        return judged.verdict(
            Cause.NOT_RECREATED, f"pod {judged.title} is lost: nothing creates it anew", count=gone
        )
    pods = "1 pod" if gone == 1 else f"{gone:,} pods"
    them = "it" if gone == 1 else "them"
    end = f"{pods} of {judged.title} {'is' if gone == 1 else 'are'} lost: nothing creates {them} anew"
    return judged.verdict(Cause.NOT_RECREATED, end, count=gone)


def _fewer_left(judged: _Workload) -> Verdict | None:
    for each in judged.outcome.survival:
        if not _takes_more(judged.outcome, each):
            continue
        outcome, word = judged.outcome, domain_word(each.topology_key)
        goes, went = outcome.after - each.left, outcome.before - (each.left_before or 0)
        end = (
            f"{goes:,} of {outcome.after:,} go with {word} {shown(each.fullest or '')} "
            f"({went:,} of {outcome.before:,} before)"
        )
        emptied = [
            value for value, count in (each.before or {}).items() if count and not each.after.get(value)
        ]
        sentences = judged.but(end)
        if len(emptied) == 1 and emptied[0] in each.after:
            sentences = [f"{judged.lead}, but {word} {shown(emptied[0])} gets none and {end}", *sentences]
        return judged.verdict(Cause.FEWER_LEFT, *sentences, count=goes)
    return None


def _takes_more(outcome: WorkloadOutcome, survival: Survival) -> bool:
    """Return whether the fullest domain takes a larger share of the pods than before, and leaves fewer."""
    if outcome.after < 2 or survival.left_before is None or survival.left >= survival.left_before:
        return False
    goes, went = outcome.after - survival.left, outcome.before - survival.left_before
    return goes * outcome.before > went * outcome.after


#: What is asked of each workload; what it finds is sorted by cause.
_LADDER: Final[Sequence[Callable[[_Workload], Verdict | None]]] = (
    _breaks,
    _refused,
    _down,
    _deadlock,
    _blocked,
    _below_budget,
    _pending,
    _waits_for_deletion,
    _interrupted,
    _not_read,
    _unfinished,
    _needs_nodes,
    _one_domain,
    _above_max_skew,
    _not_recreated,
    _fewer_left,
    _uneven,
)


def title_of(outcome: WorkloadOutcome) -> str:
    """Return a workload as a sentence names it: its namespace and name."""
    return f"{shown(outcome.ref.namespace)}/{shown(outcome.ref.name)}"


def shortest(*sentences: str) -> str:
    """Return the first of some sentences that is short enough, or else the last one, cut."""
    return next(
        (each for each in sentences if len(each) <= MOST_CHARACTERS), cut(sentences[-1], MOST_CHARACTERS)
    )
