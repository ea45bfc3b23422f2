"""Counts of domains on a line."""

from __future__ import annotations

import pytest

from planning.text.domains import MAX_ENTRIES, domain_counts

HOSTS = {f"n{number:03}": 0 for number in range(1_000)}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {}, "no domains", id="none"),
        pytest.param({"": 1}, {"": 1}, "(empty) 1", id="a label without a value"),
        pytest.param({"a": 2}, {"b": 2}, "a 2 → 0, b 0 → 2", id="a domain that goes, one that comes"),
        pytest.param(HOSTS, HOSTS, "n000 and 999 others 0", id="a thousand hosts without pods"),
        pytest.param(HOSTS, dict.fromkeys(HOSTS, 1), "n000 and 999 others 0 → 1", id="all change alike"),
        pytest.param(
            HOSTS,
            {name: at for at, name in enumerate(HOSTS)},
            ", ".join(f"n{at:03} 0 → {at}" for at in range(1, MAX_ENTRIES + 1))
            + f" and {1_000 - MAX_ENTRIES} more domains",
            id="a thousand different changes",
        ),
    ],
)
def test_domain_counts(before: dict[str, int], after: dict[str, int], expected: str) -> None:
    """Changed domains come first; many with equal numbers are one entry, and the entries are bounded."""
    assert expected == domain_counts(before, after)
