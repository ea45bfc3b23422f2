"""The reference of the command line, from click, and of the server's settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby

import click

from docs.generator.markdown import code, page, table
from webhook.cli.main import command as evenkeel
from webhook.settings import options

_SETTINGS = """\
Every setting of `evenkeel serve` is an option and an environment variable. A setting that can be given more
than once takes its values separated by white space in the environment variable."""


def page_of_settings() -> str:
    """Return the tables of every setting of the server."""
    parts = []
    for title, entries in groupby(options(), lambda option: option.section):
        rows = ((code(each.flag), code(each.env), each.default_text, each.help) for each in entries)
        parts += [f"## {title}", table(("option", "environment variable", "default", "meaning"), rows)]
    return page("Settings of the server", _SETTINGS, *parts)


def page_of_commands() -> str:
    """Return every command with its help text and options."""
    context = click.Context(evenkeel, info_name="evenkeel", **evenkeel.context_settings)
    return page("Commands", *_described(evenkeel, context, level=2))


def _described(command: click.Command, context: click.Context, *, level: int) -> Iterator[str]:
    """Yield the parts of a command's section, then those of its subcommands."""
    path = context.command_path
    yield f"{'#' * level} {path}"
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    yield _text(command.help or "")
    rows = [record for option in command.get_params(context) if (record := option.get_help_record(context))]
    if rows:
        yield table(("option", "meaning"), ((code(names), text) for names, text in rows))
    if command.epilog:
        yield f"Examples:\n\n```bash\n{inspect.cleandoc(command.epilog.replace(chr(8), '')).strip()}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                child = click.Context(found, parent=context, info_name=name)
                yield from _described(found, child, level=min(level + 1, 3))


def _text(help_text: str) -> str:
    """Return a help text as paragraphs; click's mark of a paragraph that is not wrapped is left out."""
    return inspect.cleandoc(help_text).replace("\b\n", "")
