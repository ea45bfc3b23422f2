"""Which tools besides the scheduler read spread constraints, told from the manifests that run them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from policies.model.declared import Workload


class Tool(StrEnum):
    """A tool that moves pods or adds nodes."""

    CLUSTER_AUTOSCALER = "Cluster Autoscaler"
    KARPENTER = "Karpenter"
    DESCHEDULER = "descheduler"


#: The tools that add nodes for pending pods.
NODE_AUTOSCALERS = (Tool.CLUSTER_AUTOSCALER, Tool.KARPENTER)
#: The group of Karpenter's objects.
KARPENTER_GROUP = "karpenter.sh"
#: How the labels start that Karpenter itself puts on the nodes that it adds, those of its providers too.
KARPENTER_LABELS = ("karpenter.sh/", "karpenter.k8s.")
#: The label of the nodes that Karpenter adds.
KARPENTER_NODE_LABEL = "karpenter.sh/nodepool"
#: The plugin of the descheduler that evicts pods by their constraints, in policies of v1alpha1 and v1alpha2.
SPREAD_PLUGIN = "RemovePodsViolatingTopologySpreadConstraint"
#: The option with which Cluster Autoscaler reads the scheduler's configuration.
SCHEDULER_CONFIG_OPTION = "--scheduler-config-file"

_AUTOSCALER_IMAGE = "cluster-autoscaler"
_POLICY_KIND = "DeschedulerPolicy"


def tool_of_object(obj: Mapping[str, Any]) -> Tool | None:
    """Return the tool that an object sets up: a NodePool of Karpenter, a policy of the descheduler."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str):
        return None
    if version.partition("/")[0] == KARPENTER_GROUP and "/" in version:
        return Tool.KARPENTER
    if kind == _POLICY_KIND and _mentions(obj, SPREAD_PLUGIN):
        return Tool.DESCHEDULER
    if kind == "ConfigMap" and version == "v1":
        texts = obj.get("data")
        for text in texts.values() if isinstance(texts, dict) else ():
            if isinstance(text, str) and _POLICY_KIND in text and SPREAD_PLUGIN in text:
                return Tool.DESCHEDULER
    return None


def runs_cluster_autoscaler(workload: Workload) -> bool:
    """Tell whether a workload is Cluster Autoscaler, by its image."""
    return any(_name_of(container.get("image")) == _AUTOSCALER_IMAGE for container in _containers(workload))


def reads_scheduler_config(workload: Workload) -> bool:
    """Tell whether a Cluster Autoscaler is given the scheduler's configuration."""
    return any(
        isinstance(word, str) and word.startswith(SCHEDULER_CONFIG_OPTION)
        for container in _containers(workload)
        for field in ("command", "args")
        for word in _list(container.get(field))
    )


def _containers(workload: Workload) -> Iterator[dict[str, Any]]:
    for entry in _list(workload.spec.get("containers")):
        if isinstance(entry, dict):
            yield entry


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _name_of(image: object) -> str:
    """Return the last part of an image's name, without tag and digest.

    >>> _name_of("registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2")
    'cluster-autoscaler'
    """
    if not isinstance(image, str):
        return ""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def _mentions(node: object, text: str) -> bool:
    """Tell whether a text is a key or a value anywhere below a node."""
    pending = [node]
    while pending:
        found = pending.pop()
        if found == text:
            return True
        if isinstance(found, dict):
            pending += [*found, *found.values()]
        elif isinstance(found, list):
            pending += found
    return False
