"""The options of a lint run: of the command line, or else of the LintConfig above the files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from policies.config.lint_config import (
    FILE_NAME,
    KIND,
    ChartRelease,
    ChartReleases,
    FailOn,
    LintConfig,
    Rendering,
)
from policies.config.spread_policy import BUILTIN_PREFIX
from policies.config.spread_policy import KIND as POLICY
from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import VALUE_INVALID, ErrorKind, FieldError, FieldPath, shown
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.skipped import FailOnSkipped
from policies.model.version import KNOWN_VERSION
from policies.rules.base import RuleTarget, all_rules, unknown_rule
from policies.scheduler.releases import parse_release
from webhook.lint.discovery import CHART
from webhook.lint.files import absolute, is_below, read_text, repository_root, shown_path
from webhook.lint.inputs import Tools
from webhook.lint.tool_limits import Charts, Release


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


#: How similar a kind must be to be meant for a LintConfig (``difflib``): all but one letter or two.
_SAME_KIND = 0.8
#: The versions and the kinds of the documents of a file, YAML or JSON, as far as a glance shows.
_VERSION = re.compile(rb"^[ \t{]*[\"']?apiVersion[\"']?[ \t]*:", re.MULTILINE)
_OWN_VERSION = re.compile(rb"^[ \t{]*[\"']?apiVersion[\"']?[ \t]*:[ \t]*[\"']?evenkeel\.dev/", re.MULTILINE)
_KIND = re.compile(rb"^[ \t{]*[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """The options of a run."""

    paths: tuple[str, ...]  #: Files, folders or ``-``.
    config: LintConfig  #: The other options, with paths that count from the working folder.
    #: Patterns of what is left out, and the folder they count from.
    exclude: tuple[Path, tuple[str, ...]] | None = None
    #: How the charts are installed that the command line names; None if unknown.
    release: Release | None = None

    @property
    def tools(self) -> Tools:
        """Which programs may be run, and how charts are rendered."""
        charts = Charts(
            helm=self.config.helm,
            version=parse_release(self.config.kubernetes_version or str(KNOWN_VERSION)),
            given=self.release,
            releases={
                absolute(chart.path): tuple(map(_release, chart.releases)) for chart in self.config.charts
            },
        )
        return Tools(charts=charts, kustomize=self.config.kustomize)


def lint_options(paths: tuple[str, ...], file: str | None) -> LintOptions:
    """Return the options of a run before those of the command line count.

    Args:
        paths: What the command line names.
        file: The LintConfig file that it names; None to look for one, empty for none.

    Raises:
        DocumentError: The file cannot be used.
        UsageError: The paths lie below different ones.
    """
    name = find_config(paths) if file is None else file
    if not name:
        return LintOptions(paths=paths or (".",), config=LintConfig())
    from policies.config import lint_config_loader

    content = read_text(name, named=True).content
    config = lint_config_loader.load_lint_config(content, shown_file(name))
    folder = Path(name).parent
    if file is None:
        # The author of the repository wrote this file, and may not name others of this machine.
        check_paths(config, content, name)
    own = tuple(_from(folder, path) for path in config.paths) or (shown_path(folder),)
    config = replace(
        config,
        policies=tuple(
            path if path.startswith(BUILTIN_PREFIX) else _from(folder, path) for path in config.policies
        ),
        scheduler_config=_maybe_from(folder, config.scheduler_config),
        cluster=_maybe_from(folder, config.cluster),
        baseline=_maybe_from(folder, config.baseline),
        charts=tuple(_charts_from(folder, config, name)),
    )
    return LintOptions(paths=paths or own, config=config, exclude=(absolute(folder), config.exclude))


def release_of(paths: tuple[str, ...], values: tuple[str, ...], settings: tuple[str, ...]) -> Release | None:
    """Return how the charts are installed that the command line names, None if unknown.

    Raises:
        UsageError: It names no chart, or what is no value.
        DocumentError: A file with values cannot be opened.
    """
    if not values and not settings:
        return None
    if not any(Path(path, CHART).is_file() or Path(path).name == CHART for path in paths):
        raise UsageError(f"--values and --set may only be set when a PATH is a chart (a folder with {CHART})")
    for setting in settings:
        if "=" not in setting:
            raise UsageError(f"--set: Invalid value: {shown(setting)}: must be KEY=VALUE")
    for file in values:
        read_text(file, named=True)
    return Release(values=values, settings=tuple(f"--set={setting}" for setting in settings))


def _release(release: ChartRelease) -> Release:
    return Release(
        name=release.name,
        namespace=release.namespace or "",
        values=release.values,
        settings=tuple(f"--set-json={key}={json.dumps(value)}" for key, value in release.set.items()),
        api_versions=release.api_versions,
    )


def _charts_from(folder: Path, config: LintConfig, file: str) -> Iterator[ChartReleases]:
    """Yield the charts of a document with paths from the working folder.

    Raises:
        DocumentError: Some are no charts.
    """
    problems = []
    for position, chart in enumerate(config.charts):
        path = _from(folder, chart.path)
        if not Path(path, CHART).is_file():
            problems.append(f"{shown_file(file)}: charts[{position}].path: no {CHART} in {shown_file(path)}")
        releases = (
            replace(release, values=tuple(_values_from(folder, each) for each in release.values))
            for release in chart.releases
        )
        yield replace(chart, path=path, releases=tuple(releases))
    if problems:
        raise DocumentError(problems)


def find_config(paths: tuple[str, ...]) -> str | None:
    """Return the nearest ``evenkeel.yaml`` in or above what is to be read, None if there is none.

    Raises:
        UsageError: The paths lie below different ones.
    """
    found: dict[str | None, str] = {}
    for path in paths or (".",):
        found.setdefault(_above("." if path == STDIN else path), path)
    if len(found) > 1:
        each = ", ".join(f"{path}: {config or 'none'}" for config, path in found.items())
        raise UsageError(f"the paths have different {FILE_NAME} files ({each}); choose one with --config")
    return next(iter(found))


def check_rules(option: str, ids: Iterable[str]) -> None:
    """Make sure that rules exist.

    Args:
        option: Where the ids were given, for the message.
        ids: The ids.

    Raises:
        UsageError: Any does not; names every one, with the ids that are close to it.
    """
    problems = [f"{option}: {unknown_rule(rule)}" for rule in ids if rule not in all_rules()]
    if problems:
        raise UsageError("\n".join(problems))


def check_all_rules(config: LintConfig) -> None:
    """Make sure that the rules which options name exist, and some are left to run.

    Those that a document names are known to exist from reading it.

    Raises:
        UsageError: They do not, or none is.
    """
    problems: list[str] = []
    options = (("--select", config.select), ("--ignore", config.ignore), ("--enable", config.enable))
    for option, ids in options:
        try:
            check_rules(option, ids)
        except UsageError as error:
            problems.append(str(error))
    if config.select and not problems:
        left = set(config.select) - set(config.ignore)
        if not left:
            problems.append("every rule that is selected is ignored too: none would run")
        elif all(all_rules()[rule].target is RuleTarget.NEXT_POD for rule in left):
            problems.append(f"{', '.join(sorted(left))} runs at admission only: no rule would run here")
    if problems:
        raise UsageError("\n".join(problems))


def with_given(
    config: LintConfig,
    *,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    enable: tuple[str, ...] = (),
    policies: tuple[str, ...] = (),
    workload_kinds: tuple[str, ...] = (),
    fail_on: str | None = None,
    fail_on_skipped: str | None = None,
    **texts: str | None,
) -> LintConfig:
    """Return a configuration with what the command line says in place of what the document says."""
    lists = LintConfig(
        select=select or config.select,
        ignore=ignore or config.ignore,
        enable=enable or config.enable,
        policies=policies or config.policies,
        workload_kinds=workload_kinds or config.workload_kinds,
    )
    given: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    given |= {name: Rendering(given[name]) for name in ("helm", "kustomize") if name in given}
    return replace(
        config,
        select=lists.select,
        ignore=lists.ignore,
        enable=lists.enable,
        policies=lists.policies,
        workload_kinds=lists.workload_kinds,
        fail_on=config.fail_on if fail_on is None else FailOn(fail_on),
        fail_on_skipped=config.fail_on_skipped if fail_on_skipped is None else FailOnSkipped(fail_on_skipped),
        **given,
    )


def _above(path: str) -> str | None:
    """Return the nearest document in a folder or above it, as a path from the working folder."""
    start = absolute(path)
    try:
        folder = start if start.is_dir() else start.parent
        for parent in (folder, *folder.parents):
            if (parent / FILE_NAME).is_file() and _is_ours(parent / FILE_NAME):
                return shown_path(parent / FILE_NAME)
    except (OSError, ValueError):
        return None
    return None


def _is_ours(file: Path) -> bool:
    """Return whether a file of that name is a LintConfig, and no manifest of Evenkeel itself."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DocumentError([f"{file}: {error.strerror}"]) from error
    kinds = {kind.decode(errors="replace").lower() for kind in _KIND.findall(content)}
    if not kinds or (b"{{" not in content and not _VERSION.search(content)):
        # No manifest either, nor a template of one: its errors are reported when it is read.
        return True
    if _OWN_VERSION.search(content) and POLICY.lower() not in kinds:
        return True
    return bool(get_close_matches(KIND.lower(), kinds, n=1, cutoff=_SAME_KIND))


def _from(folder: Path, path: str) -> str:
    return shown_path(folder / path)


def _values_from(folder: Path, file: str) -> str:
    # An address is never opened, and is reported as it was given.
    return file if "://" in file else _from(folder, file)


def _maybe_from(folder: Path, path: str | None) -> str | None:
    return None if path is None else _from(folder, path)
