"""When a change makes a pod, by kind and by what the change is."""

from __future__ import annotations

from typing import Any

import pytest

from policies.admission.unschedulable_forecast import NextPodTiming, next_pod_timing
from tests.builders import a_pod, a_workload
from tests.policies.config.contexts import read


def changed(kind: str = "Deployment", group: str = "apps", **spec: Any) -> dict[str, Any]:
    """Return a workload with further fields in its spec; ``image`` stands in the template."""
    image = spec.pop("image", "registry.example/web:1")
    status = spec.pop("status", {})
    obj = a_workload(kind, group, spec={"containers": [{"name": "c", "image": image}]})
    return obj | {"spec": obj["spec"] | spec, "status": status}


def a_deployment(*, unavailable: object = None, surge: object = None, **spec: Any) -> dict[str, Any]:
    """Return a Deployment with limits of its rollout."""
    limits = {"maxUnavailable": unavailable, "maxSurge": surge}
    given = {name: value for name, value in limits.items() if value is not None}
    return changed(strategy={"type": "RollingUpdate", "rollingUpdate": given}, **spec)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(a_pod(), NextPodTiming.NOW, id="a pod"),
        pytest.param(changed(), NextPodTiming.NOW, id="a Deployment without replicas: 1"),
        pytest.param(changed(replicas=3), NextPodTiming.NOW, id="3 replicas"),
        pytest.param(changed(replicas=0), NextPodTiming.NONE, id="0 replicas"),
        pytest.param(changed(replicas="3"), NextPodTiming.NONE, id="replicas of a wrong type"),
        pytest.param(changed(paused=True), NextPodTiming.NONE, id="a paused Deployment"),
        pytest.param(changed("StatefulSet"), NextPodTiming.NOW, id="a StatefulSet"),
        pytest.param(changed("Job", "batch"), NextPodTiming.NOW, id="a Job"),
        pytest.param(changed("Job", "batch", suspend=True), NextPodTiming.NONE, id="a suspended Job"),
        pytest.param(
            changed("Job", "batch", parallelism=0), NextPodTiming.NONE, id="a Job with parallelism 0"
        ),
        pytest.param(a_workload("CronJob", "batch"), NextPodTiming.LATER, id="a CronJob: at its time"),
        pytest.param(changed("DaemonSet"), NextPodTiming.NONE, id="a DaemonSet"),
        pytest.param(a_workload("PodTemplate", ""), NextPodTiming.NONE, id="a PodTemplate"),
        pytest.param(
            {"apiVersion": "argoproj.io/v1", "kind": "Rollout", "metadata": {}, "spec": {"workloadRef": {}}},
            NextPodTiming.NONE,
            id="a Rollout without a template",
        ),
    ],
)
def test_new_objects(obj: dict[str, Any], expected: NextPodTiming) -> None:
    """A new object makes a pod at once, unless it asks for none."""
    assert expected is next_pod_timing(read(obj), None)


NEW = "registry.example/web:2"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(a_pod(), a_pod(labels={"app": "b"}), NextPodTiming.NONE, id="a pod"),
        pytest.param(
            changed(replicas=3), changed(replicas=3, minReadySeconds=9), NextPodTiming.NONE, id="other"
        ),
        pytest.param(changed(replicas=3), changed(replicas=4), NextPodTiming.NOW, id="3 to 4 replicas"),
        pytest.param(changed(replicas=3), changed(replicas=2), NextPodTiming.NONE, id="3 to 2 replicas"),
        pytest.param(
            changed(replicas=3, status={"replicas": 4, "updatedReplicas": 1}),
            changed(replicas=4),
            NextPodTiming.LATER,
            id="3 to 4 replicas while 3 old pods will go",
        ),
        pytest.param(
            changed("ReplicaSet", replicas=3, status={"replicas": 3}),
            changed("ReplicaSet", replicas=4),
            NextPodTiming.NOW,
            id="a ReplicaSet, which has no updatedReplicas",
        ),
        pytest.param(
            changed(replicas=0), changed(image=NEW, replicas=3), NextPodTiming.NOW, id="0 to 3, new image"
        ),
        pytest.param(changed(replicas=3), changed(image=NEW, replicas=0), NextPodTiming.NONE, id="3 to 0"),
        pytest.param(
            changed("Job", "batch", suspend=True),
            changed("Job", "batch"),
            NextPodTiming.NOW,
            id="a Job resumed",
        ),
        pytest.param(
            a_workload("CronJob", "batch", labels={"app": "a"}),
            a_workload("CronJob", "batch", labels={"app": "b"}),
            NextPodTiming.LATER,
            id="a CronJob",
        ),
        pytest.param(
            changed("StatefulSet"), changed("StatefulSet", image=NEW), NextPodTiming.LATER, id="a StatefulSet"
        ),
        pytest.param(
            changed(paused=True), changed(replicas=3), NextPodTiming.NOW, id="resumed with 3 replicas"
        ),
        pytest.param(
            changed(paused=True), changed(replicas=4), NextPodTiming.LATER, id="resumed with 4 replicas"
        ),
        pytest.param(changed(), changed(image=NEW, paused=True), NextPodTiming.NONE, id="while paused"),
    ],
)
def test_updates(old: dict[str, Any], new: dict[str, Any], expected: NextPodTiming) -> None:
    """An update makes a pod if the template changed or replicas are added."""
    assert expected is next_pod_timing(read(new), read(old))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(changed(image=NEW, replicas=3), NextPodTiming.NOW, id="25 % of 3: none may be missing"),
        pytest.param(changed(image=NEW, replicas=4), NextPodTiming.LATER, id="25 % of 4: one goes"),
        pytest.param(
            a_deployment(image=NEW, unavailable=0, replicas=9), NextPodTiming.NOW, id="maxUnavailable 0"
        ),
        pytest.param(
            a_deployment(image=NEW, unavailable="0%", surge=1, replicas=9),
            NextPodTiming.NOW,
            id="maxUnavailable 0%",
        ),
        pytest.param(
            a_deployment(image=NEW, unavailable=1, replicas=3), NextPodTiming.LATER, id="maxUnavailable 1"
        ),
        pytest.param(
            a_deployment(image=NEW, unavailable=0, surge=0, replicas=3), NextPodTiming.LATER, id="both 0"
        ),
        pytest.param(
            a_deployment(image=NEW, unavailable="much", replicas=3), NextPodTiming.LATER, id="no percentage"
        ),
        pytest.param(
            changed(image=NEW, replicas=3, strategy={"type": "Recreate"}), NextPodTiming.LATER, id="Recreate"
        ),
        pytest.param(changed(image=NEW, replicas=2), NextPodTiming.LATER, id="fewer replicas: old pods go"),
    ],
)
def test_rollouts(new: dict[str, Any], expected: NextPodTiming) -> None:
    """A Deployment's new pod must fit beside all old ones exactly where none of them may be missing."""
    assert expected is next_pod_timing(read(new), read(changed(replicas=3)))


def test_rollout_during_another() -> None:
    """Pods of an earlier revision may go before any new one is made."""
    old = changed(replicas=3, status={"replicas": 4, "updatedReplicas": 1})

    assert NextPodTiming.LATER is next_pod_timing(read(changed(image=NEW, replicas=3)), read(old))
