"""``evenkeel serve``: read the settings, build everything once, and hand over to gunicorn."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any

import click

from webhook.cli.command import Command
from webhook.cli.completing import complete_policies
from webhook.distribution import release
from webhook.fork_server import ONE_THREAD
from webhook.private_folder import SERVER, private_folder
from webhook.settings import Option, Settings, options


def _click_type(option: Option) -> Any:  # what click takes as a type
    if isinstance(option.default, StrEnum):
        return click.Choice([str(member) for member in type(option.default)], case_sensitive=False)
    return str if option.repeatable else type(option.default)


def _member(option: Option, _context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
    """Return a value as the settings have it; click shows members of an enumeration by their Python names."""
    return type(option.default)(value) if isinstance(option.default, StrEnum) else value


def _add_option(function: Callable[..., None], option: Option) -> Callable[..., None]:
    flag = isinstance(option.default, bool)
    shown = option.default_text if option.name == "workers" else bool(option.default)
    return click.option(
        option.flag,
        option.name,
        type=None if flag else _click_type(option),
        is_flag=flag,
        multiple=option.repeatable,
        default=str(option.default) if isinstance(option.default, StrEnum) else option.default,
        metavar=option.value or None,
        callback=partial(_member, option),
        envvar=option.env,
        show_default=shown,
        help=option.help,
        shell_complete=complete_policies if option.flag == "--policy" else None,
    )(function)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(list(options())):
        function = _add_option(function, option)
    return function


_EXAMPLES = """\
Try it:        evenkeel serve --self-signed --policy policy.yaml
In a cluster:  evenkeel serve --bind 0.0.0.0:8443 --cert-dir /certs --policy /etc/evenkeel/policy.yaml
"""


# The last of two values counts here: what a chart adds for its users comes after its own.
@click.command(
    cls=Command,
    examples=_EXAMPLES,
    last_counts=True,
    sections={option.name: option.section for option in options()},
)
@_with_options
def command(**values: Any) -> None:  # every option of the settings
    """Serve the admission webhook over TLS until SIGTERM or Ctrl-C.

    Every option can also be given as an environment variable: --cert-dir is EVENKEEL_CERT_DIR, and so on.
    One that may be repeated holds its values separated by white space there.

    SIGTERM drains: /readyz answers 503, requests are answered for --drain-s more seconds, also on new
    connections, and what is in flight then gets --graceful-timeout-s to end. Ctrl-C ends at once.

    Exit codes: 0 ended by a signal, 2 bad usage or input, 3 could not serve, such as an address in use.
    """
    settings = Settings(**values)
    with private_folder(SERVER) as folder:
        # prometheus-client reads this when it is imported, so it is set before anything that imports it.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder / "metrics")
        (folder / "metrics").mkdir()
        os.environ.update(ONE_THREAD)
        from webhook import server

        server.serve(settings, folder=folder, version=release())
