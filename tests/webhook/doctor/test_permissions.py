"""The rights of the ServiceAccounts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.webhook.doctor.installation import Change, diagnosis, found, observations, wording
from webhook.doctor.permissions import CLIENT, CLIENT_EXCESSIVE, EXCESSIVE, LIVE, review_attributes
from webhook.kube.watched_resources import WATCHED_RESOURCES
from webhook.rbac import GROUP


def granted(account: str, *permissions: str) -> Change:
    return lambda cluster: cluster.granted.update((account, permission) for permission in permissions)


def revoked(account: str, *permissions: str) -> Change:
    return lambda cluster: cluster.granted.difference_update((account, each) for each in permissions)


CASES = [
    pytest.param(
        revoked("evenkeel", *LIVE[:2]), {("permissions-needed", "problem")}, id="namespaces are not granted"
    ),
    pytest.param(
        revoked("evenkeel", *LIVE),
        {("permissions-needed", "problem"), ("permissions-needed", "warning")},
        id="--live is not granted",
    ),
    pytest.param(
        revoked("evenkeel", "watch csinodes.storage.k8s.io"),
        {("permissions-needed", "warning")},
        id="an optional kind is not granted",
    ),
    pytest.param(
        revoked("evenkeel", "update secrets/evenkeel-tls in evenkeel"),
        {("permissions-needed", "problem")},
        id="the Secret is not granted",
    ),
    pytest.param(
        revoked("evenkeel", "patch spreadpolicies.evenkeel.dev --subresource=status"),
        {("permissions-needed", "problem")},
        id="the status of policies is not granted",
    ),
    pytest.param(
        granted("evenkeel", *EXCESSIVE), {("permissions-excessive", "warning")}, id="everything is granted"
    ),
    pytest.param(
        revoked("evenkeel-client", CLIENT[0]), {("permissions-client", "warning")}, id="callers lack 1"
    ),
    pytest.param(
        granted("evenkeel-client", "get /metrics", "list pods"),
        {("permissions-client", "warning")},
        id="callers have too much",
    ),
    pytest.param(
        lambda cluster: cluster.set_arguments("--live", "--access=open", "--skew-metrics=9", "--skew-events"),
        {("permissions-needed", "problem")},
        id="skew is measured and nothing granted for it",
    ),
    pytest.param(
        lambda cluster: cluster.set_arguments("--live", "--access=open", "--skew-metrics=0"),
        set(),
        id="skew is not measured",
    ),
    pytest.param(
        lambda cluster: cluster.set_arguments("--live", "--cert-secret=evenkeel-tls", "--access=open"),
        set(),
        id="callers are not authorized",
    ),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_findings(change: Change, expected: set[tuple[str, str]]) -> None:
    """Problems are reported, and nothing else."""
    assert expected == set(found(diagnosis(change)))


def test_wording(golden: Callable[[str, str], str]) -> None:
    """Each case reads as agreed."""
    text = wording(CASES)

    assert golden("permissions.txt", text) == text


@pytest.mark.parametrize(
    ("account", "permissions", "check"),
    [
        *(pytest.param("evenkeel", each, "permissions-excessive", id=each) for each in EXCESSIVE),
        *(
            pytest.param("evenkeel-client", each, "permissions-client", id=f"callers: {each}")
            for each in CLIENT_EXCESSIVE
        ),
    ],
)
def test_each_is_too_much(account: str, permissions: str, check: str) -> None:
    """Each permission that is too much is a warning."""
    assert [(check, "warning")] == found(diagnosis(granted(account, permissions)))


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        pytest.param(["--live"], 2 * len(WATCHED_RESOURCES) + 11, id="--live: to follow and to authorize"),
        pytest.param(["--cert-secret=evenkeel-tls"], 8 + 7, id="--cert-secret: what it renews"),
        pytest.param(["--policy-status"], 3 + 7, id="--policy-status: what it writes"),
        pytest.param(["--cert-dir=/tls"], 7, id="neither: only what is too much"),
    ],
)
def test_what_settings_need(arguments: list[str], count: int) -> None:
    """The account is reviewed for what the replicas' settings need."""
    observed = observations(lambda cluster: cluster.set_arguments(*arguments))

    assert count == len(observed.permissions.get())


def test_callers_need_what_no_api_server_has() -> None:
    """Their permissions are on resources of Evenkeel's own group, never on paths."""
    reviews = [review_attributes(permission) for permission in CLIENT]

    assert {GROUP} == {review["resourceAttributes"]["group"] for review in reviews}


@pytest.mark.parametrize(
    ("permission", "expected"),
    [
        pytest.param(
            "list pods", {"resourceAttributes": {"verb": "list", "resource": "pods"}}, id="core group"
        ),
        pytest.param(
            "* *.*", {"resourceAttributes": {"verb": "*", "resource": "*", "group": "*"}}, id="everything"
        ),
        pytest.param(
            "get secrets/tls in ops",
            {"resourceAttributes": {"verb": "get", "resource": "secrets", "name": "tls", "namespace": "ops"}},
            id="one object",
        ),
        pytest.param(
            "patch pods --subresource=status",
            {"resourceAttributes": {"verb": "patch", "resource": "pods", "subresource": "status"}},
            id="a subresource",
        ),
        pytest.param(
            "get /metrics", {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, id="a path"
        ),
    ],
)
def test_reviews(permission: str, expected: dict[str, dict[str, str]]) -> None:
    """A review is of exactly what the text of a permission says."""
    assert expected == review_attributes(permission)
