"""Files that repeat the findings of others."""

from __future__ import annotations

import pytest

from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity
from policies.reports.lint.bundles import bundles


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a": "x", "b": "y", "all": "xy"}, {"all": 2}, id="one of two sources"),
        pytest.param(
            {"a": "x", "b": "y", "all": "xy", "ha": "xy"}, {"all": 2, "ha": 2}, id="two of the same"
        ),
        pytest.param({"a": "x", "b": "x"}, {}, id="copies by hand"),
        pytest.param({"a": "xy", "b": "xy"}, {}, id="larger copies by hand"),
        pytest.param({"a": "x", "all": "xyz"}, {}, id="with findings of its own"),
        pytest.param({"a": "x", "b": "y"}, {}, id="different ones"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_bundles(files: dict[str, str], expected: dict[str, int]) -> None:
    """What is put together from several has all that they have, and more than each."""
    found = [
        Finding(Severity.NOTE, Location(file, line), FieldPath(("spec",)), "is odd", "odd", f"Pod {name}")
        for file, names in files.items()
        for line, name in enumerate(names)
    ]

    assert expected == bundles(found)
