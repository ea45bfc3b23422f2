"""The state of a cluster follows its events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.fields import ErrorList
from policies.model.labels import LabelSelector
from policies.model.snapshot import SELECTING_OWNERS, SNAPSHOT_KINDS, Namespace, PodController, Snapshot
from policies.model.workload import Owner

#: apiVersion and kind of what snapshots hold.
SERVICE, NAMESPACE, REPLICA_SET = ("v1", "Service"), ("v1", "Namespace"), ("apps/v1", "ReplicaSet")
BROKEN = "no object"


def an_object(kind: tuple[str, str], name: str = "web", namespace: str | None = "shop", **fields: Any) -> Any:
    metadata = {"name": name, "namespace": namespace} if namespace is not None else {"name": name}
    return {
        "apiVersion": kind[0],
        "kind": kind[1],
        "metadata": metadata | fields.pop("metadata", {}),
        **fields,
    }


def selecting(kind: tuple[str, str], labels: Any, name: str = "web", namespace: str | None = "shop") -> Any:
    plain = SELECTING_OWNERS.get(kind, True)
    return an_object(kind, name, namespace, spec={"selector": labels if plain else {"matchLabels": labels}})


def apply(snapshot: Snapshot, obj: dict[str, Any]) -> list[str]:
    found = ErrorList()
    snapshot.apply(obj, found)
    return [str(error) for error in found.errors]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(selecting(SERVICE, [1]), ["spec.selector: Invalid value"], id="a list as selector"),
        pytest.param(
            selecting(SERVICE, {"app": 1}), ["spec.selector[app]: Invalid value"], id="a number as label"
        ),
        pytest.param(
            an_object(SERVICE, spec=3) | {"metadata": "?"},
            ["metadata: Invalid value", "spec: Invalid value"],
            id="all errors at once",
        ),
        pytest.param(an_object(SERVICE, ""), ["metadata.name: Invalid value"], id="no name"),
        pytest.param(an_object(NAMESPACE, 7), ["metadata.name: Invalid value"], id="a number as name"),  # type: ignore[arg-type]
        pytest.param(
            an_object(NAMESPACE, metadata={"labels": []}), ["metadata.labels: Invalid value"], id="labels"
        ),
        pytest.param(
            an_object(REPLICA_SET, spec={"selector": {"matchLabel": {}}}),
            ["spec.selector.matchLabel: unknown field"],
            id="an unknown field",
        ),
    ],
)
def test_broken_objects_are_left_out(obj: dict[str, Any], expected: list[str]) -> None:
    """The errors of an object are told, and the snapshot stays as it was."""
    snapshot = Snapshot()
    errors = apply(snapshot, obj)

    assert len(expected) == len(errors)
    assert all(error.startswith(start) for start, error in zip(expected, errors, strict=True))
    assert Snapshot() == snapshot


@pytest.mark.parametrize("kind", [("v1", "ConfigMap"), ("v2", "Service"), (None, None), ([], {})], ids=str)
def test_other_kinds_are_passed_over(kind: tuple[Any, Any]) -> None:
    """Objects of other kinds are no errors, whatever they hold."""
    snapshot = Snapshot()

    assert [] == apply(snapshot, an_object(kind, metadata={"labels": 3}))
    assert Snapshot() == snapshot


def test_namespaces_keep_their_labels_and_our_annotations() -> None:
    """Of the annotations only Evenkeel's are kept: others may be large."""
    snapshot = Snapshot()
    annotations = {"evenkeel.dev/inject": "false", "kubectl.kubernetes.io/last-applied-configuration": "{…}"}
    apply(
        snapshot, an_object(NAMESPACE, metadata={"labels": {"env": "production"}, "annotations": annotations})
    )

    assert {"web": Namespace({"env": "production"}, {"evenkeel.dev/inject": "false"})} == snapshot.namespaces


@pytest.mark.parametrize("kind", SELECTING_OWNERS, ids=str)
def test_controllers_are_found_by_owner_references(kind: tuple[str, str]) -> None:
    """An owner reference leads to the controller of its kind, namespace and name, and to no other."""
    snapshot = Snapshot()
    apply(snapshot, selecting(kind, {"app": "web"}))
    owner = Owner(*kind, "web")

    assert PodController(LabelSelector((("app", "web"),)), {}) == snapshot.controller(owner, "shop")
    assert snapshot.controller(owner, "other") is None
    assert snapshot.controller(Owner("apps/v1", "Deployment", "web"), "shop") is None


def test_without_a_namespace_an_object_stands_in_default() -> None:
    """Files written by hand may leave the namespace out; it is the same one to all who ask."""
    snapshot = Snapshot()
    apply(snapshot, selecting(SERVICE, {"app": "old"}, namespace=None))
    apply(snapshot, selecting(SERVICE, {"app": "web"}, namespace="default"))
    apply(snapshot, selecting(REPLICA_SET, {"app": "web"}, namespace=None))
    labels = {"app": "web"}

    assert [labels] == snapshot.service_selectors("default", labels) == snapshot.service_selectors("", labels)
    assert snapshot.controller(Owner(*REPLICA_SET, "web"), "default") is not None

    snapshot.remove(*SERVICE, "", "web")

    assert [] == snapshot.service_selectors("default", labels)


