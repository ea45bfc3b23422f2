"""The frame of every JSON request of the API: one object with known fields, and what is wrong with it.

Knows no web framework and no route, so that whatever answers a request can read it.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorList, FieldError, FieldPath, first_of, invalid_value, wrong_type
from policies.model.version import KubernetesVersion
from policies.scheduler.releases import parse_release

#: The rule that a request breaks which lacks what it needs.
REQUEST_INCOMPLETE: Final = "request-incomplete"
#: The rule that a request breaks which names a release that is none, or not known.
VERSION_UNKNOWN: Final = "kubernetes-version-unknown"
#: The rule that a request breaks with a number that is too small or too large.
NUMBER_OUT_OF_RANGE: Final = "number-out-of-range"

_VERSION: Final = FieldPath(("kubernetesVersion",))


class RequestError(Exception):
    """A request that cannot be answered; the sender made a mistake, so HTTP 400."""

    def __init__(self, errors: tuple[FieldError, ...] = (), message: str = "") -> None:
        self.message = message or first_of(errors)
        self.errors = errors
        super().__init__(self.message)

    def __reduce__(self) -> tuple[type[RequestError], tuple[tuple[FieldError, ...], str]]:
        """Say how to make another one: pickle knows the message alone."""
        return RequestError, (self.errors, self.message)


def read_object(body: bytes, form: type, found: ErrorList) -> dict[str, Any]:
    """Return a request as the object that it is; fields that its form does not have are recorded.

    Args:
        body: The request, JSON.
        form: The TypedDict that says which fields it has.
        found: Takes what is wrong.

    Raises:
        RequestError: It is not JSON, or no object.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(message=f"the request is not JSON: {error}") from None
    request = found.mapping(document, FieldPath())
    if found.errors:
        raise RequestError(message=f"the request {found.errors[0]}")
    found.unknown(request, FieldPath(), known=form.__annotations__.keys())
    return request


def read_version(raw: object, found: ErrorList) -> KubernetesVersion | None:
    """Return the release that a request names, or None; one that is not known is recorded."""
    text = found.text(raw, _VERSION)
    if not text:
        return None
    try:
        return parse_release(text)
    except UsageError as error:
        found.add(invalid_value(_VERSION, text, str(error), VERSION_UNKNOWN))
        return None


def read_number(raw: object, path: FieldPath, found: ErrorList, *, least: int = 0, most: int) -> int | None:
    """Return a whole number of a request, or None; anything else is recorded."""
    if raw is None:
        return None
    if type(raw) is not int:
        found.add(wrong_type(path, "an integer", raw))
    elif not least <= raw <= most:
        found.add(invalid_value(path, raw, f"must be from {least} to {most}", NUMBER_OUT_OF_RANGE))
    else:
        return raw
    return None
