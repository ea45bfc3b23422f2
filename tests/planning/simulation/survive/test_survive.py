"""Whether replicas survive the loss of each domain, and by how much."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.survive.deployed_workloads import why_unjudged
from planning.simulation.survive.loss import Loss, LossOptions, OtherPods, PendingOwner, margin
from planning.simulation.survive.survive import MOST_MARGIN, SingleLosses
from policies.config.context import AdmissionContext
from policies.model.topology_keys import HOSTNAME
from policies.pods.placement import read_workload
from policies.pods.pod_objects import PodObjects
from policies.scheduler.binding import schedule
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler import storage_objects as storage
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

#: Three zones with a node of 4 CPUs each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]
#: As those, but the third takes none of the built pods.
TAINTED = [*NODES[:2], a_node("n3", "c", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}])]


def _web(replicas: int = 3, cpu: str = "1", kind: str = "Deployment", **fields: Any) -> Object:
    containers = [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}]
    workload = a_workload(
        kind, spec={"topologySpreadConstraints": [a_constraint(**fields)], "containers": containers}
    )
    workload["spec"]["replicas"] = replicas
    return workload


def _survival(
    workloads: list[Object], objects: list[Object], key: str = ZONE_KEY, **options: Any
) -> tuple[SingleLosses, dict[str, Loss]]:
    context, running = AdmissionContext(policies=(), cluster=an_index(objects)), PodObjects(None)
    for obj in objects:
        running(obj)
    read = [read_workload(workload, context) for workload in workloads]
    survival = SingleLosses(read, context, LossOptions(key, **options), running)
    return survival, {loss.domain: loss for loss in survival.losses()}


@pytest.mark.parametrize(
    ("workload", "objects", "options", "fails", "spare"),
    [
        pytest.param(_web(), NODES, {}, "", 5, id="3 of 8 CPUs are left in 2 zones: 5 more"),
        pytest.param(_web(minDomains=3), NODES, {}, "abc", None, id="minDomains 3 of 2 domains: stuck"),
        pytest.param(
            _web(minDomains=3), NODES, {"allowed_missing": 1}, "", 0, id="one may be missing: none more fits"
        ),
        pytest.param(
            _web(cpu="3"), NODES, {}, "abc", None, id="3 pods of 3 CPUs on 2 nodes of 4: too little"
        ),
        pytest.param(_web(2, cpu="3"), NODES, {}, "", 0, id="2 of them fit exactly"),
        pytest.param(_web(2), TAINTED, {}, "ab", None, id="a tainted minimum of 0: the other zone takes 1"),
        pytest.param(
            _web(2, nodeTaintsPolicy="Honor"), TAINTED, {}, "", 2, id="Honor: all in one zone of 4 CPUs"
        ),
        pytest.param(
            _web(), NODES, {"unreachable": True}, "abc", None, id="unreachable nodes keep the minimum"
        ),
        pytest.param(_web(cpu="1m"), NODES, {}, "", MOST_MARGIN, id="more than are tried"),
    ],
)
def test_losing_a_zone(
    workload: Object, objects: list[Object], options: Object, fails: str, spare: int | None
) -> None:
    """Replicas that must run are scheduled again in what is left."""
    survival, losses = _survival([workload], objects, **options)

    assert survival.deployed[0].runs
    assert fails == "".join(sorted(domain for domain, loss in losses.items() if not loss.survives))
    assert fails or spare == margin(losses.values(), 0)
    # The verdict alone is the same whichever domain is lost first.
    assert {not fails} == {survival.survives(0, first) for first in (None, *losses)}


def test_a_verdict_schedules_no_more_than_it_needs() -> None:
    """A replica of zone a that comes before five other pods of that zone: only it is scheduled again."""
    web, steps = _web(1, cpu="1m"), list[float]()
    owner = ("apps/v1", "ReplicaSet", "api-1")
    others = [
        a_pod(name=f"z{at}", labels={"app": "api"}, owner=owner, spec={"nodeName": "n1"}) for at in range(5)
    ]
    objects, running = [*NODES, *others], PodObjects(None)
    for obj in objects:
        running(obj)
    context = AdmissionContext(policies=(), cluster=an_index(objects))
    survival = SingleLosses(
        [read_workload(web, context)],
        context,
        LossOptions("kubernetes.io/hostname"),
        running,
        on_step=steps.append,
    )
    survives, least = survival.survives(0), len(steps)
    list(survival.losses())

    assert (True, 1) == (survives, least)
    assert len(steps) - least > least


def test_running_pods_are_used() -> None:
    """Those of the revision stay where they are, those of others are replaced, what is missing is placed."""
    web = _web(cpu="1m", whenUnsatisfiable="ScheduleAnyway")
    replica_set = a_replica_set(web, "5d9")
    labels = replica_set["metadata"]["labels"]
    owner = ("apps/v1", "ReplicaSet", "web-5d9")
    kept = [a_pod(name=name, labels=labels, owner=owner, spec={"nodeName": "n1"}) for name in ("w1", "w2")]
    old = a_pod(name="old", labels={**labels, "pod-template-hash": "1a2"}, spec={"nodeName": "n2"})
    survival, losses = _survival([web], [*NODES, replica_set, *kept, old])
    (deployed,) = survival.deployed

    assert (2, 1, 1, 3) == (deployed.used, deployed.placed, deployed.replaced, deployed.running)
    assert {"a": 2, "b": 1, "c": 0} == deployed.domains
    assert {"a": 2, "b": 1, "c": 0} == {d: loss.workloads[0].displaced for d, loss in losses.items()}


def test_a_new_revision_replaces_all() -> None:
    """A template that the cluster does not have is judged as if it had been rolled out."""
    old = a_pod(name="old", labels={"app": "web", "pod-template-hash": "1a2"}, spec={"nodeName": "n2"})
    survival, _ = _survival([_web()], [*NODES, old])
    (deployed,) = survival.deployed

    assert (0, 3, 1) == (deployed.used, deployed.placed, deployed.replaced)


def test_replicas_that_never_ran() -> None:
    """A workload that lacks replicas before any loss is no survivor."""
    survival, losses = _survival([_web(cpu="5")], NODES)
    (deployed,) = survival.deployed

    assert (0, False) == (deployed.running, deployed.runs)
    assert deployed.pending is not None
    assert not any(loss.survives for loss in losses.values())
    # None is displaced; why they are missing is said of every loss all the same.
    assert {(0, deployed.pending)} == {
        (entry.displaced, entry.pending) for loss in losses.values() for entry in loss.workloads
    }


def test_what_shares_the_room() -> None:
    """Displaced pods of other workloads take room as well; those not tried are counted."""
    nodes = [a_node("n1", "a"), a_node("n2", "b")]
    requests = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    spec = {"nodeName": "n1", "priority": 10, **requests}
    owner = ("apps/v1", "StatefulSet", "db")
    database = a_pod(name="db-0", namespace="data", labels={"app": "db"}, owner=owner, spec=spec)
    web = _web(2, cpu="2")
    api = a_workload(
        labels={"app": "api"}, selector={"matchLabels": {"app": "api"}}, spec=requests, name="api"
    )
    outcomes = {}
    for name, workloads, objects, others in (
        ("alone", [web], nodes, 9),
        ("two workloads", [web, api], nodes, 9),
        ("beside another pod", [web], [*nodes, database], 9),
        ("own pods only", [web], [*nodes, database], 0),
    ):
        _, losses = _survival(workloads, objects, others=others)
        outcomes[name] = losses["a"].survives, losses["a"].others

    assert {
        "alone": (True, OtherPods(displaced=0, pending=0, untried=0)),
        "two workloads": (False, OtherPods(displaced=0, pending=0, untried=0)),
        "beside another pod": (False, OtherPods(displaced=1, pending=0, untried=0)),
        "own pods only": (True, OtherPods(displaced=1, pending=0, untried=1)),
    } == outcomes


def test_a_shared_selector() -> None:
    """Two workloads with one selector each keep their pods; the constraints count both, as the scheduler."""
    twin = _web(3) | {"metadata": {"name": "twin", "namespace": "shop"}}
    survival, losses = _survival([_web(3, cpu="1m", minDomains=3), twin], NODES)

    assert [3, 3] == [each.running for each in survival.deployed]
    assert {(2, 3)} == {tuple(each.running for each in loss.workloads) for loss in losses.values()}


def test_each_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst losses come first; of many without replicas some are not tried."""
    monkeypatch.setattr("planning.simulation.survive.survive.MOST_LOST", 2)
    survival, losses = _survival([_web(2)], NODES, key=HOSTNAME)

    assert ["n1", "n2", "n3"] == list(losses)
    assert [1, 1, 0] == [loss.workloads[0].displaced for loss in losses.values()]
    assert (None, 0) == (losses["n3"].workloads[0].margin, survival.without_key)