def test_a_broken_update_takes_the_old_object_away() -> None:
    """Nobody knows what became of an object whose news cannot be read."""
    snapshot = Snapshot()
    apply(snapshot, selecting(SERVICE, {"app": "web"}))
    apply(snapshot, selecting(SERVICE, BROKEN))

    assert Snapshot() == snapshot


def test_services_stand_under_the_rarest_pair() -> None:
    """A pair that all services of a namespace share does not make every pod look at all of them."""
    snapshot = Snapshot()
    for number in range(100):
        apply(snapshot, selecting(SERVICE, {"app": f"a{number}", "part-of": "shop"}, f"s{number}"))

    assert 2 >= max(len(selectors) for selectors in snapshot._selectors.values())


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)


@given(selectors=st.lists(labels, max_size=6), pod=labels)
def test_services_are_found_as_a_plain_loop_finds_them(
    selectors: list[dict[str, str]], pod: dict[str, str]
) -> None:
    """The index gives what trying every service of the namespace gives."""
    snapshot = Snapshot()
    for number, selector in enumerate(selectors):
        apply(snapshot, selecting(SERVICE, selector, f"s{number}"))
    expected = [selector for selector in selectors if selector and selector.items() <= pod.items()]
    found = snapshot.service_selectors("shop", pod)

    assert sorted(map(sorted, expected)) == sorted(map(sorted, found))


#: The object that is applied or, without a value, removed: (kind, namespace, name) and the labels.
keys = st.tuples(
    st.sampled_from(sorted(SNAPSHOT_KINDS)),
    st.sampled_from(["shop", "default", None]),
    st.sampled_from(["a", "b"]),
)
events = st.lists(st.tuples(keys, st.none() | st.just(BROKEN) | labels), max_size=12)


def revised(obj: dict[str, Any], value: Any) -> dict[str, Any]:
    """Let an object belong to one of two workloads, or none, with a revision that its labels tell."""
    if isinstance(value, dict) and "a" in value:
        labels = {"pod-template-hash": "5d9", **value}
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": value["a"], "controller": True}
        obj["metadata"]["ownerReferences"] = [owner]
        obj["spec"]["template"] = {"metadata": {"labels": labels}}
        obj["status"] = {"updateRevision": "web-5d9"}
    return obj


@given(events)
def test_events_end_in_what_the_last_objects_give(
    events: list[tuple[tuple[tuple[str, str], str | None, str], Any]],
) -> None:
    """Whatever was added, changed, broken and removed before, only the last objects count."""
    followed, rebuilt = Snapshot(), Snapshot()
    last: dict[Any, Any] = {}
    for (kind, namespace, name), value in events:
        place = name if kind == NAMESPACE else (kind, namespace or "default", name)
        if value is None:
            followed.remove(*kind, namespace or "", name)
            last.pop(place, None)
            continue
        obj = revised(selecting(kind, value, name, namespace), value)
        obj["metadata"]["labels"] = value
        last[place] = obj
        apply(followed, obj)
    for obj in last.values():
        apply(rebuilt, obj)

    assert answers(rebuilt) == answers(followed)
    assert len(rebuilt._services) == len(followed._services)
    assert sum(map(len, rebuilt._selectors.values())) == sum(map(len, followed._selectors.values()))


@given(events)
def test_nothing_is_left_of_what_is_removed(
    events: list[tuple[tuple[tuple[str, str], str | None, str], Any]],
) -> None:
    """A server that runs for months does not grow by what has come and gone."""
    snapshot = Snapshot()
    for (kind, namespace, name), value in events:
        apply(snapshot, revised(selecting(kind, value, name, namespace), value))
    for (kind, namespace, name), _ in events:
        snapshot.remove(*kind, namespace or "", name)

    assert Snapshot() == snapshot


def answers(snapshot: Snapshot) -> tuple[Any, ...]:
    """Return all that can be asked of a snapshot of the drawn names."""
    pods = [{"a": "x"}, {"a": "x", "b": "y"}, {"a": "y", "b": "x", "c": "x"}, {"c": "y", "b": "y", "a": "y"}]
    return (
        snapshot.namespaces,
        [
            sorted(sorted(found.items()) for found in snapshot.service_selectors(namespace, pod))
            for namespace in ("shop", "default")
            for pod in pods
        ],
        [
            snapshot.controller(Owner(*kind, name), namespace)
            for kind in SELECTING_OWNERS
            for namespace in ("shop", "default")
            for name in "ab"
        ],
        [
            sorted(snapshot.revisions(kind, namespace, name))
            for kind, names in (("Deployment.apps", "xy"), ("StatefulSet.apps", "ab"))
            for namespace in ("shop", "default")
            for name in names
        ],
    )
