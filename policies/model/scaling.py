"""Objects that change the number of pods and nodes: autoscalers, rolling updates, disruption budgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from policies.manifests.fields import METADATA, SPEC, STATUS, ErrorList, list_member, object_items
from policies.model.labels import LabelSelector, read_label_selector
from policies.model.workload import DEFAULT_NAMESPACE, Workload

#: What both ends are where a Deployment leaves them out: ``SetDefaults_Deployment``, ``apis/apps/v1``.
DEFAULT_SHARE = "25%"
#: What allows no pod at all as ``maxSurge`` or ``maxUnavailable``.
ZERO_PODS = (0, "0", "0%")
_PERCENT = re.compile(r"(\d{1,6})%")


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
#: The label that says how a node that Karpenter adds is bought.
CAPACITY_TYPE = "karpenter.sh/capacity-type"
#: The plugin of the descheduler that evicts pods by their constraints, in policies of v1alpha1 and v1alpha2.
SPREAD_PLUGIN = "RemovePodsViolatingTopologySpreadConstraint"
#: The option with which Cluster Autoscaler reads the scheduler's configuration.
SCHEDULER_CONFIG_OPTION = "--scheduler-config-file"

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


def reads_scheduler_config(workload: Workload) -> bool:
    """Return whether a Cluster Autoscaler is given the scheduler's configuration."""
    return any(
        isinstance(word, str) and word.startswith(SCHEDULER_CONFIG_OPTION)
        for container in object_items(workload.template.spec.get("containers"))
        for field in ("command", "args")
        for word in list_member(container, field)
    )


def _mentions(node: object, text: str) -> bool:
    """Return whether a text is a key or a value anywhere below a node."""
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


class ReplicaRange(NamedTuple):
    """Between how many and how many pods a workload runs; equal where nothing scales it."""

    least: int  #: The smallest number.
    most: int  #: The largest number.
    #: The autoscaler with the numbers, as messages name it; empty where the workload does itself.
    source: str = ""

    @property
    def evidence(self) -> str:
        """The source in brackets, to follow the number in a message.

        >>> ReplicaRange(2, 10, "ScaledObject web in modules/keda").evidence
        ' (ScaledObject web in modules/keda)'
        """
        return f" ({self.source})" if self.source else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleUpOutcome:
    """Outcome for replicas where an autoscaler adds nodes for them."""

    nodes: int  #: How many nodes it adds.
    loops: int  #: In how many loops; 0 of one that adds all at once.
    pending: int  #: How many replicas stay pending.
    #: The matching pods by domain, for the key of each constraint; 0 where nodes could be.
    pods: Mapping[str, Mapping[str, int]]
    skews: Mapping[str, int]  #: The skew of each of these keys, with the domains in which nodes could be.

    def empty(self, key: str) -> list[str]:
        """Return the domains of a key without a pod."""
        return [domain for domain, count in self.pods.get(key, {}).items() if not count]


class Variation(NamedTuple):
    """A change of a workload, with whose outcome that of the workload as it is is compared."""

    without: frozenset[str] = frozenset()  #: The keys whose constraints are left out.
    together: frozenset[str] = frozenset()  #: The keys whose required anti-affinity is left out.
    required: str = ""  #: The key whose constraints must hold in as many domains as there may be.
    honoring: str = ""  #: The key whose constraints leave out the nodes to which the pods cannot go.
    #: Whether a pod of another revision comes beside the replicas, when all of them were tried.
    updated: bool = False


#: The workload as it is.
AS_IT_IS = Variation()


class ScaleUps(Protocol):
    """Replicas on the nodes of one autoscaler, as it is known."""

    tool: Tool  #: The autoscaler.
    source: str  #: Where its node groups come from, as messages say it.

    def outcome(
        self, workload: Workload, replicas: int, variation: Variation = AS_IT_IS
    ) -> ScaleUpOutcome | None:
        """Return the outcome for replicas; None where it costs too much, or Kubernetes refuses them."""
        ...

    def domains(self, workload: Workload, key: str) -> frozenset[str]:
        """Return the domains of a key in which nodes may come for the pods of a workload."""
        ...

    def undecided(self, workload: Workload) -> str:
        """Return why an outcome for a workload is not known though it could be; empty if none is missing."""
        ...


def outcomes(
    known: ScaleUps | None, workload: Workload, replicas: int, *variations: Variation
) -> list[ScaleUpOutcome] | None:
    """Return the outcome of each variation; None where one of them is not known."""
    if known is None:
        return None
    found: list[ScaleUpOutcome] = []
    for variation in variations:
        outcome = known.outcome(workload, replicas, variation)
        if outcome is None:
            return None
        found.append(outcome)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Autoscaler:
    """A HorizontalPodAutoscaler, or a ScaledObject, which makes one; ``title`` is its kind and name."""

    title: str
    least: int
    most: int
    folder: str = ""

    def named(self, workload: Workload) -> str:
        """Return how messages about a workload name it: with its folder, unless that is the workload's."""
        return self.title if self.folder == workload.folder else f"{self.title} in {self.folder or '.'}"


