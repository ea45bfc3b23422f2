"""Rules over objects in which anything may stand anywhere."""

from __future__ import annotations

from itertools import product
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from policies.config.context import AdmissionContext
from policies.lint.run import lint
from policies.lint.workload_loader import load_manifests
from policies.manifests.documents import Document, ManifestObject
from policies.manifests.fields import FieldPath
from policies.model.node import Node
from policies.model.topology import ClusterTopology
from policies.rules.base import Context, RuleTarget, ToolParams, all_rules
from tests.examples import examples
from tests.hostile import broken_copies

WORKLOAD: dict[str, Any] = yaml.safe_load("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{key: gpu, operator: Exists}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      topologySpreadConstraints:
        - maxSkew: 9
          topologyKey: zone
          whenUnsatisfiable: DoNotSchedule
          minDomains: 2
          labelSelector: {matchExpressions: [{key: pod-template-hash, operator: In, values: [a]}]}
          matchLabelKeys: [pod-template-hash, app, app]
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
      containers: [{name: web, image: web, resources: {requests: {cpu: 1}}}]
""")
OTHERS: list[dict[str, Any]] = list(
    yaml.safe_load_all("""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 9}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 100%, selector: {matchLabels: {app: web}}}
""")
)
NODES = tuple(
    Node(name, {"zone": name, "disk": "ssd"}, (), unschedulable=False, allocatable={"cpu": 4000, "pods": 10})
    for name in ("a", "b")
)


@examples(200)
@given(st.data())
def test_rules_take_anything(data: st.DataObject) -> None:
    """Whatever an object contains, a run ends with findings and not with an exception."""
    objects = [WORKLOAD, *OTHERS]
    position = data.draw(st.integers(0, len(objects) - 1))
    objects[position] = data.draw(broken_copies(objects[position]))
    manifests = [_manifest(obj, index) for index, obj in enumerate(objects)]

    for inventory in (None, ClusterTopology(NODES), ClusterTopology(None, {"zone": ("a", "b")})):
        result = lint(manifests, AdmissionContext(policies=()), inventory=inventory)
        assert [] == [finding for finding in result.findings if not finding.message]


@examples(100)
@given(
    broken_copies(WORKLOAD),
    st.sampled_from(["Deployment", "DaemonSet", "StatefulSet"]),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    st.sets(st.sampled_from(["affinity", "nodeSelector", "minDomains", "matchLabelKeys", "labelSelector"])),
)
def test_rules_find_nothing_without_the_parts_that_they_need(
    obj: dict[str, Any], kind: str, action: str, left_out: set[str]
) -> None:
    """A rule that is not run on a workload, for want of the parts that it needs, would find nothing in it."""
    obj = _without(obj, left_out, action) | {"kind": kind}
    manifests = [_manifest(each, index) for index, each in enumerate([obj, *OTHERS])]
    loaded = load_manifests(manifests, AdmissionContext(policies=()))

    for inventory in (None, ClusterTopology(NODES)):
        given_to = Context(repository=loaded.repository, inventory=inventory)
        for workload, rule in product(loaded.workloads, all_rules().values()):
            has = workload.parts | workload.broken_rules
            if rule.target is RuleTarget.WORKLOAD and not rule.may_find(has):
                assert [] == rule.run(
                    workload, given_to, {"inUse": True} if rule.params is ToolParams else {}
                )


def _without(value: Any, names: set[str], action: str) -> Any:
    """Return a copy without some members, at any depth, whose constraints have another action."""
    if isinstance(value, dict):
        return {key: _without(inner, names, action) for key, inner in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(inner, names, action) for inner in value]
    return action if value == "DoNotSchedule" else value


def _manifest(obj: dict[str, Any], index: int) -> ManifestObject:
    return ManifestObject(obj, FieldPath(), Document(obj, "test.yaml", index))
