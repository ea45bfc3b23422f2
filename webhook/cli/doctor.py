"""``evenkeel doctor``: what is wrong with an installation in a cluster."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

import click

from certs.names import LABEL
from policies.manifests.errors import UsageError
from webhook.cli.live import api_server, context_option
from webhook.doctor import json_report, text_report
from webhook.doctor.diagnosis import diagnose
from webhook.doctor.facts import Names
from webhook.doctor.finding import Status
from webhook.doctor.gathering import PATIENCE_S, gather

#: Exit codes: no problem, problems, the cluster tells nothing; ``main`` has those of errors.
HEALTHY, PROBLEMS, CANNOT_RUN = 0, 1, 3

#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES: Final = """\b
evenkeel doctor
kubectl evenkeel doctor --context production -o json | jq '.findings[] | select(.status == "problem")'
"""


@click.command(epilog=_EXAMPLES)
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
@click.option(
    "--webhooks",
    default="evenkeel",
    show_default=True,
    metavar="NAME",
    help="Name of both webhook configurations.",
)
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=int(PATIENCE_S),
    show_default=True,
    metavar="SECONDS",
    help="How long to read the cluster, at most.",
)
@click.option(
    "-o", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Report for people or for programs.",
)  # fmt: skip
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    chosen: str,
    namespace: str,
    service: str,
    webhooks: str,
    timeout: int,
    form: str,
) -> None:
    """Look at an installation in a cluster and say what is wrong with it.

    Reads with your own credentials and changes nothing. What you may not read is skipped, and said: the
    reasons come with each check. A line that begins with "do:" is what to type.

    Exit codes: 0 no problem (there may be warnings), 1 problems, 2 bad usage, 3 the cluster cannot be
    reached, or you may read nothing of it.
    """
    # Names of configurations may have dots.
    labels = {"--namespace": [namespace], "--service": [service], "--webhooks": webhooks.split(".")}
    for option, parts in labels.items():
        if not all(map(LABEL.fullmatch, parts)):
            given = ".".join(parts)[:80]
            raise UsageError(f"{option}: must be lower case letters, digits and hyphens, got {given!r}")
    names = Names(namespace=namespace, service=service, webhooks=webhooks)
    api = api_server(chosen)
    facts = gather(api, names, now=datetime.now(UTC), tool_version=version("evenkeel"), patience_s=timeout)
    diagnosis = diagnose(facts, api.url)
    if form == "json":
        click.echo(json_report.render(diagnosis), nl=False)
    else:
        color = sys.stdout.isatty() and context.color is not False
        click.echo(text_report.render(diagnosis, color=color), nl=False)
    if diagnosis.count(Status.PROBLEM):
        context.exit(PROBLEMS)
    if diagnosis.blind:
        context.exit(CANNOT_RUN)
    context.exit(HEALTHY)
