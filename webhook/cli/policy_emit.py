"""``evenkeel policy emit``: SpreadPolicy documents as policies that the API server itself evaluates."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from policies.config.controllers import TRUSTED_CONTROLLERS, parse_trusted_controllers
from policies.config.loader import load_policies
from policies.emit.emit import emit
from policies.emit.emitted import PolicyKind
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.reports.policy import emit_json as json_report
from policies.reports.policy import emit_yaml as yaml_report
from webhook.cli.command import Command
from webhook.cli.completing import complete_policies
from webhook.lint.files import read_text

#: Exit codes: policies were emitted, there was nothing to emit.
EMITTED, NOTHING = 0, 1


@click.command(cls=Command, name="emit", short_help="Write policies that the API server itself evaluates.")
@click.argument("files", nargs=-1, required=True, shell_complete=complete_policies)
@click.option(
    "--as", "kind", type=click.Choice([str(kind) for kind in PolicyKind]), required=True,
    help="vap: ValidatingAdmissionPolicy, for the rules. map: MutatingAdmissionPolicy, for the default"
    " constraints of workloads.",
)  # fmt: skip
@click.option(
    "--kubernetes-version", default=str(KNOWN_VERSION), metavar="VERSION", show_default=True,
    help="Kubernetes version of the cluster.",
)  # fmt: skip
@click.option(
    "--trusted-controller", multiple=True, default=TRUSTED_CONTROLLERS, metavar="USER", show_default=True,
    help="Service account that is believed about the custom resource that owns what it sends, as for"
    " evenkeel serve; may be repeated, and an empty one names none.",
)  # fmt: skip
@click.option("-o", "--format", "report", type=click.Choice(["yaml", "json"]), default="yaml")
@click.pass_context
def command(
    context: click.Context,
    *,
    files: tuple[str, ...],
    kind: str,
    kubernetes_version: str,
    trusted_controller: tuple[str, ...],
    report: str,
) -> None:
    """Write SpreadPolicies as admission policies in CEL, with bindings, for a cluster without webhook.

    FILE is a SpreadPolicy document, builtin:NAME, or - for standard input. What the API server cannot check
    or inject is listed in the output and on stderr, with the reason.

    Exit codes: 0 policies were written, 1 there was nothing to write, 2 a document or an option is wrong.
    """
    version = KubernetesVersion.parse(kubernetes_version)
    policies = load_policies(dict.fromkeys(files), lambda name: read_text(name, named=True).content)
    as_kind = PolicyKind(kind)
    trusted = parse_trusted_controllers(trusted_controller)
    emitted = emit(policies, as_kind, today=datetime.now(UTC).date(), version=version, trusted=trusted)
    form = json_report if report == "json" else yaml_report
    click.echo(form.render(emitted, as_kind, version), nl=False)
    for line in yaml_report.left_out_lines(emitted):
        click.echo(f"evenkeel: {line}", err=True)
    if not emitted.objects:
        click.echo("evenkeel: nothing was emitted", err=True)
    context.exit(EMITTED if emitted.objects else NOTHING)
