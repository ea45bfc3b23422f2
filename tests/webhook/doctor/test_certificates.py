"""Whether the API server will trust what is served."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.certs.builders import AUTHORITY, DAY, NOW, a_pair
from tests.webhook.doctor.installation import (
    NAMES,
    SERVING,
    STRANGER,
    a_chain,
    a_replica,
    a_voice,
    checks_of,
    evidence,
    healthy,
    ours,
    remedies,
)
from webhook.doctor import certificates
from webhook.doctor.facts import Facts, Known, Unknown, UnknownError

CHECKS = checks_of(certificates.CHECKS)
#: Days that the authority of the tests is valid.
YEARS = AUTHORITY.not_after - NOW
INJECT = "evenkeel certs inject -n evenkeel --secret evenkeel-tls --webhooks evenkeel"


@pytest.mark.parametrize(
    ("bundle", "now", "expected"),
    [
        pytest.param(AUTHORITY.certificate_pem, NOW, "", id="an authority"),
        pytest.param(
            AUTHORITY.certificate_pem + STRANGER.certificate_pem, NOW, "", id="two, as while one is replaced"
        ),
        pytest.param(b"", NOW, "problem: mutate.evenkeel.dev has no caBundle", id="empty"),
        pytest.param(
            b"CA_BUNDLE", NOW, "problem: caBundle of mutate.evenkeel.dev: holds no PEM", id="a placeholder"
        ),
        pytest.param(
            SERVING.certificate_pem,
            NOW,
            "problem: caBundle of mutate.evenkeel.dev holds a certificate",
            id="a leaf",
        ),
        pytest.param(
            AUTHORITY.certificate_pem,
            NOW + YEARS + DAY,
            "problem: caBundle of mutate.evenkeel.dev: no authority that is valid, expired on",
            id="expired",
        ),
        pytest.param(
            AUTHORITY.certificate_pem,
            NOW + 0.8 * YEARS,
            "warning: caBundle of mutate.evenkeel.dev: 1 authority, expires on",
            id="a fifth of its life left",
        ),
    ],
)
def test_bundles(bundle: bytes, now: Any, expected: str) -> None:
    """A caBundle needs an authority that is valid, and will be for a while."""
    facts = healthy(ours=ours(ca_bundle=bundle), now=now)

    assert evidence(CHECKS["ca-bundle"], facts).startswith(expected)
    assert bool(expected) == bool(evidence(CHECKS["ca-bundle"], facts))
    assert ({INJECT} if expected else set()) == set(remedies(CHECKS["ca-bundle"], facts))


def test_an_installation_that_has_not_started() -> None:
    """Nothing can be put into a caBundle before a replica has made it."""
    facts = healthy(ours=ours(ca_bundle=b""), certificate=Known(None), replicas=Known(()))
    told = [*remedies(CHECKS["ca-bundle"], facts), *remedies(CHECKS["certificate-trusted"], facts)]

    assert {"kubectl -n evenkeel describe replicasets, and look why no replica has started"} == set(told)


def serving(*, days: float) -> Facts:
    """Return facts at a moment when the certificate has so many of its 365 days left."""
    return healthy(now=SERVING.not_after - timedelta(days=days))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(serving(days=200), "", id="200 of 365 days left"),
        pytest.param(serving(days=92), "", id="92 days: just above a quarter"),
        pytest.param(
            serving(days=91),
            "warning: certificate of Secret evenkeel-tls: expires on "
            f"{SERVING.not_after:%Y-%m-%d}, in 91 days, its renewal is overdue",
            id="91 days: less than a quarter of its life",
        ),
        pytest.param(
            serving(days=-1), "problem: certificate of Secret evenkeel-tls: expired on", id="expired"
        ),
        pytest.param(
            healthy(now=SERVING.not_before - DAY),
            "problem: certificate of Secret evenkeel-tls is not",
            id="too early",
        ),
        pytest.param(
            healthy(certificate=Known(None)),
            "problem: Secret evenkeel-tls is not there, or has no tls.crt",
            id="none",
        ),
        pytest.param(
            healthy(certificate=Known(b"x")), "problem: Secret evenkeel-tls: holds no PEM", id="damaged"
        ),
    ],
)
def test_validity(facts: Facts, expected: str) -> None:
    """The certificate is valid, and renewed in time."""
    told = evidence(CHECKS["certificate-trusted"], facts)

    assert told.startswith(expected)
    assert bool(expected) == bool(told)


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        pytest.param(AUTHORITY.certificate_pem, 0, id="signed by the one"),
        pytest.param(STRANGER.certificate_pem + AUTHORITY.certificate_pem, 0, id="signed by one of two"),
        pytest.param(STRANGER.certificate_pem, 2, id="signed by another of the same name"),
        pytest.param(b"", 0, id="none: told by another check"),
        pytest.param(b"damaged", 0, id="damaged: told by another check"),
    ],
)
def test_trust(bundle: bytes, expected: int) -> None:
    """The certificate in the Secret is signed by an authority of each caBundle."""
    facts = healthy(ours=ours(ca_bundle=bundle))
    told = evidence(CHECKS["certificate-trusted"], facts)

    assert expected == told.count("did not sign the certificate of Secret evenkeel-tls")
    assert [INJECT] * expected == remedies(CHECKS["certificate-trusted"], facts)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param((NAMES.host,), "", id="the Service"),
        pytest.param(("*.evenkeel.svc",), "", id="a wildcard"),
        pytest.param(
            ("evenkeel.ops.svc", "evenkeel"),
            "problem: certificate of Secret evenkeel-tls is for evenkeel.ops.svc, evenkeel; "
            "the API server dials evenkeel.evenkeel.svc",
            id="another namespace",
        ),
        pytest.param(
            ("192.0.2.1",), "problem: certificate of Secret evenkeel-tls is for no name", id="an address"
        ),
    ],
)
def test_names(names: tuple[str, ...], expected: str) -> None:
    """The certificate carries the name that the API server looks for."""
    told = evidence(CHECKS["certificate-names"], healthy(certificate=a_chain(a_pair(*names))))

    assert told.startswith(expected)
    assert bool(expected) == bool(told)


@pytest.mark.parametrize(
    ("own_h", "replica_s", "expected"),
    [
        pytest.param(0.5, 1800.0, "", id="0.5 h, 1,800 s"),
        pytest.param(2, 0.0, "warning: the clock of this machine is 2 hours ahead", id="this machine: 2 h"),
        pytest.param(0, -7200.0, "warning: the clock of evenkeel-2 is 2 hours behind", id="a replica: -2 h"),
    ],
)
def test_clocks(own_h: float, replica_s: float, expected: str) -> None:
    """A clock that differs from the API server's signs nothing, and is no judge of certificates."""
    said = a_voice(metrics=Known({"evenkeel_clock_skew_seconds": replica_s}))
    facts = healthy(skew=timedelta(hours=own_h), voices={"evenkeel-1": a_voice(), "evenkeel-2": said})
    told = evidence(CHECKS["clocks"], facts)

    assert told.startswith(expected)
    assert bool(expected) == bool(told)


