"""What a snapshot file says of pods besides what the cluster keeps: states, ages, deletion costs."""

from __future__ import annotations

from typing import Any

from policies.model.deletion_facts import DeletionFacts, read_known_pod
from policies.model.snapshot import kind_of
from policies.scheduler.index import POD


class KnownPods(dict[tuple[str, str], DeletionFacts]):
    """What is known of each pod, by namespace and name."""

    def __call__(self, obj: dict[str, Any]) -> None:
        """Take in an object of the snapshot; only pods count."""
        if kind_of(obj) == POD:
            name, facts = read_known_pod(obj)
            self[name] = facts
