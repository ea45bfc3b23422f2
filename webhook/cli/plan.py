"""``evenkeel plan``: what a change of manifests does to where pods go."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from policies.lint.baseline import Baseline, raised_findings
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.skipped import Skipped, as_all_there_is
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from policies.placement.core.cluster_workloads import ClusterWorkloads
from policies.placement.core.known_pods import KnownPods
from policies.placement.core.pod_objects import PodObjects
from policies.placement.plan.plan import make_plan, unfinished_workloads
from policies.reports.as_yaml import yaml_parts
from policies.reports.plan import json as plan_json
from policies.reports.plan import markdown as plan_markdown
from policies.reports.plan import text as plan_text
from policies.reports.plan import words as plan_words
from policies.reports.plan.run import FORMATS, PlanRun
from policies.scheduler.index import ClusterIndex
from webhook.cli.answers import NamedCluster, report_about
from webhook.cli.command import Command
from webhook.cli.completing import complete_from, complete_plan_formats
from webhook.cli.lint import read_options, uncollected
from webhook.cli.live import NO_CLUSTER, api_server, check_cluster
from webhook.cli.manifest import snapshot_progress
from webhook.cli.manifest_options import manifest_options, rule_options
from webhook.cli.options import (
    HTML,
    context_option,
    live_option,
    namespace_option,
    reports_option,
    snapshot_option,
)
from webhook.cli.plan_from import (
    CLUSTER,
    GitRevision,
    fetch_workloads,
    find_workloads,
    parse_from,
    read_revision,
)
from webhook.cli.terminal import LINES, ExitCode, finish, interruptible, note, progress, reading_progress
from webhook.kube.api_server import ApiServer, known_version
from webhook.kube.snapshot import SnapshotFile, pod_objects, read_index
from webhook.kube.watched_resources import WITH_PENDING_PODS
from webhook.late_imports import late_imports
from webhook.lint.files import STDIN
from webhook.lint.options import LintOptions
from webhook.lint.plan_sets import LintedSet, SetReader
from webhook.lint.reports import Output, parse_outputs, write_file
from webhook.lint.run import without_objects

with late_imports():
    from webhook.ui import embedded

#: Nodes of a cluster from which the progress of placing pods is shown.
LARGE: Final = 500

_EXAMPLES = """\
evenkeel plan --from main --cluster cluster.json deploy
evenkeel plan --from v1.4.0 --live --context staging charts/web
evenkeel plan --from old/ --cluster cluster.json new/
evenkeel plan --live deploy                       # compared with what the cluster has
evenkeel plan --from origin/main --cluster nodes.json -o text -o markdown=plan.md
"""


@click.command(cls=Command, examples=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--from", "before", default="", metavar="GITREV|PATH|cluster", shell_complete=complete_from,
    help="What to compare with: a Git revision of the repository that holds the paths, a file or folder, or"
    " cluster for the workloads that the cluster has now.  [default: cluster, if it has any of them]",
)  # fmt: skip
@namespace_option("Namespace of objects without one.")
@snapshot_option("deploy")
@live_option()
@context_option("live_context")
@rule_options
@manifest_options
@reports_option(FORMATS, complete_plan_formats)
@click.pass_context
def command(context: click.Context, /, *, paths: tuple[str, ...], **given: Any) -> None:  # click calls it
    """Show what a change of manifests does to where pods go, before it is applied.

    PATH is a file, a folder, or - for standard input, read as by `evenkeel lint`. Workloads that are added,
    changed or removed are applied to one copy of the cluster: removed ones first, then changed, then added
    ones. Of each, the plan shows the matching pods of each domain now and afterwards, the pods that stay
    pending with the scheduler's message, and the lint findings that are new or gone.

    A Git revision is read from Git's objects, without touching the work tree. It is linted by its own
    evenkeel.yaml; files that options name are read as the revision has them.

    Exit codes: 0 nothing bad, 1 pods would stay pending, a rollout may not complete, Kubernetes would refuse
    a workload, one that changed was not planned, or a finding of severity error is new, 2 bad usage or input,
    a file of PATH that cannot be read, or a skipped input that --fail-on-skipped does not allow (the rest is
    planned all the same), 3 could not run, 130 ended by Ctrl-C, after which the report has what was done
    until then.
    """
    code = _plan(context, paths, given)
    finish(code)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The cluster that is planned for, and how the workloads are found that it has.

    Attributes:
        index: The cluster.
        known: What is known of its pods besides.
        snapshot: The workloads of a file; None for a live cluster.
        file: The file.
        api: The API server of a live cluster; None for a file.
        name: What it is called in reports.
    """

    index: ClusterIndex
    known: KnownPods
    snapshot: ClusterWorkloads | None = None
    file: str = ""
    api: ApiServer | None = None
    name: str = ""


