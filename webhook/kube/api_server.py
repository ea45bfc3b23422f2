"""The requests of Evenkeel to an API server, and their errors: no client library is known here.

``client.py`` connects; everything else that talks to a cluster takes an ``ApiServer`` and needs no more.

ClusterError                   the cluster cannot be reached              → exit 3
├── KubeconfigError            no kubeconfig, or one that cannot be used
├── UnreachableError           no answer, or not in time, or not to be trusted
└── ApiError                   the API server answers with an error status
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any

from policies.manifests.errors import CannotRunError, UsageError
from policies.manifests.fields import member, text_member
from policies.manifests.json_bytes import JsonError, read_json
from policies.model.version import KubernetesVersion
from policies.scheduler.releases import OLDEST_VERSION, unknown_release

#: Seconds for one answer that is not a stream. The API server itself gives most requests 60 s.
TIMEOUT_S = 30.0
#: Bytes of a single object after which it is not read, and those of it that name it. etcd holds objects of at
#: most 1.5 MiB, whose characters may take six bytes each in JSON.
LARGEST_OBJECT, OBJECT_HEAD = 2**24, 2**16
#: Bytes of a watch that are read at once, if there are as many, and of a line that is taken to have no end.
_BLOCK, _ENDLESS = 2**16, 2**28
#: Characters of an answer that is no Status which are repeated.
_TOLD_LENGTH = 200


class ClusterError(CannotRunError):
    """The cluster cannot be reached; the program ends with exit code 3."""


class KubeconfigError(ClusterError):
    """There is no description of a cluster, or one that cannot be used."""


class UnreachableError(ClusterError):
    """There is no answer, or not in time, or not from the server that is meant."""


class ApiError(ClusterError):
    """The API server refuses.

    Attributes:
        status: The HTTP status, or the code of an error in a watch.
        reason: The machine-readable reason of the Status object (``NotFound``, ``Conflict``, …), or empty.
        retry_after_s: Seconds that the API server wants clients to wait; None if unknown.
    """

    def __init__(
        self, status: int, message: str, *, reason: str = "", retry_after_s: float | None = None
    ) -> None:
        self.status = status
        self.reason = reason
        self.retry_after_s = retry_after_s
        super().__init__(message)

    @property
    def not_found(self) -> bool:
        """Whether the object, or its kind, is not there."""
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def conflict(self) -> bool:
        """Whether another writer was faster."""
        return self.status == HTTPStatus.CONFLICT

    @property
    def forbidden(self) -> bool:
        """Whether the caller may not do this."""
        return self.status == HTTPStatus.FORBIDDEN

    @property
    def gone(self) -> bool:
        """Whether the place to continue from is too old."""
        return self.status == HTTPStatus.GONE


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, whatever its status."""

    status: int  #: The HTTP status.
    #: As it came; never shown by ``repr``, for it may hold a token or a private key.
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)  #: By their names in lower case.

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def date(self) -> datetime | None:
        """The date of the answer by the server's clock, to the second; None without a valid header.

        >>> Answer(200, b"", {"date": "Sun, 22 Nov 2026 08:00:00 GMT"}).date
        datetime.datetime(2026, 11, 22, 8, 0, tzinfo=datetime.timezone.utc)
        >>> Answer(200, b"", {"date": "today"}).date
        """
        # Takes a part of a short run, and few have an answer.
        from email.utils import parsedate_to_datetime  # noqa: PLC0415

        try:
            found = parsedate_to_datetime(self.headers.get("date", ""))
        except ValueError:
            return None
        return found if found.tzinfo else None

    def json_object(self) -> dict[str, Any]:
        """Return the JSON object that the body is; an empty one if it is something else."""
        try:
            found = read_json(self.body).value
        except JsonError:
            return {}
        return found if isinstance(found, dict) else {}

    def error(self) -> ApiError:
        """Return the error that the answer reports: its Status object's words if it has one."""
        text = " ".join(self.body.decode(errors="replace").split())[:_TOLD_LENGTH]
        wait = self.headers.get("retry-after", "")
        wait_s = float(wait) if wait.isdecimal() else None
        return error_of(self.status, self.json_object(), text=text, wait_s=wait_s)