@pytest.mark.parametrize(
    ("workload", "judged"),
    [
        pytest.param(_web(), True, id="a Deployment"),
        pytest.param(_web(kind="StatefulSet"), True, id="a StatefulSet"),
        pytest.param(a_pod(), False, id="a bare Pod"),
        pytest.param(a_workload("DaemonSet"), False, id="a DaemonSet"),
        pytest.param(a_workload("Job", "batch"), False, id="a Job"),
    ],
)
def test_what_is_judged(workload: Object, *, judged: bool) -> None:
    """Only workloads with a number of replicas, and a controller that keeps it, are evaluated."""
    context = AdmissionContext(policies=())

    assert judged is (not why_unjudged(read_workload(workload, context)))


@given(
    replicas=st.integers(0, 8),
    max_skew=st.integers(1, 3),
    min_domains=st.integers(1, 4),
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    unreachable=st.booleans(),
)
def test_margin_is_what_fits(
    replicas: int, max_skew: int, min_domains: int, sizes: list[int], *, unreachable: bool
) -> None:
    """With as many replicas more as the margin says every loss is survived, with one more it is not."""
    zones = zip("abcd", sizes, strict=False)
    nodes = [a_node(f"{zone}{n}", zone, cpu="2") for zone, size in zones for n in range(size)]
    survival, losses = _survival(
        [_web(replicas, maxSkew=max_skew, minDomains=min_domains)], nodes, unreachable=unreachable
    )
    (deployed,) = survival.deployed
    for loss in losses.values():
        (entry,) = loss.workloads

        assert [] == survival.after(loss.domain).pods_on(survival.domains[loss.domain])
        assert entry.running <= deployed.running
        assert entry.survives is (entry.running >= replicas)
        assert deployed.runs or not entry.survives
    spare = margin(losses.values(), 0)
    if spare is not None:
        assert all(_fits_beside(survival, loss.domain, spare) for loss in losses.values() if loss.survives)
        assert not all(_fits_beside(survival, domain, spare + 1) for domain in losses)


