"""The SpreadPolicy objects of a cluster, kept by a reflector: what is known of each, by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from policies.config.policy_resource import PolicyResource, read_policy_resource
from policies.config.spread_policy import SpreadPolicy
from policies.manifests.fields import FieldError
from webhook.kube.list import identity


class PolicyResources:
    """The objects of one process. One thread writes, any number read."""

    def __init__(self, changed: Callable[[], None], *, has_scheduler_config: bool) -> None:
        """Start without any.

        Args:
            changed: Called after each change, by the thread that made it.
            has_scheduler_config: Whether defaults may be taken from the scheduler's configuration.
        """
        self._changed = changed
        self._has_scheduler_config = has_scheduler_config
        self._lock = threading.Lock()
        self._resources: dict[str, PolicyResource] = {}

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Add an object, or replace the one of its name; one with errors is kept too, but not in force."""
        _, name = identity(dict(obj))
        if not name:
            return []
        # The only writer reads without the lock: checking a document takes milliseconds.
        before = self._resources.get(name)
        found = read_policy_resource(obj, before, has_scheduler_config=self._has_scheduler_config)
        with self._lock:
            self._resources[name] = found
        self._changed()
        return []

    def remove(self, _api_version: str, _kind: str, _namespace: str, name: str) -> None:
        """Remove an object; one that is not there is passed over."""
        with self._lock:
            self._resources.pop(name, None)
        self._changed()

    def names(self, _kind: tuple[str, str]) -> set[tuple[str, str]]:
        """Return the names of the objects, with the namespace that they do not have."""
        with self._lock:
            return {("", name) for name in self._resources}

    def count(self, _kind: tuple[str, str]) -> int:
        """Return how many objects there are."""
        return len(self._resources)

    def listed(self) -> list[PolicyResource]:
        """Return the objects by name, as kubectl lists them."""
        with self._lock:
            return [resource for _, resource in sorted(self._resources.items())]


def policies_of(resources: list[PolicyResource]) -> tuple[SpreadPolicy, ...]:
    """Return the policies in force, in the order of the objects."""
    return tuple(resource.accepted.policy for resource in resources if resource.accepted is not None)
