"""The known facts of pods that may lose their node."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.pod_facts import PodFacts
from policies.config.context import AdmissionContext
from policies.model.taints import Taint
from policies.pods.placement import prepare, read_workload
from policies.pods.pod_objects import PodObjects
from policies.scheduler.index import PodOnNode
from tests.builders import a_node, a_pod, a_workload
from tests.policies.scheduler.clusters import an_index

GPU = Taint("gpu", "", "NoExecute")
FOREVER = {"key": "gpu", "operator": "Exists"}
AGENT = ("apps/v1", "DaemonSet", "agent")


def _facts(pod: dict[str, Any], *workloads: dict[str, Any], known: bool = True) -> tuple[PodFacts, PodOnNode]:
    cluster, running = an_index([a_node("n1", "a"), pod]), PodObjects(None)
    if known:
        running(pod)
    context = AdmissionContext(policies=(), cluster=cluster)
    prepared = [prepare(read_workload(workload, context), context) for workload in workloads]
    (placed,) = cluster.pods_on(["n1"])
    return PodFacts(cluster, prepared, running), placed


@pytest.mark.parametrize(
    ("pod", "workload", "expected"),
    [
        pytest.param(a_pod(spec={"nodeName": "n1"}), None, (None, False, False), id="another pod"),
        pytest.param(a_pod(spec={"nodeName": "n1"}, owner=AGENT), None, (None, True, False), id="a daemon"),
        pytest.param(
            a_pod(spec={"nodeName": "n1", "tolerations": [FOREVER]}),
            None,
            (None, False, True),
            id="tolerates",
        ),
        pytest.param(
            a_pod(spec={"nodeName": "n1", "tolerations": [FOREVER | {"tolerationSeconds": 9}]}),
            None,
            (None, False, False),
            id="tolerates for a time",
        ),
        pytest.param(
            a_pod(spec={"nodeName": "n1"}),
            a_workload(spec={"tolerations": [FOREVER]}),
            (0, False, True),
            id="its workload's template tolerates",
        ),
        pytest.param(
            a_pod(spec={"nodeName": "n1"}),
            a_workload("DaemonSet"),
            (0, True, False),
            id="of a given DaemonSet",
        ),
    ],
)
def test_what_is_known(
    pod: dict[str, Any], workload: dict[str, Any] | None, expected: tuple[int | None, bool, bool]
) -> None:
    """Whose it is, whether it belongs to its node, and whether it tolerates a taint for good."""
    facts, placed = _facts(pod, *([] if workload is None else [workload]))

    assert expected == (
        facts.own(placed.namespace, placed.name),
        facts.is_tied(placed),
        facts.tolerates(placed, GPU),
    )
    assert facts.complete


def test_pods_without_known_objects() -> None:
    """They are taken to be evicted from a drained node, and to tolerate taints; that is said."""
    facts, placed = _facts(a_pod(spec={"nodeName": "n1"}, owner=AGENT), known=False)

    assert facts.complete
    assert (False, True) == (facts.is_tied(placed), facts.tolerates(placed, GPU))
    assert not facts.complete


def test_own_pods_without_objects() -> None:
    """The fields of their workload are enough."""
    facts, placed = _facts(a_pod(spec={"nodeName": "n1"}), a_workload(), known=False)

    assert (1, False, False) == (facts.own_count, facts.is_tied(placed), facts.tolerates(placed, GPU))
    assert facts.complete
