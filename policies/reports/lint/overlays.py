"""The words on the overlays that have a finding: kustomizations in whose built objects it was made."""

from __future__ import annotations

from policies.manifests.findings import Finding
from policies.manifests.words import IN_PHRASE, listed


def overlays(finding: Finding) -> str:
    """Return which overlays have a finding; empty where its file alone says it.

    >>> from dataclasses import replace
    >>> from policies.manifests.fields import FieldPath
    >>> from policies.manifests.findings import Build, Location, Severity
    >>> build = Build("prod/kustomization.yaml", "Pod web", FieldPath(), "is odd")
    >>> where = Location("base/web.yaml", 3)
    >>> finding = Finding(Severity.NOTE, where, FieldPath(), "is odd", "odd", builds=(build,))
    >>> overlays(replace(finding, used_in_builds=2))
    'in 1 of the 2 overlays that use this file: prod'
    """
    names = list(dict.fromkeys(_folder(build.file) for build in finding.builds))
    count = len(names)
    if not names or (
        count == 1 == max(finding.used_in_builds, 1) and names[0] == _folder(finding.location.file)
    ):
        return ""
    first = listed(names, IN_PHRASE)
    if count < finding.used_in_builds:
        return f"in {count} of the {finding.used_in_builds} overlays that use this file: {first}"
    return f"in overlay {first}" if count == 1 else f"in {count} overlays: {first}"


def message(finding: Finding) -> str:
    """Return the message of a finding, with the overlays that have it."""
    told = overlays(finding)
    return f"{finding.message} ({told})" if told else finding.message


def _folder(file: str) -> str:
    return file.rpartition("/")[0] or "."
