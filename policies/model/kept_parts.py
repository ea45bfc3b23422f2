"""What was read of the objects that take long to read: of an event only what has changed is read.

Users store objects of up to 1.5 MiB, and whoever changes an annotation of one has it read by every replica.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import orjson

from policies.manifests.fields import member, text_member
from policies.model.cluster_kinds import Kind

#: Bytes up to which an object is read anew with every event, spec and labels as JSON: that takes some 4 ms at
#: most. Nearly all objects are smaller, and nothing is kept of them.
READ_ANEW: Final = 2**14
#: What may change while the spec stays.
_NOT_SPEC: Final = frozenset({"metadata", "status"})


class KeptParts:
    """The parts of large objects as they were read, for as long as spec and labels stay as they are."""

    def __init__(self) -> None:
        # By kind, namespace and name: the digest, and the parts.
        self._kept: defaultdict[Kind, dict[tuple[str, str], tuple[bytes, dict[str, Any]]]] = defaultdict(dict)

    def of(self, kind: Kind, obj: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the parts of an object, for ``ErrorList.kept``: empty if spec or labels have changed.

        None for a small object, which is read anew.
        """
        # Runs for every event: of small objects nothing but their size is found out.
        kept, text = self._kept[kind], _spec_text(obj)
        if len(text) <= READ_ANEW and not kept:
            return None
        metadata = member(obj, "metadata")
        key = text_member(metadata, "namespace"), text_member(metadata, "name")
        if len(text) <= READ_ANEW:
            kept.pop(key, None)
            return None
        digest = blake2b(text, digest_size=16).digest()
        if kept.get(key, (b"",))[0] != digest:
            kept[key] = digest, {}
        return kept[key][1]

    def forget(self, kind: Kind, namespace: str, name: str) -> None:
        """Forget an object that is gone."""
        self._kept[kind].pop((namespace, name), None)

    def forget_kind(self, kind: Kind) -> None:
        """Forget all objects of a kind."""
        self._kept.pop(kind, None)


def _spec_text(obj: Mapping[str, Any]) -> bytes:
    """Return spec and labels as JSON; empty for what no API server sends, such as too many levels."""
    # Classes have no spec: they are all spec.
    spec = obj.get("spec") or {name: value for name, value in obj.items() if name not in _NOT_SPEC}
    try:
        return orjson.dumps((spec, member(obj, "metadata").get("labels")))
    except TypeError:
        return b""
