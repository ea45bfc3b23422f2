"""``evenkeel certs show``: say what certificates hold and what is wrong with them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from certs import pem, store
from certs.ca import is_ca
from certs.inspect import CertificateFile, InspectedCertificate, Inspection, inspect, key_type
from certs.keypair import dns_names, fingerprint, ip_addresses
from webhook.cert_rotation.configurations import read_configurations
from webhook.cert_rotation.inspect import inspect_secret
from webhook.cert_rotation.secret import SecretStore
from webhook.cli.certs_target import cluster_options, refuse_with_folder
from webhook.cli.live import api_server

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA = "evenkeel.dev/certs/v1"


@click.command(name="show", short_help="Show certificates and what is wrong with them.")
@click.option("--cert-dir", type=click.Path(path_type=Path), help="Folder to show, instead of a cluster.")
@click.option(
    "--expires-within",
    type=click.IntRange(0, 36_500),
    default=0,
    metavar="DAYS",
    help="Report certificates that expire within so many days, too.",
)
@click.option(
    "-o", "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
@cluster_options
def command(
    *,
    cert_dir: Path | None,
    expires_within: int,
    format: str,  # noqa: A002  # the option's name
    context: str,
    namespace: str,
    secret: str,
    webhooks: str,
) -> None:
    """Show certificates, whether private keys belong to them, and whether they lead to the CA.

    Reads the Secret of a cluster, and whether its webhook configurations trust it, or with --cert-dir a
    folder (tls.crt and tls.key, ca.crt and ca.key if they exist). Exits with 1 if something is wrong, with
    2 if files cannot be read, and with 3 if the cluster cannot.
    """
    now, margin = datetime.now(UTC), timedelta(days=expires_within)
    if cert_dir is not None:
        refuse_with_folder()
        inspection = _inspect_folder(cert_dir, now=now, margin=margin)
    else:
        api = api_server(context)
        stored = SecretStore(api, namespace, secret).read()
        inspection = inspect_secret(stored, read_configurations(api, webhooks), now=now, margin=margin)
    if format == "json":
        click.echo(_render_json(inspection), nl=False)
    else:
        click.echo("\n".join(_text_lines(inspection)))
    if inspection.problems:
        click.get_current_context().exit(1)


def _inspect_folder(folder: Path, *, now: datetime, margin: timedelta) -> Inspection:
    """Inspect a folder, which may lack the CA, or only its key, as one from a cluster does.

    Raises:
        CertificateError: A file cannot be read.
    """
    existing = store.existing_files(folder)
    names = [(store.SERVING_CERTIFICATE, store.SERVING_KEY)]
    if store.CA_CERTIFICATE in existing:
        names.append((store.CA_CERTIFICATE, store.CA_KEY if store.CA_KEY in existing else ""))
    files = [_read(folder / certificate, folder / key if key else None) for certificate, key in names]
    return inspect(files, files[1].certificates if files[1:] else (), now=now, margin=margin)


def _read(certificate: Path, key: Path | None) -> CertificateFile:
    return CertificateFile(
        source=str(certificate),
        certificates=pem.parse_certificates(store.read_file(certificate), str(certificate)),
        key=pem.parse_key(store.read_file(key), str(key)) if key else None,
    )


def _text_lines(inspection: Inspection) -> Iterator[str]:
    """Yield an inspection for people: the fields of the JSON form that have a value."""
    for entry in inspection.certificates:
        yield entry.source
        for field, value in _fields(entry).items():
            if value not in (None, ()):
                yield f"  {field:<14}{_text(value)}"
        yield ""
    yield from (f"problem: {problem}" for problem in inspection.problems)
    if not inspection.problems:
        yield "No problems."


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _render_json(inspection: Inspection) -> str:
    """Return an inspection as ``certs.schema.json`` describes it."""
    document = {
        "schema": SCHEMA,
        "certificates": [{"source": entry.source, **_fields(entry)} for entry in inspection.certificates],
        "caBundle": base64.b64encode(inspection.ca_bundle).decode() or None,
        "problems": inspection.problems,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _fields(entry: InspectedCertificate) -> dict[str, Any]:
    """Return what a certificate says, by names as Kubernetes and cert-manager spell them."""
    certificate = entry.certificate
    return {
        "subject": certificate.subject.rfc4514_string(),
        "issuer": certificate.issuer.rfc4514_string(),
        "serialNumber": f"{certificate.serial_number:x}",
        "dnsNames": dns_names(certificate),
        "ipAddresses": ip_addresses(certificate),
        "notBefore": f"{certificate.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}",
        "notAfter": f"{certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}",
        "daysLeft": entry.days_left,
        "keyType": key_type(certificate),
        "sha256": fingerprint(certificate),
        "isCA": is_ca(certificate),
        "keyFits": entry.key_fits,
        "chainsToCA": entry.chains,
    }
