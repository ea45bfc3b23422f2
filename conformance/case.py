"""One case of the corpus: a request, and what of kube-scheduler's answer to it is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from conformance.feature import FEATURES_BY_ID
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    required_value,
    unsupported_value,
    wrong_type,
)

#: The version of the form of cases and of ``corpus.json``; a newer one needs a newer program.
FORMAT_VERSION: Final = 1

_ROOT: Final = FieldPath()
_CASE_INVALID: Final = "case-invalid"
#: The fields of a case that are texts, and those that are objects.
_TEXTS: Final = ("id", "release", "source")
_BODIES: Final = ("request", "expected")


class Operation(StrEnum):
    """The requested operation: the last part of the route that answers it."""

    SCORE = "score"
    SIMULATE = "simulate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceCase:
    """One case.

    Attributes:
        id: Its name, unique in the corpus.
        features: The ids of the features that it is about.
        release: The release of Kubernetes that behaves so.
        source: Where the expected answer comes from.
        operation: The requested operation.
        request: The score or simulate request.
        expected: What of the answer is known; ``comparison`` says how it is compared.
    """

    id: str
    features: frozenset[str]
    release: str
    source: str
    operation: Operation
    request: dict[str, Any]
    expected: dict[str, Any]

    @classmethod
    def parse(cls, line: bytes, found: ErrorList) -> ConformanceCase | None:
        """Read a line of the corpus; None if it is no case, with ``found`` saying why."""
        before = found.count
        try:
            raw = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            found.add(required_value(_ROOT, f"must be one JSON object: {error}", _CASE_INVALID))
            return None
        case = found.mapping(raw, _ROOT)
        if found.count == before:
            found.extend(_errors(case))
        texts: dict[str, Any] = {name: found.text(case.get(name), _ROOT.child(name)) for name in _TEXTS}
        bodies: dict[str, Any] = {name: found.mapping(case.get(name), _ROOT.child(name)) for name in _BODIES}
        if found.count > before:
            return None
        return cls(
            features=frozenset(case["features"]), operation=Operation(case["operation"]), **texts, **bodies
        )


def _errors(case: dict[str, Any]) -> Iterator[FieldError]:
    """Yield the fields that a case lacks, and the features and operations that do not exist."""
    for name in (*_TEXTS, *_BODIES, "features", "operation"):
        if not case.get(name):
            yield required_value(_ROOT.child(name), "every case has it", _CASE_INVALID)
    features = case.get("features") or []
    if not isinstance(features, list):
        yield wrong_type(_ROOT.child("features"), "a list", features)
        return
    for position, feature in enumerate(features):
        if not isinstance(feature, str) or feature not in FEATURES_BY_ID:
            path = _ROOT.child("features").index(position)
            yield unsupported_value(path, feature, FEATURES_BY_ID, _CASE_INVALID)
    operation = case.get("operation")
    if operation and operation not in list(Operation):
        yield unsupported_value(_ROOT.child("operation"), operation, list(Operation), _CASE_INVALID)
