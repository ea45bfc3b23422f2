"""Whether the API server will trust what is served. Pure: certificates come as PEM."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from certs import examine, pem
from certs.authority import is_authority
from certs.clocks import clock_problem
from certs.errors import CertificateError
from certs.pair import dns_names, fingerprint
from policies.reports.lint_run import plural
from webhook.doctor.facts import Facts, Known, UnknownError, Webhook
from webhook.doctor.finding import Check, Verdict, listed, ok, problem, warning

#: Part of its life that a certificate may have left before it is told. Evenkeel and cert-manager renew at a
#: third, so at a quarter the renewal has failed for a while.
LATE: Final = 0.25
#: Seconds by which the expiry that a replica tells may differ from the Secret's: it is told as a float.
_SAME_MOMENT_S: Final = 1.0
#: What a replica tells of the certificate that it serves.
_EXPIRY_METRIC: Final = "evenkeel_certificate_expiry_timestamp_seconds"
#: By how many seconds a replica's clock is ahead of the API server's, by its own word.
_SKEW_METRIC: Final = "evenkeel_clock_skew_seconds"
_DAY: Final = timedelta(days=1)


def _bundles(facts: Facts) -> Iterator[Verdict]:
    """Tell whether each caBundle holds authorities that are valid now."""
    for webhook in facts.webhooks():
        yield _bundle(webhook, facts)


def _bundle(webhook: Webhook, facts: Facts) -> Verdict:
    if not webhook.ca_bundle:
        return problem(f"{webhook.name} has no caBundle: the API server trusts no replica", _mend(facts))
    try:
        authorities = _authorities(webhook)
    except CertificateError as error:
        return problem(str(error), _mend(facts))
    valid = [authority for authority in authorities if _valid(authority, facts.now)]
    if not authorities:
        return problem(f"caBundle of {webhook.name} holds a certificate that may not sign", _mend(facts))
    if not valid:
        ends = listed([_left(authority.not_valid_after_utc, facts.now) for authority in authorities])
        return problem(f"caBundle of {webhook.name}: no authority that is valid, {ends}", _mend(facts))
    last = max(authority.not_valid_after_utc for authority in valid)
    evidence = f"caBundle of {webhook.name}: {_authorities_told(len(valid))}, {_left(last, facts.now)}"
    late = all(_late(authority, facts.now) for authority in valid)
    return warning(f"{evidence}, its renewal is overdue", _mend(facts)) if late else ok(evidence)


def _authorities_told(count: int) -> str:
    return "1 authority" if count == 1 else f"{count} authorities"


def _served(facts: Facts) -> Iterator[Verdict]:
    """Tell whether the certificate in the Secret is valid, and trusted by each caBundle."""
    if facts.certificate == Known(None):
        yield problem(f"Secret {facts.secret} is not there, or has no tls.crt", _renew(facts))
        return
    try:
        chain = _parsed(facts)
    except CertificateError as error:
        yield problem(str(error), _renew(facts))
        return
    yield _validity(chain[0], facts)
    for webhook in facts.webhooks():
        yield from _trust(webhook, chain, facts)


def _validity(leaf: x509.Certificate, facts: Facts) -> Verdict:
    evidence = f"certificate of Secret {facts.secret}: {_left(leaf.not_valid_after_utc, facts.now)}"
    if leaf.not_valid_before_utc > facts.now:
        since = f"{leaf.not_valid_before_utc:%Y-%m-%d %H:%M}"
        return problem(f"certificate of Secret {facts.secret} is not valid before {since} UTC", _renew(facts))
    if not _valid(leaf, facts.now):
        return problem(evidence, _renew(facts))
    if _late(leaf, facts.now):
        return warning(f"{evidence}, its renewal is overdue", _renew(facts))
    return ok(evidence)


def _trust(webhook: Webhook, chain: tuple[x509.Certificate, ...], facts: Facts) -> Iterator[Verdict]:
    try:
        anchors = [anchor for anchor in _authorities(webhook) if _valid(anchor, facts.now)]
    except CertificateError:
        return  # told of the caBundle
    if examine.leads_to(chain[0], anchors, chain=chain[1:]):
        yield ok(f"{webhook.name} trusts the certificate of Secret {facts.secret}")
    elif anchors:
        yield problem(
            f"caBundle of {webhook.name} holds {listed([_who(anchor) for anchor in anchors])}, which did not "
            f"sign the certificate of Secret {facts.secret}: every call fails",
            _mend(facts),
        )


def _names(facts: Facts) -> Iterator[Verdict]:
    """Tell whether the certificate carries the name that the API server dials."""
    names = dns_names(_chain(facts)[0])
    host = facts.names.host
    if host in names or f"*.{host.partition('.')[2]}" in names:
        yield ok(f"certificate of Secret {facts.secret} is for {host}")
    else:
        held = listed(list(names)) or "no name"
        yield problem(
            f"certificate of Secret {facts.secret} is for {held}; the API server dials {host}",
            _renew(facts),
        )


def _loaded(facts: Facts) -> Iterator[Verdict]:
    """Tell whether replicas serve what is in the Secret, by the expiry that their metrics tell."""
    expiry = _chain(facts)[0].not_valid_after_utc.timestamp()
    told = {
        replica.name: facts.voices[replica.name].metrics.get().get(_EXPIRY_METRIC) for replica in facts.pods()
    }
    others = [
        name for name, seconds in told.items() if seconds is None or abs(seconds - expiry) > _SAME_MOMENT_S
    ]
    if others:
        yield warning(
            f"{listed(others)}: serves another certificate than Secret {facts.secret} holds", facts.restart()
        )
    else:
        yield ok(f"all replicas serve the certificate of Secret {facts.secret}")


def _clocks(facts: Facts) -> Iterator[Verdict]:
    """Tell whose clock differs from the API server's, by which certificates are judged."""
    own = clock_problem(facts.skew)
    if own:
        yield warning(f"{own}, which counts here", "timedatectl status, and set the clock right")
    metrics = [facts.voices[replica.name].metrics for replica in facts.pods()]
    if not any(isinstance(known, Known) for known in metrics):
        metrics[0].get()  # skips the check, with the reason
    skews = {
        replica.name: timedelta(seconds=known.value.get(_SKEW_METRIC, 0.0))
        for replica, known in zip(facts.pods(), metrics, strict=True)
        if isinstance(known, Known)
    }
    wrong = [told for name, skew in skews.items() if (told := clock_problem(skew, name))]
    for told in wrong:
        yield warning(
            f"{told}: it issues no certificates",
            "look at the time synchronization of its node, and of the control plane",
        )
    if not own and not wrong:
        yield ok("no clock differs from the API server's, of this machine or of a replica that tells its own")


