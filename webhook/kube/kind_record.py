"""Events of one kind in a cluster cache: counted for metrics, and logged.

Objects or whole kinds that cannot be read are not used; all else goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed, plural
from webhook.telemetry.logs import LOGGER

#: Characters of a reason that are kept; there may be as many objects as a cluster has.
_REASON_LENGTH: Final = 200
#: Objects left out at a time that are logged one by one; the others are counted.
_MAX_LOGGED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutObject:
    """An object that is left out."""

    kind: str  #: As the API names it.
    namespace: str = ""  #: Its namespace; empty if it has none, or it was not found.
    name: str = ""  #: Its name; empty if it was not found.
    reason: str  #: Why it cannot be read.

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", one_line(self.reason, _REASON_LENGTH))

    @property
    def key(self) -> tuple[str, str]:
        """The key among objects of its kind: its namespace and name."""
        return self.namespace, self.name

    @property
    def title(self) -> str:
        """Its namespace and name.

        >>> LeftOutObject(kind="Pod", namespace="shop", name="web", reason="it is no JSON").title
        'shop/web'
        """
        return one_line("/".join(filter(None, self.key))) or "an object without a name"

    def __str__(self) -> str:
        return f"{self.kind} {self.title} is left out: {self.reason}"


def left_out_warning(found: Sequence[LeftOutObject]) -> str:
    """Return the warning that objects are left out; there is at least one.

    >>> left_out_warning([LeftOutObject(kind="Pod", namespace="shop", name="web", reason="it is no JSON")])
    '1 object of the cluster is left out, and it is not used: Pod shop/web (it is no JSON)'
    """
    named = listed((f"{entry.kind} {entry.title} ({entry.reason})" for entry in found), IN_PHRASE)
    are, they = ("is", "it is") if len(found) == 1 else ("are", "they are")
    what = f"{plural(len(found), 'object')} of the cluster {are} left out, and {they} not used"
    return f"{what}: {named}"


class KindRecord:
    """How the cache of one kind is. One thread writes, any number read.

    Attributes:
        kind: As the API names it.
        synced: Whether all of its objects were seen once.
        unread: Why the cluster is read without an optional kind; empty if it is not.
        events: How many a watch reported.
        lists: How many lists were read to their end.
        errors: How many attempts failed, and objects and events were unusable.
        last_error: Why it is not watched at the moment; empty if it is.
    """

    def __init__(self, kind: str, count: Callable[[], int]) -> None:
        """Begin with nothing; ``count`` returns how many objects the index holds."""
        self.kind = kind
        self.synced = False
        self.unread = self.last_error = ""
        self.events = self.lists = self.errors = 0
        self._count = count
        self._left_out: dict[tuple[str, str], LeftOutObject] = {}

    @property
    def title(self) -> str:
        """The kind, and why it is not watched if it is not."""
        return f"{self.kind} ({self.last_error})" if self.last_error else self.kind

    @property
    def objects(self) -> int:
        """How many the index holds."""
        return self._count()

    @property
    def left_out(self) -> list[LeftOutObject]:
        """Those that are left out at the moment because they cannot be read."""
        return list(self._left_out.values())

    def leave_out(self, obj: LeftOutObject, trace: Exception | None = None) -> None:
        """Count an object that cannot be read, and keep it in mind until it can be or is gone."""
        self.errors += 1
        known = self._left_out.get(obj.key)
        self._left_out[obj.key] = obj
        if known != obj and len(self._left_out) <= _MAX_LOGGED:
            self._warn("cluster_object_left_out", obj.reason, trace, object=obj.title)

    def let_in(self, key: tuple[str, str]) -> None:
        """Note that an object can be read again, or is gone; of others nothing changes."""
        self._left_out.pop(key, None)

    def failed(self, problem: str, *, reported: bool, trace: Exception | None = None) -> None:
        """Count an attempt to list or watch that failed; not every watch that breaks off is reported."""
        self.errors += 1
        if reported and problem != self.last_error:
            self._warn("watch_failed", problem, trace)
            self.last_error = problem

    def watching(self) -> None:
        """Note that a watch is open."""
        if self.last_error:
            LOGGER.info("cluster_followed_again", extra={"fields": {"kind": self.kind}})
        self.last_error = ""

    def _warn(self, event: str, problem: str, trace: Exception | None = None, **more: str) -> None:
        fields = {"kind": self.kind, **more, "problem": problem}
        LOGGER.warning(event, extra={"fields": fields}, exc_info=trace)
