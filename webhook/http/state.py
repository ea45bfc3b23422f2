"""The state of one server process: its settings, the context that it decides by, and its components.

Of forecasts that what the cluster stores makes too dear or slow, who runs the server learns here what is to
blame; the author of the reviewed object reads it, too, but can do nothing about what others have stored.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.admission.current_context import CurrentContext
from webhook.admission.review import RESERVED_SHARE
from webhook.component import Component, Confidential
from webhook.fork_server import ChildProcesses, ForkServer
from webhook.forked import ResourceLimits
from webhook.http.authorization.authorizer import Authorizer, ClosedAuthorizer
from webhook.http.limits import MaxConcurrent
from webhook.settings import Role, Settings
from webhook.telemetry.logs import LOGGER, EventLog

if TYPE_CHECKING:
    from policies.config.spread_policy import SpreadPolicy
    from policies.model.cluster_workloads import ClusterWorkloads
    from webhook.admission.reply import Reply
    from webhook.http.path_tokens import PathTokens
    from webhook.telemetry.metrics import Telemetry

#: Seconds after which a worker reports the state of its components as metrics again. Below the usual interval
#: of scrapes.
_OBSERVE_EVERY_S: Final = 5.0
#: What a fork server prepares for the API.
HELD: Final = "webhook.http.held_cluster:prepare_answers"
#: Seconds that a preview takes at most, whatever timeout a request gives itself: what ours give the webhooks
#: of policies, but for what is kept of it.
LONGEST_PREVIEW_S: Final = 3.0 * (1 - RESERVED_SHARE)
#: Seconds for which the last forecast that was too dear is shown, and after which the next one is logged.
_SHOWN_S, _LOGGED_EVERY_S = 600.0, 60.0


class DearForecasts(Component):
    """Names the last that was too dear in the warnings of ``/readyz``, and one a minute in the log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet; the clock counts seconds and never goes back."""
        self._clock = clock
        self._problem = ""
        self._noted_at = self._logged_at = -math.inf

    def note(self, reply: Reply) -> None:
        """Take note of the answer to a review."""
        problem = reply.forecast_problem
        if not problem:
            return
        self._problem, self._noted_at = problem, self._clock()
        if self._noted_at >= self._logged_at + _LOGGED_EVERY_S:
            self._logged_at = self._noted_at
            LOGGER.warning("forecast_too_dear", extra={"fields": {"problem": problem}})

    def warnings(self) -> list[str]:
        """Return the last one, for some minutes."""
        age_s = self._clock() - self._noted_at
        return [Confidential(f"{self._problem} ({age_s:.0f} s ago)")] if age_s < _SHOWN_S else []


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class ServerState:
    """Built once before the workers are forked; afterwards each worker has its own copy."""

    settings: Settings  #: The server's settings.
    role: Role = Role.ALL  #: What the process serves.
    #: Where requests of the API are handed to another process; None where there is none.
    api_socket: Path | None = None
    current: CurrentContext  #: What reviews are decided by.
    telemetry: Telemetry  #: The metrics.
    events: EventLog  #: The log.
    #: All that works beside the requests, in the order of starting; they stop in reverse.
    components: list[Component] = field(default_factory=list)
    now: Callable[[], datetime] = _now  #: The clock.
    draining: bool = False  #: Whether the process is to end.
    #: Those that the cluster makes too dear.
    forecasts: DearForecasts = field(init=False, default_factory=DearForecasts)
    #: Lets the requests that take long have half of the threads.
    computing: MaxConcurrent = field(init=False)
    #: The process that holds what answers of /v1 are computed from; it is started when it is needed.
    forks: ForkServer = field(default_factory=lambda: ForkServer(HELD))
    children: ChildProcesses = field(init=False)  #: The processes that it forks to compute them.
    #: Returns the workloads of the cluster as they are now; None if there is no cluster.
    workloads: Callable[[], ClusterWorkloads] | None = None
    #: Returns the policies that would be in force with another one of the cluster; None where the cluster has
    #: none.
    with_policy: Callable[[SpreadPolicy], tuple[SpreadPolicy, ...]] | None = None
    monotonic: Callable[[], float] = time.monotonic  #: The clock that measures ages, in seconds.
    #: Knows the API server by the paths that it calls; None to take every caller for it.
    path_tokens: PathTokens | None = None
    #: Decides who may use the routes that show what runs in a cluster; nobody, if nothing is said.
    access: Authorizer = field(default_factory=ClosedAuthorizer)
    _observe_again: float = field(init=False, default=-math.inf)
    _observing: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.computing = MaxConcurrent(self.settings.max_concurrent)
        budget = ResourceLimits(
            timeout_s=self.settings.request_timeout_s,
            memory_bytes=self.settings.max_request_memory_bytes,
        )
        self.forks.hand_over(self._held)
        self.children = ChildProcesses(self.forks, budget)

    def _held(self) -> object:
        """Return what the fork server begins with."""
        from webhook.http.held_cluster import HeldCluster  # noqa: PLC0415  # only the API needs it

        return HeldCluster(self.current.context, None if self.workloads is None else self.workloads())

    def begin(self) -> None:
        """Start the components: called once in each worker, after the fork."""
        # Those of the process that it was forked from.
        self.events.take_dropped()
        if self.role is not Role.ADMISSION:
            # First: it is handed what is known before others change it.
            self.forks.start()
        for component in self.components:
            component.start()

    def end_soon(self, *_signaled: object) -> None:
        """Take note that the process is to end."""
        self.draining = True

    def prepared(self) -> bool:
        """Return whether reviews can be decided by all that they need."""
        return not any(component.unsynced() for component in self.components)

    def end(self) -> None:
        """Stop what ``begin`` started, and what requests did."""
        # Threads wait for them, and the process for its threads.
        self.forks.end()
        for component in reversed(self.components):
            component.stop()

    def observe(self) -> None:
        """Report as metrics what was not logged, and the state of the components."""
        # Two scrapes at once would count the same twice.
        with self._observing:
            if dropped := self.events.take_dropped():
                self.telemetry.log_lines_dropped.inc(dropped)
            for component in self.components:
                component.observe(self.telemetry)

    def tick(self) -> None:
        """Observe if the last time is a while ago: of several workers only one answers a scrape."""
        if self.forks.failed and not self.draining:
            # Another process takes the place of this one, and lists the cluster anew.
            LOGGER.error("fork_server_failed")
            os.kill(os.getpid(), signal.SIGTERM)
        now = self.monotonic()
        if now >= self._observe_again:
            self._observe_again = now + _OBSERVE_EVERY_S
            self.observe()

    def unready_reasons(self) -> list[str]:
        """Return why no request should be sent here, empty if there is no reason."""
        reasons = ["draining: the server is shutting down"] if self.draining else []
        reasons += [component.problem() for component in self.components]
        reasons += [component.unsynced() for component in self.components]
        return list(filter(None, reasons))

    def warnings(self) -> list[str]:
        """Return the problems that are no reason to send requests elsewhere; empty if there are none."""
        reporting = (*self.components, self.forecasts)
        return [warning for component in reporting for warning in component.warnings()]
