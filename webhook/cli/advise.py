"""``evenkeel advise``: from a goal to the constraints that reach it, with the proof."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from planning.advise.goal import Goal, parse_limit, parse_range
from planning.simulation.limits import MOST_ADVISED
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import FieldPath, shown
from webhook.cli.answers import print_answer
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.completing_cluster import complete_key
from webhook.cli.options import answer_option
from webhook.cli.placement_options import PlacementOptions, cluster_options, object_options
from webhook.cli.terminal import LINES, ExitCode, finish, interruptible, note, progress, show

if TYPE_CHECKING:
    from planning.advise import advise as advise_advise
    from planning.advise import node_groups
    from planning.simulation.node_source import NodeSource
    from policies.manifests.documents import ManifestObject
    from policies.model import scaling
    from policies.model.cluster_workloads import ClusterWorkloads
    from policies.model.workload import Workload
    from webhook.cli import placement as cli_placement


#: Replicas times nodes from which the progress is shown: each replica is placed for some sets of constraints.
LONG: Final = 20_000
_COUNT: Final = re.compile(r"[0-9]{1,4}")

_EXAMPLES = """\
evenkeel advise -f web.yaml --lose-at-most 1/3 --key zone --replicas 3..12 --live
evenkeel advise deploy/web -n shop --lose-at-most 1 --key hostname
evenkeel advise -f web.yaml --lose-at-most 1/3 --one-a-node --nodes a=3,b=3,c=3
evenkeel advise -f web.yaml --lose-at-most 1/3 --cluster cluster.json --diff | git apply
"""


def _read_with(read: Any) -> Any:
    """Return click's callback for an option, whose errors then name the option."""

    def callback(_context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        try:
            return read(value)
        except UsageError as error:
            raise UsageError(f"{parameter.opts[0]}: {error}") from error

    return callback


def _read_nodes(text: str) -> dict[str, int]:
    """Read a number of nodes for each domain.

    >>> _read_nodes("a=3,b=0")
    {'a': 3, 'b': 0}

    Raises:
        UsageError: It is none, or there are too many.
    """
    from planning.simulation import events

    counts: dict[str, int] = {}
    for part in text.split(","):
        domain, _, count = part.rpartition("=")
        if not domain or not _COUNT.fullmatch(count) or domain in counts:
            wanted = "must be DOMAIN=N,DOMAIN=N with N from 0 to 9999, each domain once, such as a=3,b=3"
            raise UsageError(f"Invalid value: {shown(text)}: {wanted}")
        counts[domain] = int(count)
    if sum(counts.values()) > events.MOST_ADDED:
        raise UsageError(f"Invalid value: {shown(text)}: there may be at most {events.MOST_ADDED:,} nodes")
    return counts


@click.command(cls=Command, examples=_EXAMPLES)
@object_options
@cluster_options
@click.option(
    "--lose-at-most",
    "limit",
    metavar="SHARE|N",
    callback=_read_with(parse_limit),
    help="How many replicas may be lost with one domain: a share such as 1/3 or 33%, rounded up to whole "
    "replicas, or a number.",
)
@click.option(
    "--key",
    "key",
    shell_complete=complete_key,
    default="zone",
    show_default=True,
    metavar="KEY",
    help="Topology key of which one domain goes; zone, region and hostname are short for Kubernetes' own.",
)
@click.option(
    "--one-a-node",
    is_flag=True,
    help="No node may have two replicas more than another that could take one; with --lose-at-most, another "
    "of its domain.",
)
@click.option(
    "--replicas",
    metavar="N..M",
    callback=_read_with(lambda text: parse_range(text, MOST_ADVISED)),
    help="The numbers of replicas.  [default: those of its HorizontalPodAutoscaler or ScaledObject in "
    "the file or the cluster, else its own]",
)
@click.option(
    "--nodes",
    "counts",
    metavar="DOMAIN=N,…",
    callback=_read_with(_read_nodes),
    help="Without a cluster: the nodes that there are, of each domain of KEY (of each zone, with --key "
    "hostname). With one: how many an autoscaler may bring each domain to.",
)
@autoscale_option
@click.option("--enforce", is_flag=True, help="Only a DoNotSchedule constraint counts for --lose-at-most.")
@click.option(
    "--allow-soft",
    is_flag=True,
    help="DoNotSchedule constraints that are there may be weakened or removed; what is given up is listed.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Print only the change: a diff of the file, or for KIND/NAME a patch.",
)
@answer_option()
def command(
    *,
    limit: Any,
    key: str,
    one_a_node: bool,
    replicas: scaling.ReplicaRange | None,
    counts: dict[str, int] | None,
    autoscale: str | None,
    enforce: bool,
    allow_soft: bool,
    diff: bool,
    form: str,
    **values: Any,
) -> None:  # the common options
    """Find the constraints with which a workload reaches a goal, and prove it by simulation.

    It takes as few constraints as it can, and as soft ones; only --allow-soft softens a DoNotSchedule
    constraint of the manifest. They are listed with what would fail if each were softer, and with --diff
    as a change of the manifest. It is proven that the replicas get a node at every number of
    the range, that no domain gets more than may be lost, and that rollouts complete, with the whole default
    profile of kube-scheduler. Constraints of the manifest for other keys stay if the goal allows it.

    The pods of the workload that run now are left out there: the new template replaces them. What reaches the
    goal so is then applied to the cluster as it runs, as what-if does it. Domains that a SpreadPolicy lists
    (topology.domains) and that have no node may get some.

    With --autoscale the node groups say which nodes may come. One is added for a replica that is pending, and
    of several groups that could have it the one in the domain with most replicas: the goal must hold whatever
    group Cluster Autoscaler takes.

    Exit codes: 0 the goal is reached, with the constraints to write or as it is; 1 it cannot be: what is
    missing is shown, and the best there is; or only the pods that run now miss it, and nothing is to write;
    2 bad usage or input, 3 could not run. Ctrl-C reports what was found until then; exit code 130.
    """
    if limit is None and not one_a_node:
        raise UsageError("give a goal: --lose-at-most SHARE, --one-a-node, or both")
    if enforce and limit is None:
        raise UsageError("--enforce may only be set with --lose-at-most")
    if counts is not None and autoscale is not None:
        raise UsageError("--nodes and --autoscale exclude each other")
    options = PlacementOptions(**values).with_default_cluster()
    if counts is None and not options.cluster and not options.live:
        raise UsageError("give a cluster, --cluster FILE or --live, or describe one: --nodes a=3,b=3,c=3")
    from planning.simulation import events
    from policies.model import scaling

    goal = Goal(
        key=events.topology_key(key),
        limit=limit,
        one_a_node=one_a_node,
        enforced=enforce,
        allow_soft=allow_soft,
        replicas=replicas or scaling.ReplicaRange(0, 0),
    )
    advice, entry = _advise(options, goal, counts, Autoscale(autoscale))
    if advice is None:
        finish(ExitCode.INTERRUPTED)
    _print(advice, form="diff" if diff else form, options=options, entry=entry)
    if not advice.complete:
        finish(ExitCode.INTERRUPTED if advice.stopped else ExitCode.FINDINGS)
    is_reached = advice.is_met and (advice.chosen is not None or advice.is_met_now)
    finish(ExitCode.of(clean=is_reached))


def _advise(
    options: PlacementOptions, goal: Goal, counts: dict[str, int] | None, autoscale: Autoscale
) -> tuple[advise_advise.Advice | None, ManifestObject]:
    """Return the advice, None if Ctrl-C ended it too early, and the object that it is about.

    Raises:
        DocumentError: The workload cannot be placed, or has no replicas to spread.
        UsageError: No node has the topology key, or the range of replicas is too large.
    """
    from planning.advise import advise as advise_advise
    from policies.model.cluster_workloads import ClusterWorkloads
    from policies.pods import placement
    from webhook.cli import manifest
    from webhook.cli import placement as cli_placement

    described = None
    if counts is not None and not options.cluster and not options.live:
        from planning.advise import node_groups

        described = list(node_groups.described_nodes(node_groups.domains_key(goal.key), counts))
    workloads = ClusterWorkloads(options.kinds(), every_kind=True)
    given = cli_placement.read_input(options, workloads, keeps=True, described=described, autoscalers=True)
    (entry,) = given.entries
    try:
        workload = placement.read_workload(entry.value, given.context, namespace=given.namespace)
        placement.check_controller(workload)
        if why := advise_advise.why_unadvised(workload):
            raise DocumentError([f"{entry.location(FieldPath())}: {workload.title} is not advised on: {why}"])
        if not goal.replicas.most:
            goal = replace(goal, replicas=_replicas(workload, given))
        return _search(workload, given, workloads, goal, counts=counts or {}, autoscale=autoscale), entry
    except placement.PlacementError as error:
        raise DocumentError([*given.problems, *manifest.told(entry, error.errors)]) from error


def _groups(
    given: cli_placement.PlacementInput,
    goal: Goal,
    counts: Mapping[str, int],
    autoscaler: NodeSource | None,
) -> tuple[node_groups.NodeGroup, ...]:
    """Return the nodes that an autoscaler may add.

    Raises:
        UsageError: A node group is in no domain of the goal.
    """
    from planning.advise import node_groups

    context, most = given.context, goal.replicas.most
    if autoscaler is None:
        return node_groups.groups_for(context, goal.key, counts, most)
    if lacking := node_groups.groups_lacking(autoscaler, goal.key):
        raise UsageError(f"--autoscale: {lacking}")
    return node_groups.scaled_groups(autoscaler, goal.key, most)


def _search(
    workload: Workload,
    given: cli_placement.PlacementInput,
    workloads: ClusterWorkloads,
    goal: Goal,
    *,
    counts: Mapping[str, int],
    autoscale: Autoscale,
) -> advise_advise.Advice | None:
    """Return the advice; None if Ctrl-C ended it too early.

    Raises:
        DocumentError: The file of node groups is not what it should be.
        UsageError: No node has the topology key, or a node group is in no domain of it.
    """
    context, most = given.context, goal.replicas.most
    if context.cluster is None:
        raise ValueError("there is no cluster to place anything in")
    from planning.advise import advise as advise_advise
    from planning.simulation.scenario import ClusterState
    from webhook.requests.placement import unread_kinds

    autoscaler = autoscale.read(context.cluster)
    groups = _groups(given, goal, counts, autoscaler)
    state = ClusterState(
        context=context, known=given.known, workloads=workloads, unread=unread_kinds(context.cluster)
    )
    if not any(group.key == goal.key for group in groups):
        from webhook.cli import placement as cli_placement

        cli_placement.check_key(given, goal.key, option="--key")
    long = most * (context.cluster.node_count + sum(group.count for group in groups)) >= LONG
    with progress("Trying constraints", long=long) as advance, interruptible() as stop:
        return advise_advise.advise(
            workload, state, goal, groups, nodes_from=autoscaler, stop=stop, on_trial=advance
        )


def _replicas(workload: Workload, given: cli_placement.PlacementInput) -> scaling.ReplicaRange:
    """Return the range that an autoscaler gives, or the workload's own number.

    Raises:
        UsageError: It goes beyond what is tried.
    """
    from policies.model import repository, scaling

    others = given.context.replica_sources.autoscalers
    least, most, source = repository.Repository.of([workload], others).replicas(
        workload
    ) or scaling.ReplicaRange(1, 1)
    if most > MOST_ADVISED:
        text = f"{source or workload.title} has up to {most:,} replicas; at most {MOST_ADVISED:,} are tried"
        raise UsageError(f"{text}: give a range, --replicas N..M")
    return scaling.ReplicaRange(max(least, 1), max(most, 1), source)


def _print(
    advice: advise_advise.Advice, *, form: str, options: PlacementOptions, entry: ManifestObject
) -> None:
    """Print advice, or only the change.

    Raises:
        DocumentError: The file cannot be edited there.
    """
    from webhook.cli import suggestion

    if form == "text":
        from planning.advise import text as advise_text

        show(lambda width, color: advise_text.render(advice, width=width, color=color), piped=LINES)
    elif form != "diff":
        from planning.advise import json as advise_json

        print_answer(advise_json.render(advice), form)
    elif not advice.edits:
        note("there is nothing to change")
    elif (target := options.target(options.kinds())) is None:
        click.echo(suggestion.manifest_diff(options.files, entry, advice.edits), nl=False)
    else:
        click.echo(suggestion.kubectl_patch(target, entry, advice.edits))
