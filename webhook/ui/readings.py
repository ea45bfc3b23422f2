"""The cluster as the page shows it, read again when the person wants, or when it changed.

A reading is a moment: it does not change. The next is made in a thread, and takes its place when it is whole.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from policies.manifests.errors import EvenkeelError
from policies.manifests.sanitize import one_line
from webhook.ui import answers
from webhook.ui.change_watch import ChangeWatch, ReadHashes
from webhook.ui.cluster import PageCluster
from webhook.ui.page_state import PageState

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

    def status(self) -> answers.ReadingStatus:
        """Return which reading is shown, and what is known of the next."""
        due_s = max(_SOONEST_S, _TIMES * self._took_s) - (time.monotonic() - self._ended)
        changed = {} if self._watch is None else self._watch.changed()
        return {
            "reading": self.state.cluster.reading,
            "repeatable": self._reread is not None,
            "running": self._running,
            "error": self._error,
            "watched": self._watch is not None,
            "unwatched": [] if self._watch is None else self._watch.unwatched(),
            "changed": [{"kind": kind, "objects": count} for kind, count in changed.items()],
            "dueInS": max(0.0, due_s),
        }

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
            self.state = shown.following(cluster)
            self.state.audit.start()
            if self._watch is not None:
                self._watch.was_read(hashes)
            self._error = ""
            shown.audit.end()
        except (EvenkeelError, OSError) as error:
            self._error = one_line(str(error))
        except Exception as error:  # noqa: BLE001  # the page goes on with what it shows
            self._error = f"{type(error).__name__}: {one_line(str(error))}"
        finally:
            self._ended = time.monotonic()
            self._took_s, self._running = self._ended - began, False
