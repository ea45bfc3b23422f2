"""Runs every check. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from webhook.doctor import certificates, permissions, registration, replicas
from webhook.doctor.check_result import CheckResult, CheckStatus, problem, skipped
from webhook.doctor.observations import MissingError, Observations, Observed

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The results of the checks.

    Attributes:
        observed: What they checked.
        url: The API server's.
        results: Group by group, the worst first, among groups and inside each.
    """

    observed: Observations
    url: str
    results: tuple[CheckResult, ...]

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
    found = list(_installed(observed)) or list(_run_all(observed))
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
            f"{observed.install} --create-namespace, or give its names by -n, --service and --webhooks",
        )
        yield replace(result, group="Installation", check=INSTALLED)


def _run_all(observed: Observations) -> Iterator[CheckResult]:
    for group, checks in GROUPS.items():
        for check, run in checks.items():
            yield from (replace(result, group=group, check=check) for result in _run(run, observed))


def _run(check: Check, observed: Observations) -> Iterator[CheckResult]:
    """Yield the results of a check, and the reason why it could not go on, if it could not."""
    try:
        yield from check(observed)
    except MissingError as error:
        yield skipped(str(error))
