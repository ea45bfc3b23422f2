"""The caBundles of webhook configurations: read them, and say how to change them.

Pure: objects as the API server gives them go in, JSON patches come out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cryptography import x509

from certs import keypair
from certs.errors import CertificateError

#: The kinds of objects that register webhooks.
CONFIGURATION_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def trusted_by(configuration: Mapping[str, Any]) -> dict[str, frozenset[x509.Certificate]]:
    """Return the certificates that each webhook of a configuration trusts, by the webhooks' names.

    A caBundle that cannot be read trusts none.
    """
    return {str(webhook.get("name", "")): _bundle(webhook) for _, webhook in _webhooks(configuration)}


def stale_webhooks(configuration: Mapping[str, Any], bundle: Iterable[x509.Certificate]) -> tuple[int, ...]:
    """Return the indexes of the webhooks that do not trust exactly these certificates."""
    wanted = frozenset(bundle)
    return tuple(index for index, webhook in _webhooks(configuration) if _bundle(webhook) != wanted)


def plan_injection(
    configuration: Mapping[str, Any], bundle: Iterable[x509.Certificate]
) -> list[dict[str, Any]]:
    """Return the JSON patch after which a configuration trusts exactly these certificates; maybe empty.

    It fails as a conflict if the configuration has changed since it was read: the API server compares a
    ``resourceVersion`` that a patch writes.
    """
    bundle = tuple(bundle)
    stale = stale_webhooks(configuration, bundle)
    if not stale:
        return []
    version = configuration.get("metadata", {}).get("resourceVersion", "")
    value = encode_bundle(bundle)
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        *(
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": value}
            for index in stale
        ),
    ]


def encode_bundle(bundle: Iterable[x509.Certificate]) -> str:
    """Return a caBundle as it stands in a manifest."""
    return base64.b64encode(keypair.certificates_to_pem(bundle)).decode()


def _webhooks(configuration: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    webhooks = configuration.get("webhooks")
    for index, webhook in enumerate(webhooks if isinstance(webhooks, list) else ()):
        if isinstance(webhook, dict) and isinstance(webhook.get("clientConfig"), dict):
            yield index, webhook


def _bundle(webhook: Mapping[str, Any]) -> frozenset[x509.Certificate]:
    text = webhook["clientConfig"].get("caBundle")
    if not isinstance(text, str):
        return frozenset()
    try:
        return frozenset(keypair.parse_certificates(base64.b64decode(text, validate=True), "caBundle"))
    except (binascii.Error, ValueError, CertificateError):
        return frozenset()
