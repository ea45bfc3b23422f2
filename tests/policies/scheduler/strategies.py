"""Hypothesis strategies for small, nasty clusters, pods and arguments, as raw API objects.

All that is drawn is what the API server would take, out of vocabularies so small that labels, taints, names
and amounts keep meeting each other. Parts of what is drawn are shared: whoever changes an object copies it.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from tests.policies.scheduler.strategies_constraints import (
    HOSTNAME,
    ZONE,
    constraints,
    default_constraints,
    selectors,
)
from tests.policies.scheduler.strategies_resources import allocatables, resize_statuses, resources
from tests.policies.scheduler.strategies_scheduling import (
    GENERATIONS,
    NODE_NAMES,
    node_choices,
    taint_lists,
    toleration_lists,
)

Object = dict[str, Any]

OWNER_KINDS = (("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"))
#: Where a case keeps the objects of each kind.
CASE_LISTS = {
    "Node": "nodes",
    "Pod": "pods",
    "Service": "services",
    "ReplicationController": "replicationControllers",
    "ReplicaSet": "replicaSets",
    "StatefulSet": "statefulSets",
}

GONE: Object = {"phase": "Running", "deletionTimestamp": "2026-01-01T00:00:00Z"}

_namespaces = st.sampled_from((*("default",) * 7, "shop"))
#: Labels of pods. Most match most selectors.
_labels: st.SearchStrategy[Object] = st.sampled_from(
    (
        {"app": "a"},
        {"app": "a"},
        {"app": "a", "rev": "1"},
        {"app": "a", "rev": "1"},
        {"app": "a", "rev": "2", "tier": "web"},
        {"app": "b", "tier": "web"},
        {"app": "b", "rev": "2"},
        {"app": "b"},
        {"app": "a", "tier": ""},
        {"app": ""},
        {},
    )
)
#: Where pods are: mostly on a node, else on one that is gone, or on none.
_places = st.sampled_from((*NODE_NAMES * 3, "gone", None))
#: The rest of an existing pod: most are running; others do not count, or not in all respects.
_circumstances: st.SearchStrategy[Object] = st.sampled_from(
    (
        *({"phase": "Running"},) * 9,
        {"phase": "Pending"},
        {"phase": "Unknown"},
        {},
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        GONE,
        GONE,
        GONE | {"phase": "Failed"},
    )
)
#: Nodes' labels but the host's name and ``gen``: any may be absent, and the zone empty.
_topologies = st.sampled_from(
    [
        {key: value for key, value in ((ZONE, zone), ("rack", rack)) if value is not None}
        for zone, rack in product(("a", "a", "b", "b", "c", "", None), ("r1", "r2", None))
    ]
)
_generations = st.sampled_from((*(None,) * 6, *GENERATIONS))
_cordons = st.sampled_from((*(None,) * 16, False, True))
_node_names = st.sampled_from(
    (*(NODE_NAMES[:count] for count in (3, 4, 5, 5, 4, 3, 4, 5, 2, 1, 0)), NODE_NAMES[::-1])
)
#: The resize in the status of a pod; mostly none.
_resizes: st.SearchStrategy[Object] = st.one_of(st.just({}), st.just({}), st.just({}), resize_statuses())
_requested_nodes = st.sampled_from((*(None,) * 20, "n1"))
#: The controller of the pod: of a kind that the defaults look at, or of none such.
_controllers = st.sampled_from(
    (None, *OWNER_KINDS * 2, *OWNER_KINDS[:1] * 3, ("batch/v1", "Job"), ("extensions/v1beta1", "ReplicaSet"))
)
_owner_names = st.sampled_from((*("owner",) * 6, "missing"))
_own_constraints = st.one_of(constraints(), constraints(), st.none())
_service_selectors: st.SearchStrategy[Any] = st.sampled_from(
    (*({"app": "a"},) * 4, {"app": "b"}, {"tier": ""}, {}, None)
)
_pairs: st.SearchStrategy[Object] = st.sampled_from(({"app": "b"}, {"app": "b"}, {"app": "a", "rev": "1"}))
_coins = st.booleans()
_defaults = st.sampled_from((True, True, True, False))
_group_counts = st.sampled_from((9, 6, 12, 3, 0))
_group_sizes = st.integers(1, 4)


def without_nones(**fields: Any) -> Object:
    """Return an object of the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


