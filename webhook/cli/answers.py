"""The answers of commands that place pods, for programs: the JSON of the routes, or as YAML."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import click

from policies.manifests.fields import member, text_member
from policies.manifests.file_name import without_folder, word_without_folder
from webhook.cli.options import DATA_FORMATS, HTML

if TYPE_CHECKING:
    from policies.manifests.documents import ManifestObject
    from webhook.ui import embedded


#: How a moment is written.
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


class Printer(Protocol):
    """Prints the JSON of an answer about an object."""

    def __call__(self, body: bytes, entry: ManifestObject, verdict: str = "") -> None:
        """Print it; a page has the verdict, too."""


class ClusterOptions(Protocol):
    """The options that say which cluster is meant."""

    @property
    def cluster(self) -> str:
        """The file."""

    @property
    def live(self) -> bool:
        """Whether it is the live one."""

    @property
    def context(self) -> str:
        """Its context of the kubeconfig."""


class NamedCluster(NamedTuple):
    """A cluster as it is named: see ``ClusterOptions``."""

    cluster: str
    live: bool
    context: str


def answer_printer(
    form: str, kind: str = "", *, options: ClusterOptions | None = None, action: str = ""
) -> Printer | None:
    """Return the function that prints an answer in a format; None for the texts that people read.

    Args:
        form: The format.
        kind: The command, if it has pages.
        options: What cluster it is about, for pages.
        action: What is done to the object, for pages.
    """
    if form not in {*DATA_FORMATS, HTML}:
        return None

    def report(body: bytes, entry: ManifestObject, verdict: str = "") -> None:
        about = report_about(options, title=entry_title(entry), action=action, verdict=verdict)
        print_answer(body, form, kind, about)

    return report


def report_about(
    options: ClusterOptions | None, *, title: str = "", action: str = "", verdict: str = ""
) -> embedded.ReportAbout:
    """Return the subject of this command's report."""
    now, read_at, name = datetime.now(UTC), "", ""
    if options is not None and options.live:
        name = f"live cluster {options.context}".rstrip()
        read_at = now.strftime(_TIME)
    elif options is not None and options.cluster:
        name = without_folder(options.cluster)
        with suppress(OSError):
            read_at = datetime.fromtimestamp(Path(options.cluster).stat().st_mtime, UTC).strftime(_TIME)
    return {
        "title": title,
        "action": action,
        "verdict": verdict,
        "cluster": name,
        "readAt": read_at,
        "writtenAt": now.strftime(_TIME),
        "command": shlex.join(["evenkeel", *map(word_without_folder, sys.argv[1:])]),
    }


def entry_title(entry: ManifestObject) -> str:
    """Return the kind, namespace and name of an object of any shape."""
    metadata, kind = member(entry.value, "metadata"), text_member(entry.value, "kind")
    name = text_member(metadata, "name") or text_member(metadata, "generateName")
    namespace = text_member(metadata, "namespace")
    return f"{kind} {f'{namespace}/' if namespace else ''}{name}"


def print_answer(body: bytes, form: str, kind: str = "", about: embedded.ReportAbout | None = None) -> None:
    """Print JSON: as it is, the same as ``yaml``, or a page with it: see ``answer_printer``."""
    if form == HTML:
        from webhook.ui import embedded

        click.echo(embedded.report_page(kind, body, about or report_about(None)))
    elif form == "json":
        click.echo(body.rstrip(b"\n"))
    else:
        from policies.reports import as_yaml

        for part in as_yaml.yaml_parts(body):
            click.echo(part, nl=False)
