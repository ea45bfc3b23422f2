"""``evenkeel what-if``: what becomes of a cluster and its workloads when something happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from policies.manifests.errors import UsageError
from policies.manifests.fields import did_you_mean, shown
from webhook.cli.answers import print_answer, report_about
from webhook.cli.autoscale_option import Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.completing import complete_cause
from webhook.cli.event_options import EVENT_NAMES, check_events, event_options, read_events
from webhook.cli.options import DATA_FORMATS, HTML, HTML_NOTE, WIDE, answer_option, with_options
from webhook.cli.placement_options import PlacementOptions, cluster_options, targets_options
from webhook.cli.terminal import SENTENCES, ExitCode, finish, show

if TYPE_CHECKING:
    from planning.simulation.events import Event
    from planning.simulation.outcome import Outcome
    from webhook.cli.what_if_input import WhatIfInput

#: What no verdict fails, and what one fails where nothing else is said.
_NEVER: Final = "never"
_DEFAULT: Final = "interrupted"

_EXAMPLES = """\
evenkeel what-if -f web.yaml --live
evenkeel what-if --drain node-a1 --cluster cluster.json
evenkeel what-if --lose-each zone --cluster cluster.json
evenkeel what-if deploy/web -n shop --replicas 6
evenkeel what-if deploy/web -n shop --restart --lose zone=a --cluster cluster.json
evenkeel what-if -f web.yaml --live --autoscale node-groups.yaml
evenkeel what-if --release 1.37 --live
kubectl get nodes,pods,services,rc,rs,sts,ns,deploy,ds,pdb -A -o json > cluster.json
"""
#: What is typed where nothing happens.
_NOTHING: Final = """\
say what happens, such as
  evenkeel what-if -f web.yaml --cluster cluster.json
  evenkeel what-if --drain node-a1 --cluster cluster.json
  evenkeel what-if deploy/web -n shop --replicas 6"""

_ASSUMING: Final = (
    autoscale_option,
    click.option(
        "--scale-down", is_flag=True,
        help="With --autoscale: then remove nodes that are not needed, and schedule their pods again.",
    ),
    click.option(
        "--unreachable", is_flag=True,
        help="Lost nodes stay in the cluster with the taint node.kubernetes.io/unreachable, as in an outage.",
    ),
    click.option(
        "--allow-missing", type=click.IntRange(min=0), metavar="N",
        help="Replicas of each workload that may be missing after events on nodes.",
    ),
    click.option(
        "--runs", metavar="N|all",
        help="Ways to play of what Kubernetes leaves to chance.  [default: all, within a limit, where a"
        " rollout or a scale comes last, else 1]",
    ),
)  # fmt: skip
_ANSWER: Final = (
    answer_option(WIDE, "markdown", "junit", HTML, text=HTML_NOTE),
    click.option(
        "--fail-on", metavar=f"CAUSE|{_NEVER}", default=_DEFAULT, show_default=True,
        shell_complete=complete_cause,
        help="Exit 1 if the verdict has this cause or a worse one.",
    ),
    click.option(
        "--diff", "number", type=click.IntRange(min=1), metavar="N",
        help="Print suggestion N as a diff of the manifest, or as a kubectl command.",
    ),
)  # fmt: skip
_SECTIONS: Final = {
    **dict.fromkeys(
        ["files", "each", *EVENT_NAMES], "What happens, in this order"
    ),
    **dict.fromkeys(["namespace", "cluster", "live"], "To whom, on what cluster"),
    **dict.fromkeys(["autoscale", "scale_down", "unreachable", "allow_missing", "runs"], "Assume"),
    **dict.fromkeys(["form", "fail_on", "number"], "Answer"),
}  # fmt: skip


def _further_options(function: Callable[..., Any]) -> Callable[..., Any]:
    return with_options(function, (*_ASSUMING, *_ANSWER))


@click.command(cls=Command, examples=_EXAMPLES, sections=_SECTIONS)
@targets_options
@event_options
@cluster_options
@_further_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    each: str,
    autoscale: str | None,
    scale_down: bool,
    unreachable: bool,
    allow_missing: int | None,
    runs: str | None,
    form: str,
    fail_on: str,
    number: int | None,
    **values: Any,
) -> None:  # the common options
    """Show what becomes of a cluster and its workloads when something happens, and whether that is well.

    Events happen in the order of their options, on a copy of the cluster: manifests are applied and rolled
    out as their controllers would, workloads scaled, nodes lost or drained as far as budgets allow, and pods
    scheduled as kube-scheduler would. Events on nodes that follow one another are one moment.

    Without KIND/NAME the answer is about every workload that is changed or hit. With it the verdict is about
    these; with -f it is one of the objects of the file. The live cluster is read with your own permissions.

    Exit codes: 0 the verdict is well, 1 it has the cause of --fail-on or a worse one, or is undecided, 2 bad
    usage or input, 3 could not run, 130 ended by Ctrl-C, after which the answer has what was done until then.
    """
    happening = {name: values.pop(name) for name in EVENT_NAMES}
    if not (any(happening.values()) or each or values["files"]):
        raise UsageError(_NOTHING)
    if scale_down and autoscale is None:
        raise UsageError("--scale-down needs --autoscale: the autoscaler that removes nodes")
    check_events(context, happening)
    _check_cause(fail_on)
    from webhook.cli import what_if_input
    from webhook.requests import what_if

    given = what_if_input.read_objects(PlacementOptions(**values))
    asked = read_events(context, happening, given.asked)
    request = what_if.WhatIfRequest(
        events=[_unreachable(event) if unreachable else event for event in asked.events],
        each=each or None,
        workloads=list(given.asked.targets) if given.options.words else None,
        unreachable=unreachable or None,
        allow_missing=allow_missing,
        scale_down=scale_down or None,
        runs=_ways(runs),
        suggest=True,
    )
    outcome, stopped = what_if_input.play(given, request, asked, Autoscale(autoscale))
    if number is not None:
        click.echo(what_if_input.suggestion(given, outcome, number), nl=False)
    else:
        _print(outcome, form, given)
    finish(ExitCode.INTERRUPTED if stopped else _exit_code(outcome, fail_on))


def _unreachable(event: Event) -> Event:
    """Return an event, in which nodes that are lost stay as unreachable ones."""
    lost = event.lose
    return event if lost is None else replace(event, lose=replace(lost, unreachable=True))


def _ways(text: str | None) -> Any:
    from webhook.requests import placement, what_if

    if text is None or text == what_if.ALL_WAYS:
        return text
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:8]) <= placement.MOST_WORK):
        raise UsageError(f"--runs: Invalid value: {shown(text)}: must be {what_if.ALL_WAYS}, or 1 or more")
    return int(text)


def _print(outcome: Outcome, form: str, given: WhatIfInput) -> None:
    from planning.text.outcome import as_sentence
    from planning.what_if import text
    from policies.manifests.wire import dumps

    source = given.source
    if form in {*DATA_FORMATS, HTML}:
        verdict = as_sentence(outcome.verdict.sentence)
        about = report_about(given.options, title=given.title, verdict=verdict)
        print_answer(dumps(outcome), form, "what-if", about)
    elif form == "markdown":
        click.echo(text.render_markdown(outcome, source=source), nl=False)
    elif form == "junit":
        from planning.what_if import junit

        click.echo(junit.render(outcome), nl=False)
    else:
        render = partial(text.render, outcome, wide=form == WIDE, source=source)
        show(lambda width, color: render(width=width, color=color), piped=SENTENCES)


def _check_cause(fail_on: str) -> None:
    """Make sure that a cause is one, before anything is read.

    Raises:
        UsageError: It is none.
    """
    from planning.simulation.outcome import FAILING

    if fail_on not in {*FAILING, _NEVER}:
        hint = did_you_mean(fail_on, [*FAILING, _NEVER])
        there = hint or f": supported values: {', '.join(FAILING)}, {_NEVER}"
        raise UsageError(f"--fail-on: Unsupported value: {shown(fail_on)}{there}")


def _exit_code(outcome: Outcome, fail_on: str) -> ExitCode:
    """Return the exit code by the verdict, or that of the worst way if it is worse."""
    from planning.simulation.outcome import RANK, Cause

    causes = [outcome.verdict.cause, *([outcome.branches.worst.cause] if outcome.branches else [])]
    worst = min(causes, key=lambda cause: RANK[cause])
    if fail_on == _NEVER:
        return ExitCode.CLEAN
    return ExitCode.of(clean=worst.holds is not None and RANK[worst] > RANK[Cause(fail_on)])
