"""``evenkeel lint --fix``: fix in files what lint finds and can fix, and change nothing else in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.words import plural
from webhook.cli.terminal import ExitCode

if TYPE_CHECKING:
    from policies.config import lint_config
    from policies.lint import fix
    from policies.lint.fix_edits import Fix
    from policies.lint.reports import run as lint_run
    from policies.manifests import findings
    from policies.manifests import skipped as manifests_skipped
    from policies.manifests.documents import ManifestObject
    from webhook.lint import field_origins
    from webhook.lint import files as lint_files
    from webhook.lint import run as webhook_lint_run
    from webhook.lint.options import LintOptions


@dataclass(slots=True)
class _Read:
    """The manifests that were read."""

    sources: field_origins.FieldOrigins  #: The files that kustomize built objects from.
    #: The files that are applied as they are, by the names that messages use.
    texts: dict[str, bytes] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)  #: What files are opened by.
    skipped: list[manifests_skipped.Skipped] = field(default_factory=list)  #: What was passed over and why.
    unreadable: bool = False  #: Whether some cannot be read.
    #: The objects that were built from the sources.
    built: list[ManifestObject] = field(default_factory=list)
    broken: bool = False  #: Whether some that were given are not there, or cannot be written.
    #: What could not be fixed because its file cannot be written.
    unwritten: list[Fix] = field(default_factory=list)

    def take_in(self, files: Iterable[str]) -> None:
        """Take in those files that objects were built from, as they were before any fix."""
        for file in files:
            if file not in self.texts:
                self.texts[file], self.paths[file] = self.sources.content(file), self.sources.paths[file]
        self.texts = dict(sorted(self.texts.items()))


def correct(
    options: LintOptions, job: webhook_lint_run.LintJob, *, shows_diff: bool, inject: bool
) -> ExitCode:
    """Fix what can be fixed safely, or show how; return the exit code.

    Args:
        options: The options of lint.
        job: What they mean.
        shows_diff: Whether the changes are printed as a diff, and nothing is written.
        inject: Whether default constraints are written, too.

    Raises:
        UsageError: Options contradict each other.
    """
    piped = STDIN in options.paths
    if piped and len(options.paths) > 1:
        raise UsageError("- may not be combined with other paths")
    if inject and not any(policy.defaults for policy in job.context.policies):
        raise UsageError(
            "--inject requires a policy with defaults: --policy FILE, such as builtin:soft-spread"
        )
    from policies.lint import fix
    from policies.lint.reports import text as lint_text
    from webhook.lint import run as webhook_lint_run

    read = _read(options)
    fixing = fix.Fixing(
        context=job.context,
        selection=job.selection,
        inventory=job.inventory,
        today=job.today or datetime.now(UTC).date(),
        inject=inject,
    )
    result = fixing.fix(read.texts, read.built, read.sources.content)
    read.take_in(result.texts)
    # Where nothing is left to check, what is skipped is what the user named, as for lint.
    read.skipped = webhook_lint_run.as_named([*read.skipped, *result.left.cut], result.left)
    click.echo(lint_text.skipped(_run(read, options.config)), nl=False, err=True)
    if shows_diff or piped:
        _print_texts(read.texts, result, shows_diff=shows_diff)
    else:
        _write(read, result)
    left = _left(result, options.config)
    _report(result, left, read.unwritten, only_shown=shows_diff, to_stderr=shows_diff or piped)
    if read.broken or _is_incomplete(read, options.config):
        return ExitCode.BAD_INPUT
    would_change = shows_diff and bool(result.texts)
    return ExitCode.of(clean=not would_change and not _fails(left, options.config.fail_on))


def _read(options: LintOptions) -> _Read:
    """Return the texts that hold objects, and what is passed over; report the errors of others."""
    from policies.config import lint_config
    from webhook.lint import field_origins, inputs, tool_limits
    from webhook.lint import parse as lint_parse
    from webhook.lint import run as webhook_lint_run

    tools = inputs.Tools(
        charts=tool_limits.Charts(helm=lint_config.Rendering.OFF), kustomize=options.tools.kustomize
    )
    gathered = inputs.gather_texts(options.paths, tools=tools, exclude=options.exclude)
    found = list(gathered.problems)
    read = _Read(sources=gathered.sources or field_origins.FieldOrigins(), skipped=list(gathered.skipped))
    objects: list[ManifestObject] = []
    for text in gathered.texts:
        parsed = lint_parse.parse(text)
        objects += parsed.objects
        found += parsed.problems
        read.skipped += parsed.skipped
        if text.rendered:
            read.built += parsed.objects
        elif parsed.objects or _is_piped(text):
            read.texts[text.file], read.paths[text.file] = text.content, text.path
    problems, ignored = webhook_lint_run.without_ignored(found, gathered.missing, options.config)
    read.skipped += ignored
    read.skipped += webhook_lint_run.without_objects(options.paths, objects, read.skipped, problems)
    read.skipped = [_in_own_words(entry) for entry in read.skipped]
    for problem in problems:
        click.echo(str(problem), err=True)
    read.unreadable, read.broken = bool(problems), bool(gathered.missing)
    return read


def _in_own_words(entry: manifests_skipped.Skipped) -> manifests_skipped.Skipped:
    """Return the skipped entry, with the reason why charts are never rendered here."""
    from policies.manifests import skipped as manifests_skipped

    if (
        entry.reason is not manifests_skipped.SkipReason.SWITCHED_OFF
        or entry.kind is not manifests_skipped.SourceKind.CHART
    ):
        return entry
    return replace(entry, message="--fix changes no templates")


def _run(read: _Read, config: lint_config.LintConfig) -> lint_run.LintRun:
    """Return the run without its findings: what lint would report of what was skipped."""
    from policies.config import lint_config
    from policies.lint import run
    from policies.lint.reports import run as lint_run
    from policies.manifests import findings

    return lint_run.LintRun(
        result=run.LintResult(),
        tool_version="",
        fail_on=None if config.fail_on is lint_config.FailOn.NEVER else findings.Severity(config.fail_on),
        skipped_sources=read.skipped,
        fail_on_skipped=config.fail_on_skipped,
    )


def _is_incomplete(read: _Read, config: lint_config.LintConfig) -> bool:
    from policies.config import lint_config

    return _run(read, config).incomplete or (
        read.unreadable and config.fail_on is not lint_config.FailOn.NEVER
    )


def _is_piped(text: lint_files.Text) -> bool:
    """Return whether a text came by a pipe: it goes on, whatever it holds."""
    return text.file == shown_file(STDIN)


def _left(result: fix.FixResult, config: lint_config.LintConfig) -> list[findings.Finding]:
    """Return the findings that lint would report now."""
    if not config.baseline:
        return result.left.findings
    from policies.lint import baseline
    from webhook.lint import files as lint_files

    content = lint_files.read_text(config.baseline, named=True).content
    return baseline.read_baseline(content, shown_file(config.baseline)).new(result.left.findings)[0]


def _write(read: _Read, result: fix.FixResult) -> None:
    """Write the files; one that cannot be written is reported, and the others are written all the same."""
    from webhook.lint import files as lint_files

    for file, content in list(result.texts.items()):
        try:
            lint_files.write_back(read.paths[file], old=read.texts[file], new=content)
        except (OSError, DocumentError) as error:
            reason = f"{file}: {error.strerror}" if isinstance(error, OSError) else str(error)
            click.echo(f"{reason}; nothing in it is fixed", err=True)
            read.broken = True
            del result.texts[file]
            read.unwritten += (repair for repair in result.made if repair.location.file == file)
            result.made = [repair for repair in result.made if repair.location.file != file]


def _print_texts(files: Mapping[str, bytes], result: fix.FixResult, *, shows_diff: bool) -> None:
    from policies.reports import patch

    for file, content in files.items():
        fixed = result.texts.get(file, content)
        click.echo(patch.unified_diff(file, content, fixed) if shows_diff else fixed, nl=False)


def _report(
    result: fix.FixResult,
    left: list[findings.Finding],
    unwritten: list[Fix],
    *,
    only_shown: bool,
    to_stderr: bool,
) -> None:
    """Report what was fixed, what was not, and what is left."""
    for repair in result.made:
        click.echo(str(repair), err=to_stderr)
    for repair, refusal in result.refused:
        where = f"line {refusal.line}: " if refusal.line else ""
        text = f"{repair.location}: {repair.title}: not fixed ({repair.rule}): {where}{refusal.problem}"
        click.echo(text, err=True)
    for line in (*result.skipped, _summary(result, left, unwritten, only_shown=only_shown)):
        click.echo(line, err=True)


def _summary(
    result: fix.FixResult, left: list[findings.Finding], unwritten: list[Fix], *, only_shown: bool
) -> str:
    text = "nothing fixed" if unwritten else "nothing to fix"
    if result.made:
        verb = "would fix" if only_shown else "fixed"
        text = f"{verb} {plural(len(result.made), 'problem')} in {plural(len(result.texts), 'file')}"
    if unwritten:
        files = len({repair.location.file for repair in unwritten})
        text += f", {plural(len(unwritten), 'problem')} not fixed: {plural(files, 'file')} cannot be written"
    if result.refused:
        text += f", {len(result.refused):,} cannot be fixed safely"
    return f"{text}; {plural(len(left), 'finding')} left, see evenkeel lint" if left else text


def _fails(left: list[findings.Finding], fail_on: lint_config.FailOn) -> bool:
    from policies.config import lint_config

    if fail_on is lint_config.FailOn.NEVER:
        return False
    from policies.manifests import findings

    least = findings.Severity(fail_on)
    return any(finding.severity.is_as_bad(least) for finding in left)
