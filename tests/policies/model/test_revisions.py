"""Which revision of the cluster the next pod of a workload belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given

from policies.model.pod_template import INJECTED_ANNOTATION, RESTARTED_ANNOTATION
from policies.model.revisions import find_revision, read_revision, written_digest
from policies.model.workload import Workload
from tests.builders import a_constraint, a_replica_set, a_workload, kind_of
from tests.hostile import broken_copies

DEPLOYMENT = kind_of("Deployment", "apps")
#: Three versions of one Deployment.
V1, V2, V3 = (a_workload(spec={"hostname": name}) for name in ("one", "two", "three"))


def found(workload: dict[str, Any], stored: Iterable[dict[str, Any]], kind: Any = DEPLOYMENT) -> str | None:
    """Return the hash of the revision that is found among stored objects."""
    revisions = [revision for obj in stored if (revision := read_revision(obj))]
    revision = find_revision(Workload.read(workload, kind, "shop"), revisions)
    return None if revision is None else revision.hash


def restarted(workload: dict[str, Any], at: str) -> dict[str, Any]:
    changed = deepcopy(workload)
    changed["spec"]["template"]["metadata"]["annotations"] = {RESTARTED_ANNOTATION: at}
    return changed


def of_uid(uid: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a workload with a uid, or a ReplicaSet of such a one."""
    changed = deepcopy(obj)
    if obj["kind"] == "ReplicaSet":
        changed["metadata"]["ownerReferences"][0]["uid"] = uid
    else:
        changed["metadata"]["uid"] = uid
    return changed


@pytest.mark.parametrize(
    ("workload", "stored", "expected"),
    [
        pytest.param(V1, [], None, id="0 ReplicaSets"),
        pytest.param(V1, [a_replica_set(V1, "a")], "a", id="1, equal"),
        pytest.param(V2, [a_replica_set(V1, "a")], None, id="1, another: a rollout"),
        pytest.param(
            V2, [a_replica_set(V1, "a", number=1), a_replica_set(V2, "b", number=2)], "b", id="2: the present"
        ),
        pytest.param(
            V1, [a_replica_set(V1, "a", number=1), a_replica_set(V2, "b", number=2)], "a", id="2: back to 1"
        ),
        pytest.param(
            V1,
            [a_replica_set(V1, "b", number=2), a_replica_set(V1, "a", number=1)],
            "a",
            id="2 equal: oldest",
        ),
        pytest.param(
            V1,
            [a_replica_set(V1, name, creationTimestamp="2026-01-01T00:00:00Z") for name in "ba"],
            "a",
            id="2 equal of one second: first name",
        ),
        pytest.param(
            of_uid("u1", V1), [of_uid("u2", a_replica_set(V1, "a"))], None, id="of one that was deleted"
        ),
        pytest.param(of_uid("u1", V1), [of_uid("u1", a_replica_set(V1, "a"))], "a", id="of the same uid"),
        pytest.param(V1, [of_uid("u1", a_replica_set(V1, "a"))], "a", id="a file has no uid"),
        pytest.param(
            V1,
            [a_replica_set(V1, "a", labels={"app": "other"})],
            None,
            id="its selector misses the ReplicaSet",
        ),
        pytest.param(
            V1, [a_replica_set(V1, "a", labels={"app": "web"})], "a", id="labels of its own that match"
        ),
        pytest.param(V1, [a_replica_set(V1, "a", ownerReferences=[])], None, id="nobody controls it"),
        pytest.param(V1, [a_replica_set(V1, "")], None, id="without a hash"),
    ],
)
def test_deployments(workload: dict[str, Any], stored: list[dict[str, Any]], expected: str | None) -> None:
    """As the deployment controller does: the oldest of its ReplicaSets with an equal template."""
    assert expected == found(workload, stored)


#: A restart of the second version, and one of that.
T1, T2 = restarted(V2, "2026-01-01T00:00:00Z"), restarted(V2, "2026-02-01T00:00:00Z")
RESTARTS = [
    a_replica_set(obj, name, number=n) for n, (name, obj) in enumerate(zip("abc", (V2, T1, T2), strict=True))
]


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(V2, "c", id="a file: kubectl apply leaves the last restart"),
        pytest.param(T1, "b", id="a file that states a restart"),
        pytest.param(of_uid("u", V2), "a", id="stored without a restart: back to the first"),
        pytest.param(of_uid("u", T2), "c", id="stored with the last"),
        pytest.param(V3, None, id="another template"),
    ],
)
def test_restarts(workload: dict[str, Any], expected: str | None) -> None:
    """``kubectl rollout restart`` makes a revision; a manifest that knows nothing of it is of the last."""
    assert expected == found(workload, RESTARTS)


