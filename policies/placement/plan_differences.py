"""Which workloads differ between two sets of manifests, in a way that matters to where pods go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, descend, member
from policies.model.revisions import stored_template_key
from policies.model.workload import Workload
from policies.placement.placement import DAEMON_SET

#: Holds a template that other objects refer to; no controller makes pods of it.
_POD_TEMPLATE: Final = "PodTemplate"


class PlanAction(StrEnum):
    """What a plan does to a workload, in the order in which it is done."""

    REMOVE = "remove"
    REPLACE = "replace"
    CHANGE = "change"
    ADD = "add"


class Difference(StrEnum):
    """What differs in a workload."""

    TEMPLATE = "template"
    REPLICAS = "replicas"
    SELECTOR = "selector"
    STRATEGY = "strategy"
    CONSTRAINTS = "constraints"


class WorkloadKey(NamedTuple):
    """Which object of a cluster a workload is."""

    namespace: str
    kind: str
    name: str

    @classmethod
    def of(cls, workload: Workload) -> WorkloadKey:
        """Return the key of a workload."""
        return cls(workload.namespace, workload.kind.name, workload.name)


@dataclass(frozen=True, slots=True)
class WorkloadPair:
    """A workload of either set of manifests, or of both."""

    key: WorkloadKey
    before: Workload | None
    after: Workload | None

    @property
    def any(self) -> Workload:
        """The workload as it will be, or else as it was."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a pair holds a workload")
        return found


def pair_workloads(
    before: Iterable[Workload], after: Iterable[Workload]
) -> tuple[list[WorkloadPair], list[WorkloadKey]]:
    """Return the workloads of both sets by their keys, and the keys that several objects of a set have.

    What those objects are is left open: a cluster has one of them, and it is not known which.
    """
    old, new = _by_key(before), _by_key(after)
    keys = sorted({*old, *new})
    repeated = [key for key in keys if len(old.get(key, ())) > 1 or len(new.get(key, ())) > 1]
    skipped = frozenset(repeated)
    return [
        WorkloadPair(key, *(found[key][0] if key in found else None for found in (old, new)))
        for key in keys
        if key not in skipped
    ], repeated


def _by_key(workloads: Iterable[Workload]) -> dict[WorkloadKey, list[Workload]]:
    found: dict[WorkloadKey, list[Workload]] = {}
    for workload in workloads:
        if workload.kind.kind != _POD_TEMPLATE and not workload.is_patch:
            found.setdefault(WorkloadKey.of(workload), []).append(workload)
    return found


def differences(before: Workload, after: Workload) -> tuple[Difference, ...]:
    """Return what differs in a workload itself; constraints of policies are no part of it."""
    found = []
    if _templates_differ(before, after):
        found.append(Difference.TEMPLATE)
    # Who leaves the number out leaves it to an autoscaler, or as it is.
    if states_replicas(after) and before.replicas != after.replicas:
        found.append(Difference.REPLICAS)
    if after.kind.selector is not None and before.selector != after.selector:
        found.append(Difference.SELECTOR)
    if _strategy(before) != _strategy(after):
        found.append(Difference.STRATEGY)
    return tuple(found)


def replaces(workload: Workload, found: Iterable[Difference]) -> bool:
    """Tell whether the API server refuses such a change, so that the object must be deleted and made anew."""
    group, kind = workload.kind.group, workload.kind.kind
    if workload.kind.is_pod or (group, kind) == ("batch", "Job"):
        return Difference.TEMPLATE in found
    return group == "apps" and Difference.SELECTOR in found


def states_replicas(workload: Workload) -> bool:
    """Tell whether a workload says how many pods it wants."""
    way = workload.kind.replicas
    return way is not None and descend(workload.obj, way[:-1], ErrorList()).get(way[-1]) is not None


def rolls_out(workload: Workload) -> bool:
    """Tell whether a controller replaces pods that run by those of a new template."""
    kind = workload.kind
    if kind.revision_label is None and kind.kind not in {"StatefulSet", DAEMON_SET, "CloneSet", "Service"}:
        return False
    return member(_strategy(workload), "updateStrategy").get("type") != "OnDelete"


def _templates_differ(before: Workload, after: Workload) -> bool:
    old, new = _template(before), _template(after)
    old_key = stored_template_key(before.metadata, old)
    new_key = stored_template_key(after.metadata, new)
    if not old_key.digest or not new_key.digest:
        return old != new
    # What ``kubectl rollout restart`` wrote stays where a manifest does not state it.
    restarted = bool(new_key.restarted_at) and new_key.restarted_at != old_key.restarted_at
    return old_key.digest != new_key.digest or restarted


def _template(workload: Workload) -> dict[str, Any]:
    """Return the pod template; of a pod what a template would have of it."""
    if not workload.kind.is_pod:
        return descend(workload.obj, workload.kind.template, ErrorList())
    kept = {name: workload.metadata[name] for name in ("labels", "annotations") if name in workload.metadata}
    return {"metadata": kept, "spec": workload.template.spec}


#: Where Kubernetes' own kinds say how pods are replaced, and what holds where the manifest does not say it.
#: Source: ``pkg/apis/apps/v1/defaults.go``, Kubernetes 1.36.
_STRATEGIES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "Deployment": ("strategy", {"maxSurge": "25%", "maxUnavailable": "25%"}),
    "StatefulSet": ("updateStrategy", {"partition": 0}),
    DAEMON_SET: ("updateStrategy", {"maxSurge": 0, "maxUnavailable": 1}),
}


def _strategy(workload: Workload) -> dict[str, Any]:
    """Return how a controller replaces pods, with what it does where the manifest does not say it."""
    spec, kind = member(workload.obj, "spec"), workload.kind
    if kind.group != "apps" or kind.kind not in _STRATEGIES:
        return {name: spec[name] for name in ("strategy", "updateStrategy") if name in spec}
    name, usual = _STRATEGIES[kind.kind]
    given = member(spec, name)
    found: dict[str, Any] = {"type": given.get("type") or "RollingUpdate"}
    if found["type"] == "RollingUpdate":
        found["rollingUpdate"] = {**usual, **member(given, "rollingUpdate")}
    strategy: dict[str, Any] = {name: found}
    if kind.kind == "StatefulSet":
        strategy["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    return strategy
