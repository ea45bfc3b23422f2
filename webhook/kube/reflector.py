"""A reflector: lists the objects of one kind, then watches them from there, and goes on whatever happens.

Nothing ends it but ``stop``; every attempt that ends is followed by a pause, so that no misbehavior of a
server makes it busy.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from random import SystemRandom
from typing import Any, Final, Protocol

from policies.manifests.fields import FieldError, text_member
from policies.model.snapshot import identity
from webhook.kube.api_server import ApiError, ApiServer, ClusterError, UnreachableError, Watch, error_of
from webhook.kube.kind_record import KindRecord, LeftOutObject
from webhook.kube.list import CHANGES, Listing, unread_reason, watch_event
from webhook.kube.watched_resources import ListedResource
from webhook.telemetry.logs import LOGGER

#: Seconds after which the API server is to end a watch: this much, and up to half as much again, so that
#: not all end at once. Other clients ask for minutes and trust in bookmarks to show a living connection,
#: but API servers before 1.21 send none where nothing happens.
WATCH_S: Final = 60.0
#: Seconds without a byte after which a connection counts as broken, beyond the silence that is allowed.
_GRACE_S: Final = 15.0
#: Seconds at most that are waited because the API server wants it.
_LONGEST_ASKED_S: Final = 300.0
#: Seconds for which the API server may refuse a kind before what is known of it counts as old: others write
#: meanwhile, unlike while it is away. Authorizers know their rules a second or two after a start.
REFUSED_S: Final = 5.0
#: Seconds of the first pause, and of the longest: an API server that is back, or a right that was granted, is
#: noticed so much later, and what has changed by then is not known. To an API server that refuses all kinds,
#: two replicas send nine requests a second then, which are answered before anything is looked up.
_FIRST_S, _LONGEST_S = 0.5, 5.0
#: Refusals that say nothing about the version that a watch goes on from.
_PASSING: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)


@dataclass(slots=True)
class Backoff:
    """Pauses that double, a random half of each left out, until something went well for longer than one."""

    first_s: float = _FIRST_S  #: The first pause.
    longest_s: float = _LONGEST_S  #: The longest.
    #: Returns numbers from 0 to 1.
    random: Callable[[], float] = field(default_factory=lambda: SystemRandom().random)
    _next_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._next_s = self.first_s

    @property
    def exhausted(self) -> bool:
        """Whether the next pause is the longest."""
        return self._next_s >= self.longest_s

    def restart(self) -> None:
        """Begin with the first pause again: what went wrong has changed, and may be over soon."""
        self._next_s = self.first_s

    def pause_s(self, *, well_s: float, least_s: float = 0.0) -> float:
        """Return the seconds to wait before the next attempt.

        Args:
            well_s: For how many seconds the last one went well; below 0 if it did not.
            least_s: Seconds to wait at least.
        """
        if well_s > self._next_s:
            self._next_s = self.first_s
        pause = self._next_s * (0.5 + self.random() / 2)
        self._next_s = min(2 * self._next_s, self.longest_s)
        return max(pause, least_s)


class ObjectStore(Protocol):
    """Where a reflector keeps objects: the index of the cluster, for one."""

    def apply(self, obj: Mapping[str, Any], /) -> list[FieldError]:
        """Add an object, or replace the one of its kind, namespace and name; return why it is left out."""

    def remove(self, api_version: str, kind: str, namespace: str, name: str, /) -> None:
        """Remove an object; one that is not there is passed over."""

    def names(self, kind: tuple[str, str], /) -> set[tuple[str, str]]:
        """Return the namespace and name of each object of a kind, by its apiVersion and kind."""

    def count(self, kind: tuple[str, str], /) -> int:
        """Return how many objects of a kind there are, by its apiVersion and kind."""


class Reflector:
    """Keeps the objects of one kind in an index as they are in the cluster.

    Attributes:
        record: How the cache of the kind is, for any thread.
        alive_at: When what is known was last known to be current, by the clock.
        refused_status: With which HTTP status the API server refuses lists and watches; 0 if it does not.
        tolerated: Whether the API server refuses what the cluster can be read without.
    """

    def __init__(
        self,
        api: ApiServer,
        resource: ListedResource,
        index: ObjectStore,
        *,
        clock: Callable[[], float] = time.monotonic,
        backoff: Backoff | None = None,
        watch_s: float = WATCH_S,
        keep_last: bool = False,
        availability: Callable[[str], None] = lambda _why: None,
    ) -> None:
        """Nothing is requested yet.

        Args:
            api: The API server.
            resource: The kind.
            index: Where its objects are kept.
            clock: Seconds that never go back.
            backoff: Makes the pauses between attempts.
            watch_s: Seconds that a watch lasts.
            keep_last: Whether what is known of an object stays once that cannot be read any more.
            availability: Told why the cluster is read without an optional kind, or nothing: all of it is
                known then.
        """
        self.record = KindRecord(resource.kind, partial(index.count, resource.key))
        self.alive_at = clock()
        self.refused_status = 0
        self.tolerated = False
        self._api, self._resource, self._index = api, resource, index
        self._clock, self._backoff = clock, backoff or Backoff()
        self._watch_s = watch_s
        self._keep_last = keep_last
        self._availability = availability
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._watch: Watch | None = None
        # When the watch of this attempt was opened, and since when the API server has refused; or infinite.
        self._opened_at = self._refused_at = math.inf
        # Where a watch goes on; empty if only a list says what there is.
        self._version = ""
        # The list that is being read, when it began, and what is known but was not in it yet.
        self._listing: Listing | None = None
        self._listed_at = 0.0
        self._missing: set[tuple[str, str]] = set()

    def refused_s(self) -> float:
        """Return for how many seconds the API server has refused lists and watches; 0 if it does not."""
        return max(0.0, self._clock() - self._refused_at)

    def start(self) -> None:
        """Run in a thread of its own; after a fork, for threads are not inherited."""
        self._thread = threading.Thread(target=self.run, name=f"watch-{self._resource.kind}", daemon=True)
        self._thread.start()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end, if there is one."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def run(self) -> None:
        """List and watch until ``stop``."""
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            pause_s = self._attempt()

    def stop(self) -> None:
        """End ``run``, from any thread."""
        self._stopping.set()
        if (watch := self._watch) is not None:
            watch.cancel()

    def _attempt(self) -> float:
        """List if there is need to, and watch until the watch ends; return how long to pause."""
        asked_s, resumed = 0.0, bool(self._version)
        self._opened_at = math.inf
        try:
            if not resumed and not self._list():
                return 0.0
            self._watch_on()
        except ApiError as error:
            self._refused(error)
            if resumed and error.gone:
                # Nothing is wrong with the API server, and a list is needed soon.
                return 0.0
            asked_s = min(error.retry_after_s or 0.0, _LONGEST_ASKED_S)
        except ClusterError as error:
            # Watches break off now and then; whether something is wrong, the next attempt shows.
            broke_off = bool(self._version) and self._opened_at < math.inf
            self._failed(str(error), reported=not broke_off)
        except Exception as error:  # noqa: BLE001  # nothing would start this thread again
            self._forget()
            self._failed(f"{type(error).__name__}: {error}", trace=error)
        well_s = self._clock() - self._opened_at
        # However short watches are, one that lasted was no misbehavior.
        lasted = well_s >= self._watch_s / 2
        return self._backoff.pause_s(well_s=math.inf if lasted else well_s, least_s=asked_s)

    def _list(self) -> bool:
        """Read the list to its end; what it does not show is gone. Return whether there was time to."""
        if self._listing is None:
            self._listing = Listing(self._api, self._resource)
        asked_at = self._clock()
        while page := self._listing.next():
            if page.first:
                self._listed_at = asked_at
                self._missing = self._index.names(self._resource.key)
                self._missing |= {obj.key for obj in self.record.left_out}
            for broken in page.left_out:
                self._missing.discard(broken.key)
                self._leave_out(broken)
            for obj in page.items:
                if self._stopping.is_set():
                    return False
                if self._missing:
                    self._missing.discard(identity(obj))
                self._apply(obj)
            asked_at = self._clock()
        for namespace, name in self._missing:
            self._drop(namespace, name)
        version = self._listing.version
        self._forget()
        self._version, self.alive_at = version, self._listed_at
        self.record.lists += 1
        # What may be listed may still not be watched.
        self.record.synced |= not self._resource.optional
        fields = {"kind": self.record.kind, "objects": self.record.objects, "lists": self.record.lists}
        LOGGER.info("cluster_listed", extra={"fields": fields})
        return True

    def _watch_on(self) -> None:
        """Watch until the API server ends the watch."""
        silent_s = self._watch_s * (1 + self._backoff.random() / 2)
        params = self._resource.params | {
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            # To an API server 0 means half an hour or more.
            "timeoutSeconds": str(max(1, int(silent_s))),
        }
        with self._api.watch(self._resource.path, params, idle_s=silent_s + _GRACE_S) as watch:
            self._watch = watch
            before, opened_at = self.alive_at, self._clock()
            self.alive_at = self._opened_at = opened_at
            self._refused_at, self.refused_status, self.tolerated = math.inf, 0, False
            self.record.watching()
            if self._resource.optional:
                self.record.synced, self.record.unread = True, ""
                self._availability("")
            try:
                # ``stop`` may have been called before there was a watch to cancel.
                for line in () if self._stopping.is_set() else watch:
                    if self._stopping.is_set():
                        return
                    self._take(line)
            except ApiError:
                if self.alive_at == opened_at:
                    # The version was too old after all: what happened since then is not known.
                    self.alive_at = before
                raise
            finally:
                self._watch = None

    def _take(self, line: bytes) -> None:
        event = watch_event(line, self._resource)
        if event is None:
            # No one knows what it should have been, so a list must show it.
            self._forget()
            text = line[:40].decode(errors="replace")
            raise UnreachableError(f"{self._api.url}{self._resource.path}: no event of a watch: {text!r}")
        verb, obj = event
        if verb in CHANGES:
            self.record.events += 1
        if verb == "DELETED":
            self._drop(*(obj.key if isinstance(obj, LeftOutObject) else identity(obj)))
        elif isinstance(obj, LeftOutObject):
            self._leave_out(obj)
        elif verb in CHANGES:
            self._apply(obj)
        elif verb == "ERROR":
            code = obj.get("code")
            status = code if isinstance(code, int) else HTTPStatus.INTERNAL_SERVER_ERROR
            if status not in _PASSING:
                self._forget()
            raise error_of(status, obj)
        elif verb != "BOOKMARK":
            # One that a later release may send.
            self.record.errors += 1
        self.alive_at = self._clock()
        if isinstance(obj, dict):
            self._version = text_member(obj.get("metadata"), "resourceVersion") or self._version

    def _apply(self, obj: dict[str, Any]) -> None:
        """Take an object in; whatever is wrong with it, it is left out alone."""
        namespace, name = identity(obj)
        left_out = partial(LeftOutObject, kind=self._resource.kind, namespace=namespace, name=name)
        try:
            errors = self._index.apply(obj)
        except Exception as error:  # noqa: BLE001  # the others must not wait until this one is fixed
            self._leave_out(left_out(reason=f"{type(error).__name__}: {error}"), error)
            return
        if errors:
            # The index holds it no more.
            self.record.leave_out(left_out(reason=str(errors[0])))
        else:
            self.record.let_in((namespace, name))

    def _leave_out(self, obj: LeftOutObject, trace: Exception | None = None) -> None:
        """Leave an object out that cannot be read, and what was known of it unless that is to be kept."""
        self.record.leave_out(obj, trace)
        if not self._keep_last:
            self._index.remove(*self._resource.key, obj.namespace, obj.name)

    def _drop(self, namespace: str, name: str) -> None:
        """Note that an object is gone."""
        self.record.let_in((namespace, name))
        self._index.remove(*self._resource.key, namespace, name)

    def _refused(self, error: ApiError) -> None:
        if error.gone and (self._version or self._opened_at < math.inf):
            # Nothing is wrong: it took too long to come back.
            self._forget()
            LOGGER.info("cluster_version_expired", extra={"fields": {"kind": self.record.kind}})
            return
        self.refused_status = error.status
        if self._refused_at == math.inf:
            # An API server that has just started refuses for a second or two what it will allow.
            self._refused_at = self._clock()
            self._backoff.restart()
        if error.status not in _PASSING and (
            error.status < HTTPStatus.INTERNAL_SERVER_ERROR or self._backoff.exhausted
        ):
            # A list heals what a watch from this version may never do.
            self._forget()
        self.tolerated = bool(why := unread_reason(self._resource, error))
        if why and (not self.record.synced or self.refused_s() > REFUSED_S):
            # The cluster is read without this kind, until it can be listed and watched.
            self.record.synced, self.record.unread = False, why
            self._forget()
            self._availability(why)
        self._failed(f"{' '.join(filter(None, (str(error.status), error.reason)))}: {error}")

    def _failed(self, problem: str, *, reported: bool = True, trace: Exception | None = None) -> None:
        if not self._stopping.is_set():
            self.record.failed(problem, reported=reported, trace=trace)

    def _forget(self) -> None:
        """Have the objects listed again; meanwhile those that are known stay."""
        self._version, self._listing = "", None
        self._missing = set()
