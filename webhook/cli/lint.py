"""``evenkeel lint``: the rules over manifests of a repository."""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TextIO

import click
import orjson

from policies.config.lint_config import FailOn, LintConfig
from policies.manifests.errors import UsageError
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.findings import Finding, Severity
from policies.manifests.words import plural
from webhook.cli.answers import report_about
from webhook.cli.command import Command, is_given
from webhook.cli.completing import complete_formats, complete_rules
from webhook.cli.manifest_options import NO_CONFIG, manifest_options, rule_options
from webhook.cli.options import cluster_option, context_option, live_option, reports_option
from webhook.cli.terminal import ExitCode, finish, note, progress
from webhook.lint.reports import FORMATS, PAGE, TEXTS, Output, lines_of, parse_outputs, render, write_file

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.lint.reports import run as lint_run
    from policies.lint.reports import text as lint_text
    from policies.model.scaling import ScaleUps
    from policies.scheduler.index import ClusterIndex
    from webhook.lint import inputs as lint_inputs
    from webhook.lint import options as lint_options
    from webhook.lint import run as webhook_lint_run


#: Bytes from which a run shows its progress; they take about a second.
LONG: Final = 2**22
_EXAMPLES = """\
evenkeel lint                                       # the working directory, or the paths of evenkeel.yaml
evenkeel lint deploy charts/web -o text -o sarif=lint.sarif
helm template shop | evenkeel lint -
evenkeel lint --policy policy.yaml --cluster cluster.json --fail-on warning
evenkeel lint --live --context staging deploy
evenkeel lint --autoscale node-groups.yaml --cluster cluster.yaml deploy
evenkeel lint --diff deploy                         # what --fix would write
evenkeel lint --fix --inject --policy builtin:soft-spread web.yaml
evenkeel lint --fix - < web.yaml > fixed.yaml
evenkeel lint --explain no-spread
evenkeel lint --write-baseline evenkeel-baseline.json
"""
#: The options that say how a report is made, or what is read for it alone.
_OF_REPORTS: Final = (
    "formats", "min_severity", "quiet", "write_baseline", "autoscaled", "values", "settings", "helm",
)  # fmt: skip


