"""A lint request of the HTTP API: objects that are applied together, and what the rules find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any, Final, NotRequired, TypedDict

from policies.config.context import AdmissionContext
from policies.lint.run import lint
from policies.manifests.documents import Document, ManifestObject, objects
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    required_value,
)
from policies.model.topology import ClusterTopology
from policies.reports.lint_run import LintRun
from webhook.json_request import REQUEST_INCOMPLETE, RequestError, read_object, read_version

#: Where the objects are.
OBJECTS: Final = FieldPath(("objects",))


class LintBody(TypedDict):
    """Objects that are applied together.

    Attributes:
        objects: The objects, each with apiVersion and kind, or a v1 List of them.
        kubernetesVersion: The release; left out, the server's.
    """

    objects: list[dict[str, Any]] | dict[str, Any]
    kubernetesVersion: NotRequired[str | None]


def lint_request(body: bytes, server: AdmissionContext, *, today: date, tool_version: str) -> LintRun:
    """Return what the rules find in the objects of a request, by the server's policies and cluster.

    Args:
        body: The request, JSON.
        server: The policies, the cluster, and the release where the request names none.
        today: The day by which exemptions expire.
        tool_version: Evenkeel's own version.

    Raises:
        RequestError: The request is not what it should be; holds every error.
    """
    found = ErrorList()
    request = read_object(body, LintBody, found)
    manifests = list(_manifests(request.get("objects"), found))
    version = read_version(request.get("kubernetesVersion"), found) or server.kubernetes_version
    if found.errors:
        raise RequestError(tuple(found.errors))
    known = server.for_rules().inventory
    # A copy: what is derived from the nodes for so many objects need not be kept.
    inventory = None if known is None else ClusterTopology(known.nodes, known.domains)
    context = replace(server, kubernetes_version=version)
    result = lint(manifests, context, inventory=inventory, today=today)
    files = dict.fromkeys(manifest.document.file for manifest in manifests)
    return LintRun(result=result, tool_version=tool_version, kubernetes_version=version, files=list(files))


def _manifests(raw: object, found: ErrorList) -> Iterator[ManifestObject]:
    """Yield the objects of a list, or of a List; each counts as a file of its own, named by its path."""
    if raw is None:
        found.add(required_value(OBJECTS, "API objects, or a List of them", REQUEST_INCOMPLETE))
        return
    # A List counts as one object, and is taken apart like one.
    whole = isinstance(raw, dict)
    entries = [(OBJECTS, raw)] if isinstance(raw, dict) else found.objects(raw, OBJECTS)
    for position, (path, obj) in enumerate(entries):
        document = Document(obj, str(path), position)
        for manifest in objects(document):
            file = str(path + manifest.path) if whole else document.file
            entry = replace(manifest, path=FieldPath(), document=Document(obj, file, position))
            found.extend(_kind_errors(entry.value, path + manifest.path))
            if found.full:
                return
            yield entry


def _kind_errors(obj: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if not isinstance(obj.get(name), str) or not obj[name]:
            yield required_value(path.child(name), "", REQUEST_INCOMPLETE)
