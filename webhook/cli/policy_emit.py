"""``evenkeel policy emit``: SpreadPolicy documents as policies that the API server itself evaluates."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from policies.config.controllers import TRUSTED_CONTROLLERS, parse_trusted_controllers
from policies.emit.emitted import PolicyKind
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from webhook.cli.command import Command
from webhook.cli.completing import complete_policies
from webhook.cli.options import format_option, kubernetes_version_option
from webhook.cli.terminal import ExitCode, finish, note
from webhook.late_imports import late_imports

with late_imports():
    from policies.config import loader
    from policies.emit import emit as emit_emit
    from policies.reports.policy import emit as policy_emit
    from webhook.lint import files as lint_files


@click.command(cls=Command, name="emit")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_policies)
@click.option(
    "--as", "kind", type=click.Choice([str(kind) for kind in PolicyKind]), required=True,
    help="vap: ValidatingAdmissionPolicy, for the rules. map: MutatingAdmissionPolicy, for the default"
    " constraints of workloads.",
)  # fmt: skip
@kubernetes_version_option(str(KNOWN_VERSION))
@click.option(
    "--trusted-controller", multiple=True, default=TRUSTED_CONTROLLERS, metavar="USER", show_default=True,
    help="Service account that is believed about the custom resource that owns what it sends, as for"
    " evenkeel serve; may be repeated, and an empty one names none.",
)  # fmt: skip
@format_option("yaml", "json")
def command(
    *,
    files: tuple[str, ...],
    kind: str,
    kubernetes_version: str,
    trusted_controller: tuple[str, ...],
    form: str,
) -> None:
    """Write SpreadPolicies as admission policies in CEL, with bindings, for a cluster without webhook.

    FILE is a SpreadPolicy document, builtin:NAME, or - for standard input. What the API server cannot check
    or inject is listed in the output, with the reason, and counted on stderr.

    Exit codes: 0 policies were written, 1 there was nothing to write, 2 a document or an option is wrong.
    """
    version = KubernetesVersion.parse(kubernetes_version)
    policies = loader.load_policies(
        dict.fromkeys(files), lambda name: lint_files.read_text(name, named=True).content
    )
    as_kind = PolicyKind(kind)
    trusted = parse_trusted_controllers(trusted_controller)
    emitted = emit_emit.emit(
        policies, as_kind, today=datetime.now(UTC).date(), version=version, trusted=trusted
    )
    render = policy_emit.render_json if form == "json" else policy_emit.render_yaml
    click.echo(render(emitted, as_kind, version), nl=False)
    if not emitted.objects:
        for line in policy_emit.left_out_lines(emitted):
            note(line)
        note("nothing was emitted")
    elif number := len(emitted.left_out):
        text = "the output lists them with the reason"
        note(f"not emitted, or in part: {number:,} of the rules and fields; {text}")
    finish(ExitCode.of(clean=bool(emitted.objects)))
