"""``evenkeel certs inject``: set the caBundle of webhook configurations, in a cluster or in a manifest."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certs.errors import CertificateError
from policies.manifests.errors import UsageError
from webhook.cli.certs_target import cluster_options
from webhook.cli.command import Command, is_given

if TYPE_CHECKING:
    from cryptography import x509

    from webhook.kube import api_server as kube_api_server


@click.command(cls=Command, name="inject")
@click.option(
    "--cert-dir", type=click.Path(path_type=Path), metavar="DIR", help="Folder whose ca.crt to trust."
)
@click.option(
    "--ca-file", type=click.Path(path_type=Path), metavar="FILE", help="PEM file of the CAs to trust."
)
@click.option("-f", "--file", metavar="FILE", help="Manifest to print with it, - for stdin.")
@cluster_options
def command(
    *,
    cert_dir: Path | None,
    ca_file: Path | None,
    file: str | None,
    context: str,
    namespace: str,
    secret: str,
    webhooks: str,
) -> None:
    """Set the caBundle of both webhook configurations to some CAs, and remove all others.

    The CAs are those of --cert-dir, of --ca-file, or of the cluster's Secret. The configurations are the
    cluster's, or with -f those of a manifest, which is printed with comments and order kept.

    Exit codes: 0 written, 2 bad usage or files that cannot be read, 3 the cluster cannot be read or changed.
    """
    if [bool(cert_dir), bool(ca_file), is_given("secret")].count(True) > 1:
        raise UsageError("give only one of --cert-dir, --ca-file and --secret")
    from certs import keyring
    from webhook.cli import live

    trusted = cert_dir / keyring.CA_CERTIFICATE if cert_dir else ca_file
    bundle = _read_file(trusted) if trusted else _read_secret(live.api_server(context), namespace, secret)
    if file is None:
        _inject_cluster(live.api_server(context), webhooks, bundle)
        return
    from webhook.cert_rotation import cluster_objects
    from webhook.lint import files

    text = files.read_text(file, named=True)
    name = webhooks if is_given("webhooks") else ""
    click.echo(cluster_objects.inject_manifest(text.content, text.file, bundle, name=name), nl=False)


def _read_file(file: Path) -> tuple[x509.Certificate, ...]:
    """Return the CAs of a file.

    Raises:
        CertificateError: It holds none, or something else.
    """
    from certs import ca, keypair, store

    certificates = keypair.parse_certificates(store.read_file(file), str(file))
    if not all(map(ca.is_ca, certificates)):
        raise CertificateError(f"{file}: holds a certificate that is not a CA")
    return certificates


def _read_secret(api: kube_api_server.ApiServer, namespace: str, secret: str) -> tuple[x509.Certificate, ...]:
    """Return the CAs of the cluster's Secret.

    Raises:
        ClusterError: It holds none that is valid.
    """
    from webhook.cert_rotation import cluster_objects

    stored = cluster_objects.SecretStore(api, namespace, secret).read()
    if bundle := stored.keyring.bundle(datetime.now(UTC)):
        return bundle
    from webhook.kube import api_server as kube_api_server

    raise kube_api_server.ClusterError(
        "; ".join(stored.keyring.problems) or f"{stored.source}: no CA is valid"
    )


def _inject_cluster(api: kube_api_server.ApiServer, name: str, bundle: tuple[x509.Certificate, ...]) -> None:
    from webhook.cert_rotation import cluster_objects

    found = cluster_objects.read_configurations(api, name)
    if all(configuration.manifest is None for configuration in found):
        from webhook.kube import api_server as kube_api_server

        raise kube_api_server.ClusterError(
            f"there are no webhook configurations named {name}; see --webhooks"
        )
    for configuration in found:
        if configuration.manifest is None:
            click.echo(f"{configuration.source}: does not exist", err=True)
            continue
        state = (
            "unchanged" if cluster_objects.publish(api, configuration, bundle) is configuration else "changed"
        )
        click.echo(f"{configuration.source}: {state}, trusts {len(bundle)}")
