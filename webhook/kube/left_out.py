"""Objects or whole kinds of a cluster that cannot be read: they are not used, all else goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed, plural

#: Characters of a reason that are kept; there may be as many objects as a cluster has.
_REASON_LENGTH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutObject:
    """An object that is left out.

    Attributes:
        kind: As the API names it.
        namespace: Its namespace; empty if it has none, or it was not found.
        name: Its name; empty if it was not found.
        place: Where it was met, for one without a name.
        reason: Why it cannot be read.
    """

    kind: str
    namespace: str = ""
    name: str = ""
    place: str = ""
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", one_line(self.reason, _REASON_LENGTH))

    @property
    def key(self) -> tuple[str, str]:
        """The key among objects of its kind: as a rule its namespace and name."""
        return self.namespace, self.name or self.place

    @property
    def title(self) -> str:
        """Its namespace and name, or where it was met.

        >>> LeftOutObject(kind="Pod", namespace="shop", name="web", reason="it is no JSON").title
        'shop/web'
        >>> LeftOutObject(kind="Pod", place="item 7 of the list", reason="it is null").title
        'item 7 of the list'
        """
        return one_line("/".join(filter(None, self.key)))

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


def unread_warning(unread: Mapping[str, str]) -> str:
    """Return the warning that a cluster is read without some kinds; there is at least one.

    Args:
        unread: Why each cannot be read, by its list in answers.

    >>> unread_warning({"csiNodes": "no right to list and watch csinodes.storage.k8s.io"})
    'not read, so not modeled where it matters: csiNodes (no right to list and watch csinodes.storage.k8s.io)'
    """
    named = ", ".join(f"{name} ({why})" for name, why in unread.items())
    return f"not read, so not modeled where it matters: {one_line(named)}"
