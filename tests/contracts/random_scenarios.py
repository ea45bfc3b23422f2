"""Random clusters and what happens to them, each made of a seed, and the smallest that do the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final, NamedTuple

from tests.builders import HOSTNAME, ZONE, a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.policies.scheduler import storage_objects as storage

Object = dict[str, Any]

#: The namespaces; storage is of the first.
NAMESPACES: Final = ("shop", "team")
MOST_NODES: Final = 12
MOST_WORKLOADS: Final = 6
_SPOT: Final = {"key": "spot", "value": "true", "effect": "NoSchedule"}
_GONE: Final = [
    {"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")
]


class Case(NamedTuple):
    """A cluster, and what happens to it."""

    items: list[Object]  #: The objects of the cluster.
    events: list[Object]  #: The events, as a request has them.

    def __repr__(self) -> str:
        """Return what happens; the objects are many."""
        names = [f"{obj['kind']} {obj['metadata']['name']}" for obj in self.items]
        return f"Case({self.events}, {names})"


def a_case(seed: int) -> Case:
    """Return the case of a seed."""
    return _Cluster(Random(seed)).case()


def smallest(case: Case, is_so: Callable[[Case], bool]) -> Case:
    """Return a case of which the same is true, and of none that lacks one more object or event."""
    smaller = True
    while smaller:
        smaller = False
        for other in _smaller(case):
            if is_so(other):
                case, smaller = other, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for position in range(len(case.events)):
        yield case._replace(events=case.events[:position] + case.events[position + 1 :])
    for position in reversed(range(len(case.items))):
        yield case._replace(items=case.items[:position] + case.items[position + 1 :])


class _Cluster:
    """Makes a cluster."""

    def __init__(self, random: Random) -> None:
        self._random = random
        zones = "abc"[: random.randint(1, 3)]
        self._nodes = [self._node(number, zones) for number in range(random.randint(2, MOST_NODES))]
        self._names = [node["metadata"]["name"] for node in self._nodes]
        self._zones = zones
        #: The workloads that have a template, and the objects that belong to each.
        self._workloads: list[Object] = []
        self._others: list[Object] = []

    def case(self) -> Case:
        random = self._random
        for number in range(random.randint(1, MOST_WORKLOADS)):
            self._add_workload(number)
        if random.random() < 0.3:
            self._others.append(self._bare_pod())
        items = [*self._nodes, *self._workloads, *self._others]
        events = [self._event() for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]
        return Case(items, [event for event in events if event])

    def _maybe(self, share: float) -> bool:
        return self._random.random() < share

    def _node(self, number: int, zones: str) -> Object:
        random, spec = self._random, dict[str, Any]()
        if self._maybe(0.15):
            spec["taints"] = [_SPOT]
        elif self._maybe(0.08):
            spec["unschedulable"] = True
        elif self._maybe(0.05):
            spec["taints"] = _GONE
        zone = None if self._maybe(0.05) else random.choice(zones)
        return a_node(f"node-{number:02}", zone, cpu=random.choice("1244"), **spec)

    def _spec(self, labels: dict[str, str]) -> Object:
        random = self._random
        requests = random.choice(({}, {}, {"cpu": "500m"}, {"cpu": "1"}, {"cpu": "2"}))
        spec: Object = {"containers": [{"name": "c", "image": "c:1", "resources": {"requests": requests}}]}
        keys = random.sample((ZONE, HOSTNAME), random.choice((0, 1, 1, 2)))
        if spread := [self._constraint(key, labels) for key in keys]:
            spec["topologySpreadConstraints"] = spread
        if self._maybe(0.2):
            spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
        if self._maybe(0.1):
            spec["nodeSelector"] = {ZONE: random.choice(self._zones)}
        if self._maybe(0.1):
            term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
            required = "requiredDuringSchedulingIgnoredDuringExecution"
            spec["affinity"] = {"podAntiAffinity": {required: [term]}}
        if self._maybe(0.25):
            spec["priority"] = random.choice((-10, 100, 1000))
        return spec

    def _constraint(self, key: str, labels: dict[str, str]) -> Object:
        random = self._random
        when = random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"))
        fields: Object = {"labelSelector": {"matchLabels": labels}, "maxSkew": random.randint(1, 2)}
        if when == "DoNotSchedule" and self._maybe(0.2):
            fields["minDomains"] = random.randint(1, 4)
        if self._maybe(0.2):
            fields["nodeTaintsPolicy"] = "Honor"
        return a_constraint(topologyKey=key, whenUnsatisfiable=when, **fields)

    def _add_workload(self, number: int) -> None:
        random = self._random
        kind = random.choice(("Deployment", "Deployment", "StatefulSet", "StatefulSet", "DaemonSet"))
        name, labels = f"w{number}", {"app": f"w{number}"}
        namespace = NAMESPACES[0] if self._maybe(0.7) else NAMESPACES[1]
        spec, uid = self._spec(labels), f"uid-{name}"
        selector = {"matchLabels": labels}
        workload = a_workload(
            kind, labels=labels, selector=selector, spec=spec, name=name, namespace=namespace, uid=uid
        )
        replicas = random.randint(0, 5)
        if kind != "DaemonSet":
            workload["spec"]["replicas"] = replicas
        self._workloads.append(workload)
        if kind == "Deployment":
            limits = random.choice(((1, 0), (0, 1), (1, 1), ("25%", "25%")))
            rolling = dict(zip(("maxSurge", "maxUnavailable"), limits, strict=True))
            workload["spec"]["strategy"] = random.choice(
                ({"type": "RollingUpdate", "rollingUpdate": rolling}, {"type": "Recreate"})
            )
            revision = a_replica_set(workload, "old")
            revision["spec"]["replicas"] = replicas
            self._others.append(revision)
            owner, label = ("apps/v1", "ReplicaSet", f"{name}-old"), {"pod-template-hash": "old"}
        else:
            owner, label = ("apps/v1", kind, name), {"controller-revision-hash": f"{name}-1"}
        if kind == "StatefulSet":
            self._complete_set(workload)
        places = self._places(kind, replicas)
        for ordinal, place in enumerate(places):
            pod_name = f"{name}-{ordinal}" if kind == "StatefulSet" else f"{name}-x{ordinal}"
            pod = a_pod(
                name=pod_name, namespace=namespace, labels=labels | label, owner=owner, spec=deepcopy(spec)
            )
            if kind == "StatefulSet" and workload["spec"].get("volumeClaimTemplates"):
                self._add_claim(pod, place)
            self._others.append(self._bound(pod, place))
        if self._maybe(0.35):
            self._others.append(self._budget(name, namespace, selector))

    def _complete_set(self, workload: Object) -> None:
        spec = workload["spec"]
        spec["podManagementPolicy"] = self._random.choice(("OrderedReady", "Parallel"))
        if self._maybe(0.15):
            spec["updateStrategy"] = {"type": "OnDelete"}
        elif self._maybe(0.15):
            spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        if workload["metadata"]["namespace"] == NAMESPACES[0] and self._maybe(0.3):
            claim = storage.a_claim("data")
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim["spec"]}]
            if not any(obj["kind"] == "StorageClass" for obj in self._others):
                self._others += [storage.a_class(), *map(storage.a_csi_node, self._names)]

    def _add_claim(self, pod: Object, place: str) -> None:
        name = f"data-{pod['metadata']['name']}"
        pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        zone = next((self._zone(node) for node in self._nodes if node["metadata"]["name"] == place), "")
        volume = f"pv-{name}" if place else ""
        self._others.append(storage.a_claim(name, volume))
        if volume:
            self._others.append(storage.a_volume(volume, name, zone))

    @staticmethod
    def _zone(node: Object) -> str:
        return str(node["metadata"]["labels"].get(ZONE, ""))

    def _places(self, kind: str, replicas: int) -> list[str]:
        """Return the node of each pod, empty for one that is pending."""
        random = self._random
        if kind == "DaemonSet":
            return [name for name in self._names if self._maybe(0.9)]
        # A workload that is even, one that is crowded, and anything in between.
        names = random.choice((self._names, self._names[:2], random.sample(self._names, 2)))
        return ["" if self._maybe(0.12) else random.choice(names) for _ in range(replicas)]

    def _bound(self, pod: Object, node: str) -> Object:
        if not node:
            return pod | {"status": {"phase": "Pending"}}
        ready = "False" if self._maybe(0.08) else "True"
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
        if self._maybe(0.03):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return pod | {"spec": {**pod["spec"], "nodeName": node}, "status": status}

    def _bare_pod(self) -> Object:
        pod = a_pod(name="bare", namespace=NAMESPACES[1], labels={"app": "bare"})
        return self._bound(pod, self._random.choice(self._names))

    def _budget(self, name: str, namespace: str, selector: Object) -> Object:
        wants = self._random.choice(
            (
                {"minAvailable": 1},
                {"minAvailable": 2},
                {"minAvailable": "50%"},
                {"maxUnavailable": 1},
                {"maxUnavailable": 0},
                {"maxUnavailable": "30%"},
            )
        )
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": selector, **wants},
        }

    def _event(self) -> Object | None:
        makers = (
            *(self._apply,) * 4,
            self._scale,
            self._restart,
            self._remove,
            self._delete,
            self._evict,
            *(self._lose,) * 2,
            *(self._drain,) * 3,
            self._cordon,
            self._taint,
            self._label,
            self._add,
        )
        return self._random.choice(makers)()

    def _target(self, *kinds: str) -> Object | None:
        those = [each for each in self._workloads if each["kind"] in kinds]
        return self._random.choice(those) if those else None

    @staticmethod
    def _named(obj: Object) -> Object:
        metadata = obj["metadata"]
        return {"kind": obj["kind"], "namespace": metadata["namespace"], "name": metadata["name"]}

    def _apply(self) -> Object | None:
        stored = self._target("Deployment", "StatefulSet")
        if stored is None:
            return None
        manifest, random = deepcopy(stored), self._random
        del manifest["metadata"]["uid"]
        spec = manifest["spec"]["template"]["spec"]
        spread = spec.get("topologySpreadConstraints", [])
        match random.choice(("image", "skew", "policy", "replicas", "cpu", "none")):
            case "image":
                spec["containers"][0]["image"] = "c:2"
            case "skew" if spread:
                spread[0]["maxSkew"] = random.randint(1, 3)
            case "policy" if spread:
                spread[0]["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
            case "cpu":
                spec["containers"][0]["resources"] = {"requests": {"cpu": random.choice("124")}}
            case "replicas":
                manifest["spec"]["replicas"] = random.randint(0, 7)
            case "none":
                spec.pop("topologySpreadConstraints", None)
        if self._maybe(0.1):
            manifest["metadata"]["name"] = "added"
        return {"apply": manifest}

    def _scale(self) -> Object | None:
        target = self._target("Deployment", "StatefulSet")
        number = (
            {"to": self._random.randint(0, 7)} if self._maybe(0.5) else {"by": self._random.choice((1, 2))}
        )
        return target and {"scale": {**self._named(target), **number}}

    def _restart(self) -> Object | None:
        target = self._target("Deployment", "StatefulSet")
        return target and {"restart": self._named(target)}

    def _remove(self) -> Object | None:
        target = self._target("Deployment", "StatefulSet")
        return target and {"remove": self._named(target)}

    def _pod(self) -> Object | None:
        pods = [each for each in self._others if each["kind"] == "Pod"]
        if not pods:
            return None
        metadata = self._random.choice(pods)["metadata"]
        return {"namespace": metadata["namespace"], "name": metadata["name"]}

    def _delete(self) -> Object | None:
        pod = self._pod()
        return pod and {"delete": pod}

    def _evict(self) -> Object | None:
        pod = self._pod()
        return pod and {"evict": pod}

    def _lose(self) -> Object | None:
        zones = sorted(filter(None, map(self._zone, self._nodes)))
        unreachable = {"unreachable": True} if self._maybe(0.2) else {}
        if zones and self._maybe(0.5):
            return {"lose": {"topologyKey": ZONE, "value": self._random.choice(zones), **unreachable}}
        return {"lose": {"topologyKey": HOSTNAME, "value": self._random.choice(self._names), **unreachable}}

    def _drain(self) -> Object:
        return {"drain": self._random.choice(self._names)}

    def _cordon(self) -> Object:
        return {self._random.choice(("cordon", "uncordon")): self._random.choice(self._names)}

    def _taint(self) -> Object:
        effect = self._random.choice(("NoSchedule", "NoExecute"))
        return {
            "taint": {
                "node": self._random.choice(self._names),
                "key": "spot",
                "value": "true",
                "effect": effect,
            }
        }

    def _label(self) -> Object:
        zone = self._random.choice("abcd")
        return {"label": {"node": self._random.choice(self._names), "key": ZONE, "value": zone}}

    def _add(self) -> Object:
        return {"add": {"like": self._random.choice(self._names), "count": self._random.randint(1, 2)}}


def kinds_of(cases: Sequence[Case]) -> set[str]:
    """Return what happens in cases."""
    return {name for case in cases for event in case.events for name in event}
