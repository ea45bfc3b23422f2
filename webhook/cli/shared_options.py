"""``evenkeel options``: the options that many commands have, each described once."""

from __future__ import annotations

import click

from policies.model.version import KNOWN_VERSION
from webhook.cli.command import Command, SharedOption
from webhook.cli.options import (
    context_option,
    kubernetes_version_option,
    scheduler_config_option,
    with_options,
    workload_kind_option,
)
from webhook.cli.placement_options import SERVICE_OPTIONS


@click.command(cls=Command)
@click.pass_context
def command(context: click.Context) -> None:
    """List the options that many commands have: which live cluster, and what its scheduler goes by.

    A command that has one of them names it at the end of its help.
    """
    version = f"Kubernetes version of the scheduler.  [default: the live cluster's, else {KNOWN_VERSION}]"
    shared = (
        context_option(), *SERVICE_OPTIONS, kubernetes_version_option(version), scheduler_config_option(),
        workload_kind_option(),
    )  # fmt: skip
    described = click.command()(with_options(lambda: None, shared))
    records = [
        option.get_help_record(context) for option in described.params if isinstance(option, SharedOption)
    ]
    formatter = context.make_formatter()
    formatter.write_dl([record for record in records if record is not None])
    click.echo(formatter.getvalue(), nl=False)
