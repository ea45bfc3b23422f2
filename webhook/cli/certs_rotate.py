"""``evenkeel certs rotate``: replace certificates before they are due, in a folder or in a cluster."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policies.manifests.words import plural
from webhook.cli.certs_target import cluster_options, refuse_with_folder, service_option, validity
from webhook.cli.command import Command

if TYPE_CHECKING:
    from certs import rotate
    from webhook.cert_rotation import reconcile


@click.command(cls=Command, name="rotate")
@click.option(
    "--cert-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder to rotate, instead of a cluster.",
)
@click.option("--ca", is_flag=True, help="Replace the CA too.")
@cluster_options
@service_option
@click.option("--create", is_flag=True, help="Create the Secret if it does not exist.")
@click.option(
    "--timeout",
    type=click.IntRange(0),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for API servers and replicas to follow.",
)
def command(
    *,
    cert_dir: Path | None,
    ca: bool,
    context: str,
    namespace: str,
    secret: str,
    webhooks: str,
    service: str,
    create: bool,
    timeout: int,
) -> None:
    """Issue a new serving certificate; with --ca, of a new CA.

    In a cluster (the default) this does what the leading replica does when the time has come, whether a
    server runs or not: no API server meets a certificate that it does not trust yet. With --ca a new CA is
    created, trusted everywhere, and signs then; the CA before it stays trusted until the next
    time.

    With --cert-dir, --ca adds a new CA to ca.crt, and the serving certificate stays. Give ca.crt to all
    clients (evenkeel certs inject); then rotate without --ca, and the new CA signs.

    Exit codes: 0 rotated, 2 bad usage or certificates that cannot be read or written, 3 the cluster cannot be
    reached, others do not follow in time, or the clock of this machine differs from the API server's by more
    than half an hour: what it issues might not be valid yet.
    """
    from certs import rotate

    demand = rotate.Demand.CA if ca else rotate.Demand.SERVING
    if cert_dir is not None:
        refuse_with_folder("service", "create")
        click.echo("\n".join(_rotate_folder(cert_dir, demand)))
        return
    from certs import names
    from webhook.cert_rotation import reconcile
    from webhook.cli import live

    target = names.Target(namespace=namespace, secret=secret, service=service, webhooks=webhooks)
    reconciler = reconcile.Reconciler(live.api_server(context), target, now=lambda: datetime.now(UTC))
    if not create:
        reconcile.require_secret(reconciler)
    observed = reconcile.rotate_on_demand(
        reconciler,
        demand,
        timeout_s=timeout,
        sleep=time.sleep,
        report=lambda line: click.echo(line, err=True),
    )
    click.echo("\n".join(_cluster_lines(observed)))


def _rotate_folder(folder: Path, demand: rotate.Demand) -> Iterator[str]:
    from certs import keyring, rotate, store

    held = store.rotate_folder(folder, demand, now=datetime.now(UTC))
    yield f"{folder / keyring.CA_CERTIFICATE}  trusts {_count(len(held.trusted))}"
    if held.serving:
        yield f"{folder / keyring.SERVING_CERTIFICATE}  serving certificate, {validity(held.serving)}"
    if demand is rotate.Demand.CA:
        quoted = shlex.quote(str(folder))
        yield "\nThe serving certificate is still that of the CA before, which ca.crt trusts too. Now:"
        yield f"  1. evenkeel certs inject --cert-dir {quoted}"
        yield f"  2. evenkeel certs rotate --cert-dir {quoted}"


def _cluster_lines(observed: reconcile.ObservedState) -> Iterator[str]:
    held, source = observed.keyring, observed.stored.source
    for what, pair in (("serving certificate", held.serving), ("CA", held.ca)):
        if pair:
            yield f"{source}: {what}, {validity(pair)}"
    for found in observed.configurations:
        trusts = "does not exist" if found.manifest is None else f"trusts {_count(len(held.trusted))}"
        yield f"{found.source}: {trusts}"


def _count(cas: int) -> str:
    return plural(cas, "CA")