def _fits_beside(survival: SingleLosses, domain: str, count: int) -> bool:
    """Return whether so many replicas more fit after a loss."""
    after, (deployed,) = survival.after(domain), survival.deployed
    names = (f"more-{number}" for number in range(count))
    return all(schedule(deployed.prepared.request, after, name).node is not None for name in names)


def test_victims_of_a_loss() -> None:
    """Displaced replicas evict pods of lower priority: of another workload that must run, and of others."""
    first, second = _web(1, cpu="3", whenUnsatisfiable="ScheduleAnyway"), _web(1, cpu="2")
    first["spec"]["template"]["spec"]["priority"] = 10
    for workload, name in ((first, "first"), (second, "second")):
        workload["metadata"]["name"] = name
        labels = {"app": name}
        workload["spec"]["selector"] = {"matchLabels": labels}
        workload["spec"]["template"]["metadata"]["labels"] = labels
    survival, losses = _survival([first, second], NODES[:2])
    loss = losses[next(domain for domain, pods in survival.deployed[0].domains.items() if pods)]

    assert [(1, 0), (1, 0)] == [(each.used + each.placed, each.evicted) for each in survival.deployed]
    assert [(1, True), (0, False)] == [(entry.running, entry.survives) for entry in loss.workloads]
    assert [(1, "pending")] == [(pod.workload, str(pod.outcome)) for pod in loss.evicted]
    assert survival.survives(0)
    assert not survival.survives(1)