@dataclass(frozen=True, slots=True)
class Watch:
    """An opened watch."""

    read: Callable[[int], bytes]  #: Reads of it as much as there is, at most so many bytes.
    #: Ends it, from any thread; a thread that waits for its next line wakes up.
    cancel: Callable[[], None]

    def __iter__(self) -> Iterator[bytes]:
        """Yield its lines as they come, one event each; an unfinished one at its end is dropped.

        Of a line that is longer than any object the head is given. What was read of a line is joined once.

        Raises:
            UnreachableError: It breaks off, or a line has no end.
        """
        begun, size = list[bytes](), 0
        while block := self.read(_BLOCK):
            *ends, rest = block.split(b"\n")
            for end in ends:
                line = b"".join((*begun, end))
                if line:
                    yield line if size + len(end) <= LARGEST_OBJECT else line[:OBJECT_HEAD]
                begun, size = [], 0
            size += len(rest)
            if size <= LARGEST_OBJECT:
                begun.append(rest)
            elif size > _ENDLESS:
                raise UnreachableError(f"a line of a watch is longer than {_ENDLESS >> 20} MiB")
            else:
                begun = [b"".join(begun)[:OBJECT_HEAD]]


class ApiServer(ABC):
    """An API server, reached with the user's or the pod's credentials. Any number of threads may use one."""

    url: str  #: Where it is, for messages.
    #: The namespace of the context, or of the pod's service account; ``default`` if none is set.
    namespace: str
    #: What its clock said with the last answer to ``call``; None if it has not said.
    date: datetime | None = None

    @abstractmethod
    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int | None = None,
    ) -> Answer:
        """Send a request and return the whole answer, or its first ``most_bytes`` bytes, also an error.

        The body is sent as JSON: of a PATCH, a list as a JSON patch, an object as a merge patch.

        Raises:
            UnreachableError: There is none.
        """

    def accepted(self, method: str, path: str, **options: Any) -> Answer:
        """Send a request as ``send`` does, and return its answer unless that is a refusal.

        Raises:
            ApiError: The API server refuses.
            UnreachableError: There is no answer.
        """
        answer = self.send(method, path, **options)
        self.date = answer.date
        if not answer.ok:
            raise answer.error()
        return answer

    def call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Send a request as ``accepted`` does, and return the object of its answer."""
        found = self.accepted(method, path, **options).json_object()
        if not found:
            raise UnreachableError(f"{self.url}{path}: the answer is not a JSON object")
        return found

    def find(self, path: str) -> dict[str, Any] | None:
        """Return an object; None if it does not exist. Other errors are those of ``call``."""
        try:
            return self.call("GET", path)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    @abstractmethod
    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Open a watch, to be closed with the context.

        Args:
            path: Of the list.
            params: Its query, without ``watch``.
            idle_s: Seconds without a byte after which the connection counts as broken.

        Raises:
            ApiError: The API server refuses, when the watch is opened.
            UnreachableError: There is no answer, or the stream breaks off.
        """


def error_of(status: int, found: object, *, text: str = "", wait_s: float | None = None) -> ApiError:
    """Return the error that a Status object reports.

    Args:
        status: The HTTP status, or the code of an error in a watch.
        found: The object, if it is one.
        text: What to say if it is none.
        wait_s: Seconds that the API server wants clients to wait; None to go by the object.
    """
    message, reason = text_member(found, "message"), text_member(found, "reason")
    if not isinstance(found, dict) or not message:
        return ApiError(status, text or f"HTTP status {status}", retry_after_s=wait_s)
    seconds = member(found, "details").get("retryAfterSeconds")
    if wait_s is None and isinstance(seconds, int):
        wait_s = float(seconds)
    if reason == "Unauthorized":
        # All that Kubernetes says of it is this word once more.
        message += ": the cluster does not take these credentials, which may have expired"
    return ApiError(status, message, reason=reason, retry_after_s=wait_s)


def kubernetes_version(api: ApiServer) -> KubernetesVersion:
    """Get the version of an API server.

    Raises:
        ApiError: The API server refuses.
        UnreachableError: There is no answer, or none with a version.
    """
    found = api.call("GET", "/version")
    try:
        return KubernetesVersion.parse(str(found.get("gitVersion", "")))
    except UsageError as error:
        raise UnreachableError(f"{api.url}/version: {error}") from error


def known_version(api: ApiServer, warn: Callable[[str], None]) -> KubernetesVersion:
    """Return the release of a cluster, or the oldest known one if older; errors as of ``kubernetes_version``.

    Args:
        api: The cluster's API server.
        warn: Called with a line if it is older, or newer than any that is known.
    """
    version = kubernetes_version(api)
    if unknown := unknown_release(version):
        warn(unknown)
    return max(version, OLDEST_VERSION)
