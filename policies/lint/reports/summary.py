"""The summary of a run in reports for users."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from policies.lint.exemptions import SuppressedBy
from policies.lint.reports.run import LintRun
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.skipped import PARTLY_READ, Skipped, SourceKind, in_groups
from policies.manifests.words import IN_PHRASE, IN_SENTENCE, listed, plural

#: How many causes are shown for which something was skipped; GitHub shows ten annotations of a kind.
MAX_GROUPS: Final = 10


def _as_warning(_entry: Skipped) -> Severity:
    return Severity.WARNING


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
    skipped = [each for each in run.skipped if each.reason not in PARTLY_READ]
    numbers = Counter(kind for kind, _, _ in {(each.kind, each.location, each.title) for each in skipped})
    words = [_number(numbers[kind], kind) for kind in SourceKind if numbers[kind]]
    if not words:
        return ""
    verb = "was" if sum(numbers.values()) == 1 else "were"
    return f"{' and '.join(filter(None, (', '.join(words[:-1]), words[-1])))} {verb} skipped"


@dataclass(frozen=True, slots=True)
class SkippedGroup:
    """The sources that were skipped for one cause, as every report but JSON shows them."""

    severity: Severity  #: How bad it is.
    entries: Sequence[Skipped]  #: What was skipped, the first place first.
    message: str  #: What it is, why it was skipped, and what to do about it.

    @property
    def location(self) -> Location:
        """The first place."""
        return self.entries[0].location

    @property
    def places(self) -> str:
        """The first places, and how many more there are."""
        places = dict.fromkeys(one_line(str(entry.location)) for entry in self.entries)
        return listed(places, IN_PHRASE)


def skipped_groups(
    skipped: Iterable[Skipped], severity_of: Callable[[Skipped], Severity] = _as_warning
) -> list[SkippedGroup]:
    """Return the causes for which something was skipped, the worst and the most frequent first.

    What is beyond ``MAX_GROUPS`` is one group at the end.

    Args:
        skipped: What was skipped.
        severity_of: Returns how bad it is.
    """
    groups = [(severity_of(group[0]), group) for group in in_groups(skipped)]
    groups.sort(key=lambda each: (each[0].rank, -len(each[1])))
    told = [SkippedGroup(severity, group, skipped_message(group)) for severity, group in groups[:MAX_GROUPS]]
    if rest := groups[MAX_GROUPS:]:
        entries = [entry for _, group in rest for entry in group]
        text = f"{len(entries):,} more skipped for {plural(len(rest), 'other cause')}; JSON lists all"
        told.append(SkippedGroup(rest[0][0], entries, text))
    return told


def skipped_message(group: Sequence[Skipped]) -> str:
    """Return the message on sources that were skipped for one cause: which, why, and what to do."""
    first = group[0]
    what = plural(len(group), first.kind) if len(group) > 1 else first.title or first.kind
    needs = [need for need, _ in Counter(need for entry in group for need in entry.needs).most_common()]
    verb = "skipped in part" if first.is_partial else "skipped"
    why = ": ".join(filter(None, (first.message, listed(needs, IN_SENTENCE))))
    if len({entry.message for entry in group}) > 1:
        verb += ", the first as"
    return f"{what} {verb}: {'; '.join(filter(None, (why, first.suggestion)))}"


def asides(run: LintRun, *, verbose: bool = False) -> Iterator[str]:
    """Yield notes on findings that were left out, and on rules that did not run; ``verbose`` names those."""
    if repeating := bundles(run.result.findings):
        number = plural(sum(repeating.values()), "finding")
        yield (
            f"{number} repeated from other files in {listed(repeating, IN_PHRASE)}: "
            "exclude in evenkeel.yaml what is generated"
        )
    if run.hidden:
        yield f"{plural(len(run.hidden), 'finding')} hidden by --min-severity"
    suppressed = Counter(entry.by for entry in run.result.suppressed)
    for by in SuppressedBy:
        if suppressed[by]:
            yield f"{plural(suppressed[by], 'finding')} {by}"
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


def overlays(finding: Finding) -> str:
    """Return which overlays have a finding; empty where its file alone says it.

    >>> from dataclasses import replace
    >>> from policies.manifests.fields import FieldPath
    >>> from policies.manifests.findings import Build, Location, Severity
    >>> build = Build("prod/kustomization.yaml", "Pod web", FieldPath(), "is odd")
    >>> where = Location("base/web.yaml", 3)
    >>> finding = Finding(Severity.NOTE, where, FieldPath(), "is odd", "odd", builds=(build,))
    >>> overlays(replace(finding, used_in_builds=2))
    'in 1 of the 2 overlays that use this file: prod'
    """
    names = list(dict.fromkeys(_folder(build.file) for build in finding.builds))
    count = len(names)
    if not names or (
        count == 1 == max(finding.used_in_builds, 1) and names[0] == _folder(finding.location.file)
    ):
        return ""
    first = listed(names, IN_PHRASE)
    if count < finding.used_in_builds:
        return f"in {count} of the {finding.used_in_builds} overlays that use this file: {first}"
    return f"in overlay {first}" if count == 1 else f"in {count} overlays: {first}"


def message(finding: Finding) -> str:
    """Return the message of a finding, with the overlays that have it."""
    told = overlays(finding)
    return f"{finding.message} ({told})" if told else finding.message


def _folder(file: str) -> str:
    return file.rpartition("/")[0] or "."


_Said: TypeAlias = tuple[str, str, FieldPath, str]


def bundles(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the files each of whose findings a smaller file has, too, with how many each has.

    Copies of one file by hand have as many findings as it has; what was put together from several has more
    than any of them.

    Args:
        findings: The findings of a run.
    """
    by_file: dict[str, list[_Said]] = defaultdict(list)
    for finding in findings:
        said = finding.rule, finding.title, finding.path, finding.message
        by_file[finding.location.file].append(said)
    least: dict[_Said, int] = {}
    for said_there in by_file.values():
        for said in said_there:
            least[said] = min(len(said_there), least.get(said, len(said_there)))
    return {
        file: len(said_there)
        for file, said_there in by_file.items()
        if all(least[said] < len(said_there) for said in said_there)
    }
