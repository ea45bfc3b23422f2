"""The audit of the page: made piece by piece beside the requests, and sent as far as it is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final, NamedTuple

import orjson

from planning.audit.audit import audit
from planning.audit.json import AuditedWorkload, audited_workload
from planning.audit.workload_audit import WorkloadAudit
from policies.manifests.wire import INLINE, Count, Form, dumps
from policies.model.workload_ref import WorkloadRef
from webhook.fork_server import ChildProcesses, ForkServer, LimitError
from webhook.forked import ResourceLimits
from webhook.ui.cluster import PageCluster

#: Objects that are looked at in one piece: about a second in a large cluster, so that the first come soon.
PIECE: Final = 400
#: Workloads of one answer: some 500 KB of JSON.
MOST_SENT: Final = 500
#: Seconds and bytes that a piece may take; far more than it does.
_LIMITS: Final = ResourceLimits(timeout_s=120.0, memory_bytes=2 << 30)


class AuditedEntry(NamedTuple):
    """A workload of the audit."""

    found: Annotated[AuditedWorkload, INLINE]  #: The workload.
    workload: Count  #: Its position in the columns of the cluster.
    rank: float  #: Sorts by risk: the smallest is the riskiest.


class AuditProgress(NamedTuple):
    """The audit as far as it is; it runs in the background."""

    done: bool  #: Whether these are the last ones.
    error: str  #: Why it ended early; empty if it did not.
    audited: Count  #: How many objects have been looked at.
    total: Count  #: How many there are.
    next: Count  #: What to send as ``after`` next.
    #: How many workloads of the cluster are not audited, for lack of a known number of replicas; 0 until it
    #: is done, and where only some workloads were to be audited.
    unaudited: Count
    #: The workloads after the number that was sent, as they were audited.
    workloads: Annotated[Sequence[orjson.Fragment], Form(list[AuditedEntry])]


class BackgroundAudit:
    """Audits every workload of a cluster in a thread that waits for child processes."""

    def __init__(self, cluster: PageCluster, server: ForkServer) -> None:
        self._cluster = cluster
        self._children = ChildProcesses(server, _LIMITS)
        self._ended = False
        self._found: list[bytes] = []
        self._audited = 0
        self._total = len(cluster.objects.workloads)
        self._done, self._error = False, ""
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)

    def start(self) -> None:
        """Begin; without the nodes of the cluster there is nothing to begin."""
        if self._cluster.remote is None:
            self._thread.start()
        else:
            self._error, self._done = "the audit needs the nodes and pods of the cluster", True

    def end(self) -> None:
        """End it, wherever it is."""
        self._ended = True
        if self._thread.is_alive():
            self._thread.join()

    def progress(self, after: int) -> AuditProgress:
        """Return how far it is, with what was found after a number of workloads."""
        # The flag first: what is found between the two is sent next time.
        done, found = self._done, self._found[after : after + MOST_SENT]
        following = after + len(found)
        return AuditProgress(
            done=done and following >= len(self._found),
            error=self._error,
            audited=self._audited,
            total=self._total,
            next=following,
            unaudited=len(self._cluster.workloads) - len(self._found) if done else 0,
            workloads=list(map(orjson.Fragment, found)),
        )

    def _run(self) -> None:
        try:
            for start in range(0, self._total, PIECE):
                if self._ended:
                    break
                piece = slice(start, min(start + PIECE, self._total))
                self._found += self._children.run(partial(audit_piece, piece=piece))
                self._audited = piece.stop
        except LimitError as error:
            self._error = f"the audit ended early: {error.message}"
        except Exception as error:  # noqa: BLE001  # of one broken object, say: the page goes on without
            self._error = f"the audit ended early: {type(error).__name__}: {error}"
        self._done = True


def audit_piece(cluster: PageCluster, piece: slice) -> list[bytes]:
    """Return an ``AuditedEntry``, JSON, for each workload with a number of replicas of some objects."""
    return [
        audited_entry(cluster, audit(entry, cluster.context))
        for entry in cluster.objects.workloads.each(piece)
        if entry is not None and entry.workload.kind.replicas is not None
    ]


def audited_entry(cluster: PageCluster, found: WorkloadAudit) -> bytes:
    """Return an ``AuditedEntry``, JSON, of a workload that was audited."""
    worst, excess, *_ = found.rank
    key = WorkloadRef(found.namespace, found.kind, found.name)
    # The excess is a share from -1 to 0, so that it only decides among equal risks.
    rank = worst + excess / 2
    return dumps(AuditedEntry(audited_workload(found), cluster.positions[key], rank))
