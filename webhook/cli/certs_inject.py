"""``evenkeel certs inject``: tell webhook configurations whom to trust, in a cluster or in a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
from cryptography import x509

from certs import pem, store
from certs.ca import is_ca
from certs.errors import CAError
from policies.manifests.errors import UsageError
from webhook.cert_rotation.configurations import Configuration, publish, read_configurations
from webhook.cert_rotation.manifests import inject_manifest
from webhook.cert_rotation.reconcile import Target
from webhook.cert_rotation.secret import SecretStore
from webhook.cli.certs_target import cluster_options, target_of
from webhook.cli.live import api_server
from webhook.kube.api_server import ApiError, ApiServer, ClusterError
from webhook.lint.texts import read_text

#: How often a configuration is read anew because somebody else was faster. Arbitrary.
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectOptions:
    """The options of ``evenkeel certs inject``, as click hands them over."""

    cert_dir: Path | None
    ca_file: Path | None
    filename: str | None
    context: str
    namespace: str | None
    secret: str | None
    webhooks: str | None

    def place(self) -> Target:
        """Return where the cluster has its certificates."""
        return target_of(namespace=self.namespace, secret=self.secret, webhooks=self.webhooks)


@click.command(name="inject", short_help="Tell webhook configurations whom to trust.")
@click.option("--cert-dir", type=click.Path(path_type=Path), help="Folder whose ca.crt to trust.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="PEM file of the authorities to trust.")
@click.option("-f", "--filename", metavar="FILE", help='Manifest to print with them; "-" is standard input.')
@cluster_options
def command(**options: Any) -> None:
    """Put authorities into the caBundle of both webhook configurations, and take all others out.

    The authorities are those of --cert-dir, of --ca-file, or of the cluster's Secret. The configurations are
    the cluster's, or with -f those of a manifest, which is printed with comments and order kept.
    """
    chosen = InjectOptions(**options)
    if len([source for source in (chosen.cert_dir, chosen.ca_file, chosen.secret) if source]) > 1:
        raise UsageError("give only one of --cert-dir, --ca-file and --secret")
    api = None
    if chosen.filename is None or not (chosen.cert_dir or chosen.ca_file):
        api = api_server(chosen.context)
    bundle = _bundle(chosen, api)
    if chosen.filename is not None:
        text = read_text(chosen.filename, named=True)
        click.echo(inject_manifest(text.content, text.file, bundle, name=chosen.webhooks or ""), nl=False)
    elif api is not None:
        _inject_cluster(api, chosen.place().webhooks, bundle)


def _bundle(options: InjectOptions, api: ApiServer | None) -> tuple[x509.Certificate, ...]:
    """Return whom to trust.

    Raises:
        CertificateError: A file says nobody.
        ClusterError: The cluster's Secret says nobody.
    """
    file = options.cert_dir / store.AUTHORITY_CERTIFICATE if options.cert_dir else options.ca_file
    if file is not None:
        certificates = pem.parse_certificates(store.read_file(file), str(file))
        with pem.reading(str(file), what="certificate"):
            if not all(map(is_ca, certificates)):
                raise CAError(f"{file}: holds a certificate that is no authority")
        return certificates
    if api is None:
        return ()
    place = options.place()
    keyring = SecretStore(api, place.namespace, place.secret).read().keyring
    bundle = keyring.bundle(datetime.now(UTC))
    if not bundle:
        raise ClusterError("; ".join(keyring.problems) or f"Secret {place.secret}: no authority is valid")
    return bundle


def _inject_cluster(api: ApiServer, name: str, bundle: tuple[x509.Certificate, ...]) -> None:
    found = read_configurations(api, name)
    if all(configuration.manifest is None for configuration in found):
        raise ClusterError(f"there are no webhook configurations called {name}; --webhooks says which")
    for number, configuration in enumerate(found):
        if configuration.manifest is None:
            click.echo(f"{configuration.source}: does not exist", err=True)
            continue
        state = "changed" if _injected(api, configuration, number, bundle) else "unchanged"
        click.echo(f"{configuration.source}: {state}, trusts {len(bundle)}")


def _injected(
    api: ApiServer, configuration: Configuration, number: int, bundle: tuple[x509.Certificate, ...]
) -> bool:
    """Publish to one configuration, also if others write it meanwhile; return whether it had to be."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return publish(api, configuration, bundle) is not configuration
        except ApiError as error:
            if attempt == _ATTEMPTS or not error.conflict:
                raise
            configuration = read_configurations(api, configuration.name)[number]
    return False
