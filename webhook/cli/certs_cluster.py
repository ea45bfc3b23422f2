"""What the commands about certificates share: the options that name a cluster's certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from webhook.vouching.rotation import Place

if TYPE_CHECKING:
    from webhook.cluster.connection import ApiServer

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: The names that our own manifests give.
DEFAULT: Final = Place(namespace="evenkeel")


def cluster_options(function: _Command) -> _Command:
    """Add the options that say which cluster, and where in it the certificates are."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def connected(context: str) -> ApiServer:
    """Return the cluster of a context; nothing is sent to it yet.

    Raises:
        KubeconfigError: There is no description of a cluster, or it cannot be used.
    """
    # The client takes half a second to import, which what is done in folders need not wait for.
    from webhook.cluster.live import connect  # noqa: PLC0415

    return connect(context)


def place_of(
    *, namespace: str | None, secret: str | None, webhooks: str | None, service: str | None = None
) -> Place:
    """Return where a cluster has its certificates, with our manifests' names for what is not given."""
    return Place(
        namespace=namespace or DEFAULT.namespace,
        secret=secret or DEFAULT.secret,
        webhooks=webhooks or DEFAULT.webhooks,
        service=service or DEFAULT.service,
    )


_OPTIONS: Final = (
    click.option(
        "--context", default="", metavar="NAME", help="Context of the kubeconfig.  [default: its current one]"
    ),
    click.option(
        "-n", "--namespace", metavar="NAME", help=f"Namespace of the Secret.  [default: {DEFAULT.namespace}]"
    ),
    click.option("--secret", metavar="NAME", help=f"The cluster's Secret.  [default: {DEFAULT.secret}]"),
    click.option(
        "--webhooks",
        metavar="NAME",
        help=f"Name of both webhook configurations.  [default: {DEFAULT.webhooks}]",
    ),
)
