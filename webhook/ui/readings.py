"""The cluster as the page shows it: its map, its audit, child processes for answers, and the next reading.

A reading is a moment: it does not change. The next is made in a thread when the person wants, or when the
cluster changed, and takes its place when it is whole.
"""

from __future__ import annotations

import gzip
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Final, NamedTuple

from policies.manifests.errors import EvenkeelError
from policies.manifests.sanitize import one_line
from policies.manifests.wire import Count, dumps
from webhook.fork_server import ChildProcesses, ForkServer
from webhook.forked import ResourceLimits
from webhook.ui.background_audit import BackgroundAudit
from webhook.ui.change_watch import ChangeWatch, ReadHashes
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


class ChangedObjects(NamedTuple):
    """The objects of one kind that are no more as they were read."""

    kind: str  #: The kind.
    objects: Count  #: How many changed, came or went.


class ReadingStatus(NamedTuple):
    """Which reading of the cluster is shown, and what is known of the next."""

    reading: Count  #: Its number, from 1.
    repeatable: bool  #: Whether the cluster can be read again.
    running: bool  #: Whether it is being read.
    error: str  #: Why it could not be read the last time; empty if it could.
    watched: bool  #: Whether changes of the cluster are noted.
    unwatched: Sequence[str]  #: Kinds whose changes are not noted, each with the reason.
    changed: Sequence[ChangedObjects]  #: What changed since the reading.
    due_in_s: float  #: Seconds until the next reading that no one asks for.


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """The inputs of answers."""

    cluster: PageCluster  #: The cluster.
    map: bytes  #: Where every pod is, JSON.
    packed_map: bytes  #: The same, gzip.
    audit: BackgroundAudit  #: The audit of its workloads.
    server: ForkServer  #: The process that holds the cluster, too, and forks them.
    children: ChildProcesses  #: The processes that compute answers.
    readings: Readings | None = None  #: What reads the cluster again; None until it is served.

    @classmethod
    def of(cls, cluster: PageCluster) -> PageState:
        """Return the state for a cluster that was read; nothing is computed yet but its map."""
        text = dumps(cluster_map(cluster))
        server = ForkServer("webhook.ui.routes:prepare_answers")
        server.hand_over(lambda: cluster)
        limits = ResourceLimits(timeout_s=TIMEOUT_S, memory_bytes=MEMORY_BYTES, processor_s=PROCESSOR_S)
        return cls(
            cluster=cluster,
            map=text,
            packed_map=gzip.compress(text, _LEVEL, mtime=0),
            audit=BackgroundAudit(cluster, server),
            server=server,
            children=ChildProcesses(server, limits, at_once=os.cpu_count() or 1),
        )

    def end(self) -> None:
        """End all work."""
        self.server.end()
        self.audit.end()


#: Reads the cluster again; is given what is to be shown every object.
Reread = Callable[[ReadHashes], PageCluster]
#: Seconds from one reading to the next, if no one asks for it: as soon as people look again, and so many
#: times what the last one took, so that reading takes a small share of a processor and of the API server.
_SOONEST_S: Final = 5.0
_TIMES: Final = 10.0


class Readings:
    """The reading that the page shows, and the way to the next one.

    Attributes:
        state: What answers are made from, of the reading.
    """

    def __init__(
        self, state: PageState, reread: Reread | None = None, watch: ChangeWatch | None = None
    ) -> None:
        """Start with a first reading.

        Args:
            state: What answers are made from.
            reread: Reads the cluster again; None where that cannot be.
            watch: Notes changes of a live cluster; None where it is not watched.
        """
        self.state = replace(state, readings=self)
        self._reread, self._watch = reread, watch
        self._lock = threading.Lock()
        self._running, self._error = False, ""
        self._ended, self._took_s = time.monotonic(), 0.0

    def start(self) -> None:
        """Begin what goes on beside the requests: the audit, and the watch of changes."""
        self.state.audit.start()
        if self._watch is not None:
            self._watch.start()

    def end(self) -> None:
        """End all work."""
        if self._watch is not None:
            self._watch.stop()
        self.state.end()

    def status(self) -> ReadingStatus:
        """Return which reading is shown, and what is known of the next."""
        due_s = max(_SOONEST_S, _TIMES * self._took_s) - (time.monotonic() - self._ended)
        changed = {} if self._watch is None else self._watch.changed()
        return ReadingStatus(
            reading=self.state.cluster.reading,
            repeatable=self._reread is not None,
            running=self._running,
            error=self._error,
            watched=self._watch is not None,
            unwatched=[] if self._watch is None else self._watch.unwatched(),
            changed=list(starmap(ChangedObjects, changed.items())),
            due_in_s=max(0.0, due_s),
        )

    def refresh(self) -> None:
        """Begin to read the cluster again, unless that is under way or cannot be."""
        with self._lock:
            if self._reread is None or self._running:
                return
            self._running = True
        threading.Thread(target=self._run, args=[self._reread], name="reading", daemon=True).start()

    def _run(self, reread: Reread) -> None:
        began, hashes = time.monotonic(), ReadHashes()
        try:
            shown = self.state
            cluster = replace(
                reread(hashes),
                opened=shown.cluster.opened,
                autoscale=shown.cluster.autoscale,
                reading=shown.cluster.reading + 1,
            )
            self.state = replace(PageState.of(cluster), readings=self)
            self.state.audit.start()
            if self._watch is not None:
                self._watch.was_read(hashes)
            self._error = ""
            # Its fork server ends when what was asked of it is answered, and nothing refers to it any more.
            shown.audit.end()
        except (EvenkeelError, OSError) as error:
            self._error = one_line(str(error))
        except Exception as error:  # noqa: BLE001  # the page goes on with what it shows
            self._error = f"{type(error).__name__}: {one_line(str(error))}"
        finally:
            self._ended = time.monotonic()
            self._took_s, self._running = self._ended - began, False
