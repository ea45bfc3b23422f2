"""``evenkeel certs``: create a folder of certificates with ``init``; ``show``, ``rotate`` and ``inject``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from certs.clocks import CA_LIFETIME, SERVING_LIFETIME
from webhook.cli import certs_inject, certs_rotate, certs_show
from webhook.cli.command import CommandGroup

#: Days that a certificate may be valid: a hundred years at most, within what X.509 can write.
_DAYS = click.IntRange(1, 36_500)


@click.group(cls=CommandGroup, name="certs")
def command() -> None:
    """Create, show, rotate and publish the webhook's certificates."""


for subcommand in (certs_inject.command, certs_rotate.command, certs_show.command):
    command.add_command(subcommand)


@command.command(name="init")
@click.option(
    "--cert-dir", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Folder to write to."
)
@click.option(
    "--service",
    metavar="NAME",
    default="evenkeel",
    show_default=True,
    help='Service that clients call; "" for none.',
)
@click.option(
    "--namespace", metavar="NAME", default="evenkeel", show_default=True, help="Namespace of the Service."
)
@click.option("--dns", multiple=True, metavar="NAME", help="One more DNS name; may be repeated.")
@click.option("--ip", multiple=True, metavar="ADDRESS", help="One more IP address; may be repeated.")
@click.option(
    "--days",
    type=_DAYS,
    metavar="DAYS",
    default=SERVING_LIFETIME.days,
    show_default=True,
    help="Validity of the serving certificate.",
)
@click.option(
    "--ca-days",
    type=_DAYS,
    metavar="DAYS",
    default=CA_LIFETIME.days,
    show_default=True,
    help="Validity of a new CA.",
)
@click.option("--force", is_flag=True, help="Replace a serving certificate that is in the folder.")
def init(
    *,
    cert_dir: Path,
    service: str,
    namespace: str,
    dns: tuple[str, ...],
    ip: tuple[str, ...],
    days: int,
    ca_days: int,
    force: bool,
) -> None:
    """Create a certificate authority (CA) and a serving certificate signed by it.

    Writes ca.crt, ca.key, tls.crt and tls.key, the private keys readable by their owner alone. The serving
    certificate is valid for every name of the Service (NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc,
    NAME.NAMESPACE.svc.cluster.local) and for the names and addresses given besides.

    A CA that is in the folder is kept and signs, so that clients go on trusting it; a serving certificate is
    only replaced with --force. To replace the CA, see evenkeel certs rotate.

    Exit codes: 0 written, 2 bad usage or files that cannot be read or written.
    """
    from certs import keyring, store
    from certs import names as certs_names
    from webhook.cli import certs_target

    names = certs_names.parse_names(
        dns, ip, service=certs_names.Service(name=service, namespace=namespace) if service else None
    )
    ca, serving = store.create_folder(
        cert_dir,
        names,
        now=datetime.now(UTC),
        lifetime=timedelta(days=days),
        ca_lifetime=timedelta(days=ca_days),
        force=force,
    )
    click.echo(f"{cert_dir / keyring.CA_CERTIFICATE}  CA, {certs_target.validity(ca)}")
    click.echo(f"{cert_dir / keyring.CA_KEY}  its private key; the cluster does not need it, keep it safe")
    click.echo(
        f"{cert_dir / keyring.SERVING_CERTIFICATE}  serving certificate, {certs_target.validity(serving)}:"
    )
    click.echo("".join(f"    {name}\n" for name in serving.names), nl=False)
    click.echo(f"{cert_dir / keyring.SERVING_KEY}  its private key\n")
    if ca.not_after == serving.not_after:
        click.echo("The serving certificate is valid for less time than --days says: its CA expires then.")
    click.echo("\n".join(_next_lines(cert_dir, namespace)))


def _next_lines(folder: Path, namespace: str) -> Iterator[str]:
    """Yield the commands with which to use the files."""
    from certs import keyring

    ca, serving, key = (
        shlex.quote(str(folder / name))
        for name in (
            keyring.CA_CERTIFICATE,
            keyring.SERVING_CERTIFICATE,
            keyring.SERVING_KEY,
        )
    )
    yield f"caBundle:  base64 < {ca} | tr -d '\\n'"
    yield (
        f"secret:    kubectl create secret tls evenkeel-tls --namespace {shlex.quote(namespace)} "
        f"--cert {serving} --key {key}"
    )
    yield f"serve:     evenkeel serve --cert-dir {shlex.quote(str(folder))}"