@click.command(cls=Command, examples=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@rule_options
@click.option(
    "--fail-on", type=click.Choice([str(level) for level in FailOn]),
    help="Exit 1 if there are findings of this severity or worse; never: findings do not fail the run."
    "  [default: error]",
)  # fmt: skip
@click.option(
    "--min-severity", type=click.Choice([str(severity) for severity in Severity]),
    help="Hide less severe findings; --fail-on still counts them.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Print only findings, without a summary.")
@cluster_option(
    "File with the cluster's nodes (`kubectl get nodes -o json`), for the rules that need them.",
    default=None,
)
@live_option("Read the nodes and the Kubernetes version from the live cluster instead.")
@context_option("live_context")
@click.option(
    "--autoscale", "autoscaled", metavar="FILE|deduced",
    help="Decide rules about nodes that are added by what Cluster Autoscaler or Karpenter would add, with the"
    " node groups or NodePools of a file, or groups that the cluster's nodes show.",
)  # fmt: skip
@click.option("--baseline", metavar="FILE", help="Do not report the findings in this file.")
@click.option("--write-baseline", metavar="FILE", help="Write all findings to a baseline file and exit.")
@manifest_options
@reports_option(
    (*FORMATS, PAGE),
    complete_formats,
    "wide: also the rules that did not run, and the number of findings of each rule.",
)
@click.option("--fix", "fixes", is_flag=True, help="Correct in the files what can be corrected safely.")
@click.option("--diff", "shows_diff", is_flag=True, help="Print as a diff what --fix would do.")
@click.option(
    "--inject", is_flag=True,
    help="With --fix or --diff: also write the policies' default constraints into workloads that have none.",
)  # fmt: skip
@click.option(
    "--explain", "explained", is_flag=False, flag_value="", metavar="RULES", shell_complete=complete_rules,
    help="Print the documentation of these rules (comma-separated), or without RULES the list of all.",
)  # fmt: skip
@click.pass_context
def command(context: click.Context, /, *, paths: tuple[str, ...], **given: Any) -> None:  # click calls it
    """Check manifests for invalid, ineffective or unsatisfiable topology spread constraints.

    PATH is a file, a folder, or - for standard input; default: the working directory. In folders all .yaml,
    .yml and .json files are read that Git tracks or does not ignore; Helm charts are rendered and
    kustomizations built if helm, kustomize or kubectl are installed. Nothing is downloaded. Files given in
    one run are analyzed together: autoscalers, disruption budgets and Services are matched to their
    workloads. Every report lists what was skipped.

    --fix changes the lines of a fix and nothing else: comments, order, quotes and indentation are kept, and
    of - the result goes to standard output. A value that cannot be changed safely, such as one shared through
    an anchor, is reported instead. Findings in kustomizations are fixed in the resources and patches they are
    built from; chart templates are not changed. With --inject a workload without constraints gets those that
    the admission webhook would inject into it or its pods.

    Exit codes: 0 no finding of the --fail-on severity (is left by --fix), 1 findings, or with --diff there
    are changes, 2 bad usage, a file that cannot be read or written, or a skipped input that --fail-on-skipped
    does not allow (the rest is checked or fixed all the same), 3 could not run.
    """
    explained = given.pop("explained")
    finish(_lint(context, paths, given) if explained is None else _explain(explained))


def _explain(rules: str) -> ExitCode:
    """Print the documentation of rules, which commas separate; of none of them, the list of all."""
    from policies.lint.reports import rule_manual
    from policies.rules import base
    from webhook.lint import options as lint_options

    ids = list(filter(None, map(str.strip, rules.split(","))))
    lint_options.check_rules("--explain", ids)
    click.echo(rule_manual.manuals(map(base.all_rules().__getitem__, dict.fromkeys(ids))), nl=False)
    return ExitCode.CLEAN


def _lint(context: click.Context, paths: tuple[str, ...], given: dict[str, Any]) -> ExitCode:
    from policies.lint.reports import text as lint_text
    from webhook.cli import live as cli_live
    from webhook.lint import inputs as lint_inputs
    from webhook.lint import run as webhook_lint_run
    from webhook.lint.files import UNREADABLE

    fixes, shows_diff, inject = given.pop("fixes"), given.pop("shows_diff"), given.pop("inject")
    _check_fixing(context, fixes=fixes, shows_diff=shows_diff, inject=inject)
    outputs = parse_outputs(given.pop("formats"))
    written, least = given.pop("write_baseline"), given.pop("min_severity")
    details = lint_text.Details(quiet=given.pop("quiet"))
    live, live_context = given.pop("live"), given.pop("live_context")
    autoscaled = _scale_ups(given.pop("autoscaled"))
    cli_live.check_cluster(live=live, context=live_context, cluster=given["cluster"])
    options = read_options(paths, given)
    nodes = None
    if live:
        config, nodes = _live(options.config, live_context)
        options = replace(options, config=config)
    # Nearly everything that is read is kept to the end, and the end is near.
    with uncollected():
        job = webhook_lint_run.build_job(
            options.config,
            today=datetime.now(UTC).date(),
            warn=note,
            cluster=nodes,
            scale_ups=autoscaled,
        )
        if fixes or shows_diff:
            from webhook.cli import lint_fix

            return lint_fix.correct(options, job, shows_diff=shows_diff, inject=inject)
        texts = lint_inputs.gather_texts(options.paths, tools=options.tools, exclude=options.exclude)
        with lint_progress(texts) as show:
            outcome = webhook_lint_run.lint_texts(texts.texts, job, show)
        problems, ignored = webhook_lint_run.without_ignored(
            [*texts.problems, *outcome.problems], texts.missing, options.config
        )
        outcome.skipped += ignored
        outcome.skipped += webhook_lint_run.without_objects(
            options.paths, outcome.loaded.manifests, [*texts.skipped, *outcome.skipped], problems
        )
        outcome.result.findings += problems
        if written:
            run = _run(texts, outcome, job, replace(options.config, baseline=None))
            _write_baseline(written, run, problems)
            # What the baseline holds now is nothing that this run fails by.
            problems = []
        else:
            run = _run(texts, outcome, job, options.config)
            # What the baseline holds of a file that cannot be read is known as well.
            problems = [finding for finding in run.result.findings if finding.rule == UNREADABLE]
            run = run if least is None else run.without_below(Severity(least))
            _report(run, outputs, context, details)
    if texts.missing or run.incomplete or (problems and run.fail_on is not None):
        return ExitCode.BAD_INPUT
    return ExitCode.FINDINGS if run.failed and not written else ExitCode.CLEAN


def _check_fixing(context: click.Context, *, fixes: bool, shows_diff: bool, inject: bool) -> None:
    """Make sure that the options of a correction go together, and with the others.

    Raises:
        UsageError: They do not.
    """
    if fixes and shows_diff:
        raise UsageError("--fix may not be combined with --diff, which writes nothing")
    if not (fixes or shows_diff):
        if inject:
            raise UsageError("--inject may only be set with --fix or --diff")
        return
    for option in context.command.params:
        if option.name in _OF_REPORTS and is_given(option.name):
            raise UsageError(f"{option.opts[-1]} may not be combined with --fix or --diff")


def _scale_ups(source: str | None) -> Callable[[AdmissionContext], ScaleUps] | None:
    """Return what makes the scale-ups of an autoscaler; None without any."""
    if source is None:
        return None
    from webhook.cli.autoscale_option import scale_ups

    return partial(scale_ups, source)


def read_options(paths: tuple[str, ...], given: dict[str, Any]) -> lint_options.LintOptions:
    """Return the options of the command line, and of the document where that says nothing.

    Args:
        paths: What to read.
        given: The options as click gives them; a command need not have those of charts.

    Raises:
        UsageError: They contradict one another.
        DocumentError: The document cannot be read.
    """
    from webhook.lint import options as lint_options

    file = given.pop("config_file")
    for name in ("select", "ignore", "enable"):
        listed = (rule.strip() for text in given[name] for rule in text.split(","))
        given[name] = tuple(filter(None, listed))
    values, settings = given.pop("values", ()), given.pop("settings", ())
    options = lint_options.lint_options(paths, "" if file == NO_CONFIG else file)
    release = lint_options.release_of(options.paths, values, settings)
    options = replace(options, config=lint_options.with_given(options.config, **given), release=release)
    lint_options.check_all_rules(options.config)
    inputs = [*options.paths, options.config.cluster, *options.config.policies]
    if inputs.count(STDIN) > 1:
        raise UsageError("standard input may be used only once")
    return options


def _live(config: LintConfig, context: str) -> tuple[LintConfig, ClusterIndex]:
    """Return the options as a live cluster completes them, and its nodes.

    Raises:
        ClusterError: It cannot be read.
    """
    from webhook.cli import live as cli_live
    from webhook.cli import read_cluster
    from webhook.kube import api_server as cluster_api
    from webhook.kube import watched_resources

    api = cli_live.api_server(context)
    version = config.kubernetes_version or cluster_api.known_version(api, note).exact
    nodes = read_cluster.read_index(api, watched_resources.NODES, warn=note)
    return replace(config, cluster=None, kubernetes_version=version), nodes


def _run(
    texts: lint_inputs.Texts,
    outcome: webhook_lint_run.LintOutcome,
    job: webhook_lint_run.LintJob,
    config: LintConfig,
) -> lint_run.LintRun:
    """Return the run for the reports, without what the baseline knows."""
    from policies.lint.reports import run as lint_run
    from webhook.lint import run as webhook_lint_run

    result, known = outcome.result, 0
    result.cut = webhook_lint_run.as_named(result.cut, result)
    if config.baseline:
        from policies.lint import baseline as lint_baseline
        from webhook.lint import files

        baseline = lint_baseline.read_baseline(
            files.read_text(config.baseline, named=True).content, shown_file(config.baseline)
        )
        new, gone = baseline.new(result.findings)
        known = len(result.findings) - len(new)
        if gone:
            note(f"{shown_file(config.baseline)}: {gone:,} of its findings are gone: write it again")
        result.findings[:] = new
    return lint_run.LintRun(
        result=result,
        tool_version="",
        kubernetes_version=job.context.kubernetes_version,
        files=outcome.read_of(texts.texts),
        fail_on=None if config.fail_on is FailOn.NEVER else Severity(config.fail_on),
        skipped_sources=webhook_lint_run.as_named([*texts.skipped, *outcome.skipped], result),
        fail_on_skipped=config.fail_on_skipped,
        known=known,
        rules={rule.id: rule for rule in job.selection.rules(job.context.policies)},
        source=lines_of(texts.texts, texts.sources),
    )


def _report(
    run: lint_run.LintRun,
    outputs: tuple[Output, ...],
    context: click.Context,
    details: lint_text.Details,
) -> None:
    """Write every report; a person reads at least the summary."""
    if any(output.form not in TEXTS for output in outputs):
        from webhook.distribution import release

        run = replace(run, tool_version=release())
    for output in outputs:
        report = _rendered(output, run, details, context)
        if output.file:
            write_file(output.file, report)
        else:
            click.echo(report.encode(errors="backslashreplace"), nl=False)
    if not any(Output(form) in outputs for form in TEXTS):
        from policies.lint.reports import text as lint_text

        click.echo(lint_text.summary(run, _on_terminal(details, sys.stderr, context)), nl=False, err=True)


def _rendered(
    output: Output, run: lint_run.LintRun, details: lint_text.Details, context: click.Context
) -> str:
    if output.form == PAGE:
        from policies.lint.reports import json as lint_json
        from policies.lint.reports import text as lint_text
        from webhook.ui.embedded import report_page

        about = report_about(None, verdict=lint_text.summary(run).splitlines()[0])
        return report_page("lint", lint_json.render(run).encode(), about)
    return render(output, run, _on_terminal(details, sys.stdout, context, to_file=bool(output.file)))


def _on_terminal(
    details: lint_text.Details, stream: TextIO, context: click.Context, *, to_file: bool = False
) -> lint_text.Details:
    """Return how a text is written: colored and wrapped on a terminal alone, so that others can search it."""
    if to_file or not stream.isatty():
        return details
    return replace(details, color=context.color is not False, width=shutil.get_terminal_size().columns)


def _write_baseline(file: str, run: lint_run.LintRun, problems: list[Finding]) -> None:
    from policies.lint import baseline as lint_baseline
    from policies.lint.reports import text as lint_text

    document = lint_baseline.Baseline.of(run.result.findings).document()
    write_file(file, orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())
    for problem in problems:
        click.echo(str(problem), err=True)
    click.echo(lint_text.skipped(run), nl=False, err=True)
    click.echo(f"{plural(len(run.result.findings), 'finding')} written to {shown_file(file)}", err=True)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for garbage, of which there is hardly any."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Else all of it is looked through as soon as that is on again, and when Python ends.
            gc.freeze()
            gc.enable()


@contextmanager
def lint_progress(texts: lint_inputs.Texts) -> Iterator[Callable[[float], None]]:
    """Show a bar on a terminal while there is much to do; gives what moves it, by the share that is done."""
    total = sum(len(text.content) for text in texts.texts)
    with progress("Linting", long=total >= LONG) as advance:
        yield advance
