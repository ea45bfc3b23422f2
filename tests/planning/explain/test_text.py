"""An explanation as a person reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.explain import text as explain_text
from planning.explain.explain import Explained
from policies.scheduler.configuration import SchedulerConfig, build_profile
from tests.builders import ZONE, a_constraint, a_node, a_pod, a_workload
from tests.planning.explain.explanations import MANY, SOFT, UNEVEN, a_spread_pod, an_explanation
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import objects_of
from tests.policies.scheduler.strategies import cases

ZONES = SOFT | {"topologyKey": ZONE}
#: Volumes of a pod that has a claim: what is not modeled.
CLAIMED = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def lines_of(explained: Explained, width: int = 80) -> list[str]:
    return explain_text.render(explained, width=width, color=False).splitlines()


def text_of(explained: Explained) -> str:
    """Return the text with its lines joined."""
    return " ".join(line.strip() for line in lines_of(explained))


def test_fits_nowhere(golden: Callable[[str, str], str]) -> None:
    """The whole text of a pod that fits nowhere; read the golden file before agreeing to it."""
    text = "\n".join(lines_of(an_explanation(a_spread_pod(a_constraint()), *UNEVEN))) + "\n"

    assert golden("explain_fits_nowhere.txt", text) == text


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        pytest.param({"rack": "1"}, False, id="every node has the other key"),
        pytest.param({}, True, id="a node lacks it"),
    ],
)
def test_why_nodes_do_not_count(labels: dict[str, str], *, told: bool) -> None:
    """A reason is given for which some node is left out, no other."""
    tainted = a_node("n3", "c", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}])
    nodes = [a_node("n1", "a"), a_node("n2", "b"), tainted]
    for node in nodes[:2]:
        node["metadata"]["labels"]["rack"] = "1"
    nodes[2]["metadata"]["labels"] |= labels
    pod = a_spread_pod(a_constraint(nodeTaintsPolicy="Honor"), a_constraint(topologyKey="rack", maxSkew=9))
    text = text_of(an_explanation(pod, *nodes))

    assert "tainted (nodeTaintsPolicy Honor)" in text
    assert told is ("of another constraint" in text)


@pytest.mark.parametrize(
    ("constraints", "count"),
    [
        pytest.param([SOFT], 1, id="maxSkew 1"),
        pytest.param([SOFT | {"maxSkew": 9}], 1, id="maxSkew 9"),
        pytest.param([SOFT | {"maxSkew": 9}, ZONES | {"maxSkew": 9}], 1, id="two of maxSkew 9"),
    ],
)
@pytest.mark.parametrize("why", ["taint", "load"])
def test_outvoted(
    constraints: list[dict[str, Any]], count: int, why: str, wording: Callable[[str], str]
) -> None:
    """Where other plugins outvote the spread, the text has the margin, and with what the spread would win."""
    other: dict[str, Any] = a_node("n2", "b")
    if why == "taint":
        other["spec"] = {"taints": [{"key": "old", "effect": "PreferNoSchedule"}]}
    load = {"resources": {"requests": {"cpu": "2800m"}}, "name": "c"}
    busy = a_pod(name="busy", namespace="other", spec={"nodeName": "n2", "containers": [load]})
    running = [*on("n1", count), *([busy] if why == "load" else [])]
    lines = lines_of(an_explanation(a_spread_pod(*constraints), a_node("n1", "a"), *running, other))
    if why == "load" and constraints == [SOFT]:
        assert "outvoted" not in " ".join(lines)
    text = "\n".join(lines[lines.index("Where it would go") :])

    assert wording(text) == text


def test_fits() -> None:
    """Feasible nodes by score with the lead, and what could outweigh it; a soft constraint has no skew."""
    lines = lines_of(an_explanation(a_spread_pod(SOFT), *UNEVEN[:2], *UNEVEN[3:4]))
    start = lines.index("Where it would go")

    assert lines[4:9] == [
        "   counts pods of namespace shop with app=web; this pod is one (self match 1)",
        "   raw score = matching x weight 1.39 + maxSkew 1 - 1; the lowest sum is best",
        "   DOMAIN                        MATCHING PODS  NODES",
        "   n1      ████████████████████              1      1",
        "   n2                                        0      1",
    ]
    assert lines[start + 1 : start + 4] == [
        "   score 100, 200 points: 1 node: n2",
        "   score 0, 0 points: 1 node: n1",
        "The best score leads by 200 points. Points are PodTopologySpread's score, 0 to",
    ]
    assert "By all plugins: 1 node: n2, 597 points." in " ".join(lines)


def test_many_nodes() -> None:
    """Domains and nodes that are alike share lines: the text does not grow with the cluster."""
    lines = lines_of(an_explanation(a_spread_pod(SOFT), *MANY))

    assert len(lines) < 30
    assert [
        "   DOMAINS                        MATCHING PODS",
        "   15       ████████████████████              0",
        "   15       ████████████████████              1",
        "   15       ████████████████████              2",
        "   15       ████████████████████              3",
        "   WORST AND BEST                        MATCHING PODS  NODES",
        "   n03             ████████████████████              3      1",
    ] == lines[6:13]


def _deployment(replicas: int | None = None, **spec: Any) -> dict[str, Any]:
    workload = a_workload(spec=spec, uid="u")
    if replicas is not None:
        workload["spec"]["replicas"] = replicas
    return workload


def _spread(kind: str, group: str = "apps") -> dict[str, Any]:
    """Return a workload of the cluster whose next pod fits nowhere until it is edited."""
    return a_workload(kind, group, spec={"nodeSelector": {"a": "b"}}, uid="u")


def _daemon_set(*constraints: dict[str, Any]) -> dict[str, Any]:
    return a_workload("DaemonSet", spec={"topologySpreadConstraints": list(constraints)})


@pytest.mark.parametrize(
    ("obj", "nodes", "said"),
    [
        pytest.param(
            a_spread_pod(a_constraint(labelSelector=None)),
            UNEVEN,
            "no labelSelector: it counts no pods, so it rejects no node that has the label",
            id="no selector",
        ),
        pytest.param(
            a_spread_pod(a_constraint(labelSelector={})),
            UNEVEN,
            "labelSelector {} counts no pods in Kubernetes 1.36, so it rejects no node that has the label",
            id="empty selector",
        ),
        pytest.param(
            a_spread_pod(a_constraint(labelSelector={"matchLabels": {"app": "x"}})),
            UNEVEN,
            "with app=x; this pod is none, and never counts (self match 0)",
            id="a selector that misses the pod",
        ),
        pytest.param(
            a_spread_pod(a_constraint(matchLabelKeys=["rev"])),
            UNEVEN,
            "matchLabelKeys rev narrows nothing: the pod has no such label",
            id="matchLabelKeys without the label",
        ),
        pytest.param(
            _deployment(topologySpreadConstraints=[a_constraint(matchLabelKeys=["pod-template-hash"])]),
            UNEVEN,
            "narrowed by matchLabelKeys pod-template-hash",
            id="matchLabelKeys",
        ),
        pytest.param(
            a_spread_pod(a_constraint(minDomains=4)),
            UNEVEN,
            "the minimum is 0 because 3 domains are fewer than minDomains 4",
            id="minDomains",
        ),
        pytest.param(
            a_spread_pod(a_constraint(topologyKey="rack")),
            UNEVEN,
            "3 nodes lack the label, so they are rejected",
            id="no such label",
        ),
        pytest.param(
            a_spread_pod(a_constraint(nodeTaintsPolicy="Honor")),
            UNEVEN,
            "1 node with the label does not count: tainted (nodeTaintsPolicy Honor)",
            id="left out",
        ),
        pytest.param(a_pod(), UNEVEN, "No constraint is in force: no Service selects it", id="no defaults"),
        pytest.param(
            _deployment(), UNEVEN, "kube-scheduler's built-in defaults counts pods", id="System defaults"
        ),
        pytest.param(
            a_pod(spec={"containers": [{"resources": {"requests": {"cpu": "9", "memory": "1Gi"}}}]}),
            [*UNEVEN[:1], *on("n1", 9), a_node("n9")],
            "NodeResourcesFit: Insufficient cpu: 9 requested, 4 left",
            id="resources",
        ),
        pytest.param(
            a_pod(),
            [a_node("n1", pods="10"), *on("n1", 10)],
            "NodeResourcesFit: Too many pods: 0 more allowed",
            id="pods",
        ),
        pytest.param(
            a_pod(),
            [a_node("n1", pods="10"), *on("n1", 10)],
            "then it fits 1 node: new node 1",
            id="no room: a node more",
        ),
        pytest.param(
            a_pod(), [a_node("n1")], "1 node: n1: the only one, so that nothing is scored.", id="one node"
        ),
        pytest.param(
            a_spread_pod(a_constraint(), volumes=CLAIMED),
            UNEVEN[:1],
            "Not modeled, and may reject more nodes: the pod's persistentVolumeClaims, persistentVolumes,",
            id="unmodeled",
        ),
        pytest.param(
            a_spread_pod(a_constraint(), volumes=CLAIMED),
            [a_node("n1", "a"), a_node("n2", "b")],
            "fits at most 2 of 2 nodes",
            id="unmodeled: at most",
        ),
        pytest.param(
            a_spread_pod(a_constraint(), volumes=CLAIMED),
            UNEVEN,
            "As far as the pod is modeled any one of these is enough",
            id="unmodeled: enough as far as is known",
        ),
        pytest.param(
            a_spread_pod(a_constraint(nodeTaintsPolicy="Honor"), nodeSelector={"a": "b"}),
            UNEVEN,
            "the minimum is 0 because no node that counts has the label",
            id="no domain counts: not for minDomains",
        ),
        pytest.param(
            _daemon_set(a_constraint()),
            UNEVEN,
            "web-n1 would run on 2 of 3 nodes",
            id="a DaemonSet: nodes",
        ),
        pytest.param(
            _daemon_set(a_constraint()),
            UNEVEN,
            "each pod is made for one node, which alone counts: the constraint rejects only nodes without",
            id="a DaemonSet: no skew",
        ),
        pytest.param(
            _deployment(replicas=2, topologySpreadConstraints=[a_constraint(maxSkew=3)]),
            [*UNEVEN[:2], UNEVEN[2]],
            "2 of 2 replicas fit: 0 of this revision have a node, 2 more would get one.",
            id="replicas",
        ),
        pytest.param(a_pod(), [], "no nodes available to schedule pods", id="no nodes"),
    ],
)
def test_what_is_said(obj: dict[str, Any], nodes: list[dict[str, Any]], said: str) -> None:
    """Each circumstance is told in words."""
    assert said in text_of(an_explanation(obj, *nodes))


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        pytest.param(a_spread_pod(a_constraint()), "cannot be edited: delete it, and create it", id="Pod"),
        pytest.param(
            a_pod(
                owner=("apps/v1", "ReplicaSet", "web-1"), spec={"topologySpreadConstraints": [a_constraint()]}
            ),
            "change the template of ReplicaSet web-1",
            id="a Pod of a ReplicaSet",
        ),
        pytest.param(
            _spread("Deployment"),
            "rolls out every pod again",
            id="Deployment",
        ),
        pytest.param(_spread("DaemonSet"), "rolls out every pod again", id="DaemonSet"),
        pytest.param(_spread("ReplicaSet"), "those that run stay as they are", id="ReplicaSet"),
        pytest.param(_spread("Job", "batch"), "cannot be edited: delete the Job", id="Job"),
        pytest.param(_spread("CronJob", "batch"), "pods that are made from then on.", id="CronJob"),
        pytest.param(
            a_workload("ReplicaSet", spec={"nodeName": "x"})
            | {"metadata": a_pod(owner=("apps/v1", "Deployment", "web"), uid="u")["metadata"]},
            "ReplicaSet belongs to Deployment web: change the template there",
            id="a ReplicaSet of a Deployment",
        ),
    ],
)
def test_what_becomes_of_pods_that_run(obj: dict[str, Any], said: str) -> None:
    """Whoever pastes a suggestion knows what follows."""
    assert said in text_of(an_explanation(obj, *UNEVEN))


def test_domains_whose_nodes_all_refuse() -> None:
    """Within maxSkew is not enough: a domain fits if one of its nodes takes the pod."""
    text = lines_of(an_explanation(a_spread_pod(a_constraint(maxSkew=3)), *UNEVEN))
    rows = [line for line in text if line.startswith(("   a ", "   b ", "   c "))]

    assert [line.endswith("  no, other reasons") for line in rows] == [False, False, True]
    assert [line.endswith("  yes") for line in rows] == [True, True, False]


def test_defaults_are_changed_where_they_are() -> None:
    """A constraint of the scheduler's configuration has no field in the manifest."""
    constraint = {key: value for key, value in a_constraint().items() if key != "labelSelector"}
    profile = build_profile({"defaultingType": "List", "defaultConstraints": [constraint]})
    scheduler = SchedulerConfig({}, fallback=profile)
    text = text_of(an_explanation(a_workload("StatefulSet", uid="u"), *UNEVEN, scheduler=scheduler))

    assert (
        "in the scheduler's defaultConstraints, for topology.kubernetes.io/zone DoNotSchedule: "
        "nodeTaintsPolicy Honor" in text
    )
    assert "or give the pod constraints of its own, which replace all of these" in text


