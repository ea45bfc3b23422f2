"""Whether the API server will trust what is served."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.certs.builders import CA, DAY, NOW, a_pair
from tests.webhook.doctor.installation import (
    CONFIGURATIONS,
    SECRET,
    SERVING,
    STRANGER,
    Change,
    Cluster,
    diagnosis,
    encoded,
    found,
    wording,
)
from webhook.cli import certs

BUNDLE, LATE_BUNDLE = ("ca-bundle", "problem"), ("ca-bundle", "warning")
UNTRUSTED, LATE = ("certificate-trusted", "problem"), ("certificate-trusted", "warning")
NO_NAME = ("certificate-names", "skipped")
#: How long the CA of the tests is valid.
LIFE = CA.not_after - CA.not_before


def bundle(pem: bytes) -> Change:
    """Put this into all caBundles."""

    def change(cluster: Cluster) -> None:
        for path in CONFIGURATIONS.values():
            for webhook in cluster.objects[path]["webhooks"]:
                webhook["clientConfig"]["caBundle"] = encoded(pem)

    return change


def served(pem: bytes | None) -> Change:
    """Put this into the Secret."""
    data = None if pem is None else {"tls.crt": encoded(pem)}
    return lambda cluster: cluster.objects.update({SECRET: {"data": data}})


def at(**left: float) -> Change:
    """Let the API server's clock be some time before the end of the serving certificate."""
    return lambda cluster: setattr(cluster, "now", SERVING.not_after - timedelta(**left))


CASES = [
    pytest.param(
        bundle(CA.certificate_pem + STRANGER.certificate_pem), set(), id="two CAs, as in a rotation"
    ),
    pytest.param(bundle(b""), {BUNDLE}, id="caBundle is empty"),
    pytest.param(bundle(b"CA_BUNDLE"), {BUNDLE}, id="caBundle is a placeholder"),
    pytest.param(bundle(SERVING.certificate_pem), {BUNDLE}, id="caBundle holds the serving certificate"),
    pytest.param(bundle(STRANGER.certificate_pem), {UNTRUSTED}, id="caBundle holds another CA"),
    pytest.param(
        lambda cluster: setattr(cluster, "now", CA.not_after + DAY),
        {BUNDLE, UNTRUSTED},
        id="CA expired",
    ),
    pytest.param(
        lambda cluster: setattr(cluster, "now", CA.not_after - 0.2 * LIFE),
        {LATE_BUNDLE, UNTRUSTED},
        id="CA has a fifth of its life left",
    ),
    pytest.param(at(days=200), set(), id="200 of 365 days left"),
    pytest.param(at(days=92), set(), id="92 days left: a quarter"),
    pytest.param(at(days=91), {LATE}, id="91 days left: less than a quarter"),
    pytest.param(at(days=-1), {UNTRUSTED}, id="certificate expired"),
    pytest.param(
        lambda cluster: setattr(cluster, "now", SERVING.not_before - timedelta(minutes=1)),
        {BUNDLE, UNTRUSTED},
        id="not valid yet",
    ),
    pytest.param(lambda cluster: cluster.objects.pop(SECRET), {UNTRUSTED, NO_NAME}, id="no Secret"),
    pytest.param(served(None), {UNTRUSTED, NO_NAME}, id="Secret without data"),
    pytest.param(served(b"x"), {UNTRUSTED, NO_NAME}, id="Secret with rubbish"),
    pytest.param(served(a_pair("*.evenkeel.svc", lifetime=90 * DAY).certificate_pem), set(), id="a wildcard"),
    pytest.param(
        served(a_pair("evenkeel.ops.svc", "evenkeel", lifetime=90 * DAY).certificate_pem),
        {("certificate-names", "problem")},
        id="certificate for another namespace",
    ),
    pytest.param(
        served(a_pair("192.0.2.1", lifetime=90 * DAY).certificate_pem),
        {("certificate-names", "problem")},
        id="certificate for an address",
    ),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_findings(change: Change, expected: set[tuple[str, str]]) -> None:
    """Problems are reported, and nothing else."""
    assert expected == set(found(diagnosis(change)))


def test_wording(golden: Callable[[str, str], str]) -> None:
    """Each case reads as agreed."""
    text = wording(CASES)

    assert golden("certificates.txt", text) == text


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [
        pytest.param(timedelta(minutes=29), [], id="29 minutes"),
        pytest.param(timedelta(hours=2), [("clocks", "warning")], id="2 hours ahead"),
        pytest.param(-timedelta(days=4000), [("clocks", "warning")], id="4,000 days behind"),
    ],
)
def test_wrong_clock_of_this_machine(ahead: timedelta, expected: list[tuple[str, str]]) -> None:
    """It is reported, and certificates are judged by the API server's."""
    assert expected == found(diagnosis(now=NOW + timedelta(hours=1) + ahead))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda cluster: None,
            "evenkeel certs rotate -n evenkeel --secret evenkeel-tls --webhooks evenkeel --service evenkeel "
            "--create",
            id="Evenkeel renews it",
        ),
        pytest.param(
            lambda cluster: cluster.set_arguments("--live", "--cert-dir=/tls"),
            "kubectl -n evenkeel describe certificates, and kubectl -n evenkeel describe secret evenkeel-tls",
            id="cert-manager renews it",
        ),
        pytest.param(
            lambda cluster: [
                cluster.objects.pop(f"/api/v1/namespaces/evenkeel/pods/evenkeel-{n}") for n in (1, 2)
            ],
            "kubectl -n evenkeel describe replicasets, and find out why no replica has started",
            id="no replica has issued it",
        ),
    ],
)
def test_command_that_renews(change: Change, expected: str) -> None:
    """Only certificates that Evenkeel issues are rotated by it; a caBundle needs a CA first."""
    results = diagnosis(change, bundle(b""), lambda cluster: cluster.objects.pop(SECRET)).results
    suggestions = {
        result.suggestion for result in results if result.check in ("ca-bundle", "certificate-trusted")
    }

    assert {expected} == suggestions


def test_commands_exist() -> None:
    """Every command of Evenkeel that is proposed has these options."""
    results = [*diagnosis(bundle(b"")).results, *diagnosis(served(b"x")).results]
    suggestions = {result.suggestion or "" for result in results}
    proposed = [suggestion for suggestion in suggestions if suggestion.startswith("evenkeel certs ")]

    assert {"inject", "rotate"} == {suggestion.split()[2] for suggestion in proposed}
    for suggestion in proposed:
        _, _, name, *options = shlex.split(suggestion)
        certs.command.commands[name].make_context(name, options)
