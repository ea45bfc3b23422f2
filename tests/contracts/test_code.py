"""Promises about the code as a whole."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path.relative_to(ROOT)
    for package in ("certs", "policies", "webhook")
    for path in (ROOT / package).rglob("*.py")
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_say_their_job(module: Path) -> None:
    """Every module has a docstring, and a package holds nothing else, so a name has one import path."""
    tree = ast.parse((ROOT / module).read_text())

    assert ast.get_docstring(tree)
    assert module.name != "__init__.py" or 1 == len(tree.body)


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.name not in ("__init__.py", "__main__.py")], ids=str
)
def test_tests_mirror_the_source(module: Path) -> None:
    """The tests of a module stand where its name says, unless others use it up."""
    mirrored = Path("tests") / module.with_name(f"test_{module.name}")

    assert (ROOT / TESTED_ELSEWHERE.get(module.as_posix(), mirrored)).exists()


#: Modules without tests of their own, and the tests that use them up.
TESTED_ELSEWHERE = {
    "policies/errors.py": "tests/webhook/cli/test_main.py",
    "policies/model/api_rules.py": "tests/policies/model/test_validation.py",
    "webhook/cli/serve.py": "tests/webhook/serving/test_server.py",
    "webhook/serving/application.py": "tests/webhook/serving/test_server.py",
    "webhook/serving/problems.py": "tests/webhook/serving/test_worker.py",
    "webhook/serving/quick.py": "tests/webhook/serving/test_exchange.py",
    "webhook/serving/refusal.py": "tests/webhook/serving/test_worker.py",
    "webhook/views/current.py": "tests/webhook/test_app.py",
    "webhook/views/health.py": "tests/webhook/test_app.py",
    "webhook/views/metrics.py": "tests/webhook/test_app.py",
}
