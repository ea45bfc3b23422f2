"""Every command gives the same number for the same quantity: domain counts, global minimum, skew, lost pods.

Each is run as a person runs it, on random clusters; what its answer has of these quantities is compared with
the plain count below.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import click
import pytest
from click.testing import CliRunner

from planning.audit.audit import workload_skew
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.policies.scheduler.clusters import an_index
from tests.waiting import eventually
from tests.webhook.ui.pages import a_client
from webhook.cli import advise, audit, explain, plan, what_if
from webhook.telemetry.skew_metrics import ExportedSkew, SkewReport, skew_families

Object = dict[str, Any]

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = ("deploy/web", "-n", "shop")
_FILE = {"apiVersion": "v1", "kind": "List"}


@dataclass(frozen=True)
class Case:
    """A Deployment all of whose replicas run, on a cluster with a few other pods."""

    objects: list[Object]  #: The cluster.
    folder: Path  #: Where its files are: ``cluster.json``, ``before/`` and ``after/`` with one replica more.

    @classmethod
    def random(cls, seed: int, folder: Path) -> Case:
        """Return a case; every number of pods, domains and minDomains may come out."""
        random = Random(seed)
        zones = "abcd"[: random.randrange(1, 5)]
        nodes = [a_node(f"n{number}", random.choice(zones)) for number in range(random.randrange(3, 9))]
        spread = [
            a_constraint(maxSkew=random.randrange(1, 4), minDomains=random.choice([None, 1, 2, 3, 5])),
            a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway"),
        ]
        deployment = a_workload(spec={"topologySpreadConstraints": spread})
        replicas = random.randrange(1, 9)
        deployment["spec"]["replicas"] = replicas
        replica_set = a_replica_set(deployment, "5d9")
        replica_set["spec"]["replicas"] = replicas
        labels = replica_set["spec"]["template"]["metadata"]["labels"]
        owner = ("apps/v1", "ReplicaSet", "web-5d9")
        names = [node["metadata"]["name"] for node in nodes]
        pods = [
            a_pod(name=f"web-{number}", labels=labels, owner=owner, spec={"nodeName": random.choice(names)})
            for number in range(replicas)
        ]
        other = a_pod(name="other", labels={"app": "other"}, spec={"nodeName": random.choice(names)})
        case = cls([*nodes, deployment, replica_set, *pods, other], folder)
        case._write(deployment)
        return case

    def _write(self, deployment: Object) -> None:
        (self.folder / "cluster.json").write_text(json.dumps(_FILE | {"items": self.objects}))
        grown = deployment | {"spec": deployment["spec"] | {"replicas": self.replicas + 1}}
        for name, obj in (("before", deployment), ("after", grown)):
            (self.folder / name).mkdir()
            (self.folder / name / "web.json").write_text(json.dumps(obj))

    def run(self, command: click.Command, *arguments: str) -> Any:
        """Return the JSON that a command answers about the Deployment in the cluster's file."""
        cluster = str(self.folder / "cluster.json")
        result = CliRunner().invoke(command, [*arguments, "--cluster", cluster, "-o", "json"])
        assert result.stdout, result.exception
        return json.loads(result.stdout)

    @property
    def deployment(self) -> Object:
        """The Deployment."""
        return next(obj for obj in self.objects if obj["kind"] == "Deployment")

    @property
    def replicas(self) -> int:
        """How many replicas it has."""
        count: int = self.deployment["spec"]["replicas"]
        return count

    @cached_property
    def counts(self) -> list[dict[str, int]]:
        """The pods of each domain, counted plainly, for each constraint."""
        nodes = {
            obj["metadata"]["name"]: obj["metadata"]["labels"]
            for obj in self.objects
            if obj["kind"] == "Node"
        }
        pods = [obj for obj in self.objects if obj["metadata"].get("labels", {}).get("app") == "web"]
        homes = [obj["spec"]["nodeName"] for obj in pods if obj["kind"] == "Pod"]
        return [
            {labels[key]: 0 for labels in nodes.values()} | Counter(nodes[home][key] for home in homes)
            for key in (ZONE, HOSTNAME)
        ]

    def minimum(self, position: int, counts: Mapping[str, int]) -> int:
        """Return the global minimum of some counts: 0 where there are fewer domains than ``minDomains``."""
        constraint = self.deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][position]
        return 0 if len(counts) < constraint.get("minDomains", 1) else min(counts.values())

    def skew(self, position: int, counts: Mapping[str, int]) -> int:
        """Return the skew of some counts."""
        return max(counts.values()) - self.minimum(position, counts)


