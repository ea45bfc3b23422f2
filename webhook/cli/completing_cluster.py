"""The shell completions of what a cluster has: objects, topology keys, nodes.

They are those of the files that the command line names so far; a live cluster is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from policies.manifests.errors import EvenkeelError
from policies.manifests.fields import member

#: Bytes of a file: more takes longer to read than people wait for.
_MOST_BYTES: Final = 2**22
#: Topology keys that every command knows by these names.
_SHORT_KEYS: Final = ("zone", "region", "hostname")


def complete_object(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the objects of the files, or else of the snapshot, whose ``KIND/NAME`` starts so.

    What a controller made is offered to those who type its kind, and the controller to others.
    """
    from policies.model import snapshot as model_snapshot
    from policies.model import workload

    names: dict[str, None] = {}
    for obj in _objects(context):
        own = _name(*model_snapshot.kind_of(obj), str(member(obj, "metadata").get("name")))
        owner = workload.controller_of(member(obj, "metadata"))
        names[_name(owner.api_version, owner.kind, owner.name) if owner else own] = None
        if owner and "/" in incomplete:
            names[own] = None
    return [CompletionItem(name) for name in names if name and name.startswith(incomplete)]


def complete_key(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the short names of Kubernetes' topology keys, and the labels of the snapshot's nodes."""
    from policies.model import cluster_kinds
    from policies.model import snapshot as model_snapshot

    labels = (
        member(obj, "metadata").get("labels")
        for obj in _objects(context)
        if model_snapshot.kind_of(obj) == cluster_kinds.NODE
    )
    of_nodes = dict.fromkeys(key for found in labels if isinstance(found, dict) for key in found)
    return [CompletionItem(key) for key in (*_SHORT_KEYS, *of_nodes) if key.startswith(incomplete)]


def complete_domain(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the topology keys that start so, and behind one the domains that the snapshot has."""
    from planning.simulation import events
    from policies.model import cluster_kinds
    from policies.model import snapshot as model_snapshot

    key, equals, value = incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{item.value}=") for item in complete_key(context, parameter, incomplete)]
    label = events.topology_key(key)
    found = (
        member(member(obj, "metadata"), "labels").get(label)
        for obj in _objects(context)
        if model_snapshot.kind_of(obj) == cluster_kinds.NODE
    )
    domains = sorted({domain for domain in found if isinstance(domain, str) and domain.startswith(value)})
    return [CompletionItem(f"{key}={domain}") for domain in domains]


def complete_node(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the nodes of the snapshot whose name starts so."""
    from policies.model import cluster_kinds
    from policies.model import snapshot as model_snapshot

    nodes = (
        str(member(obj, "metadata").get("name"))
        for obj in _objects(context)
        if model_snapshot.kind_of(obj) == cluster_kinds.NODE
    )
    return [CompletionItem(name) for name in nodes if name.startswith(incomplete)]


def _name(api_version: str, kind: str, name: str) -> str:
    """Return an object as it is named on a command line; empty for a kind that makes no pods."""
    from webhook.cli import targets

    short = targets.SHORT_NAMES.get((api_version.rpartition("/")[0], kind))
    return f"{short}/{name}" if short else ""


def _objects(context: click.Context) -> Iterator[dict[str, Any]]:
    """Yield the objects of the manifests, or else of the snapshot, as far as they can be read."""
    from webhook import snapshot_file

    for file in context.params.get("files") or (context.params.get("cluster") or "",):
        path = Path(file)
        try:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                yield from (entry.value for entry in snapshot_file.snapshot_objects(path))
        except (EvenkeelError, OSError):
            continue
