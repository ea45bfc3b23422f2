"""``evenkeel policy preview``: what changed policies would do to the workloads that a cluster has."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from policies.admission.effect_change import EffectChange
from policies.manifests.fields import member, text_member
from webhook.cli.answers import print_answer
from webhook.cli.command import Command
from webhook.cli.completing import complete_policies
from webhook.cli.options import answer_option
from webhook.cli.placement_options import PlacementOptions, cluster_options
from webhook.cli.terminal import ExitCode, finish, interruptible, note_and_keep
from webhook.kube.watched_resources import SPREAD_POLICIES, ListedResource

if TYPE_CHECKING:
    from policies.admission import policy_preview
    from policies.config import spread_policy


#: Workloads that a user may read, besides what a server reads: then no ReplicaSet is used for a Deployment.
_OF_USER: Final = (
    ListedResource("apps/v1", "Deployment", "/apis/apps/v1/deployments"),
    ListedResource("apps/v1", "DaemonSet", "/apis/apps/v1/daemonsets"),
    ListedResource("batch/v1", "CronJob", "/apis/batch/v1/cronjobs"),
)
#: What no list of a cluster has, and the user may know.
_FILES: Final = (
    "policies that Evenkeel has from files, which are in force too: give them with --policy "
    "(the chart has builtin:default)"
)
_EXAMPLES: Final = """\
evenkeel policy preview -f policy.yaml --live
evenkeel policy preview -f policy.yaml --policy in-force.yaml --cluster cluster.json --top 50
kubectl get spreadpolicies,nodes,pods,services,rc,rs,sts,deploy,ns -A -o json > cluster.json
evenkeel policy preview -f policy.yaml --cluster cluster.json -o json | jq .counts
"""
#: The changes for which the command fails.
_FAIL_ON: Final = {
    "denied": frozenset({EffectChange.DENIED}),
    "changed": frozenset(EffectChange) - {EffectChange.NOT_INJECTED},
    "never": frozenset[EffectChange](),
}


@click.command(
    cls=Command,
    name="preview",
    examples=_EXAMPLES,
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    shell_complete=complete_policies,
    help="SpreadPolicy file to preview, - for stdin; may be repeated.",
)
@cluster_options
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Workloads that the text lists under each change.",
)
@click.option(
    "--fail-on-change",
    "fail_on",
    type=click.Choice(list(_FAIL_ON)),
    default="denied",
    show_default=True,
    help="Exit 1 if a workload would be denied that is not now, or if anything changes.",
)
@answer_option()
def command(*, files: tuple[str, ...], top: int, fail_on: str, form: str, **values: Any) -> None:
    """Show what changed policies would do to the workloads that a cluster has.

    A policy of -f takes the place of the one of its name, or is added. The result is compared with what is in
    force: the policies of --policy and the SpreadPolicy objects of the cluster, or builtin:default if there
    are none. Each workload is evaluated as if it were created now.

    Exit codes: 0 nothing that --fail-on-change names, 1 something of it, 2 bad usage or input, 3 could not
    run, 130 ended by Ctrl-C, after which the report has what was done until then.
    """
    from policies.admission import policy_preview, preview_report
    from policies.config import loader
    from webhook.admission import context as admission_context
    from webhook.cli import manifest

    options = PlacementOptions(**values)
    options.require_cluster()
    changed = loader.load_policies(files, manifest.read_content)
    cluster = _Cluster(options)
    for policies in (changed, cluster.policies):
        admission_context.check_sources(policies, cluster.context)
    before = cluster.context.with_policies(cluster.in_force({}))
    after = cluster.context.with_policies(cluster.in_force({policy.name: policy for policy in changed}))
    with interruptible() as stop:
        preview = policy_preview.preview_workloads(
            cluster.workloads, before, after, today=datetime.now(UTC).date(), in_time=lambda: not stop()
        )
    report = preview_report.PolicyPreviewReport.of(
        preview,
        cluster.context.kubernetes_version,
        policies=[policy.name for policy in changed],
        in_force=[policy.name for policy in before.policies],
        not_looked_at=list(cluster.unread),
    )
    if form == "text":
        click.echo(preview_report.render_text(report, top=top), nl=False)
    else:
        print_answer(preview_report.render_json(report).encode(), form)
    if preview.looked_at < preview.total:
        finish(ExitCode.INTERRUPTED)
    finish(ExitCode.FINDINGS if _fails(preview, _FAIL_ON[fail_on]) else ExitCode.CLEAN)


def _fails(preview: policy_preview.PolicyPreview, changes: frozenset[EffectChange]) -> bool:
    return any(preview.counts[change] for change in changes)


class _Cluster:
    """A cluster as it was read.

    Attributes:
        context: What is decided by.
        workloads: Its workloads.
        policies: Its SpreadPolicy objects that are in force.
        unread: What could not be read, and why.
    """

    def __init__(self, options: PlacementOptions) -> None:
        """Read it.

        Raises:
            OSError: A file cannot be opened.
            DocumentError: A file is not what it should be.
            UsageError: Options that do not go together.
            ClusterError: The live cluster cannot be read.
        """
        from policies.model import cluster_workloads
        from webhook.cli import placement

        self.workloads = cluster_workloads.ClusterWorkloads(options.kinds(), every_kind=True)
        self.unread: list[str] = []
        self._found: list[dict[str, Any]] = []
        warn = partial(note_and_keep, self.unread)
        self.context = placement.read_context(options, self._see, warn=warn)
        self._files = tuple(self.context.policies) if options.policy else ()
        self._default = () if options.policy else tuple(self.context.policies)
        if options.live:
            for resource in (SPREAD_POLICIES, *_OF_USER):
                self._list(resource, options.context)
        self.policies = tuple(self._policies())
        if not options.policy:
            self.unread.append(_FILES)

    def in_force(
        self, changed: dict[str, spread_policy.SpreadPolicy]
    ) -> tuple[spread_policy.SpreadPolicy, ...]:
        """Return the policies in force with some changed: of files in their order, then by name."""
        files = [changed.get(policy.name, policy) for policy in self._files]
        of_cluster = {policy.name: policy for policy in self.policies} | changed
        for policy in self._files:
            of_cluster.pop(policy.name, None)
        rest = [policy for _, policy in sorted(of_cluster.items())]
        return (*files, *rest) or self._default

    def _see(self, obj: dict[str, Any]) -> None:
        from policies.config import spread_policy

        self.workloads(obj)
        if obj.get("kind") == spread_policy.KIND:
            self._found.append(obj)

    def _list(self, resource: ListedResource, context: str) -> None:
        from webhook.cli import live
        from webhook.kube import api_server as kube_api_server
        from webhook.kube import list as kube_list

        try:
            warn = partial(note_and_keep, self.unread)
            for obj in kube_list.list_objects(
                live.api_server(context), resource, left_out=lambda obj: warn(str(obj))
            ):
                self._see(obj)
        except kube_api_server.ApiError as error:
            self.unread.append(f"{resource.kind} objects: {error}")

    def _policies(self) -> list[spread_policy.SpreadPolicy]:
        from policies.config import policy_resource

        found = []
        for obj in self._found:
            name = text_member(member(obj, "metadata"), "name")
            if not name:
                continue
            read = policy_resource.read_policy_resource(
                obj, None, has_scheduler_config=self.context.scheduler is not None
            )
            if read.errors:
                self.unread.append(f"SpreadPolicy {name}: {read.fallback}")
            if read.accepted is not None:
                found.append(read.accepted.policy)
        return found
