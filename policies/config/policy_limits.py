"""How much a SpreadPolicy may hold; counted before anything else looks at it.

Checking a policy takes some 20 µs an entry: in the command line, in the server beside its reviews, and in
every replica that it comes to. The CustomResourceDefinition has no such limits: API servers before 1.30 would
refuse every change of a longer policy that they have stored, also of its status, which says what is wrong.
"""

from __future__ import annotations

from typing import Final

from policies.config.schema_errors import VALUE_INVALID, field_path
from policies.manifests.fields import ErrorKind, FieldError, FieldPath

#: Entries of one list or map: more namespaces than people list one by one.
MAX_ITEMS: Final = 1_000
#: Entries of all lists and maps of a document together: to check this many takes 0.2 s where most are wrong.
MAX_ENTRIES: Final = 10_000

#: What is not counted, as nothing looks into it: the API server and Evenkeel write it.
_NOT_COUNTED: Final = frozenset({("status",), ("metadata", "managedFields")})


def limit_errors(document: object) -> list[FieldError]:
    """Return which lists and maps of a document have too many entries; the limits bound its own cost."""
    errors: list[FieldError] = []
    count = 0
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if path in _NOT_COUNTED or not isinstance(value, dict | list):
            continue
        if len(value) > MAX_ITEMS:
            text = f"Too many: {len(value)}: must have at most {MAX_ITEMS} entries"
            errors.append(FieldError(field_path(path), text, ErrorKind.TOO_MANY, VALUE_INVALID))
            continue
        count += len(value)
        if count > MAX_ENTRIES:
            text = f"Too many: must have at most {MAX_ENTRIES} entries in all of its lists and maps"
            errors.append(FieldError(FieldPath(), text, ErrorKind.TOO_MANY, VALUE_INVALID))
            break
        members = value.items() if isinstance(value, dict) else enumerate(value)
        waiting += (((*path, name), entry) for name, entry in members)
    return sorted(errors, key=lambda error: str(error.path))
