"""``evenkeel snapshot``: a live cluster into a file that every ``--cluster`` reads."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

import click

from webhook.cli.command import Command
from webhook.cli.options import context_option, json_file_option
from webhook.cli.terminal import note, reading_progress

if TYPE_CHECKING:
    from webhook.kube import watched_resources


_EXAMPLES = """\
evenkeel snapshot -o cluster.json
evenkeel snapshot --context production -o cluster.json.gz
evenkeel snapshot | evenkeel explain -f web.yaml --cluster -
"""


@click.command(cls=Command, examples=_EXAMPLES)
@context_option()
@json_file_option("File to write, packed if its name ends in .gz.  [default: stdout]")
def command(*, context: str, output: str) -> None:
    """Save a live cluster's state to a file: all objects that kube-scheduler decides by.

    These are nodes, pods, services, namespaces, owners of pods, claims, volumes, storage classes, what CSI
    drivers say, PodDisruptionBudgets and PriorityClasses. The last nine kinds are optional: the file records
    which of them may not be listed or are not served, and what depends on them is not modeled.

    The file is a v1 List, as kubectl prints it, and says when it was taken. Fields that do not affect
    scheduling and may be secret are left out: environment, arguments and probes of containers, parameters of
    storage classes, attributes of volumes, managed fields, and kubectl's last-applied annotation.

    Exit codes: 0 written, 2 bad usage or a file that cannot be written, 3 the cluster cannot be read.
    """
    from policies.model import cluster_kinds
    from webhook import snapshot_file
    from webhook.cli import live, read_cluster
    from webhook.kube import watched_resources

    api = live.api_server(context)
    with _opened(output) as file, reading_progress() as advance:
        taken, lists = datetime.now(UTC), dict[str, str]()

        def listed(resource: watched_resources.ListedResource, why: str) -> None:
            lists[cluster_kinds.LIST_NAMES[resource.key]] = why

        objects = read_cluster.read_objects(
            api, watched_resources.EVERYTHING, left_out=lambda broken: note(str(broken)), listed=listed
        )
        pieces = snapshot_file.write_snapshot(_counted(objects, advance), lists, taken)
        if output.endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as stream:
                stream.writelines(pieces)
        else:
            file.writelines(pieces)
    if unread := {name: why for name, why in lists.items() if why}:
        from policies.scheduler.indexed_objects import unread_warning

        note(unread_warning(unread))


def _counted(objects: Iterable[dict[str, Any]], advance: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield objects, with a call for the kind of each."""
    for obj in objects:
        advance(obj["kind"])
        yield obj


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """Open a file to be written as a whole or not at all; no name means standard output.

    Raises:
        OSError: It cannot be written.
    """
    if name:
        from webhook import atomic_write

        with atomic_write.atomic_write(name) as file:
            yield file
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
