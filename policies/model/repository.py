"""The workloads of a repository and what goes with them: autoscalers, disruption budgets, services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, NamedTuple

from policies.fields import ErrorList, FieldPath
from policies.model.declared import Workload
from policies.model.labels import LabelSelector, Operator, label_selector_errors
from policies.model.tools import NODE_AUTOSCALERS, Tool, runs_cluster_autoscaler, tool_of_object
from policies.model.workload import descend

#: The kinds that a repository understands besides workloads, by group and kind.
AUTOSCALER, SCALED_OBJECT, BUDGET, SERVICE = (
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("keda.sh", "ScaledObject"),
    ("policy", "PodDisruptionBudget"),
    ("", "Service"),
)
#: The kind that may take its pod template from a workload that it names (``spec.workloadRef``).
ROLLOUT = ("argoproj.io", "Rollout")
#: Between how many and how many pods a ScaledObject scales that does not say: KEDA 2.15.
SCALED_OBJECT_RANGE = (0, 100)

#: The group and the kind of kube-scheduler's configuration, of any version.
SCHEDULER_CONFIG = ("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration")


def goes_with_workloads(obj: Mapping[str, Any]) -> bool:
    """Tell whether a repository takes in an object that is no workload."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    if (version.rpartition("/")[0], kind) in (AUTOSCALER, SCALED_OBJECT, BUDGET, SERVICE):
        return True
    return tool_of_object(obj) is not None or is_scheduler_config(obj)


class ReplicaRange(NamedTuple):
    """Between how many and how many pods a workload runs; equal where nothing scales it.

    Attributes:
        least: The smallest number.
        most: The largest number.
        source: The autoscaler that says so, as messages name it; empty where the workload does itself.
    """

    least: int
    most: int
    source: str = ""

    @property
    def evidence(self) -> str:
        """The source in brackets, to follow the number in a message.

        >>> ReplicaRange(2, 10, "ScaledObject web in modules/keda").evidence
        ' (ScaledObject web in modules/keda)'
        """
        return f" ({self.source})" if self.source else ""


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
class Budget:
    """A PodDisruptionBudget, with ``minAvailable`` and ``maxUnavailable`` as written."""

    name: str
    selector: LabelSelector
    min_available: object
    max_unavailable: object
    folder: str = ""


