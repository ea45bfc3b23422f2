"""The pods of each domain before and after a change, on a line that many domains do not make long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policies.manifests.sanitize import one_line
from policies.manifests.words import ON_LINE, more, plural

#: Entries of the line; those of domains that change come first.
MAX_ENTRIES: Final = 12


def domain_counts(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the pods of each domain, of many with equal numbers as one entry.

    >>> domain_counts({"a": 1, "b": 1}, {"a": 1, "b": 2})
    'b 1 → 2, a 1'
    >>> domain_counts({f"n{at}": 0 for at in range(9)}, {"n3": 2})
    'n3 0 → 2, n0 and 7 others 0'
    """
    alike: dict[tuple[int, int], list[str]] = {}
    for name in sorted({*before, *after}):
        alike.setdefault((before.get(name, 0), after.get(name, 0)), []).append(name)
    entries: list[tuple[bool, str, int, str]] = []
    for (was, becomes), names in alike.items():
        numbers = f"{was:,} → {becomes:,}" if was != becomes else f"{was:,}"
        groups = [[name] for name in names] if len(names) <= ON_LINE else [names]
        for group in groups:
            others = f" and {plural(len(group) - 1, 'other')}" if len(group) > 1 else ""
            shown = f"{one_line(group[0]) or '(empty)'}{others} {numbers}"
            entries.append((was == becomes, group[0], len(group), shown))
    entries.sort()
    rest = sum(domains for _, _, domains, _ in entries[MAX_ENTRIES:])
    text = ", ".join(shown for *_, shown in entries[:MAX_ENTRIES])
    return f"{text} {more(rest, 'domain')}" if rest else text or "no domains"
