"""A revision of a Git repository as a folder of its own: read from Git's objects alone.

The work tree is not touched. ``git ls-tree`` and ``git cat-file`` run no hook, filter or other program, have
no network, and are limited as every program of a lint run is.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown
from policies.manifests.findings import Location
from policies.manifests.sanitize import one_line
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from policies.manifests.words import IN_SENTENCE, plural
from webhook.lint.external_tools import run_tool
from webhook.lint.files import GIT
from webhook.lint.git_folder import GitFolder, find_git_folder
from webhook.lint.gitignore import GITIGNORE
from webhook.lint.tool_limits import MAX_OUTPUT, ToolError

#: Files of a revision that are read; the largest repositories of manifests have a tenth of it.
MAX_FILES: Final = 50_000
#: Bytes that all of them may have; manifests of the largest clusters have a tenth of it.
MAX_BYTES: Final = 2**28
#: Bytes that one of them may have: half of what a program may print, so that each can be read.
MAX_FILE: Final = MAX_OUTPUT // 2
#: What charts and kustomizations are made of, which may be outside of the paths that are compared.
_BESIDE: Final = frozenset(
    {"", ".yaml", ".yml", ".json", ".tpl", ".txt", ".env", ".properties", ".conf", ".toml"}
)
#: Git's settings: no file system monitor, and packs in windows that fit the address space it may have.
_SETTINGS: Final = ("core.fsmonitor=false", "core.packedGitWindowSize=32m", "core.packedGitLimit=512m")
#: The modes of links, of files and of submodules.
_LINK, _FILES, _SUBMODULE = b"120000", (b"100644", b"100755", b"100664"), b"160000"
#: Why a file cannot be made that says nothing about the disk.
_NO_NAME: Final = frozenset(
    {errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}
)


class _Entry(NamedTuple):
    """A file or link of a revision."""

    path: str
    oid: bytes
    size: int
    is_link: bool


@dataclass(slots=True)
class _Listed:
    """The files of a revision."""

    entries: list[_Entry] = field(default_factory=list)  #: Those that can be read.
    submodules: list[str] = field(default_factory=list)  #: The paths of other repositories.
    #: The paths of files that a partial clone does not have.
    missing: list[str] = field(default_factory=list)
    unsafe: int = 0  #: How many have a name that no file of a repository may have.


class GitRepository:
    """The objects of a repository.

    Attributes:
        root: The folder of its work tree.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: GitFolder | None = None

    def find_commit(self, revision: str) -> str | None:
        """Return the name of the commit that a revision stands for; None if there is none.

        Raises:
            UsageError: git cannot be run, or cannot read the repository.
        """
        if not (self.root / GIT).exists() or revision.startswith("-") or "\0" in revision:
            return None
        try:
            found = self._run(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
            )
        except ToolError as error:
            if error.reason is SkipReason.TOOL_FAILED:
                return None
            raise UsageError(f"--from {shown(revision)}: {error}") from error
        return found.decode("ascii", errors="replace").strip()

    def extract(self, commit: str, folder: Path, paths: Iterable[str]) -> list[Skipped]:
        """Write the files of a commit into an empty folder; return what was left out.

        Args:
            commit: The commit's name.
            folder: The folder, which no one else may write to.
            paths: The paths below the root that are read first, with all their files; elsewhere only files
                are read that charts and kustomizations may use. An empty path is the root.

        Raises:
            UsageError: git cannot read the commit.
        """
        try:
            listed = _listed(self._run("ls-tree", "-r", "-z", "-l", "--full-tree", commit))
            chosen, left_out = _within_limits(_in_order(listed.entries, tuple(paths)))
            # What marks the root of a repository: links may not lead out of it.
            (folder / GIT).mkdir()
            for entry in chosen:
                with suppress(OSError):
                    (folder / entry.path).parent.mkdir(parents=True, exist_ok=True)
            links = []
            for batch in _batches(chosen):
                for entry, content in zip(batch, self._contents(batch), strict=True):
                    if entry.is_link:
                        links.append((entry, content))
                    elif not _write(folder / entry.path, content):
                        left_out.append(entry.path)
        except ToolError as error:
            raise UsageError(f"--from {commit}: {error}") from error
        # Last, so that nothing is written through one.
        for entry, target in links:
            with suppress(OSError, ValueError):
                (folder / entry.path).symlink_to(os.fsdecode(target))
        return list(_skipped(commit, listed, left_out))

    def tracked(self, endings: Iterable[str]) -> list[str]:
        """Return the paths below the root of the files in Git's index whose names end in some way.

        Raises:
            ToolError: git cannot be run, or cannot read the index.
        """
        # Else they would count from the working folder.
        root = ("-C", str(self.root), f"--work-tree={self.root}")
        names = [f"*{ending}" for ending in endings]
        # Objects may be another repository's; the index is always its own.
        found = find_git_folder(self.root, _list_settings, with_objects=False)
        with found.opened() as folder:
            listed = _run_git(folder, *root, "ls-files", "-z", "--", *names)
        return [os.fsdecode(name) for name in listed.split(b"\0")[:-1]]

    def _contents(self, batch: list[_Entry]) -> Iterator[bytes]:
        output = self._run("cat-file", "--batch", stdin=b"".join(entry.oid + b"\n" for entry in batch))
        start = 0
        for entry in batch:
            end = output.find(b"\n", start)
            words = output[start:end].split(b" ")
            if end < 0 or len(words) != 3 or words[1] != b"blob" or not words[2].isdigit():
                raise ToolError(f"git has no content of {one_line(entry.path)}: is it a partial clone?")
            size = int(words[2])
            yield output[end + 1 : end + 1 + size]
            start = end + 1 + size + 1

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return the output of git.

        The folder is named, so that none above it is taken, nor one that ``core.worktree`` names.

        Raises:
            ToolError: It cannot be run, exceeds a limit, or fails; or the repository leads elsewhere.
        """
        if self._found is None:
            self._found = find_git_folder(self.root, _list_settings)
        with self._found.opened() as folder:
            return _run_git(folder, *arguments, stdin=stdin)

    @property
    def is_shallow(self) -> bool:
        """Whether it was cloned without its history."""
        return (self.root / GIT / "shallow").is_file()


def _run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    git = shutil.which("git")
    if git is None:
        raise ToolError("git is not on the PATH", SkipReason.TOOL_MISSING)
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    # What a person has installed; a repository names no program for it to run.
    return run_tool([git, f"--git-dir={folder}", *settings, *arguments], stdin=stdin, trusted=True)


def _list_settings(file: Path) -> bytes:
    # Next to no folder, so that Git looks for no repository.
    return _run_git(Path(os.devnull), "config", f"--file={file}", "--no-includes", "--list", "-z")


def _listed(output: bytes) -> _Listed:
    """Return the entries that ``git ls-tree -r -z -l`` prints."""
    listed = _Listed()
    for record in output.split(b"\0"):
        fields, _, name = record.partition(b"\t")
        words = fields.split()
        if len(words) != 4:
            continue
        mode, _, oid, size = words
        path = os.fsdecode(name)
        if mode == _SUBMODULE:
            listed.submodules.append(path)
        elif path.rpartition("/")[2] == GITIGNORE:
            # All that is here is tracked, so nothing is ignored.
            continue
        elif not _is_safe(path):
            listed.unsafe += 1
        elif not size.isdigit():
            listed.missing.append(path)
        elif mode == _LINK or mode in _FILES:
            listed.entries.append(_Entry(path, oid, int(size), mode == _LINK))
    return listed


def _is_safe(path: str) -> bool:
    """Return whether a path stays below the root and is none that Git keeps for itself.

    >>> [_is_safe(path) for path in ("a/b", "/a", "../a", "a/./b", "a//b", ".GIT/config", "")]
    [True, False, False, False, False, False, False]
    """
    return all(part not in ("", ".", "..") and part.lower() != GIT for part in path.split("/"))


def _in_order(entries: list[_Entry], paths: tuple[str, ...]) -> Iterator[_Entry]:
    """Yield the entries below some paths, then those elsewhere that manifests may be made of."""
    below = tuple(f"{path}/" if path else "" for path in paths)
    inside, beside = [], []
    for entry in entries:
        if f"{entry.path}/".startswith(below):
            inside.append(entry)
        elif os.path.splitext(entry.path)[1] in _BESIDE:  # noqa: PTH122  # half the time
            beside.append(entry)
    yield from inside
    yield from beside


def _within_limits(entries: Iterable[_Entry]) -> tuple[list[_Entry], list[str]]:
    """Return the entries that are read, and the paths of the others."""
    chosen: list[_Entry] = []
    left_out: list[str] = []
    total = 0
    for entry in entries:
        if len(chosen) == MAX_FILES or entry.size > MAX_FILE or total + entry.size > MAX_BYTES:
            left_out.append(entry.path)
            continue
        total += entry.size
        chosen.append(entry)
    return chosen, left_out


def _batches(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """Yield entries in parts that git may print at once."""
    batch: list[_Entry] = []
    size = 0
    for entry in entries:
        # With the line before each: the object's name, its type and its size.
        cost = entry.size + len(entry.oid) + 40
        if batch and size + cost > MAX_OUTPUT - 1:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += cost
    if batch:
        yield batch


def _write(path: Path, content: bytes) -> bool:
    """Write a new file; return whether it could be: a name may be too long, or a folder's."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        if error.errno not in _NO_NAME:
            raise
        return False
    return True


def _skipped(commit: str, listed: _Listed, left_out: list[str]) -> Iterator[Skipped]:
    """Yield the parts of a commit that were not read."""
    for path in listed.submodules:
        yield _one_skipped(path, SkipReason.UNSUPPORTED, "submodules of a revision are not read")
    for path in listed.missing:
        yield _one_skipped(
            path, SkipReason.UNREADABLE, "the clone does not have it, and nothing is downloaded"
        )
    for path in left_out[:IN_SENTENCE]:
        yield _one_skipped(path, SkipReason.LIMIT_EXCEEDED, "too large, or too many before it")
    if len(left_out) > IN_SENTENCE:
        files = plural(len(left_out) - IN_SENTENCE, "more file")
        text = f"{files} of the revision left out: too large, or too many"
        yield _one_skipped(commit, SkipReason.LIMIT_EXCEEDED, text)
    if listed.unsafe:
        text = f"{listed.unsafe:,} files of the revision have names that no file of a repository may have"
        yield _one_skipped(commit, SkipReason.UNREADABLE, text)


def _one_skipped(place: str, reason: SkipReason, why: str) -> Skipped:
    return Skipped(location=Location(one_line(place)), kind=SourceKind.FILE, reason=reason, message=why)
