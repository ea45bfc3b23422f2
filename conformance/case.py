"""One case of the corpus: a request, and what of kube-scheduler's answer to it is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import orjson

from conformance.feature import FEATURES_BY_ID
from policies.config.form import read
from policies.manifests.fields import VALUE_INVALID, ErrorList, FieldPath, required_value, unsupported_value
from policies.manifests.wire import Keywords, Received, members

#: The version of the form of cases and of ``corpus.json``; a newer one needs a newer program.
FORMAT_VERSION: Final = 1

_Text: TypeAlias = Annotated[str, Keywords(minLength=1)]
_Body: TypeAlias = Annotated[dict[str, Any], Keywords(minProperties=1)]


class Operation(StrEnum):
    """The requested operation: the last part of the route that answers it."""

    SCORE = "score"
    SIMULATE = "simulate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceCase(Received):
    """One case."""

    id: _Text  #: Its name, unique in the corpus.
    features: Annotated[tuple[str, ...], Keywords(minItems=1)]  #: The ids of the features that it is about.
    release: _Text  #: The release of Kubernetes that behaves so.
    source: _Text  #: Where the expected answer comes from.
    operation: Operation  #: The requested operation.
    request: _Body  #: The score or simulate request.
    expected: _Body  #: What of the answer is known; ``comparison`` says how it is compared.

    def check(self, found: ErrorList) -> None:
        """Record features that are not known."""
        for position, feature in enumerate(self.features):
            if feature not in FEATURES_BY_ID:
                path = FieldPath(("features", position))
                found.add(unsupported_value(path, feature, FEATURES_BY_ID, VALUE_INVALID))

    @classmethod
    def parse(cls, line: bytes, found: ErrorList) -> ConformanceCase | None:
        """Read a line of the corpus; None if it is no case, with ``found`` saying why.

        Fields of a later version of the form are passed over.
        """
        before = found.count
        try:
            raw = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            found.add(required_value(FieldPath(), f"must be one JSON object: {error}", VALUE_INVALID))
            return None
        if isinstance(raw, dict):
            raw = {name: raw[name] for name in _NAMES if name in raw}
        case = read(cls, raw, found)
        return case if found.count == before else None


#: The names of the fields of a case.
_NAMES: Final = tuple(member.name for member in members(ConformanceCase))
