"""``evenkeel options``: the options that many commands have, each described once."""

from __future__ import annotations

from collections.abc import Iterator

import click

from webhook.cli.command import Command, SharedOption
from webhook.cli.manifest_options import FAIL_ON_SKIPPED_OPTION
from webhook.cli.options import (
    all_namespaces_option,
    context_option,
    kubernetes_version_option,
    scheduler_config_option,
    with_options,
    workload_kind_option,
)
from webhook.cli.placement_options import DEFAULTS_OPTION, SERVICE_OPTIONS


@click.command(cls=Command)
@click.pass_context
def command(context: click.Context) -> None:
    """List the options that many commands have: which live cluster, what its scheduler goes by, and more.

    A command that has one of them names it at the end of its help.
    """
    formatter = context.make_formatter()
    formatter.write_dl(list(records(context)))
    click.echo(formatter.getvalue(), nl=False)


def records(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the shared options, each as its name and value, and what it means."""
    from webhook.cli import certs_target

    shared = (
        context_option(), *SERVICE_OPTIONS, kubernetes_version_option(), scheduler_config_option(),
        workload_kind_option(), DEFAULTS_OPTION, all_namespaces_option, FAIL_ON_SKIPPED_OPTION,
        certs_target.secret_option, certs_target.webhooks_option,
    )  # fmt: skip
    for option in click.command()(with_options(lambda: None, shared)).params:
        record = option.get_help_record(context)
        if record is not None and isinstance(option, SharedOption):
            yield record
