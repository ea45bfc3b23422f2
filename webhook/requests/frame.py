"""The frame of every JSON request: one object, read by its type, and everything that is wrong with it.

Knows no web framework and no route, so that whatever answers a request can read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import orjson

from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorList, FieldError, FieldPath, first_of, invalid_value, wrong_type
from policies.manifests.wire import Keywords, Received
from policies.manifests.wire_reader import Checked, Needed, read
from policies.scheduler.releases import parse_release

#: The rule that a request breaks which names a release that is none, or not known.
VERSION_UNKNOWN: Final = "kubernetes-version-unknown"

#: An object of the Kubernetes API, which is looked into where it is placed.
ApiObject: TypeAlias = Annotated[dict[str, Any], Keywords(minProperties=1), Needed("")]
#: A name of something, which cannot be empty.
Name: TypeAlias = Annotated[str, Keywords(minLength=1), Needed("")]

_Request = TypeVar("_Request", bound=Received)


class RequestError(Exception):
    """A request that cannot be answered; the sender made a mistake, so HTTP 400."""

    def __init__(self, errors: tuple[FieldError, ...] = (), message: str = "") -> None:
        self.message = message or first_of(errors)
        self.errors = errors
        super().__init__(self.message)

    def __reduce__(self) -> tuple[type[RequestError], tuple[tuple[FieldError, ...], str]]:
        """Say how to make another one: pickle knows the message alone."""
        return RequestError, (self.errors, self.message)


def read_request(kind: type[_Request], body: bytes, found: ErrorList) -> _Request:
    """Return a request; with errors it is only good to look for more of them.

    Args:
        kind: The type of the request.
        body: The request, JSON.
        found: Takes what is wrong with its fields.

    Raises:
        RequestError: It is not JSON, or no object.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(message=f"the request is not JSON: {error}") from None
    if not isinstance(document, dict | None):
        raise RequestError(message=f"the request: {wrong_type(FieldPath(), 'an object', document)}")
    return read(kind, document, FieldPath(), found)


def objects_of(
    listed: list[dict[str, Any]], path: FieldPath, found: ErrorList
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a list with their paths, except for entries that were found to be none."""
    no_objects = {error.path for error in found.errors}
    for position, obj in enumerate(listed):
        where = path.index(position)
        if not no_objects or where not in no_objects:
            yield where, obj


def refuse(found: ErrorList) -> None:
    """Refuse a request that has errors.

    Raises:
        RequestError: It has; holds every error.
    """
    if found.errors:
        raise RequestError(tuple(found.errors))


def _check_release(text: str, path: FieldPath, found: ErrorList) -> None:
    try:
        parse_release(text)
    except UsageError as error:
        # An empty text is none, as in Go.
        if text:
            found.add(invalid_value(path, text, str(error), VERSION_UNKNOWN))


#: A release of Kubernetes, such as ``1.36``.
Release: TypeAlias = Annotated[str, Checked(_check_release)]