@cache
def nodes(name: str) -> st.SearchStrategy[Object]:
    """Draw a node: labels may lack, be empty or, even the host name's, be shared with other nodes."""
    hostnames = st.sampled_from((*(name,) * 6, "shared", "", None))

    @st.composite
    def node(draw: st.DrawFn) -> Object:
        own = {HOSTNAME: draw(hostnames), "gen": draw(_generations)}
        labels = {key: value for key, value in own.items() if value is not None} | draw(_topologies)
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": without_nones(unschedulable=draw(_cordons), taints=draw(taint_lists()) or None),
            "status": {"allocatable": draw(allocatables())},
        }

    return node()


@cache
@st.composite
def bound_pods(draw: st.DrawFn, name: str) -> Object:
    """Draw a pod that is there: on a node, on none, on one that is gone, finished or on its way out."""
    circumstances = draw(_circumstances)
    metadata = without_nones(
        name=name,
        namespace=draw(_namespaces),
        labels=draw(_labels) or None,
        deletionTimestamp=circumstances.get("deletionTimestamp"),
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": without_nones(nodeName=draw(_places), **draw(resources())),
        "status": draw(_resizes) | without_nones(phase=circumstances.get("phase")),
    }


@cache
@st.composite
def pending_pods(draw: st.DrawFn) -> Object:
    """Draw the pod to be placed, with constraints of its own or without."""
    metadata = without_nones(
        name="incoming",
        namespace=draw(_namespaces),
        labels=draw(_labels) or None,
        ownerReferences=draw(owner_references()) or None,
    )
    spec = without_nones(
        topologySpreadConstraints=draw(_own_constraints),
        nodeName=draw(_requested_nodes),
        tolerations=draw(toleration_lists()) or None,
        **draw(node_choices()),
        **draw(resources()),
    )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@cache
@st.composite
def owner_references(draw: st.DrawFn) -> list[Object]:
    """Draw owners: none, or a controller, behind another owner that does not control or alone."""
    kind = draw(_controllers)
    if kind is None:
        return []
    owner = {"apiVersion": kind[0], "kind": kind[1]}
    references = [{**owner, "name": draw(_owner_names), "uid": "u1", "controller": True}]
    return [{**owner, "name": "owner", "uid": "u0"}, *references] if draw(_coins) else references


@cache
@st.composite
def services(draw: st.DrawFn, name: str) -> Object:
    """Draw a service, which may select nothing or, with an empty selector, everything."""
    metadata = {"name": name, "namespace": draw(_namespaces)}
    spec = without_nones(selector=draw(_service_selectors))
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


@cache
@st.composite
def owners(draw: st.DrawFn, kind: tuple[str, str]) -> Object:
    """Draw the controller ``owner`` of a kind; its selector may contradict a service's, or the pod."""
    plain = kind[1] == "ReplicationController"
    return {
        "apiVersion": kind[0],
        "kind": kind[1],
        "metadata": {"name": "owner", "namespace": draw(_namespaces)},
        "spec": {"selector": draw(_pairs) if plain else draw(selectors())},
    }


@cache
def arguments() -> st.SearchStrategy[Object]:
    """Draw PodTopologySpreadArgs: System, no defaults at all, or a list."""
    listed = default_constraints().map(lambda found: {"defaultingType": "List", "defaultConstraints": found})
    return st.just({"defaultingType": "System"}) | listed


@cache
@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    """Draw the objects of a cluster, all of different names; pods come in groups of the same state."""
    objects = [draw(nodes(name)) for name in draw(_node_names)]
    for position in range(draw(_group_counts)):
        pod = draw(bound_pods("p"))
        objects += [renamed(pod, f"p{position}-{number}") for number in range(draw(_group_sizes))]
    if draw(_defaults):
        objects += [draw(services(f"s{position}")) for position in range(2)]
        objects += [draw(owners(kind)) for kind in OWNER_KINDS]
    return objects


def renamed(obj: Object, name: str) -> Object:
    """Return an object under another name."""
    return obj | {"metadata": obj["metadata"] | {"name": name}}


@cache
@st.composite
def cases(draw: st.DrawFn) -> Object:
    """Draw a cluster, a pod and arguments in the shape that ``oracle.judge`` takes."""
    return case_of(draw(clusters()), pod=draw(pending_pods()), args=draw(arguments()))


def case_of(objects: list[Object], *, pod: Object, args: Object) -> Object:
    """Return objects, a pod and arguments in the shape that ``oracle.judge`` takes."""
    case: Object = {name: [] for name in CASE_LISTS.values()}
    for obj in objects:
        case[CASE_LISTS[obj["kind"]]].append(obj)
    return case | {"pod": pod, "args": args}
