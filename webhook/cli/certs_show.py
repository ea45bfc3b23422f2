"""``evenkeel certs show``: say what certificates hold and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from webhook.cli.answers import print_answer
from webhook.cli.certs_target import cluster_options, refuse_with_folder
from webhook.cli.command import Command
from webhook.cli.options import answer_option
from webhook.cli.terminal import ExitCode, finish

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA = "evenkeel.dev/certs/v1"


@click.command(cls=Command, name="show")
@click.option(
    "--cert-dir", type=click.Path(path_type=Path), metavar="DIR", help="Folder to show, instead of a cluster."
)
@click.option(
    "--expires-within",
    type=click.IntRange(0, 36_500),
    default=0,
    metavar="DAYS",
    help="Also report certificates that expire within this many days.",
)
@answer_option()
@cluster_options
def command(
    *,
    cert_dir: Path | None,
    expires_within: int,
    form: str,
    context: str,
    namespace: str,
    secret: str,
    webhooks: str,
) -> None:
    """Show certificates, whether private keys belong to them, and whether they lead to the CA.

    Reads the Secret of a cluster, and whether its webhook configurations trust it, or with --cert-dir a
    folder (tls.crt and tls.key, ca.crt and ca.key if they exist).

    Exit codes: 0 nothing is wrong, 1 something is, 2 bad usage or files that cannot be read, 3 the cluster
    cannot be read.
    """
    now, margin = datetime.now(UTC), timedelta(days=expires_within)
    if cert_dir is not None:
        refuse_with_folder()
        found = _inspect_folder(cert_dir, now=now, margin=margin)
    else:
        from webhook.cert_rotation import cluster_objects
        from webhook.cli import live

        api = live.api_server(context)
        stored = cluster_objects.SecretStore(api, namespace, secret).read()
        found = cluster_objects.inspect_secret(
            stored, cluster_objects.read_configurations(api, webhooks), now=now, margin=margin
        )
    if form == "text":
        click.echo("\n".join(_text_lines(found)))
    else:
        print_answer(orjson.dumps({"schema": SCHEMA, **found}, option=orjson.OPT_INDENT_2), form)
    if found["problems"]:
        finish(ExitCode.FINDINGS)


def _inspect_folder(folder: Path, *, now: datetime, margin: timedelta) -> dict[str, Any]:
    """Inspect a folder, which may lack the CA, or only its key, as one from a cluster does.

    Raises:
        CertificateError: A file cannot be read.
    """
    from certs import inspect as certs_inspect
    from certs import keypair, keyring, store

    names = dict.fromkeys([keyring.SERVING_CERTIFICATE, keyring.SERVING_KEY, *store.existing_files(folder)])
    content = dict(zip(names, store.read_files(*(folder / name for name in names)), strict=True))
    pairs = ((keyring.SERVING_CERTIFICATE, keyring.SERVING_KEY), (keyring.CA_CERTIFICATE, keyring.CA_KEY))
    files = [
        certs_inspect.CertificateFile(
            source=str(folder / certificate),
            certificates=keypair.parse_certificates(content[certificate], str(folder / certificate)),
            key=keypair.parse_key(content[key], str(folder / key)) if key in content else None,
        )
        for certificate, key in pairs
        if certificate in content
    ]
    return certs_inspect.inspect(files, files[1].certificates if files[1:] else (), now=now, margin=margin)


def _text_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield an inspection for people: the fields of the JSON form that have a value."""
    for certificate in found["certificates"]:
        yield certificate["source"]
        for field, value in certificate.items():
            if field != "source" and value not in (None, ()):
                yield f"  {field:<14}{_text(value)}"
        yield ""
    yield from (f"problem: {problem}" for problem in found["problems"])
    if not found["problems"]:
        yield "No problems."


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
