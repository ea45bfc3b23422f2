"""A lint request: objects that are applied together, and what the rules find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from policies.config.context import AdmissionContext
from policies.lint.reports.run import LintRun
from policies.lint.run import lint
from policies.manifests.documents import Document, ManifestObject, objects
from policies.manifests.fields import (
    FIELD_MISSING,
    ErrorList,
    FieldError,
    FieldPath,
    objects_at,
    required_value,
)
from policies.manifests.wire import Received
from policies.scheduler.releases import parse_release
from webhook.requests.frame import check_release, read_request, refuse

#: Where the objects are.
OBJECTS: Final = FieldPath(("objects",))


@dataclass(frozen=True, kw_only=True)
class LintRequest(Received):
    """Objects that are applied together."""

    #: The objects, each with apiVersion and kind, or a v1 List of them.
    objects: list[dict[str, Any]] | dict[str, Any]
    kubernetes_version: str | None = None  #: The release; left out, the server's.

    def check(self, found: ErrorList) -> None:
        """Record a release that is none."""
        check_release(self.kubernetes_version, found)


def lint_request(body: bytes, server: AdmissionContext, *, today: date, tool_version: str) -> LintRun:
    """Run the rules on the objects of a request, by the server's policies and cluster.

    Args:
        body: The request, JSON.
        server: The policies, the cluster, and the release where the request names none.
        today: The day by which exemptions expire.
        tool_version: Evenkeel's own version.

    Raises:
        RequestError: The request is not what it should be; holds every error.
    """
    request, found = read_request(LintRequest, body), ErrorList()
    manifests = list(_manifests(request.objects, found))
    refuse(found)
    text = request.kubernetes_version
    version = parse_release(text) if text else server.kubernetes_version
    known = server.for_rules().inventory
    # A copy: what is derived from the nodes for these objects need not be kept.
    inventory = None if known is None else known.anew()
    context = replace(server, kubernetes_version=version)
    result = lint(manifests, context, inventory=inventory, today=today)
    files = dict.fromkeys(manifest.document.file for manifest in manifests)
    return LintRun(result=result, tool_version=tool_version, kubernetes_version=version, files=list(files))


def _manifests(given: list[dict[str, Any]] | dict[str, Any], found: ErrorList) -> Iterator[ManifestObject]:
    """Yield the objects of a list, or of a List; each counts as a file of its own, named by its path."""
    # A List counts as one object, and is taken apart like one.
    whole = isinstance(given, dict)
    entries = [(OBJECTS, given)] if isinstance(given, dict) else objects_at(given, OBJECTS)
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
            yield required_value(path.child(name), "", FIELD_MISSING)
