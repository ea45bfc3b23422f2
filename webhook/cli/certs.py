"""``evenkeel certs``: make a folder of certificates, and tell what certificates say; rotate and inject."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from certs import inspect, names, provision, store
from certs.ca import CA_LIFETIME
from certs.errors import MalformedError
from certs.issue import SERVING_LIFETIME
from certs.keypair import KeyPair
from policies.manifests.errors import UsageError
from webhook.cert_rotation.configurations import read_configurations
from webhook.cert_rotation.inspect import materials, trust_problems
from webhook.cert_rotation.secret import SecretStore
from webhook.cli import certs_inject, certs_json, certs_rotate
from webhook.cli.certs_target import cluster_options, target_of
from webhook.cli.live import api_server

#: Days that a certificate can be asked for, at most. Arbitrary: a hundred years, within what X.509 can write.
MAX_DAYS = 36_500
#: The file name that means standard input.
STDIN = "-"
#: How a certificate's answer to a yes-or-no question is shown; None means it was not asked.
ANSWERS = {True: "yes", False: "NO"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """The options of ``evenkeel certs init``, as click hands them over."""

    cert_dir: Path
    service: str
    namespace: str
    cluster_domain: str
    dns: tuple[str, ...]
    ip: tuple[str, ...]
    days: int
    ca_days: int | None
    reuse_ca: bool
    force: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """The options of ``evenkeel certs show``, as click hands them over."""

    files: tuple[str, ...]
    cert_dir: Path | None
    expires_within: int
    format: str
    context: str
    namespace: str | None
    secret: str | None
    webhooks: str | None

    def in_cluster(self) -> bool:
        """Tell whether an option was given that only a cluster has."""
        return bool(self.context or self.namespace or self.secret or self.webhooks)


@click.group(name="certs", help="Make certificates for the webhook, and look at them.")
def command() -> None:
    """Group the commands about certificates."""


command.add_command(certs_inject.command)
command.add_command(certs_rotate.command)


@command.command(name="init", short_help="Make an authority and a serving certificate.")
@click.option("--cert-dir", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option(
    "--service", default="evenkeel", show_default=True, help='Service that clients call; "" for none.'
)
@click.option("--namespace", default="evenkeel", show_default=True, help="Namespace of the Service.")
@click.option(
    "--cluster-domain", default=names.DEFAULT_CLUSTER_DOMAIN, show_default=True, help="Domain of cluster DNS."
)
@click.option("--dns", multiple=True, metavar="NAME", help="One more DNS name; may be given several times.")
@click.option(
    "--ip", multiple=True, metavar="ADDRESS", help="One more IP address; may be given several times."
)
@click.option(
    "--days",
    type=click.IntRange(1, MAX_DAYS),
    default=SERVING_LIFETIME.days,
    show_default=True,
    help="Validity of the serving certificate.",
)
@click.option(
    "--ca-days",
    type=click.IntRange(1, MAX_DAYS),
    help=f"Validity of a new authority.  [default: {CA_LIFETIME.days}]",
)
@click.option("--reuse-ca", is_flag=True, help="Sign with the authority that is in the folder.")
@click.option("--force", is_flag=True, help="Replace files that are in the folder.")
def init(**options: Any) -> None:
    """Make a certificate authority and a serving certificate signed by it.

    Writes ca.crt, ca.key, tls.crt and tls.key, the private keys readable by their owner alone. The serving
    certificate carries every name of the Service (NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc,
    NAME.NAMESPACE.svc.CLUSTER-DOMAIN) and the names and addresses given besides.

    Files that are already there are never replaced without --force. --reuse-ca keeps the authority of the
    folder and makes a new serving certificate only, so that clients go on trusting it; a new authority must
    be given to everybody who trusted the old one.
    """
    chosen = InitOptions(**options)
    if chosen.reuse_ca and chosen.ca_days is not None:
        raise UsageError("--ca-days is for a new authority; it does not go together with --reuse-ca")
    service = names.Service(
        name=chosen.service, namespace=chosen.namespace, cluster_domain=chosen.cluster_domain
    )
    request = provision.Request(
        names=names.parse_names(chosen.dns, chosen.ip, service=service if chosen.service else None),
        lifetime=timedelta(days=chosen.days),
        authority_lifetime=timedelta(days=chosen.ca_days or CA_LIFETIME.days),
        reuse_authority=chosen.reuse_ca,
        overwrite=chosen.force,
    )
    now = datetime.now(UTC)
    made = provision.provision(chosen.cert_dir, request, now=now)
    click.echo("\n".join(_made_lines(chosen, made, now=now)))


@command.command(name="show", short_help="Tell what certificates say and whether they are in order.")
@click.option("--cert-dir", type=click.Path(path_type=Path), help="Folder with tls.crt, tls.key and ca.crt.")
@click.option(
    "--expires-within",
    type=click.IntRange(0, MAX_DAYS),
    default=0,
    metavar="DAYS",
    help="Count a certificate that expires within so many days as a problem too.",
)
@click.option(
    "-o", "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
@cluster_options
@click.argument("files", nargs=-1, metavar="[FILE]...")
def show(**options: Any) -> None:
    """Tell what certificates say, whether keys fit, and whether everything leads to the authority.

    Reads the folder --cert-dir, or PEM files of certificates and private keys ("-" is standard input); among
    files, every key must fit a certificate, and every certificate must lead to an authority if one is given.
    With --secret, or any other option of a cluster, reads its Secret, and whether its webhook configurations
    trust what it holds. Exits with 1 when something is wrong with them, with 2 when they cannot be read, and
    with 3 when the cluster cannot.
    """
    chosen = ShowOptions(**options)
    if [chosen.cert_dir is not None, bool(chosen.files), chosen.in_cluster()].count(True) != 1:
        raise UsageError(
            "give either --cert-dir DIR, the files to show, or for a cluster's Secret --secret or -n"
        )
    now, margin = datetime.now(UTC), timedelta(days=chosen.expires_within)
    if chosen.in_cluster():
        report = _cluster_report(chosen, now=now, margin=margin)
    else:
        groups, authority_files = _folder(chosen.cert_dir) if chosen.cert_dir else _files(chosen.files)
        report = inspect.examine(groups, inspect.anchors(authority_files), now=now, margin=margin)
    if chosen.format == "json":
        click.echo(certs_json.render(report), nl=False)
    else:
        click.echo("\n".join(_shown_lines(report)))
    if report.problems:
        click.get_current_context().exit(1)


def _cluster_report(options: ShowOptions, *, now: datetime, margin: timedelta) -> inspect.Report:
    """Return what a cluster's Secret holds, and what is wrong with it and with who trusts it.

    Raises:
        ClusterError: The cluster cannot be asked.
    """
    place = target_of(namespace=options.namespace, secret=options.secret, webhooks=options.webhooks)
    api = api_server(options.context)
    stored = SecretStore(api, place.namespace, place.secret).read()
    configurations = read_configurations(api, place.webhooks)
    keyring = stored.keyring
    report = inspect.examine(materials(keyring, stored.source), keyring.bundle(now), now=now, margin=margin)
    found = trust_problems(keyring, stored.source, configurations, now)
    return replace(report, problems=(*report.problems, *found))


def _folder(folder: Path) -> tuple[list[list[inspect.Material]], list[inspect.Material]]:
    """Return what a folder holds: each certificate with its key, and which file says whom to trust."""

    def material(name: str) -> inspect.Material:
        return inspect.parse_material(store.read_file(folder / name), str(folder / name))

    existing = store.existing_files(folder)
    serving = [material(store.SERVING_CERTIFICATE), material(store.SERVING_KEY)]
    authority = [
        material(name)
        for name in (store.AUTHORITY_CERTIFICATE, store.AUTHORITY_KEY)
        if name in existing  # a folder from a cluster has no ca.key, and maybe no ca.crt
    ]
    return [serving, authority], [found for found in authority if found.certificates]


def _files(paths: tuple[str, ...]) -> tuple[list[list[inspect.Material]], list[inspect.Material]]:
    """Return what some files hold, as one group, and which of them begin with an authority."""
    materials = [
        inspect.parse_material(sys.stdin.buffer.read(store.MAX_FILE_BYTES), "standard input")
        if path == STDIN
        else inspect.parse_material(store.read_file(Path(path)), path)
        for path in paths
    ]
    if not any(material.certificates for material in materials):
        raise MalformedError(
            f"{', '.join(paths)}: no certificate among them; add the one that belongs to the key"
        )
    return [materials], [material for material in materials if inspect.begins_with_authority(material)]


def _made_lines(options: InitOptions, made: provision.Provisioned, *, now: datetime) -> Iterator[str]:
    """Tell what was made and what to do with it."""
    folder = options.cert_dir
    quoted = {name: shlex.quote(str(folder / name)) for name in store.FILE_NAMES}
    reused = made.action is provision.Action.ISSUE_SERVING
    kept = " (kept)" if reused else ""
    yield f"{folder / store.AUTHORITY_CERTIFICATE}  authority, {_validity(made.authority, now=now)}{kept}"
    if not reused:
        yield f"{folder / store.AUTHORITY_KEY}  its private key; the cluster does not need it, keep it safe"
    yield f"{folder / store.SERVING_CERTIFICATE}  serving certificate, {_validity(made.serving, now=now)}:"
    yield from (f"    {name}" for name in made.serving.names)
    yield f"{folder / store.SERVING_KEY}  its private key"
    yield ""
    if made.serving.not_after < (now + timedelta(days=options.days)).replace(microsecond=0):
        yield "The serving certificate is valid for less time than asked for: its authority ends then."
    if not reused and options.force:
        yield "The authority is new: give its caBundle to every webhook configuration that trusted another."
    yield f"caBundle:  base64 < {quoted[store.AUTHORITY_CERTIFICATE]} | tr -d '\\n'"
    yield (
        f"secret:    kubectl create secret tls evenkeel-tls --namespace {shlex.quote(options.namespace)} "
        f"--cert {quoted[store.SERVING_CERTIFICATE]} --key {quoted[store.SERVING_KEY]}"
    )
    yield f"serve:     evenkeel serve --cert-dir {shlex.quote(str(folder))}"


def _validity(pair: KeyPair, *, now: datetime) -> str:
    return f"valid until {pair.not_after:%Y-%m-%d} ({round((pair.not_after - now) / timedelta(days=1))} days)"


def _shown_lines(report: inspect.Report) -> Iterator[str]:
    """Render a report for people."""
    for description in report.certificates:
        yield description.source
        for label, value in _fields(description):
            yield f"  {label:<12}{value}"
        yield ""
    yield from (f"problem: {problem}" for problem in report.problems)
    if not report.problems:
        yield "No problems."


def _fields(description: inspect.Description) -> Iterator[tuple[str, str]]:
    left = f"{description.days_left} days left" if description.days_left >= 0 else "EXPIRED"
    yield "subject", description.subject
    yield "issuer", description.issuer
    if description.dns_names or description.ip_addresses:
        yield "names", ", ".join((*description.dns_names, *description.ip_addresses))
    yield "valid", f"{_moment(description.not_before)} to {_moment(description.not_after)}, {left}"
    yield "key", description.key_type
    if description.key_fits is not None:
        yield "key fits", ANSWERS[description.key_fits]
    yield "authority", ANSWERS[True] if description.authority else "no"
    if description.chains is not None:
        yield "trusted", ANSWERS[description.chains]
    yield "SHA-256", description.sha256


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