def test_injected_constraints() -> None:
    """A manifest is of the revision to which Evenkeel gave constraints when it was created."""
    injected = a_workload(spec={"topologySpreadConstraints": [a_constraint()]})
    stored = a_replica_set(injected, "a", annotations={INJECTED_ANNOTATION: "production"})

    assert "a" == found(a_workload(), [stored])


def test_rollouts() -> None:
    """Argo Rollouts mark pods with a label of their own."""
    rollout = a_workload("Rollout", "argoproj.io")

    assert "5d9" == found(rollout, [a_replica_set(rollout, "5d9")], kind_of("Rollout", "argoproj.io"))


def a_stateful_set(**status: Any) -> dict[str, Any]:
    return a_workload("StatefulSet", generation=2) | {"status": {"observedGeneration": 2, **status}}


@pytest.mark.parametrize(
    ("workload", "stored", "expected"),
    [
        pytest.param(
            a_workload("StatefulSet"), a_stateful_set(updateRevision="web-5d9"), "web-5d9", id="equal"
        ),
        pytest.param(
            a_workload("StatefulSet", spec={"hostname": "x"}),
            a_stateful_set(updateRevision="web-5d9"),
            None,
            id="another",
        ),
        pytest.param(
            a_workload("StatefulSet"),
            a_stateful_set(updateRevision="web-5d9", observedGeneration=1),
            None,
            id="generation 1 of 2 was seen",
        ),
        pytest.param(a_workload("StatefulSet"), a_stateful_set(), None, id="no status yet"),
    ],
)
def test_stateful_sets(workload: dict[str, Any], stored: dict[str, Any], expected: str | None) -> None:
    """A StatefulSet with the stored template gets pods of its update revision."""
    assert expected == found(workload, [stored], kind_of("StatefulSet", "apps"))


def test_a_file_that_keeps_a_part() -> None:
    """The digest beside a template of which parts were left out counts for the whole."""
    whole = a_replica_set(V1, "a")
    part = deepcopy(whole)
    del part["spec"]["template"]["spec"]["hostname"]

    assert None is found(V1, [part])
    part["metadata"]["annotations"] |= written_digest(whole)
    assert "a" == found(V1, [part])
    part["metadata"]["annotations"] |= dict.fromkeys(written_digest(whole), "no digest")
    assert None is found(V1, [part])


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"kind": "ReplicaSet", "metadata": 1, "spec": []},
        {"kind": "StatefulSet", "metadata": {"uid": 3}, "status": {"updateRevision": {}}},
        a_replica_set(V1, "a", labels=[1], annotations={"deployment.kubernetes.io/revision": "٣"}, uid=7)
        | {"spec": {"template": {"metadata": {"labels": {"pod-template-hash": 3}}}}},
    ],
    ids=["nothing", "lists", "numbers", "more"],
)
def test_rubbish(obj: Any) -> None:
    """An object of any shape tells of no revision."""
    assert None is read_revision(obj)


FULL = a_workload(
    uid="u1",
    annotations={INJECTED_ANNOTATION: "production"},
    spec={
        "hostNetwork": True,
        "serviceAccount": "x",
        "volumes": [
            {"name": "v", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "i", "image": {"reference": "x"}},
        ],
        "containers": [
            {
                "name": "c",
                "image": "web",
                "imagePullPolicy": "Always",
                "ports": [{"containerPort": 80, "hostPort": 80}],
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
    },
)


@given(broken_copies(FULL))
def test_no_workload_is_too_broken(workload: dict[str, Any]) -> None:
    """A workload with a broken value in any field is of the revision or of a new one."""
    assert found(workload, [a_replica_set(FULL, "a")]) in {"a", None}


@given(broken_copies(a_replica_set(FULL, "a")))
def test_no_replica_set_is_too_broken(stored: dict[str, Any]) -> None:
    """A ReplicaSet with a broken value in any field is read, and compared with workloads."""
    found(FULL, [stored, a_replica_set(V1, "b")])
