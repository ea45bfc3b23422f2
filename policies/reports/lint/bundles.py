"""Files that repeat the findings of others, as manifests do that are generated from several sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding

_Said: TypeAlias = tuple[str, str, FieldPath, str]


def bundles(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the files each of whose findings a smaller file has, too, with how many each has.

    Copies of one file by hand have as many findings as it has; what was put together from several has more
    than any of them.

    Args:
        findings: The findings of a run.
    """
    by_file: dict[str, list[_Said]] = defaultdict(list)
    for finding in findings:
        said = finding.rule, finding.title, finding.path, finding.message
        by_file[finding.location.file].append(said)
    least: dict[_Said, int] = {}
    for said_there in by_file.values():
        for said in said_there:
            least[said] = min(len(said_there), least.get(said, len(said_there)))
    return {
        file: len(said_there)
        for file, said_there in by_file.items()
        if all(least[said] < len(said_there) for said in said_there)
    }
