"""The reference of the command line, from click, and the settings of the server."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from itertools import groupby

import click

from docs.generator.markdown import code, page, table
from webhook.cli.command import SharedOption
from webhook.cli.main import command as evenkeel
from webhook.settings import options

_SETTINGS = """\
Every setting of `evenkeel serve` is an option and an environment variable. A setting that can be given more
than once takes its values separated by white space in the environment variable."""

#: The formats that several commands have.
_USUAL = ("text", "wide", "json", "yaml", "markdown", "junit", "html")
_FORMATS = """\
`-o FORMAT` prints an answer in another format, `-o FORMAT=FILE` writes it to a file. `text` is the default,
or YAML where there is none. `lint` and `plan` take several. `snapshot -o FILE` writes JSON; other commands
print text."""


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
    shared = "## Shared options", _shared(context)
    return page("Commands", _FORMATS, _formats(context), *shared, *_described(evenkeel, context, level=2))


def _formats(context: click.Context) -> str:
    """Return the table of the formats of every command's answers."""
    rows = []
    for path, command in _leaves(evenkeel, context):
        found = [each for each in command.params if "--format" in each.opts]
        if not found:
            continue
        # Of several reports the metavar names the formats: [text|json][=FILE].
        forms = (found[0].metavar or "").partition("]")[0].lstrip("[").split("|")
        if isinstance(found[0].type, click.Choice):
            forms = list(found[0].type.choices)
        others = ", ".join(code(form) for form in forms if form not in _USUAL)
        rows.append((f"`{path}`", *("yes" if form in forms else "" for form in _USUAL), others))
    return table(("command", *map(code, _USUAL), "others"), rows)


def _leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is no group, with its words."""
    if not isinstance(command, click.Group):
        yield context.command_path.partition(" ")[2], command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None and not found.hidden:
            yield from _leaves(found, click.Context(found, parent=context, info_name=name))


def _described(command: click.Command, context: click.Context, *, level: int) -> Iterator[str]:
    """Yield the parts of a command's section, then those of its subcommands."""
    path = context.command_path
    yield f"{'#' * level} {path}"
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    yield _text(command.help or "")
    yield from _options(command, context)
    if command.epilog:
        yield f"Examples:\n\n```bash\n{inspect.cleandoc(command.epilog.replace(chr(8), '')).strip()}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                child = click.Context(found, parent=context, info_name=name)
                yield from _described(found, child, level=min(level + 1, 3))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the table of a command's options, and the names of those that many have."""
    found = list(_records(command, context))
    shared = [name for name, option, _ in found if isinstance(option, SharedOption)]
    yield _table(record for _, option, record in found if not isinstance(option, SharedOption))
    if shared:
        yield f"Also [shared options](#shared-options): {', '.join(map(code, shared))}."


def _shared(context: click.Context) -> str:
    """Return the table of the options that many commands have."""
    found = {
        name: record
        for _, command in _leaves(evenkeel, context)
        for name, option, record in _records(command, context)
        if isinstance(option, SharedOption)
    }
    return _table(found[name] for name in sorted(found))


def _records(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Option, tuple[str, str]]]:
    """Yield the options of a command that its help shows: the name, the option, and what is said of it."""
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and isinstance(option, click.Option):
            yield option.opts[-1], option, record


def _table(records: Iterable[tuple[str, str]]) -> str:
    return table(("option", "meaning"), ((code(names), text) for names, text in records))


def _text(help_text: str) -> str:
    """Return a help text as paragraphs; click's mark of a paragraph that is not wrapped is left out."""
    return inspect.cleandoc(help_text).replace("\b\n", "")
