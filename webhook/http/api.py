"""A route of the API: its types, who may call it, and the function that computes an answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from policies.config.context import AdmissionContext
from policies.manifests.wire import Received
from policies.placement.core.cluster_workloads import ClusterWorkloads
from webhook.rbac import Resource
from webhook.requests.screen import Screen
from webhook.settings import Settings
from webhook.telemetry.logs import Value


class ApiCall(NamedTuple):
    """One request.

    Attributes:
        body: The request, JSON.
        context: What holds where the request leaves something out.
        now: The time, UTC; exemptions expire by its day.
        screen: What the answer is shown on; None if it is for a program.
        wide: Whether nothing is left out, however much it is.
        workloads: The workloads of the server's cluster; None without one.
        deadline: When an answer that can be partial should have what it has, on the clock of
            ``time.monotonic``; some of the timeout is left to write it.
    """

    body: bytes
    context: AdmissionContext
    now: datetime
    screen: Screen | None
    wide: bool
    workloads: ClusterWorkloads | None
    deadline: float


class ApiReply(NamedTuple):
    """The answer to a request.

    Attributes:
        body: JSON, or the text for the screen.
        fields: What is logged of it.
        headers: What it is sent with.
    """

    body: str | bytes
    fields: Mapping[str, Value]
    headers: Mapping[str, str] = {}


class ApiRoute(NamedTuple):
    """One route; it is called with POST.

    Attributes:
        compute: Computes an answer, in a child process, or raises RequestError. The first line of its
            docstring is the summary of the route.
        request: The type of the request.
        answer: The TypedDict of the answer.
        resource: What its callers must have the right to create.
        limit: Returns the most bytes that a body may have.
        event: What an answer is called in the log.
        headers: What the headers of an answer mean, by name; all of them are numbers.
        screen: What of a ``Screen`` its text for people goes by; nothing where there is no such text.
    """

    compute: Callable[[ApiCall], ApiReply]
    request: type[Received]
    answer: type
    resource: Resource
    limit: Callable[[Settings], int]
    event: str
    headers: Mapping[str, str] = {}
    screen: Collection[str] = ()
