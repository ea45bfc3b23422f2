"""The known storage of a cluster, for rules that need to know where volumes could be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from policies.model.cluster_kinds import CLAIM
from policies.model.storage import Storage
from policies.model.storage_objects import PersistentVolumeClaim, StorageClass


@dataclass(frozen=True, slots=True)
class KnownStorage:
    """The storage of a cluster, which may change while it is looked at.

    Attributes:
        storage: Its objects.
        reading: Holds changes back.
    """

    storage: Storage
    reading: Callable[[], AbstractContextManager[Any]] = nullcontext

    def storage_class(self, name: str) -> StorageClass | None:
        """Return a class, the default one for an empty name; None if it is not known."""
        with self.reading():
            return self.storage.storage_class(name or self.storage.default_class())

    @property
    def knows_claims(self) -> bool:
        """Whether a claim that is not there is known not to exist."""
        return self.storage.knows(CLAIM)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim, or None if there is none of that name."""
        with self.reading():
            return self.storage.claim(namespace, name)

    def values_of(self, claim: PersistentVolumeClaim, key: str) -> frozenset[str] | None:
        """Return the values of a node label where the volume of a claim is; None if that is not known."""
        with self.reading():
            volume = self.storage.volume(claim.volume)
            return None if volume is None else volume.values_of(key)

    def has_free_volumes(self, storage_class: str) -> bool:
        """Return whether claims of a class may be given volumes that are there already."""
        with self.reading():
            return bool(self.storage.free_volumes(storage_class))
