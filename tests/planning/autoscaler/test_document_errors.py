"""Rubbish in documents that describe an autoscaler's nodes: each error is told, whatever else is wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from copy import deepcopy
from itertools import combinations
from typing import Any, TypeAlias

import pytest
import yaml

from planning.autoscaler.sources import AutoscalerReader
from policies.config.form import form_errors
from policies.config.node_groups import InstanceTypes, NodeGroups
from policies.scheduler.index import ClusterIndex

Way: TypeAlias = tuple[str | int, ...]
#: The documents that are checked against a schema.
FORMS: dict[str, type] = {"NodeGroups": NodeGroups, "InstanceTypes": InstanceTypes}
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general, labels: {team: web}, annotations: {why: spot}}
spec:
  weight: 10
  limits: {cpu: "40"}
  replicas: 3
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 1m
    budgets: [{nodes: 10%, reasons: [Empty], schedule: "@daily", duration: 10m}]
  template:
    metadata: {labels: {team: web}, annotations: {why: spot}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: Never
      terminationGracePeriod: 1h30m
      taints: [{key: team, value: data, effect: NoSchedule}]
      startupTaints: [{key: start, effect: NoExecute}]
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand], minValues: 1}
      - {key: generation, operator: Gt, values: ["3"]}
"""
GROUPS = """\
apiVersion: evenkeel.dev/v1alpha1
kind: NodeGroups
expanders: [priority, least-waste]
priorities: [{priority: 50, names: [".*spot.*"]}]
balanceSimilarNodeGroups: true
maxNodesTotal: 100
cloudProvider: aws
scaleDown: {utilizationThreshold: 0.5, maxParallelism: 10, skipNodesWithSystemPods: true}
groups:
- name: web-a
  zone: a
  labels: {pool: web}
  taints: [{key: team, value: data, effect: NoSchedule}]
  allocatable: {cpu: 3920m, memory: 14Gi, pods: "58"}
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
  minSize: 1
  maxSize: 10
  size: 3
"""
TYPES = """\
apiVersion: evenkeel.dev/v1alpha1
kind: InstanceTypes
instanceTypes:
- name: m6i.xlarge
  labels: {karpenter.k8s.aws/instance-family: m6i}
  allocatable: {cpu: 3920m, memory: 14Gi, pods: "58"}
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
  offerings:
  - {zones: [a, b], price: 0.19}
  - {zones: [a], capacityType: spot, price: 0.08}
"""
DOCUMENTS = {"NodePool": POOL, "NodeGroups": GROUPS, "InstanceTypes": TYPES}
RUBBISH: tuple[object, ...] = (
    3,
    -1,
    1.5,
    "",
    "x y!",
    True,
    [],
    [3],
    {},
    {"x": 1},
    [{}],
    [None],
    10**30,
    "☃",
    math.nan,
)
#: The fields of which one is judged by the other.
TOGETHER = ({"operator", "values"}, {"minSize", "maxSize"})
#: Pairs of mistakes that are tried of each document.
MOST_PAIRS = 600


def ways(value: object, way: Way = ()) -> Iterator[Way]:
    """Yield the way to each value of a document."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in entries:
        yield (*way, key)
        yield from ways(child, (*way, key))


def put(document: dict[str, Any], way: Way, value: object) -> dict[str, Any]:
    """Return a document with another value."""
    copy = deepcopy(document)
    node: Any = copy
    for segment in way[:-1]:
        node = node[segment]
    node[way[-1]] = value
    return copy


def errors(document: dict[str, Any]) -> set[str]:
    """Return the errors of a document."""
    return {str(error) for error in AutoscalerReader(ClusterIndex()).take(document)}


def mistakes(document: dict[str, Any]) -> list[tuple[Way, object, set[str]]]:
    """Return each piece of rubbish that is told by itself, with the errors."""
    places = [way for way in ways(document) if way[0] not in ("apiVersion", "kind")]
    tried = [(way, rubbish, errors(put(document, way, rubbish))) for way in places for rubbish in RUBBISH]
    return [entry for entry in tried if entry[2]]


def are_apart(one: Way, other: Way) -> bool:
    """Return whether neither of two values is a part of the other, nor judged by it."""
    nested = one[: len(other)] == other or other[: len(one)] == one
    names = {str(segment).rpartition("/")[2] for segment in (*one, *other)}
    return not nested and not any(pair <= names for pair in TOGETHER)


def told_first(document: Any, *several: tuple[Way, Any, set[str]]) -> set[str]:
    """Return the errors of mistakes in the form of a document, or of all where none is one."""
    kind = FORMS.get(document["kind"])
    of_form = [each for each in several if kind is not None and form_errors(kind, put(document, *each[:2]))]
    return set().union(*(each[2] for each in of_form or several))


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_all_errors_at_once(text: str) -> None:
    """Of two mistakes in different fields each is told as if it were alone; those of the form come first."""
    document = yaml.safe_load(text)
    assert not errors(document)
    found = mistakes(document)
    pairs = [pair for pair in combinations(found, 2) if are_apart(pair[0][0], pair[1][0])]
    random.Random(1).shuffle(pairs)
    lost = [
        (one[:2], other[:2], missing)
        for one, other in pairs[:MOST_PAIRS]
        if (missing := told_first(document, one, other) - errors(put(put(document, *one[:2]), *other[:2])))
    ]

    assert len(found) > 100
    assert [] == lost


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_rubbish_of_every_type(text: str) -> None:
    """No field takes a list, an object, a number and a text alike: what it cannot be is told."""
    document = yaml.safe_load(text)
    places = {way for way in ways(document) if way[0] not in ("apiVersion", "kind")}
    told = {way for way, _, _ in mistakes(document)}

    assert set() == places - told


@pytest.mark.parametrize("name", ["NodePool", "NodeGroups", "InstanceTypes"])
def test_unknown_fields(name: str) -> None:
    """A field that is misspelled is told in every object but those of free keys."""
    document = yaml.safe_load(DOCUMENTS[name])
    free = {"labels", "annotations", "limits", "allocatable", "capacity", "metadata"}
    places = [way for way in ways(document) if isinstance(value_at(document, way), dict)]
    silent = [
        way for way in places if way[-1] not in free and not errors(put(document, (*way, "misspelled"), "x"))
    ]

    assert len(places) > 3
    assert [] == silent


def value_at(document: dict[str, Any], way: Way) -> object:
    """Return a value of a document."""
    node: Any = document
    for segment in way:
        node = node[segment]
    return node


@pytest.mark.parametrize(
    ("requirement", "fields"),
    [
        pytest.param(
            {"key": "a", "operator": "Is", "values": 3}, ["operator", "values"], id="values: 3, no operator"
        ),
        pytest.param({"operator": "In", "values": []}, ["key", "values"], id="no key and no values"),
        pytest.param(
            {"key": 5, "operator": "Exists", "values": ["x"], "minValues": 51},
            ["key", "values", "minValues"],
            id="a key that is no text, a value of Exists, minValues 51",
        ),
        pytest.param(
            {"key": "a", "operator": "In", "values": False}, ["values"], id="values: false is no list"
        ),
    ],
)
def test_requirements(requirement: dict[str, Any], fields: list[str]) -> None:
    """Every error of a requirement is told with its field."""
    document = put(yaml.safe_load(POOL), ("spec", "template", "spec", "requirements", 0), requirement)
    told = [error.partition(": ")[0] for error in sorted(errors(document))]

    assert sorted(f"spec.template.spec.requirements[0].{field}" for field in fields) == told
