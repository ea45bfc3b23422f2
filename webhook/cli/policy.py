"""``evenkeel policy``: check, show, describe, test and emit the documents that configure Evenkeel."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson
import yaml

from policies.config.controllers import TRUSTED_CONTROLLERS, parse_trusted_controllers
from policies.emit.emitted import PolicyKind
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, unsupported_value
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.words import plural
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from webhook.cli import policy_preview, policy_samples
from webhook.cli.answers import print_answer
from webhook.cli.command import CommandGroup
from webhook.cli.completing import complete_builtin, complete_policies
from webhook.cli.options import (
    answer_option,
    cluster_option,
    format_option,
    kubernetes_version_option,
    scheduler_config_option,
)
from webhook.cli.terminal import ExitCode, finish, note

if TYPE_CHECKING:
    from policies.manifests import documents as manifests_documents
    from policies.manifests import findings as manifests_findings
    from policies.scheduler import configuration


@click.group(cls=CommandGroup)
def command() -> None:
    """Check, show, test and emit SpreadPolicies; check KubeSchedulerConfigurations and node groups."""


command.add_command(policy_samples.command)
command.add_command(policy_preview.command)


@command.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_policies)
@scheduler_config_option()
@cluster_option("Snapshot file of the cluster that the policies are for.", default=None)
@click.option(
    "--fail-on", type=click.Choice(["error", "warning"]), default="error", show_default=True,
    help="Exit 1 if there are findings of this severity or worse.",
)  # fmt: skip
@answer_option()
def check(
    *,
    files: tuple[str, ...],
    scheduler_config: str | None,
    cluster: str | None,
    fail_on: str,
    form: str,
) -> None:
    """Check documents: a file, a folder, builtin:NAME, or - for standard input.

    Errors go to stderr, warnings and notes to stdout. Exit codes: 0 no errors, 1 a document has errors,
    2 a file cannot be read or has none of these: SpreadPolicy, KubeSchedulerConfiguration, NodeGroups,
    NodePool, InstanceTypes. The last three are checked as `--autoscale` reads them, each file by itself.
    """
    from planning.autoscaler import sources
    from policies.config import policy_advice
    from policies.manifests import findings as manifests_findings

    scheduler = None if scheduler_config is None else _scheduler(scheduler_config)
    if cluster is not None:
        from policies.model import snapshot
        from webhook import snapshot_file
        from webhook.cli import manifest

        with manifest.snapshot_progress(cluster) as advance:
            snapshot_file.read_snapshot(
                cluster, warn=note, seen=lambda obj: advance(snapshot.kind_of(obj)[1])
            )
    documents, unreadable = _read_all(files)
    described = [document for document in documents if sources.is_described(document.value)]
    others = [document for document in documents if policy_advice.is_known(document)]
    found = [
        *_inspect_described(described),
        *policy_advice.inspect(others, scheduler=scheduler, has_cluster=cluster is not None),
    ]
    _print([*unreadable, *found], form, len(documents))
    failing = (
        {manifests_findings.Severity.ERROR}
        if fail_on == "error"
        else {manifests_findings.Severity.ERROR, manifests_findings.Severity.WARNING}
    )
    if unreadable:
        finish(ExitCode.BAD_INPUT)
    finish(ExitCode.FINDINGS if any(finding.severity in failing for finding in found) else ExitCode.CLEAN)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME|FILE]...", shell_complete=complete_builtin)
@format_option("yaml", "json")
def show(names: tuple[str, ...], form: str) -> None:
    """Print policies with all defaults filled in; without arguments, list the built-in policies."""
    from policies.config import loader

    if not names:
        for name in loader.builtin_names():
            click.echo(f"{name:<12} {_summary(name)}")
        return
    from policies.config import spread_policy

    wanted = (_as_builtin(name) for name in names)
    documents = [spread_policy.policy_document(policy) for policy in loader.load_policies(wanted, _read)]
    if form == "json":
        # One document after the other: a list of them would be no document that any command reads.
        for document in documents:
            click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
        return
    click.echo(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True), nl=False)


@command.command(name="schema")
def print_schema() -> None:
    """Print the JSON Schema of SpreadPolicy, for editors."""
    from policies.config import form, spread_policy

    click.echo(form.schema_text(spread_policy.SpreadPolicyDocument), nl=False)


def _read(name: str) -> bytes:
    """Return the content of a file, of a built-in document or of standard input.

    Raises:
        DocumentError: It cannot be opened.
    """
    from policies.config import spread_policy

    if name.startswith(spread_policy.BUILTIN_PREFIX):
        from policies.config import loader

        return loader.builtin_bytes(name)
    from webhook.lint import files as lint_files

    return lint_files.read_text(name, named=True).content


def _scheduler(name: str) -> configuration.SchedulerConfig:
    from policies.scheduler import configuration

    return configuration.load_scheduler_config(_read(name), shown_file(name))


def _inspect_described(
    documents: list[manifests_documents.ManifestObject],
) -> Iterator[manifests_findings.Finding]:
    """Yield what is wrong with documents that describe nodes: each file is one autoscaler's."""
    from planning.autoscaler import sources
    from policies.config import policy_advice
    from policies.scheduler import index as scheduler_index

    for _, of_file in groupby(documents, lambda document: document.document.file):
        reader = sources.AutoscalerReader(scheduler_index.ClusterIndex())
        for document in of_file:
            yield from policy_advice.errors_found(document, reader.take(document.value))


