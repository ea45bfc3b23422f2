"""``evenkeel policy test``: samples with their expected results, reviewed as the webhook does."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from policies.manifests.errors import DocumentError
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from webhook.cli.command import Command
from webhook.cli.terminal import ExitCode, finish
from webhook.late_imports import late_imports

with late_imports():
    from policies.admission import policy_tests
    from webhook.lint import policy_suites


@click.command(cls=Command, name="test")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...")
@click.option("-q", "--quiet", is_flag=True, help="Print only failed samples and the summary.")
def command(*, folders: tuple[str, ...], quiet: bool) -> None:
    """Test policies with sample objects, as the admission webhook would review them.

    Every folder in or below DIR with a policy.yaml (the policies under test) or a suite.yaml (which lists
    them: `policies: [builtin:default]`) is a suite. Its other files are samples; their names start with the
    expected result: allowed, warned, denied or injected, as in denied.too-tight.yaml. The annotation
    evenkeel.dev/expect lists the rules that a sample must break. The objects of cluster.yaml, such as Nodes
    and ReplicaSets, are the cluster, and so are Services, Namespaces and Nodes in a sample's file.

    Exit codes: 0 all samples are as expected, 1 some are not, 2 a suite cannot be read (the others are tested
    all the same).
    """
    judged = failed = 0
    problems: list[str] = []
    for folder in dict.fromkeys(folders):
        try:
            suites = policy_suites.find_suites(folder)
        except DocumentError as error:
            problems += error.problems
            continue
        for suite in suites:
            try:
                samples = policy_suites.read_suite(suite)
            except DocumentError as error:
                problems += error.problems
                continue
            judged += len(samples)
            failed += sum(not _evaluate(sample, quiet=quiet) for sample in samples)
    for problem in problems:
        click.echo(problem, err=True)
    click.echo(f"{plural(judged, 'sample')}: {judged - failed:,} as expected, {failed:,} not")
    finish(ExitCode.BAD_INPUT if problems else ExitCode.FINDINGS if failed else ExitCode.CLEAN)


def _evaluate(sample: policy_suites.Sample, *, quiet: bool) -> bool:
    """Review a sample and print the result; return whether it is the expected one."""
    today = datetime.now(UTC).date()
    as_expected = True
    for manifest, kind in sample.workloads:
        result = policy_tests.run_sample(manifest.value, kind, sample.context, today=today)
        missed = result.misses(sample.expected)
        as_expected = as_expected and not missed
        if missed or not quiet:
            _print(sample, result, missed)
    return as_expected


def _print(sample: policy_suites.Sample, result: policy_tests.SampleResult, missed: str) -> None:
    rules = f" ({', '.join(result.rules)})" if result.rules else ""
    mark, color = ("FAIL", "red") if missed else ("ok", "green")
    what = missed or str(result.verdict)
    click.echo(f"{click.style(f'{mark:<4}', fg=color)}  {one_line(sample.file)}: {what}{rules}")
    if missed:
        for text in result.texts:
            click.echo(f"      {one_line(text)}")
