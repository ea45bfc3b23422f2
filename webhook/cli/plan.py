"""``evenkeel plan``: what a change of manifests does to where pods go."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.file_name import STDIN, shown_file
from webhook.cli.answers import NamedCluster, report_about
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.completing import complete_from, complete_plan_formats
from webhook.cli.manifest_options import manifest_options, rule_options
from webhook.cli.options import (
    HTML,
    context_option,
    live_option,
    namespace_option,
    reports_option,
    snapshot_option,
)
from webhook.cli.terminal import LINES, ExitCode, finish, interruptible, note, progress, reading_progress
from webhook.distribution import release
from webhook.lint.reports import PLAN_FORMATS

if TYPE_CHECKING:
    from planning.plan import answer as plan_answer
    from planning.simulation.node_source import NodeSource
    from planning.simulation.scenario import ClusterState
    from policies.manifests import skipped as manifests_skipped
    from policies.scheduler.index import ClusterIndex
    from webhook.cli import plan_from
    from webhook.kube import api_server as kube_api_server
    from webhook.lint import plan_sets, reports
    from webhook.lint.options import LintOptions


#: Nodes of a cluster from which the progress of placing pods is shown.
LARGE: Final = 500

_EXAMPLES = """\
evenkeel plan --from main --cluster cluster.json deploy
evenkeel plan --from v1.4.0 --live --context staging charts/web
evenkeel plan --from old/ --cluster cluster.json new/
evenkeel plan --live deploy                       # compared with what the cluster has
evenkeel plan --live --autoscale node-groups.yaml deploy
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
@autoscale_option
@rule_options
@manifest_options
@reports_option(PLAN_FORMATS, complete_plan_formats)
@click.pass_context
def command(context: click.Context, /, *, paths: tuple[str, ...], **given: Any) -> None:  # click calls it
    """Show what a change of manifests does to where pods go, before it is applied.

    PATH is a file, a folder, or - for standard input, read as by `evenkeel lint`. Workloads that are added,
    changed or removed are applied to one copy of the cluster: removed ones first, then changed, then added
    ones, each as `evenkeel what-if -f` applies it. Of each, the plan says what becomes of its pods, and what
    is left of them if a zone or a host goes; and it has the lint findings that are new or gone.

    With --autoscale Cluster Autoscaler or Karpenter adds nodes for what would stay pending, for one workload
    after the other, and the scheduler places it there: the exit code then is that with these nodes.

    A Git revision is read from Git's objects, without touching the work tree. It is linted by its own
    evenkeel.yaml; files that options name are read as the revision has them.

    Exit codes: 0 nothing bad, 1 the verdict is bad or undecided, or that of another choice among equal pods
    and nodes, a workload that changed was not planned, or a finding of severity error is new, 2 bad usage or
    input, a file of PATH that cannot be read, or a skipped input that --fail-on-skipped does not allow (the
    rest is planned all the same), 3 could not run, 130 ended by Ctrl-C, after which the report has what was
    done until then.
    """
    code = _plan(context, paths, given)
    finish(code)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The cluster that is planned for, and how the workloads are found that it has."""

    state: ClusterState  #: The cluster.
    name: str  #: What it is called in reports.
    file: str = ""  #: Its file.
    api: kube_api_server.ApiServer | None = None  #: The API server of a live cluster; None for a file.

    @property
    def index(self) -> ClusterIndex:
        """The index of the cluster."""
        if self.state.context.cluster is None:
            raise ValueError("a cluster was read")
        return self.state.context.cluster


def _plan(context: click.Context, paths: tuple[str, ...], given: dict[str, Any]) -> ExitCode:
    from webhook.cli import lint, plan_from
    from webhook.cli import live as cli_live
    from webhook.lint import reports

    outputs = reports.parse_outputs(given.pop("formats"), PLAN_FORMATS)
    before, namespace = given.pop("before"), given.pop("namespace")
    autoscale = Autoscale(given.pop("autoscale"))
    live, live_context, cluster_file = given.pop("live"), given.pop("live_context"), given.pop("cluster")
    cli_live.check_cluster(live=live, context=live_context, cluster=cluster_file)
    options = lint.read_options(paths, dict(given))
    compared = (
        plan_from.parse_from(before, options.paths) if before not in ("", plan_from.CLUSTER) else before
    )
    cluster_file = cluster_file or ("" if live else options.config.cluster or "")
    if not live and not cluster_file:
        raise UsageError(cli_live.NO_CLUSTER)
    if STDIN in options.paths and cluster_file == STDIN:
        raise UsageError("standard input may be used only once")
    from policies.model import workload
    from webhook.lint import plan_sets

    cluster, options = _read_cluster(options, cluster_file, live=live, context=live_context)
    autoscaler = autoscale.read(cluster.index)
    given["kubernetes_version"] = options.config.kubernetes_version
    namespace = namespace or (
        cli_live.api_server(live_context).namespace if live else workload.DEFAULT_NAMESPACE
    )
    reader = plan_sets.SetReader(
        cluster=cluster.index, namespace=namespace, today=datetime.now(UTC).date(), warn=note
    )
    run = _compare(_Sets(reader, cluster, given), compared, options, autoscaler)
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
    from planning.simulation.scenario import ClusterState
    from policies.config.context import AdmissionContext
    from policies.model import cluster_workloads, replica_sources, workload_kinds
    from policies.model import snapshot as model_snapshot
    from policies.pods import known_pods
    from webhook import snapshot_file
    from webhook.cli import live as cli_live
    from webhook.cli import manifest, read_cluster
    from webhook.kube import api_server as kube_api_server
    from webhook.kube import watched_resources
    from webhook.requests import placement

    kinds = workload_kinds.WorkloadKinds(
        map(workload_kinds.parse_workload_kind, options.config.workload_kinds)
    )
    workloads = cluster_workloads.ClusterWorkloads(kinds, every_kind=True)
    sources = replica_sources.ReplicaSources()
    known = known_pods.KnownPods(None, now=datetime.now(UTC).timestamp() if live else 0.0)
    api = cli_live.api_server(context) if live else None
    if api is not None and not options.config.kubernetes_version:
        release = kube_api_server.known_version(api, note).exact
        options = replace(options, config=replace(options.config, kubernetes_version=release))
    with reading_progress() if live else manifest.snapshot_progress(file) as advance:

        def look(obj: dict[str, Any]) -> None:
            advance(model_snapshot.kind_of(obj)[1])
            for take in (known, workloads, sources):
                take(obj)

        if api is None:
            index = snapshot_file.read_snapshot(file, warn=note, seen=look)
        else:
            index = read_cluster.read_index(api, watched_resources.EVERYTHING, warn=note, seen=look)
    state = ClusterState(
        context=AdmissionContext(policies=(), cluster=index, replica_sources=sources),
        known=known,
        workloads=workloads,
        unread=placement.unread_kinds(index),
    )
    where = "the live cluster" if live else shown_file(file)
    return _Cluster(state, f"the workloads of {where}", file, api), options


@dataclass(frozen=True, slots=True)
class _Sets:
    """Reads both sets of manifests."""

    reader: plan_sets.SetReader  #: Reads a set.
    cluster: _Cluster  #: The cluster.
    given: dict[str, Any]  #: The options as click gives them.

    def before(
        self, compared: plan_from.GitRevision | str, options: LintOptions, after: plan_sets.LintedSet
    ) -> plan_sets.LintedSet:
        """Return the manifests to compare with.

        Raises:
            UsageError: It is not given, and the cluster has none of the workloads.
        """
        from webhook.cli import plan_from

        if isinstance(compared, plan_from.GitRevision):
            return plan_from.read_revision(compared, options.paths, self.given, self.read)
        if compared in ("", plan_from.CLUSTER):
            return self._of_cluster(after, options, required=not compared)
        from webhook.cli import lint

        return self.read(lint.read_options((compared,), dict(self.given)))

    def read(self, options: LintOptions) -> plan_sets.LintedSet:
        """Return the manifests of some paths; what it takes is shown on a terminal."""
        from webhook.cli import lint

        with lint.uncollected(), progress("Reading manifests", long=True) as show:
            return self.reader.read(options, show)

    def _of_cluster(
        self, after: plan_sets.LintedSet, options: LintOptions, *, required: bool
    ) -> plan_sets.LintedSet:
        from webhook.cli import plan_from

        wanted, cluster = after.manifests.workloads, self.cluster
        if cluster.api is not None:
            found = plan_from.fetch_workloads(wanted, cluster.api)
        else:
            found = plan_from.find_workloads(wanted, cluster.state.workloads, cluster.file)
        if required and not found and wanted:
            raise UsageError(
                "the cluster has none of the workloads: say what to compare with, --from GITREV, a file or a"
                f" folder; --from {plan_from.CLUSTER} takes all of them as new"
            )
        return self.reader.of_objects(found, self.reader.job(options))


def _compare(
    sets: _Sets,
    compared: plan_from.GitRevision | str,
    options: LintOptions,
    autoscaler: NodeSource | None,
) -> plan_answer.PlanRun:
    """Return the plan."""
    from webhook.cli import plan_from

    given = [path for path in options.paths if path == STDIN or Path(path).exists()]
    missing = [path for path in options.paths if path not in given]
    if missing and not isinstance(compared, plan_from.GitRevision):
        from webhook.lint import files

        gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise DocumentError([f"{path}: {files.why_unread(path, gone)}" for path in missing])
    from planning.plan import answer as plan_answer
    from planning.plan import plan as plan_plan
    from policies.lint import baseline

    after = sets.read(replace(options, paths=tuple(given)))
    before = sets.before(compared, options, after)
    long = sets.cluster.index.node_count >= LARGE
    with progress("Placing pods", long=long) as show, interruptible() as stop:
        plan = plan_plan.make_plan(
            before.manifests,
            after.manifests,
            sets.cluster.state,
            nodes_from=autoscaler,
            progress=show,
            stop=stop,
        )
    of_cluster = compared in ("", plan_from.CLUSTER)
    name = compared.name if isinstance(compared, plan_from.GitRevision) else compared
    return plan_answer.PlanRun(
        plan=plan,
        compared_with=sets.cluster.name if of_cluster else name,
        new=baseline.Baseline.of(before.findings).new(after.findings)[0],
        gone=baseline.Baseline.of(after.findings).new(before.findings)[0],
        raised=baseline.raised_findings(before.findings, after.findings),
        skipped=_skipped(after, before, options.paths),
        unreadable=after.unreadable,
        fail_on_skipped=options.config.fail_on_skipped,
        unfinished=plan_plan.unfinished_workloads(before.unfinished, after.unfinished),
        keeps_others=of_cluster,
        tool_version=release(),
    )


def _skipped(
    after: plan_sets.LintedSet, before: plan_sets.LintedSet, paths: Iterable[str]
) -> list[manifests_skipped.Skipped]:
    """Return the sources that were not read; where that leaves nothing to plan, as named by the user."""
    from policies.manifests import skipped as manifests_skipped

    skipped, objects = [*after.skipped, *before.skipped], after.objects + before.objects
    if not objects:
        from webhook.lint import run as lint_run

        skipped += lint_run.without_objects(paths, (), skipped, [])
    workloads = len(after.manifests.workloads) + len(before.manifests.workloads)
    return manifests_skipped.as_all_there_is(skipped, workloads=workloads, objects=objects)


def _report(
    context: click.Context, output: reports.Output, run: plan_answer.PlanRun, named: NamedCluster
) -> None:
    """Write a report to its file, or to standard output."""
    from planning.plan import answer as plan_answer
    from planning.plan import text as plan_text

    if output.form == "text":
        on_terminal = not output.file and sys.stdout.isatty()
        width = shutil.get_terminal_size(fallback=(LINES, 0)).columns if on_terminal else LINES
        report = plan_text.render(run, width=width, color=on_terminal and context.color is not False)
    elif output.form == HTML:
        from webhook.ui import embedded

        about = report_about(named, verdict=plan_text.summary(run))
        report = embedded.report_page("plan", plan_answer.render(run).encode(), about)
    elif output.form == "markdown":
        report = plan_text.render_markdown(run)
    else:
        report = plan_answer.render(run)
        if output.form == "yaml":
            from policies.reports import as_yaml

            report = "".join(as_yaml.yaml_parts(report))
    if output.file:
        from webhook.lint import reports

        reports.write_file(output.file, report)
    else:
        click.echo(report.encode(errors="backslashreplace"), nl=False)
