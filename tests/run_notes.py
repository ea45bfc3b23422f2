"""The notes at the end of a run of the tests besides their results, also when workers run them."""

from __future__ import annotations

import pytest

#: Lines, each with whether it is bad news. A worker's are sent on, so they are made of what JSON has.
NOTES = pytest.StashKey[list[tuple[str, bool]]]()
