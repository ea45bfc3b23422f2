"""Promises about the code as a whole."""

from __future__ import annotations

import ast
import doctest
import inspect
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
PACKAGES = ("certs", "conformance", "planning", "policies", "webhook")
MODULES = sorted(
    path.relative_to(ROOT)
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "node_modules" not in path.parts
)
#: The modules of commands.
COMMANDS = [
    *(module for module in MODULES if module.parts[:2] == ("webhook", "cli")),
    Path("conformance/command.py"),
]


@cache
def _tree(module: Path) -> ast.Module:
    return ast.parse((ROOT / module).read_text())


def _dotted(module: Path) -> str:
    return ".".join(module.with_suffix("").parts)


@for_each(MODULES)
def test_modules_say_their_job(module: Path) -> None:
    """Every module has a docstring, and a package holds nothing else, so a name has one import path."""
    tree = _tree(module)

    assert ast.get_docstring(tree)
    assert module.name != "__init__.py" or 1 == len(tree.body)


@for_each([module for module in MODULES if ">>> " in (ROOT / module).read_text()])
def test_examples_in_docstrings(module: Path) -> None:
    """Python answers the examples of a docstring as it shows."""
    tested = doctest.testmod(import_module(_dotted(module)))

    assert tested.attempted
    assert 0 == tested.failed


@for_each(sorted(path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")))
def test_tests_stand_where_their_package_is(tests: Path) -> None:
    """The tests of a module are in the folder of its package, under their name or that of what uses it."""
    assert tests.parts[0] not in PACKAGES or (ROOT / tests.parent).is_dir()


def test_an_option_of_several_commands_is_declared_once() -> None:
    """Options that ``webhook.cli.options`` declares are declared by no command."""
    options = Path("webhook/cli/options.py")
    declared = {module: set(_declared_options(module)) for module in COMMANDS}

    assert "--cluster" in declared[options]
    # Of these, other commands have others: the namespace of Evenkeel or of a Secret, or which workloads.
    assert {"--namespace", "-n"} >= {
        name for module, names in declared.items() if module != options for name in names & declared[options]
    }


def _declared_options(module: Path) -> Iterator[str]:
    """Yield the names of the options that a module declares."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "click.option":
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield from (str(name) for name in names if str(name).startswith("-"))


@for_each(COMMANDS)
def test_commands_end_by_an_exit_code(module: Path) -> None:
    """Commands end by ``finish``, which takes an ``ExitCode`` alone: no number stands anywhere else."""
    ends = [
        ast.unparse(node)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Attribute) and node.attr == "exit"
    ]

    assert {"webhook/cli/terminal.py": 1, "webhook/cli/main.py": 1}.get(module.as_posix(), 0) == len(ends)


def test_a_public_class_name_is_used_once() -> None:
    """A class is found by its name; only the settings of each rule are called the same in each of them."""
    places = defaultdict(list)
    for module in MODULES:
        for node in _tree(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.as_posix())
    repeated = {name for name, modules in places.items() if len(modules) > 1}

    assert {"Params"} == repeated


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other(package: str) -> None:
    """Imports go one way between modules too, also those that only types need and those within functions."""
    modules = {
        _dotted(module): module
        for module in MODULES
        if module.parts[0] == package and module.name != "__init__.py"
    }
    # Raises an error that names the circle.
    TopologicalSorter({name: set(_imports(module, modules)) for name, module in modules.items()}).prepare()


@for_each(MODULES)
def test_what_is_imported_has_one_name(module: Path) -> None:
    """A reader who knows what a name stands for in one function knows it in the whole module."""
    names = defaultdict(set)
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[node.module, alias.name].add(alias.asname or alias.name)

    assert {} == {imported: given for imported, given in names.items() if len(given) > 1}


def _imports(module: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of a package that one of them imports, wherever the import is."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            yield from named or {node.module} & known.keys()


def _foreign(module: Path) -> tuple[set[str], set[str]]:
    """Return the names that a module imports from dependencies, and its classes that are made of such."""
    ours = {*PACKAGES, *sys.stdlib_module_names, "tests"}
    names = set[str]()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] not in ours:
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {name.name.partition(".")[0] for name in node.names} - ours
    classes = (node for node in ast.walk(_tree(module)) if isinstance(node, ast.ClassDef))
    return names, {node.name for node in classes if names & {ast.unparse(base) for base in node.bases}}


@for_each(MODULES)
def test_dependencies_are_used_by_their_public_names(module: Path) -> None:
    """No private name of a dependency is imported, read, called or overridden, so its versions may come."""
    names, made_of_foreign = _foreign(module)
    tree = _tree(module)
    imported = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] not in PACKAGES
        for alias in node.names
        if any(part.startswith("_") for part in (*node.module.split("."), alias.name))
        and node.module not in ("__future__", "_typeshed.wsgi", "_typeshed")
    ]
    read = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_private(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id in names
    ]
    overridden = [
        f"{node.name}.{attribute}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in made_of_foreign
        for attribute in _private_of_bases(_dotted(module), node.name) & _private_in(node)
    ]

    assert [] == imported + read + overridden


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _private_in(node: ast.ClassDef) -> set[str]:
    """Return the private names that a class defines, or reads and sets of its instances."""
    functions = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    attributes = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return set(filter(_is_private, functions | attributes))


def _private_of_bases(module: str, name: str) -> set[str]:
    """Return the private names that the bases of a class have that are not ours."""
    made = getattr(import_module(module), name)
    bases = (base for base in made.__mro__[1:] if base.__module__.partition(".")[0] not in PACKAGES)
    found = set[str]()
    for base in bases:
        found |= set(filter(_is_private, vars(base)))
        with suppress(OSError, TypeError):
            source = textwrap.dedent(inspect.getsource(base))
            found |= {
                each.attr
                for each in ast.walk(ast.parse(source))
                if isinstance(each, ast.Attribute)
                and _is_private(each.attr)
                and isinstance(each.value, ast.Name)
                and each.value.id == "self"
            }
    return found
