"""A finding in an object that kustomize built, where the resource or the patch is that it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policies.manifests.documents import ManifestObject
from policies.manifests.edits import Edit
from policies.manifests.fields import text_member
from policies.manifests.findings import Build, Finding, Location
from policies.manifests.kustomize_layers import Layer
from policies.manifests.origins import BuiltObject


def at_origin(finding: Finding, manifest: ManifestObject, edits: Sequence[Edit] = ()) -> Finding:
    """Return a finding in an object where it is written, if kustomize built the object.

    Args:
        finding: The finding, in the object.
        manifest: The object.
        edits: What would fix it.
    """
    if not isinstance(manifest, BuiltObject):
        return finding
    origin = manifest.origin
    builds = (Build(origin.build, finding.title, finding.path, finding.message),)
    written = origin.written(finding.path)
    if written is None:
        return replace(finding, location=Location(origin.build), fixable=False, builds=builds)
    location = written.location
    return replace(
        finding,
        location=location,
        path=written.path,
        title=title_of(written.layer) or finding.title,
        fixable=bool(edits) and origin.placed(edits) is not None,
        builds=builds,
        used_in_builds=origin.count_builds(location.file),
    )


def title_of(layer: Layer) -> str:
    """Return kind and name as a text has them; empty where it lacks one."""
    value = layer.value if isinstance(layer.value, dict) else {}
    kind, name = text_member(value, "kind"), text_member(value.get("metadata"), "name")
    return f"{kind} {name}" if kind and name else ""
