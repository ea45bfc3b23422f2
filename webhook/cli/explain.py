"""``evenkeel explain``: why a pod goes where it goes, or fits nowhere, and what would help."""

from __future__ import annotations

from typing import Any, Final

import click

from policies.errors import DocumentError, UsageError
from policies.evaluation.explaining import explain_object
from policies.reports import explain_json, explain_text
from webhook.cli.placement import PlacementOptions, judge_file, placement_options, show
from webhook.cli.score import BAD_INPUT, FITS, FITS_NOWHERE

#: Columns of the text where there is no terminal. Arbitrary; what terminals have had for long.
PIPED: Final = 80

#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES = """\b
evenkeel explain -f web.yaml --live
kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json > cluster.json
evenkeel explain -f web.yaml --cluster cluster.json
helm template shop | evenkeel explain -f - --name Deployment/web --cluster cluster.json
"""


@click.command(epilog=_EXAMPLES)
@placement_options
@click.option(
    "-o", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.pass_context
def command(context: click.Context, /, *, form: str, **values: Any) -> None:
    """Explain where a pod would go, or why it fits nowhere.

    Tells which constraints are in force and where they come from, how each domain stands, why each group of
    nodes refuses the pod, and which changes of the manifest would make it fit, the smallest first; each is
    judged before it is told.

    The file holds a Pod, or a workload whose next pod is meant. Services and Namespaces in it count as
    part of the cluster.

    Exit codes: 0 it fits some node, 1 it fits none, 2 bad usage or input, 3 could not run.
    """
    options = PlacementOptions(**values)
    if not options.file:
        raise UsageError("give the manifest with the pod or workload: --file FILE")
    try:
        if options.live:
            # Only who asks for a live cluster waits for what talks to it.
            from webhook.cli.live_placement import show_asked  # noqa: PLC0415

            fits = show_asked(context, options, "/v1/explain", as_json=form == "json", piped=PIPED)
            if fits is not None:
                context.exit(FITS if fits else FITS_NOWHERE)
        explained = judge_file(options, explain_object)
    except DocumentError as error:
        click.echo("\n".join(error.problems), err=True)
        context.exit(BAD_INPUT)
    if form == "json":
        click.echo(explain_json.render(explained))
    else:
        show(
            context,
            lambda width, color: explain_text.render(explained, width=width, color=color),
            piped=PIPED,
        )
    context.exit(FITS if explained.placement.verdict.feasible_count else FITS_NOWHERE)
