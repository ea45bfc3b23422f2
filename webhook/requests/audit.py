"""An audit request: which workloads of which cluster, and how many of them the answer shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from planning.audit.audit import audit
from planning.audit.run import AuditedCluster, AuditRun
from policies.config.context import AdmissionContext
from policies.manifests.errors import UsageError
from policies.manifests.fields import ErrorKind, ErrorList, FieldError, FieldPath
from policies.manifests.wire import Keywords
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.label_query import parse_label_query
from webhook.requests.frame import read_request, refuse
from webhook.requests.placement import PlacementFields

#: Workloads that an answer shows where the request does not say, and at most: some 1.5 KB each.
DEFAULT_TOP: Final = 1_000
MOST_TOP: Final = 10_000
#: The rule that a request breaks whose selector is none.
SELECTOR_INVALID: Final = "selector-invalid"


@dataclass(frozen=True, kw_only=True)
class AuditRequest(PlacementFields):
    """Which workloads are audited, and by what; without a cluster, those of the server's own.

    In a List, workloads of all kinds are audited, also Deployments and custom resources, and pods without a
    node are counted.
    """

    namespace: str | None = None  #: Only workloads of this namespace.
    selector: str | None = None  #: Only workloads with these labels, in kubectl's syntax.
    #: How many workloads the answer shows, the riskiest first.
    top: Annotated[int, Keywords(minimum=1, maximum=MOST_TOP)] | None = DEFAULT_TOP

    def check(self, found: ErrorList) -> None:
        """Record a selector that is none, too; an empty one selects all."""
        super().check(found)
        try:
            if self.selector:
                parse_label_query(self.selector)
        except UsageError as error:
            problem = str(error).removeprefix("label selector: ")
            found.add(FieldError(FieldPath(("selector",)), problem, ErrorKind.INVALID, SELECTOR_INVALID))


def audit_request(
    body: bytes,
    server: AdmissionContext,
    own: ClusterWorkloads | None,
    *,
    now: datetime,
    tool_version: str,
    stop: Callable[[], bool],
) -> AuditRun:
    """Audit the workloads that a request selects.

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
    request, found = read_request(AuditRequest, body), ErrorList()
    namespace = request.namespace or ""
    selector = parse_label_query(request.selector) if request.selector else None
    given = ClusterWorkloads(server.kinds, namespace, selector)
    context = request.context(server, found, given)
    refuse(found)
    workloads: ClusterWorkloads | None = given
    if request.cluster is None:
        workloads = None if own is None else own.narrowed(namespace, selector)
    if context.cluster is None or workloads is None:
        raise ValueError("a request without a cluster is refused before")
    cluster = AuditedCluster(
        version=context.kubernetes_version,
        nodes=context.cluster.node_count,
        pods=context.cluster.pod_count,
        at=now,
        tool_version=tool_version,
        namespace=namespace,
        selector=request.selector or "",
        unread=workloads.unread,
    )
    audits, left = [], len(workloads)
    for entry in workloads.each():
        if stop():
            break
        left -= 1
        if entry is not None:
            audits.append(audit(entry, context))
    return AuditRun.of(audits, cluster, top=request.top or DEFAULT_TOP, left=left)
