"""No test depends on how fast a machine is: waiting has one place, and Hypothesis has no clock."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
#: Where a test may sleep, and where examples have their settings.
OWN = {Path("tests/waiting.py"), Path("tests/conftest.py")}
#: Names that stand for a pause, for the time limit of an example, and for checks that are left out.
REFUSED = {"sleep", "deadline", "suppress_health_check"}
#: The modules and functions with which a test would use them.
OWNERS = {"time", "settings", "examples"}
#: A real control plane takes its time.
TESTS = [
    path.relative_to(ROOT)
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if "e2e" not in path.parts and path.relative_to(ROOT) not in OWN
]


def _refused(call: ast.Call) -> set[str]:
    """Return what a call does that has a place of its own."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return REFUSED & {function.attr} if function.value.id in OWNERS else set()
    if isinstance(function, ast.Name) and function.id in OWNERS:
        return REFUSED & {keyword.arg or "" for keyword in call.keywords}
    return set()


@for_each(TESTS)
def test_waiting_has_one_place(path: Path) -> None:
    """A fixed pause is too short on a busy machine and too long on an idle one: ``eventually`` is neither."""
    calls = [node for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.Call)]

    assert [] == [f"line {call.lineno}: {name}" for call in calls for name in _refused(call)]