#: For each number of an answer: the quantity, the number, and the expected one.
Said = Iterator[tuple[str, Any, Any]]


def _explained(case: Case, answer: Any) -> Said:
    yield "running", answer["replicas"]["placed"], case.replicas
    for position, (counts, found) in enumerate(zip(case.counts, answer["constraints"], strict=True)):
        yield "skew", found["skewNow"], case.skew(position, counts)
        yield "counts", {each["value"]: each["matching"] for each in found["domains"]}, counts
        if found["globalMinimum"] is not None:
            yield "minimum", found["globalMinimum"], case.minimum(0, counts)


def _changed(case: Case, domains: Iterable[Any], before: str) -> Said:
    for position, found in enumerate(domains):
        yield "counts", found[before], case.counts[position]
        yield "skew before", found[f"skew{before.title()}"], case.skew(position, case.counts[position])
        yield "skew", found["skew"], case.skew(position, found["after"])


def _rolled(case: Case, answer: Any) -> Said:
    """The numbers of a rollout in which nothing happens."""
    yield from _changed(case, answer["domains"], "before")
    rollout, skews = answer["rollout"], list(map(case.skew, (0, 1), case.counts))
    yield "skew after", rollout["likely"]["skews"], skews
    yield "worst skew after", rollout["worstSkews"], skews
    yield "largest skew", rollout["worstPeaks"], skews
    yield "largest skew, likely", [peak["skew"] for peak in rollout["peaks"]], skews


def _audited(case: Case, found: Any) -> Said:
    yield "running", found["running"], case.replicas
    yield from _left(case, found)
    for position, (counts, each) in enumerate(zip(case.counts, found["constraints"], strict=True)):
        yield "domains", each["domains"], len(counts)
        yield "minimum", each["globalMinimum"], case.minimum(position, counts)
        yield "most", each["most"], max(counts.values())
        yield "skew", each["skew"], case.skew(position, counts)


def _explain(case: Case) -> Said:
    return _explained(case, case.run(explain.command, *WEB))


def _what_if(case: Case) -> Said:
    found = case.run(what_if.command, *WEB, "--cordon", "n0")["workloads"][0]
    yield "running", (found["before"], found["after"]), (case.replicas, case.replicas)
    for position, each in enumerate(found["constraints"]):
        yield "counts", each["before"], case.counts[position]
        yield "counts after a cordon", each["after"], case.counts[position]
        for name in ("skewBefore", "skew"):
            yield name, each[name], case.skew(position, case.counts[position])
    yield from _left(case, found)


def _left(case: Case, found: Any) -> Said:
    for each in found["survival"]:
        counts = case.counts[(ZONE, HOSTNAME).index(each["topologyKey"])]
        yield "left", each["left"], case.replicas - max(counts.values())


def _lose_each(case: Case) -> Said:
    answer = case.run(what_if.command, *WEB, "--lose-each", "zone")
    lost = {
        each["scenario"]["events"][-1]["lose"]["value"]: sum(
            found["lost"] for found in each["workloads"] if found["name"] == "web"
        )
        for each in answer["outcomes"]
    }
    yield "counts", lost, case.counts[0]


