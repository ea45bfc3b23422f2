"""The verdict on the whole: on all workloads that events change or hit, and on the loss of each domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from planning.simulation.judge import UPGRADED, rank, shortest, title_of
from planning.simulation.outcome import MOST_NAMES, Cause, Verdict, WorkloadOutcome
from planning.simulation.phrases import shown
from planning.simulation.release_diff import DiffKind
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.model.topology_keys import domain_word

#: Workloads that a sentence names.
_NAMED: Final = 2


def judge_all(workloads: Sequence[WorkloadOutcome], bound: Sequence[str] = ()) -> Verdict:
    """Return the verdict on all workloads that are changed, hit or asked for: the worst of theirs.

    Args:
        workloads: The workloads.
        bound: The pods that get a node; said only where no workload is changed or hit.
    """
    worst = sorted((each.verdict for each in workloads), key=rank)
    if not worst:
        sentence = "no workload is changed, and none loses a pod"
        if bound:
            names = listed(map(shown, bound), IN_PHRASE, between=" and ")
            sentence += f"; {names} that waited {'gets' if len(bound) == 1 else 'get'} a node"
        return Verdict(cause=Cause.FITS, sentence=sentence)
    cause = worst[0].cause
    alike = [each for each in sorted(workloads, key=lambda each: rank(each.verdict)) if _is_told(each, cause)]
    verdicts = [each.verdict for each in alike if each.verdict.cause is cause]
    merged = replace(
        verdicts[0],
        pods=tuple(chain.from_iterable(each.pods for each in verdicts))[:MOST_NAMES],
        count=sum(each.count for each in verdicts),
        needs=tuple(dict.fromkeys(chain.from_iterable(each.needs for each in verdicts))),
    )
    if len(alike) == 1:
        return merged
    if cause is Cause.FITS:
        return replace(merged, sentence=f"none of {len(alike):,} workloads lacks a pod")
    return replace(merged, sentence=shortest(*_about_several(alike)))


def judge_release(release: str, workloads: Sequence[WorkloadOutcome]) -> Verdict:
    """Return the verdict on another release of Kubernetes alone, of the workloads that differ under it."""
    broken = [each for each in workloads if each.next is not None and each.next.breaks]
    if broken:
        found = judge_all(broken)
        if len(broken) == 1:
            return found
        names = listed(map(title_of, broken), IN_PHRASE)
        several = f"with {release} {len(broken):,} workloads are refused, or their next pods fit no node"
        return replace(found, sentence=shortest(f"{several}: {names}", several))
    kinds = Counter(each.next.difference for each in workloads if each.next is not None)
    told = [f"{count:,} {UPGRADED[kind][count > 1]}" for kind in DiffKind if (count := kinds[kind])]
    fits = "still fits a node" if kinds[DiffKind.NODES] else "fits the same nodes"
    every = f"with {release} every next pod {fits}"
    if not told:
        return Verdict(cause=Cause.FITS, sentence=f"{every}, and is scored as before")
    return Verdict(cause=Cause.FITS, sentence=shortest(f"{every}; {', '.join(told)}", every))


def judge_losses(key: str, losses: Mapping[str, Sequence[WorkloadOutcome]]) -> Verdict:
    """Return the verdict on the loss of each domain of a key, one at a time: that of the worst.

    Args:
        key: The topology key.
        losses: What becomes of the workloads that each loss hits, by its domain.
    """
    verdicts = {domain: judge_all(workloads) for domain, workloads in losses.items()}
    if not verdicts:
        return Verdict(cause=Cause.FITS, sentence=f"there is no {domain_word(key)} to lose")
    worst = min(verdicts.values(), key=rank)
    by_value = {
        value: [domain for domain, verdict in verdicts.items() if verdict.value is value]
        for value in (False, None, True)
    }
    word = domain_word(key)
    if worst.value is False:
        sentences = _not_to_be_lost(word, by_value, losses)
    elif worst.value is None:
        names = _domains(word, by_value[None])
        sentences = [f"whether {names} may be lost is undecided: {worst.sentence}", worst.sentence]
    else:
        any_one = (
            f"any one {word} may be lost" if len(verdicts) > 1 else f"{_domains(word, verdicts)} may be lost"
        )
        hit = any(losses.values())
        sentences = [
            any_one + (": every workload has its pods again" if hit else ": no workload has pods there")
        ]
        if worst.cause is not Cause.FITS:
            sentences = [f"{any_one}; then {worst.sentence}", f"{any_one}, with warnings"]
    return replace(worst, sentence=shortest(*sentences))


#: What becomes of a workload, in a clause.
_CLAUSES: Final = {
    Cause.REFUSED: "is refused",
    Cause.DOWN: "is down",
    Cause.DEADLOCK: "does not roll out",
    Cause.BLOCKED: "blocks the eviction of its pods",
    Cause.BELOW_BUDGET: "stays below its budget",
    Cause.PENDING: "stays {count:,} short",
    Cause.WAITS_FOR_DELETION: "waits for deletions",
    Cause.INTERRUPTED: "stops",
    Cause.NOT_READ: "is undecided",
    Cause.NOT_TRIED: "is undecided",
    Cause.STOPPED: "is undecided",
    Cause.NEEDS_NODES: "needs new nodes",
    Cause.ONE_DOMAIN: "stops with one domain",
    Cause.ABOVE_MAX_SKEW: "is above maxSkew",
    Cause.NOT_RECREATED: "loses {count:,} for good",
    Cause.FEWER_LEFT: "loses more with its fullest domain than before",
    Cause.UNEVEN: "is uneven",
    Cause.FITS: "has its pods",
}


def _clause(outcome: WorkloadOutcome) -> str:
    verdict = outcome.verdict
    return f"{title_of(outcome)} {_CLAUSES[verdict.cause].format(count=verdict.count)}"


def _is_told(outcome: WorkloadOutcome, worst: Cause) -> bool:
    """Return whether a workload is named: with the worst cause, or all whose verdict is false if one is."""
    return outcome.verdict.cause is worst or (worst.holds is False and outcome.verdict.value is False)


def _about_several(workloads: Sequence[WorkloadOutcome]) -> Iterator[str]:
    """Yield sentences about several workloads, the worst first, each shorter than the one before."""
    rest = len(workloads) - 1
    yield f"{workloads[0].verdict.sentence}; {_clauses(workloads[1:])}"
    yield f"{workloads[0].verdict.sentence}; and {plural(rest, 'more workload')}"
    yield _clauses(workloads)
    yield f"{_clause(workloads[0])}, and {plural(rest, 'more workload')}"


def _clauses(workloads: Sequence[WorkloadOutcome]) -> str:
    named = [_clause(each) for each in workloads[:_NAMED]]
    rest = len(workloads) - len(named)
    return " and ".join(named) if not rest else f"{', '.join(named)} and {plural(rest, 'more workload')}"


def _not_to_be_lost(
    word: str, by_value: Mapping[bool | None, Sequence[str]], losses: Mapping[str, Sequence[WorkloadOutcome]]
) -> list[str]:
    """Return sentences about domains of which some may not be lost, each shorter than the one before."""
    bad = by_value[False]
    # What each workload suffers, with the domains with which it does.
    suffers, order = dict[str, list[str]](), dict[str, tuple[int, int]]()
    for domain in bad:
        for each in losses[domain]:
            if each.verdict.value is False:
                clause = _clause(each)
                suffers.setdefault(clause, []).append(domain)
                order[clause] = min(order.get(clause, rank(each.verdict)), rank(each.verdict))
    told = [
        clause if len(bad) == 1 else f"{clause} {_without(suffers[clause], bad)}"
        for clause in sorted(suffers, key=lambda clause: (order[clause], -len(suffers[clause]), clause))
    ]
    subject = f"{_domains(word, bad)} may not be lost"
    unknown, fine = by_value[None], by_value[True]
    end = f"; {_domains(word, unknown)} {'is' if len(unknown) == 1 else 'are'} undecided" if unknown else ""
    end += f"; {_domains(word, fine)} may" if fine else ""
    more = f", and {plural(len(told) - _NAMED, 'more workload')} suffer" if len(told) > _NAMED else ""
    both = ", and ".join(told[:_NAMED]) if not more else ", ".join(told[:_NAMED]) + more
    return [f"{subject}: {both}{end}", f"{subject}: {both}", f"{subject}: {told[0]}", subject]


def _without(domains: Sequence[str], bad: Sequence[str]) -> str:
    if len(domains) == len(bad):
        return "without either" if len(bad) == 2 else "without any of them"
    return f"with {listed(map(shown, domains), IN_PHRASE)}"


def _domains(word: str, values: Iterable[str]) -> str:
    """Return domains by name, as the subject of a sentence."""
    names = [shown(value) for value in values]
    if len(names) == 1:
        return f"{word} {names[0]}"
    if len(names) <= IN_PHRASE:
        return f"{word}s {', '.join(names[:-1])} and {names[-1]}"
    return f"{len(names):,} {word}s ({listed(names, IN_PHRASE)})"
