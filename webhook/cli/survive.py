"""``evenkeel survive``: whether every replica still runs when any one zone, rack or node is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from planning.simulation.survive.damage import DEFAULT_DAMAGE, NEVER, Damage
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import FieldPath
from policies.manifests.words import IN_PHRASE, listed, object_title
from webhook.cli.answers import print_answer, report_about
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command, is_given
from webhook.cli.completing_cluster import complete_key
from webhook.cli.options import HTML, HTML_NOTE, answer_option
from webhook.cli.placement_options import PlacementOptions, cluster_options, objects_options
from webhook.cli.terminal import (
    MANY_NODES,
    SENTENCES,
    ExitCode,
    finish,
    interruptible,
    progress,
    show,
    status,
)

if TYPE_CHECKING:
    from planning.simulation.survive import loss as survive_loss
    from planning.simulation.survive import survival_report
    from planning.simulation.survive.loss import Loss
    from policies.model.workload import Workload
    from webhook.cli import placement as cli_placement


_EXAMPLES = """\
evenkeel survive zone -f web.yaml --live
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel survive zone -f web.yaml --cluster cluster.json
evenkeel survive zone deploy/web -n shop --unreachable
evenkeel survive hostname -f web.yaml --cluster cluster.json --allow-missing 1
evenkeel survive zone -f web.yaml --live --autoscale node-groups.yaml
evenkeel survive zone --all --live
evenkeel survive zone=eu-central-1b --all --cluster cluster.json --fail-on below-budget
helm template shop | evenkeel survive zone -f - --cluster cluster.json -o json
"""


@click.command(cls=Command, examples=_EXAMPLES)
@click.argument("key", shell_complete=complete_key)
@objects_options
@cluster_options
@click.option(
    "--allow-missing",
    "allowed_missing",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Replicas of each workload that may be missing after a loss.",
)
@click.option(
    "--unreachable",
    is_flag=True,
    help="Lost nodes stay in the cluster with the taint node.kubernetes.io/unreachable, as in an outage; "
    "otherwise they are removed.",
)
@click.option(
    "--displaced",
    type=click.Choice(["all", "own"]),
    default="all",
    show_default=True,
    help="Pods that are scheduled again after a loss: all, or only those of the given workloads.",
)
@click.option(
    "--all",
    "whole",
    is_flag=True,
    help="Check all workloads that run in the cluster, as they run, instead of given ones.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*(each.value for each in Damage), NEVER]),
    help=f"With --all: exit 1 if a loss does a workload this damage or worse.  [default: {DEFAULT_DAMAGE}]",
)
@autoscale_option
@answer_option("markdown", "junit", HTML, text=HTML_NOTE)
def command(
    *,
    key: str,
    allowed_missing: int,
    unreachable: bool,
    displaced: str,
    whole: bool,
    fail_on: str | None,
    autoscale: str | None,
    form: str,
    **values: Any,
) -> None:  # the common options
    """Check whether every replica still runs when any one zone, rack or node is lost.

    KEY is a topology key; zone, region and hostname are short for Kubernetes' own. Each of its domains is
    lost once. Before that, all workloads of the file, or KIND/NAME, run with all their replicas: pods of the
    cluster that belong to the same revision are used, missing ones are placed, those of other revisions are
    left out. After a loss, displaced pods are scheduled again, the highest priority first. For workloads that
    do not survive, changes are searched for that help, and tried against every loss.

    All replicas must run, or those that --allow-missing leaves. PodDisruptionBudgets do not count: they
    limit evictions, not losses. DaemonSets, Jobs and Pods have no number of replicas to keep and are not
    checked.

    With --autoscale the answer also says what would change with the nodes that an autoscaler adds for
    pods that are pending after a loss, in the domains that are left. Verdicts and the exit code are those
    without these nodes, which may not come.

    With --all nothing is placed before a loss: every workload of the cluster, or of one namespace with -n, is
    checked as it runs, and KEY=VALUE loses one domain alone. Workloads are ranked by damage:

    \b
    down          none of its pods runs in the end
    below-budget  fewer run in the end than a PodDisruptionBudget asks for
    pending       fewer run in the end than before
    interrupted   all its pods were lost at once, so that none runs until the first replacement does
    skewed        a constraint's skew is above maxSkew in the end, and was lower before

    Exit codes: 0 every workload survives every single loss, 1 some do not, 2 bad usage or input, 3 could not
    run, 130 ended by Ctrl-C, after which the report has the losses that were tried, and no verdict unless one
    of them decides it.
    """  # noqa: D301  # click reads the backspace
    options = PlacementOptions(**values)
    if whole:
        from webhook.cli import survive_all

        survive_all.run(
            options, key, form, fail_on=fail_on or DEFAULT_DAMAGE, allowed_missing=allowed_missing,
            unreachable=unreachable, own_only=displaced == "own", autoscale=Autoscale(autoscale),
        )  # fmt: skip
    if fail_on is not None or "=" in key:
        raise UsageError(f"{'KEY=VALUE' if fail_on is None else '--fail-on'} may only be used with --all")
    if is_given("all_namespaces"):
        raise UsageError("-A may only be used with --all: an object has one namespace")
    from planning.simulation import events, recovery
    from planning.simulation.survive import loss as survive_loss
    from planning.what_if import survive_text
    from webhook.cli import placement as cli_placement

    options = options.with_default_cluster()
    losing = survive_loss.LossOptions(
        events.topology_key(key),
        allowed_missing=allowed_missing,
        unreachable=unreachable,
        others=recovery.MOST_OTHERS if displaced == "all" else 0,
    )
    given = cli_placement.read_input(options, every=True, keeps=True)
    if given.context.cluster is not None:
        losing = replace(losing, autoscaler=Autoscale(autoscale).read(given.context.cluster))
    report = _evaluate(given, losing)
    if form == "text":
        show(lambda width, color: survive_text.render(report, width=width, color=color), piped=SENTENCES)
    elif form == "markdown":
        click.echo(survive_text.render_markdown(report), nl=False)
    elif form == "junit":
        from planning.what_if import survive_junit

        click.echo(survive_junit.render(report), nl=False)
    else:
        from planning.what_if import survive_cluster_text as cluster_text
        from planning.what_if import survive_json

        workloads = (each.workload for each in report.survival.deployed)
        titles = (object_title(each.kind.kind, each.namespace, each.name) for each in workloads)
        action = cluster_text.any_loss(losing.key, unreachable=unreachable)
        about = report_about(
            options, title=listed(titles, IN_PHRASE), action=action, verdict=survive_text.verdict(report)
        )
        print_answer(survive_json.render(report), form, "survive", about)
    if report.stopped:
        finish(ExitCode.INTERRUPTED)
    finish(ExitCode.of(clean=bool(report.verdict)))


def _evaluate(
    given: cli_placement.PlacementInput, options: survive_loss.LossOptions
) -> survival_report.SurvivalReport:
    """Lose every domain once; return what becomes of the workloads.

    Raises:
        DocumentError: A workload cannot be placed, or none can be evaluated.
        UsageError: No node has the topology key.
    """
    from planning.simulation.suggestions import survive_suggestions
    from planning.simulation.survive import survival_report, survive
    from webhook.cli import placement as cli_placement

    cli_placement.check_key(given, options.key)
    workloads, unjudged = _read_workloads(given)
    long = given.context.cluster is not None and given.context.cluster.node_count >= MANY_NODES
    losses: list[Loss] = []
    running = given.known.running
    with interruptible() as stop:
        with progress("Losing domains", long=long) as advance:
            survival = survive.SingleLosses(
                workloads,
                given.context,
                options,
                running,
                stop=stop,
                on_step=lambda share: advance((len(losses) + share) / len(survival.domains)),
            )
            for loss in survival.losses():
                losses.append(loss)
                advance(len(losses) / len(survival.domains))
        with status("Trying changes", long=long and not all(loss.survives for loss in losses)):
            helps = tuple(
                survive_suggestions.find_help(survival, tuple(losses), given.context, running, stop=stop)
            )
        stopped = stop()
    return survival_report.SurvivalReport(
        survival=survival,
        losses=tuple(losses),
        helps=helps,
        unjudged=tuple(unjudged),
        version=given.context.kubernetes_version,
        stopped=stopped,
    )


def _read_workloads(given: cli_placement.PlacementInput) -> tuple[list[Workload], list[tuple[Workload, str]]]:
    """Return the workloads that can be evaluated, and the others with the reason.

    Raises:
        DocumentError: One cannot be placed, is given twice, or none can be evaluated; holds every problem.
    """
    from planning.simulation import replicas
    from planning.simulation.survive import deployed_workloads
    from policies.pods import placement
    from webhook.cli import manifest

    problems, workloads, unjudged, seen = list(given.problems), [], [], set()
    for entry in given.entries:
        try:
            workload = placement.read_workload(entry.value, given.context, namespace=given.namespace)
            if workload.identity in seen:
                problems.append(f"{entry.location(FieldPath())}: {workload.title} is given twice")
            seen.add(workload.identity)
            # Whatever Kubernetes refuses is an error, also of what could not be evaluated.
            placement.prepare(workload, given.context)
            replicas.check_replicas(workload)
            if why := deployed_workloads.why_unjudged(workload):
                unjudged.append((workload, why))
                continue
        except placement.PlacementError as error:
            problems += manifest.told(entry, error.errors)
        else:
            workloads.append(workload)
    if not problems and not workloads:
        titles = zip(given.entries, unjudged, strict=True)
        problems = [f"{e.location(FieldPath())}: {w.title} is not evaluated: {why}" for e, (w, why) in titles]
    if problems:
        raise DocumentError(problems)
    return workloads, unjudged
