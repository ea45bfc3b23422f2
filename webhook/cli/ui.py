"""``evenkeel ui``: the page, on loopback, for as long as the command runs."""

from __future__ import annotations

import secrets
import webbrowser
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from policies.manifests.errors import UsageError
from policies.manifests.sanitize import one_line
from policies.model.workload_kinds import WorkloadKinds
from policies.placement.cluster_workloads import WorkloadRef
from webhook.cli.live import api_server
from webhook.cli.manifest import STDIN
from webhook.cli.placement import read_context
from webhook.cli.placement_options import PlacementOptions, cluster_options, note
from webhook.cli.targets import ObjectTarget, fetch
from webhook.gunicorn.listener import open_listener
from webhook.kube.api_server import ApiError
from webhook.ui.app import create_page
from webhook.ui.bundle import built_files
from webhook.ui.cluster import ClusterObjects, PageCluster
from webhook.ui.page_state import PageState
from webhook.ui.server import HOST, LoopbackServer

#: Bytes of the token: nobody guesses it.
_TOKEN_BYTES: Final = 32
_NOT_FOUND: Final = 404

#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES = """\b
evenkeel ui --live
evenkeel ui --cluster cluster.json
evenkeel snapshot | evenkeel ui --cluster - --no-open --port 8080
"""


@click.command(epilog=_EXAMPLES)
@cluster_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free port",
    metavar="PORT",
    help="Port on 127.0.0.1 to listen on.",
)
@click.option("--no-open", is_flag=True, help="Do not open the page in the browser.")
def command(*, port: int, no_open: bool, **values: Any) -> None:  # the options of the cluster
    """Show a cluster in the browser: how workloads are spread, why pods are pending, and what if.

    Serves one page on 127.0.0.1 until Ctrl-C ends it. The address, which is printed, has a token: without it
    nothing is answered. Nothing is changed and nothing runs in the cluster. The page shows the cluster as it
    was when the command started; a live cluster is read with your own permissions.

    Exit codes: 0 ended by Ctrl-C, 2 bad usage or input, 3 could not run, such as a port that is in use.
    """
    options = PlacementOptions(**values)
    options.check_cluster()
    if not options.cluster and not options.live:
        raise UsageError("either --live or --cluster FILE is required")
    # Before a large cluster is read for nothing.
    listener = open_listener(f"{HOST}:{port}")
    with listener:
        state = PageState.of(_read(options))
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        own_port = listener.getsockname()[1]
        app = create_page(state, built_files(), token=token, port=own_port)
        server = LoopbackServer(listener, app)
        state.audit.start()
        url = f"http://{HOST}:{own_port}/?token={token}"
        click.echo(url)
        note("Ctrl-C ends the page")
        if not no_open:
            _open(url)
        try:
            server.serve_forever()
        finally:
            state.end()


def _open(url: str) -> None:
    """Open the page in the person's browser; that there is none is reported."""
    try:
        opened = webbrowser.open(url)
    except webbrowser.Error:
        opened = False
    if not opened:
        note("no browser can be opened here: open the address yourself")


def _read(options: PlacementOptions) -> PageCluster:
    """Read the cluster.

    Raises:
        OSError: A file cannot be opened.
        DocumentError: A file is not what it should be.
        UsageError: Options that do not go together.
        ClusterError: The live cluster cannot be read.
    """
    kinds, notes = options.kinds(), list[str]()
    objects = ClusterObjects(kinds)

    def warn(text: str) -> None:
        # In the terminal, and where the cluster is looked at.
        note(text)
        notes.append(one_line(text))

    context = read_context(options, objects, everything=True, warn=warn)
    if context.cluster is None:
        raise ValueError("a cluster was read")
    return PageCluster(
        context=context,
        index=context.cluster,
        objects=objects,
        live=options.live,
        name=options.context if options.live else options.cluster,
        read_at=_read_at(options),
        notes=tuple(notes),
        fetch=partial(_fetch, options.context, kinds) if options.live else None,
    )


def _read_at(options: PlacementOptions) -> datetime:
    if options.live or options.cluster == STDIN:
        return datetime.now(UTC)
    return datetime.fromtimestamp(Path(options.cluster).stat().st_mtime, UTC)


def _fetch(context: str, kinds: WorkloadKinds, key: WorkloadRef) -> Mapping[str, Any] | None:
    """Return a workload of a live cluster; None if it has none, or its kind is not known."""
    kind = next((each for each in kinds.values() if each.kind == key.kind), None)
    if kind is None:
        return None
    try:
        return fetch(ObjectTarget(kind, key.name), key.namespace, api_server(context)).value
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
