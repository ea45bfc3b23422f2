"""The pods that controllers would make."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.controller_labels import PLACEHOLDER, PLACEHOLDER_UID
from policies.model.labels import LabelSelector, label_value_problems
from policies.model.next_pod import PodRevision, next_pod, pod_revision
from policies.model.pod import read_pod
from policies.model.revisions import read_revision
from policies.model.workload import Owner, Workload
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind
from tests.builders import APP, a_pod, a_replica_set, a_workload, kind_of
from tests.hostile import broken_copies


def _labels(workload: dict[str, Any], kind: WorkloadKind) -> dict[str, str]:
    made = next_pod(Workload.read(workload, kind, "shop")).obj["metadata"]["labels"]
    return {key: value for key, value in made.items() if key not in APP}


@pytest.mark.parametrize(
    ("kind", "group", "labels"),
    [
        ("Deployment", "apps", {"pod-template-hash": PLACEHOLDER}),
        ("Rollout", "argoproj.io", {"rollouts-pod-template-hash": PLACEHOLDER}),
        ("ReplicaSet", "apps", {}),
        ("ReplicationController", "", {}),
        ("DaemonSet", "apps", {"controller-revision-hash": PLACEHOLDER}),
        (
            "StatefulSet",
            "apps",
            {
                "controller-revision-hash": f"web-{PLACEHOLDER}",
                "statefulset.kubernetes.io/pod-name": "web-0",
                "apps.kubernetes.io/pod-index": "0",
            },
        ),
        (
            "Job",
            "batch",
            {
                "job-name": "web",
                "controller-uid": PLACEHOLDER_UID,
                "batch.kubernetes.io/job-name": "web",
                "batch.kubernetes.io/controller-uid": PLACEHOLDER_UID,
            },
        ),
        (
            "CronJob",
            "batch",
            {
                "job-name": f"web-{PLACEHOLDER}",
                "controller-uid": PLACEHOLDER_UID,
                "batch.kubernetes.io/job-name": f"web-{PLACEHOLDER}",
                "batch.kubernetes.io/controller-uid": PLACEHOLDER_UID,
            },
        ),
        ("CloneSet", "apps.kruise.io", {}),
    ],
)
def test_labels_of_the_controllers(kind: str, group: str, labels: dict[str, str]) -> None:
    """A pod has its template's labels and those of its controller, all of them valid."""
    found = _labels(a_workload(kind, group), kind_of(kind, group))

    assert labels == found
    assert not any(label_value_problems(value) for value in found.values())


def test_labels_of_the_template_stay() -> None:
    """A revision that the template names already, as a copied one does, is kept."""
    labels = {**APP, "pod-template-hash": "6b8f4"}
    made = next_pod(Workload.read(a_workload(labels=labels), kind_of("Deployment", "apps"), "shop"))

    assert labels == made.obj["metadata"]["labels"]
    assert LabelSelector((("app", "web"), ("pod-template-hash", "6b8f4"))) == made.owner_selector


def test_jobs_with_their_own_selector_and_index() -> None:
    """A Job that selects by itself adds no labels; an indexed one adds the index; its uid is used."""
    kind = kind_of("Job", "batch")
    manual, indexed, existing = (
        a_workload("Job", "batch"),
        a_workload("Job", "batch"),
        a_workload("Job", "batch", uid="u1"),
    )
    manual["spec"]["manualSelector"] = True
    indexed["spec"] |= {"manualSelector": True, "completionMode": "Indexed"}

    assert {} == _labels(manual, kind)
    assert {"batch.kubernetes.io/job-completion-index": "0"} == _labels(indexed, kind)
    assert "u1" == _labels(existing, kind)["controller-uid"]


def test_long_names_make_valid_labels() -> None:
    """A name that no label can hold is cut."""
    labels = _labels(
        a_workload("StatefulSet", name="x" * 62 + "-" + "y" * 100), kind_of("StatefulSet", "apps")
    )

    assert "x" * 62 == labels["statefulset.kubernetes.io/pod-name"]


