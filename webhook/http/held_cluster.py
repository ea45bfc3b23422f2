"""What the answers of the API are computed from: a fork server holds it, and is told what changes.

Only the fork server and its children look into it; the process that serves HTTP follows the cluster, and
keeps none of it.
"""

from __future__ import annotations

import pickle
from datetime import datetime
from typing import Final, NamedTuple

from policies.config.context import AdmissionContext
from policies.config.form import prepare
from policies.model.cluster_workloads import ClusterWorkloads
from webhook.http.api_routes import API_ROUTES, ApiCall, ApiReply
from webhook.requests.frame import Screen
from webhook.workload_store import WorkloadStore

#: Bytes that a value of JSON takes as an object at most, however short its text is. What kubectl prints has
#: one for 19 bytes or more.
_VALUE_BYTES: Final = 128


class HeldCluster:
    """The context of answers with the cluster, and its workloads."""

    #: What holds where a request leaves something out.
    context: AdmissionContext
    #: The workloads of the cluster; None without one.
    workloads: ClusterWorkloads | None
    #: What takes the objects of a cluster that is followed; None if none is.
    store: WorkloadStore | None

    def __init__(self, context: AdmissionContext, workloads: ClusterWorkloads | None) -> None:
        self.context = context
        self.workloads = workloads
        self.store = None
        if context.live and context.cluster is not None and workloads is not None:
            self.store = WorkloadStore(context.cluster, workloads)

    def enforce(self, policies: bytes) -> None:
        """Put policies into force, which are pickled."""
        self.context = self.context.with_policies(pickle.loads(policies))  # noqa: S301  # our own

    def usable(self, withheld: str) -> AdmissionContext:
        """Return the context; without the cluster if there is a reason why that cannot be used."""
        return self.context.without_cluster(withheld) if withheld else self.context


def prepare_answers() -> None:
    """Read what requests are checked by, once and not in every child."""
    for route in API_ROUTES.values():
        prepare(route.request)


class ApiQuestion(NamedTuple):
    """A request, as far as what it asks for depends on the request."""

    path: str  #: The path of the route.
    body: bytes  #: JSON.
    now: datetime  #: The time, UTC.
    screen: Screen | None  #: What the answer is shown on; None if it is for a program.
    wide: bool  #: Whether nothing is left out, however much it is.
    withheld: str  #: Why the cluster cannot be used; empty if it can.
    deadline: float  #: When an answer that can be partial should have what it has.
    memory_bytes: int  #: Bytes that its objects may take.


def answer(held: HeldCluster, *, question: ApiQuestion) -> ApiReply:
    """Compute an answer, if the objects of the request fit in memory.

    Raises:
        MemoryError: They do not.
        RequestError: The request cannot be answered.
    """
    body = question.body
    # Before any is made: orjson crashes where there is no memory. Texts may hold these bytes too, and count.
    values = sum(map(body.count, (b"{", b"[", b",")))
    if len(body) + values * _VALUE_BYTES > question.memory_bytes:
        raise MemoryError
    call = ApiCall(
        body=body,
        context=held.usable(question.withheld),
        now=question.now,
        screen=question.screen,
        wide=question.wide,
        workloads=held.workloads,
        deadline=question.deadline,
    )
    return API_ROUTES[question.path].compute(call)
