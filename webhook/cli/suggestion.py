"""One suggestion of ``evenkeel explain`` to paste: a diff of the manifest, or a patch for kubectl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from policies.manifests import edits as manifests_edits
from policies.manifests import json_patch as manifests_merge_patch
from policies.manifests import rewrite
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import FieldPath
from policies.manifests.file_name import shown_file
from policies.reports import patch as reports_patch
from webhook.cli import manifest

if TYPE_CHECKING:
    from policies.manifests.documents import ManifestObject
    from webhook.cli.targets import ObjectTarget


def suggestion(report: dict[str, Any], number: int) -> tuple[manifests_edits.Edit, ...]:
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
    in_cluster = chosen.get("inCluster")  # An earlier Evenkeel suggests none.
    if in_cluster and not chosen["edits"]:
        raise UsageError(f"suggestion {number} changes the cluster: {in_cluster['text']}")
    if chosen["elsewhere"]:
        text = "changes a constraint that a policy or the scheduler gives, which is in no manifest"
        raise UsageError(f"suggestion {number} {text}")
    return tuple(
        manifests_edits.Edit(FieldPath(tuple(edit["path"])), edit["old"], edit["new"])
        for edit in chosen["edits"]
    )


def manifest_diff(
    files: tuple[str, ...], entry: ManifestObject, edits: tuple[manifests_edits.Edit, ...]
) -> bytes:
    """Return the change of an object's file, one of these, as a unified diff.

    Raises:
        OSError: The file cannot be opened.
        DocumentError: It cannot be edited there; says why.
    """
    name = entry.document.file
    content = manifest.read_content(next(file for file in files if shown_file(file) == name))
    outcome = rewrite.rewrite_object(content, entry, edits)
    if isinstance(outcome, rewrite.RewriteRefusal):
        where = f"{name}:{outcome.line}" if outcome.line else name
        raise DocumentError([f"{where}: {outcome.problem}"])
    return reports_patch.unified_diff(name, content, outcome)


def kubectl_patch(
    target: ObjectTarget, entry: ManifestObject, edits: tuple[manifests_edits.Edit, ...]
) -> str:
    """Return the command that makes the edits in the cluster, for a shell."""
    value = entry.value
    patch = manifests_merge_patch.merge_patch(value, manifests_edits.apply_edits(value, edits))
    return reports_patch.patch_command(target.kind, value["metadata"], patch)
