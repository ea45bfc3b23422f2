"""Which files of a folder Git ignores, as its ``.gitignore`` files say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.sources.files import read_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: Where a folder says what Git ignores below it.
GITIGNORE = ".gitignore"


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns in force in a folder.

    Attributes:
        specs: A folder and its patterns, from the outermost folder to the innermost.
    """

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()

    def below(self, folder: Path) -> Ignored:
        """Return the patterns in force in a folder further down, which may have some of its own."""
        try:
            # Git follows no link here.
            content = read_file(folder / GITIGNORE, follow=False)
        except OSError:
            return self
        # Nor does it know other ends of lines.
        text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
        return self.with_patterns(folder, (line.removesuffix("\r") for line in text.split("\n")))

    def with_patterns(self, folder: Path, patterns: Iterable[str]) -> Ignored:
        """Return these patterns and further ones, which count from a folder."""
        # Few runs need it, and it takes a twentieth of the time that a run on one file may take.
        from pathspec import GitIgnoreSpec  # noqa: PLC0415

        return Ignored((*self.specs, (folder, GitIgnoreSpec.from_lines(patterns))))

    def holds(self, path: Path, *, is_folder: bool = False) -> bool:
        """Tell whether a path is ignored: the innermost folder with a pattern that fits it decides."""
        for folder, spec in reversed(self.specs):
            if not path.is_relative_to(folder):
                continue
            name = path.relative_to(folder).as_posix()
            decided = spec.check_file(f"{name}/" if is_folder else name).include
            if decided is not None:
                return decided
        return False


def ignored_in(folder: Path) -> Ignored:
    """Return the patterns in force in a folder: those of the folders above it, up to its repository's root.

    They do not count where they ignore the folder itself: who names an ignored folder means it.

    Args:
        folder: An absolute path.
    """
    above: list[Path] = []
    for parent in (folder, *folder.parents):
        above.append(parent)
        if (parent / ".git").exists():
            break
    else:
        above = [folder]
    ignored = Ignored()
    for parent in reversed(above[1:]):
        ignored = ignored.below(parent)
        child = above[above.index(parent) - 1]
        if ignored.specs and ignored.holds(child, is_folder=True):
            return Ignored().below(folder)
    return ignored.below(folder)
