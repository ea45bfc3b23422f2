"""Hypothesis strategies for what the whole profile looks at: terms between pods, host ports and images."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from tests.policies.scheduler.oracle_affinity import PREFERRED, REQUIRED
from tests.policies.scheduler.oracle_configuration import IMPLEMENTS, POINTS
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


_PLUGINS = tuple(IMPLEMENTS)
_weights = st.sampled_from((None, 0, 1, 2, 7, 100, -3))
_resources = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(
                ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "pods", "odd")
            )
        },
        optional={"weight": st.sampled_from((0, 1, 3, 100))},
    ),
    max_size=4,
)
_shapes = st.dictionaries(st.integers(0, 100), st.integers(0, 10), min_size=1, max_size=4).map(
    lambda points: [{"utilization": at, "score": points[at]} for at in sorted(points)]
)
_strategies = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"type": st.sampled_from(("LeastAllocated", "MostAllocated"))}, optional={"resources": _resources}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("RequestedToCapacityRatio"),
            "requestedToCapacityRatio": st.fixed_dictionaries({"shape": _shapes}),
        },
        optional={"resources": _resources},
    ),
)
_node_terms = st.lists(
    st.fixed_dictionaries(
        {
            "matchExpressions": st.lists(
                st.sampled_from(
                    (
                        {"key": ZONE, "operator": "In", "values": ["a", "b"]},
                        {"key": "rack", "operator": "Exists"},
                        {"key": ZONE, "operator": "NotIn", "values": ["a"]},
                    )
                ),
                max_size=2,
            )
        },
        optional={"matchFields": st.just([{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}])},
    ),
    max_size=2,
)
_added_affinity = st.fixed_dictionaries(
    {},
    optional={
        REQUIRED: _node_terms.map(lambda terms: {"nodeSelectorTerms": terms}),
        PREFERRED: _node_terms.map(
            lambda terms: [{"weight": 10 * at, "preference": term} for at, term in enumerate(terms)]
        ),
    },
)
_arguments = st.fixed_dictionaries(
    {},
    optional={
        "NodeResourcesFit": st.fixed_dictionaries(
            {"scoringStrategy": _strategies},
            optional={
                "ignoredResources": st.just(["example.com/gpu", "cpu"]),
                "ignoredResourceGroups": st.just(["example.com"]),
            },
        ),
        "NodeResourcesBalancedAllocation": _resources.map(
            lambda entries: {"resources": [{"name": name} for name in {each["name"]: 0 for each in entries}]}
        ),
        "InterPodAffinity": st.fixed_dictionaries(
            {},
            optional={
                "hardPodAffinityWeight": st.sampled_from((None, 0, 1, 50, 100)),
                "ignorePreferredTermsOfExistingPods": st.booleans(),
            },
        ),
        "NodeAffinity": st.fixed_dictionaries({"addedAffinity": _added_affinity}),
    },
)


@st.composite
def plugin_sets(draw: st.DrawFn) -> Object:
    """Draw ``plugins`` of a profile that kube-scheduler accepts: some enabled again, some disabled."""
    plugins: Object = {}
    for point in draw(st.lists(st.sampled_from(("multiPoint", *POINTS)), unique=True, max_size=3)):
        letter = POINTS.get(point, "")
        able = [name for name in _PLUGINS if letter in IMPLEMENTS[name]]
        enabled = draw(st.lists(st.sampled_from(able), unique=True, max_size=3))
        disabled = draw(st.lists(st.sampled_from((*able, "*")), unique=True, max_size=2))
        plugins[point] = {
            "enabled": [{"name": name, "weight": draw(_weights)} for name in enabled],
            "disabled": [{"name": name} for name in disabled],
        }
    # Whatever else is disabled, a profile needs these two.
    plugins["queueSort"] = {"enabled": [{"name": "PrioritySort"}]}
    plugins["bind"] = {"enabled": [{"name": "DefaultBinder"}]}
    return plugins


@st.composite
def scheduler_profiles(draw: st.DrawFn) -> Object:
    """Draw a profile of a KubeSchedulerConfiguration without errors."""
    arguments = draw(_arguments)
    config = [{"name": name, "args": args} for name, args in arguments.items()]
    return {"plugins": draw(plugin_sets()), "pluginConfig": config}