def test_clocks_that_nobody_tells() -> None:
    """Without metrics nothing is known of the replicas' clocks."""
    silent = a_voice(metrics=Unknown("may not get pods/proxy"))
    with pytest.raises(UnknownError, match="may not get pods/proxy"):
        list(CHECKS["clocks"].ask(healthy(voices=dict.fromkeys(("evenkeel-1", "evenkeel-2"), silent))))


@pytest.mark.parametrize("certificate", [Known(None), Known(b"x")], ids=["none", "damaged"])
def test_names_of_nothing(certificate: Known[bytes | None]) -> None:
    """What is not there has been told."""
    with pytest.raises(UnknownError):
        list(CHECKS["certificate-names"].ask(healthy(certificate=certificate)))


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        pytest.param({}, "evenkeel-2", id="it does not say"),
        pytest.param({"evenkeel_certificate_expiry_timestamp_seconds": 1.0}, "evenkeel-2", id="another"),
        pytest.param(
            {"evenkeel_certificate_expiry_timestamp_seconds": SERVING.not_after.timestamp()},
            "",
            id="the same",
        ),
    ],
)
def test_loaded(metrics: dict[str, float], expected: str) -> None:
    """A replica that still serves another certificate is told by name."""
    facts = healthy(voices={"evenkeel-1": a_voice(), "evenkeel-2": a_voice(metrics=Known(metrics))})

    assert (f"warning: {expected}: serves another" if expected else "") == evidence(
        CHECKS["certificate-loaded"], facts
    ).partition(" certificate")[0]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"cert-secret": "evenkeel-tls"}, "evenkeel certs rotate -n evenkeel", id="our own"),
        pytest.param({"cert-dir": "/tls"}, "kubectl -n evenkeel describe certificates", id="cert-manager's"),
    ],
)
def test_who_renews(settings: dict[str, str], expected: str) -> None:
    """Only what Evenkeel makes is renewed by it."""
    facts = replace(serving(days=-1), replicas=Known((a_replica(settings=settings),)))

    assert remedies(CHECKS["certificate-trusted"], facts)[0].startswith(expected)


def test_a_secret_that_must_not_be_read() -> None:
    """Nothing is said of it."""
    with pytest.raises(UnknownError, match="may not get Secret"):
        list(CHECKS["certificate-trusted"].ask(healthy(certificate=Unknown("may not get Secret a/b"))))
