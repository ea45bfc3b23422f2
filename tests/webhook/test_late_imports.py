"""Modules that few runs need are imported when they are used."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from webhook.late_imports import late_imports

ROOT = Path(__file__).parents[2]


def _modules(tree: ast.AST) -> list[ast.stmt]:
    """Return the statements of the blocks for late imports."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    return [
        statement
        for block in blocks
        if isinstance(call := block.items[0].context_expr, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == late_imports.__name__
        for statement in block.body
    ]


def test_runs_at_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module, and the package that it is in, run when something of them is used, and once."""
    (tmp_path / "seldom").mkdir()
    (tmp_path / "seldom" / "__init__.py").write_text("")
    (tmp_path / "seldom" / "needed.py").write_text("import sys\nsys.seldom_needed.append(1)\nVALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    ran: list[int] = []
    monkeypatch.setattr(sys, "seldom_needed", ran, raising=False)
    with late_imports():
        from seldom import needed  # type: ignore[import-not-found]  # noqa: PLC0415
    before = list(ran)

    assert (needed.VALUE, needed.VALUE) == (1, 1)
    assert ([], [1]) == (before, ran)
    assert "seldom" in sys.modules


@pytest.mark.parametrize(
    ("line", "error"),
    [("import nothing_of_that_name", ModuleNotFoundError), ("raise KeyboardInterrupt", KeyboardInterrupt)],
)
def test_what_ends_a_module_is_raised_at_every_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, error: type[BaseException]
) -> None:
    """Also where another module imports a name of it, for which Python looks at the module first."""
    (tmp_path / "ended.py").write_text(f"{line}\nVALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ended", raising=False)
    with late_imports():
        import ended  # type: ignore[import-not-found]  # noqa: PLC0415

    for _ in range(2):
        with pytest.raises(error):
            from ended import VALUE  # noqa: F401, PLC0415
        with pytest.raises(error):
            _ = ended.VALUE


def test_other_imports_stay_as_they_are() -> None:
    """After the block the importer is Python's own, whatever happened in it."""
    before = list(sys.meta_path)
    with pytest.raises(ModuleNotFoundError), late_imports():
        import nothing_of_that_name  # type: ignore[import-not-found]  # noqa: F401, PLC0415

    assert before == sys.meta_path


def test_blocks_import_modules() -> None:
    """A name out of a module would make it run at once."""
    wrong = []
    for file in sorted((ROOT / "webhook").rglob("*.py")):
        for statement in _modules(ast.parse(file.read_text())):
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.ImportFrom) else []
            package = Path(*(getattr(statement, "module", None) or "").split("."))
            of_ours = (ROOT / package).exists() and package != Path()
            are_modules = all((ROOT / package / f"{name}.py").exists() for name in names)
            if not isinstance(statement, ast.Import | ast.ImportFrom) or (of_ours and not are_modules):
                wrong.append(f"{file.relative_to(ROOT)}:{statement.lineno}")

    assert [] == wrong
