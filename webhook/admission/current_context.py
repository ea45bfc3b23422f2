"""The current context of reviews: the policies in force, and the cluster while its cache can be used."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from policies.config.spread_policy import NOT_INJECTED, DefaultsMode
from policies.scheduler.indexed_objects import unread_warning
from webhook.component import Component, Confidential
from webhook.kube.kind_record import left_out_warning
from webhook.kube.reflector import REFUSED_S
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from policies.config.context import AdmissionContext
    from policies.config.policy_set import PolicySet
    from webhook.kube.informer import ClusterCache
    from webhook.telemetry.metrics import Telemetry

#: Seconds for which what was found about the age of the cache counts: every review needs it. Little next to
#: the age that counts as old.
_LOOK_EVERY_S: Final = 1.0


class CurrentContext(Component):
    """The context of decisions in one process, and the cache of the cluster behind it.

    Attributes:
        context: What reviews are decided by while the cache can be used.
    """

    def __init__(
        self,
        context: AdmissionContext,
        cache: ClusterCache | None = None,
        *,
        max_age_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is started yet.

        Args:
            context: What the server begins with.
            cache: The cache of the cluster that is followed; None if that is a file, or there is none.
            max_age_s: Seconds from which on a cache that is not synced again counts as old.
            clock: Seconds that never go back.
        """
        self.context = context
        self._cache = cache
        self._max_age_s = max_age_s
        self._clock = clock
        self._usable = context
        self._look_again = -math.inf
        self._looking = threading.Lock()

    def start(self) -> None:
        """Follow the cluster."""
        if self._cache is not None:
            self._cache.start()

    def stop(self) -> None:
        """Follow it no more; what is known of it stays."""
        if self._cache is not None:
            self._cache.stop()

    def usable(self) -> AdmissionContext:
        """Return the context to decide by now: without the cluster if its cache is too old."""
        due = self._cache is not None and self._clock() >= self._look_again
        # A thread that finds another one looking uses the last result.
        if due and self._looking.acquire(blocking=False):
            try:
                self._look_again = self._clock() + _LOOK_EVERY_S
                self._usable = self._checked()
            finally:
                self._looking.release()
        return self._usable

    def enforce(self, policies: PolicySet) -> None:
        """Put policies into force: a review that has begun is decided by those of its beginning."""
        with self._looking:
            self.context = self.context.with_policies(policies)
            self._usable = self._checked()

    def _checked(self) -> AdmissionContext:
        """Return the context without the cluster if its cache is too old, and log when that changes."""
        why = self._stale_reason()
        if bool(why) != bool(self._usable.withheld):
            LOGGER.warning("cluster_cache_stale" if why else "cluster_usable", extra={"fields": {"why": why}})
        return self.context.without_cluster(why) if why else self.context

    def unsynced(self) -> str:
        """Return which kinds of the cluster were never listed; empty if all were, or none is followed."""
        if self._cache is None or self._cache.synced:
            return ""
        return f"the cluster is not listed yet: {', '.join(self._cache.unsynced())}"

    def _stale_reason(self) -> str:
        """Return why the cache of the cluster cannot be used; empty if it can, or none is followed."""
        cache = self._cache
        if cache is None:
            return ""
        if unsynced := self.unsynced():
            return unsynced
        if refused := cache.refused(longer_s=REFUSED_S):
            return f"the API server refuses to list or watch {', '.join(refused)}"
        age_s = cache.age_s()
        return f"the cluster cache is {age_s:.0f} s old" if age_s > self._max_age_s else ""

    def warnings(self) -> list[str]:
        """Return why the cluster is not used though it was listed, and what of it is not read."""
        # Age keeps no request away: the caches of other replicas are as old, and most of a review needs none.
        stale = "" if self.unsynced() else self._stale_reason()
        found = [f"{stale}: nothing that depends on the cluster is reported or injected"] if stale else []
        if self.context.defaults is DefaultsMode.OFF and any(each.defaults for each in self.context.policies):
            found.append(f"policies in force have defaults, but {NOT_INJECTED}")
        if self._cache is not None and (left_out := self._cache.left_out()):
            found.append(Confidential(left_out_warning(left_out)))
        if self._cache is not None and (unread := self._cache.unread()):
            found.append(unread_warning(unread))
        return found

    def observe(self, telemetry: Telemetry) -> None:
        """Report the state of the cluster cache as metrics."""
        if self._cache is not None:
            stale = bool(self._stale_reason())
            telemetry.cluster.update(self._cache.kinds(), age_s=self._cache.age_s(), stale=stale)
