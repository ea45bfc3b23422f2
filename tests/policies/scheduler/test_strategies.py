"""The strategies draw clusters that are valid for the API and varied; and the oracle's laws, on those."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.manifests.fields import FieldPath
from policies.model.labels import label_selector_errors
from policies.model.validation import constraint_errors, default_constraint_errors
from tests.policies.scheduler.oracle import judge
from tests.policies.scheduler.oracle_constraints import Behavior
from tests.policies.scheduler.strategies import arguments, case_of, cases, pending_pods
from tests.policies.scheduler.strategies_events import Event, events, identity, surviving

PATH = FieldPath(("spec",))
BEHAVIORS = st.builds(
    Behavior,
    min_domains=st.booleans(),
    inclusion_policies=st.booleans(),
    match_label_keys=st.booleans(),
    empty_selector_counts=st.booleans(),
)
#: How often, in 500 examples, each answer must come for the strategies to be worth their time. Arbitrary.
OFTEN_ENOUGH = 5


@given(cases())
def test_valid(case: dict[str, Any]) -> None:
    """The API server and kube-scheduler would take every constraint, default and selector."""
    pod = case["pod"]
    own = pod["spec"].get("topologySpreadConstraints")
    selectors = [owner["spec"]["selector"] for owner in case["replicaSets"] + case["statefulSets"]]

    assert [] == constraint_errors(own, PATH, labels=pod["metadata"].get("labels", {}))
    assert [] == default_constraint_errors(case["args"], PATH)
    assert [] == [error for selector in selectors for error in label_selector_errors(selector, PATH)]


@given(cases(), BEHAVIORS)
def test_order_and_the_unseen(case: dict[str, Any], behavior: Behavior) -> None:
    """No order of objects matters, nor do pods that are unbound, finished or on no known node."""
    names = {node["metadata"]["name"] for node in case["nodes"]}
    reordered = {name: value[::-1] if isinstance(value, list) else value for name, value in case.items()}
    reordered["pods"] = [
        pod
        for pod in reordered["pods"]
        if pod["spec"].get("nodeName") in names and pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]

    assert judge(case, behavior) == judge(reordered, behavior)


@given(cases())
def test_merge(case: dict[str, Any]) -> None:
    """The API server's merge of matchLabelKeys into the selector changes no answer."""
    spec, labels = case["pod"]["spec"], case["pod"]["metadata"].get("labels", {})
    merged = [merge(constraint, labels) for constraint in spec.get("topologySpreadConstraints") or ()]
    pod = case["pod"] | {"spec": spec | {"topologySpreadConstraints": merged}}

    assert judge(case) == judge(case | {"pod": pod})


def merge(constraint: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Return a constraint as kube-apiserver 1.34 and later store it."""
    added = [
        {"key": key, "operator": "In", "values": [labels[key]]}
        for key in constraint.get("matchLabelKeys", ())
        if key in labels
    ]
    if not added:
        return constraint
    selector = constraint["labelSelector"]
    expressions = [*selector.get("matchExpressions", ()), *added]
    return constraint | {"labelSelector": selector | {"matchExpressions": expressions}}


@given(cases(), BEHAVIORS)
def test_answers(case: dict[str, Any], behavior: Behavior) -> None:
    """Every node is answered; scores are for feasible ones only, from 0 to 100."""
    verdict = judge(case, behavior)
    scored = {name: node for name, node in verdict["nodes"].items() if "score" in node}
    feasible = {name for name, node in verdict["nodes"].items() if node["feasible"]}

    assert {node["metadata"]["name"] for node in case["nodes"]} == verdict["nodes"].keys()
    assert (feasible if verdict["preScore"] == "Success" else set()) == scored.keys()
    assert all(0 <= node["score"] <= 100 for node in scored.values())


@given(events(), pending_pods(), arguments())
def test_events(history: list[Event], pod: dict[str, Any], args: dict[str, Any]) -> None:
    """A history leaves one state of each object, which the oracle can judge."""
    objects = surviving(history)
    last = {identity(obj): verb for verb, obj in history}

    assert {key for key, verb in last.items() if verb == "apply"} == {identity(obj) for obj in objects}
    assert len(set(map(identity, objects))) == len(objects)
    assert judge(case_of(objects, pod=pod, args=args))


@pytest.mark.slow
def test_variety() -> None:
    """Every answer that a plugin can give comes up often enough."""
    seen: Counter[str] = Counter()

    @settings(max_examples=500, derandomize=True, database=None)
    @given(cases())
    def collect(case: dict[str, Any]) -> None:
        seen.update(traits(judge(case)))

    collect()
    wanted = {
        "nodeUnschedulable",
        "nodeName",
        "taintToleration",
        "nodeAffinity",
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "Insufficient example.com/gpu",
        "Insufficient hugepages-2Mi",
        "Unschedulable",
        "UnschedulableAndUnresolvable",
        "only spread",
        "several scores",
    }

    assert [] == sorted(trait for trait in wanted if seen[trait] < OFTEN_ENOUGH)


def traits(verdict: dict[str, Any]) -> set[str]:
    """Return the features of a result."""
    found = set()
    for answer in verdict["nodes"].values():
        found |= {plugin for plugin, reason in answer.items() if isinstance(reason, str)}
        found |= set(answer.get("nodeResourcesFit", "").split(", "))
        found.add(answer.get("podTopologySpreadCode", ""))
        if answer.keys() == {"podTopologySpread", "podTopologySpreadCode", "feasible"}:
            found.add("only spread")
    if len({answer.get("score") for answer in verdict["nodes"].values() if answer["feasible"]}) > 1:
        found.add("several scores")
    return found
