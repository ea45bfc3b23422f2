"""Reports: their formats, where they go, and the lines of the texts that they show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import did_you_mean, shown

if TYPE_CHECKING:
    from policies.lint.reports.run import LintRun
    from policies.lint.reports.text import Details
    from webhook.lint.field_origins import FieldOrigins
    from webhook.lint.files import Text


#: The format of a page of its own, which the page itself makes of the JSON.
PAGE: Final = "html"
#: The formats for people: a text, and one that leaves out nothing.
TEXTS: Final = ("text", "wide")
#: The other formats: YAML of the JSON, and modules of ``policies.lint.reports``.
FORMATS: Final = (*TEXTS, "json", "yaml", "sarif", "junit", "github", "markdown")
#: The formats of a plan.
PLAN_FORMATS: Final = ("text", "json", "yaml", "markdown", PAGE)


@dataclass(frozen=True, slots=True)
class Output:
    """One report: its format, and the file that it goes to, empty for standard output."""

    form: str
    file: str = ""


def parse_outputs(texts: Iterable[str], formats: Collection[str] = (*FORMATS, PAGE)) -> tuple[Output, ...]:
    """Read ``FORMAT`` and ``FORMAT=FILE``; without any, text is printed.

    Args:
        texts: As the command line has them.
        formats: The formats that there are.

    Raises:
        UsageError: An unknown format, a file twice, or two formats for standard output.

    >>> parse_outputs(["text", "sarif=lint.sarif"])
    (Output(form='text', file=''), Output(form='sarif', file='lint.sarif'))
    """
    from webhook import atomic_write

    outputs = []
    for text in texts:
        form, equals, file = text.partition("=")
        outputs.append(output := Output(known_format(form, formats), file))
        if file:
            atomic_write.check_folder(file)
        elif equals:
            raise no_file(output.form)
    files = [output.file for output in outputs]
    for file in dict.fromkeys(files):
        if files.count(file) > 1:
            where = f"{file} is" if file else "standard output is"
            raise UsageError(
                f"--format: Duplicate value: {where} given two reports; write FORMAT=FILE for all but one"
            )
    return tuple(outputs) or (Output("text"),)


def known_format(form: str, formats: Collection[str]) -> str:
    """Return a format.

    Raises:
        UsageError: There is no such one.
    """
    if form not in formats:
        hint = did_you_mean(form, formats) or f": supported values: {', '.join(formats)}"
        raise UsageError(f"--format: Unsupported value: {shown(form)}{hint}")
    return form


def no_file(form: str) -> UsageError:
    """Return the error of a format that has an equals sign behind it, and no file."""
    return UsageError(f"--format: Invalid value: {shown(f'{form}=')}: must be {form}=FILE or {form}")


def render(output: Output, run: LintRun, details: Details) -> str:
    """Return a report; only that for people has details."""
    form = {"wide": "text", "yaml": "json"}.get(output.form, output.form)
    report = import_module(f"policies.lint.reports.{form}")
    if output.form == "wide":
        details = replace(details, verbose=True, statistics=True)
    text: str = report.render(run, details) if form == "text" else report.render(run)
    if output.form != "yaml":
        return text
    from policies.reports.as_yaml import yaml_parts

    return "".join(yaml_parts(text))


def write_file(file: str, text: str) -> None:
    """Write a file as a whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    from webhook import atomic_write

    with atomic_write.atomic_write(file) as stream:
        stream.write(text.encode("utf-8", errors="backslashreplace"))


#: What every manifest says.
_MARK = "apiVersion"


def lines_of(texts: Iterable[Text], sources: FieldOrigins | None) -> Callable[[str], Sequence[str]]:
    """Return a function from a file's name in findings to its lines; empty for output of tools.

    Args:
        texts: What was linted.
        sources: What kustomizations were built from; None if there are none.
    """
    from policies.manifests import documents

    by_file = {text.file: text.content for text in texts if not text.rendered}

    @lru_cache(maxsize=1)
    def lines(file: str) -> Sequence[str]:
        try:
            text = documents.decoded(
                by_file[file] if file in by_file else sources.source(file) if sources else b"", file
            )
        except DocumentError:
            return ()
        if file in by_file and _MARK not in text:
            # It is no manifest: who knows what else it is, and who may see it.
            return ()
        return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")

    return lines
