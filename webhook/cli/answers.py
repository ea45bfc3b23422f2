"""The answers of ``score`` and ``explain`` for programs: the JSON of the routes, or the same as YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import click
import orjson
import yaml

from policies.manifests.documents import ManifestObject

#: Prints the JSON of an answer about an object.
Printer: TypeAlias = Callable[[bytes, ManifestObject], None]


def answer_printer(form: str) -> Printer | None:
    """Return what prints an answer in a format; None for the formats that people read."""
    return {"json": _print_json, "yaml": _print_yaml}.get(form)


def _print_json(body: bytes, _entry: ManifestObject) -> None:
    click.echo(body.rstrip(b"\n"))


def _print_yaml(body: bytes, _entry: ManifestObject) -> None:
    click.echo(yaml.safe_dump(orjson.loads(body), sort_keys=False, allow_unicode=True), nl=False)
