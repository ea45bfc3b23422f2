"""Hypothesis strategies for what pods ask for and what nodes offer."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]

#: The resources of containers. Requests of an extended resource and of a huge page equal their limits.
CONTAINERS: tuple[Object, ...] = (
    {},
    {"requests": {"cpu": "500m"}},
    {"requests": {"cpu": "0.5", "memory": "512Mi"}},
    {"requests": {"cpu": "1m", "memory": "1"}},
    {"requests": {"cpu": "100u", "memory": "100m"}},
    {"requests": {"cpu": "0", "memory": "0"}},
    {"requests": {"memory": "5e8"}, "limits": {"memory": "1G", "cpu": "1"}},
    {"limits": {"cpu": "1", "memory": "1Gi"}},
    {"requests": {"ephemeral-storage": "1Gi"}},
    {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}},
    {"limits": {"example.com/gpu": "2"}},
    {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
)
#: The resources of nodes: mostly plenty, else room for a few pods, for one resource or another, or none.
ALLOCATABLE: tuple[Object, ...] = (
    *({"cpu": "16", "memory": "64Gi", "pods": "110"},) * 12,
    {"cpu": "4", "memory": "8Gi", "pods": "110"},
    {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "1Gi", "example.com/gpu": "2"},
    {"cpu": "1", "memory": "1Gi", "pods": "110", "example.com/gpu": "1"},
    {"cpu": "1500m", "memory": "1G", "pods": "5", "hugepages-2Mi": "4Mi"},
    {"cpu": "999m", "memory": "1073741823", "pods": "4", "ephemeral-storage": "1Gi"},
    {"cpu": "4", "memory": "8Gi", "pods": "1"},
    {},
)

_allocatables = st.sampled_from(ALLOCATABLE)
_usual = st.sampled_from(
    (*({"containers": [{"name": "c", "resources": size}]} for size in CONTAINERS[:2]), None)
)
_sizes = st.sampled_from(CONTAINERS)
_restarts: st.SearchStrategy[Object] = st.sampled_from(({}, {"restartPolicy": "Always"}))
_counts = st.integers(0, 2)
_overheads = st.sampled_from((None, None, {"cpu": "250m", "memory": "120Mi"}))
#: The used resources in a status; often none, as from kubelets that cannot resize.
_used = st.sampled_from((None, None, {}, *({"requests": size["requests"]} for size in CONTAINERS[1:5])))
_allocated = st.sampled_from((None, *(size["requests"] for size in CONTAINERS[1:5])))
_pending = st.sampled_from((None, None, "Deferred", "Infeasible"))
#: The requests of a pod as a whole; never less than those of its containers together.
_of_pods: st.SearchStrategy[Object | None] = st.sampled_from(
    (
        None,
        None,
        None,
        {"requests": {"cpu": "8", "memory": "8Gi"}},
        {"limits": {"cpu": "8", "memory": "8Gi"}},
        {"requests": {"memory": "8Gi"}, "limits": {"cpu": "9", "memory": "9Gi"}},
    )
)


def allocatables() -> st.SearchStrategy[Object]:
    """Draw a node's allocatable resources."""
    return _allocatables


@cache
@st.composite
def resources(draw: st.DrawFn) -> Object:
    """Draw the part of a pod's spec that says how much it asks for."""
    usual = draw(_usual)
    if usual is not None:
        return usual
    spec: Object = {"containers": [_container("c", draw(_sizes))]}
    if draw(_counts) == 0:
        spec["containers"].append(_container("d", draw(_sizes)))
    if starting := draw(_counts):
        spec["initContainers"] = [
            _container(f"i{position}", draw(_sizes)) | draw(_restarts) for position in range(starting)
        ]
    extras = {"overhead": draw(_overheads), "resources": draw(_of_pods)}
    return spec | {name: value for name, value in extras.items() if value is not None}


@cache
@st.composite
def resize_statuses(draw: st.DrawFn) -> Object:
    """Draw a kubelet's status of containers, also of one that the spec does not have, and of the pod."""
    status: Object = draw(_held())
    for member, names in (("containerStatuses", "cd"), ("initContainerStatuses", ("i0", "i1", "c"))):
        if told := draw(_counts):
            status[member] = [{"name": name, **draw(_held())} for name in names[:told]]
    if reason := draw(_pending):
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return status


@cache
@st.composite
def _held(draw: st.DrawFn) -> Object:
    told = {"resources": draw(_used), "allocatedResources": draw(_allocated)}
    return {name: amounts for name, amounts in told.items() if amounts is not None}


def _container(name: str, size: Object) -> Object:
    return {"name": name, "image": "registry.example/web:1", "resources": size}
