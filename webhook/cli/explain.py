"""``evenkeel explain``: why a pod goes where it goes, or fits nowhere, and what would help."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
import orjson

from policies.manifests.errors import UsageError
from policies.manifests.wire import dumps
from webhook.cli.answers import Printer, answer_printer, print_answer
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.options import DATA_FORMATS, HTML, HTML_NOTE, TEXTS, WIDE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import MANY_NODES, SENTENCES, TABLES, ExitCode, finish, interruptible, show, status

if TYPE_CHECKING:
    from planning.explain import explain
    from policies.config.context import AdmissionContext
    from policies.manifests.documents import ManifestObject
    from policies.pods.known_pods import KnownPods

#: The format that is a table of all nodes.
_SCORES: Final = "scores"
_EXAMPLES = """\
evenkeel explain deploy/web -n shop
evenkeel explain pod/web-7d9f-x2x -n shop -o wide
evenkeel explain --pending -n shop
evenkeel explain deploy/web -n shop -o scores
evenkeel explain -f web.yaml --live --autoscale node-groups.yaml
evenkeel explain -f web.yaml --diff 1 --live | patch -p1
kubectl get nodes,pods,services,rc,rs,sts,ns,deploy -A -o json > cluster.json
evenkeel explain deploy/web --cluster cluster.json
helm template shop | evenkeel explain -f - deploy/web --cluster cluster.json
"""


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@autoscale_option
@answer_option(
    WIDE, _SCORES, HTML,
    text=f"wide: the text with the names of all nodes; {_SCORES}: a table of their scores; {HTML_NOTE}",
)  # fmt: skip
@click.option(
    "--pending", is_flag=True, is_eager=True,
    help="Say why pods are pending, in the cluster or in -n NAMESPACE: a sentence for each controller.",
)  # fmt: skip
@click.option(
    "--diff",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print only suggestion N: a diff of the manifest, or for KIND/NAME a patch for kubectl.",
)
def command(
    *, form: str, pending: bool, number: int | None, autoscale: str | None, **values: Any
) -> None:  # the common options
    """Explain where a pod would be scheduled, or why it is unschedulable and what would help.

    Shows which constraints apply and where they come from, the number of matching pods in each domain, why
    each group of nodes rejects the pod, and which changes of the manifest or the cluster would make it fit,
    with the number of replicas that fit after each change. Every suggestion is verified by simulation.

    KIND/NAME is an object of the cluster, such as deploy/web, read with your own permissions or from the
    snapshot. A file has a Pod, or a workload whose next pod is scheduled. Services and Namespaces in it are
    added to the cluster.

    An object of a file that the cluster does not have so is applied first, as what-if does it: the answer
    begins with what becomes of it, and explains its first pod that stays pending, else the first new one.

    With --autoscale the headline also says what the autoscaler would add for a pod that fits nowhere, or
    for the first replica that does not fit. The exit code is that without these nodes, which may not come.

    Exit codes: 0 the pod fits a node, or what is applied ends well, 1 otherwise, 2 bad usage
    or input, 3 could not run, 130 ended by Ctrl-C, after which the explanation has the replicas and changes
    that were tried. With --pending: 0 none is pending or each fits a node, 1 otherwise. With --diff: 0
    printed, 2 there is no such suggestion, or it cannot be printed as a diff.
    """
    options = PlacementOptions(**values).with_default_cluster()
    if pending:
        if options.words or options.files or number is not None or autoscale is not None:
            raise UsageError("--pending is about all pods: no KIND/NAME, --file, --diff or --autoscale")
        if form not in (*TEXTS[:1], *DATA_FORMATS):
            raise UsageError(f"--pending has the formats text, {' and '.join(DATA_FORMATS)}")
        finish(_pending(options, form))
    if form == _SCORES:
        if number is not None or autoscale is not None:
            raise UsageError(f"-o {_SCORES} may not be combined with --diff or --autoscale")
        finish(_scores(options))
    tell = answer_printer(form, "explain", options=options, action="its next pod is placed")
    if number is not None:
        tell = partial(_print_suggestion, number, options)
    code = _explain(options, Autoscale(autoscale), wide=form == "wide", tell=tell)
    finish(ExitCode.CLEAN if code == ExitCode.FINDINGS and number is not None else code)


def _explain(
    options: PlacementOptions, autoscale: Autoscale, *, wide: bool, tell: Printer | None
) -> ExitCode:
    """Print an explanation, or what is made of it; return the exit code: whether the pod fits some node."""
    if options.live and autoscale.source is None:
        from webhook.cli import live_placement

        fits = live_placement.show_remote(options, "/v1/explain", piped=SENTENCES, wide=wide, tell=tell)
        if fits is not None:
            return ExitCode.of(clean=fits)
    from planning.explain import text as explain_text
    from policies.scheduler import rejections
    from webhook.cli import placement as cli_placement

    judge = _Explainer(options, rejections.EVERY_NODE if wide else rejections.EXAMPLES, autoscale)
    # An object of a file is played, for which more of the cluster is needed than to place a pod.
    explained, entry, _, node = cli_placement.evaluate_object(
        options, judge, judge.see, keeps=bool(options.files), tells_node=True
    )
    explained = replace(explained, node=node)
    if tell is not None:
        from planning.explain import json as explain_json

        tell(explain_json.render(explained), entry, explain_text.headline(explained))
    else:
        show(
            lambda width, color: explain_text.render(explained, width=width, color=color, wide=wide),
            piped=SENTENCES,
        )
    if judge.stopped:
        return ExitCode.INTERRUPTED
    return ExitCode.of(clean=explained.succeeds)


def _pending(options: PlacementOptions, form: str) -> ExitCode:
    """Print why every pending pod is pending; return the exit code: whether each fits some node."""
    from planning.explain import pending as explain_pending
    from policies.model.cluster_workloads import PendingPods
    from webhook.cli.cluster_workloads import nothing_there, read_workloads

    pods = PendingPods()
    options = replace(options, live=options.live or not options.cluster)
    read = read_workloads(options, options.namespace, "", form=form, every_kind=True, seen=pods)
    if not len(read.workloads):
        raise UsageError(nothing_there(read.workloads))
    with status("Placing pending pods", long=read.cluster.node_count >= MANY_NODES), interruptible() as stop:
        answer = explain_pending.find_reasons(
            pods,
            read.workloads,
            replace(read.context, reads_stored=True),
            namespace=options.namespace,
            unread=read.unread,
            stop=stop,
        )
        stopped = stop()
    if form in DATA_FORMATS:
        print_answer(dumps(answer), form)
    else:
        show(
            lambda width, color: explain_pending.render_text(answer, width=width, color=color),
            piped=SENTENCES,
        )
    return ExitCode.INTERRUPTED if stopped else ExitCode.of(clean=answer.all_fit)


def _scores(options: PlacementOptions) -> ExitCode:
    """Print the table of every node; return the exit code: whether the pod fits some node."""
    if options.live:
        from webhook.cli import live_placement

        fits = live_placement.show_remote(options, "/v1/score", piped=TABLES)
        if fits is not None:
            return ExitCode.of(clean=fits)
    from planning.explain import score_text
    from policies.pods import placement
    from webhook.cli import placement as cli_placement

    placed, *_ = cli_placement.evaluate_object(
        options,
        lambda obj, context, _known, *, namespace: placement.evaluate_manifest(
            obj, context, namespace=namespace
        ),
    )
    show(lambda width, color: score_text.render(placed, width=width, color=color), piped=TABLES)
    return ExitCode.of(clean=bool(placed.result.feasible_count))


class _Explainer:
    """Explains an object until Ctrl-C ends the counting of replicas and the search for changes.

    Attributes:
        stopped: Whether it did.
    """

    def __init__(self, options: PlacementOptions, examples: int, autoscale: Autoscale) -> None:
        from policies.model.cluster_workloads import ClusterWorkloads

        self._examples, self._autoscale = examples, autoscale
        self._plays = bool(options.files)
        self._workloads = ClusterWorkloads(options.kinds(), every_kind=True)
        self.stopped = False

    def see(self, obj: dict[str, Any]) -> None:
        """Take in an object of the cluster."""
        if self._plays:
            self._workloads(obj)

    def __call__(
        self, obj: dict[str, Any], context: AdmissionContext, known: KnownPods, /, *, namespace: str
    ) -> explain.Explained:
        """Explain an object; see ``explain_object``."""
        from planning.explain import explain
        from planning.simulation.scenario import ClusterState
        from policies.scheduler.index import ClusterIndex
        from webhook.requests.placement import unread_kinds

        cluster = context.cluster or ClusterIndex()
        long = cluster.node_count >= MANY_NODES
        autoscaler = self._autoscale.read(cluster)
        state = ClusterState(
            context=context, known=known, workloads=self._workloads, unread=unread_kinds(cluster)
        )
        with status("Placing replicas, trying changes", long=long), interruptible() as stop:
            found = explain.explain_object(
                obj,
                state,
                namespace=namespace,
                examples=self._examples,
                autoscaler=autoscaler,
                stop=stop,
            )
            self.stopped = stop()
        return found


def _print_suggestion(
    number: int,
    options: PlacementOptions,
    body: bytes,
    entry: ManifestObject,
    verdict: str = "",  # noqa: ARG001  # a Printer is given it
) -> None:
    """Print what makes a suggestion come true.

    Raises:
        UsageError: There is none of that number, or it is none of a manifest.
        DocumentError: The file cannot be edited there.
    """
    from webhook.cli import suggestion

    report = orjson.loads(body)
    edits = suggestion.suggestion(report, number)
    target = options.target(options.kinds())
    if target is not None and target.kind.kind in {"Pod", "Job"}:
        text = f"a {target.kind.kind} cannot be edited so"
        raise UsageError(report.get("editing") or text)
    if target is None:
        click.echo(suggestion.manifest_diff(options.files, entry, edits), nl=False)
    else:
        click.echo(suggestion.kubectl_patch(target, entry, edits))
