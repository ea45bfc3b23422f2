"""The state of the page's server: the cluster, its map ready to be sent, its audit, and child processes."""

from __future__ import annotations

import gc
import gzip
import os
from dataclasses import dataclass, replace
from typing import Final, Protocol

from policies.manifests.wire import dumps
from webhook.http.child_processes import ChildProcesses, ResourceLimits
from webhook.ui.answers import ReadingStatus
from webhook.ui.background_audit import BackgroundAudit
from webhook.ui.cluster import PageCluster
from webhook.ui.cluster_map import cluster_map

#: Seconds of processor time that one request may take.
PROCESSOR_S: Final = 30.0
#: Seconds that it may take in all, also where others keep the processors busy.
TIMEOUT_S: Final = 300.0
#: Of 1 to 9: a map of 150,000 pods takes 0.1 s, once.
_LEVEL: Final = 5
#: Bytes that one may take beyond what the server has.
MEMORY_BYTES: Final = 2 << 30


class NextReading(Protocol):
    """The way to a newer reading of the cluster."""

    def status(self) -> ReadingStatus:
        """Return which reading is shown, and what is known of the next."""

    def refresh(self) -> None:
        """Begin to read the cluster again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """The inputs of answers.

    Attributes:
        cluster: The cluster.
        map: Where every pod is, JSON.
        packed_map: The same, gzip.
        audit: The audit of its workloads.
        children: The processes that compute answers.
        readings: What reads the cluster again; None until it is served.
    """

    cluster: PageCluster
    map: bytes
    packed_map: bytes
    audit: BackgroundAudit
    children: ChildProcesses
    readings: NextReading | None = None

    @classmethod
    def of(cls, cluster: PageCluster) -> PageState:
        """Return the state for a cluster that was read; nothing is computed yet but its map."""
        text = dumps(cluster_map(cluster))
        state = cls(
            cluster=cluster,
            map=text,
            packed_map=gzip.compress(text, _LEVEL, mtime=0),
            audit=BackgroundAudit(cluster),
            children=ChildProcesses(
                ResourceLimits(timeout_s=TIMEOUT_S, memory_bytes=MEMORY_BYTES, processor_s=PROCESSOR_S),
                at_once=os.cpu_count() or 1,
            ),
        )
        _freeze()
        return state

    def following(self, cluster: PageCluster) -> PageState:
        """Return the state for a cluster that was read after this one, with the same child processes."""
        text = dumps(cluster_map(cluster))
        packed = gzip.compress(text, _LEVEL, mtime=0)
        state = replace(self, cluster=cluster, map=text, packed_map=packed, audit=BackgroundAudit(cluster))
        gc.unfreeze()
        gc.collect()
        _freeze()
        return state

    def end(self) -> None:
        """End all work."""
        self.children.end()
        self.audit.end()


def _freeze() -> None:
    """Leave what there is alone: a moment does not change, and a child copies no page of memory for it."""
    gc.freeze()
