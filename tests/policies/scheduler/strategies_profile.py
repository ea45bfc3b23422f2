"""Hypothesis strategies for what the whole profile looks at: terms between pods, host ports and images."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from tests.policies.scheduler.oracle_affinity import PREFERRED, REQUIRED
from tests.policies.scheduler.strategies import cases
from tests.policies.scheduler.strategies_constraints import HOSTNAME, ZONE

Object = dict[str, Any]

_selectors = st.sampled_from(
    (
        None,
        {},
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b"}},
        {"matchExpressions": [{"key": "rev", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
    )
)
_namespace_selectors = st.sampled_from(
    (
        None,
        None,
        {},
        {"matchLabels": {"team": "red"}},
        {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
    )
)
_terms = st.fixed_dictionaries(
    {
        "topologyKey": st.sampled_from((ZONE, HOSTNAME, "rack", "nosuch")),
        "labelSelector": _selectors,
        "namespaceSelector": _namespace_selectors,
        "namespaces": st.sampled_from(([], [], ["shop"], ["default", "shop"])),
    }
)
_weighted = st.fixed_dictionaries({"weight": st.sampled_from((1, 50, 100)), "podAffinityTerm": _terms})
_sides = st.fixed_dictionaries(
    {REQUIRED: st.lists(_terms, max_size=2), PREFERRED: st.lists(_weighted, max_size=2)}
)
#: Most pods have none.
affinities: st.SearchStrategy[Object] = st.one_of(
    st.just({}),
    st.just({}),
    st.fixed_dictionaries({}, optional={"podAffinity": _sides, "podAntiAffinity": _sides}),
)
_merged_keys = st.sampled_from(({}, {}, {"matchLabelKeys": ["rev"]}, {"mismatchLabelKeys": ["tier"]}))
ports = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.just(80), "hostPort": st.sampled_from((80, 81, 0))},
        optional={
            "protocol": st.sampled_from(("TCP", "UDP")),
            "hostIP": st.sampled_from(("127.0.0.1", "0.0.0.0")),  # nothing listens
        },
    ),
    max_size=2,
)
_images = st.sampled_from(("web", "web:1", "registry:5000/web", "db:2", ""))
_node_images = st.lists(
    st.fixed_dictionaries(
        {
            "names": st.lists(
                st.sampled_from(("web:latest", "web:1", "registry:5000/web:latest", "db:2")), max_size=2
            ),
            "sizeBytes": st.sampled_from((1, 30 * 2**20, 400 * 2**20, 2**32)),
        }
    ),
    max_size=2,
)
namespaces = st.sampled_from(
    ([], [("default", {}), ("shop", {"team": "red"})], [("default", {"team": "red"}), ("shop", {})])
)
_preferred_nodes = st.one_of(
    st.none(),
    st.lists(
        st.fixed_dictionaries({"weight": st.sampled_from((1, 60)), "preference": st.just({})}), max_size=1
    ),
)


@st.composite
def profile_cases(draw: st.DrawFn) -> Object:
    """Draw a case of ``cases`` whose pods have terms and ports, and whose nodes have images."""
    case = copy.deepcopy(draw(cases()))
    listed = draw(namespaces)
    case["namespaces"] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in listed
    ]
    for pod in case.get("pods") or ():
        _decorate(draw, pod)
    pod = case["pod"]
    _decorate(draw, pod)
    for container in pod["spec"].get("containers") or ():
        container["image"] = draw(_images)
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in (pod["spec"].get("affinity") or {}).get(kind, {}).get(REQUIRED) or ():
            term.update(draw(_merged_keys))
    for node in case.get("nodes") or ():
        node.setdefault("status", {})["images"] = draw(_node_images)
    return case


def _decorate(draw: st.DrawFn, pod: Object) -> None:
    spec = pod["spec"]
    # What is drawn is shared, within a pod too, and changed by merges.
    added = json.loads(json.dumps(draw(affinities)))
    if added:
        spec["affinity"] = {**(spec.get("affinity") or {}), **added}
    if spec.get("containers"):
        spec["containers"][0]["ports"] = draw(ports)
