"""Whether the API server trusts what replicas serve. Pure: certificates come as PEM."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from cryptography import x509

from certs import inspect, keypair
from certs.ca import is_ca
from certs.clocks import clock_problem
from certs.errors import CertificateError
from certs.keypair import dns_names, fingerprint
from policies.manifests.words import IN_MESSAGE, listed, plural
from webhook.doctor.installed import RegisteredWebhook
from webhook.doctor.observations import (
    CheckResult,
    MissingError,
    Observations,
    Observed,
    ok,
    problem,
    warning,
)

#: The part of its life that a certificate may have left before it is reported. Evenkeel and cert-manager
#: renew at a third, so at a quarter the renewal has failed for a while.
LATE: Final = 0.25


def _ca_bundles(observed: Observations) -> Iterator[CheckResult]:
    """Each caBundle holds a CA that is valid now."""
    for webhook in observed.all_webhooks():
        what = f"caBundle of {webhook.name}"
        try:
            cas = _cas(webhook)
        except CertificateError as error:
            yield problem(str(error), _publish(observed))
            continue
        if cas:
            # While the CA is replaced there are two: the one that lasts longest counts.
            longest = max(cas, key=lambda ca: (_valid(ca, observed), ca.not_valid_after_utc))
            yield _validity(longest, f"the CA in the {what}", _publish(observed), observed)
        else:
            found = "holds no CA certificate" if webhook.ca_bundle else "is empty"
            yield problem(f"{what} {found}: the API server trusts no replica", _publish(observed))


def _trusted(observed: Observations) -> Iterator[CheckResult]:
    """The serving certificate is valid, and signed by a CA of each caBundle."""
    observed.certificate.get()
    try:
        chain = _chain(observed)
    except MissingError as error:
        yield problem(str(error), _renew(observed))
        return
    yield _validity(chain[0], f"the certificate of Secret {observed.secret}", _renew(observed), observed)
    for webhook in observed.all_webhooks():
        yield from _trust(webhook, chain, observed)


def _trust(
    webhook: RegisteredWebhook, chain: tuple[x509.Certificate, ...], observed: Observations
) -> Iterator[CheckResult]:
    try:
        valid = [ca for ca in _cas(webhook) if _valid(ca, observed)]
    except CertificateError:
        return  # reported by check ca-bundle
    if inspect.leads_to(chain[0], valid, chain=chain[1:]):
        yield ok(f"the caBundle of {webhook.name} trusts the certificate of Secret {observed.secret}")
    elif valid:
        cas = [f"{ca.subject.rfc4514_string()} (SHA-256 {fingerprint(ca)[:11]}…)" for ca in valid]
        yield problem(
            f"caBundle of {webhook.name} holds {listed(cas, IN_MESSAGE)}, which did not sign the certificate"
            f" of Secret {observed.secret}: every call fails",
            _publish(observed),
        )


def _names(observed: Observations) -> Iterator[CheckResult]:
    """The serving certificate is for the name that the API server connects to."""
    names, host = dns_names(_chain(observed)[0]), observed.names.host
    what = f"the certificate of Secret {observed.secret}"
    if host in names or f"*.{host.partition('.')[2]}" in names:
        yield ok(f"{what} is for {host}")
    else:
        found = listed(names, IN_MESSAGE) or "no DNS name"
        yield problem(f"{what} is for {found}; the API server connects to {host}", _renew(observed))


def _clocks(observed: Observations) -> Iterator[CheckResult]:
    """The clock of this machine is the API server's. Replicas report their own on /readyz."""
    # Everyone may read the time of the API server: without a certificate to judge it says nothing.
    observed.certificate.get()
    if wrong := clock_problem(observed.clock_skew):
        yield warning(
            f"{wrong}: certificates are checked here by the API server's", "set the clock: timedatectl status"
        )
    else:
        yield ok("the clock of this machine agrees with the API server's")


def _validity(
    certificate: x509.Certificate, what: str, suggestion: str, observed: Observations
) -> CheckResult:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    left = ends - observed.now
    if observed.now < begins:
        return problem(f"{what} is not valid before {begins:%Y-%m-%d %H:%M} UTC", suggestion)
    if left < timedelta(0):
        return problem(f"{what} expired on {ends:%Y-%m-%d}", suggestion)
    expires = f"{what} expires on {ends:%Y-%m-%d}, in {plural(math.floor(left / timedelta(days=1)), 'day')}"
    late = left < LATE * (ends - begins)
    return warning(f"{expires}: its renewal is overdue", suggestion) if late else ok(expires)


def _valid(certificate: x509.Certificate, observed: Observations) -> bool:
    return certificate.not_valid_before_utc <= observed.now <= certificate.not_valid_after_utc


def _chain(observed: Observations) -> tuple[x509.Certificate, ...]:
    """Return the serving certificate and its intermediates.

    Raises:
        MissingError: There is none, or none that can be parsed; check certificate-trusted reports that.
    """
    source, content = f"Secret {observed.secret}", observed.certificate.get()
    if not content:
        raise MissingError(f"{source} does not exist or has no tls.crt")
    try:
        chain = keypair.parse_certificates(content, source)
        with keypair.reading(source, what="certificate"):
            dns_names(chain[0])
    except CertificateError as error:
        raise MissingError(str(error)) from error
    return chain


def _cas(webhook: RegisteredWebhook) -> list[x509.Certificate]:
    """Return the CA certificates of a caBundle."""
    if not webhook.ca_bundle:
        return []
    source = f"caBundle of {webhook.name}"
    certificates = keypair.parse_certificates(webhook.ca_bundle, source)
    with keypair.reading(source, what="certificate"):
        return list(filter(is_ca, certificates))


def _publish(observed: Observations) -> str:
    """Return the command that writes the CA into the webhook configurations."""
    no_ca_yet = observed.certificate == Observed(b"")
    return _renew(observed) if no_ca_yet else f"evenkeel certs inject {_options(observed)}"


def _renew(observed: Observations) -> str:
    """Return the command that issues another serving certificate."""
    kubectl, replica = observed.kubectl, observed.first_replica
    if replica is None:
        # Replicas issue it when they start, unless cert-manager or a person does.
        return f"{kubectl} describe replicasets, and find out why no replica has started"
    if "cert_secret" in replica.settings:
        return f"evenkeel certs rotate {_options(observed)} --service {observed.names.service} --create"
    return f"{kubectl} describe certificates, and {kubectl} describe secret {observed.secret}"


def _options(observed: Observations) -> str:
    names = observed.names
    return f"-n {names.namespace} --secret {observed.secret} --webhooks {names.webhooks}"


CHECKS: Final = {
    "ca-bundle": _ca_bundles,
    "certificate-trusted": _trusted,
    "certificate-names": _names,
    "clocks": _clocks,
}
