"""Modules that few runs need, imported when something of them is first used."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from types import ModuleType
from typing import Final, NoReturn

#: The modules that were imported late, and may not be used yet.
_LATE: Final[list[str]] = []


class _RepeatingLoader(SourceFileLoader):
    """Runs a module; what ends that, as a missing package or Ctrl-C, is raised again at every further use.

    Where a module is imported again, Python looks whether it is being run. That runs a late one, and drops
    its error.
    """

    def exec_module(self, module: ModuleType) -> None:
        try:
            super().exec_module(module)
        except BaseException as error:
            ended = error

            def repeat(_name: str) -> NoReturn:
                raise ended

            module.__getattr__ = repeat  # type: ignore[method-assign]  # PEP 562
            raise


class _LateFinder:
    """Finds modules as Python does, and has them run at the first use of an attribute."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = LazyLoader(_RepeatingLoader(spec.loader.name, spec.loader.path))
            _LATE.append(name)
        return spec


@contextmanager
def late_imports() -> Iterator[None]:
    """Import modules late whose imports stand in this block, each as ``from package import module``.

    The block is the last of a module's imports, so that readers, mypy and the import contracts see what
    the module needs. What it needs always is imported above. Only for what the main thread uses first:
    older releases of Python may show another thread a module that is half run.
    """
    sys.meta_path.insert(0, _LateFinder)
    try:
        yield
    finally:
        sys.meta_path.remove(_LateFinder)


def run_late_imports() -> None:
    """Run the modules that were imported late: before threads start, of which any may use one first."""
    while _LATE:
        # Of an extra that is not installed, nothing can be used.
        with suppress(ModuleNotFoundError):
            _ = sys.modules[_LATE.pop()].__doc__
