"""Runs every check, and renders the results as lines for people or as JSON (``doctor.schema.json``). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import click
import orjson

from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from webhook.doctor import certificates, permissions, registration, replicas
from webhook.doctor.observations import (
    CheckResult,
    CheckStatus,
    MissingError,
    Observations,
    Observed,
    problem,
    skipped,
)

#: A check yields what it finds; MissingError skips it, or the rest of it.
Check = Callable[[Observations], Iterator[CheckResult]]

#: The group of the check on everyone's pods.
_INJECTION: Final = "Injection"
#: Every check by its id, in the groups of a report.
GROUPS: Final[Mapping[str, Mapping[str, Check]]] = {
    "Webhooks": registration.CHECKS,
    "Certificates": certificates.CHECKS,
    "Service": replicas.SERVICE_CHECKS,
    "Replicas": replicas.CHECKS,
    "Permissions": permissions.CHECKS,
    _INJECTION: registration.INJECTION_CHECKS,
}
#: The check that runs first: without an installation no other does.
INSTALLED: Final = "installed"
_WORST_FIRST: Final = list(CheckStatus)
#: The form of the JSON; its number changes when a field is renamed, removed or means something else.
SCHEMA: Final = "evenkeel.dev/doctor/v1"
_COLORS: Final = {
    CheckStatus.PROBLEM: "red",
    CheckStatus.WARNING: "yellow",
    CheckStatus.SKIPPED: "cyan",
    CheckStatus.OK: "green",
}
#: Columns of a status.
_WIDTH: Final = max(map(len, CheckStatus))


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The results of the checks."""

    observed: Observations  #: What they checked.
    url: str  #: The API server's.
    results: tuple[CheckResult, ...]  #: Group by group, the worst first, among groups and inside each.

    def count(self, status: CheckStatus) -> int:
        """Return how many results have a status."""
        return sum(result.status is status for result in self.results)

    @property
    def blind(self) -> bool:
        """Whether nothing of the installation could be read; everyone's pods say nothing about it."""
        own = [result for result in self.results if result.group != _INJECTION]
        return all(result.status is CheckStatus.SKIPPED for result in own)


def diagnose(observed: Observations, url: str) -> Diagnosis:
    """Run every check, or only report that nothing is installed."""
    found = list(_installed(observed)) or [
        replace(result, group=group, check=check)
        for group, checks in GROUPS.items()
        for check, run in checks.items()
        for result in _run(run, observed)
    ]
    worst: dict[str, int] = {}
    for result in found:
        rank = _WORST_FIRST.index(result.status)
        worst[result.group] = min(rank, worst.get(result.group, rank))
    order = ["Installation", *GROUPS]
    results = sorted(
        found,
        key=lambda each: (worst[each.group], order.index(each.group), _WORST_FIRST.index(each.status)),
    )
    return Diagnosis(observed=observed, url=url, results=tuple(results))


def _installed(observed: Observations) -> Iterator[CheckResult]:
    """Yield that nothing of an installation exists; nothing if something does, or may."""
    names, webhooks = observed.names, observed.webhooks
    unregistered = isinstance(webhooks, Observed) and not any(
        found is not None for found in webhooks.value.values()
    )
    if unregistered and observed.service == Observed(None) and observed.deployment == Observed(None):
        result = problem(
            f"Evenkeel is not installed: namespace {names.namespace} has no Service and no Deployment "
            f"{names.service}, and there is no webhook configuration {names.webhooks}",
            f"{observed.install} --create-namespace --set image.repository=IMAGE, "
            "or give its names by -n, --service and --webhooks",
        )
        yield replace(result, group="Installation", check=INSTALLED)


def _run(check: Check, observed: Observations) -> Iterator[CheckResult]:
    """Yield the results of a check, and the reason why it could not go on, if it could not."""
    try:
        yield from check(observed)
    except MissingError as error:
        yield skipped(str(error))


def render_json(diagnosis: Diagnosis) -> bytes:
    """Return the diagnosis as indented JSON."""
    observed = diagnosis.observed
    report = {
        "schema": SCHEMA,
        "tool": {"name": "evenkeel", "version": observed.tool_version},
        "server": diagnosis.url,
        "kubernetesVersion": _version(diagnosis),
        "namespace": observed.names.namespace,
        "service": observed.names.service,
        "webhooks": observed.names.webhooks,
        "summary": {
            "problems": diagnosis.count(CheckStatus.PROBLEM),
            "warnings": diagnosis.count(CheckStatus.WARNING),
            "skipped": diagnosis.count(CheckStatus.SKIPPED),
            "ok": diagnosis.count(CheckStatus.OK),
        },
        "findings": diagnosis.results,
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _version(diagnosis: Diagnosis) -> str | None:
    version = diagnosis.observed.kubernetes_version
    return str(version.value) if isinstance(version, Observed) else None


def render_text(diagnosis: Diagnosis) -> str:
    """Return a line for each result, what to do below it, and a summary; styled for a terminal."""
    return "".join(f"{line}\n" for line in _lines(diagnosis))


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    version = _version(diagnosis)
    release = f" (Kubernetes {version})" if version else ""
    namespace = one_line(diagnosis.observed.names.namespace)
    yield f"Evenkeel in namespace {namespace} of {one_line(diagnosis.url)}{release}"
    for group, results in groupby(diagnosis.results, key=lambda result: result.group):
        yield f"\n{click.style(group, bold=True)}"
        for alike in _alike(results):
            yield from _result(alike)
    yield f"\n{_summary(diagnosis)}"


def _alike(results: Iterable[CheckResult]) -> Iterator[list[CheckResult]]:
    """Yield results one by one, but together those that were skipped for the same reason."""
    together: dict[object, list[CheckResult]] = {}
    for result in results:
        skipped = result.status is CheckStatus.SKIPPED
        together.setdefault(result.evidence if skipped else len(together), []).append(result)
    yield from together.values()


def _result(alike: list[CheckResult]) -> Iterator[str]:
    result = alike[0]
    checks = ", ".join(dict.fromkeys(each.check for each in alike))
    bold = result.status is CheckStatus.PROBLEM or None
    status = click.style(f"{result.status:<{_WIDTH}}", fg=_COLORS[result.status], bold=bold)
    yield f"  {status}  {checks}: {one_line(result.evidence)}"
    if result.suggestion:
        yield f"  {'':{_WIDTH}}  {click.style('do:', bold=True)} {one_line(result.suggestion)}"


def _summary(diagnosis: Diagnosis) -> str:
    counts = {status: diagnosis.count(status) for status in CheckStatus}
    problems, warnings = counts[CheckStatus.PROBLEM], counts[CheckStatus.WARNING]
    skipped = counts[CheckStatus.SKIPPED]
    if diagnosis.blind:
        text = f"Nothing of the installation could be read: {plural(skipped, 'check')} skipped"
        return click.style(text, fg="red", bold=True)
    parts = [
        click.style(plural(problems, "problem"), fg="red", bold=True)
        if problems
        else click.style("No problems", fg="green"),
        click.style(plural(warnings, "warning"), fg="yellow") if warnings else "",
        f"{counts[CheckStatus.OK]} ok",
        click.style(f"{skipped} skipped", fg="cyan") if skipped else "",
    ]
    return ", ".join(filter(None, parts))
