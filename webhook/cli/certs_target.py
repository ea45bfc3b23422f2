"""What the commands about certificates share: the options that name a cluster's certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from webhook.cert_rotation.reconcile import Target
from webhook.cli.live import context_option

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: The names that our own manifests give.
DEFAULT: Final = Target(namespace="evenkeel")


def cluster_options(function: _Command) -> _Command:
    """Add the options that say which cluster, and where in it the certificates are."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def target_of(
    *, namespace: str | None, secret: str | None, webhooks: str | None, service: str | None = None
) -> Target:
    """Return where a cluster has its certificates, with our manifests' names for what is not given."""
    return Target(
        namespace=namespace or DEFAULT.namespace,
        secret=secret or DEFAULT.secret,
        webhooks=webhooks or DEFAULT.webhooks,
        service=service or DEFAULT.service,
    )


_OPTIONS: Final = (
    context_option(),
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
