"""The policies of files, loaded again when a file changes; a change with errors leaves the last good ones.

A mounted ConfigMap changes by a symbolic link that is replaced, so what a path leads to is compared, not the
path. Files that change while they are read are read again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from policies.config.spread_policy import BUILTIN_PREFIX, SpreadPolicy
from policies.manifests.errors import EvenkeelError
from policies.manifests.file_name import STDIN

#: By what a change of a file is noticed: device, inode, size and time; None for one that is not there.
_Stamp = tuple[int, int, int, int] | None


class PolicyFiles:
    """The files of one server. For one thread.

    Attributes:
        policies: Those in force.
        problem: Why what the files hold now is not in force; empty if it is.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        policies: tuple[SpreadPolicy, ...],
        load: Callable[[], tuple[SpreadPolicy, ...]],
    ) -> None:
        """Nothing is read yet.

        Args:
            names: The files, and ``builtin:NAME`` or ``-``, which never change.
            policies: What they held at the start.
            load: Reads all of them; raises EvenkeelError or OSError.
        """
        self.policies = policies
        self.problem = ""
        self._paths = tuple(
            Path(name) for name in names if name != STDIN and not name.startswith(BUILTIN_PREFIX)
        )
        # Standard input cannot be read again.
        self._fixed = STDIN in names or not self._paths
        self._load = load
        self._seen = () if self._fixed else self._stamps()

    def refresh(self) -> bool:
        """Load the files if they have changed; return whether policies or the problem are others then."""
        if self._fixed or (stamps := self._stamps()) == self._seen:
            return False
        before = self.policies, self.problem
        try:
            policies = self._load()
        except EvenkeelError as error:
            problem = str(error).replace("\n", "; ")
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
        else:
            problem = ""
        if self._stamps() != stamps:
            return False  # A writer is between two files: the next look reads them whole.
        self._seen = stamps
        self.problem = problem
        if not problem:
            self.policies = policies
        return before != (self.policies, self.problem)

    def _stamps(self) -> tuple[_Stamp, ...]:
        return tuple(map(_stamp, self._paths))


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