def test_victims_before_a_loss() -> None:
    """A replica that is placed evicts those of another workload, which lacks them then."""
    low, high = _web(1, cpu="3"), _web(1, cpu="3")
    for workload, name, priority in ((low, "low", 0), (high, "high", 10)):
        workload["metadata"]["name"] = name
        workload["spec"]["selector"] = {"matchLabels": {"app": name}}
        workload["spec"]["template"]["metadata"]["labels"] = {"app": name}
        workload["spec"]["template"]["spec"]["priority"] = priority
    survival, _ = _survival([low, high], NODES[:1])

    assert [(0, 1), (1, 0)] == [(each.running, each.evicted) for each in survival.deployed]
    assert survival.deployed[0].lacks
    assert survival.deployed[0].pending is not None


def test_replicas_of_a_stateful_set_keep_their_volumes() -> None:
    """Those that a rollout would replace come back under their names, each tied to the zone of its claim."""
    web = _web(2, kind="StatefulSet")
    template = storage.a_claim("data")
    web["spec"]["volumeClaimTemplates"] = [{name: template[name] for name in ("metadata", "spec")}]
    around = [*(storage.a_csi_node(node) for node in ("n1", "n2", "n3")), storage.a_class()]
    for number, zone in enumerate("ab"):
        claim, volume = f"data-web-{number}", f"v-{number}"
        around += [storage.a_claim(claim, volume), storage.a_volume(volume, claim, zone)]
        labels = {"app": "web", "controller-revision-hash": "old"}
        spec = {"nodeName": f"n{number + 1}", "volumes": storage.using(claim)}
        around.append(a_pod(name=f"web-{number}", labels=labels, spec=spec))
    survival, losses = _survival([web], [*NODES, *around])
    lost = {domain: loss.workloads[0].messages.lost_volumes for domain, loss in losses.items()}

    assert [(2, 2)] == [(each.running, each.replaced) for each in survival.deployed]
    assert {"a": [("web-0", "v-0")], "b": [("web-1", "v-1")], "c": []} == {
        domain: [(each.pod, each.volume) for each in found] for domain, found in lost.items()
    }


def test_each_loss_finds_the_volumes_as_they_were() -> None:
    """A volume that one loss gives a claim is free again in the next: any claim may get the one left."""
    claims = [storage.a_claim(name) for name in ("of-a", "of-b")]
    pods = [
        a_pod(
            name=name,
            labels={"app": name},
            owner=("apps/v1", "ReplicaSet", name),
            spec={"nodeName": node, "volumes": storage.using(name)},
        )
        for name, node in (("of-a", "n1"), ("of-b", "n2"))
    ]
    local = storage.a_class(provisioner="kubernetes.io/no-provisioner")
    csi_nodes = [storage.a_csi_node(node) for node in ("n1", "n2", "n3")]
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": storage.DRIVER}}
    around = [*NODES, *csi_nodes, driver, local, *claims, *pods]

    _, losses = _survival([_web(1)], [*around, storage.a_volume("left", zone="c")])
    _, without = _survival([_web(1)], [*around, storage.a_volume("elsewhere", zone="x")])

    recovered = OtherPods(displaced=1, pending=0, untried=0)
    pending = {
        domain: OtherPods(
            displaced=1,
            pending=1,
            pending_of=(PendingOwner(namespace="shop", owner=f"ReplicaSet of-{domain}", pods=1),),
            untried=0,
        )
        for domain in "ab"
    }
    assert [recovered] * 2 == [losses[domain].others for domain in "ab"]
    assert pending == {domain: without[domain].others for domain in "ab"}
