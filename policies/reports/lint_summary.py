"""What reports for people say of a run as a whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from policies.manifests.findings import Severity
from policies.manifests.sanitize import one_line
from policies.manifests.skipped import Skipped, SkipReason, SourceKind, in_groups, in_order
from policies.reports.lint_run import LintRun, plural

#: How many places of what was skipped for one reason are named.
MAX_PLACES: Final = 3
#: How many things that would have to be downloaded are named.
MAX_NEEDS: Final = 10


def counts(run: LintRun) -> dict[Severity, str]:
    """Return how many findings of each severity there are, as words; severities without any are left out."""
    numbers = {severity: run.count(severity) for severity in Severity}
    return {severity: plural(number, severity) for severity, number in numbers.items() if number}


def checked_inputs(run: LintRun) -> str:
    """Return how many inputs were checked."""
    return f"{plural(len(run.files), 'file')}, {plural(run.result.workloads, 'workload')}"


def skipped_count(run: LintRun) -> str:
    """Return how much was skipped, as the end of a sentence; empty if nothing was."""
    # A chart may be skipped in several of its releases.
    skipped = [each for each in run.skipped if each.reason is not SkipReason.GIT_IGNORED]
    numbers = Counter(kind for kind, _, _ in {(each.kind, each.location, each.title) for each in skipped})
    words = [_number(numbers[kind], kind) for kind in SourceKind if numbers[kind]]
    if not words:
        return ""
    verb = "was" if sum(numbers.values()) == 1 else "were"
    return f"{' and '.join(filter(None, (', '.join(words[:-1]), words[-1])))} {verb} skipped"


def skipped_groups(run: LintRun) -> Iterator[tuple[Severity, str, str]]:
    """Yield for each reason how bad it is, where something was skipped, and what and why."""
    for group in in_groups(run.skipped):
        places = list(dict.fromkeys(one_line(str(entry.location)) for entry in group))
        yield run.severity_of(group[0]), _first(places, MAX_PLACES), one_line(skipped_message(group))


def skipped_message(group: Sequence[Skipped]) -> str:
    """Return what a group is that was skipped for one reason, and why."""
    first = group[0]
    what = plural(len(group), first.kind) if len(group) > 1 else first.title or first.kind
    needs = [need for need, _ in Counter(need for entry in group for need in entry.needs).most_common()]
    verb = "skipped in part" if first.is_partial else "skipped"
    return f"{what} {verb}: {': '.join(filter(None, (first.message, _first(needs, MAX_NEEDS))))}"


def skipped_entries(run: LintRun) -> Iterator[tuple[Severity, Skipped]]:
    """Yield how bad each thing is that was skipped, and the thing."""
    for entry in in_order(run.skipped):
        yield run.severity_of(entry), entry


def asides(run: LintRun, *, verbose: bool = False) -> Iterator[str]:
    """Yield what was left out and why: findings, and rules that did not run, which only ``verbose`` names."""
    if run.hidden:
        yield f"{plural(len(run.hidden), 'finding')} hidden by --min-severity"
    by_policy = sum(entry.by_policy for entry in run.result.suppressed)
    if annotated := len(run.result.suppressed) - by_policy:
        yield f"{plural(annotated, 'finding')} exempted by evenkeel.dev/ignore"
    if by_policy:
        yield f"{plural(by_policy, 'finding')} exempted by exceptions of policies"
    if run.known:
        yield f"{plural(run.known, 'finding')} left out that the baseline holds"
    if custom := run.result.custom_resources:
        yield (
            f"{plural(custom, 'custom resource')} with constraints: only the API's rules were run, "
            "since controllers make the pods"
        )
    rules = defaultdict(list)
    for rule, why in sorted(run.result.skipped.items()):
        rules[why].append(rule)
    for why, skipped in rules.items():
        named = f": {', '.join(skipped)}" if verbose else ""
        yield f"{plural(len(skipped), 'rule')} not run: {one_line(why)}{named}"


def _number(count: int, kind: SourceKind) -> str:
    return str(kind) if kind is SourceKind.STDIN else plural(count, kind)


def _first(texts: Sequence[str], most: int) -> str:
    """Return the first of some texts, and how many more there are.

    >>> _first(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{rest}"