def _is_known(document: manifests_documents.ManifestObject) -> bool:
    from planning.autoscaler import sources
    from policies.config import policy_advice

    return policy_advice.is_known(document) or sources.is_described(document.value)


def _read_all(
    names: tuple[str, ...],
) -> tuple[list[manifests_documents.ManifestObject], list[manifests_findings.Finding]]:
    """Return the documents of all files and folders, and a finding for everything that is none."""
    from policies.config import loader
    from policies.manifests import documents as manifests_documents
    from webhook.lint import files as lint_files

    documents: list[manifests_documents.ManifestObject] = []
    unreadable: list[manifests_findings.Finding] = []
    for name in dict.fromkeys(names):
        folder = name != STDIN and _is_folder(name)
        before = len(documents), len(unreadable)
        for file in _files_below(name) if folder else [name]:
            try:
                read = manifests_documents.load_strictly(_read(file), shown_file(file))
            except DocumentError as error:
                told = (loader.with_builtin_names(file, problem) for problem in error.problems)
                unreadable += (lint_files.unreadable(shown_file(file), problem) for problem in told)
                continue
            loaded = [found for document in read for found in manifests_documents.objects_or_itself(document)]
            documents += filter(_is_known, loaded)
            unreadable += _strangers(loaded, only_own=folder)
        if before == (len(documents), len(unreadable)):
            unreadable.append(
                lint_files.unreadable(
                    shown_file(name),
                    "holds no SpreadPolicy, KubeSchedulerConfiguration, NodeGroups, NodePool or "
                    "InstanceTypes",
                )
            )
    return documents, unreadable


def _kinds() -> tuple[str, ...]:
    """Return the kinds that are checked."""
    from planning.autoscaler import sources
    from policies.config import policy_advice

    return (*policy_advice.KINDS, *sources.DESCRIBED)


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _files_below(folder: str) -> list[str]:
    """Return the manifests of a folder, without hidden files and folders (``.git``, ``.github``)."""
    from webhook.lint import files as lint_files

    paths = [
        path for path in Path(folder).rglob("*") if path.suffix in lint_files.SUFFIXES and path.is_file()
    ]
    return sorted(str(path) for path in paths if not _is_hidden(path.relative_to(folder)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _strangers(
    documents: list[manifests_documents.ManifestObject], *, only_own: bool
) -> Iterator[manifests_findings.Finding]:
    """Yield a finding for each document of another kind.

    A file given by name should hold none. One of a folder may, unless it is of Evenkeel's own group.
    """
    from planning.autoscaler import sources
    from policies.config import own_kinds
    from policies.manifests import findings as manifests_findings
    from webhook.lint import files as lint_files

    for document in documents:
        if _is_known(document) or sources.is_node_class(document.value):
            continue
        if only_own:
            for error in own_kinds.own_kind_errors(document.value, lint_files.UNREADABLE):
                at = document.location(error.path)
                yield manifests_findings.Finding(
                    manifests_findings.Severity.ERROR,
                    at,
                    document.path + error.path,
                    error.problem,
                    lint_files.UNREADABLE,
                )
        else:
            value: object = document.value
            kind = value.get("kind") if isinstance(value, dict) else value
            path = FieldPath().child("kind")
            problem = unsupported_value(path, kind, _kinds(), lint_files.UNREADABLE).problem
            yield manifests_findings.Finding(
                manifests_findings.Severity.ERROR,
                document.location(path),
                document.path + path,
                problem,
                lint_files.UNREADABLE,
            )


def _print(findings: list[manifests_findings.Finding], report: str, count: int) -> None:
    from policies.lint import policy_check

    if report != "text":
        print_answer(policy_check.render_json(findings, count).encode(), report)
        return
    from policies.manifests import findings as manifests_findings

    errors = [finding for finding in findings if finding.severity is manifests_findings.Severity.ERROR]
    click.echo(policy_check.render_text(errors), nl=False, err=True)
    click.echo(policy_check.render_text(finding for finding in findings if finding not in errors), nl=False)
    if not errors:
        click.echo(f"{plural(count, 'document')} checked, no errors")


def _as_builtin(name: str) -> str:
    """Return a built-in document's name with its prefix, where no file of that name is meant."""
    from policies.config import loader, spread_policy

    return f"{spread_policy.BUILTIN_PREFIX}{name}" if name in loader.builtin_names() else name


def _summary(name: str) -> str:
    """Return the first sentence of a built-in document's comment."""
    from policies.config import loader

    lines = loader.builtin_bytes(name).decode().splitlines()
    comment = " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    return comment.partition(". ")[0].rstrip(".") + "."


@command.command()
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
def emit(
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
    from policies.config import loader
    from policies.emit import emit as policy_emit
    from webhook.lint import files as lint_files

    version = KubernetesVersion.parse(kubernetes_version)
    policies = loader.load_policies(
        dict.fromkeys(files), lambda name: lint_files.read_text(name, named=True).content
    )
    as_kind = PolicyKind(kind)
    trusted = parse_trusted_controllers(trusted_controller)
    emitted = policy_emit.emit(
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
