"""The kinds of a cluster that could not be read: their plugins are not modeled, and the reason is said."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.context import AdmissionContext
from policies.model.cluster_kinds import ATTACHMENT, CLAIM, LIST_NAMES, OPTIONAL_KINDS, PRIORITY_CLASS, Kind
from policies.pods.placement import evaluate_manifest
from policies.scheduler.index import ClusterIndex
from policies.scheduler.result import SchedulingResult
from tests.policies.scheduler.clusters import a_node, a_pod, an_index, with_storage
from tests.policies.scheduler.storage_objects import a_claim, a_class, a_csi_node, a_volume, using


def _evaluated(index: ClusterIndex, **spec: Any) -> SchedulingResult:
    context = AdmissionContext(policies=(), cluster=index)
    return evaluate_manifest(a_pod("p", **spec), context, namespace="shop").result


@pytest.mark.parametrize("kind", OPTIONAL_KINDS, ids=lambda kind: LIST_NAMES[kind])
def test_an_index_forgets_what_cannot_be_read(kind: Kind) -> None:
    """It is not known until it is listed again, also in a copy, and says why."""
    index = an_index([a_claim("c1", "v1"), a_volume("v1", "c1"), a_class(), a_csi_node("a")])
    index.set_unread(kind, "no right")
    fork = index.fork("shop")

    assert (set(), False, {LIST_NAMES[kind]: "no right"}) == (
        fork.names(kind),
        fork.knows(kind),
        fork.unread,
    )
    index.set_unread(kind, "")
    assert (True, {}) == (index.knows(kind), index.unread)


def test_a_pod_with_a_claim() -> None:
    """Without the claims a pod is scheduled as if it had none, and the answer says what is missing."""
    index = with_storage([a_node("a"), a_claim("c1", "v1"), a_volume("v1", "c1")])
    index.set_unread(CLAIM, "no right")
    verdict = _evaluated(index, volumes=using("c1"))

    assert ("persistentVolumeClaims",) == verdict.request.pod.unmodeled
    assert {"persistentVolumeClaims": "no right"} == verdict.why_unread
    assert {} == _evaluated(index).why_unread


def test_attached_volumes() -> None:
    """Volumes are placed without the VolumeAttachments, but limits may be met earlier."""
    index = with_storage([a_node("a"), a_claim("c1", "v1"), a_volume("v1", "c1")])
    known = _evaluated(index, volumes=using("c1")).request.pod.unmodeled
    index.set_unread(ATTACHMENT, "no right")

    assert ((), ("volumeAttachments",)) == (
        known,
        _evaluated(index, volumes=using("c1")).request.pod.unmodeled,
    )


@pytest.mark.parametrize(("unread", "expected"), [("", ()), ("no right", ("priorityClasses",))])
def test_a_default_class(unread: str, expected: tuple[str, ...]) -> None:
    """A pod without a class has the default one, which matters once it fits nowhere."""
    index = an_index([a_node("a")])
    index.set_unread(PRIORITY_CLASS, unread)

    assert expected == _evaluated(index, cpu="64").unread
