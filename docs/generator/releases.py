"""The tables of the page of releases, and what was compared with one of them.

``python -m docs.generator.releases [RELEASE]`` says what is behind the answers for a release: verdicts that
were recorded, or the table of changes alone. Both are made of that table and of ``release_evidence.json``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from docs.generator.markdown import table
from docs.generator.release_evidence import Evidence, read_evidence
from policies.manifests.errors import UsageError
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.release_changes import CHANGES, ReleaseChange
from policies.scheduler.releases import judged_as, parse_release


def refreshed(text: str) -> str:
    """Return the page with its tables as they should be, each between its mark and the next end."""
    for name, rows in (("compared", _compared()), ("changes", _changes())):
        before, mark, rest = text.partition(f"<!-- {name}: `make generate` -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{mark}{rows}\n{end}{after}"
    return text


def _compared() -> str:
    return table(
        ("release", "recorded", "stated", "changes told apart"),
        (
            (release, f"{found.measured:,}", f"{found.stated:,}", f"{len(found.told)} of {len(_flags())}")
            for release, found in _ordered(read_evidence())
        ),
    )


def _changes() -> str:
    evidence = read_evidence()
    return table(
        ("since", "change", "without it", "with it"),
        (
            (
                _since(change),
                f"{change.what} [Source]({change.source})",
                *(_cases(change, evidence, having=having) for having in (False, True)),
            )
            for change in CHANGES
        ),
    )


def report(version: KubernetesVersion) -> Iterator[str]:
    """Yield the evidence behind the results for a release, line by line."""
    evidence = read_evidence()
    judged = judged_as(version)
    yield f"Kubernetes {version.exact}" + ("" if judged == version else f", evaluated as {judged}")
    own = {name: found for name, found in evidence.items() if KubernetesVersion.parse(name) == version}
    for name, found in own.items():
        yield f"  {name}: {found.measured:,} recorded cases, {found.stated:,} stated by its tests"
    measured = [KubernetesVersion.parse(name) for name, found in _ordered(evidence) if found.measured]
    if version not in measured:
        yield from _untold(version, measured)
        return
    told = {name for found in own.values() for name in found.told}
    for title, wanted in (("Told apart by a case of this release", True), ("Told apart by none", False)):
        listed = [change for change in CHANGES if (change.field in told) is wanted]
        yield f"{title}: {len(listed)} of {len(CHANGES)} changes"
        yield from (_line(change, "has it" if change.is_in(version) else "lacks it") for change in listed)


def _untold(version: KubernetesVersion, measured: list[KubernetesVersion]) -> Iterator[str]:
    """Yield notes on a release from which nothing was recorded."""
    yield "  No verdict of it was recorded."
    before, after = [v for v in measured if v < version], [v for v in measured if v > version]
    nearest = (
        f"{max(before).exact} before" if before else "none before",
        f"{min(after).exact} after" if after else "none after",
    )
    yield f"  Nearest with recorded verdicts: {', '.join(nearest)}"
    since = max(before, default=None)
    listed = [change for change in CHANGES if change.is_in(version) and not (since and change.is_in(since))]
    yield f"Since then, by the table alone: {len(listed)} changes; all else is taken to be as it was"
    yield from (_line(change, change.source) for change in listed)


def _line(change: ReleaseChange, note: str) -> str:
    return f"  {_since(change)}  {change.field} ({note}): {change.what}"


def _flags() -> set[str]:
    return {change.field for change in CHANGES}


def _ordered(evidence: dict[str, Evidence]) -> list[tuple[str, Evidence]]:
    return sorted(evidence.items(), key=lambda entry: KubernetesVersion.parse(entry[0]))


def _since(change: ReleaseChange) -> str:
    return ", ".join(release.exact for release in (*change.backported, change.since))


def _cases(change: ReleaseChange, evidence: dict[str, Evidence], *, having: bool) -> str:
    """Return the releases, with or without a change, of which cases tell it apart."""
    # Of what an earlier line of the same flag ended, nothing is said.
    earlier = [each for each in CHANGES[: CHANGES.index(change)] if each.field == change.field]
    later = [each for each in CHANGES[CHANGES.index(change) + 1 :] if each.field == change.field]
    cells = []
    for release, found in _ordered(evidence):
        version = KubernetesVersion.parse(release)
        concerned = all(each.is_in(version) for each in earlier) and not any(
            each.is_in(version) for each in later
        )
        if change.field in found.told and concerned and change.is_in(version) is having:
            cells.append(f"{release} ({found.told[change.field][0]:,})")
    return ", ".join(cells)


def main(arguments: list[str]) -> int:
    """Print what is behind the answers for some releases; the newest known one where none is named."""
    try:
        versions = [parse_release(text) for text in arguments or [str(KNOWN_VERSION)]]
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for version in versions:
        print("\n".join(report(version)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
