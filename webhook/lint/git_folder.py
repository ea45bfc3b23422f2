"""The parts of an untrusted repository that Git may read: its own objects and names, and no other file.

Git follows what it finds in ``.git``: other repositories that objects are borrowed from, links, and files
that the configuration includes. So it is given a folder of ours, which leads to what was looked at and to
nothing else, with a configuration that says only how objects and names are stored.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from policies.manifests.fields import shown
from policies.manifests.skipped import SkipReason
from webhook.lint.files import GIT, read_file
from webhook.lint.tool_limits import ToolError
from webhook.private_folder import GIT_FOLDER, private_folder

#: What ``.git`` starts with where it is a file: of a work tree of another repository, or of a submodule.
_ELSEWHERE: Final = b"gitdir:"
#: Files and folders that are looked at: ten times those of the largest repositories that Git keeps tidy.
MAX_ENTRIES: Final = 500_000
#: Bytes of a file that says where something is; a path has at most 4 KiB.
_MAX_POINTER: Final = 2**13
#: What of all work trees of a repository Git reads: objects, and names of commits.
_OBJECTS: Final = "objects"
_NAMES: Final = ("refs", "packed-refs", "shallow", "logs/refs", "reftable")
#: What it reads of one of them, besides names such as HEAD and ORIG_HEAD.
_OWN: Final = ("logs/HEAD", "index")
#: What our configuration has of the repository's: how it is stored, and what ``@{upstream}`` stands for.
_SECTIONS: Final = ("extensions.", "branch.")
_KEYS: Final = ("core.repositoryformatversion",)
_OF_REMOTES: Final = (".fetch", ".promisor", ".partialclonefilter")

#: Prints the settings of a file, as ``git config --list -z`` does, without what it includes.
ListSettings = Callable[[Path], bytes]


@dataclass(frozen=True, slots=True)
class GitFolder:
    """Where a repository keeps what Git reads."""

    own: Path  #: The folder of the work tree.
    common: Path  #: That of all work trees of the repository; mostly the same.
    settings: tuple[tuple[str, str], ...]  #: Those of its settings that are used, with their values.
    with_objects: bool = True  #: Whether its objects are read; an index is read without them.

    @property
    def shared(self) -> tuple[str, ...]:
        """Limits shared by all work trees."""
        return (_OBJECTS, *_NAMES) if self.with_objects else _NAMES

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """Give a folder for ``--git-dir``, which leads nowhere else."""
        with private_folder(GIT_FOLDER) as folder:
            (folder / "logs").mkdir()
            (folder / "config").write_text(
                "".join(_lines(self.settings)), encoding="utf-8", errors="surrogateescape"
            )
            for names, place in ((self.shared, self.common), (_OWN, self.own)):
                for name in names:
                    if (place / name).exists():
                        (folder / name).symlink_to(place / name)
            for head in _heads(self.own):
                # A link would have to lead to a name of a commit.
                (folder / head.name).write_bytes(read_file(head))
            for name in (_OBJECTS, "refs"):
                (folder / name).mkdir(exist_ok=True)
            yield folder


def find_git_folder(root: Path, list_settings: ListSettings, *, with_objects: bool = True) -> GitFolder:
    """Return where a repository keeps what Git reads, after a look at all that it would open.

    That of a work tree that ``git worktree`` added, and of a submodule, is elsewhere: it is read if it says
    itself that this is its work tree, which nobody can have it say who only wrote the work tree.

    Args:
        root: The folder of the work tree.
        list_settings: Reads a configuration.
        with_objects: Whether its objects are read, too, not only its index.

    Raises:
        ToolError: It leads elsewhere, or holds what is no file.
    """
    own = _own_folder(root)
    common = own
    if own != root.resolve() / GIT:
        common = _vouched(root, own, list_settings)
    elif (own / "commondir").exists():
        raise _leads_out("commondir")
    _check(own, [*(head.name for head in _heads(own)), *_OWN])
    found = GitFolder(own, common, (), with_objects)
    _check(common, ["config", *found.shared])
    if with_objects:
        _borrows_nothing(common)
    config = common / "config"
    listed = list_settings(config) if config.is_file() else b""
    return replace(found, settings=tuple(_settings(listed)))


def _borrows_nothing(common: Path) -> None:
    """Make sure that all objects are the repository's own.

    Raises:
        ToolError: Some are another's.
    """
    alternates = _lines_of(common / "objects/info/alternates")
    if any(line and not line.startswith(b"#") for line in alternates):
        text = (
            "it borrows objects of another repository (objects/info/alternates), which is not read:"
            " copy them with `git repack -a -d`, then remove that file"
        )
        raise ToolError(text, SkipReason.OUTSIDE_REPOSITORY)


def _own_folder(root: Path) -> Path:
    """Return the folder that ``.git`` is or names."""
    git = root / GIT
    if git.is_symlink():
        raise _leads_out("it is a link")
    if git.is_dir():
        return git.resolve()
    (first, *_) = [*_lines_of(git), b""]
    if not first.startswith(_ELSEWHERE):
        raise ToolError(f"{GIT} is neither a folder nor the name of one", SkipReason.NOT_A_FILE)
    return Path(root, os.fsdecode(first.removeprefix(_ELSEWHERE).strip())).resolve()


def _vouched(root: Path, own: Path, list_settings: ListSettings) -> Path:
    """Return where the repository of a work tree is that knows it.

    Raises:
        ToolError: It does not.
    """
    pointer, common = _lines_of(own / "gitdir"), _lines_of(own / "commondir")
    if pointer and common:
        folder = Path(own, os.fsdecode(common[0])).resolve()
        if (
            folder == own.parent.parent
            and Path(own, os.fsdecode(pointer[0])).resolve() == (root / GIT).resolve()
        ):
            return folder
    elif not common and stat.S_ISREG(_mode(own / "config")):
        values = dict(_pairs(list_settings(own / "config")))
        if "core.worktree" in values and Path(own, values["core.worktree"]).resolve() == root.resolve():
            return own
    raise _leads_out(f"it names {shown(str(own))}, which does not name this work tree")


def _heads(own: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(own.glob("*HEAD"))
    return []


def _check(place: Path, names: list[str]) -> None:
    """Make sure that what Git reads of a folder are files of it.

    Raises:
        ToolError: It is something else, or too much to look at.
    """
    waiting = [str(place / name) for name in names if os.path.lexists(place / name)]
    count = 0
    while waiting:
        path = waiting.pop()
        mode = _mode(path)
        if stat.S_ISDIR(mode):
            entries = _entries(path)
            count += len(entries)
            if count > MAX_ENTRIES:
                text = f"{GIT} holds more than {MAX_ENTRIES:,} files: `git gc` packs them"
                raise ToolError(text, SkipReason.LIMIT_EXCEEDED)
            waiting += (entry.path for entry in entries if not entry.is_file(follow_symlinks=False))
        elif stat.S_ISLNK(mode):
            target = Path(path).resolve()
            if not target.is_relative_to(place) or not target.is_file():
                raise _leads_out(f"{shown(os.path.relpath(path, place))} is a link")
        elif not stat.S_ISREG(mode):
            text = f"{shown(os.path.relpath(path, place))} in {GIT} is not a regular file"
            raise ToolError(text, SkipReason.NOT_A_FILE)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except OSError as error:
        raise ToolError(f"{shown(folder)}: {error.strerror}", SkipReason.UNREADABLE) from error


def _mode(path: str | Path) -> int:
    """Return the mode of a path, of a link itself; 0 if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def _lines_of(file: Path) -> list[bytes]:
    """Return the lines of a small file; none where there is none.

    Raises:
        ToolError: It is something else.
    """
    try:
        content = read_file(file, follow=False)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(f"{shown(file.name)} of {GIT}: {reason}", SkipReason.NOT_A_FILE) from error
    return content[:_MAX_POINTER].splitlines()


def _leads_out(what: str) -> ToolError:
    text = (
        f"{GIT} leads out of the repository ({what}), and nothing is read there: work in a clone of its own"
    )
    return ToolError(text, SkipReason.OUTSIDE_REPOSITORY)


def _pairs(listed: bytes) -> Iterator[tuple[str, str]]:
    """Yield the pairs that ``git config --list -z`` prints; a name without a value means true."""
    for entry in os.fsdecode(listed).split("\0"):
        name, separator, value = entry.partition("\n")
        if name:
            yield name, value if separator else "true"


def _settings(listed: bytes) -> Iterator[tuple[str, str]]:
    for name, value in _pairs(listed):
        of_remote = name.startswith("remote.") and name.endswith(_OF_REMOTES)
        if name in _KEYS or name.startswith(_SECTIONS) or of_remote:
            yield name, value


def _lines(settings: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield settings as a file has them."""
    for name, value in settings:
        section, _, rest = name.partition(".")
        inner, _, key = rest.rpartition(".")
        yield f"[{section} {_quoted(inner)}]\n" if inner else f"[{section}]\n"
        yield f"\t{key} = {_quoted(value)}\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
