"""The extras of pyproject.toml, by the modules that they bring: what commands need beyond the base."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from importlib.metadata import requires
from itertools import takewhile
from typing import Final

from policies.manifests.errors import CannotRunError

#: The extra of commands that need more than the first module that they miss.
OF_COMMANDS: Final[Mapping[str, str]] = {"doctor": "live", "serve": "server"}


class MissingExtraError(CannotRunError):
    """A command needs an extra that is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed, and this needs it: pip install 'evenkeel[{extra}]'")


def missing_extra(module: str | None, command: str | None) -> MissingExtraError | None:
    """Return the error for a module that could not be imported; None where no extra brings it.

    Args:
        module: The full name of the module, as ``ModuleNotFoundError.name`` has it.
        command: The command that needs it.
    """
    top = (module or "").partition(".")[0]
    brought: dict[str, set[str]] = defaultdict(set)
    for requirement in requires("evenkeel") or ():
        # As in ``prometheus-client<1,>=0.21; extra == "server"``.
        needed, _, extra = requirement.partition("; extra == ")
        name = "".join(takewhile(lambda letter: letter.isalnum() or letter in "-_.", needed))
        brought[extra.strip("'\"")].add(name.lower().replace("-", "_"))
    extras = [extra for extra in brought if extra and top in brought[extra]]
    if not extras:
        return None
    smallest = min(extras, key=lambda extra: (len(brought[extra]), extra == "all", extra))
    return MissingExtraError(top, OF_COMMANDS.get(command or "", smallest))
