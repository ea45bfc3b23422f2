"""An edited manifest: what is wrong with it, a suggestion made in it, and what leads to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import yaml

from policies.config.context import AdmissionContext
from policies.lint.run import lint
from policies.manifests import json_patch
from policies.manifests.documents import ManifestObject
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.json_patch import merge_patch
from policies.manifests.rewrite import RewriteRefusal, rewrite_object
from policies.manifests.wire import dumps
from policies.model.workload import Workload
from policies.pods.placement import PlacementError, read_workload
from policies.reports.patch import patch_command, unified_diff
from webhook.lint.files import Text
from webhook.lint.parse import parse
from webhook.ui.bodies import ManifestBody, PatchBody, SuggestBody
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import (
    FILE,
    ManifestProblem,
    ProblemsError,
    finding_problem,
    read_manifest,
    request_problem,
)

#: Kinds most of whose fields cannot be changed, so that no patch is offered.
_FIXED: Final = frozenset({"Pod", "Job"})


class EditedManifest(NamedTuple):
    """A manifest with edits made."""

    manifest: str  #: The manifest; comments and layout are kept.
    diff: str  #: What has changed, as a unified diff.


class PatchAnswer(NamedTuple):
    """The changes from one manifest to another."""

    merge_patch: str  #: A JSON merge patch (RFC 7386), as YAML; lists are replaced as a whole.
    json_patch: Sequence[json_patch.PatchOperation]  #: A JSON patch (RFC 6902).
    changes: Sequence[Edit]  #: The same as edits of fields, each with the value that it had.
    diff: str  #: A unified diff of the texts.
    #: The kubectl command that applies the merge patch; empty for a Pod or a Job, most of whose fields cannot
    #: be changed.
    command: str


class CheckedObject(NamedTuple):
    """The object of a manifest."""

    kind: str  #: Its kind, with its group.
    namespace: str  #: Its namespace.
    name: str  #: Its name; empty if it has none.
    replicas: int | None  #: How many replicas it wants; null for kinds without a number.


class CheckAnswer(NamedTuple):
    """The problems of a manifest."""

    problems: Sequence[ManifestProblem]  #: In the order of their lines.
    object: CheckedObject | None  #: Its object; null if it cannot be read as one.


def check(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Say what is wrong with a manifest: its YAML, what the API server refuses, what the rules find."""
    text, context = body.manifest, cluster.context
    parsed = parse(Text(FILE, text.encode(), named=True))
    known = context.for_rules().inventory
    inventory = None if known is None else known.anew()
    found = parsed.problems + lint(parsed.objects, context, inventory=inventory).findings
    problems = sorted(map(finding_problem, found), key=lambda problem: problem.line)
    workload = None
    try:
        workload = read_workload(read_manifest(text, context).value, context)
    except ProblemsError as error:
        if not parsed.problems:
            problems += error.problems
    except PlacementError:
        pass  # The rules have said why.
    return dumps(CheckAnswer(problems, _object(workload)))


def _object(workload: Workload | None) -> CheckedObject | None:
    if workload is None:
        return None
    return CheckedObject(workload.kind.name, workload.namespace, workload.name, workload.replicas)


def suggest(cluster: PageCluster, body: SuggestBody) -> bytes:
    """Make the edits of a suggestion in a manifest; comments and layout are kept."""
    text = body.manifest
    entry, source = read_manifest(text, cluster.context), text.encode()
    edits = _edits(body.edits)
    try:
        outcome = rewrite_object(source, entry, edits)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProblemsError([request_problem("edits", f"do not fit the manifest: {error}")]) from error
    if isinstance(outcome, RewriteRefusal):
        raise ProblemsError([request_problem("edits", outcome.problem, line=outcome.line)])
    return dumps(EditedManifest(outcome.decode(), unified_diff(FILE, source, outcome).decode()))


def _edits(given: list[dict[str, Any]]) -> list[Edit]:
    """Read the edits of a request."""
    edits = []
    for entry in given:
        path = entry.get("path")
        if not isinstance(path, list) or not path or not all(map(_is_segment, path)):
            break
        edits.append(Edit(FieldPath(tuple(path)), entry.get("old"), entry.get("new")))
    if not given or len(edits) < len(given):
        raise ProblemsError(
            [request_problem("edits", "must be the edits of a suggestion, each with its path")]
        )
    return edits


def _is_segment(part: object) -> bool:
    return isinstance(part, str) or (type(part) is int and part >= 0)


def patch(cluster: PageCluster, body: PatchBody) -> bytes:
    """Return the changes from one manifest to another, as patches and as a diff."""
    old, new = body.original, body.manifest
    before, after = read_manifest(old, cluster.context), read_manifest(new, cluster.context)
    merge = merge_patch(before.value, after.value)
    operations = list(json_patch.difference(before.value, after.value))
    answer = PatchAnswer(
        merge_patch=yaml.safe_dump(merge, sort_keys=False, allow_unicode=True),
        json_patch=operations,
        changes=[_change(operation, before.value) for operation in operations],
        diff=unified_diff(FILE, old.encode(), new.encode()).decode(),
        command=_command(after, merge, cluster.context),
    )
    return dumps(answer)


def _change(operation: json_patch.PatchOperation, before: Any) -> Edit:
    """Return an operation of a patch as the edit of a field, with the value that it had."""
    segments: list[str | int] = []
    value = before
    for name in json_patch.segments_of(operation["path"]):
        if isinstance(value, list):
            position = int(name)
            segments.append(position)
            value = value[position] if position < len(value) else None
        else:
            segments.append(name)
            value = value.get(name) if isinstance(value, dict) else None
    return Edit(FieldPath(tuple(segments)), value, operation.get("value"))


def _command(entry: ManifestObject, merge: dict[str, Any], context: AdmissionContext) -> str:
    kind, metadata = context.kind_of(entry.value), entry.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if kind is None or kind.kind in _FIXED or not isinstance(name, str) or not merge:
        return ""
    return patch_command(kind, entry.value["metadata"], merge)
