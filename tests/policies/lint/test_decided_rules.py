"""Rules that the nodes of an autoscaler decide: what they find and withdraw, and that simulate agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from planning.autoscaler.sources import read_autoscaler
from planning.simulation.scale_ups import SimulatedScaleUps
from planning.simulation.scheduling_queue import queue_replicas
from planning.simulation.simulated_queue import PLAIN, PlannedActions, simulate_queue
from policies.config.context import AdmissionContext
from policies.lint.exemptions import SuppressedBy
from policies.lint.run import LintResult, Selection, lint_loaded
from policies.lint.workload_loader import load_manifests
from policies.manifests.documents import load, objects
from policies.model.topology import ClusterTopology
from policies.pods.known_pods import UNREAD_PODS
from policies.rules.base import all_rules
from policies.scheduler.index import ClusterIndex
from tests.builders import APP, ZONE, a_constraint, a_deployment, a_node, a_workload
from tests.planning.verdicts import an_index

HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
TAINT = {"key": "team", "value": "data", "effect": "NoSchedule"}
MESSAGE = "(decided with the node groups of groups.yaml)"
#: Shorthand of node groups: a zone and the most nodes that come in it.
Groups = Mapping[str, int]


def groups(most: Groups, **rest: Any) -> dict[str, Any]:
    """Return node groups without a node, one for each zone."""
    room = {"cpu": "4", "memory": "8Gi"}
    found = [
        {"name": zone, "zone": zone, "size": 0, "maxSize": number, "allocatable": room, **rest}
        for zone, number in most.items()
    ]
    return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": found}


def nodes(*names: str, **spec: Any) -> list[dict[str, Any]]:
    """Return nodes, each in the zone that its name begins with; those of x are tainted."""
    return [
        a_node(name, "c", taints=[TAINT]) if name.startswith("x") else a_node(name, name[0], **spec)
        for name in names
    ]


def linted(
    rule: str,
    manifests: Sequence[Mapping[str, Any]],
    cluster: Sequence[dict[str, Any]],
    given: Mapping[str, Any],
) -> LintResult:
    """Return the findings of a rule with node groups; without a node there is no cluster."""
    index = an_index(*cluster) if cluster else None
    context = AdmissionContext(policies=(), cluster=index)
    text = yaml.safe_dump_all(manifests)
    read = [entry for document in load(text, "web.yaml") for entry in objects(document)]
    loaded = load_manifests(read, context)
    autoscaler = read_autoscaler(
        list(objects(load(yaml.safe_dump(given), "groups.yaml")[0])), index or ClusterIndex()
    )
    return lint_loaded(
        loaded,
        loaded.repository,
        context,
        selection=Selection(select=frozenset({rule})),
        inventory=None if index is None else ClusterTopology(tuple(index.nodes.listed())),
        scale_ups=SimulatedScaleUps(autoscaler, "the node groups of groups.yaml", context),
    )


def apart(key: str) -> dict[str, Any]:
    """Return a pod's spec with a required anti-affinity against its own kind."""
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": APP}}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"podAntiAffinity": required}}


