"""The four volume filters against plain loops, on small clusters in which names and zones keep meeting."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.scheduler.evaluate import evaluate
from tests.examples import examples
from tests.policies.scheduler.clusters import a_node, a_pod, a_request, as_recorded, with_storage
from tests.policies.scheduler.oracle_volumes import SELECTED, Cluster, refusals, stopping
from tests.policies.scheduler.storage_objects import ZONE, a_claim, a_class, a_csi_node, a_volume, using

Object = dict[str, Any]
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
VOLUME_PLUGINS = {"volumeRestrictions", "nodeVolumeLimits", "volumeBinding", "volumeZone"}
_ZONES = st.sampled_from(("a", "a", "b"))
_SIZES = st.sampled_from(("1Gi", "1Gi", "2Gi"))
_CLASSES = st.sampled_from(("ssd", "ssd", "local", "now", "gone"))
_MODES = st.sampled_from((["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOncePod"]))
_LABELS: st.SearchStrategy[Object] = st.sampled_from(
    ({}, {ZONE: "a"}, {ZONE: "b"}, {BETA_ZONE: "a"}, {ZONE: "a__b"}, {"disk": "fast"})
)
_DISKS: st.SearchStrategy[list[Object]] = st.sampled_from(
    (
        [],
        [],
        [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}],
        [{"name": "d", "gcePersistentDisk": {"pdName": "d", "readOnly": True}}],
        [{"name": "d", "awsElasticBlockStore": {"volumeID": "d"}}],
    )
)


@st.composite
def _nodes(draw: st.DrawFn, name: str) -> list[Object]:
    zone = draw(_ZONES)
    labels = draw(st.sampled_from(({ZONE: zone}, {ZONE: zone}, {BETA_ZONE: zone, ZONE: zone}, {})))
    count = draw(st.sampled_from((None, 0, 1, 2)))
    return [a_node(name, labels), *([a_csi_node(name, count)] if draw(st.booleans()) else [])]


@st.composite
def _claims(draw: st.DrawFn, name: str) -> Object:
    volume = draw(st.sampled_from(("", "", "v0", "v1", "v2", "v9")))
    claim = a_claim(
        name,
        volume,
        storageClassName=draw(_CLASSES),
        accessModes=draw(_MODES),
        resources={"requests": {"storage": draw(_SIZES)}},
    )
    if draw(st.integers(0, 5)) == 0:
        claim["spec"]["selector"] = {"matchLabels": {"disk": "fast"}}
    match draw(st.integers(0, 11)):
        case 0:
            claim["metadata"].pop("annotations", None)
        case 1:
            claim["metadata"].setdefault("annotations", {})[SELECTED] = "n0"
        case 2:
            claim["status"] = {"phase": "Lost"}
        case 3:
            claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return claim


@st.composite
def _volumes(draw: st.DrawFn, name: str) -> Object:
    volume = a_volume(
        name,
        draw(st.sampled_from(("", "", "c0", "c1"))),
        draw(st.sampled_from(("", "a", "b"))),
        storageClassName=draw(_CLASSES),
        accessModes=["ReadWriteOnce", *draw(st.sampled_from(([], ["ReadWriteOncePod"])))],
        capacity={"storage": draw(_SIZES)},
    )
    volume["metadata"]["labels"] = draw(_LABELS)
    return volume


@st.composite
def _storage_clusters(draw: st.DrawFn) -> tuple[list[Object], Object]:
    names = st.lists(st.sampled_from(("c0", "c1", "c2")), max_size=3, unique=True)
    nodes = [made for name in ("n0", "n1", "n2") for made in draw(_nodes(name))]
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": [draw(_ZONES)]}]}]
    classes = [
        a_class(allowedTopologies=allowed if draw(st.booleans()) else []),
        a_class("local", provisioner="kubernetes.io/no-provisioner"),
        a_class("now", waits=False),
    ]
    claims = [draw(_claims(name)) for name in ("c0", "c1", *draw(st.sampled_from((("c2",), ()))))]
    volumes = [draw(_volumes(f"v{number}")) for number in range(draw(st.integers(0, 3)))]
    pods = [
        a_pod(f"p{number}", draw(st.sampled_from(("n0", "n1"))), volumes=using(*draw(names)) + draw(_DISKS))
        for number in range(draw(st.integers(0, 2)))
    ]
    pod = a_pod("new", volumes=using(*draw(names)) + draw(_DISKS))
    return [*nodes, *classes, *claims, *volumes, *pods], pod


@examples(400)  # Some rules meet in one of a hundred clusters only.
@given(_storage_clusters())
def test_arrays_say_what_loops_say(drawn: tuple[list[Object], Object]) -> None:
    """For any cluster and pod, each filter reports of each node what the loops do."""
    objects, pod = drawn
    cluster = Cluster.of(objects)
    index = with_storage(objects)
    verdict = evaluate(a_request(pod, {}, index), index)
    stop = stopping(cluster, pod)

    if stop:
        assert verdict.message.startswith(f"0/{len(cluster.nodes)} nodes are available: {stop}.")
        return
    expected = {name: refusals(cluster, pod, node) for name, node in cluster.nodes.items()}
    assert expected == {
        name: {plugin: text for plugin, text in said.items() if plugin in VOLUME_PLUGINS}
        for name, said in as_recorded(verdict)["nodes"].items()
    }
