"""The facts that autoscalers read of pods and nodes before they remove any."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.deletion_facts import DisruptionFacts, kept_by, read_disruption_facts

CLUSTER, KARPENTER = "cluster-autoscaler.kubernetes.io", "karpenter.sh"
DIR, PATH = {"name": "cache", "emptyDir": {}}, {"name": "logs", "hostPath": {"path": "/var/log"}}
MEMORY = {"name": "shm", "emptyDir": {"medium": "Memory"}}


@pytest.mark.parametrize(
    ("annotations", "volumes", "expected"),
    [
        pytest.param(None, None, DisruptionFacts(), id="1 nothing"),
        pytest.param("x", "x", DisruptionFacts(), id="2 of the wrong type"),
        pytest.param(
            {f"{CLUSTER}/safe-to-evict": "false"}, [MEMORY],
            DisruptionFacts(safe_to_evict="false", empty_dir=True), id="3 memory is no storage",
        ),
        pytest.param({}, [DIR], DisruptionFacts(local_storage=True, empty_dir=True), id="4 a directory"),
        pytest.param({}, [PATH], DisruptionFacts(local_storage=True), id="5 a path of the node"),
        pytest.param(
            {f"{CLUSTER}/safe-to-evict-local-volumes": "cache,logs"}, [DIR, PATH],
            DisruptionFacts(empty_dir=True), id="6 all given up",
        ),
        pytest.param(
            {f"{CLUSTER}/safe-to-evict-local-volumes": "cache"}, [DIR, PATH],
            DisruptionFacts(local_storage=True, empty_dir=True), id="7 one given up",
        ),
        pytest.param(
            {f"{KARPENTER}/do-not-disrupt": "true", f"{CLUSTER}/daemonset-pod": "true"}, [],
            DisruptionFacts(do_not_disrupt=True, as_daemon=True), id="8 Karpenter's, and as a DaemonSet",
        ),
        pytest.param(
            {"controller.kubernetes.io/pod-deletion-cost": "-7", f"{KARPENTER}/do-not-disrupt": "false"},
            [{"name": "c", "configMap": {}}], DisruptionFacts(cost=-7), id="9 a deletion cost",
        ),
    ],
)  # fmt: skip
def test_pods(annotations: Any, volumes: Any, expected: DisruptionFacts) -> None:
    """Annotations and volumes of any shape are read."""
    assert expected == read_disruption_facts({"annotations": annotations}, {"volumes": volumes})


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, ()),
        ({f"{CLUSTER}/scale-down-disabled": "false", f"{KARPENTER}/do-not-disrupt": True}, ()),
        ({f"{CLUSTER}/scale-down-disabled": "true"}, (f"{CLUSTER}/scale-down-disabled",)),
        ({f"{KARPENTER}/do-not-disrupt": "true"}, (f"{KARPENTER}/do-not-disrupt",)),
    ],
)
def test_nodes(annotations: Any, expected: tuple[str, ...]) -> None:
    """The annotations that keep a node are read where they are true."""
    assert expected == kept_by({"annotations": annotations})
