"""``evenkeel audit``: how every workload of a cluster is spread now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import click

from policies.config.lint_config import FailOn
from webhook.cli.answers import print_answer
from webhook.cli.command import Command
from webhook.cli.options import HTML, HTML_NOTE, TEXTS, WIDE, answer_option
from webhook.cli.placement_options import PlacementOptions, workload_options
from webhook.cli.terminal import TABLES, ExitCode, finish, show
from webhook.distribution import release

#: The formats that are objects for a cluster: see ``policy_report.REPORT_APIS``.
_OBJECTS: Final = ("policyreport", "openreports")

_EXAMPLES = """\
evenkeel audit --live
evenkeel audit --live -n shop --fail-on warning
evenkeel snapshot -o cluster.json && evenkeel audit --cluster cluster.json --top 20
evenkeel audit --cluster cluster.json -l team=checkout -o json
evenkeel audit --live -o markdown >> "$GITHUB_STEP_SUMMARY"
evenkeel audit --live -o policyreport --fail-on never | kubectl apply -f -
"""


@click.command(cls=Command, examples=_EXAMPLES)
@workload_options
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
    top: int | None,
    fail_on: str,
    form: str,
    **values: Any,
) -> None:  # the options of the cluster
    """Show how every workload of a cluster is spread, the riskiest first.

    Each workload with a number of replicas is checked against the constraints in force for it: its own, a
    SpreadPolicy's, or the scheduler's defaults. A ReplicaSet is used for the Deployment that owns it.

    \b
    violated       the skew of a DoNotSchedule constraint is above maxSkew (error)
    would-violate  as violated, by a constraint that a policy gives to new pods alone (warning)
    pending        pods are pending, and spread is a reason (error)
    one-domain     several pods, all in one zone or on one node, and no constraint but built-in ones (warning)
    no-room        no further replica fits, and spread is a reason (warning)
    not-injected   a policy gives default constraints to new workloads, and this one has none (warning)
    never-binds    a constraint that can neither refuse a node nor prefer one (warning)
    uneven         the skew of a ScheduleAnyway constraint is above maxSkew (note)
    invalid        the API server would refuse the object today (warning)

    Room is how many more replicas fit: an upper bound with several DoNotSchedule constraints, and where pods
    have fields that are not modeled.

    The formats policyreport and openreports are objects for `kubectl apply -f -`, one for each workload:
    PolicyReport (wgpolicyk8s.io/v1alpha2) and Report (openreports.io/v1alpha1).

    Exit codes: 0 clean, 1 problems (see --fail-on), 2 bad usage or input, 3 could not run, 130 ended by
    Ctrl-C, after which the report has what was done until then.
    """  # noqa: D301  # click reads the backspace
    from planning.audit import audit as audit_audit
    from planning.audit import run as audit_run
    from planning.audit import text as audit_text
    from policies.manifests.findings import Severity
    from webhook.cli.cluster_workloads import LookedAt, read_workloads

    options, page = PlacementOptions(**values), None
    if form == HTML:
        from webhook.cli.cluster_page import ClusterPage

        page = ClusterPage(options)
    read = read_workloads(
        options, namespace, selector, form=form, seen=None if page is None else page.objects
    )
    looked_at = LookedAt(read.workloads, "Auditing")
    audits = [audit_audit.audit(each, read.context) for each in looked_at]
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
        show(
            lambda width, color: audit_text.render(run, width=width, color=color, wide=form == WIDE),
            piped=TABLES,
        )
    elif form == "markdown":
        click.echo(audit_text.render_markdown(run), nl=False)
    elif form in _OBJECTS:
        from planning.audit import policy_report

        click.echo(policy_report.render(run, policy_report.REPORT_APIS[form]), nl=False)
    elif page is not None:
        page.read(read).print_audit(run)
    else:
        from planning.audit import json as audit_json

        print_answer(audit_json.render(run), form)
    if looked_at.left:
        finish(ExitCode.INTERRUPTED)
    finish(
        ExitCode.FINDINGS
        if run.fails(None if fail_on == FailOn.NEVER else Severity(fail_on))
        else ExitCode.CLEAN
    )
