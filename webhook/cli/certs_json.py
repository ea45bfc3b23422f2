"""What certificates say as one JSON object for programs, whose form ``certs.schema.json`` says."""

from __future__ import annotations

import base64
from typing import Any

import orjson

from certs.inspect import Description, Report

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA = "evenkeel.dev/certs/v1"


def render(report: Report) -> str:
    """Return the report as indented JSON; names as Kubernetes and cert-manager spell them."""
    document = {
        "schema": SCHEMA,
        "certificates": list(map(_certificate, report.certificates)),
        "caBundle": base64.b64encode(report.ca_bundle).decode() or None,
        "problems": report.problems,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _certificate(description: Description) -> dict[str, Any]:
    return {
        "source": description.source,
        "subject": description.subject,
        "issuer": description.issuer,
        "serialNumber": description.serial,
        "dnsNames": description.dns_names,
        "ipAddresses": description.ip_addresses,
        "notBefore": f"{description.not_before:%Y-%m-%dT%H:%M:%SZ}",
        "notAfter": f"{description.not_after:%Y-%m-%dT%H:%M:%SZ}",
        "daysLeft": description.days_left,
        "keyType": description.key_type,
        "sha256": description.sha256,
        "isCA": description.authority,
        "keyFits": description.key_fits,
        "chainsToCA": description.chains,
    }
