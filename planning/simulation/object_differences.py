"""The parts in which two objects of a workload differ, as far as that matters to where its pods go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from policies.manifests.fields import descend, member
from policies.model.revisions import stored_template_key
from policies.model.scaling import DEFAULT_SHARE
from policies.model.workload import Workload
from policies.pods.placement import DAEMON_SET


class Difference(StrEnum):
    """The parts in which a workload may differ."""

    TEMPLATE = "template"
    REPLICAS = "replicas"
    SELECTOR = "selector"
    STRATEGY = "strategy"
    CONSTRAINTS = "constraints"


def differences(before: Workload, after: Workload) -> tuple[Difference, ...]:
    """Return the differences in a workload itself; constraints of policies are no part of it."""
    found = []
    if _templates_differ(before, after):
        found.append(Difference.TEMPLATE)
    # Who leaves the number out leaves it to an autoscaler, or as it is.
    if after.states_replicas and before.replicas != after.replicas:
        found.append(Difference.REPLICAS)
    if after.kind.selector is not None and before.selector != after.selector:
        found.append(Difference.SELECTOR)
    if _strategy(before) != _strategy(after):
        found.append(Difference.STRATEGY)
    return tuple(found)


def replaces(workload: Workload, found: Iterable[Difference]) -> bool:
    """Return whether the API server refuses such a change: the object must be deleted and created again."""
    group, kind = workload.kind.group, workload.kind.kind
    if workload.kind.is_pod or (group, kind) == ("batch", "Job"):
        return Difference.TEMPLATE in found
    return group == "apps" and Difference.SELECTOR in found


def rolls_out(workload: Workload) -> bool:
    """Return whether a controller replaces pods that run by those of a new template."""
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
        return descend(workload.obj, workload.kind.template)
    kept = {name: workload.metadata[name] for name in ("labels", "annotations") if name in workload.metadata}
    return {"metadata": kept, "spec": workload.template.spec}


#: Where Kubernetes' own kinds define how pods are replaced, and their defaults.
#: Source: ``pkg/apis/apps/v1/defaults.go``, Kubernetes 1.36.
_STRATEGIES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "Deployment": ("strategy", {"maxSurge": DEFAULT_SHARE, "maxUnavailable": DEFAULT_SHARE}),
    "StatefulSet": ("updateStrategy", {"partition": 0}),
    DAEMON_SET: ("updateStrategy", {"maxSurge": 0, "maxUnavailable": 1}),
}


def _strategy(workload: Workload) -> dict[str, Any]:
    """Return how a controller replaces pods, with its default where the manifest leaves it out."""
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
