"""``evenkeel doctor``: diagnoses an installation in a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import click

from policies.manifests.errors import UsageError
from webhook.cli.answers import print_answer
from webhook.cli.certs_target import webhooks_option
from webhook.cli.command import Command
from webhook.cli.options import answer_option, context_option
from webhook.cli.terminal import ExitCode, finish
from webhook.distribution import release

#: Seconds for everything that the API server itself answers. Counting the pods of a large cluster takes most.
_TIMEOUT_S: Final = 30
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
    default=_TIMEOUT_S,
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
    from certs import names as certs_names
    from webhook.cli import live
    from webhook.doctor import collect as doctor_collect
    from webhook.doctor import diagnosis as doctor_diagnosis
    from webhook.doctor import observations

    # Names of configurations may have dots.
    labels = {"--namespace": [namespace], "--service": [service], "--webhooks": webhooks.split(".")}
    for option, parts in labels.items():
        if not all(map(certs_names.LABEL.fullmatch, parts)):
            given = ".".join(parts)[:80]
            raise UsageError(
                f'{option}: Invalid value: "{given}": must be lower case letters, digits and hyphens'
            )
    names = observations.InstallationNames(namespace=namespace, service=service, webhooks=webhooks)
    api = live.api_server(chosen)
    observed = doctor_collect.collect(
        api, names, now=datetime.now(UTC), tool_version=release(), timeout_s=timeout
    )
    diagnosis = doctor_diagnosis.diagnose(observed, api.url)
    if form == "text":
        click.echo(doctor_diagnosis.render_text(diagnosis), nl=False)
    else:
        print_answer(doctor_diagnosis.render_json(diagnosis), form)
    if diagnosis.count(observations.CheckStatus.PROBLEM):
        finish(ExitCode.FINDINGS)
    finish(ExitCode.CANNOT_RUN if diagnosis.blind else ExitCode.CLEAN)