def scaler(least: int, most: int) -> dict[str, Any]:
    """Return an autoscaler of pods for the workload."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minReplicas": least, "maxReplicas": most, "scaleTargetRef": target},
    }


def rolling(*constraints: Any, replicas: int, **spec: Any) -> dict[str, Any]:
    """Return a Deployment that keeps all of its pods in a rollout."""
    web = a_deployment(*constraints, replicas=replicas, **spec)
    web["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    return web


ZONES, HOSTS = a_constraint(topologyKey=ZONE), a_constraint(topologyKey=HOST)
THREE = a_constraint(topologyKey=ZONE, minDomains=3)
ANTI, TOGETHER = "anti-affinity-above-domains", "constraints-unsatisfiable-together"
UNREACHABLE, ROLLOUT, FEWER = (
    "unreachable-domain-counted",
    "rollout-without-room",
    "fewer-replicas-than-domains",
)
ON_NONE, SINGLE = "topology-key-on-no-node", "single-domain"


@pytest.mark.parametrize(
    ("rule", "manifests", "cluster", "given", "expected"),
    [
        pytest.param(
            ANTI,
            [a_deployment(replicas=4, spec=apart(ZONE))],
            nodes("a1", "b1"),
            groups({"a": 9, "b": 9, "c": 9}),
            "1 of 4 replicas stay pending, and none without it",
            id="anti-affinity over 2 zones and 1 that comes, 4 replicas: 1 stays pending",
        ),
        pytest.param(
            ANTI,
            [a_deployment(replicas=3, spec=apart(ZONE))],
            nodes("a1", "b1"),
            groups({"c": 1}),
            None,
            id="anti-affinity over 2 zones and 1 that comes, 3 replicas: all run",
        ),
        pytest.param(
            ANTI,
            [a_deployment(replicas=3, spec=apart(HOST))],
            [],
            groups({"a": 2}),
            "1 of 3 replicas stay pending, and none without it",
            id="anti-affinity over hosts, no cluster and 2 nodes that come: 1 of 3 stays pending",
        ),
        pytest.param(
            TOGETHER,
            [a_deployment(ZONES, HOSTS, replicas=4)],
            nodes("a1", "a2", "a3", "b1"),
            groups({"a": 5}),
            "1 of 4 replicas stay pending, and none with one of them alone",
            id="zones of 3 and 1 nodes, more only in the first: 1 of 4 stays pending",
        ),
        pytest.param(
            TOGETHER,
            [a_deployment(ZONES, HOSTS, replicas=4)],
            nodes("a1", "a2", "a3", "b1"),
            groups({"b": 1}),
            None,
            id="zones of 3 and 1 nodes, one more in the second: all run",
        ),
        pytest.param(
            UNREACHABLE,
            [a_deployment(ZONES, replicas=3)],
            nodes("a1", "b1", "x1"),
            groups({"a": 9, "b": 9}),
            "1 of 3 replicas stay pending, and none if they did not count",
            id="a tainted zone, none without taint comes: 1 of 3 stays pending",
        ),
        pytest.param(
            UNREACHABLE,
            [a_deployment(ZONES, replicas=3)],
            nodes("a1", "b1", "x1"),
            groups({"c": 1}),
            None,
            id="a tainted zone, a node without taint comes: all run",
        ),
        pytest.param(
            UNREACHABLE,
            [rolling(ZONES, replicas=2)],
            nodes("a1", "b1", "x1"),
            groups({"a": 9, "b": 9}),
            "the first new pod of a rollout is unschedulable",
            id="a tainted zone, 2 replicas run and no third beside them",
        ),
        pytest.param(
            UNREACHABLE,
            [rolling(ZONES, replicas=2)],
            nodes("a1", "b1", "x1"),
            groups({"c": 1}),
            None,
            id="a tainted zone, 2 replicas run and a third on a node that comes",
        ),
        pytest.param(
            ROLLOUT,
            [rolling(replicas=2, spec=apart(HOST))],
            nodes("a1", "a2"),
            groups({"a": 0}),
            "beside 2 replicas, with maxUnavailable 0 and maxSurge 1",
            id="2 replicas apart on 2 nodes, no other comes",
        ),
        pytest.param(
            ROLLOUT,
            [rolling(replicas=2, spec=apart(HOST))],
            nodes("a1", "a2"),
            groups({"a": 1}),
            None,
            id="2 replicas apart on 2 nodes, a third comes",
        ),
        pytest.param(
            FEWER,
            [a_deployment(THREE), scaler(2, 9)],
            nodes("a1"),
            groups({"b": 2, "c": 2}),
            "may scale down to 2 replicas: they leave c without any",
            id="minDomains 3, 2 replicas, 1 zone and 2 that come: c is empty",
        ),
        pytest.param(
            ON_NONE,
            [a_deployment(a_constraint(topologyKey=RACK))],
            nodes("a1"),
            groups({"a": 1}),
            f"the only node does not have the label {RACK}, nor has any that may come for these pods",
            id="a label that neither nodes nor groups have",
        ),
        pytest.param(
            ON_NONE,
            [a_deployment(a_constraint(topologyKey=RACK))],
            nodes("a1"),
            groups({"a": 1}, labels={RACK: "r1"}),
            None,
            id="a label that a group has",
        ),
        pytest.param(
            ON_NONE,
            [a_deployment(a_constraint(topologyKey=RACK))],
            [],
            groups({"a": 1}, labels={RACK: "r1"}, taints=[TAINT]),
            f"no node that may come for these pods has the label {RACK}",
            id="a label of a tainted group alone, no cluster",
        ),
        pytest.param(
            SINGLE,
            [a_deployment(ZONES)],
            nodes("a1"),
            groups({"a": 1}),
            "one domain with nodes that are there or may come for these pods, a",
            id="one zone, and no other comes",
        ),
        pytest.param(
            SINGLE,
            [a_deployment(ZONES)],
            nodes("a1"),
            groups({"b": 1}, taints=[TAINT]),
            "one domain with nodes that are there or may come for these pods, a",
            id="one zone, another is tainted",
        ),
        pytest.param(
            SINGLE, [a_deployment(ZONES)], nodes("a1"), groups({"b": 1}), None, id="one zone, another comes"
        ),
    ],
)
def test_decided(
    rule: str,
    manifests: Sequence[Mapping[str, Any]],
    cluster: Sequence[dict[str, Any]],
    given: Mapping[str, Any],
    expected: str | None,
) -> None:
    """A rule finds what happens and says by which node groups; what does not happen is counted."""
    result = linted(rule, manifests, cluster, given)
    messages = [finding.message for finding in result.findings]
    withdrawn = [(each.finding.rule, each.by, each.reason) for each in result.suppressed]

    assert ([expected] if expected else []) == [expected for text in messages if (expected or "") in text]
    assert all(text.endswith(MESSAGE) for text in messages)
    assert ([] if expected else [(rule, SuppressedBy.NODE_GROUPS, f"does not happen {MESSAGE}")]) == withdrawn
    assert ({}, []) == (result.skipped, result.cut)


def test_fixes_what_was_decided() -> None:
    """The fix of a decided finding is that of the rule of thumb."""
    (finding,) = linted(
        UNREACHABLE, [a_deployment(ZONES, replicas=3)], nodes("a1", "b1", "x1"), groups({"a": 1})
    ).findings

    assert finding.fixable


def test_not_decided() -> None:
    """A workload that is too large to simulate is said to be judged by rules of thumb."""
    result = linted(ANTI, [a_deployment(replicas=5_000, spec=apart(ZONE))], nodes("a1"), groups({"b": 9}))

    assert ["at most 1 of 5000 replicas can run"] == [each.message.split(": ")[1] for each in result.findings]
    assert [("undecided", "Deployment web")] == [(each.reason, each.title) for each in result.cut]


def a_patch(*constraints: Any) -> dict[str, Any]:
    """Return what a patch has of a Deployment."""
    spec = {"template": {"spec": {"topologySpreadConstraints": list(constraints)}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(a_patch({"topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}), id="a patch"),
        pytest.param(rolling({**ZONES, "maxSkew": "${SKEW}"}, replicas=3), id="a placeholder for a number"),
        pytest.param(rolling({**ZONES, "whenUnsatisfiable": "${HOW}"}, replicas=3), id="one for a word"),
    ],
)
def test_what_other_tools_complete_is_not_simulated(manifest: Mapping[str, Any]) -> None:
    """A constraint that lacks what the API server needs is not judged, and is no reason to end."""
    result = linted(ROLLOUT, [manifest], nodes("a1"), groups({"a": 3}))

    assert ([], []) == (result.findings, result.suppressed)


def test_own_pods_are_not_counted_twice() -> None:
    """Replicas that run already are those that are placed."""
    running = [
        {**pod, "status": {"phase": "Running"}}
        for pod in (a_workload_pod(f"web-{number}", node) for number, node in enumerate(("a1", "b1")))
    ]
    result = linted(
        ANTI, [a_deployment(replicas=2, spec=apart(ZONE))], [*nodes("a1", "b1"), *running], groups({"a": 0})
    )

    assert ([], []) == (result.findings, result.suppressed)


def a_workload_pod(name: str, node: str) -> dict[str, Any]:
    """Return a pod of the workload on a node."""
    spec = a_deployment(spec=apart(ZONE))["spec"]["template"]["spec"]
    metadata = {"name": name, "namespace": "shop", "labels": dict(APP)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "nodeName": node}}


def test_volumes_of_zones_that_come() -> None:
    """A zone in which nodes may come is one in which a volume may be made."""
    db = a_workload("StatefulSet", spec={"topologySpreadConstraints": [ZONES]})
    claim = {
        "metadata": {"name": "data"},
        "spec": {"storageClassName": "ssd", "accessModes": ["ReadWriteOnce"]},
    }
    db["spec"] |= {"replicas": 3, "volumeClaimTemplates": [claim]}
    ssd = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "ssd"},
        "provisioner": "ebs.csi.aws.com",
    }
    rule = "volume-bound-before-spreading"
    found = [linted(rule, [db, ssd], nodes("a1"), groups({zone: 1})).findings for zone in "ab"]

    assert [0, 1] == list(map(len, found))


CASES = [
    pytest.param(
        replicas, cluster, most, id=f"{replicas} replicas, nodes {' '.join(cluster) or 'none'}, groups {most}"
    )
    for replicas in (2, 3, 5)
    for cluster in ((), ("a1",), ("a1", "b1"), ("a1", "a2", "b1", "x1"))
    for most in ({"a": 1}, {"a": 2, "b": 2}, {"b": 1, "c": 3})
]


@pytest.mark.parametrize(("replicas", "cluster", "most"), CASES)
def test_agrees_with_simulate(replicas: int, cluster: Sequence[str], most: Groups) -> None:
    """Replicas are found to stay pending as simulate says, where it leaves more of them than otherwise."""
    given, there = groups(most), nodes(*cluster)
    variants = {
        ANTI: (a_deployment(replicas=replicas, spec=apart(ZONE)), a_deployment(replicas=replicas)),
        UNREACHABLE: (
            a_deployment(ZONES, replicas=replicas),
            a_deployment(ZONES | {"nodeTaintsPolicy": "Honor"}, replicas=replicas),
        ),
        TOGETHER: (
            a_deployment(ZONES, HOSTS, replicas=replicas),
            a_deployment(ZONES, replicas=replicas),
            a_deployment(HOSTS, replicas=replicas),
        ),
        "min-domains-above-domains": (
            a_deployment(THREE, replicas=replicas),
            a_deployment(ZONES, replicas=replicas),
        ),
    }
    for rule, (web, *others) in variants.items():
        pending, *instead = (simulated(each, there, given) for each in (web, *others))
        found = linted(rule, [web], there, given).findings
        messages = [finding.message for finding in found if "stay pending" in finding.message]

        assert (pending > max(instead)) == bool(messages)
        assert all(f"{pending} of {replicas} replicas stay pending" in text for text in messages)


def simulated(web: Mapping[str, Any], there: Sequence[dict[str, Any]], given: Mapping[str, Any]) -> int:
    """Return how many replicas simulate leaves pending."""
    index = an_index(*there)
    autoscaler = read_autoscaler(list(objects(load(yaml.safe_dump(given), "groups.yaml")[0])), index)
    queue = queue_replicas(web, AdmissionContext(policies=(), cluster=index), UNREAD_PODS)
    return simulate_queue(queue, PLAIN, planned=PlannedActions(autoscaler=autoscaler)).simulation.pending


def test_every_decidable_rule_says_so() -> None:
    """The manual of each rule that node groups decide names the option."""
    decidable = [rule for rule in all_rules().values() if rule.decidable]

    assert 13 == len(decidable)
    assert [] == [rule.id for rule in decidable if "lint --autoscale" not in rule.manual]
