"""Remembers decisions for a while, and sends a review once, however many threads wait for it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, NamedTuple, TypeAlias

from webhook.http.authorization.access_reviews import AccessDecision, RequestedAccess, Result
from webhook.http.authorization.token_reviewer import Credential

#: Seconds for which a decision counts: as long as a right that is taken away, or a token that is revoked or
#: expires, may still work; and as long as a right that was just given may not. No errors.
LIFETIMES_S: Final = {Result.ALLOWED: 30.0, Result.DENIED: 5.0, Result.UNAUTHENTICATED: 5.0}
#: Decisions that are kept of those that let a caller in, and again of all others, so that no flood of wrong
#: tokens drives out the right ones. Some 300 bytes each.
MOST_KEPT: Final = 1024

#: A question: the token's digest, how it came, and what is to be done.
_Key: TypeAlias = tuple[bytes, bool, RequestedAccess]


class _Kept(NamedTuple):
    decision: AccessDecision
    until: float


class DecisionCache:
    """Decisions by token and action; any number of threads may use it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic, most: int = MOST_KEPT) -> None:
        """Start with nothing.

        Args:
            now: The clock, in seconds.
            most: Decisions that are kept of each sort.
        """
        self._now = now
        self._most = most
        self._lock = threading.Lock()
        self._good: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bad: OrderedDict[_Key, _Kept] = OrderedDict()
        self._asked: dict[_Key, Future[AccessDecision]] = {}

    def __len__(self) -> int:
        return len(self._good) + len(self._bad)

    def recall(self, credential: Credential, action: RequestedAccess) -> AccessDecision | None:
        """Return the decision of a short while ago, None if there is none."""
        key = _key(credential, action)
        with self._lock:
            return self._recall(key)

    def ask(
        self, credential: Credential, action: RequestedAccess, decide: Callable[[], AccessDecision]
    ) -> AccessDecision:
        """Return the decision of a short while ago, the one in progress, or a new one."""
        key = _key(credential, action)
        with self._lock:
            if kept := self._recall(key):
                return kept
            asked = self._asked.get(key)
            mine = None if asked else self._asked.setdefault(key, Future())
        if asked:
            return asked.result()
        assert mine is not None  # noqa: S101  # one of both
        try:
            decision = decide()
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            self._keep(key, decision)
            mine.set_result(decision)
            return decision
        finally:
            with self._lock:
                del self._asked[key]

    def _recall(self, key: _Key) -> AccessDecision | None:
        kept = self._good.get(key) or self._bad.get(key)
        return kept.decision if kept and self._now() < kept.until else None

    def _keep(self, key: _Key, decision: AccessDecision) -> None:
        with self._lock:
            self._good.pop(key, None)
            self._bad.pop(key, None)
            if (seconds := LIFETIMES_S.get(decision.result)) is not None:
                shelf = self._good if decision.allowed else self._bad
                shelf[key] = _Kept(decision, self._now() + seconds)
                if len(shelf) > self._most:
                    # Of the same sort, what was kept first also ends first, or nearly so.
                    shelf.popitem(last=False)


def _key(credential: Credential, action: RequestedAccess) -> _Key:
    return credential.digest, credential.proxied, action
