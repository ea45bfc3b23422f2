"""All checks together."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from tests.webhook.doctor.installation import a_webhook, configurations, healthy, ours
from webhook.doctor.diagnosis import CHECKS, Diagnosis, diagnose
from webhook.doctor.facts import Endpoints, Facts, Known, Unknown
from webhook.doctor.finding import Status

URL = "https://cluster:6443"


def counts(diagnosis: Diagnosis) -> dict[str, int]:
    return {str(status): diagnosis.count(status) for status in Status if diagnosis.count(status)}


def test_a_healthy_installation() -> None:
    """Every check says that all is well, at least once."""
    diagnosis = diagnose(healthy(), URL)

    assert {"ok": len(diagnosis.findings)} == counts(diagnosis)
    assert {check.id for checks in CHECKS.values() for check in checks} == {
        finding.check for finding in diagnosis.findings
    }
    assert not diagnosis.blind


def test_ids_are_unique() -> None:
    """No two checks have a name."""
    ids = [check.id for checks in CHECKS.values() for check in checks]

    assert sorted(set(ids)) == sorted(ids)


def nothing(**changes: Any) -> Facts:
    """Return facts of a caller who may read nothing."""
    unknown = {
        entry.name: Unknown(f"may not {entry.name}")
        for entry in fields(Facts)
        if isinstance(getattr(healthy(), entry.name), Known)
    }
    return healthy(**{**unknown, "voices": {}, **changes})


def test_a_caller_who_may_nothing() -> None:
    """Every check is skipped, none fails."""
    diagnosis = diagnose(nothing(), URL)

    assert ["skipped"] == list(counts(diagnosis))
    assert diagnosis.blind


def test_pods_of_others_say_nothing_of_the_installation() -> None:
    """Who may only list pods somewhere has seen nothing of it."""
    diagnosis = diagnose(nothing(injection=healthy().injection), URL)

    assert 1 == diagnosis.count(Status.OK)
    assert diagnosis.blind


def test_a_release_that_nobody_knows_says_nothing_of_the_installation() -> None:
    """Everybody may ask for the cluster's release: a warning of it alone is no look at the installation."""
    diagnosis = diagnose(nothing(version=Known(KubernetesVersion(1, 37))), URL)

    assert ["skipped"] == list(counts(diagnosis))
    assert diagnosis.blind


def test_nothing_is_installed() -> None:
    """One problem, and none of what would follow from it."""
    facts = healthy(ours=Known(()), service=Known(value=False), workload=Known(None), replicas=Known(()))
    (finding,) = diagnose(facts, URL).findings

    assert ("installed", Status.PROBLEM) == (finding.check, finding.verdict.status)
    assert "helm upgrade --install" in finding.verdict.remedy


@pytest.mark.parametrize(
    "missing",
    [
        pytest.param({"ours": Known(())}, id="no webhooks"),
        pytest.param({"service": Known(value=False), "endpoints": Known(Endpoints(0, 0))}, id="no Service"),
        pytest.param({"workload": Known(None), "replicas": Known(())}, id="no Deployment"),
        pytest.param({"ours": configurations(a_webhook())}, id="one of two configurations"),
        pytest.param({"workload": Known(None), "replicas": Known(()), "voices": {}}, id="no replica"),
    ],
)
def test_parts_of_an_installation(missing: dict[str, Any]) -> None:
    """What lacks a part is told as such, and the rest is looked at."""
    diagnosis = diagnose(healthy(**missing), URL)

    assert diagnosis.count(Status.PROBLEM)
    assert diagnosis.count(Status.OK)
    assert "installed" not in {finding.check for finding in diagnosis.findings}


def test_the_worst_comes_first() -> None:
    """Groups stand by their worst finding, findings by their status inside."""
    findings = diagnose(healthy(ours=ours(ca_bundle=b"", timeout_s=20)), URL).findings
    ranks = [list(Status).index(finding.verdict.status) for finding in findings]
    groups = list(dict.fromkeys(finding.group for finding in findings))

    assert ["Certificates", "Timeouts"] == groups[:2]
    assert Status.PROBLEM is findings[0].verdict.status
    for group in groups:
        inside = [rank for rank, finding in zip(ranks, findings, strict=True) if finding.group == group]
        assert sorted(inside) == inside


def test_what_was_found_before_it_could_not_go_on() -> None:
    """A check that is skipped halfway keeps what it said."""
    facts = healthy(endpoints=Unknown("may not list endpoints"), version=Unknown("no"))
    found = {finding.check: finding.verdict for finding in diagnose(facts, URL).findings}

    assert Status.SKIPPED is found["service-endpoints"].status
    assert "may not list endpoints" == found["service-endpoints"].evidence
