"""The contents of a cluster's Secret, and whether its webhook configurations trust it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from certs.inspect import CertificateFile, inspect, leads_to
from webhook.cert_rotation.configurations import Configuration
from webhook.cert_rotation.secret import StoredSecret


def inspect_secret(
    stored: StoredSecret, configurations: Iterable[Configuration], *, now: datetime, margin: timedelta
) -> dict[str, Any]:
    """Return the report of ``certs.inspect`` on a Secret, and the configurations that do not trust it."""
    keyring, source = stored.keyring, stored.source
    files = [
        CertificateFile(
            source=f"{source}: {what}", certificates=(pair.certificate, *pair.chain), key=pair.key
        )
        for what, pair in (("serving certificate", keyring.serving), ("CA", keyring.ca))
        if pair
    ]
    files += [
        CertificateFile(source=f"{source}: retired CA", certificates=(certificate,))
        for certificate in keyring.retired()
    ]
    found = inspect(files, keyring.bundle(now), now=now, margin=margin)
    found["problems"] += [*keyring.problems, *_trust_problems(stored, configurations, now)]
    return found


def _trust_problems(
    stored: StoredSecret, configurations: Iterable[Configuration], now: datetime
) -> Iterator[str]:
    """Yield the problems between a Secret and the configurations of the cluster, a line each."""
    serving, bundle = stored.keyring.serving, frozenset(stored.keyring.bundle(now))
    for configuration in configurations:
        if configuration.manifest is None:
            yield f"{configuration.source}: does not exist, so the API server does not call its webhooks"
        for webhook, trusted in configuration.trusted.items():
            where = f"{configuration.source}: the caBundle of {webhook}"
            if serving is not None and not leads_to(serving.certificate, trusted):
                yield f"{where} does not trust the serving certificate of {stored.source}"
            elif missing := len(bundle - trusted):
                yield f"{where} lacks {missing} of the {len(bundle)} CAs of {stored.source}"
