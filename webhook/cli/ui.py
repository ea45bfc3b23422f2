"""``evenkeel ui``: the page, on loopback, for as long as the command runs."""

from __future__ import annotations

import html
import logging
import os
import webbrowser
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from policies.manifests.errors import UsageError
from policies.manifests.file_name import STDIN
from webhook.cli.autoscale_option import DEDUCED, NO_AUTOSCALE, Autoscale, autoscale_option
from webhook.cli.command import Command
from webhook.cli.placement_options import PlacementOptions, page_options
from webhook.cli.terminal import note

if TYPE_CHECKING:
    from webhook.ui import readings


#: What says that a browser can be shown.
_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")

#: What leads a browser on from a file.
_REDIRECT: Final = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}">\n'

#: The example cluster, with a problem of each kind; a file, so that the commands which the page names run.
_DEMO: Final = Path(__file__).parents[1] / "demo" / "shop.json"

_EXAMPLES = """\
evenkeel ui --demo
evenkeel ui --live
evenkeel ui --cluster cluster.json
evenkeel ui --cluster cluster.json -f web.yaml
evenkeel ui --live --autoscale node-groups.yaml
evenkeel snapshot | evenkeel ui --cluster - --no-open --port 8080
"""


@click.command(cls=Command, examples=_EXAMPLES)
@page_options
@click.option(
    "-f",
    "--file",
    metavar="FILE",
    default="",
    help="Manifest to show at first, - for stdin: in the cluster or not.",
)
@click.option("--demo", is_flag=True, help="Show an example cluster, which has a problem of each kind.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free port",
    metavar="PORT",
    help="Port on 127.0.0.1 to listen on.",
)
@autoscale_option
@click.option("--no-open", is_flag=True, help="Do not open the page in the browser.")
def command(
    *, file: str, demo: bool, port: int, autoscale: str | None, no_open: bool, **values: Any
) -> None:  # the options of the cluster
    """Show a cluster in the browser: how workloads are spread, why pods are pending, and what if.

    Serves one page on 127.0.0.1 until Ctrl-C ends it. The address, which is printed, has a token: without it
    nothing is answered. Nothing is changed and nothing runs in the cluster. The page shows the cluster as it
    was when it was read; a button reads it again. A live cluster is read with your own permissions, and
    watched: the page says what changed, and can follow. If you may not list it,
    the page shows the workloads of one namespace, and the Evenkeel in the cluster answers about them.

    With --autoscale what-ifs can let Cluster Autoscaler or Karpenter add nodes for what is pending.

    Exit codes: 0 ended by Ctrl-C, 2 bad usage or input, 3 could not run, such as a port that is in use, 130
    ended by Ctrl-C before there was a page.
    """
    options = PlacementOptions(**values)
    if demo and (options.cluster or options.live):
        raise UsageError("--demo is a cluster: it may not be combined with --live or --cluster")
    if demo:
        options, autoscale = replace(options, cluster=str(_DEMO)), autoscale or DEDUCED
    options.check_cluster()
    if not options.cluster and not options.live:
        from webhook.cli import live

        raise UsageError(f"{live.NO_CLUSTER}; --demo shows an example")
    if options.cluster == file == STDIN:
        raise UsageError("only one of --file and --cluster may be standard input")
    from webhook import listener as listener_module
    from webhook import private_folder as webhook_private_folder
    from webhook.cli.manifest import read_content
    from webhook.ui import app, embedded
    from webhook.ui import server as ui_server

    opened = read_content(file).decode(errors="replace") if file else ""
    # Before a large cluster is read for nothing.
    listener = listener_module.open_listener(f"{ui_server.HOST}:{port}")
    with listener, webhook_private_folder.private_folder(webhook_private_folder.PAGE) as folder:
        page = first_reading(options, opened, Autoscale(autoscale))
        access = ui_server.PageAccess(listener.getsockname()[1])
        server = ui_server.LoopbackServer(
            listener, app.create_page(page, embedded.built_files(), access), access.bears_token
        )
        page.start()
        click.echo(access.address)
        note("Ctrl-C ends the page")
        if not no_open:
            _open(access.opening, folder)
        try:
            server.serve_forever()
        finally:
            page.end()


def first_reading(
    options: PlacementOptions, opened: str, autoscale: Autoscale = NO_AUTOSCALE
) -> readings.Readings:
    """Read the cluster, and prepare to read it again, and to watch it if it is live and may be listed.

    Args:
        options: The options.
        opened: The manifest that is shown at first; empty for none.
        autoscale: What may add nodes for pending pods.
    """
    from webhook.cli import ui_cluster
    from webhook.ui import change_watch, readings

    hashes = change_watch.ReadHashes()
    cluster = ui_cluster.read_page_cluster(options, hashes if options.live else None)
    cluster = replace(cluster, opened=opened, autoscale=autoscale.for_page(cluster.index))
    watch = None
    if options.live and cluster.remote is None:
        from webhook.cli import live
        from webhook.telemetry import logs

        watch = change_watch.ChangeWatch(live.api_server(options.context))
        watch.was_read(hashes)
        # The page says which kinds are not watched, and why.
        logs.LOGGER.addHandler(logging.NullHandler())
    repeatable = options.live or options.cluster != STDIN
    reread = partial(ui_cluster.read_page_cluster, options, tell=lambda _text: None)
    return readings.Readings(readings.PageState.of(cluster), reread if repeatable else None, watch)


def _open(address: str, folder: Path) -> None:
    """Open an address in the person's browser; that there is none is reported.

    Args:
        address: The address, which no one else may learn.
        folder: A folder that no one else can read.
    """
    file = folder / "open.html"
    file.touch(mode=0o600)
    file.write_text(_REDIRECT.format(html.escape(address)), encoding="utf-8")
    # Without a display webbrowser would start one for the terminal, and wait for it.
    opened = any(map(os.environ.get, _DISPLAYS)) and webbrowser.open(file.as_uri())
    if not opened:
        note("no browser can be opened here: open the address yourself")
