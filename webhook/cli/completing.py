"""The shell completions of option values: rules, report formats, policies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

#: How a shell learns that it should complete a file's name itself.
_FILE = "file"


def complete_rule(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the rules whose id starts so."""
    from policies.rules import base

    rules = base.all_rules().values()
    return [CompletionItem(rule.id, help=rule.summary) for rule in rules if rule.id.startswith(incomplete)]


def complete_rules(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the lists that a list of rules may go on as, with no rule twice."""
    before, comma, last = incomplete.rpartition(",")
    listed = set(before.split(","))
    found = complete_rule(context, parameter, last)
    return [
        CompletionItem(f"{before}{comma}{item.value}", help=item.help)
        for item in found
        if item.value not in listed
    ]


def complete_formats(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the report formats of lint that start so; the file after them is the user's."""
    from webhook.lint import reports

    return complete_format((*reports.FORMATS, reports.PAGE), incomplete)


def complete_plan_formats(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the report formats of plans that start so; the file after them is the user's."""
    from webhook.lint import reports

    return complete_format(reports.PLAN_FORMATS, incomplete)


def complete_from(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return ``cluster`` if it starts so, and let the shell complete files."""
    return [CompletionItem(incomplete, type=_FILE), *_starting(("cluster",), incomplete)]


def complete_format(formats: Collection[str], incomplete: str) -> list[CompletionItem]:
    """Return the formats that start so; the file behind one is the user's."""
    form, equals, file = incomplete.partition("=")
    if equals and form in formats:
        return [CompletionItem(file, type=_FILE)]
    return list(_starting(formats, incomplete))


def complete_cause(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the causes of verdicts that start so, and never."""
    from planning.simulation import outcome

    return list(_starting((*outcome.FAILING, "never"), incomplete))


def complete_policies(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the built-in policies that start so, and let the shell complete files."""
    from policies.config import loader, spread_policy

    named = (f"{spread_policy.BUILTIN_PREFIX}{name}" for name in loader.builtin_names())
    # Files first: bash forgets what came before them.
    return [CompletionItem(incomplete, type=_FILE), *_starting(named, incomplete)]


def complete_builtin(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of built-in policies that start so, and let the shell complete files."""
    from policies.config import loader

    return [CompletionItem(incomplete, type=_FILE), *_starting(loader.builtin_names(), incomplete)]


def _starting(values: Iterable[str], incomplete: str) -> Iterator[CompletionItem]:
    return (CompletionItem(value) for value in values if value.startswith(incomplete))