def _plan(case: Case) -> Said:
    answer = case.run(plan.command, str(case.folder / "after"), "--from", str(case.folder / "before"))
    found = answer["outcome"]["workloads"][0]
    yield "running", found["before"], case.replicas
    yield from _changed(case, found["constraints"], "before")


def _audit(case: Case) -> Said:
    return _audited(case, case.run(audit.command)["workloads"][0])


def _rebalance(case: Case) -> Said:
    answer = case.run(audit.command, *WEB, "--evictions", "--soft")
    for position, found in enumerate(answer["constraints"]):
        yield "counts", found["before"], case.counts[position]
        if answer["evictions"] and answer["whyNot"] is None:
            yield "within after", case.skew(position, found["after"]) <= found["maxSkew"], True


def _deletion_costs(case: Case) -> Said:
    answer = case.run(audit.command, *WEB, "--deletion-costs", str(case.replicas))
    yield "running", answer["running"], case.replicas
    for position, found in enumerate(answer["constraints"]):
        yield "counts", found["before"], case.counts[position]


def _advise(case: Case) -> Said:
    now = case.run(advise.command, *WEB, "--lose-at-most", "99%")["now"]
    yield "running", now["replicas"], case.replicas
    yield "lost with the worst zone", now["count"], max(case.counts[0].values())


def _metrics(case: Case) -> Said:
    workloads = ClusterWorkloads(WorkloadKinds())
    for obj in case.objects:
        workloads(obj)
    context = AdmissionContext(policies=(), cluster=an_index(case.objects))
    found = tuple(workload_skew(each, context) for each in workloads.each() if each is not None)
    families = {
        family.name: {sample.labels.get("topology_key"): sample.value for sample in family.samples}
        for family in skew_families(SkewReport(0, 0, found), ExportedSkew.of(found, 100))
    }
    for position, key in enumerate((ZONE, HOSTNAME)):
        counts = case.counts[position]
        yield "skew", families["evenkeel_workload_skew"][key], case.skew(position, counts)
        yield "domains", families["evenkeel_workload_domains"][key], len(counts)
        left = case.replicas - max(counts.values())
        yield "left", families["evenkeel_workload_replicas_left"][key], left


def _page(case: Case) -> Said:
    client = a_client(*case.objects)
    client.state.audit.start()
    eventually(lambda: (client.get("/api/workloads").json or {})["done"])
    yield from _audited(case, (client.get("/api/workloads").json or {})["workloads"][0])
    body = {"manifest": json.dumps(case.deployment)}
    yield from _explained(case, client.post("/api/explain", body).json)
    workload = case.deployment["metadata"] | {"kind": "Deployment"}
    target = {name: workload[name] for name in ("kind", "namespace", "name")}
    scaled = {"events": [{"scale": target | {"to": case.replicas + 2}}], "workloads": [target]}
    (found,) = (client.post("/api/what-if", scaled).json or {})["outcome"]["workloads"]
    yield from _changed(case, found["constraints"], "before")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "says",
    [
        _explain, _what_if, _lose_each, _plan, _audit, _rebalance, _deletion_costs, _advise, _metrics, _page,
    ],
)  # fmt: skip
def test_numbers_are_those_of_the_plain_count(
    says: Callable[[Case], Said], seed: int, tmp_path: Path
) -> None:
    """Domain counts, minimum with minDomains, skew, running and lost replicas are the same everywhere."""
    case = Case.random(seed, tmp_path)
    found = list(says(case))

    assert found
    assert [(what, expected) for what, _, expected in found] == [(what, actual) for what, actual, _ in found]


def test_some_cases_have_fewer_domains_than_min_domains(tmp_path: Path) -> None:
    """There the minimum is 0 though no domain is empty, and others have no such constraint."""
    differ = []
    for seed in range(6):
        (tmp_path / str(seed)).mkdir()
        case = Case.random(seed, tmp_path / str(seed))
        differ.append(case.minimum(0, case.counts[0]) != min(case.counts[0].values()))

    assert {True, False} == set(differ)
