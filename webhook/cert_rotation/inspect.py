"""What a cluster's Secret holds, and whether its webhook configurations trust it: for ``certs.inspect``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from cryptography import x509

from certs.inject import trusted_by
from certs.inspect import Material, leads_to
from certs.keypair import KeyPair
from certs.keyring import Keyring
from webhook.cert_rotation.configurations import Configuration


def materials(keyring: Keyring, source: str) -> list[list[Material]]:
    """Return the certificates of a Secret in the groups that belong together, named by what they are for."""
    pairs = [
        ("serving certificate", keyring.serving),
        ("active authority", keyring.active),
        ("standby authority", keyring.standby),
    ]
    groups = [[_material(pair, f"{source}: {what}")] for what, pair in pairs if pair]
    groups += [
        [Material(source=f"{source}: retired authority", certificates=(certificate,), key=None)]
        for certificate in keyring.retired()
    ]
    return groups


def trust_problems(
    keyring: Keyring, source: str, configurations: Iterable[Configuration], now: datetime
) -> Iterator[str]:
    """Yield what is wrong between a Secret and the configurations of the cluster, a line each."""
    yield from keyring.problems
    bundle = frozenset(keyring.bundle(now))
    for configuration in configurations:
        if configuration.manifest is None:
            yield f"{configuration.source}: does not exist, so nobody calls its webhooks"
            continue
        for webhook, trusted in trusted_by(configuration.manifest).items():
            problem = _problem(keyring.serving, trusted, bundle)
            if problem:
                yield f"{configuration.source}, {webhook}: {problem} of {source}"


def _problem(
    serving: KeyPair | None, trusted: frozenset[x509.Certificate], bundle: frozenset[x509.Certificate]
) -> str:
    if serving is not None and not leads_to(serving.certificate(), tuple(trusted)):
        return "its caBundle does not trust the serving certificate"
    missing = len(bundle - trusted)
    if missing:
        return f"its caBundle lacks {missing} of the {len(bundle)} authorities"
    return ""


def _material(pair: KeyPair, source: str) -> Material:
    return Material(source=source, certificates=(pair.certificate(),), key=pair.key())
