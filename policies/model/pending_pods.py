"""The pods of a cluster that wait for a node, gathered from its objects as they pass by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from policies.manifests.fields import member, object_items, text_member
from policies.model.cluster_kinds import POD
from policies.model.pod import FINISHED_PHASES
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, Owner, controller_of

#: Pods that are kept: more than anyone reads, and some 100 MB of text at most as a rule.
MOST_KEPT: Final = 20_000


class WaitingPod(NamedTuple):
    """A pod without a node."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    owner: Owner | None  #: Its controller; None without one.
    created: str  #: When it was created, as the API writes it.
    condition: str  #: The message of its condition PodScheduled; empty without one.
    text: bytes  #: The pod, JSON.


class PendingPods:
    """The pods without a node among the objects of a cluster, each of which is shown once.

    Attributes:
        count: How many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._pods: dict[tuple[str, str], WaitingPod] = {}

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Keep an object if it is a pod that waits; beyond ``MOST_KEPT`` they are counted."""
        if kind_of(obj) != POD or not is_pending(obj):
            return
        self.count += 1
        if len(self._pods) >= MOST_KEPT:
            return
        metadata = member(obj, "metadata")
        namespace, name = (
            text_member(metadata, "namespace") or DEFAULT_NAMESPACE,
            text_member(metadata, "name"),
        )
        try:
            text = orjson.dumps(obj)
        except TypeError:
            return  # A number that no API has.
        self._pods[namespace, name] = WaitingPod(
            namespace=namespace,
            name=name,
            owner=controller_of(metadata),
            created=text_member(metadata, "creationTimestamp"),
            condition=_condition(obj),
            text=text,
        )

    def each(self) -> list[WaitingPod]:
        """Return those that are kept, by namespace and name."""
        return [self._pods[key] for key in sorted(self._pods)]

    def find(self, namespace: str, name: str) -> WaitingPod | None:
        """Return a pod, or None if it does not wait or is not kept."""
        return self._pods.get((namespace, name))


def is_pending(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod of any shape waits for a node."""
    if member(pod, "spec").get("nodeName") or member(pod, "metadata").get("deletionTimestamp") is not None:
        return False
    return member(pod, "status").get("phase") not in FINISHED_PHASES


def _condition(pod: Mapping[str, Any]) -> str:
    conditions = object_items(member(pod, "status").get("conditions"))
    return next(
        (text_member(each, "message") for each in conditions if each.get("type") == "PodScheduled"), ""
    )