@dataclass(slots=True)
class Repository:
    """Objects that are applied together.

    Namespaces that manifests leave out count as one, the empty one. Where a workload stands in it twice, as
    with a folder for each environment, only what lies in its own folder goes with it.

    Attributes:
        workloads: The workloads, in their order, by namespace.
        autoscalers_of_nodes: The workloads that run Cluster Autoscaler.
        tools: The tools that the objects set up.
        scheduler_configs: The KubeSchedulerConfigurations, as they came.
    """

    workloads: dict[str, list[Workload]] = field(default_factory=dict)
    autoscalers_of_nodes: list[Workload] = field(default_factory=list)
    tools: set[Tool] = field(default_factory=set)
    scheduler_configs: list[Mapping[str, Any]] = field(default_factory=list)
    _lenders: set[tuple[str, str, str]] = field(default_factory=set)
    _autoscalers: dict[tuple[str, str, str], list[Autoscaler]] = field(default_factory=dict)
    _budgets: dict[str, list[Budget]] = field(default_factory=dict)
    _services: dict[str, list[tuple[str, dict[str, str], str]]] = field(default_factory=dict)
    _unplaced: Counter[tuple[str, str]] = field(default_factory=Counter)
    _carrying: dict[str, dict[tuple[str, str], list[Mapping[str, str]]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, workloads: Iterable[Workload], others: Iterable[Mapping[str, Any]], folders: Iterable[str] = ()
    ) -> Repository:
        """Take workloads in, and of other objects those that go with them; what is broken is left out.

        Args:
            workloads: The workloads.
            others: The other objects.
            folders: The folder of each of these; none where all lie in one.
        """
        repository = cls()
        for workload in workloads:
            repository.workloads.setdefault(workload.namespace, []).append(workload)
            if not workload.namespace:
                repository._unplaced[workload.kind.kind, workload.name] += 1
            if (workload.kind.group, workload.kind.kind) == ROLLOUT:
                named = descend(workload.obj, ("spec", "workloadRef"), ErrorList())
                repository._lenders.add((workload.namespace, str(named.get("kind")), str(named.get("name"))))
            if runs_cluster_autoscaler(workload):
                repository.autoscalers_of_nodes.append(workload)
                repository.tools.add(Tool.CLUSTER_AUTOSCALER)
        for obj, folder in zip(others, chain(folders, repeat("")), strict=False):
            repository.take(obj, folder=folder)
        return repository

    def take(self, obj: Mapping[str, Any], *, folder: str = "") -> None:
        """Take an object in, if it is of a kind that goes with workloads; ``folder`` is that of its file."""
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(version, str) or not isinstance(kind, str):
            return
        if (tool := tool_of_object(obj)) is not None:
            self.tools.add(tool)
        if is_scheduler_config(obj):
            self.scheduler_configs.append(obj)
            return
        found = ErrorList()
        metadata = found.mapping(obj.get("metadata"), FieldPath())
        name = found.text(metadata.get("name"), FieldPath())
        namespace = found.text(metadata.get("namespace"), FieldPath())
        spec = found.mapping(obj.get("spec"), FieldPath())
        group = version.rpartition("/")[0]
        if found.errors:
            return
        if (group, kind) == AUTOSCALER:
            limits = spec.get("minReplicas", 1), spec.get("maxReplicas")
            self._take_autoscaler(namespace, spec, limits, named=(f"{kind} {name}", folder))
        elif (group, kind) == SCALED_OBJECT:
            least, most = SCALED_OBJECT_RANGE
            limits = spec.get("minReplicaCount", least), spec.get("maxReplicaCount", most)
            self._take_autoscaler(namespace, spec, limits, named=(f"{kind} {name}", folder))
        elif (group, kind) == BUDGET:
            self._take_budget(namespace, spec, named=(name, folder))
        elif (group, kind) == SERVICE:
            selector = found.labels(spec.get("selector"), FieldPath())
            if selector and not found.errors:
                self._services.setdefault(namespace, []).append((name, selector, folder))

    @property
    def adds_nodes(self) -> bool:
        """Whether nodes are added for pods that are pending, as far as the objects tell."""
        return not self.tools.isdisjoint(NODE_AUTOSCALERS)

    def autoscaler(self, workload: Workload) -> Autoscaler | None:
        """Return the autoscaler of a workload, if the repository has one."""
        found = self._autoscalers.get((workload.namespace, workload.kind.kind, workload.name), ())
        near = (scaler for scaler in found if self.goes_with(workload, scaler.folder))
        return max(near, key=lambda scaler: scaler.most, default=None)

    def replicas(self, workload: Workload) -> ReplicaRange | None:
        """Return between how many and how many pods a workload runs; None where that is not known."""
        scaler = self.autoscaler(workload)
        if scaler is not None:
            return ReplicaRange(scaler.least, scaler.most, scaler.named(workload))
        if workload.replicas is None:
            return None
        return ReplicaRange(workload.replicas, workload.replicas)

    def lends_template(self, workload: Workload) -> bool:
        """Tell whether a Rollout makes the pods of a workload's template: its labels are on them then."""
        return (workload.namespace, workload.kind.kind, workload.name) in self._lenders

    def budgets(self, workload: Workload) -> list[Budget]:
        """Return the disruption budgets that select a workload's pods."""
        budgets = self._budgets.get(workload.namespace, ())
        return [
            budget
            for budget in budgets
            if budget.selector.matches(workload.labels) and self.goes_with(workload, budget.folder)
        ]

    def goes_with(self, workload: Workload, folder: str) -> bool:
        """Tell whether what lies in a folder, in the same namespace, may go with a workload."""
        alone = workload.namespace or self._unplaced[workload.kind.kind, workload.name] < 2
        return bool(alone) or folder == workload.folder

    def selects_any(self, selector: LabelSelector, namespace: str) -> bool:
        """Tell whether a selector selects the pods of any workload of a namespace."""
        carrying = self._carrying.get(namespace)
        if carrying is None:
            carrying = self._carrying[namespace] = {}
            for workload in self.workloads.get(namespace, ()):
                for pair in (("", ""), *workload.labels.items()):
                    carrying.setdefault(pair, []).append(workload.labels)
        # Only who carries the rarest label that is asked for can have all of them.
        fewest = min((carrying.get(pair, []) for pair in (("", ""), *asked_for(selector))), key=len)
        return any(selector.matches(labels) for labels in fewest)

    def services(self, workload: Workload) -> list[tuple[str, dict[str, str]]]:
        """Return the names and selectors of the services that select a workload's pods."""
        services = self._services.get(workload.namespace, ())
        return [
            (name, selector)
            for name, selector, folder in services
            if selector.items() <= dict(workload.labels).items() and self.goes_with(workload, folder)
        ]

    def _take_autoscaler(
        self, namespace: str, spec: Mapping[str, Any], limits: tuple[Any, Any], *, named: tuple[str, str]
    ) -> None:
        target, (least, most), (name, folder) = spec.get("scaleTargetRef"), limits, named
        if not isinstance(target, dict) or type(least) is not int or type(most) is not int:
            return
        # Only a ScaledObject may leave the kind out.
        key = (namespace, str(target.get("kind", "Deployment")), str(target.get("name")))
        self._autoscalers.setdefault(key, []).append(Autoscaler(name, least, max(least, most), folder))

    def _take_budget(self, namespace: str, spec: Mapping[str, Any], *, named: tuple[str, str]) -> None:
        selector = spec.get("selector")
        if not isinstance(selector, dict) or label_selector_errors(selector, FieldPath()):
            return
        name, folder = named
        limits = spec.get("minAvailable"), spec.get("maxUnavailable")
        budget = Budget(name, LabelSelector.parse(selector), *limits, folder)
        self._budgets.setdefault(namespace, []).append(budget)


def asked_for(selector: LabelSelector) -> Iterator[tuple[str, str]]:
    """Yield the labels that every pod carries which a selector selects."""
    yield from selector.match_labels
    for entry in selector.match_expressions:
        if entry.operator is Operator.IN and len(entry.values) == 1:
            yield entry.key, entry.values[0]


def is_scheduler_config(obj: Mapping[str, Any]) -> bool:
    """Tell whether an object is a KubeSchedulerConfiguration of some version."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return isinstance(version, str) and (version.rpartition("/")[0], kind) == SCHEDULER_CONFIG
