"""``evenkeel doctor``: diagnoses an installation in a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

import click

from certs.names import LABEL
from policies.manifests.errors import UsageError
from webhook.cli.answers import print_answer
from webhook.cli.certs_target import webhooks_option
from webhook.cli.command import Command
from webhook.cli.live import api_server
from webhook.cli.options import answer_option, context_option
from webhook.cli.terminal import ExitCode, finish
from webhook.doctor import report
from webhook.doctor.check_result import CheckStatus
from webhook.doctor.collect import TIMEOUT_S, collect
from webhook.doctor.diagnosis import diagnose
from webhook.doctor.observations import InstallationNames

_EXAMPLES: Final = """\
evenkeel doctor
kubectl evenkeel doctor --context production -o json | jq '.findings[] | select(.status == "problem")'
"""


@click.command(cls=Command, examples=_EXAMPLES)
@context_option("chosen")
@click.option(
    "-n", "--namespace", default="evenkeel", show_default=True, metavar="NAME", help="Namespace of Evenkeel."
)
@click.option(
    "--service",
    default="evenkeel",
    show_default=True,
    metavar="NAME",
    help="Service that the API server calls.",
)
@webhooks_option
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=int(TIMEOUT_S),
    show_default=True,
    metavar="SECONDS",
    help="Time that the API server has for all its answers.",
)
@answer_option()
def command(
    *,
    chosen: str,
    namespace: str,
    service: str,
    webhooks: str,
    timeout: int,
    form: str,
) -> None:
    """Diagnose an Evenkeel installation.

    Reads with your own credentials and changes nothing; a dry run of a Deployment shows whether the webhooks
    are called. Checks that need what you cannot read are skipped, with the reason. A line that begins with
    "do:" is what to do about a problem.

    Exit codes: 0 no problem (there may be warnings), 1 problems, 2 bad usage, 3 the cluster cannot be
    reached or nothing of the installation can be read.
    """
    # Names of configurations may have dots.
    labels = {"--namespace": [namespace], "--service": [service], "--webhooks": webhooks.split(".")}
    for option, parts in labels.items():
        if not all(map(LABEL.fullmatch, parts)):
            given = ".".join(parts)[:80]
            raise UsageError(
                f'{option}: Invalid value: "{given}": must be lower case letters, digits and hyphens'
            )
    names = InstallationNames(namespace=namespace, service=service, webhooks=webhooks)
    api = api_server(chosen)
    observed = collect(api, names, now=datetime.now(UTC), tool_version=version("evenkeel"), timeout_s=timeout)
    diagnosis = diagnose(observed, api.url)
    if form == "text":
        click.echo(report.render_text(diagnosis), nl=False)
    else:
        print_answer(report.render_json(diagnosis).encode(), form)
    if diagnosis.count(CheckStatus.PROBLEM):
        finish(ExitCode.FINDINGS)
    finish(ExitCode.CANNOT_RUN if diagnosis.blind else ExitCode.CLEAN)
