"""``evenkeel score``: one verdict per node, for a pod in a file or for requests on standard input."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from webhook.cli.answers import Printer, answer_lines, answer_printer
from webhook.cli.command import Command
from webhook.cli.options import WIDE, answer_option
from webhook.cli.placement_options import PlacementOptions, placement_options
from webhook.cli.terminal import TABLES, ExitCode, finish, show

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext


_EXAMPLES = """\
evenkeel score deploy/web -n shop -o wide
evenkeel score -f web.yaml --live
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel score -f web.yaml --cluster cluster.json
helm template shop | evenkeel score -f - deploy/web --cluster cluster.json -o json
evenkeel score --jsonl --cluster cluster.json < requests.jsonl > answers.jsonl
"""


@click.command(cls=Command, examples=_EXAMPLES)
@placement_options
@answer_option(WIDE, text="wide: a table with a line for every node, and raw scores.")
@click.option(
    "--jsonl", is_flag=True, help="Read one score request per line from stdin, write one answer per line."
)
def command(*, form: str, jsonl: bool, **values: Any) -> None:  # the common options
    """Score every node for one pod, as kube-scheduler would.

    KIND/NAME is an object of the cluster, such as deploy/web, read with your own permissions or from the
    snapshot. A file has a Pod, or a workload whose next pod is scheduled. Services and Namespaces in it are
    added to the cluster.

    With --jsonl each line of stdin is a score request, as for POST /v1/score, and gets one line on stdout, in
    order: the answer, or {"error", "details"} for an invalid (or empty) line. A request without "cluster"
    uses --cluster, or the live cluster as read once at the start.

    Exit codes: 0 the pod fits a node, 1 it fits none, 2 bad usage or input, 3 could not run. With --jsonl:
    2 if a line was invalid, else 1 if some pod fits no node.
    """
    options = PlacementOptions(**values).with_default_cluster()
    if jsonl:
        from webhook.cli import placement as cli_placement

        options.check_lines()
        finish(answer_lines(sys.stdin.buffer, partial(_answer, server=cli_placement.read_context(options))))
    fits = _score(options, wide=form == "wide", tell=answer_printer(form))
    finish(ExitCode.of(clean=fits))


def _score(options: PlacementOptions, *, wide: bool, tell: Printer | None) -> bool:
    """Print the verdict on every node; return whether the pod fits some node."""
    if options.live:
        from webhook.cli import live_placement

        fits = live_placement.show_remote(options, "/v1/score", piped=TABLES, wide=wide, tell=tell)
        if fits is not None:
            return fits
    from policies.pods import placement as core_placement
    from webhook.cli import placement as cli_placement

    placement, entry, *_ = cli_placement.evaluate_object(
        options,
        lambda obj, context, _known, *, namespace: core_placement.evaluate_manifest(
            obj, context, namespace=namespace
        ),
    )
    if tell is not None:
        from planning.explain import score_json

        tell(score_json.render(placement), entry)
    else:
        from planning.explain import score_text as score_table

        show(
            lambda width, color: score_table.render(placement, width=width, color=color, wide=wide),
            piped=TABLES,
        )
    return bool(placement.result.feasible_count)


def _answer(line: bytes, server: AdmissionContext) -> tuple[bytes, bool]:
    from planning.explain import score_json
    from webhook.requests import score

    placement = score.place_request(line, server)
    return score_json.render(placement), bool(placement.result.feasible_count)