def _plan(context: click.Context, paths: tuple[str, ...], given: dict[str, Any]) -> ExitCode:
    outputs = parse_outputs(given.pop("formats"), FORMATS)
    before, namespace = given.pop("before"), given.pop("namespace")
    live, live_context, cluster_file = given.pop("live"), given.pop("live_context"), given.pop("cluster")
    check_cluster(live=live, context=live_context, cluster=cluster_file)
    options = read_options(paths, dict(given))
    compared = parse_from(before, options.paths) if before not in ("", CLUSTER) else before
    cluster_file = cluster_file or ("" if live else options.config.cluster or "")
    if not live and not cluster_file:
        raise UsageError(NO_CLUSTER)
    if STDIN in options.paths and cluster_file == STDIN:
        raise UsageError("standard input may be used only once")
    cluster, options = _read_cluster(options, cluster_file, live=live, context=live_context)
    given["kubernetes_version"] = options.config.kubernetes_version
    namespace = namespace or (api_server(live_context).namespace if live else DEFAULT_NAMESPACE)
    reader = SetReader(cluster=cluster.index, namespace=namespace, today=datetime.now(UTC).date(), warn=note)
    run = _compare(_Sets(reader, cluster, given), compared, options)
    for output in outputs:
        _report(context, output, run, NamedCluster(cluster_file, live, live_context))
    if run.plan.stopped:
        return ExitCode.INTERRUPTED
    if run.incomplete:
        return ExitCode.BAD_INPUT
    return ExitCode.FINDINGS if run.failed else ExitCode.CLEAN


def _read_cluster(
    options: LintOptions, file: str, *, live: bool, context: str
) -> tuple[_Cluster, LintOptions]:
    """Return the cluster, and the options with its release where they name none.

    Raises:
        OSError: The file cannot be opened.
        DocumentError: It is no snapshot.
        ClusterError: The live cluster cannot be read.
    """
    if not live:
        kinds = WorkloadKinds(map(parse_workload_kind, options.config.workload_kinds))
        workloads = ClusterWorkloads(kinds, every_kind=True)
        known = KnownPods(running=pod_objects("" if file == STDIN else file))

        with snapshot_progress(file) as advance:

            def look(obj: dict[str, Any]) -> None:
                advance(kind_of(obj)[1])
                workloads(obj)
                known(obj)

            source = SnapshotFile(Path("/dev/stdin" if file == STDIN else file), look)
        for problem in source.problems:
            note(problem)
        return _Cluster(source.index, known, workloads, file, name=f"the workloads of {file}"), options
    api = api_server(context)
    release = options.config.kubernetes_version or known_version(api, note).exact
    known = KnownPods(now=datetime.now(UTC).timestamp(), running=PodObjects())
    with reading_progress() as advance:

        def seen(obj: dict[str, Any]) -> None:
            advance(obj["kind"])
            known(obj)

        index = read_index(api, WITH_PENDING_PODS, warn=note, seen=seen)
    cluster = _Cluster(index, known, api=api, name="the workloads of the live cluster")
    return cluster, replace(options, config=replace(options.config, kubernetes_version=release))


