"""From the text of ``evenkeel.yaml`` to a LintConfig, with every problem reported at once.

It loads jsonschema, which takes a sixth of the time of a run on one file: only a run with such a file does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policies.config.build_document import build_document
from policies.config.lint_config import KIND, LintConfig
from policies.config.schema import validator
from policies.config.schema_errors import schema_errors
from policies.config.spread_policy import API_VERSION
from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError, UsageError
from policies.manifests.fields import VALUE_INVALID, FieldError, FieldPath, invalid_value
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
    errors = config_errors(document.value)
    if errors:
        raise DocumentError(document.problems(errors))
    return build_document(LintConfig, document.value)


def config_errors(value: object) -> list[FieldError]:
    """Return everything wrong with a LintConfig document."""
    return [*schema_errors(validator(LintConfig), value), *_parsed_errors(value)]


def _parsed_errors(value: object) -> Iterator[FieldError]:
    """Yield the errors that the schema cannot express."""
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
