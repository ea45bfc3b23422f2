"""The parts that commands about certificates share: options that name a cluster's certificates, and words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from certs.names import Target
from policies.manifests.errors import UsageError
from webhook.cli.command import SharedOption, is_given
from webhook.cli.options import context_option, with_options

if TYPE_CHECKING:
    from certs.keypair import KeyPair


_Command = TypeVar("_Command", bound=Callable[..., Any])

_DEFAULT: Final = Target()


def _name(
    *option: str,
    default: str,
    help: str,  # noqa: A002  # as click's
    cls: type[click.Option] = click.Option,
) -> Callable[[_Command], _Command]:
    return click.option(*option, cls=cls, metavar="NAME", default=default, show_default=True, help=help)


secret_option = _name(
    "--secret", default=_DEFAULT.secret, help="Secret with the certificate.", cls=SharedOption
)
webhooks_option = _name(
    "--webhooks", default=_DEFAULT.webhooks, help="Name of both webhook configurations.", cls=SharedOption
)
_OPTIONS: Final = (
    context_option(),
    _name("-n", "--namespace", default=_DEFAULT.namespace, help="Namespace of the Secret."),
    secret_option,
    webhooks_option,
)
service_option = _name("--service", default=_DEFAULT.service, help="Service that the certificate is for.")


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a cluster and its certificates."""
    return with_options(function, _OPTIONS)


def refuse_with_folder(*parameters: str) -> None:
    """Make sure that no option of a cluster was given besides --cert-dir.

    Args:
        *parameters: The command's own options of a cluster.

    Raises:
        UsageError: One was.
    """
    if is_given("context", "namespace", "secret", "webhooks", *parameters):
        raise UsageError("--cert-dir names a folder: it may not be given with options of a cluster")


def validity(pair: KeyPair) -> str:
    """Return until when a certificate is valid, in words."""
    days = round((pair.not_after - datetime.now(UTC)) / timedelta(days=1))
    return f"valid until {pair.not_after:%Y-%m-%d} ({days} days)"
