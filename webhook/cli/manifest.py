"""Which object of a manifest a command is about, and what is wrong with it by file and line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policies.manifests import documents as manifests_documents
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldError, FieldPath, shown, shown_name
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.words import IN_SENTENCE, listed
from policies.model import snapshot
from webhook.cli import targets
from webhook.cli.terminal import reading_progress
from webhook.lint import files as lint_files

if TYPE_CHECKING:
    from policies.model.workload_kinds import WorkloadKinds


#: Bytes from which reading a file is shown: packed, they may take half a second.
LONG_FILE: Final = 2**18

_NAMESPACE = FieldPath(("metadata", "namespace"))


def read_objects(files: tuple[str, ...]) -> list[manifests_documents.ManifestObject]:
    """Return the Kubernetes objects of files, of one that is named twice once.

    Raises:
        DocumentError: Files that cannot be opened, are neither YAML nor JSON or hold no object; has a line
            for each problem.
    """
    found: list[manifests_documents.ManifestObject] = []
    problems: list[str] = []
    for file in _with_files_of_folders(files):
        try:
            documents = manifests_documents.load(read_content(file), shown_file(file))
        except OSError as error:
            problems.append(f"{shown_file(file)}: {_why_unopened(file, error)}")
        except DocumentError as error:
            problems += error.problems
        else:
            entries = [entry for document in documents for entry in manifests_documents.objects(document)]
            found += entries
            broken = [
                line
                for document in documents
                for line in document.problems(manifests_documents.list_errors(document, ""))
            ]
            problems += broken
            if not entries and not broken:
                problems.append(f"{shown_file(file)}: holds no Kubernetes object")
    if problems:
        raise DocumentError(problems)
    return found


def _why_unopened(file: str, error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return f"Is a directory without {listed(sorted(lint_files.SUFFIXES))} files"
    return lint_files.why_unread(file, error)


def _with_files_of_folders(files: tuple[str, ...]) -> Iterator[str]:
    """Yield files, each once, and in place of a folder its own manifests, without those of folders in it.

    A folder without any is yielded itself: it cannot be read.
    """
    for file in dict.fromkeys(files):
        path = Path(file)
        inside = (
            sorted(each for each in path.glob("*") if each.suffix in lint_files.SUFFIXES)
            if path.is_dir()
            else []
        )
        yield from map(str, inside) if inside else (file,)


def snapshot_progress(file: str) -> AbstractContextManager[Callable[[str], None]]:
    """Show how far reading a snapshot is, unless that takes no time; of a pipe it is unknown."""
    path = Path(file)
    long = not path.is_file() or path.stat().st_size >= LONG_FILE
    return reading_progress(shown_file(file), long=long)


def read_content(file: str) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: It cannot be opened.
    """
    return _standard_input() if file == STDIN else Path(file).read_bytes()


@cache
def _standard_input() -> bytes:
    """Return standard input, which can be read only once, also to a second caller."""
    return sys.stdin.buffer.read()


def choose(
    found: list[manifests_documents.ManifestObject],
    kinds: WorkloadKinds,
    *,
    files: tuple[str, ...],
    name: str,
    namespace: str,
) -> manifests_documents.ManifestObject:
    """Return the one object that is to be placed.

    Args:
        found: The objects of the files.
        kinds: The kinds that make pods.
        files: The files.
        name: Which of them, ``KIND/NAME``, ``KIND.GROUP/NAME`` or ``NAME``; empty for the only one.
        namespace: The namespace that it must be in if it names one; empty for any.

    Raises:
        DocumentError: There is none, or more than one.
    """
    shown_files = ", ".join(shown_file(file) for file in dict.fromkeys(files))
    several = len(set(files)) > 1
    holds = f"{shown_files}: hold{'' if several else 's'}"
    making = [entry for entry in found if _makes_pods(entry, kinds)]
    chosen = [entry for entry in making if _is_named(entry, name, kinds)] if name else making
    if len(chosen) == 1:
        _check_namespace(chosen[0], namespace)
        return chosen[0]
    if not making:
        problem = f"no Pod and no workload that makes some, but {_listed(found, several=several)}"
    elif not chosen:
        problem = f"no {shown(name)}, but {_listed(making, several=several)}"
    else:
        problem = f"{len(chosen)} to choose from, say which as KIND/NAME: {_listed(chosen, several=several)}"
    raise DocumentError([f"{holds} {problem}"])


def choose_all(
    found: list[manifests_documents.ManifestObject],
    kinds: WorkloadKinds,
    *,
    files: tuple[str, ...],
    name: str,
    namespace: str,
) -> list[manifests_documents.ManifestObject]:
    """Return every object that makes pods, or the one of a name: see ``choose``.

    Raises:
        DocumentError: There is none.
    """
    making = [entry for entry in found if _makes_pods(entry, kinds)]
    if name or not making:
        return [choose(found, kinds, files=files, name=name, namespace=namespace)]
    for entry in making:
        _check_namespace(entry, namespace)
    return making


def _makes_pods(entry: manifests_documents.ManifestObject, kinds: WorkloadKinds) -> bool:
    version, kind = snapshot.kind_of(entry.value)
    return kinds.get((version.rpartition("/")[0], kind)) is not None


def _is_named(entry: manifests_documents.ManifestObject, wanted: str, kinds: WorkloadKinds) -> bool:
    version, name = snapshot.kind_of(entry.value)
    kind = kinds.get((version.rpartition("/")[0], name))
    typed, _, wanted_name = wanted.rpartition("/")
    return _name(entry) == wanted_name and (
        not typed or (kind is not None and typed.lower() in targets.spellings(kind))
    )


def _name(entry: manifests_documents.ManifestObject) -> str:
    metadata = entry.value.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    name = names.get("name") or names.get("generateName")
    return name if isinstance(name, str) else ""


def _listed(entries: list[manifests_documents.ManifestObject], *, several: bool) -> str:
    """Return the titles of objects with their lines, and with their files if there are several."""
    return listed((_title(entry, with_file=several) for entry in entries), IN_SENTENCE)


def _title(entry: manifests_documents.ManifestObject, *, with_file: bool) -> str:
    at, kind, name = entry.location(FieldPath()), snapshot.kind_of(entry.value)[1], _name(entry)
    title = f"{shown_name(kind) or 'an object without kind'}{f'/{shown_name(name)}' if name else ''}"
    return f"{title} ({at})" if with_file else f"{title} (line {at.line})"


def _check_namespace(entry: manifests_documents.ManifestObject, namespace: str) -> None:
    metadata = entry.value.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, dict) else None
    if namespace and own and own != namespace:
        text = f"is {shown(own)}, but --namespace says {shown(namespace)}"
        raise DocumentError([f"{entry.location(_NAMESPACE)}: {_NAMESPACE}: {text}"])


def told(
    entry: manifests_documents.ManifestObject, errors: list[FieldError] | tuple[FieldError, ...]
) -> Iterator[str]:
    """Yield a line for each error of an object, in the order of its lines."""
    for error in sorted(errors, key=lambda error: entry.location(error.path).line):
        yield f"{entry.location(error.path)}: {error}"
