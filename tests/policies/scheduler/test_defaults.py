"""The selector that kube-scheduler deduces for a pod without constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.model.workload import Owner, Workload
from policies.model.workload_kinds import POD_KIND
from policies.scheduler.defaults import deduce_selector
from tests.builders import a_pod
from tests.policies.scheduler.clusters import an_index


def a_service(selector: Any, name: str = "web", namespace: str = "shop") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector},
    }


def an_owner(kind: str, selector: Any, api_version: str = "apps/v1") -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web-1", "namespace": "shop"},
        "spec": {"selector": selector},
    }


REPLICA_SET = Owner("apps/v1", "ReplicaSet", "web-1")
HASHED = {"matchLabels": {"app": "web", "pod-template-hash": "1"}}


@pytest.mark.parametrize(
    ("objects", "owner", "expected"),
    [
        pytest.param([], None, None, id="nothing known: none"),
        pytest.param([a_service({"app": "web"})], None, {"matchLabels": {"app": "web"}}, id="one service"),
        pytest.param(
            [a_service({"app": "web"}), a_service({"tier": "front"}, "b")],
            None,
            {"matchLabels": {"app": "web", "tier": "front"}},
            id="two services merged",
        ),
        pytest.param([a_service({"app": "api"})], None, None, id="service of other pods"),
        pytest.param([a_service({"app": "web"}, namespace="other")], None, None, id="service elsewhere"),
        pytest.param([a_service(None), a_service({}, "b")], None, None, id="services without selector"),
        pytest.param([an_owner("ReplicaSet", HASHED)], REPLICA_SET, HASHED, id="owner alone"),
        pytest.param(
            [a_service({"tier": "front"}), an_owner("ReplicaSet", HASHED)],
            REPLICA_SET,
            {"matchLabels": {"app": "web", "pod-template-hash": "1", "tier": "front"}},
            id="service and owner",
        ),
        pytest.param([], REPLICA_SET, None, id="owner not in the cluster"),
        pytest.param(
            [an_owner("ReplicaSet", HASHED)],
            Owner("example.com/v1", "ReplicaSet", "web-1"),
            None,
            id="other group",
        ),
        pytest.param([an_owner("ReplicaSet", None)], REPLICA_SET, None, id="owner without selector"),
        pytest.param([an_owner("ReplicaSet", {})], REPLICA_SET, None, id="owner with empty selector"),
        pytest.param(
            [an_owner("StatefulSet", {"matchExpressions": [{"key": "app", "operator": "Exists"}]})],
            Owner("apps/v1", "StatefulSet", "web-1"),
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            id="expressions of a StatefulSet",
        ),
        pytest.param(
            [an_owner("ReplicationController", {"app": "web"}, "v1")],
            Owner("v1", "ReplicationController", "web-1"),
            {"matchLabels": {"app": "web"}},
            id="plain map of a ReplicationController",
        ),
        pytest.param(
            [an_owner("ReplicationController", {"app": "old"}, "v1"), a_service({"app": "web"})],
            Owner("v1", "ReplicationController", "web-1"),
            {"matchLabels": {"app": "old"}},
            id="a ReplicationController's map wins over a service",
        ),
        pytest.param(
            [an_owner("ReplicaSet", {"matchLabels": {"app": "old"}}), a_service({"app": "web"})],
            REPLICA_SET,
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "app", "operator": "In", "values": ["old"]}],
            },
            id="a ReplicaSet's selector is added to a service",
        ),
    ],
)
def test_deduced_selectors(objects: list[dict[str, Any]], owner: Owner | None, expected: object) -> None:
    """Matching services are merged, the owner's selector is added; nothing deduced means no defaults."""
    read = Workload.read(a_pod(labels={"app": "web", "tier": "front"}), POD_KIND, "shop")
    pod = replace(read, owner=owner)
    selector = deduce_selector(an_index(objects).snapshot, pod)

    assert expected == (selector and selector.to_dict())
