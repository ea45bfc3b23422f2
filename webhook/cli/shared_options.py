"""``evenkeel options``: the options that many commands have, each described once."""

from __future__ import annotations

import click

from policies.model.version import KNOWN_VERSION
from webhook.cli.certs_target import secret_option, webhooks_option
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
    version = f"Kubernetes version of the scheduler.  [default: the live cluster's, else {KNOWN_VERSION}]"
    shared = (
        context_option(), *SERVICE_OPTIONS, kubernetes_version_option(version), scheduler_config_option(),
        workload_kind_option(), DEFAULTS_OPTION, all_namespaces_option, FAIL_ON_SKIPPED_OPTION, secret_option,
        webhooks_option,
    )  # fmt: skip
    described = click.command()(with_options(lambda: None, shared))
    records = [
        option.get_help_record(context) for option in described.params if isinstance(option, SharedOption)
    ]
    formatter = context.make_formatter()
    formatter.write_dl([record for record in records if record is not None])
    click.echo(formatter.getvalue(), nl=False)
