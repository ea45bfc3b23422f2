"""Every check, and what asking them all comes to. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from webhook.doctor import (
    certificates,
    exclusions,
    injection,
    permissions,
    reach,
    registration,
    replicas,
    timeouts,
)
from webhook.doctor.facts import Facts, Known, UnknownError
from webhook.doctor.finding import Check, Finding, Status, Verdict, problem

#: The heading of what is asked of everybody's pods.
_OTHERS: Final = "Injection"
#: The checks by the heading under which a report tells them.
CHECKS: Final[dict[str, tuple[Check, ...]]] = {
    "Webhooks": registration.CHECKS,
    "Deadlocks": exclusions.CHECKS,
    "Timeouts": timeouts.CHECKS,
    "Certificates": certificates.CHECKS,
    "Replicas": (*reach.CHECKS, *replicas.CHECKS),
    "Permissions": permissions.CHECKS,
    _OTHERS: injection.CHECKS,
}
#: The check that comes first: without an installation, no other is asked.
INSTALLED: Final = "installed"
_ORDER: Final = list(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What was found, and where.

    Attributes:
        facts: What was judged.
        url: The API server's.
        findings: Group by group, the worst first, both among groups and inside.
    """

    facts: Facts
    url: str
    findings: tuple[Finding, ...]

    def count(self, status: Status) -> int:
        """Return how many findings came out so."""
        return sum(finding.verdict.status is status for finding in self.findings)

    @property
    def blind(self) -> bool:
        """Whether nothing of the installation could be looked at; pods of others say nothing of it."""
        return all(
            finding.verdict.status is Status.SKIPPED for finding in self.findings if finding.group != _OTHERS
        )


def diagnose(facts: Facts, url: str) -> Diagnosis:
    """Ask every check, or only say that nothing is installed."""
    missing = _not_installed(facts)
    found = [Finding("Installation", INSTALLED, missing)] if missing else list(_ask_all(facts))
    worst: dict[str, int] = {}
    for finding in found:
        rank = _rank(finding)
        worst[finding.group] = min(rank, worst.get(finding.group, rank))
    findings = sorted(found, key=lambda finding: (worst[finding.group], _position(finding), _rank(finding)))
    return Diagnosis(facts=facts, url=url, findings=tuple(findings))


def _not_installed(facts: Facts) -> Verdict | None:
    """Return that nothing of an installation is there; None if something is, or may be."""
    if facts.ours != Known(()) or facts.service != Known(value=False) or facts.workload != Known(None):
        return None
    names = facts.names
    return problem(
        f"Evenkeel is not installed: namespace {names.namespace} has no Service {names.service}, "
        f"and no webhook configuration is called {names.webhooks}",
        f"{facts.install()} --create-namespace, or name the installation with -n, --service and --webhooks",
    )


def _ask_all(facts: Facts) -> Iterator[Finding]:
    for group, checks in CHECKS.items():
        for check in checks:
            yield from (Finding(group, check.id, verdict) for verdict in _verdicts(check, facts))


def _verdicts(check: Check, facts: Facts) -> Iterator[Verdict]:
    """Yield what a check says, and what it could not look at: both, if it says something first."""
    try:
        yield from check.ask(facts)
    except UnknownError as error:
        yield Verdict(Status.SKIPPED, str(error))


def _rank(finding: Finding) -> int:
    return _ORDER.index(finding.verdict.status)


def _position(finding: Finding) -> int:
    groups = list(CHECKS)
    return groups.index(finding.group) if finding.group in groups else -1
