"""All checks together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.webhook.doctor.installation import (
    CONFIGURATIONS,
    CORE,
    DEPLOYMENT,
    MUTATING,
    SERVICE,
    Change,
    Cluster,
    diagnosis,
    found,
    lines,
    with_policies,
)
from webhook.doctor.diagnosis import GROUPS
from webhook.doctor.observations import CheckStatus


def without(*paths: str) -> Change:
    return lambda cluster: [cluster.objects.pop(path) for path in paths]


PODS = (f"{CORE}/pods/evenkeel-1", f"{CORE}/pods/evenkeel-2")
EVERYTHING = (*CONFIGURATIONS.values(), SERVICE, DEPLOYMENT, *PODS)


def test_every_check_reports() -> None:
    """Every check of a healthy installation says that all is in order, at least once."""
    diagnosed = diagnosis(with_policies("Ignore"))

    assert [check for checks in GROUPS.values() for check in checks] == list(
        dict.fromkeys(result.check for result in diagnosed.results)
    )
    assert diagnosed.count(CheckStatus.OK) == len(diagnosed.results)
    assert not diagnosed.blind


def test_ids_are_unique() -> None:
    """No two checks have the same id."""
    ids = [check for checks in GROUPS.values() for check in checks]

    assert sorted(set(ids)) == sorted(ids)


def test_nothing_is_installed(golden: Callable[[str, str], str]) -> None:
    """There is one problem, and none of what would follow from it."""
    results = diagnosis(without(*EVERYTHING)).results
    text = lines(results)

    assert [("installed", CheckStatus.PROBLEM)] == [(result.check, result.status) for result in results]
    assert golden("installed.txt", text) == text


@pytest.mark.parametrize("left", EVERYTHING[:-2], ids=lambda path: path.rpartition("/")[0].rpartition("/")[2])
def test_parts_of_an_installation(left: str) -> None:
    """Where one part is left, the others are problems, and checks go on."""
    diagnosed = diagnosis(without(*(path for path in EVERYTHING if path != left)))

    assert "installed" not in {result.check for result in diagnosed.results}
    assert diagnosed.count(CheckStatus.PROBLEM)


def only_pods_of_others(cluster: Cluster) -> None:
    cluster.forbidden = lambda path: path != "/api/v1/pods"


def only_the_version(cluster: Cluster) -> None:
    cluster.forbidden = lambda path: path != "/version"
    cluster.objects["/version"] = {"gitVersion": "v1.37.0"}


@pytest.mark.parametrize("change", [only_pods_of_others, only_the_version])
def test_a_caller_who_sees_nothing_of_the_installation(change: Change) -> None:
    """Everyone's pods and the cluster's version say nothing about it."""
    assert diagnosis(change).blind


def test_the_worst_comes_first() -> None:
    """Groups stand by their worst result, results by their status inside."""

    def change(cluster: Cluster) -> None:
        cluster.set_webhooks(timeoutSeconds=20)
        cluster.webhook(MUTATING)["clientConfig"]["caBundle"] = ""

    results = diagnosis(change).results
    groups = list(dict.fromkeys(result.group for result in results))

    assert ["Certificates", "Webhooks", "Service"] == groups[:3]
    for group in groups:
        ranks = [list(CheckStatus).index(result.status) for result in results if result.group == group]
        assert sorted(ranks) == ranks


def test_a_check_that_cannot_go_on_keeps_what_it_found() -> None:
    """Results that a check reported before something was missing are kept."""

    def change(cluster: Cluster) -> None:
        cluster.objects.pop(CONFIGURATIONS[MUTATING])
        cluster.objects.pop(CONFIGURATIONS["ValidatingWebhookConfiguration"])

    results = [result for result in diagnosis(change).results if result.check == "certificate-trusted"]

    assert {("certificate-trusted", "skipped")} == {
        pair for pair in found(diagnosis(change)) if "trusted" in pair[0]
    }
    assert [CheckStatus.SKIPPED, CheckStatus.OK] == [result.status for result in results]
