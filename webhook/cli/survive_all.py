"""``evenkeel survive --all``: what the loss of a zone, rack or node does to every workload of a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from planning.simulation import events
from planning.simulation.survive import cluster_survival
from planning.simulation.survive import loss as survive_loss
from planning.simulation.survive.damage import DEFAULT_DAMAGE, NEVER, Damage
from planning.what_if import survive_cluster_text as cluster_text
from planning.what_if import survive_json
from planning.what_if import survive_junit as junit
from policies.manifests.errors import UsageError
from policies.manifests.fields import shown_name
from policies.manifests.words import IN_PHRASE, IN_SENTENCE, listed
from policies.pods import pod_objects
from webhook.cli import cluster_page, cluster_workloads, placement
from webhook.cli.answers import print_answer
from webhook.cli.autoscale_option import Autoscale
from webhook.cli.options import HTML
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.terminal import MANY_NODES, TABLES, ExitCode, finish, interruptible, note, progress, show

if TYPE_CHECKING:
    from planning.simulation.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport


def run(
    options: PlacementOptions,
    key: str,
    form: str,
    *,
    fail_on: str,
    allowed_missing: int,
    unreachable: bool,
    own_only: bool,
    autoscale: Autoscale,
) -> NoReturn:
    """Lose one domain, or each in turn, of a cluster, report it, and end the command.

    Args:
        options: Which cluster.
        key: The topology key, with a domain after an equals sign if it is the only one.
        form: The format of the report.
        fail_on: The least damage that is too much, or ``NEVER``.
        allowed_missing: How many pods of each workload may be missing in the end.
        unreachable: Whether lost nodes stay in the API.
        own_only: Whether only the pods of given workloads would be scheduled again.
        autoscale: What adds nodes for pods that are pending after a loss.

    Raises:
        UsageError: Options that do not go together, no node has the key or is in the domain, or no workload
            that is looked at runs a pod.
    """
    if options.files or options.words or options.name:
        raise UsageError("--all may not be combined with --file or KIND/NAME")
    if own_only:
        raise UsageError("--all may not be combined with --displaced own: every pod is scheduled again")
    name, equals, domain = key.partition("=")
    losing = survive_loss.LossOptions(
        key=events.topology_key(name),
        domain=domain if equals else None,
        allowed_missing=allowed_missing,
        unreachable=unreachable,
    )
    page = cluster_page.ClusterPage(options) if form == HTML else None
    running = pod_objects.PodObjects(None) if page is None else page.objects.running
    read = cluster_workloads.read_workloads(
        options, options.namespace, "", form=form, every_kind=True,
        seen=running if page is None else page.objects,
    )  # fmt: skip
    placement.check_domain(read.cluster, losing.key, losing.domain)
    losing = replace(losing, autoscaler=autoscale.read(read.cluster))
    damage = DEFAULT_DAMAGE if fail_on == NEVER else Damage(fail_on)
    recorded = None if page is None else page.read(read)
    report = _evaluate(read, losing, running, damage, recorded)
    if form == "text":
        show(lambda width, color: cluster_text.render(report, width=width, color=color), piped=TABLES)
    elif form == "markdown":
        click.echo(cluster_text.render_markdown(report), nl=False)
    elif form == "junit":
        click.echo(junit.render_cluster(report, None if fail_on == NEVER else damage), nl=False)
    elif recorded is not None:
        recorded.print_losses(report, losing)
    else:
        print_answer(survive_json.render_cluster(report), form)
    if report.stopped:
        finish(ExitCode.INTERRUPTED)
    finish(ExitCode.of(clean=fail_on == NEVER or bool(report.verdict)))


def _evaluate(
    read: cluster_workloads.ReadCluster,
    options: survive_loss.LossOptions,
    running: pod_objects.PodObjects,
    fail_on: Damage,
    recorded: cluster_page.RecordedCluster | None,
) -> ClusterSurvivalReport:
    """Lose every domain that is meant, with progress on a terminal, until Ctrl-C is pressed.

    Raises:
        UsageError: No workload that is looked at runs a pod: what judged nothing found no damage.
    """
    losses: list[ClusterLoss] = []
    long = read.cluster.node_count >= MANY_NODES
    with interruptible() as stop:
        survival = cluster_survival.ClusterSurvival(read.workloads, read.context, options, running, stop=stop)
        if not survival.running.judges_any:
            raise UsageError(_nothing_runs(read.workloads.namespace, survival.running.namespaces))
        # What is gone is known at once; what becomes of it is not.
        if long and sys.stderr.isatty():
            for gone in survival.impacts[:IN_PHRASE]:
                note(cluster_text.impact(gone))
        with progress("Losing domains", long=long) as advance:
            survival.on_step = lambda share: advance((len(losses) + share) / len(survival.impacts))
            for done in survival.losses():
                losses.append(done.loss)
                if recorded is not None:
                    recorded.lost(survival, done, fail_on)
        stopped = stop()
    return survival.report(losses, fail_on=fail_on, unread=read.unread, stopped=stopped)


def _nothing_runs(namespace: str, others: Iterable[str]) -> str:
    """Say where no workload runs a pod, and where some do."""
    if not namespace:
        return "no pod of a workload runs in the cluster, or its snapshot lacks them"
    there = listed(sorted(map(shown_name, others)), IN_SENTENCE)
    return f"no pod of a workload runs in namespace {shown_name(namespace)}; " + (
        f"there are some in {there}" if there else "nor in any other, or the snapshot lacks them"
    )
