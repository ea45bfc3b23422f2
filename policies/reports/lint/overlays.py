"""The words on the overlays that have a finding: kustomizations in whose built objects it was made."""

from __future__ import annotations

from typing import Final

from policies.manifests.findings import Finding
from policies.manifests.sanitize import one_line

#: Overlays that are named before the others are counted: a line holds about three.
NAMED: Final = 3


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
    listed = ", ".join(one_line(name) for name in names[:NAMED])
    if count > NAMED:
        listed += f" and {count - NAMED} more"
    if count < finding.used_in_builds:
        return f"in {count} of the {finding.used_in_builds} overlays that use this file: {listed}"
    return f"in overlay {listed}" if count == 1 else f"in {count} overlays: {listed}"


def message(finding: Finding) -> str:
    """Return the message of a finding, with the overlays that have it."""
    told = overlays(finding)
    return f"{finding.message} ({told})" if told else finding.message


def _folder(file: str) -> str:
    return file.rpartition("/")[0] or "."
