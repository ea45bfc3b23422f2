"""The baseline of a plan: a revision of the repository, a file or folder, or the state of the cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policies.config import spread_policy
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import shown
from policies.manifests.file_name import STDIN, shown_file
from policies.model import revisions
from webhook.cli import lint, targets
from webhook.cli.manifest_options import NO_CONFIG
from webhook.lint import discovery, git_revision, options
from webhook.lint import files as lint_files

if TYPE_CHECKING:
    from policies.manifests.documents import ManifestObject
    from policies.manifests.skipped import Skipped
    from policies.model.cluster_workloads import ClusterWorkloads
    from policies.model.workload import Workload
    from webhook.kube import api_server
    from webhook.lint.plan_sets import LintedSet


#: What ``--from`` says for the workloads that the cluster has now.
CLUSTER: Final = "cluster"
#: The options that name files, which a revision may have as well.
_NAMING_FILES: Final = frozenset({"config_file", "scheduler_config", "policies", "values"})


@dataclass(frozen=True, slots=True)
class GitRevision:
    """A revision that manifests are compared with."""

    repository: git_revision.GitRepository  #: The repository that has all the paths.
    name: str  #: The revision as it was given.
    commit: str  #: The commit that it names.


def parse_from(text: str, paths: tuple[str, ...]) -> GitRevision | str:
    """Return the revision or the path that ``--from`` means.

    Args:
        text: What was given, not ``cluster``.
        paths: The paths that are compared.

    Raises:
        UsageError: It is neither, or both.
    """
    roots = {lint_files.repository_root("." if path == STDIN else path) for path in paths or (".",)}
    repository = git_revision.GitRepository(roots.pop()) if len(roots) == 1 else None
    commit = None if repository is None else repository.find_commit(text)
    is_path = os.path.lexists(text)
    if commit is not None and is_path:
        raise UsageError(
            f"--from {shown(text)}: both a path and a Git revision; write ./{text} for the path,"
            f" {commit[:12]} for the revision"
        )
    if is_path:
        return text
    if commit is not None and repository is not None:
        return GitRevision(repository, text, commit)
    raise UsageError(f"--from {shown(text)}: {_why_not(repository)}")


def _why_not(repository: git_revision.GitRepository | None) -> str:
    if repository is None:
        return "the paths are in different repositories, so a Git revision may not be given"
    where = "neither a file, a folder nor a Git revision"
    if repository.is_shallow:
        return f"{where}; the clone of {repository.root} is shallow: fetch the revision (fetch-depth: 0)"
    return f"{where} of {repository.root}"


def read_revision(
    revision: GitRevision,
    paths: tuple[str, ...],
    given: dict[str, Any],
    read: Callable[[options.LintOptions], LintedSet],
) -> LintedSet:
    """Return the manifests of some paths in a revision.

    Files that options name are read as the revision has them if they are of the repository; those that it
    does not have are left out.

    Args:
        revision: The revision.
        paths: The paths, as they are now.
        given: The options as click gives them.
        read: Reads a set of manifests.

    Raises:
        DocumentError: The options of the revision cannot be used.
        UsageError: The revision cannot be read.
    """
    from webhook import private_folder as webhook_private_folder

    root = revision.repository.root
    below = [_below_root(path, root) for path in paths]
    missing = [path for path in paths if not os.path.lexists(path)]
    # Before the working folder is another one.
    given = {name: _absolute(value) if name in _NAMING_FILES else value for name, value in given.items()}
    with webhook_private_folder.private_folder(webhook_private_folder.REVISION) as folder:
        skipped = revision.repository.extract(revision.commit, folder, below)
        _check_found(missing, root, folder, revision.name)
        with _working_folder(folder, root):
            there = tuple(os.path.relpath(folder / path) for path in below if _exists(folder / path, folder))
            found = read(_options_of_revision(there, given, root, folder))
    found.skipped = [_in_revision(entry, revision.name) for entry in (*found.skipped, *skipped)]
    return found


def _check_found(missing: Iterable[str], root: Path, folder: Path, name: str) -> None:
    """Make sure that each path which is missing now was in the revision.

    Raises:
        DocumentError: Some were not.
    """
    nowhere = [path for path in missing if not _exists(folder / _below_root(path, root), folder)]
    if nowhere:
        raise DocumentError([f"{shown_file(path)}: neither here nor in {name}" for path in nowhere])


def _exists(path: Path, folder: Path) -> bool:
    """Return whether a revision has a path; a link that leads out of it is none."""
    return os.path.lexists(path) and lint_files.is_below(path, folder)


def _absolute(value: Any) -> Any:
    """Return files that options name by their whole paths; what is no file of this machine stays."""
    if isinstance(value, tuple):
        return tuple(map(_absolute, value))
    return (
        value
        if not value or value.startswith(spread_policy.BUILTIN_PREFIX) or "://" in value
        else str(lint_files.absolute(value))
    )


def _in_revision(entry: Skipped, name: str) -> Skipped:
    return replace(entry, message=f"in {name}: {entry.message}")


def _below_root(path: str, root: Path) -> str:
    """Return a path from the root of its repository, empty for the root.

    Raises:
        UsageError: It is standard input.
    """
    if path == STDIN:
        raise UsageError("--from a Git revision may not be combined with standard input")
    found = os.path.relpath(lint_files.absolute(path), root)
    return "" if found == "." else found


@contextlib.contextmanager
def _working_folder(folder: Path, root: Path) -> Iterator[None]:
    """Work in the folder of a revision in place of the working folder, so that names are the same.

    Raises:
        UsageError: It leads out of the revision.
    """
    here = Path.cwd()
    place = folder / here.relative_to(root) if here.is_relative_to(root) else folder
    if not lint_files.is_below(place, folder):
        raise UsageError("the working folder is a link in the revision that leads out of the repository")
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(place):
        yield


def _options_of_revision(
    paths: tuple[str, ...], given: dict[str, Any], root: Path, folder: Path
) -> options.LintOptions:
    """Return the options by which a revision is linted; paths of it count from its working folder."""
    changed = dict(given)
    for name in _NAMING_FILES:
        value = given[name]
        if isinstance(value, tuple):
            changed[name] = tuple(_of_revision(value, root, folder))
        elif value:
            changed[name] = next(_of_revision((value,), root, folder), None)
    if not any(Path(path, discovery.CHART).is_file() or Path(path).name == discovery.CHART for path in paths):
        changed["values"], changed["settings"] = (), ()
    found = None if changed["config_file"] else options.find_config(paths or (".",))
    if found is not None and not lint_files.is_below(Path(found), folder):
        # It is above the revision, where the folders of other users are.
        changed["config_file"] = NO_CONFIG
    if not paths:
        # Nothing is read, but policies may be in force all the same.
        return replace(lint.read_options((".",), changed), paths=())
    return lint.read_options(paths, changed)


def _of_revision(files: Iterable[str], root: Path, folder: Path) -> Iterator[str]:
    """Yield files as a revision has them; those that are not of the repository as they are."""
    for file in files:
        path = Path(file)
        if not path.is_absolute() or not path.is_relative_to(root):
            yield file
        elif _exists(there := folder / path.relative_to(root), folder):
            yield os.path.relpath(there)


#: HTTP status of an object that is not there.
_NOT_FOUND: Final = 404


def find_workloads(
    wanted: Iterable[Workload], workloads: ClusterWorkloads, file: str
) -> list[ManifestObject]:
    """Return the objects of some workloads as a snapshot has them.

    A ReplicaSet is used for a workload that is not in it; of several, the one with most pods is what runs.

    Args:
        wanted: The workloads.
        workloads: Those of the snapshot.
        file: The snapshot.
    """
    by_key = {(workload.namespace, workload.kind.kind, workload.name): workload for workload in wanted}
    found: dict[tuple[str, str, str], Workload] = {}
    for entry in workloads.each():
        if entry is None:
            continue
        key = (entry.workload.namespace, entry.kind, entry.name)
        if key in by_key and (key not in found or _size(entry.workload) > _size(found[key])):
            found[key] = entry.workload
    return [targets.as_manifest(_as(by_key[key], stored), file) for key, stored in found.items()]


def _size(workload: Workload) -> int:
    return workload.replicas or 0


def _as(wanted: Workload, stored: Workload) -> dict[str, Any]:
    if stored.kind == wanted.kind:
        return dict(stored.obj)
    return revisions.owner_object(
        stored.obj, wanted.obj, wanted.kind, namespace=wanted.namespace, name=wanted.name
    )


def fetch_workloads(wanted: Iterable[Workload], api: api_server.ApiServer) -> list[ManifestObject]:
    """Return the workloads of a live cluster; those that it does not have are left out.

    Raises:
        ClusterError: They cannot be read.
    """
    from webhook.kube import api_server

    found = []
    # Several builds may describe one object.
    different = {(workload.kind, workload.namespace, workload.name): workload for workload in wanted}
    for workload in different.values():
        if not workload.name:
            continue
        try:
            found.append(
                targets.fetch(targets.ObjectTarget(workload.kind, workload.name), workload.namespace, api)
            )
        except api_server.ApiError as error:
            if error.status != _NOT_FOUND:
                raise
    return found
