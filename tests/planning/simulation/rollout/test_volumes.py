"""StatefulSets whose volumes tie their pods to a zone, rolled out and scaled where the zone is lost."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import Rollout
from policies.model.pod_volumes import LostVolume
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.rollouts import a_context, a_stateful_set, names, roll
from tests.policies.scheduler import storage_objects as storage

ZONE = "topology.kubernetes.io/zone"
#: Nodes in zones b and c; zone a is lost.
NODES = [a_node("n2", "b"), a_node("n3", "c")]
#: The volume of web-0, which no node reaches.
LOST = LostVolume(
    pod="web-0", claim="data-web-0", volume="pv-0", reached_from=f"{ZONE} in (a)", label=(ZONE, "a")
)


def _storage() -> list[dict[str, Any]]:
    """Return a claim of each of the first three ordinals, bound in zones a, b and c."""
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": storage.DRIVER}}
    found = [driver, storage.a_class(), *(storage.a_csi_node(name) for name in ("n2", "n3"))]
    for number, zone in enumerate("abc"):
        found.append(storage.a_claim(f"data-web-{number}", f"pv-{number}"))
        found.append(storage.a_volume(f"pv-{number}", f"data-web-{number}", zone))
    return found


def _pods() -> list[dict[str, Any]]:
    """Return web-1 and web-2, which run; web-0 is pending."""
    return [
        a_pod(
            name=f"web-{number}",
            labels={"app": "web", "controller-revision-hash": "web-old"},
            spec={"nodeName": node, "volumes": storage.using(f"data-web-{number}")},
        )
        for number, node in ((1, "n2"), (2, "n3"))
    ]


def _changed(policy: str, **settings: Any) -> Rollout:
    claim = {key: storage.a_claim("data")[key] for key in ("metadata", "spec")}
    obj = a_stateful_set(3, a_constraint(), podManagementPolicy=policy, volumeClaimTemplates=[claim])
    return roll(obj, a_context(*NODES, *_storage(), *_pods()), **settings)


@pytest.mark.parametrize(
    ("policy", "settings", "expected"),
    [
        pytest.param("OrderedReady", {"scale": 5}, "+0", id="OrderedReady, to 5: the first one holds all up"),
        pytest.param("Parallel", {"scale": 5}, "+0 +3 +4", id="Parallel, to 5: only web-0 is stuck"),
        pytest.param("OrderedReady", {}, "+0", id="OrderedReady, rolled out: nothing is deleted"),
        pytest.param("Parallel", {}, "+0 -2 +2 -1 +1", id="Parallel, rolled out: all but web-0"),
    ],
)
def test_a_zone_that_is_lost(policy: str, settings: dict[str, Any], expected: str) -> None:
    """The replica whose volume is there stays pending and is named; others have volumes of their own."""
    rollout = _changed(policy, **settings)
    course = rollout.courses.likely

    assert expected == " ".join(names(course))
    assert (("web-0",), (LOST,)) == (course.pending, course.lost_volumes)
    assert RolloutEnd.COMPLETE is not rollout.outcome
