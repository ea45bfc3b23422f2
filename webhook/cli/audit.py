"""``evenkeel audit``: how every workload of a cluster is spread now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from planning.simulation.limits import MOST_ROLLED_OUT
from policies.config.lint_config import FailOn
from policies.manifests.errors import UsageError
from policies.manifests.fields import shown_name
from policies.manifests.findings import Severity
from policies.model.workload import DEFAULT_NAMESPACE
from webhook.cli.answers import print_answer
from webhook.cli.command import Command, is_given
from webhook.cli.completing_cluster import complete_object
from webhook.cli.options import DATA_FORMATS, HTML, HTML_NOTE, TEXTS, WIDE, answer_option
from webhook.cli.placement_options import PlacementOptions, workload_options
from webhook.cli.terminal import TABLES, ExitCode, finish, show
from webhook.distribution import release

if TYPE_CHECKING:
    from planning.audit.run import AuditRun

#: The formats that are objects for a cluster: see ``policy_report.REPORT_APIS``.
_OBJECTS: Final = ("policyreport", "openreports")

_EXAMPLES = """\
evenkeel audit --live
evenkeel audit --live -n shop --fail-on warning
evenkeel snapshot -o cluster.json && evenkeel audit --cluster cluster.json --top 20
evenkeel audit --cluster cluster.json -l team=checkout -o json
evenkeel audit --live -o markdown >> "$GITHUB_STEP_SUMMARY"
evenkeel audit --live -o policyreport --fail-on never | kubectl apply -f -
evenkeel audit deploy/web -n shop --evictions
evenkeel audit deploy/web -n shop --deletion-costs 3
"""


@click.command(cls=Command, examples=_EXAMPLES)
@click.argument("words", metavar="[KIND/NAME]", nargs=-1, shell_complete=complete_object)
@workload_options
@click.option(
    "--evictions", is_flag=True, help="Of KIND/NAME: the fewest evictions that bring it within maxSkew."
)
@click.option(
    "--deletion-costs", "replicas", type=click.IntRange(0, MOST_ROLLED_OUT), metavar="N",
    help="Of KIND/NAME: the pods to delete first, so that N replicas are left within maxSkew.",
)  # fmt: skip
@click.option(
    "--soft", is_flag=True,
    help="With --evictions or --deletion-costs: bring ScheduleAnyway constraints within maxSkew, too.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Show only the N riskiest workloads.")
@click.option(
    "--fail-on",
    type=click.Choice([each.value for each in FailOn]),
    default=FailOn.ERROR.value,
    show_default=True,
    help="Exit 1 if a workload has a problem of this severity or worse.",
)
@answer_option(
    WIDE, "markdown", HTML, *_OBJECTS,
    text=f"wide: the text with a line for every workload; {HTML_NOTE}",
)  # fmt: skip
def command(
    *,
    namespace: str,
    selector: str,
    evictions: bool,
    replicas: int | None,
    soft: bool,
    top: int | None,
    fail_on: str,
    form: str,
    **values: Any,
) -> None:  # the options of the cluster
    """Show how every workload of a cluster, or one, is spread, the riskiest first, and how to make it even.

    Each workload with a number of replicas is checked against the constraints in force for it: its own, a
    SpreadPolicy's, or the scheduler's defaults. A ReplicaSet is used for the Deployment that owns it.

    \b
    violated       the skew of a DoNotSchedule constraint is above maxSkew (error)
    would-violate  as violated, by a constraint that a policy gives to new pods alone (warning)
    pending        pods are pending, and spread is a reason (error)
    one-domain     the loss of one domain stops it, though its pods could be in others (warning)
    no-room        no further replica fits, and spread is a reason (warning)
    not-injected   a policy gives default constraints to new workloads, and this one has none (warning)
    never-binds    a constraint that can neither refuse a node nor prefer one (warning)
    uneven         the skew of a ScheduleAnyway constraint is above maxSkew (note)
    invalid        the API server would refuse the object today (warning)

    Room is how many more replicas fit: an upper bound with several DoNotSchedule constraints, and where pods
    have fields that are not modeled.

    The formats policyreport and openreports are objects for `kubectl apply -f -`, one for each workload:
    PolicyReport (wgpolicyk8s.io/v1alpha2) and Report (openreports.io/v1alpha1).

    With --evictions each of the fewest evictions is tried on the model with all plugins of kube-scheduler,
    and PodDisruptionBudgets are respected that are in the snapshot, or may be read. --deletion-costs ranks
    the pods of a Deployment as the controller of its ReplicaSet does, which does not look at constraints when
    it scales down. Commands are printed; nothing is executed.

    Exit codes: 0 clean, 1 problems (see --fail-on), or it stays above maxSkew, 2 bad usage or input, 3 could
    not run, 130 ended by Ctrl-C, after which the report has what was done until then.
    """  # noqa: D301  # click reads the backspace
    options = PlacementOptions(**values, namespace=namespace).with_default_cluster()
    if evictions or replicas is not None:
        finish(_make_even(options, form, evictions=evictions, replicas=replicas, soft=soft))
    if soft:
        raise UsageError("--soft may only be set with --evictions or --deletion-costs")
    run, left = _audit(options, selector, top=top, form=form)
    if left:
        finish(ExitCode.INTERRUPTED)
    finish(ExitCode.of(clean=not run.fails(None if fail_on == FailOn.NEVER else Severity(fail_on))))


def _audit(options: PlacementOptions, selector: str, *, top: int | None, form: str) -> tuple[AuditRun, int]:
    """Print how workloads are spread; return that, and how many were not looked at."""
    from planning.audit import audit as audit_audit
    from planning.audit import run as audit_run
    from webhook.cli.cluster_workloads import LookedAt, read_workloads

    page, target = None, options.target(options.kinds())
    namespace = options.namespace if target is None else _namespace(options)
    if form == HTML:
        from webhook.cli.cluster_page import ClusterPage

        page = ClusterPage(options)
    read = read_workloads(
        options, namespace, selector, form=form, seen=None if page is None else page.objects
    )
    looked_at = LookedAt(read.workloads, "Auditing")
    audits = [
        audit_audit.audit(each, read.context)
        for each in looked_at
        if target is None or (each.kind, each.name) == (target.kind.kind, target.name)
    ]
    if target is not None and not audits:
        raise UsageError(f"there is no {target} in namespace {shown_name(namespace)}")
    audited = audit_run.AuditedCluster(
        version=read.context.kubernetes_version,
        nodes=read.cluster.node_count,
        pods=read.cluster.pod_count,
        at=datetime.now(UTC),
        tool_version=release(),
        namespace=namespace,
        selector=selector,
        unread=read.unread,
    )
    run = audit_run.AuditRun.of(audits, audited, top=top, left=looked_at.left)
    if form in TEXTS:
        from planning.audit import text as audit_text

        show(
            lambda width, color: audit_text.render(run, width=width, color=color, wide=form == WIDE),
            piped=TABLES,
        )
    elif form == "markdown":
        from planning.audit import text as audit_text

        click.echo(audit_text.render_markdown(run), nl=False)
    elif form in _OBJECTS:
        from planning.audit import policy_report

        click.echo(policy_report.render(run, policy_report.REPORT_APIS[form]), nl=False)
    elif page is not None:
        page.read(read).print_audit(run)
    else:
        from planning.audit import json as audit_json

        print_answer(audit_json.render(run), form)
    return run, looked_at.left


def _namespace(options: PlacementOptions) -> str:
    """Return the namespace of an object that is named."""
    if options.live:
        from webhook.cli import live_placement

        options = live_placement.in_context(options)
    return options.namespace or DEFAULT_NAMESPACE


def _make_even(
    options: PlacementOptions, form: str, *, evictions: bool, replicas: int | None, soft: bool
) -> ExitCode:
    """Print what makes or leaves one workload even; return the exit code."""
    from webhook.cli import audit_workload

    option = "--evictions" if evictions else "--deletion-costs"
    if evictions and replicas is not None:
        raise UsageError("--evictions may not be combined with --deletion-costs")
    if not options.words:
        raise UsageError(f"{option} is about one workload: give KIND/NAME, such as deploy/web")
    if is_given("selector", "top", "fail_on") or form not in (*TEXTS[:1], *DATA_FORMATS):
        formats = ", ".join((*TEXTS[:1], *DATA_FORMATS))
        raise UsageError(f"{option} may not be combined with --selector, --top and --fail-on: -o {formats}")
    if replicas is None:
        return audit_workload.evictions(options, form, soft=soft)
    return audit_workload.deletion_costs(options, replicas, form, soft=soft)
