"""What reports for people say of a run as a whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from policies.findings import Severity
from policies.reports.lint_run import LintRun, plural
from policies.reports.printable import one_line


def counts(run: LintRun) -> dict[Severity, str]:
    """Return how many findings of each severity there are, as words; severities without any are left out."""
    numbers = {severity: run.count(severity) for severity in Severity}
    return {severity: plural(number, severity) for severity, number in numbers.items() if number}


def looked_at(run: LintRun) -> str:
    """Return how much was looked at."""
    return f"{plural(len(run.files), 'file')}, {plural(run.result.workloads, 'workload')}"


def asides(run: LintRun, *, verbose: bool = False) -> Iterator[str]:
    """Yield what was left out and why: findings, and rules that did not run, which only ``verbose`` names."""
    if run.hidden:
        yield f"{plural(len(run.hidden), 'finding')} hidden by --min-severity"
    if run.result.suppressed:
        yield f"{plural(len(run.result.suppressed), 'finding')} exempted by evenkeel.dev/ignore"
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
