"""How workloads are spread: what an audit says of it, without the rest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from planning.audit.audit import audit, workload_skew
from planning.audit.workload_audit import Risk
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkload, ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import HOSTNAME, ZONE, a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.policies.scheduler.clusters import an_index

Object = dict[str, Any]

DEMO: list[Object] = yaml.safe_load(Path("webhook/demo/cluster.yaml").read_text())["items"]
#: The risks that the skew alone shows.
MEASURED = {
    Risk.VIOLATED,
    Risk.PENDING,
    Risk.ONE_DOMAIN,
    Risk.NEVER_BINDS,
    Risk.UNEVEN,
    Risk.INVALID,
}


def a_random_cluster(seed: int) -> list[Object]:
    """Return nodes, some cordoned, tainted or without a zone, and workloads with running and pending pods."""
    random = Random(seed)
    nodes = [
        a_node(
            f"n{number}",
            random.choice("abc"),
            unschedulable=random.random() < 0.2,
            **dict[str, Any](
                {"taints": [{"key": "k", "effect": "NoSchedule"}]} if random.random() < 0.2 else {}
            ),
        )
        for number in range(8)
    ]
    del nodes[0]["metadata"]["labels"][ZONE]
    workloads = [pod for name in "abcdef" for pod in _a_random_workload(name, random)]
    return nodes + workloads


def _a_random_workload(name: str, random: Random) -> Iterable[Object]:
    spread = [
        a_constraint(
            topologyKey=key,
            whenUnsatisfiable=when,
            maxSkew=random.choice([0, 1, 1, 2]),
            minDomains=random.choice([None, 1, 4]) if when == "DoNotSchedule" else None,
            nodeTaintsPolicy=random.choice([None, "Honor"]),
            labelSelector=random.choice([*3 * [{"matchLabels": {"app": name}}], None]),
        )
        for key, when in ((ZONE, "DoNotSchedule"), (HOSTNAME, "ScheduleAnyway"))
        if random.random() < 0.8
    ]
    labels = {"app": name}
    obj = a_workload(
        "StatefulSet", labels=labels, selector={"matchLabels": labels},
        spec={"topologySpreadConstraints": spread}, name=name, uid=f"uid-{name}",
    )  # fmt: skip
    yield obj | {"spec": obj["spec"] | {"replicas": 4}}
    owner = ("apps/v1", "StatefulSet", name)
    for number in range(random.randrange(7)):
        node = random.choice(["n1", "n2", "n3", "n4", "n5", "n6", "n7", None])
        spec = {"nodeName": node} if node else {}
        yield a_pod(name=f"{name}-{number}", labels=labels, owner=owner, spec=spec)


def _gathered(objects: Iterable[Object]) -> tuple[list[ClusterWorkload], AdmissionContext]:
    workloads = ClusterWorkloads(WorkloadKinds())
    for obj in objects:
        workloads(obj)
    return [each for each in workloads.each() if each], AdmissionContext(
        policies=(), cluster=an_index(objects)
    )


@pytest.mark.parametrize(
    "objects",
    [pytest.param(DEMO, id="demo"), *(pytest.param(a_random_cluster(n), id=f"seed {n}") for n in range(12))],
)
def test_it_is_what_an_audit_says(objects: list[Object]) -> None:
    """Every number and every problem that the skew alone shows is that of the audit."""
    entries, context = _gathered(objects)

    assert entries
    for entry in entries:
        whole, found = audit(entry, context), workload_skew(entry, context)
        waits = Risk.PENDING in {problem.risk for problem in whole.problems}
        assert whole.constraints == found.constraints
        assert whole.survival == found.survival
        assert {each for each in whole.problems if each.risk in MEASURED} == set(found.problems)
        assert (entry.pending if waits else 0) == found.pending
        assert bool(waits) == bool(found.message)


def test_the_random_clusters_have_every_problem() -> None:
    """The comparison above would be worth little without them."""
    found = set()
    for seed in range(12):
        entries, context = _gathered(a_random_cluster(seed))
        found |= {each.risk for entry in entries for each in workload_skew(entry, context).problems}

    assert found == MEASURED


def test_a_replica_set_is_named_by_its_owner() -> None:
    """An Event on it is shown where people look: at the Deployment."""
    replica_set = a_replica_set(a_workload("Deployment"), "5d9")
    replica_set["metadata"]["ownerReferences"][0]["uid"] = "u-1"
    (entry,), context = _gathered([a_node("n1"), replica_set])
    found = workload_skew(entry, context)

    assert ("apps/v1", "Deployment", "shop", "web", "u-1") == (
        found.api_version, found.kind, found.namespace, found.name, found.uid,
    )  # fmt: skip
