"""An audit request: which workloads of which cluster, and how many of them the answer shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, NotRequired, TypedDict

from policies.config.context import AdmissionContext
from policies.config.type_schema import Keywords
from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorKind, ErrorList, FieldError, FieldPath
from policies.model.label_query import parse_label_query
from policies.model.labels import LabelSelector
from policies.placement.audit import audit
from policies.placement.cluster_workloads import ClusterWorkloads
from policies.reports.audit_run import AuditedCluster, AuditRun, AuditScope
from webhook.http.scoring.request import ContextBody, RequestContext
from webhook.json_request import RequestError, read_number, read_object

#: Workloads that an answer shows where the request does not say, and at most: some 1.5 KB each.
DEFAULT_TOP: Final = 1_000
MOST_TOP: Final = 10_000
#: The rule that a request breaks whose selector is none.
SELECTOR_INVALID: Final = "selector-invalid"

_NAMESPACE: Final = FieldPath(("namespace",))
_SELECTOR: Final = FieldPath(("selector",))
_TOP: Final = FieldPath(("top",))


class AuditBody(ContextBody, TypedDict):
    """Which workloads are audited, and by what; without a cluster, those of the server's own.

    In a List, workloads of all kinds are audited, also Deployments and custom resources, and pods without a
    node are counted.

    Attributes:
        namespace: Only workloads of this namespace.
        selector: Only workloads with these labels, in kubectl's syntax.
        top: How many workloads the answer shows, the riskiest first.
    """

    namespace: NotRequired[str | None]
    selector: NotRequired[str | None]
    top: NotRequired[Annotated[int, Keywords(minimum=1, maximum=MOST_TOP, default=DEFAULT_TOP)] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """One audit request.

    Attributes:
        scope: Which workloads are audited.
        selector: The selector of the scope; None for all.
        top: How many the answer shows.
        given: The workloads of the request's cluster; None for the server's own.
        context: What they are audited by.
        errors: What is wrong with the request.
    """

    scope: AuditScope
    selector: LabelSelector | None
    top: int
    given: ClusterWorkloads | None
    context: RequestContext
    errors: tuple[FieldError, ...] = ()

    @classmethod
    def parse(cls, body: bytes, server: AdmissionContext) -> AuditRequest:
        """Read a request.

        Raises:
            RequestError: It is not JSON, or no object.
        """
        found = ErrorList()
        request = read_object(body, AuditBody, found)
        namespace = found.text(request.get("namespace"), _NAMESPACE)
        query = found.text(request.get("selector"), _SELECTOR)
        selector = _read_selector(query, found)
        given = ClusterWorkloads(server.kinds, namespace, selector)
        return cls(
            scope=AuditScope(namespace=namespace, selector=query),
            selector=selector,
            top=read_number(request.get("top"), _TOP, found, least=1, most=MOST_TOP) or DEFAULT_TOP,
            given=None if request.get("cluster") is None else given,
            context=RequestContext.read(request, found, given),
            errors=tuple(found.errors),
        )


def audit_request(
    body: bytes,
    server: AdmissionContext,
    own: ClusterWorkloads | None,
    *,
    now: datetime,
    tool_version: str,
    stop: Callable[[], bool],
) -> AuditRun:
    """Audit the workloads that a request asks for.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        own: The workloads of the server's cluster; None without one.
        now: The time of the answer, UTC.
        tool_version: The version of Evenkeel.
        stop: Whether the time is over; the answer then says how many objects were not looked at.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request = AuditRequest.parse(body, server)
    if errors := (*request.errors, *request.context.missing(server)):
        raise RequestError(errors)
    context, scope, workloads = request.context.over(server), request.scope, request.given
    if workloads is None and own is not None:
        workloads = own.narrowed(scope.namespace, request.selector)
    if context.cluster is None or workloads is None:
        raise ValueError("a request without a cluster is refused before")
    cluster = AuditedCluster(
        version=context.kubernetes_version,
        nodes=context.cluster.node_count,
        pods=context.cluster.pod_count,
        at=now,
        tool_version=tool_version,
        scope=scope,
        unread=workloads.unread,
    )
    audits, left = [], len(workloads)
    for entry in workloads.each():
        if stop():
            break
        left -= 1
        if entry is not None:
            audits.append(audit(entry, context))
    return AuditRun.of(audits, cluster, top=request.top, left=left)


def _read_selector(query: str, found: ErrorList) -> LabelSelector | None:
    if not query:
        return None
    try:
        return parse_label_query(query)
    except UsageError as error:
        problem = str(error).removeprefix("label selector: ")
        found.add(FieldError(_SELECTOR, problem, ErrorKind.INVALID, SELECTOR_INVALID))
        return None
