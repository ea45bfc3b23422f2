"""``evenkeel policy test``: samples with their expected results, reviewed as the webhook does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from policies.manifests.errors import DocumentError
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural
from webhook.cli.answers import entry_title, print_answer
from webhook.cli.command import Command
from webhook.cli.options import answer_option
from webhook.cli.terminal import ExitCode, finish

if TYPE_CHECKING:
    from policies.lint.policy_check import ReviewedObject
    from webhook.lint import policy_suites


_EXAMPLES: Final = """\
evenkeel policy test policies
evenkeel policy test policies -o junit=policies.xml
"""


@click.command(cls=Command, name="test", examples=_EXAMPLES)
@click.argument("folders", nargs=-1, required=True, metavar="DIR...")
@click.option("-q", "--quiet", is_flag=True, help="Print only failed samples and the summary.")
@answer_option("junit")
def command(*, folders: tuple[str, ...], quiet: bool, form: str) -> None:
    """Test policies with sample objects, as the admission webhook would review them.

    Every folder in or below DIR with a policy.yaml (the policies under test) or a suite.yaml (which lists
    them: `policies: [builtin:default]`) is a suite. Its other files are samples; their names start with the
    expected result: allowed, warned, denied or injected, as in denied.too-tight.yaml. The annotation
    evenkeel.dev/expect lists the rules that a sample must break. The objects of cluster.yaml, such as Nodes
    and ReplicaSets, are the cluster, and so are Services, Namespaces and Nodes in a sample's file.

    Exit codes: 0 all samples are as expected, 1 some are not, 2 a suite cannot be read (the others are tested
    all the same).
    """
    from policies.lint import policy_check
    from webhook.lint import policy_suites

    judged = failed = 0
    found: list[ReviewedObject] = []
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
            for sample in samples:
                tested = list(_evaluate(sample))
                found += tested
                failed += not all(each.as_expected for each in tested)
                if form == "text":
                    _print(tested, quiet=quiet)
    for problem in problems:
        click.echo(problem, err=True)
    report = policy_check.PolicyTestReport(samples=judged, failed=failed, objects=found, not_read=problems)
    if form == "text":
        click.echo(f"{plural(judged, 'sample')}: {judged - failed:,} as expected, {failed:,} not")
    elif form == "junit":
        click.echo(policy_check.render_samples_junit(report), nl=False)
    else:
        print_answer(policy_check.render_samples_json(report).encode(), form)
    finish(ExitCode.BAD_INPUT if problems else ExitCode.FINDINGS if failed else ExitCode.CLEAN)


def _evaluate(sample: policy_suites.Sample) -> Iterator[ReviewedObject]:
    """Yield the objects of a sample, reviewed."""
    from policies.admission import policy_tests
    from policies.lint import policy_check

    today = datetime.now(UTC).date()
    for manifest, kind in sample.workloads:
        result = policy_tests.run_sample(manifest.value, kind, sample.context, today=today)
        missed = result.misses(sample.expected)
        yield policy_check.ReviewedObject(
            file=sample.file,
            object=entry_title(manifest),
            expected=sample.expected,
            verdict=result.verdict,
            rules=result.rules,
            as_expected=not missed,
            difference=missed,
            messages=result.texts,
        )


def _print(tested: list[ReviewedObject], *, quiet: bool) -> None:
    """Print what becomes of the objects of a sample."""
    for each in tested:
        if quiet and each.as_expected:
            continue
        rules = f" ({', '.join(each.rules)})" if each.rules else ""
        mark, color = ("ok", "green") if each.as_expected else ("FAIL", "red")
        what = each.difference or str(each.verdict)
        click.echo(f"{click.style(f'{mark:<4}', fg=color)}  {one_line(each.file)}: {what}{rules}")
        for text in () if each.as_expected else each.messages:
            click.echo(f"      {one_line(text)}")