def test_names_cannot_steer_the_terminal() -> None:
    """Control characters of names, values and taints come out escaped."""
    evil = "\x1b[31m"
    node = a_node(f"n{evil}", f"z{evil}", taints=[{"key": evil, "effect": "NoSchedule"}])
    explained = an_explanation(a_spread_pod(a_constraint(), nodeSelector={evil: evil}), node)

    assert "\x1b" not in "".join(lines_of(explained))


@pytest.mark.slow
@given(cases(), st.sampled_from((20, 40, 80, 200)))
def test_lines_are_no_wider_than_the_terminal(case: dict[str, Any], width: int) -> None:
    """For any explanation, in color or not, lines keep to the width, and the text is the same again.

    Only the scheduler's sentence stays one line, so that a search through a pipe finds it.
    """
    scheduler = SchedulerConfig({}, fallback=build_profile(case["args"]))
    explained = an_explanation(case["pod"], *objects_of(case), scheduler=scheduler)
    text = explain_text.render(explained, width=width, color=False)

    sentences = ("nodes are available: ", "no nodes available to schedule pods")
    assert all(
        len(line) <= width or any(sentence in line for sentence in sentences) for line in text.splitlines()
    )
    assert text == explain_text.render(explained, width=width, color=False)
    assert "\x1b[" in explain_text.render(explained, width=width, color=True)