@pytest.mark.parametrize(
    ("kind", "group", "owner", "labels"),
    [
        (
            "Deployment",
            "apps",
            Owner("apps/v1", "ReplicaSet", f"web-{PLACEHOLDER}"),
            {"app": "web", "pod-template-hash": PLACEHOLDER},
        ),
        (
            "Rollout",
            "argoproj.io",
            Owner("apps/v1", "ReplicaSet", f"web-{PLACEHOLDER}"),
            {"app": "web", "rollouts-pod-template-hash": PLACEHOLDER},
        ),
        ("ReplicaSet", "apps", Owner("apps/v1", "ReplicaSet", "web"), APP),
        ("StatefulSet", "apps", Owner("apps/v1", "StatefulSet", "web"), APP),
        ("ReplicationController", "", Owner("v1", "ReplicationController", "web"), APP),
        ("DaemonSet", "apps", Owner("apps/v1", "DaemonSet", "web"), None),
        ("StatefulSet", "apps.kruise.io", Owner("apps.kruise.io/v1", "StatefulSet", "web"), None),
        ("Job", "batch", Owner("batch/v1", "Job", "web"), None),
        ("CronJob", "batch", Owner("batch/v1", "Job", f"web-{PLACEHOLDER}"), None),
    ],
)
def test_owners(kind: str, group: str, owner: Owner, labels: dict[str, str] | None) -> None:
    """The owner is the controller that makes the pod; its selector matters for three kinds only."""
    made = next_pod(Workload.read(a_workload(kind, group), kind_of(kind, group), "shop"))

    assert owner == made.owner
    assert labels == (made.owner_selector and dict(made.owner_selector.match_labels))


@pytest.mark.parametrize("selector", [{"matchLabels": {"a b": "x"}}, "web", {}], ids=repr)
def test_without_a_valid_selector_there_is_none(selector: object) -> None:
    """A selector that the API server would refuse selects nothing here."""
    made = next_pod(Workload.read(a_workload(selector=selector), kind_of("Deployment", "apps"), "shop"))

    assert made.owner_selector is None


def test_a_pod_is_itself() -> None:
    """A pod needs no controller to be made; its owner is the one it names."""
    pod = a_pod(owner=("apps/v1", "ReplicaSet", "web-1"))
    made = next_pod(Workload.read(pod, kind_of("Pod"), "other"))

    assert pod == made.obj
    assert Owner("apps/v1", "ReplicaSet", "web-1") == made.owner
    assert made.owner_selector is None


def _tolerations(workload: dict[str, Any], kind: WorkloadKind) -> list[tuple[Any, ...]]:
    made = next_pod(Workload.read(workload, kind, "shop")).obj["spec"]["tolerations"]
    return [
        tuple(entry.get(name) for name in ("key", "operator", "effect", "tolerationSeconds"))
        for entry in made
    ]


@pytest.mark.parametrize(
    ("own", "added"),
    [
        (None, ["not-ready", "unreachable"]),
        ([{"key": "gpu", "operator": "Exists"}], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}], ["unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
        ([{"operator": "Exists"}], []),
    ],
    ids=str,
)
def test_pods_survive_short_outages(own: list[Any] | None, added: list[str]) -> None:
    """Every pod tolerates a failing node for five minutes, unless it says itself for how long."""
    workload = a_workload(spec={"tolerations": own})
    expected = [(f"node.kubernetes.io/{name}", "Exists", "NoExecute", 300) for name in added]

    assert expected == _tolerations(workload, kind_of("Deployment", "apps"))[len(own or ()) :]


@pytest.mark.parametrize(("host_network", "more"), [(False, []), (True, ["network-unavailable"])])
def test_daemon_pods_stay(*, host_network: bool, more: list[str]) -> None:
    """A DaemonSet's pods tolerate what befalls nodes, and on the host's network a missing network too."""
    workload = a_workload("DaemonSet", spec={"hostNetwork": host_network})
    kept = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable", *more]

    assert [
        *(
            (f"node.kubernetes.io/{name}", "Exists", "NoExecute", None)
            for name in ("not-ready", "unreachable")
        ),
        *((f"node.kubernetes.io/{name}", "Exists", "NoSchedule", None) for name in kept),
    ] == _tolerations(workload, kind_of("DaemonSet", "apps"))


