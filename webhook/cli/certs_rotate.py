"""``evenkeel certs rotate``: replace certificates before they are due, in a folder or in a cluster."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click

from certs import store
from certs.keypair import KeyPair
from certs.renew import Renewed, renew_authority, renew_serving
from certs.rotate import Demand
from policies.manifests.errors import UsageError
from webhook.cert_rotation.manual import require_secret, rotate
from webhook.cert_rotation.reconcile import ObservedState, Reconciler
from webhook.cli.certs_target import cluster_options, target_of
from webhook.cli.live import api_server

#: Seconds to wait, by default: a minute for replicas to follow, and some for API servers.
_PATIENCE_S: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateOptions:
    """The options of ``evenkeel certs rotate``, as click hands them over."""

    cert_dir: Path | None
    authority: bool
    context: str
    namespace: str | None
    secret: str | None
    webhooks: str | None
    service: str | None
    create: bool
    timeout: int

    def in_cluster(self) -> bool:
        """Tell whether an option was given that only a cluster has."""
        return bool(
            self.context or self.namespace or self.secret or self.webhooks or self.service or self.create
        )


@click.command(name="rotate", short_help="Replace certificates before they are due.")
@click.option("--cert-dir", type=click.Path(path_type=Path), help="Folder to renew, instead of a cluster.")
@click.option("--authority", is_flag=True, help="Replace the authority too.")
@cluster_options
@click.option("--service", metavar="NAME", help="Service that the certificate is for.  [default: evenkeel]")
@click.option("--create", is_flag=True, help="Make a Secret that is not there.")
@click.option(
    "--timeout",
    type=click.IntRange(0),
    default=_PATIENCE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for others to follow.",
)
def command(**options: Any) -> None:
    """Issue a new serving certificate, and with --authority replace who signs it.

    In a cluster (the default) this does what the leading replica does when the time has come, whether a
    server runs or not: nobody is given a certificate that API servers do not trust yet. With --authority the
    standby, which they trust already, becomes active, and a new standby is made; the old authority stays
    trusted until the next time.

    With --cert-dir, --authority puts a new authority in front of the old one in ca.crt, and what is served
    stays. Give ca.crt to everybody who trusts (evenkeel certs inject); then the next rotation is signed by
    the new authority.

    Exits with 2 when certificates cannot be read or written, and with 3 when the cluster cannot be asked,
    others do not follow in time, or the clock of this machine differs from the API server's by more than
    half an hour: what it issued might not be valid yet.
    """
    chosen = RotateOptions(**options)
    if chosen.cert_dir is not None:
        if chosen.in_cluster():
            raise UsageError("--cert-dir is for a folder; it does not go together with options of a cluster")
        click.echo("\n".join(_rotate_folder(chosen.cert_dir, chosen)))
        return
    place = target_of(
        namespace=chosen.namespace, secret=chosen.secret, webhooks=chosen.webhooks, service=chosen.service
    )
    rotation = Reconciler(api_server(chosen.context), place, now=lambda: datetime.now(UTC))
    if not chosen.create:
        # A name that was mistyped would get keys of its own, and be trusted.
        require_secret(rotation)
    view = rotate(
        rotation,
        Demand.AUTHORITY if chosen.authority else Demand.LEAF,
        patience_s=chosen.timeout,
        wait=time.sleep,
        tell=lambda line: click.echo(line, err=True),
    )
    click.echo("\n".join(_cluster_lines(view)))


def _rotate_folder(folder: Path, options: RotateOptions) -> Iterator[str]:
    now = datetime.now(UTC)
    if not options.authority:
        yield from _folder_lines(folder, renew_serving(folder, now=now))
        return
    yield from _folder_lines(folder, renew_authority(folder, now=now))
    quoted = shlex.quote(str(folder))
    yield ""
    yield "The serving certificate is still the old authority's, which ca.crt trusts too. Now:"
    yield f"  1. evenkeel certs inject --cert-dir {quoted}"
    yield f"  2. evenkeel certs rotate --cert-dir {quoted}"


def _folder_lines(folder: Path, renewed: Renewed) -> Iterator[str]:
    yield f"{folder / store.AUTHORITY_CERTIFICATE}  {_authorities(len(renewed.trusted))}"
    yield f"{folder / store.SERVING_CERTIFICATE}  serving certificate, {_validity(renewed.serving)}"


def _cluster_lines(view: ObservedState) -> Iterator[str]:
    keyring = view.keyring
    if keyring.serving and keyring.active and keyring.standby:
        yield f"{view.stored.source}: serving certificate, {_validity(keyring.serving)}"
        yield f"{view.stored.source}: active authority, {_validity(keyring.active)}"
        yield f"{view.stored.source}: standby authority, {_validity(keyring.standby)}"
    for configuration in view.configurations:
        trusts = "does not exist" if configuration.manifest is None else _authorities(len(keyring.trusted))
        yield f"{configuration.source}: {trusts}"


def _authorities(count: int) -> str:
    return f"trusts {count} {'authority' if count == 1 else 'authorities'}"


def _validity(pair: KeyPair) -> str:
    days = round((pair.not_after - datetime.now(UTC)) / timedelta(days=1))
    return f"valid until {pair.not_after:%Y-%m-%d} ({days} days)"