def _chain(facts: Facts) -> tuple[x509.Certificate, ...]:
    """Return the served certificate and what leads to its authority.

    Raises:
        UnknownError: There is none that can be read; ``_served`` tells of it.
    """
    if facts.certificate == Known(None):
        raise UnknownError(f"no Secret {facts.secret}")
    try:
        return _parsed(facts)
    except CertificateError as error:
        raise UnknownError(str(error)) from error


def _parsed(facts: Facts) -> tuple[x509.Certificate, ...]:
    source = f"Secret {facts.secret}"
    chain = pem.parse_certificates(facts.certificate.get() or b"", source)
    with pem.reading(source, what="certificate"):
        dns_names(chain[0])
    return chain


def _authorities(webhook: Webhook) -> list[x509.Certificate]:
    source = f"caBundle of {webhook.name}"
    certificates = pem.parse_certificates(webhook.ca_bundle, source)
    with pem.reading(source, what="certificate"):
        return [certificate for certificate in certificates if is_authority(certificate)]


def _valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc


def _late(certificate: x509.Certificate, now: datetime) -> bool:
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - now < LATE * life


def _left(end: datetime, now: datetime) -> str:
    days = math.floor((end - now) / _DAY)
    return (
        f"expires on {end:%Y-%m-%d}, in {plural(days, 'day')}" if end >= now else f"expired on {end:%Y-%m-%d}"
    )


def _who(authority: x509.Certificate) -> str:
    return f"{authority.subject.rfc4514_string()} (SHA-256 {fingerprint(authority)[:11]}…)"


def _mend(facts: Facts) -> str:
    """Return the command that brings the authority into the webhook configurations."""
    if facts.certificate == Known(None):
        return _renew(facts)  # there is no authority yet
    return f"evenkeel certs inject {_place(facts)}"


def _renew(facts: Facts) -> str:
    """Return the command that makes the serving certificate anew."""
    if facts.setting("cert-secret"):
        return f"evenkeel certs rotate {_place(facts)} --service {facts.names.service} --create"
    if facts.replicas == Known(()):
        # Replicas make it as they start, unless somebody else does.
        return f"kubectl -n {facts.names.namespace} describe replicasets, and look why no replica has started"
    # Somebody else makes it: cert-manager, or a person.
    where = f"kubectl -n {facts.names.namespace} describe"
    return f"{where} certificates, and {where} secret {facts.secret}"


def _place(facts: Facts) -> str:
    names = facts.names
    return f"-n {names.namespace} --secret {facts.secret} --webhooks {names.webhooks}"


CHECKS: Final = (
    Check("ca-bundle", _bundles),
    Check("certificate-trusted", _served),
    Check("certificate-names", _names),
    Check("certificate-loaded", _loaded),
    Check("clocks", _clocks),
)