def test_the_pod_of_a_stateful_set() -> None:
    """Its name ends in the first ordinal, and its claims are volumes."""
    workload = a_workload("StatefulSet", spec={"volumes": [{"name": "tmp", "emptyDir": {}}]})
    workload["spec"] |= {"ordinals": {"start": 3}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    pod = next_pod(Workload.read(workload, kind_of("StatefulSet", "apps"), "shop")).obj
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-3"}}

    assert "web-3" == pod["metadata"]["name"]
    assert "3" == pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"]
    assert [{"name": "tmp", "emptyDir": {}}, claim] == pod["spec"]["volumes"]


def test_the_rest_of_the_pod() -> None:
    """Namespace, annotations and spec come along, and a name begins as the controller's would."""
    workload = a_workload(template_annotations={"a": "b"}, spec={"nodeName": "n1"})
    pod = next_pod(Workload.read(workload, kind_of("Deployment", "apps"), "other")).obj

    assert ("v1", "Pod") == (pod["apiVersion"], pod["kind"])
    assert ("other", f"web-{PLACEHOLDER}") == (pod["metadata"]["namespace"], pod["metadata"]["name"])
    assert {"a": "b"} == pod["metadata"]["annotations"]
    assert "n1" == pod["spec"]["nodeName"]


@pytest.mark.parametrize("kind", KNOWN_KINDS, ids=lambda kind: kind.name)
def test_nothing_of_the_workload_is_changed(kind: WorkloadKind) -> None:
    """Making a pod leaves the workload as it was, whatever the kind, and the pod can be read."""
    workload = a_workload(kind.kind, kind.group, spec={"tolerations": []}) if kind.template else a_pod()
    before, found = copy.deepcopy(workload), ErrorList()
    read_pod(next_pod(Workload.read(workload, kind, "shop")).obj, FieldPath(), found)

    assert before == workload
    assert [] == found.errors


def test_what_is_wrong_in_the_template_is_left_for_the_reader() -> None:
    """Fields of a wrong type go into the pod as they are, so that they are told."""
    workload = a_workload(spec={"tolerations": "all"})
    workload["spec"]["template"]["metadata"]["labels"] = ["app"]
    found = ErrorList()
    read_pod(next_pod(Workload.read(workload, kind_of("Deployment", "apps"), "shop")).obj, FieldPath(), found)

    assert ["metadata.labels", "spec.tolerations"] == [str(error.path) for error in found.errors]


FULL = a_workload("StatefulSet", spec={"tolerations": [{"key": "gpu", "effect": "NoExecute"}], "volumes": []})
FULL["spec"] |= {"ordinals": {"start": 3}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}


@given(broken_copies(FULL))
def test_no_workload_is_too_broken(workload: dict[str, Any]) -> None:
    """A workload with a broken value in any field still gives a pod to read."""
    for kind in (kind_of("StatefulSet", "apps"), kind_of("Deployment", "apps"), kind_of("Job", "batch")):
        pod = next_pod(Workload.read(workload, kind, "shop")).obj

        assert "shop" == read_pod(pod, FieldPath(), ErrorList()).namespace


@pytest.mark.parametrize(
    ("kind", "group", "label"),
    [
        ("Deployment", "apps", "pod-template-hash"),
        ("Rollout", "argoproj.io", "rollouts-pod-template-hash"),
    ],
)
def test_a_pod_of_a_revision_that_is_there(kind: str, group: str, label: str) -> None:
    """It has the hash of its ReplicaSet, whatever the template says, and that ReplicaSet for an owner."""
    workload = a_workload(kind, group, labels={**APP, label: "of the template"})
    revision = read_revision(a_replica_set(workload, "5d9"))
    read = Workload.read(workload, kind_of(kind, group), "shop")
    made = next_pod(read, revision)

    assert {**APP, label: "5d9"} == made.obj["metadata"]["labels"]
    assert (Owner("apps/v1", "ReplicaSet", "web-5d9"), None) == (made.owner, made.owner_selector)
    assert PodRevision("5d9") == pod_revision(read, revision)


@pytest.mark.parametrize(
    ("kind", "group", "expected"),
    [
        *((kind, "apps", PodRevision(None)) for kind in ("Deployment", "StatefulSet", "DaemonSet")),
        ("ReplicaSet", "apps", None),
        ("Job", "batch", None),
        ("Pod", "", None),
    ],
)
def test_new_revisions(kind: str, group: str, expected: PodRevision | None) -> None:
    """Without a revision of the cluster a pod is the first of a new one, if its kind has any."""
    obj = a_pod() if kind == "Pod" else a_workload(kind, group)

    assert expected == pod_revision(Workload.read(obj, kind_of(kind, group), "shop"), None)
