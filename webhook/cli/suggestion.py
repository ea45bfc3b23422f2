"""One suggestion of ``evenkeel explain`` to paste: a diff of the manifest, or a patch for kubectl."""

from __future__ import annotations

from typing import Any

from policies.manifests.documents import ManifestObject
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import FieldPath
from policies.manifests.merge_patch import merge_patch
from policies.manifests.rewrite import RewriteRefusal, rewrite_object
from policies.reports.patch import patch_command, unified_diff
from webhook.cli.manifest import read_content
from webhook.cli.targets import ObjectTarget
from webhook.lint.files import shown_file


def suggestion(report: dict[str, Any], number: int) -> tuple[Edit, ...]:
    """Return the edits of a suggestion.

    Args:
        report: The explanation, as JSON has it.
        number: Which suggestion, from 1.

    Raises:
        UsageError: There is none of that number, or it is none of a manifest; says what to do instead.
    """
    changes = report["changes"]
    if not 0 < number <= len(changes):
        there = f"there are {len(changes)}" if changes else "there is none"
        raise UsageError(f"no suggestion {number}: {there}")
    chosen = changes[number - 1]
    if in_cluster := chosen.get("inCluster"):  # An earlier Evenkeel suggests none.
        raise UsageError(f"suggestion {number} changes the cluster: {in_cluster['text']}")
    if chosen["elsewhere"]:
        text = "changes a constraint that a policy or the scheduler gives, which is in no manifest"
        raise UsageError(f"suggestion {number} {text}")
    return tuple(Edit(FieldPath(tuple(edit["path"])), edit["old"], edit["new"]) for edit in chosen["edits"])


def manifest_diff(files: tuple[str, ...], entry: ManifestObject, edits: tuple[Edit, ...]) -> bytes:
    """Return the change of an object's file, one of these, as a unified diff.

    Raises:
        OSError: The file cannot be opened.
        DocumentError: It cannot be edited there; says why.
    """
    name = entry.document.file
    content = read_content(next(file for file in files if shown_file(file) == name))
    outcome = rewrite_object(content, entry, edits)
    if isinstance(outcome, RewriteRefusal):
        where = f"{name}:{outcome.line}" if outcome.line else name
        raise DocumentError([f"{where}: {outcome.problem}"])
    return unified_diff(name, content, outcome)


def kubectl_patch(target: ObjectTarget, entry: ManifestObject, edits: tuple[Edit, ...]) -> str:
    """Return the command that makes the edits in the cluster, for a shell."""
    value = entry.value
    patch = merge_patch(value, apply_edits(value, edits))
    return patch_command(target.kind, value["metadata"], patch)
