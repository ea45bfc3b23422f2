"""``evenkeel lint --autoscale``: rules that node groups decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import a_constraint, a_deployment, a_node, a_workload
from tests.webhook.cli.in_process import evenkeel

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
SELECTED = (
    "autoscaler-adds-one-node-a-loop",
    "autoscaler-ignores-schedule-anyway",
    "hard-zone-spread-without-min-domains",
    "karpenter-hostname-minimum",
    "min-domains-above-domains",
)
TWO_ZONES = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
POOLS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
---
apiVersion: evenkeel.dev/v1alpha1
kind: InstanceTypes
instanceTypes:
- {name: small, allocatable: {cpu: "4", memory: 8Gi}, offerings: [{zones: [a, b]}]}
"""


def groups(most: int = 9) -> str:
    """Return a document with a node group for each of two zones."""
    found = [
        {"name": zone, "zone": zone, "maxSize": most, "allocatable": {"cpu": "4", "memory": "8Gi"}}
        for zone in "ab"
    ]
    return yaml.safe_dump({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": found})


def findings(folder: Path, constraint: dict[str, Any], given: str | None, most: int = 8) -> dict[str, str]:
    """Return the messages of rules for a workload that scales from 4 to so many pods of a CPU each."""
    web = a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(**constraint)]})
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": web["metadata"]["name"]}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": web["metadata"].get("namespace", "default")},
        "spec": {"minReplicas": 4, "maxReplicas": most, "scaleTargetRef": target},
    }
    (folder / "web.yaml").write_text(yaml.safe_dump_all([web, scaler]))
    nodes = {"apiVersion": "v1", "kind": "List", "items": [a_node("n1", "a", cpu="2")]}
    (folder / "cluster.json").write_text(json.dumps(nodes))
    arguments = ["web.yaml", "--cluster", "cluster.json", "--select", ",".join(SELECTED), "-o", "json"]
    if given is not None:
        (folder / "nodes.yaml").write_text(given)
        arguments += ["--autoscale", "nodes.yaml"]
    result = evenkeel("lint", *arguments, folder=folder)
    assert (b"", True) == (result.stderr.partition(b"Traceback")[1], result.returncode in (0, 1))
    return {each["rule"]: each["message"] for each in json.loads(result.stdout)["findings"]}


@pytest.mark.parametrize(
    ("constraint", "given", "expected"),
    [
        pytest.param(TWO_ZONES, groups(), {"autoscaler-adds-one-node-a-loop": "takes"}, id="many loops"),
        pytest.param({**TWO_ZONES, "maxSkew": 4}, groups(), {}, id="one loop"),
        pytest.param(
            {"topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
            groups(),
            {"autoscaler-ignores-schedule-anyway": "8 replicas (HorizontalPodAutoscaler web) end with skew"},
            id="soft and uneven",
        ),
        pytest.param({"topologyKey": HOST, "maxSkew": 1}, groups(), {}, id="hosts of Cluster Autoscaler"),
        pytest.param(
            {"topologyKey": HOST, "maxSkew": 1},
            POOLS,
            {"karpenter-hostname-minimum": "6 nodes for 8 replicas (HorizontalPodAutoscaler web), and 2"},
            id="6 nodes of Karpenter",
        ),
        pytest.param({"topologyKey": HOST, "maxSkew": 4}, POOLS, {}, id="as many as without"),
        pytest.param(
            {**TWO_ZONES, "minDomains": 3},
            groups(),
            {"min-domains-above-domains": "2 of 4 replicas"},
            id="3 domains of 2",
        ),
    ],
)
def test_decided(tmp_path: Path, constraint: dict[str, Any], given: str, expected: dict[str, str]) -> None:
    """A rule finds what the nodes that come show, says by which groups, and nothing where they do not."""
    found = findings(tmp_path, constraint, given)

    assert expected.keys() <= found.keys()
    assert [] == [found[rule] for rule, text in expected.items() if text not in found[rule]]
    assert all("(decided with the " in text and " of nodes.yaml)" in text for text in found.values())
    assert expected or not found


def test_zones_without_pods(tmp_path: Path) -> None:
    """A zone that only minDomains brings is named; with too little room in the other no zone is."""
    constraint = {"topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    rule = "hard-zone-spread-without-min-domains"

    assert "leave b without any" in findings(tmp_path, constraint, groups())[rule]
    assert rule not in findings(tmp_path, constraint, groups(most=0))


def test_rules_of_thumb(tmp_path: Path) -> None:
    """Without node groups, and for more replicas than are simulated, rules are as they were."""
    constraint = {"topologyKey": HOST, "maxSkew": 1}
    plain = findings(tmp_path, TWO_ZONES, None)
    large = findings(tmp_path, constraint, POOLS, most=5_000)

    assert "has 1 domain(s) (a), so" in plain["min-domains-above-domains"]
    assert "it needs 5000 nodes" in large["karpenter-hostname-minimum"]


def test_deduced_needs_nodes(tmp_path: Path) -> None:
    """Groups cannot be deduced from no cluster."""
    (tmp_path / "web.yaml").write_text("")
    result = evenkeel("lint", "web.yaml", "--autoscale", "deduced", folder=tmp_path)

    assert (2, True) == (result.returncode, b"needs the cluster's nodes" in result.stderr)


def test_withdrawn_is_said(tmp_path: Path) -> None:
    """Findings of rules of thumb that do not happen are counted, and listed with the reason."""
    web = a_deployment(a_constraint(topologyKey=ZONE), replicas=2)
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web))
    (tmp_path / "cluster.json").write_text(json.dumps(a_node("n1", "a")))
    (tmp_path / "nodes.yaml").write_text(groups())
    rule, given = ["--select", "single-domain"], ["--cluster", "cluster.json"]
    before = evenkeel("lint", "web.yaml", *rule, *given, folder=tmp_path)
    text, report = (
        evenkeel(
            "lint", "web.yaml", *rule, *given, "--autoscale", "nodes.yaml", *form, folder=tmp_path
        ).stdout
        for form in ([], ["-o", "json"])
    )
    (withdrawn,) = json.loads(report)["suppressed"]

    assert b"1 warning in 1 file" in before.stdout
    assert b"No findings in 1 file" in text
    assert b"1 finding of rules of thumb withdrawn, as the nodes that come decide otherwise" in text
    assert ("single-domain", "does not happen (decided with the node groups of nodes.yaml)") == (
        withdrawn["rule"],
        withdrawn["reason"],
    )


def test_without_a_cluster(tmp_path: Path) -> None:
    """Rules that need nodes run by node groups alone."""
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(a_deployment(a_constraint(topologyKey=RACK))))
    (tmp_path / "nodes.yaml").write_text(groups())
    rule = ["--select", "topology-key-on-no-node"]
    alone = evenkeel("lint", "web.yaml", *rule, folder=tmp_path)
    found = evenkeel("lint", "web.yaml", *rule, "--autoscale", "nodes.yaml", folder=tmp_path)

    assert (2, True) == (alone.returncode, b"node groups (--autoscale)" in alone.stderr)
    assert (1, True) == (
        found.returncode,
        b"no node that may come for these pods has the label" in found.stdout,
    )
