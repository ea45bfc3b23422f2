"""A workload as rules look at it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from policies.config.subject import Subject
from policies.config.workload_loader import workload_of
from policies.model.declared import Workload, titles
from policies.model.match_label_keys import Merge
from policies.model.version import KNOWN_VERSION
from policies.model.workload import WorkloadKinds
from policies.scheduler.releases import behavior_of

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{operator: Exists}]
      topologySpreadConstraints:
        - {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
        - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}
"""


def declared(**spec: Any) -> Workload:
    """Return the Deployment with some fields of its spec changed."""
    obj = yaml.safe_load(DEPLOYMENT)
    obj["spec"] |= spec
    kind = WorkloadKinds().find("apps", "Deployment")
    assert kind is not None
    subject = Subject.read(obj, kind, "shop")
    return workload_of(
        subject, errors=subject.errors(Merge.BEFORE, strict=True), behavior=behavior_of(KNOWN_VERSION)
    )


def test_only_constraints_without_errors() -> None:
    """A constraint that the API server refuses is told as an error, and no rule looks at it."""
    workload = declared()

    assert ["spec.template.spec.topologySpreadConstraints[1]"] == [
        str(entry.path) for entry in workload.constraints
    ]
    assert ["max-skew-not-positive"] == [error.rule for error in workload.errors]
    assert workload.constraints[0].is_hard


def test_what_decides_where_its_pods_go() -> None:
    """Title, selector, affinity and tolerations come from where the kind keeps them."""
    workload = declared()

    assert "Deployment web" == workload.title
    assert "app=web" == str(workload.selector)
    assert workload.affinity.matches("n", {"disk": "ssd"})
    assert ["Exists"] == [toleration.operator for toleration in workload.tolerations]


@pytest.mark.parametrize(("value", "replicas"), [(3, 3), (0, 0), (None, 1), ("3", None), (True, None)])
def test_replicas(value: object, replicas: int | None) -> None:
    """Absent replicas are one; of those of the wrong type nothing is known."""
    assert replicas == declared(replicas=value).replicas


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["a"], ["Deployment web"], id="1"),
        pytest.param(["a", "a"], ["Deployment web"], id="2 of one folder"),
        pytest.param(["a", ""], ["Deployment web in a and ."], id="2 of two folders"),
        pytest.param(list("abcde"), ["Deployment web in a and b and c"], id="5: three are named"),
    ],
)
def test_titles(folders: list[str], expected: list[str]) -> None:
    """Workloads of one name are told once, with the folders that tell them apart."""
    assert expected == titles(replace(declared(), folder=folder) for folder in folders)
