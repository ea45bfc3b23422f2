"""From the text of ``evenkeel.yaml`` to a LintConfig, with every problem reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policies.config.form import read
from policies.config.lint_config import KIND, LintConfig
from policies.config.spread_policy import API_VERSION
from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import VALUE_INVALID, ErrorList, FieldError, FieldPath, invalid_value
from policies.model.workload_kinds import parse_workload_kind
from policies.rules.base import all_rules, unknown_rule
from policies.scheduler.releases import parse_release


def load_lint_config(content: bytes, file: str) -> LintConfig:
    """Read a LintConfig document.

    Raises:
        DocumentError: It is none; holds every problem as ``file:line: field: problem``.
    """
    documents = load_strictly(content, file)
    if len(documents) != 1:
        raise DocumentError([f"{file}: must hold one {KIND} document, got {len(documents)}"])
    (document,) = documents
    if isinstance(document.value, dict) and not {"apiVersion", "kind"} & document.value.keys():
        text = (
            f"apiVersion {API_VERSION} and kind {KIND} are required; --config none if the file is no {KIND}"
        )
        raise DocumentError([f"{file}:1: {text}"])
    found = ErrorList()
    config = read(LintConfig, document.value, found)
    found.extend(_parsed_errors(document.value))
    if config is None or found.errors:
        raise DocumentError(document.problems(found.errors))
    return config


def _parsed_errors(value: object) -> Iterator[FieldError]:
    """Yield the errors that no type tells."""
    raw = value if isinstance(value, dict) else {}
    parsers: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("kubernetesVersion", parse_release),
        ("workloadKinds", parse_workload_kind),
    )
    for name, parse in parsers:
        for path, text in _texts(raw, name):
            try:
                parse(text)
            except UsageError as error:
                yield invalid_value(path, text, str(error), VALUE_INVALID)
    for name in ("select", "ignore", "enable"):
        for path, text in _texts(raw, name):
            if text not in all_rules():
                yield invalid_value(path, text, unknown_rule(text), VALUE_INVALID)
    yield from _path_errors(raw)


def _path_errors(raw: Mapping[str, Any]) -> Iterator[FieldError]:
    for name in ("paths", "exclude"):
        for path, text in _texts(raw, name):
            if not text or "\0" in text:
                yield invalid_value(path, text, "must be a path", VALUE_INVALID)


def _texts(value: Mapping[str, Any], name: str) -> Iterator[tuple[FieldPath, str]]:
    """Yield the texts of a field, one or a list of them; the schema reports what is none."""
    path, raw = FieldPath((name,)), value.get(name)
    if isinstance(raw, str):
        yield path, raw
    for position, entry in enumerate(raw if isinstance(raw, list) else ()):
        if isinstance(entry, str):
            yield path.index(position), entry
