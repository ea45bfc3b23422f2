"""The frame of every JSON request: one object, read by its type, and everything that is wrong with it.

Of answers as text it has how a request says what they are shown on, and what keeps them from steering that.

Knows no web framework and no route, so that whatever answers a request can read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
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
#: The media type of an answer for people.
TEXT: Final = "text/plain; charset=utf-8"
#: The header that has for programs what the text has for users.
FEASIBLE_NODES: Final = "Evenkeel-Feasible-Nodes"
#: The same of a simulation: how many pods got no node.
PENDING_PODS: Final = "Evenkeel-Pending-Pods"
#: Columns of a text where the request does not say. What terminals have had for long.
DEFAULT_COLUMNS: Final = 80
#: The most columns that a request may have for a text.
MOST_COLUMNS: Final = 1000

#: The rule that a request breaks whose query says what cannot be.
QUERY_INVALID: Final = "query-invalid"

#: Whatever steers a terminal, but for the ends of lines and colors.
_STEERING: Final = re.compile(r"\x1b\[[0-9;]*m|[^\n\x20-\x7e\xa0-\U0010ffff]")


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


@dataclass(frozen=True, slots=True)
class Screen:
    """The terminal, or another medium, that a text is shown on."""

    #: Columns of a text.
    columns: Annotated[int, Keywords(minimum=1, maximum=MOST_COLUMNS)] = DEFAULT_COLUMNS
    color: bool = False  #: Whether a text has a terminal's colors.
    #: Whether all nodes are named, however many: in a text, and of an explanation in JSON.
    wide: bool = False


def read_screen(query: Mapping[str, str]) -> Screen:
    """Read the query of a request.

    Raises:
        RequestError: A number of columns that is none, or too large.

    >>> read_screen({"columns": "120", "color": "true"})
    Screen(columns=120, color=True, wide=False)
    """
    columns = query.get("columns", str(DEFAULT_COLUMNS))
    if not (columns.isascii() and columns.isdecimal() and 0 < int(columns[:9]) <= MOST_COLUMNS):
        text = f"must be a number from 1 to {MOST_COLUMNS}"
        raise RequestError((invalid_value(FieldPath(("columns",)), columns, text, QUERY_INVALID),))
    return Screen(int(columns), color=query.get("color") == "true", wide=is_wide(query))


def is_wide(query: Mapping[str, str]) -> bool:
    """Return whether a request wants everything, however much it is."""
    return query.get("wide") == "true"


def harmless(text: str) -> str:
    r"""Return a text from elsewhere without what steers a terminal; colors may stay.

    >>> harmless("\x1b[31mno\x1b[0m\x1b]0;title\x07\n")
    '\x1b[31mno\x1b[0m]0;title\n'
    """
    return _STEERING.sub(lambda match: match[0] if match[0].endswith("m") else "", text)
