"""An AdmissionReview: the request half as the API server sends it, and the answer as it reads it.

Source: ``k8s.io/api/admission/v1``, Kubernetes 1.36.

A verdict on the next pod cannot be interrupted, so it is only begun where it should end in the time that the
review has left. How much work it may be is counted beforehand (``policies.admission.review_cost``), for each
review by itself: what one user's object costs takes nothing from the review of another. What the API server
gets too late it throws away, and with ``failurePolicy: Fail`` the object too.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from types import NoneType
from typing import Annotated, Any, Final, NamedTuple, NotRequired, TypedDict, TypeVar
from urllib.parse import parse_qs

from policies.admission.review_cost import NoTime, ReviewLimits
from policies.config import spread_policy
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    required_value,
    unsupported_value,
    wrong_type,
)
from policies.manifests.json_bytes import JsonError, members, outline, read_json_within, value
from policies.manifests.wire import Keywords

#: Seconds for a request that does not say: what Kubernetes gives a webhook without ``timeoutSeconds``.
DEFAULT_TIMEOUT_S: Final = 10.0
#: The share of the timeout that is kept for what comes before and after us: connecting, the network, sending
#: the answer, and other requests that came in the same moment.
RESERVED_SHARE: Final = 0.2
#: Seconds that are kept at least. Some round trips between zones.
LEAST_RESERVE_S: Final = 0.05
#: Seconds that must be left for a verdict to begin: twice what the work that is counted may take.
VERDICT_S: Final = 0.1

_T = TypeVar("_T")

#: Seconds in Go's units: ``unitMap``, ``time/format.go``. The micro sign may be either of two characters.
_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)")
#: Values of a review that are read; ordinary ones have some hundreds. This many take some 30 ms, during which
#: every client waits.
MAX_VALUES = 200_000
#: What is between the envelope of a review and the object.
_OBJECT_FOLLOWS = re.compile(rb',\s*+"object"\s*+:')
#: Places that may be the one; the groups and extra fields of a user come before it, which no one else writes.
_MOST_PLACES = 8
#: The objects of a request, and the levels of a review above the members of what is beside them.
_OBJECTS, _LEVELS = ("object", "oldObject"), 3
#: The only version of AdmissionReview that a registered webhook gets here.
API_VERSION = "admission.k8s.io/v1"
#: The group and the kind of policies.
SPREAD_POLICY = (spread_policy.GROUP, spread_policy.KIND)
#: The rule that a body breaks which is no AdmissionReview.
NOT_A_REVIEW = "not-a-review"


@dataclass(slots=True)
class Budget:
    """The time of one review."""

    query: str  #: The query of the request's URL, which has the timeout.
    started: float  #: When the request came, by ``clock``.
    clock: Callable[[], float] = time.monotonic  #: Seconds that never go back.
    #: Seconds that the rules took that look at every node; None if they were not begun.
    rules_s: float | None = field(default=None, init=False)
    #: Seconds that the forecast of the next pod took; None if it was not begun.
    forecast_s: float | None = field(default=None, init=False)

    def limits(self) -> ReviewLimits:
        """Return the limits that hold a review to its time."""
        return ReviewLimits(self._run_rules, self._forecast, datetime.now(UTC).date())

    def deadline(self, longest_s: float = math.inf, *, share: float = 1.0) -> float:
        """Return when a share of the usable time is over, by the clock; after so many seconds at most."""
        return self.started + min(usable_s(self.query) * share, longest_s)

    def _run_rules(self, work: Callable[[], _T]) -> _T | NoTime:
        found, self.rules_s = self._timed(work)
        return found

    def _forecast(self, work: Callable[[], _T]) -> _T | NoTime:
        found, self.forecast_s = self._timed(work)
        return found

    def _timed(self, work: Callable[[], _T]) -> tuple[_T | NoTime, float | None]:
        """Do some work if it can be done in time; return what it gives and the seconds that it took."""
        began = self.clock()
        if self.deadline() - began < VERDICT_S:
            return NoTime.NO_TIME, None
        return work(), self.clock() - began


def usable_s(query: str) -> float:
    """Return how many seconds of a request's timeout are ours; a timeout that is no duration is no timeout.

    >>> usable_s("timeout=10s"), usable_s("")
    (8.0, 8.0)
    """
    given = parse_qs(query).get("timeout", [""])[0]
    timeout = parse_duration(given)
    timeout_s = DEFAULT_TIMEOUT_S if timeout is None else timeout
    return timeout_s - max(timeout_s * RESERVED_SHARE, LEAST_RESERVE_S)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration as Go writes it, or None; ``time.ParseDuration``.

    The library that the Kubernetes client has for it, durationpy, knows days and months, rounds to
    microseconds, and takes time quadratic in the length of a text that is none.

    >>> parse_duration("1m30s"), parse_duration("500ms"), parse_duration("10")
    (90.0, 0.5, None)
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(found[2]))
    return -seconds if found[1] == "-" else seconds


class ReviewError(Exception):
    """A body that is no AdmissionReview; the sender made a mistake, so HTTP 400."""

    def __init__(self, message: str, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors


class UnreadableReviewError(ReviewError):
    """A body that may be an AdmissionReview, and is none that can be read."""


class Review(NamedTuple):
    """One request for admission."""

    uid: str  #: Must be repeated in the answer.
    operation: str  #: CREATE, UPDATE, DELETE or CONNECT.
    group: str  #: The API group of ``kind``.
    kind: str  #: The kind of the object that is sent.
    sub_resource: str  #: The requested subresource; empty for the object itself.
    namespace: str  #: The object's namespace; empty for none.
    name: str  #: The object's name; empty while the API server has yet to make it up.
    obj: dict[str, Any] | None  #: The new object; None where the operation has none.
    old_object: dict[str, Any] | None  #: The stored object; None where the operation has none.
    dry_run: bool  #: Whether nothing will be stored.
    user: str  #: Who sends the object to the API server; empty where that does not say it.
    cut: tuple[str, ...] = ()  #: What of the review was not read, in words.

    @classmethod
    def parse(cls, body: bytes) -> Review:
        """Read a request body.

        Raises:
            UnreadableReviewError: It is not JSON, or too much of it.
            ReviewError: It is no ``admission.k8s.io/v1`` AdmissionReview with a request.
        """
        try:
            document, cut = read_json_within(body, most_values=MAX_VALUES)
        except JsonError as error:
            raise UnreadableReviewError(f"it cannot be read: {error}") from None
        review = _well_formed(document)
        if review is None:
            raise ReviewError("the body is not an AdmissionReview", tuple(_errors(document)))
        return review._replace(cut=cut) if cut else review

    @classmethod
    def of_beginning(cls, body: bytes) -> Review | None:
        """Return the review in the beginning of a body, without its objects; None if it is none.

        An API server writes the objects last, but for whether it is a dry run and the options. What others
        write is looked for in the whole body, if that is not large.
        """
        for place in islice(_OBJECT_FOLLOWS.finditer(body), _MOST_PLACES):
            try:
                document, _ = read_json_within(body[: place.start()] + b"}}", most_values=MAX_VALUES)
            except JsonError:
                continue
            if (review := _well_formed(document)) is not None:
                return review
        document = members(outline(body, _LEVELS))
        request = members(document.pop("request", b""))
        known = {name: value(text) for name, text in request.items() if name not in _OBJECTS}
        return _well_formed({name: value(text) for name, text in document.items()} | {"request": known})


def _well_formed(document: Any) -> Review | None:
    """Return the review of a document in which all is as it should be, else None."""
    try:
        request = document["request"]
        kind, get = request["kind"], request.get
        review = Review(
            uid=request["uid"],
            operation=request["operation"],
            group=kind.get("group") or "",
            kind=kind["kind"],
            sub_resource=get("subResource") or "",
            namespace=get("namespace") or "",
            name=get("name") or "",
            obj=get("object"),
            old_object=get("oldObject"),
            dry_run=get("dryRun") or False,
            user=(get("userInfo") or _NOBODY).get("username") or "",
        )
        if document["apiVersion"] != API_VERSION or document["kind"] != "AdmissionReview":
            return None
    except (TypeError, LookupError, AttributeError):
        return None
    good = all(map(isinstance, review, _TYPES)) and review.uid and review.operation and review.kind
    return review if good else None


#: An object, or none: checked in half the time that ``dict | None`` takes.
_OBJECT = (dict, NoneType)
#: The types of the fields of ``Review``, in their order.
_TYPES: tuple[type | tuple[type, ...], ...] = (
    *(str,) * 7, _OBJECT, _OBJECT, bool, str,
)  # fmt: skip
#: What stands for userInfo where there is none.
_NOBODY: dict[str, str] = {}


def _errors(document: object) -> list[FieldError]:
    """Return the errors that keep a document from being an AdmissionReview, all at once."""
    found = ErrorList()
    review = found.mapping(document, FieldPath())
    for name, wanted in (("apiVersion", API_VERSION), ("kind", "AdmissionReview")):
        if review.get(name) != wanted and not found.errors:
            found.add(unsupported_value(FieldPath((name,)), review.get(name), [wanted], NOT_A_REVIEW))
    if found.errors:
        return found.errors
    if review.get("request") is None:
        return [required_value(_REQUEST, "", NOT_A_REVIEW)]
    request = found.mapping(review["request"], _REQUEST)
    if not found.errors:
        _check_request(request, found)
    return found.errors


def _check_request(request: dict[str, Any], found: ErrorList) -> None:
    kind, kind_path = found.mapping(request.get("kind"), _REQUEST.child("kind")), _REQUEST.child("kind")
    for parent, path, name in (
        (request, _REQUEST, "uid"),
        (request, _REQUEST, "operation"),
        (kind, kind_path, "kind"),
    ):
        if not found.text(parent.get(name), path.child(name)) and parent.get(name) in (None, ""):
            found.add(required_value(path.child(name), "", NOT_A_REVIEW))
    for parent, path, name in ((kind, kind_path, "group"), *((request, _REQUEST, name) for name in _TEXTS)):
        found.text(parent.get(name), path.child(name))
    for name in _OBJECTS:
        found.mapping(request.get(name), _REQUEST.child(name))
    user = found.mapping(request.get("userInfo"), _REQUEST.child("userInfo"))
    found.text(user.get("username"), _REQUEST.child("userInfo", "username"))
    dry_run = request.get("dryRun")
    if dry_run is not None and not isinstance(dry_run, bool):
        found.add(wrong_type(_REQUEST.child("dryRun"), "a boolean", dry_run))


#: The fields of a request that are texts and may be left out.
_TEXTS = ("subResource", "namespace", "name")
_REQUEST = FieldPath(("request",))


class ReviewResponse(TypedDict):
    """The decision on an object, as the API server reads it."""

    uid: str  #: That of the request.
    allowed: bool  #: Whether the object is admitted.
    status: NotRequired[dict[str, Any]]  #: Why it is not, as a Status of Kubernetes.
    patchType: NotRequired[str]  #: ``JSONPatch``.
    patch: NotRequired[str]  #: The changes, in base64.
    warnings: NotRequired[list[str]]  #: What kubectl prints.
    auditAnnotations: NotRequired[dict[str, str]]  #: What the audit log keeps.


class ReviewAnswer(TypedDict):
    """The AdmissionReview that answers another."""

    apiVersion: Annotated[str, Keywords(const=API_VERSION)]  #: That of the request.
    kind: Annotated[str, Keywords(const="AdmissionReview")]  #: That of the request.
    response: ReviewResponse  #: What becomes of the object.


class Phase(StrEnum):
    """Which of the two webhooks is called."""

    MUTATE = "mutate"
    VALIDATE = "validate"


class ReviewRequest(NamedTuple):
    """A request whose body has come."""

    body: bytes  #: The AdmissionReview, or its beginning.
    phase: Phase  #: Which webhook is called.
    budget: Budget  #: The time that the request has.
    #: Whether the caller is taken for the API server: no other is told of the cluster.
    from_api_server: bool = True