@dataclass(frozen=True, slots=True, eq=False)
class DisruptionBudget:
    """A PodDisruptionBudget, with ``minAvailable`` and ``maxUnavailable`` as written."""

    name: str
    selector: LabelSelector
    min_available: object
    max_unavailable: object
    folder: str = ""


class RollingUpdate(NamedTuple):
    """How far the number of pods may stray while revisions change."""

    unavailable: int
    surge: int


def rolling_update(workload: Workload, replicas: int) -> RollingUpdate | None:
    """Return the limits of a Deployment's rolling update; None for other kinds and ways, and broken values.

    Source: ``ResolveFenceposts``, ``pkg/controller/deployment/util/deployment_util.go``, Kubernetes 1.36.
    """
    if (workload.kind.group, workload.kind.kind) != ("apps", "Deployment"):
        return None
    spec = workload.obj.get("spec")
    strategy: Any = (spec.get("strategy") if isinstance(spec, dict) else None) or {}
    if not isinstance(strategy, dict) or strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return None
    limits = strategy.get("rollingUpdate") or {}
    if not isinstance(limits, dict):
        return None
    unavailable = resolve_share(limits.get("maxUnavailable"), replicas, up=False)
    surge = resolve_share(limits.get("maxSurge"), replicas, up=True)
    if unavailable is None or surge is None:
        return None
    return RollingUpdate(unavailable or int(surge == 0), surge)


def resolve_share(value: object, replicas: int, *, up: bool) -> int | None:
    """Return a number of pods, or a share of the replicas rounded up or down; None for anything else.

    >>> resolve_share("25%", 3, up=False), resolve_share("25%", 3, up=True), resolve_share(2, 3, up=True)
    (0, 1, 2)
    """
    if value is None:
        value = DEFAULT_SHARE
    if type(value) is int:
        return value
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if percent is None:
        return None
    hundredths = int(percent[1]) * replicas
    return -(-hundredths // 100) if up else hundredths // 100


def scaled(value: object, pods: int) -> int | None:
    """Return the number of pods that a disruption budget states: itself, or a percentage rounded up.

    >>> scaled("34%", 3), scaled(1, 3), scaled("1", 3)
    (2, 1, None)
    """
    return None if value is None else resolve_share(value, pods, up=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionBudget:
    """A PodDisruptionBudget: how many evictions it allows now.

    Source: ``getExpectedPodCount`` and ``updatePdbStatus``, ``pkg/controller/disruption/disruption.go``,
    Kubernetes 1.36.
    """

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    selector: LabelSelector | None  #: Which pods it protects; None for none.
    allowed: int | None  #: How many evictions its status allows now; None without a status.
    min_available: object  #: As it is written.
    max_unavailable: object  #: As it is written.
    #: The names of pods whose eviction is under way, and is counted already.
    disrupted: frozenset[str] = frozenset()
    #: Whether pods that are not ready may be evicted whatever it asks for.
    always_allows_unhealthy: bool = False

    def evictions(self, healthy: int, expected: int) -> int:
        """Return how many evictions it allows now.

        Args:
            healthy: Pods that it selects and that run; taken where it has no status.
            expected: How many there should be.
        """
        if self.allowed is not None:
            return self.allowed
        return max(0, healthy - self.required(expected))

    def required(self, expected: int) -> int:
        """Return how many of the pods that it selects must run.

        Args:
            expected: How many there should be.
        """
        # A percentage is rounded up, also that of maxUnavailable.
        if self.max_unavailable is not None:
            return max(0, expected - (scaled(self.max_unavailable, expected) or 0))
        return scaled(self.min_available, expected) or 0


def read_eviction_budget(obj: Mapping[str, Any], found: ErrorList) -> EvictionBudget:
    """Read a PodDisruptionBudget; what is of the wrong type is recorded and read as absent."""
    metadata = found.mapping(obj.get("metadata"), METADATA)
    spec = found.mapping(obj.get("spec"), SPEC)
    status = found.mapping(obj.get("status"), STATUS)
    path = SPEC.child("selector")
    selector = found.once("selector", lambda: read_label_selector(spec.get("selector"), path, found))
    allowed = status.get("disruptionsAllowed")
    return EvictionBudget(
        namespace=found.text(metadata.get("namespace"), METADATA.child("namespace")) or DEFAULT_NAMESPACE,
        name=found.name(metadata, METADATA),
        selector=selector,
        allowed=None if allowed is None else found.integer(allowed, STATUS.child("disruptionsAllowed")),
        min_available=spec.get("minAvailable"),
        max_unavailable=spec.get("maxUnavailable"),
        disrupted=frozenset(found.mapping(status.get("disruptedPods"), STATUS.child("disruptedPods"))),
        always_allows_unhealthy=spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )
