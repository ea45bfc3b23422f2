"""The frame of every JSON request: one object, read by its type, and everything that is wrong with it.

Knows no web framework and no route, so that whatever answers a request can read it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, TypeVar

import orjson

from policies.config.form import read
from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorList, FieldError, FieldPath, first_of, invalid_value, wrong_type
from policies.manifests.wire import Keywords, Received
from policies.scheduler.releases import parse_release

#: The rule that a request breaks which names a release that is none, or not known.
VERSION_UNKNOWN: Final = "kubernetes-version-unknown"

#: An object of the Kubernetes API, which is looked into where it is placed.
ApiObject: TypeAlias = Annotated[dict[str, Any], Keywords(minProperties=1)]
#: A name of something, which cannot be empty.
Name: TypeAlias = Annotated[str, Keywords(minLength=1)]

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


def read_request(kind: type[_Request], body: bytes) -> _Request:
    """Return a request.

    Args:
        kind: The type of the request.
        body: The request, JSON.

    Raises:
        RequestError: It is not JSON, or has not the form of its type; holds every error.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(message=f"the request is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise RequestError(message=f"the request: {wrong_type(FieldPath(), 'an object', document)}")
    found = ErrorList()
    request = read(kind, document, found)
    if request is None or found.errors:
        raise RequestError(tuple(found.errors))
    return request


def refuse(found: ErrorList) -> None:
    """Refuse a request that has errors.

    Raises:
        RequestError: It has; holds every error.
    """
    if found.errors:
        raise RequestError(tuple(found.errors))


def check_release(text: str | None, found: ErrorList) -> None:
    """Record that the field ``kubernetesVersion`` is no release of Kubernetes, such as ``1.36``."""
    try:
        # An empty text is none, as in Go.
        if text:
            parse_release(text)
    except UsageError as error:
        path = FieldPath(("kubernetesVersion",))
        found.add(invalid_value(path, text, str(error), VERSION_UNKNOWN))
