"""The workloads of a repository and what goes with them: autoscalers and disruption budgets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Final

from policies.manifests.fields import ErrorList, FieldPath, descend, object_items
from policies.model.cluster_kinds import PRIORITY_CLASS, STORAGE_CLASS, Kind
from policies.model.labels import LabelSelector, label_selector_errors
from policies.model.neighbors import (
    ANYWHERE,
    AppKey,
    Copies,
    CopyScope,
    FolderIndex,
    FolderSums,
    Neighbors,
    SelectedWorkloads,
    by_object,
)
from policies.model.scaling import (
    NODE_AUTOSCALERS,
    Autoscaler,
    DisruptionBudget,
    ReplicaRange,
    Tool,
    tool_of_object,
)
from policies.model.storage_objects import StorageClass
from policies.model.storage_readers import read_class
from policies.model.topology import PriorityClass, read_priority_class
from policies.model.workload import Workload

#: The kinds that a repository understands besides workloads, by group and kind.
AUTOSCALER, SCALED_OBJECT, BUDGET = (
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("keda.sh", "ScaledObject"),
    ("policy", "PodDisruptionBudget"),
)
#: The kind that may take its pod template from a workload that it names (``spec.workloadRef``).
ROLLOUT = ("argoproj.io", "Rollout")
#: The kinds of classes that objects name, and what reads them.
_CLASSES: Final[Mapping[Kind, Callable[[Mapping[str, Any], ErrorList], StorageClass | PriorityClass]]] = {
    STORAGE_CLASS: read_class,
    PRIORITY_CLASS: read_priority_class,
}
#: Disruption budgets of a workload that are looked at. More than one is a mistake already.
MAX_BUDGETS: Final = 10
#: Between how many and how many pods a ScaledObject scales that leaves it out: KEDA 2.15.
SCALED_OBJECT_RANGE = (0, 100)

#: The group and the kind of kube-scheduler's configuration, of any version.
SCHEDULER_CONFIG = ("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration")
#: The name of Cluster Autoscaler's image, whatever its registry.
AUTOSCALER_IMAGE = "cluster-autoscaler"


@dataclass(slots=True)
class Repository:
    """Objects that are applied together.

    Namespaces that manifests leave out count as one, the empty one. Where folders hold copies of a workload,
    as with one for each environment, only what is in its own part of the repository, or in a folder that
    encloses it, goes with a copy (``places``).
    """

    #: The workloads, in their order, by namespace.
    workloads: dict[str, list[Workload]] = field(default_factory=dict)
    #: The workloads that run Cluster Autoscaler.
    autoscalers_of_nodes: list[Workload] = field(default_factory=list)
    tools: set[Tool] = field(default_factory=set)  #: The tools that the objects set up.
    #: The KubeSchedulerConfigurations, as they came.
    scheduler_configs: list[Mapping[str, Any]] = field(default_factory=list)
    #: The classes of volumes by name; those for claims that name none by the empty one.
    storage_classes: dict[str, list[StorageClass]] = field(default_factory=dict)
    #: The classes of priorities, likewise for pods.
    priority_classes: dict[str, list[PriorityClass]] = field(default_factory=dict)
    #: What was derived from all objects; for who derives it.
    memo: dict[Hashable, Any] = field(default_factory=dict)
    _copies: Copies | None = None
    _lenders: dict[Hashable, FolderIndex[list[Workload]]] = field(default_factory=dict)
    _autoscalers: dict[Hashable, FolderIndex[list[Autoscaler]]] = field(default_factory=dict)
    _budgets: dict[str, dict[LabelSelector, FolderIndex[list[DisruptionBudget]]]] = field(
        default_factory=dict
    )
    _selectors: dict[str, dict[int | None, list[LabelSelector]]] = field(default_factory=dict)
    _selected: dict[str, SelectedWorkloads] = field(default_factory=dict)
    _labeled: SelectedWorkloads | None = None
    _neighbors: dict[Hashable, Neighbors] = field(default_factory=dict)
    _pods: dict[tuple[str, LabelSelector], tuple[FolderSums, FolderSums]] = field(default_factory=dict)

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
            if (workload.kind.group, workload.kind.kind) == ROLLOUT:
                repository._take_rollout(workload)
            if _runs_cluster_autoscaler(workload):
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
        if (version, kind) in _CLASSES:
            self._take_class((version, kind), obj)
            return
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

    @property
    def adds_nodes(self) -> bool:
        """Whether nodes are added for pods that are pending, as far as the objects show."""
        return not self.tools.isdisjoint(NODE_AUTOSCALERS)

    def place(self, workload: Workload) -> CopyScope:
        """Return where a workload is, which says what of the repository goes with it."""
        if self._copies is None:
            self._copies = Copies((each.identity, each.folder) for each in self.every_workload())
        return self._copies.place(workload.identity, workload.folder)

    def autoscaler(self, workload: Workload) -> Autoscaler | None:
        """Return the autoscaler of a workload, if there is one: of several the nearest, then the largest."""
        found = self._autoscalers.get(workload.identity)
        if found is None:
            return None
        return next((scaler for bucket in found.near(self.place(workload)) for scaler in bucket), None)

    def replicas(self, workload: Workload) -> ReplicaRange | None:
        """Return between how many and how many pods a workload runs; None where that is not known."""
        scaler = self.autoscaler(workload)
        if scaler is not None:
            return ReplicaRange(scaler.least, scaler.most, scaler.named(workload))
        if workload.replicas is None:
            return None
        return ReplicaRange(workload.replicas, workload.replicas)

    def lends_template(self, workload: Workload) -> bool:
        """Return whether a Rollout makes the pods of a workload's template: its labels are on them then."""
        found = self._lenders.get(workload.identity)
        return found is not None and any(found.near(self.place(workload)))

    def others(
        self,
        workload: Workload,
        selector: LabelSelector,
        key_of: Callable[[Workload], AppKey] = by_object,
    ) -> list[Workload]:
        """Return the first few other workloads that go with a workload and whose pods a selector selects.

        Args:
            workload: The workload.
            selector: Which pods.
            key_of: What makes two workloads others to each other; by default that they are not one object.
        """
        if self.is_alone(workload):
            return []
        neighbors = self._selected_by(selector, workload.namespace, key_of)
        return neighbors.others(key_of(workload), self.place(workload))

    def is_alone(self, workload: Workload) -> bool:
        """Return whether no other workload of its namespace is known."""
        known = self.workloads.get(workload.namespace)
        return known is None or known == [workload]

    def labeled(self, selector: LabelSelector) -> Iterator[Workload]:
        """Yield the workloads of all namespaces whose own labels a selector selects."""
        if self._labeled is None:
            every = self.every_workload()
            self._labeled = SelectedWorkloads((workload.template.labels, workload) for workload in every)
        return self._labeled.matching(selector)

    def budgets(self, workload: Workload) -> list[DisruptionBudget]:
        """Return the disruption budgets that select a workload's pods, the nearest first.

        Of many only a few: the API server evicts no pod that two select.
        """
        if workload.namespace not in self._budgets:
            return []
        number = self._of_namespace(workload.namespace).index.find(workload.template.labels)
        found: dict[int, DisruptionBudget] = {}
        for selector in self._budget_selectors(workload.namespace).get(number, ()):
            for few in self._budgets[workload.namespace][selector].near(self.place(workload)):
                found.update((id(budget), budget) for budget in few)
        return list(found.values())[:MAX_BUDGETS]

    def selects_others(self, selector: LabelSelector, workload: Workload) -> bool:
        """Return whether a selector selects the pods of other workloads of a namespace, in whatever folder.

        Copies of the workload are none: what is applied together with this one has no other of its name.
        """
        return bool(
            self._selected_by(selector, workload.namespace, by_object).others(by_object(workload), ANYWHERE)
        )

    def pods(self, namespace: str, budget: DisruptionBudget) -> int | None:
        """Return how many pods at most a disruption budget selects; None where that is not known, or none."""
        asked = namespace, budget.selector
        if asked not in self._pods:
            pods, unknown = self._pods[asked] = FolderSums(), FolderSums()
            for workload in self._of_namespace(namespace).matching(budget.selector):
                replicas, place = self.replicas(workload), self.place(workload)
                pods.add(place, 0 if replicas is None else replicas.most)
                unknown.add(place, replicas is None)
        pods, unknown = self._pods[asked]
        return (not unknown.of(budget.folder) and pods.of(budget.folder)) or None

    def every_workload(self) -> Iterator[Workload]:
        """Yield the workloads of all namespaces."""
        return chain.from_iterable(self.workloads.values())

    def _selected_by(
        self, selector: LabelSelector, namespace: str, key_of: Callable[[Workload], AppKey]
    ) -> Neighbors:
        """Return the workloads of a namespace that a selector selects."""
        asked = namespace, selector, key_of
        neighbors = self._neighbors.get(asked)
        if neighbors is None:
            selected = self._of_namespace(namespace).matching(selector)
            neighbors = self._neighbors[asked] = Neighbors((other, key_of(other)) for other in selected)
        return neighbors

    def _of_namespace(self, namespace: str) -> SelectedWorkloads:
        """Return the workloads of a namespace whose pods stay beside those of others."""
        found = self._selected.get(namespace)
        if found is None:
            workloads = (each for each in self.workloads.get(namespace, ()) if not each.is_test)
            found = SelectedWorkloads((workload.template.labels, workload) for workload in workloads)
            self._selected[namespace] = found
        return found

    def _budget_selectors(self, namespace: str) -> Mapping[int | None, list[LabelSelector]]:
        """Return the selectors of a namespace's budgets by the label sets that they select."""
        known = self._selectors.get(namespace)
        if known is None:
            known = self._selectors[namespace] = {}
            for selector in self._budgets.get(namespace, ()):
                for number in self._of_namespace(namespace).index.matching(selector):
                    selectors = known.setdefault(number, [])
                    if len(selectors) < MAX_BUDGETS:
                        selectors.append(selector)
        return known

    def _take_class(self, kind: Kind, obj: Mapping[str, Any]) -> None:
        found = ErrorList()
        read = _CLASSES[kind](obj, found)
        kept: dict[str, list[Any]] = self.storage_classes if kind == STORAGE_CLASS else self.priority_classes
        for key in () if found.errors else read.keys:
            kept.setdefault(key, []).append(read)

    def _take_rollout(self, workload: Workload) -> None:
        named = descend(workload.obj, ("spec", "workloadRef"))
        key = (workload.namespace, str(named.get("kind")), str(named.get("name")))
        for bucket in self._lenders.setdefault(key, FolderIndex(list)).buckets_for(workload.folder):
            bucket.append(workload)

    def _take_autoscaler(
        self, namespace: str, spec: Mapping[str, Any], limits: tuple[Any, Any], *, named: tuple[str, str]
    ) -> None:
        target, (least, most), (name, folder) = spec.get("scaleTargetRef"), limits, named
        if not isinstance(target, dict) or type(least) is not int or type(most) is not int:
            return
        # Only a ScaledObject may leave the kind out.
        key = (namespace, str(target.get("kind", "Deployment")), str(target.get("name")))
        scaler = Autoscaler(name, least, max(least, most), folder)
        for largest in self._autoscalers.setdefault(key, FolderIndex(list)).buckets_for(folder):
            # Of several of one workload the one that makes the most pods.
            if not largest or scaler.most > largest[0].most:
                largest[:] = [scaler]

    def _take_budget(self, namespace: str, spec: Mapping[str, Any], *, named: tuple[str, str]) -> None:
        selector = spec.get("selector")
        if not isinstance(selector, dict) or label_selector_errors(selector, FieldPath()):
            return
        name, folder = named
        limits = spec.get("minAvailable"), spec.get("maxUnavailable")
        budget = DisruptionBudget(name, LabelSelector.parse(selector), *limits, folder)
        places = self._budgets.setdefault(namespace, {}).setdefault(budget.selector, FolderIndex(list))
        for few in places.buckets_for(folder):
            if len(few) < MAX_BUDGETS:
                few.append(budget)


def is_scheduler_config(obj: Mapping[str, Any]) -> bool:
    """Return whether an object is a KubeSchedulerConfiguration of some version."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return isinstance(version, str) and (version.rpartition("/")[0], kind) == SCHEDULER_CONFIG


def _runs_cluster_autoscaler(workload: Workload) -> bool:
    containers = object_items(workload.template.spec.get("containers"))
    return any(_name_of(container.get("image")) == AUTOSCALER_IMAGE for container in containers)


def _name_of(image: object) -> str:
    """Return the last part of an image's name, without tag and digest.

    >>> _name_of("registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2")
    'cluster-autoscaler'
    """
    if not isinstance(image, str):
        return ""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
