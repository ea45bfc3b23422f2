"""Pods of controllers, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from policies.model.workload_ref import WorkloadRef
from tests.webhook.doctor.installation import Cluster, a_cluster
from tests.webhook.doctor.test_injection import owned
from webhook.doctor.collect import count_injected
from webhook.doctor.observations import InjectionCounts, PartlyInjected
from webhook.kube.api_server import Answer


def a_replica_set(name: str) -> WorkloadRef:
    return WorkloadRef("shop", "ReplicaSet", name)


def test_order() -> None:
    """Controllers with the most missed pods come first; everyone's pods are counted."""
    cluster = a_cluster(owned("-+", name="a-1"), owned("--+", name="b-1"))

    b = PartlyInjected(a_replica_set("b-1"), 2, 1, pod="b-1-1")
    a = PartlyInjected(a_replica_set("a-1"), 1, 1, pod="a-1-0")
    assert InjectionCounts(7, (b, a)) == count_injected(cluster)


class Expiring(Cluster):
    """Answers the second page that it is gone, once, so that the list begins anew."""

    expired = False

    def send(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, **options: Any
    ) -> Answer:
        """Answer in two pages."""
        answer = super().send(method, path, params=params, **options)
        body = answer.json_object()
        pods = body["items"]
        if "continue" not in (params or {}):
            body = {"items": pods[:1], "metadata": {"resourceVersion": "1", "continue": "x"}}
        elif not self.expired:
            self.expired = True
            return Answer(410, b'{"kind": "Status", "reason": "Expired", "message": "too old"}')
        else:
            body = {"items": pods[1:], "metadata": {"resourceVersion": "1"}}
        return Answer(200, orjson.dumps(body))


def test_a_list_that_begins_anew() -> None:
    """No pod is counted twice."""
    cluster = Expiring()
    owned("-+")(cluster)

    web = PartlyInjected(a_replica_set("web-5d4"), 1, 1, pod="web-5d4-0")
    assert InjectionCounts(2, (web,)) == count_injected(cluster)