@dataclass(frozen=True, slots=True)
class _Sets:
    """Reads both sets of manifests.

    Attributes:
        reader: Reads a set.
        cluster: The cluster.
        given: The options as click gives them.
    """

    reader: SetReader
    cluster: _Cluster
    given: dict[str, Any]

    def before(self, compared: GitRevision | str, options: LintOptions, after: LintedSet) -> LintedSet:
        """Return the manifests to compare with.

        Raises:
            UsageError: It is not given, and the cluster has none of the workloads.
        """
        if isinstance(compared, GitRevision):
            return read_revision(compared, options.paths, self.given, self.read)
        if compared in ("", CLUSTER):
            return self._of_cluster(after, options, required=not compared)
        return self.read(read_options((compared,), dict(self.given)))

    def read(self, options: LintOptions) -> LintedSet:
        """Return the manifests of some paths; what it takes is shown on a terminal."""
        with uncollected(), progress("Reading manifests", long=True) as show:
            return self.reader.read(options, show)

    def _of_cluster(self, after: LintedSet, options: LintOptions, *, required: bool) -> LintedSet:
        wanted, cluster = after.manifests.workloads, self.cluster
        if cluster.api is not None:
            found = fetch_workloads(wanted, cluster.api)
        else:
            found = []
            if cluster.snapshot is not None:
                found = find_workloads(wanted, cluster.snapshot, cluster.file)
        if required and not found and wanted:
            raise UsageError(
                "the cluster has none of the workloads: say what to compare with, --from GITREV, a file or a"
                f" folder; --from {CLUSTER} takes all of them as new"
            )
        return self.reader.of_objects(found, self.reader.job(options))


def _compare(sets: _Sets, compared: GitRevision | str, options: LintOptions) -> PlanRun:
    """Return the plan."""
    given = [path for path in options.paths if path == STDIN or Path(path).exists()]
    missing = [path for path in options.paths if path not in given]
    if missing and not isinstance(compared, GitRevision):
        raise DocumentError([f"{path}: No such file or directory" for path in missing])
    after = sets.read(replace(options, paths=tuple(given)))
    before = sets.before(compared, options, after)
    index = sets.cluster.index
    with progress("Placing pods", long=index.node_count >= LARGE) as show, interruptible() as stop:
        known = sets.cluster.known
        plan = make_plan(before.manifests, after.manifests, index, known=known, progress=show, stop=stop)
    of_cluster = compared in ("", CLUSTER)
    name = compared.name if isinstance(compared, GitRevision) else compared
    return PlanRun(
        plan=plan,
        compared_with=sets.cluster.name if of_cluster else name,
        kubernetes_version=after.job.context.kubernetes_version,
        new=Baseline.of(before.findings).new(after.findings)[0],
        gone=Baseline.of(after.findings).new(before.findings)[0],
        raised=raised_findings(before.findings, after.findings),
        skipped=_skipped(after, before, options.paths),
        unreadable=after.unreadable,
        fail_on_skipped=options.config.fail_on_skipped,
        unfinished=unfinished_workloads(before.unfinished, after.unfinished),
        keeps_others=of_cluster,
        tool_version=version("evenkeel"),
    )


def _skipped(after: LintedSet, before: LintedSet, paths: Iterable[str]) -> list[Skipped]:
    """Return the sources that were not read; where that leaves nothing to plan, as named by the user."""
    skipped, objects = [*after.skipped, *before.skipped], after.objects + before.objects
    if not objects:
        skipped += without_objects(paths, (), skipped, [])
    workloads = len(after.manifests.workloads) + len(before.manifests.workloads)
    return as_all_there_is(skipped, workloads=workloads, objects=objects)


def _report(context: click.Context, output: Output, run: PlanRun, named: NamedCluster) -> None:
    """Write a report to its file, or to standard output."""
    if output.form == "text":
        on_terminal = not output.file and sys.stdout.isatty()
        width = shutil.get_terminal_size(fallback=(LINES, 0)).columns if on_terminal else LINES
        report = plan_text.render(run, width=width, color=on_terminal and context.color is not False)
    elif output.form == HTML:
        about = report_about(named, verdict=plan_words.summary(run))
        report = embedded.report_page("plan", plan_json.render(run).encode(), about)
    else:
        report = _RENDERERS[output.form](run)
    if output.file:
        write_file(output.file, report)
    else:
        click.echo(report.encode(errors="backslashreplace"), nl=False)


def _yaml(run: PlanRun) -> str:
    return "".join(yaml_parts(plan_json.render(run)))


_RENDERERS: Final[dict[str, Callable[[PlanRun], str]]] = {
    "json": plan_json.render,
    "yaml": _yaml,
    "markdown": plan_markdown.render,
}
