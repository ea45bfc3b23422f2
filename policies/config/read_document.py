"""Read a document of Evenkeel as a value of its type, with everything that is wrong with it."""

from __future__ import annotations

from typing import TypeVar

from policies.config.spread_policy import API_VERSION
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    required_value,
    unsupported_value,
    wrong_type,
)
from policies.manifests.wire import DocumentFields
from policies.manifests.wire_reader import read

_T = TypeVar("_T", bound=DocumentFields)


def read_document(form: type[_T], kind: str, value: object, found: ErrorList) -> _T:
    """Return a document; with errors it is only good to look for more of them.

    Args:
        form: The type of its other fields.
        kind: Its kind.
        value: What the file holds.
        found: Takes what is wrong with it, in the order of the paths.
    """
    root, errors = FieldPath(), ErrorList()
    given = value if isinstance(value, dict) else {}
    head = {"apiVersion": API_VERSION, "kind": kind}
    for name, expected in head.items():
        if name not in given:
            errors.add(required_value(root.child(name), "", FIELD_MISSING))
        elif given[name] != expected:
            errors.add(unsupported_value(root.child(name), given[name], [expected], VALUE_INVALID))
    others = {name: entry for name, entry in given.items() if name not in head}
    document = read(form, others, root, errors)
    if given is not value:
        found.add(wrong_type(root, "an object", value))
    else:
        found.extend(sorted(errors.errors, key=lambda error: [str(each) for each in error.path.segments]))
    return document
