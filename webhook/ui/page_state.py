"""The state of the page's server: the cluster, its map ready to be sent, its audit, and child processes."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from typing import Final

from policies.manifests.wire import dumps
from webhook.http.child_processes import ChildProcesses, ResourceLimits
from webhook.ui.background_audit import BackgroundAudit
from webhook.ui.cluster import PageCluster
from webhook.ui.cluster_map import cluster_map

#: Seconds of processor time that one request may take.
PROCESSOR_S: Final = 30.0
#: Seconds that it may take in all, also where others keep the processors busy.
TIMEOUT_S: Final = 300.0
#: Bytes that one may take beyond what the server has.
MEMORY_BYTES: Final = 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """The inputs of answers.

    Attributes:
        cluster: The cluster.
        map: Where every pod is, JSON.
        audit: The audit of its workloads.
        children: The processes that compute answers.
    """

    cluster: PageCluster
    map: bytes
    audit: BackgroundAudit
    children: ChildProcesses

    @classmethod
    def of(cls, cluster: PageCluster) -> PageState:
        """Return the state for a cluster that was read; nothing is computed yet but its map."""
        # A moment that is shown does not change: a child copies no page of memory for the sake of it.
        state = cls(
            cluster=cluster,
            map=dumps(cluster_map(cluster)),
            audit=BackgroundAudit(cluster),
            children=ChildProcesses(
                ResourceLimits(timeout_s=TIMEOUT_S, memory_bytes=MEMORY_BYTES, processor_s=PROCESSOR_S),
                at_once=os.cpu_count() or 1,
            ),
        )
        gc.freeze()
        return state

    def end(self) -> None:
        """End all work."""
        self.children.end()
        self.audit.end()
