"""A diagnosis for people and for programs: the same results, as lines or as JSON (``doctor.schema.json``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import click
import orjson

from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from webhook.doctor.check_result import CheckResult, CheckStatus
from webhook.doctor.diagnosis import Diagnosis
from webhook.doctor.observations import Observed

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


def render_json(diagnosis: Diagnosis) -> str:
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
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


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
