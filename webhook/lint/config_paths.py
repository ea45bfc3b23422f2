"""The files that an evenkeel.yaml found in a repository may name: those of the same repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from policies.config.lint_config import LintConfig
from policies.config.spread_policy import BUILTIN_PREFIX
from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError
from policies.manifests.fields import VALUE_INVALID, ErrorKind, FieldError, FieldPath
from policies.manifests.file_name import shown_file
from webhook.lint.files import is_below, repository_root


def check_paths(config: LintConfig, content: bytes, file: str) -> None:
    """Make sure that a document names files of its own repository only.

    Args:
        config: The document.
        content: Its text.
        file: Its file, which the user did not name.

    Raises:
        DocumentError: It names others.
    """
    folder = Path(file).absolute().parent
    root = repository_root(folder, without=folder)
    errors = []
    for field, path, may_be_folder in _paths(config):
        problem = _problem(folder / path, root, may_be_folder=may_be_folder)
        if problem:
            errors.append(FieldError(field, problem, ErrorKind.INVALID, VALUE_INVALID))
    if errors:
        (document,) = load_strictly(content, shown_file(file))
        raise DocumentError(document.problems(errors))


def _problem(path: Path, root: Path, *, may_be_folder: bool) -> str:
    if not is_below(path, root):
        return "must be in this repository; name this file with --config to allow others"
    try:
        if not path.exists() or path.is_file() or (may_be_folder and path.is_dir()):
            return ""
    except (OSError, ValueError):
        # It cannot be opened, which is reported where that is tried.
        return ""
    return "must be a regular file"


def _paths(config: LintConfig) -> Iterator[tuple[FieldPath, str, bool]]:
    """Yield every path of a document, with its field and whether it may lead to a folder."""
    for number, path in enumerate(config.paths):
        yield FieldPath(("paths", number)), path, True
    for number, path in enumerate(config.policies):
        if not path.startswith(BUILTIN_PREFIX):
            yield FieldPath(("policies", number)), path, False
    single = {
        "schedulerConfig": config.scheduler_config,
        "cluster": config.cluster,
        "baseline": config.baseline,
    }
    for name, file in single.items():
        if file is not None:
            yield FieldPath((name,)), file, False
    for number, chart in enumerate(config.charts):
        place = FieldPath(("charts", number))
        yield place.child("path"), chart.path, True
        for position, release in enumerate(chart.releases):
            for index, values in enumerate(release.values):
                if "://" not in values:
                    field = place.child("releases").index(position).child("values").index(index)
                    yield field, values, False
