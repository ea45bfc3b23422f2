"""``evenkeel upgrade``: what an upgrade of Kubernetes changes for the workloads of a cluster."""

from __future__ import annotations

from typing import Any

import click

from policies.manifests.errors import UsageError
from webhook.cli.answers import print_answer
from webhook.cli.command import Command
from webhook.cli.options import answer_option
from webhook.cli.placement_options import PlacementOptions, workload_options
from webhook.cli.terminal import TABLES, ExitCode, finish, show

_EXAMPLES = """\
evenkeel upgrade --from 1.33 --to 1.37 --live
evenkeel upgrade --to 1.38 --cluster cluster.json -n shop -o json
"""


@click.command(cls=Command, examples=_EXAMPLES)
@workload_options
@click.option(
    "--from",
    "before",
    default="",
    metavar="VERSION",
    help="The release before the upgrade.  [default: the cluster's]",
)
@click.option("--to", "after", required=True, metavar="VERSION", help="The release after the upgrade.")
@answer_option()
def command(
    *,
    namespace: str,
    selector: str,
    before: str,
    after: str,
    form: str,
    **values: Any,
) -> None:  # the options of the cluster
    """Show which workloads an upgrade of Kubernetes changes, and by which of its changes.

    The next pod of each workload with a number of replicas is scheduled on the cluster as both releases
    would. What differs is shown with the entries of the table of releases that are responsible.

    Exit codes: 0 nothing breaks, 1 pods would be refused or fit nowhere after the upgrade, 2 bad usage or
    input, 3 could not run, 130 ended by Ctrl-C, after which the report has what was done until then.
    """
    from planning.simulation import release_diff
    from planning.what_if import upgrade
    from policies.scheduler import releases
    from webhook.cli.cluster_workloads import LookedAt, read_workloads

    earliest, latest = (releases.parse_release(text) if text else None for text in (before, after))
    read = read_workloads(PlacementOptions(**values), namespace, selector, form=form)
    known = read.context.kubernetes_version
    first, last = earliest or known, latest or known
    if last == first and first.patch is not None and last.patch is not None:
        later = last.patch > first.patch
    else:
        later = last > first
    if not later:
        raise UsageError(f"--to: Invalid value: {last.exact}: must be a release after {first.exact}")
    total, differing, looked_at = 0, [], LookedAt(read.workloads, "Comparing")
    for entry in looked_at:
        total += 1
        if (different := release_diff.diff_releases(entry, read.context, first, last)) is not None:
            differing.append(different)
    order = list(release_diff.DiffKind)
    differing.sort(key=lambda each: (not each.breaks, order.index(each.difference)))
    diff = upgrade.ReleaseDiff(
        before=first,
        after=last,
        total=total,
        workloads=tuple(differing),
        left=looked_at.left,
        unread=read.unread,
    )
    if form == "text":
        show(
            lambda width, color: upgrade.render_text(diff, width=width, color=color),
            piped=TABLES,
        )
    else:
        print_answer(upgrade.render_json(diff), form)
    if looked_at.left:
        finish(ExitCode.INTERRUPTED)
    finish(ExitCode.FINDINGS if diff.breaks else ExitCode.CLEAN)
