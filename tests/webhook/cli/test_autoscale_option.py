"""``evenkeel simulate --autoscale``, as a person and as a program uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import APP, a_constraint, a_node, a_pod, a_workload
from tests.webhook.cli.in_process import evenkeel

SHOP = Path(__file__).parents[3] / "docs" / "examples" / "shop.json"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two nodes in two zones, a group for each, and a workload of six replicas of two CPUs."""
    (tmp_path / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_node("n1", "a"), a_node("n2", "b")]})
    )
    constraint = a_constraint(topologyKey=ZONE)
    spec = {"topologySpreadConstraints": [constraint]}
    web = a_workload("Deployment", spec=spec)
    web["spec"]["replicas"] = 6
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "3", "memory": "1Gi"}}
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web))
    groups = [
        {"name": zone, "zone": zone, "maxSize": 2, "size": 0, "allocatable": {"cpu": "4", "memory": "8Gi"}}
        for zone in "ab"
    ]
    document = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": groups}
    (tmp_path / "groups.yaml").write_text(yaml.safe_dump(document))
    return tmp_path


def _run(folder: Path, *arguments: str, command: str = "simulate") -> tuple[int, str, str]:
    given = (command, "-f", "web.yaml", "--cluster", "cluster.json", *arguments)
    result = evenkeel(*given, folder=folder)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def _answer(folder: Path, source: str, *arguments: str) -> dict[str, Any]:
    _, out, _ = _run(folder, "--autoscale", source, "-o", "json", *arguments)
    answer: dict[str, Any] = json.loads(out)
    return answer


def test_pending_replicas_get_nodes(folder: Path) -> None:
    """Every step of the loops is in the answer, and the spread at the end is the scheduler's."""
    code, text, _ = _run(folder, "--autoscale", str(folder / "groups.yaml"))
    answer = _answer(folder, str(folder / "groups.yaml"))
    scaled = answer["autoscaled"]

    assert code == 0
    assert "Nodes that Cluster Autoscaler adds" in text
    assert answer["pending"] == 0
    assert {"a": 2, "b": 2} == {group["name"]: group["added"] for group in scaled["groups"]}
    assert len(scaled["nodes"]) == sum(sum(loop["nodes"].values()) for loop in scaled["loops"])
    assert {step["node"] for step in answer["steps"]} >= {node["name"] for node in scaled["nodes"]}
    assert [0] == [change["skew"] for change in answer["domains"]]


def _resized(folder: Path, cpu: str) -> None:
    """Let the replicas request another number of CPUs."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    (folder / "web.yaml").write_text(yaml.safe_dump(web))


@pytest.mark.parametrize(
    ("cpu", "code", "expected", "node"),
    [
        pytest.param(
            "3",
            0,
            "; if Cluster Autoscaler adds 1 node, the first replica that does not fit goes to a-new-1",
            "a-new-1",
            id="a later replica fits nowhere",
        ),
        pytest.param(
            "3900m", 1, "; if Cluster Autoscaler adds 1 node, it goes to", "a-new-1", id="no replica fits"
        ),
        pytest.param("9", 1, "; Cluster Autoscaler adds no node for it", None, id="no node group fits"),
        pytest.param("500m", 0, "(Kubernetes ", None, id="every replica fits"),
    ],
)
def test_explain(folder: Path, cpu: str, code: int, expected: str, node: str | None) -> None:
    """The headline says what is added for the pod; the exit code is that without it."""
    _resized(folder, cpu)
    if cpu == "3900m":
        full = [a_node(name, zone) for name, zone in (("n1", "a"), ("n2", "b"))]
        for each in full:
            each["status"]["allocatable"]["cpu"] = "1"
        (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": full}))
    source = str(folder / "groups.yaml")
    found, text, _ = _run(folder, "--autoscale", source, command="explain")
    _, out, _ = _run(folder, "--autoscale", source, "-o", "json", command="explain")
    headline, scaled = " ".join(text.splitlines()[:3]), json.loads(out)["autoscaled"]

    assert code == found
    assert expected in headline
    assert ("Cluster Autoscaler" in headline) is (cpu != "500m") is (scaled is not None)
    assert node == (None if scaled is None else scaled["step"].get("node"))


def test_explain_of_a_daemon_set(folder: Path) -> None:
    """No node is added for the pods of one, which is an error."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    del web["spec"]["replicas"]
    (folder / "web.yaml").write_text(yaml.safe_dump({**web, "kind": "DaemonSet"}))
    code, _, errors = _run(folder, "--autoscale", "deduced", command="explain")

    assert (2, True) == (code, "no node is added for its pods" in errors)


@pytest.mark.parametrize(
    ("sizes", "headline", "running"),
    [
        pytest.param(
            {"a": 2, "b": 2},
            "it would survive all of these if Cluster Autoscaler adds 1 node",
            {"a": 2, "b": 2},
            id="both groups may grow",
        ),
        pytest.param(
            {"a": 0, "b": 2},
            "it would survive 1 of these if Cluster Autoscaler adds 1 node",
            {"a": 2, "b": 1},
            id="what is lost with a gets nodes in b alone",
        ),
        pytest.param(
            {"a": 0, "b": 0},
            ", nor with the nodes that Cluster Autoscaler adds",
            {"a": 1, "b": 1},
            id="no group may grow",
        ),
    ],
)
def test_survive(folder: Path, sizes: dict[str, int], headline: str, running: dict[str, int]) -> None:
    """Pods that run with new nodes are shown beside those without; the verdict is that without."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    web["spec"]["replicas"] = 2
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    document = yaml.safe_load((folder / "groups.yaml").read_text())
    for group in document["groups"]:
        group["maxSize"] = sizes[group["name"]]
    (folder / "groups.yaml").write_text(yaml.safe_dump(document))
    given = ("survive", "zone", "-f", "web.yaml", "--cluster", "cluster.json", "--autoscale", "groups.yaml")
    text = evenkeel(*given, folder=folder)
    answer = json.loads(evenkeel(*given, "-o", "json", folder=folder).stdout)
    losses = {loss["domain"]: loss for loss in answer["losses"]}

    assert (1, False) == (text.returncode, answer["survives"])
    assert headline in " ".join(text.stdout.decode().split())
    assert {"a": 1, "b": 1} == {lost: loss["workloads"][0]["running"] for lost, loss in losses.items()}
    assert running == {lost: loss["autoscaled"]["running"][0] for lost, loss in losses.items()}
    for lost, loss in losses.items():
        assert lost not in [node["zone"] for node in loss["autoscaled"]["nodes"]]


@pytest.fixture
def node_pool(folder: Path) -> Path:
    """A file with a NodePool that lists zone c, too, in which its instance type cannot be had."""
    zones = {"key": ZONE, "operator": "In", "values": ["a", "b", "c"]}
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": {"spec": {"requirements": [zones]}}},
    }
    kind = {
        "name": "m",
        "allocatable": {"cpu": "4", "memory": "8Gi"},
        "offerings": [{"zones": ["a", "b"]}],
    }
    document = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "InstanceTypes", "instanceTypes": [kind]}
    node_class = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "x"}}
    path = folder / "pools.yaml"
    path.write_text(yaml.safe_dump_all([pool, document, node_class]))
    return path


def test_karpenter(folder: Path, node_pool: Path) -> None:
    """Karpenter counts a zone that a NodePool lists, and adds no node for pods that spread over it."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    (constraint,) = web["spec"]["template"]["spec"]["topologySpreadConstraints"]
    answer = _answer(folder, str(node_pool))
    (unhelped,) = answer["autoscaled"]["unhelped"]
    constraint["whenUnsatisfiable"] = "ScheduleAnyway"
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    soft = _answer(folder, str(node_pool))["autoscaled"]
    _, text, _ = _run(folder, "--autoscale", str(node_pool))

    assert (4, []) == (answer["pending"], answer["autoscaled"]["nodes"])
    assert unhelped["why"]["general"].endswith(
        f"is offered as the NodePool and the pod require; {ZONE} In [c]"
    )
    assert [("m", "on-demand")] * 4 == [
        (node["instanceType"], node["capacityType"]) for node in soft["nodes"]
    ]
    assert [{"preference": f"ScheduleAnyway over {ZONE}", "pods": 4}] == soft["givenUp"]
    assert "prices: the smallest instance type is taken" in soft["notModeled"]
    for part in (
        "Nodes that Karpenter adds",
        "Preferences that Karpenter gave up",
        "Not modeled: NodeClasses",
    ):
        assert part in text


def test_karpenter_in_other_commands(folder: Path, node_pool: Path) -> None:
    """A pod and a lost zone have its name; advice refuses what it cannot tell beforehand."""
    _, explained, _ = _run(folder, "--autoscale", str(node_pool), command="explain")
    given = ("-f", "web.yaml", "--cluster", "cluster.json", "--autoscale", str(node_pool))
    advised = evenkeel("advise", *given, "--one-a-node", folder=folder)

    assert "; Karpenter adds no node for" in " ".join(explained.splitlines()[:3])
    assert advised.returncode == 2
    assert b"which nodes Karpenter adds depends on the pods" in b" ".join(advised.stderr.split())


def test_survive_of_a_whole_cluster() -> None:
    """Verdicts and damages are those without new nodes, of which none comes in the lost zone."""
    given = ("survive", "zone", "--all", "--cluster", str(SHOP), "-o", "json")
    without, found = (
        json.loads(evenkeel(*given, *more, folder=SHOP.parent).stdout)
        for more in ((), ("--autoscale", "deduced"))
    )
    scaled = {loss["domain"]: loss["result"]["autoscaled"] for loss in found["losses"]}

    assert any(scaled.values())
    for before, loss in zip(without["losses"], found["losses"], strict=True):
        result = loss["result"]
        assert (before["result"]["survives"], before["result"]["damages"]) == (
            result["survives"],
            result["damages"],
        )
        assert before["result"]["autoscaled"] is None
        if (each := result["autoscaled"]) is not None:
            assert each["pending"] < result["pending"]
            assert loss["domain"] not in {node["zone"] for node in each["nodes"]}
            assert f"{each['pending']} pod" in result["newNodes"][-1]
        assert (result["pending"] > 0) is (each is not None)


def test_what_gets_no_node_is_told(folder: Path) -> None:
    """A group that is as large as it may be is named, with its words."""
    document = yaml.safe_load((folder / "groups.yaml").read_text())
    for group in document["groups"]:
        group["maxSize"] = 1
    (folder / "small.yaml").write_text(yaml.safe_dump(document))
    answer = _answer(folder, str(folder / "small.yaml"))
    (unhelped,) = answer["autoscaled"]["unhelped"]

    assert answer["pending"] == 2
    assert {"a", "b"} == set(unhelped["why"])
    assert {"max node group size reached"} == set(unhelped["why"].values())


def test_deduced_groups_are_marked(folder: Path) -> None:
    """Nodes that are alike make groups, in JSON and in the text."""
    answer = _answer(folder, "deduced")
    _, text, _ = _run(folder, "--autoscale", "deduced")

    assert {"deduced"} == {group["origin"] for group in answer["autoscaled"]["groups"]}
    assert answer["pending"] == 0
    assert "The node groups are deduced" in text


def test_without_the_option_nothing_is_added(folder: Path) -> None:
    """The replicas stay pending, and nothing is said of node groups."""
    _, out, _ = _run(folder, "-o", "json")
    answer = json.loads(out)

    assert answer["pending"] == 4
    assert answer["autoscaled"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--autoscale", "missing.yaml"), id="no such file"),
        pytest.param(("--autoscale", "web.yaml"), id="no node groups"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "rollout"])
def test_bad_input(folder: Path, command: str, arguments: tuple[str, ...]) -> None:
    """It is exit code 2 and one line, besides that the cluster runs no pod."""
    code, _, errors = _run(folder, *arguments, command=command)

    assert code == 2
    assert len([line for line in errors.splitlines() if "there is no pod" not in line]) == 1


def test_scale_down(folder: Path) -> None:
    """Nodes that are not needed go, and the answer says so; without an autoscaler it is refused."""
    source = str(folder / "groups.yaml")
    document = yaml.safe_load((folder / "groups.yaml").read_text())
    for group in document["groups"]:
        del group["size"]
    (folder / "groups.yaml").write_text(yaml.safe_dump(document))
    code, text, _ = _run(folder, "--pods", "0", "--autoscale", source, "--scale-down")
    answer = _answer(folder, source, "--pods", "0", "--scale-down")
    refused = _run(folder, "--scale-down")

    assert code == 0
    assert "Nodes that Cluster Autoscaler removes" in text
    assert ["n1", "n2"] == [node["name"] for node in answer["scaledDown"]["removed"]]
    assert "nodes that are taken away again" not in " ".join(answer["notLookedAt"])
    assert (2, "evenkeel: --scale-down needs --autoscale") == (refused[0], refused[2].partition(": the")[0])


def test_scale_down_after_scale_up(folder: Path) -> None:
    """Nodes that were added for pods stay, since these fill them."""
    answer = _answer(folder, str(folder / "groups.yaml"), "--scale-down")
    added = {node["name"] for node in answer["autoscaled"]["nodes"]}
    removed = {node["name"] for node in answer["scaledDown"]["removed"]}

    assert added
    assert not removed & added
    assert added <= {node["name"] for node in answer["scaledDown"]["kept"]}


def _drained(folder: Path, pods: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the answer for a node that is drained of two replicas, and more replicas."""
    spec = yaml.safe_load((folder / "web.yaml").read_text())["spec"]["template"]["spec"]
    owner, labels = ("apps/v1", "ReplicaSet", "web-1"), APP | {"pod-template-hash": "1"}
    running = [
        a_pod(name=f"web-{number}", owner=owner, labels=labels, spec={**spec, "nodeName": "n1"})
        for number in range(2)
    ]
    for pod in running:
        pod["spec"].pop("topologySpreadConstraints")
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    full = a_node("n2", "b", cpu="1")
    objects = {"apiVersion": "v1", "kind": "List", "items": [a_node("n1", "a"), full, *running]}
    (folder / "cluster.json").write_text(json.dumps(objects))
    given = ("--drain", "n1", "--pods", pods, "--autoscale", str(folder / "groups.yaml"), "-o", "json")
    code, out, _ = _run(folder, *given, command="what-if")
    answer: dict[str, Any] = json.loads(out)
    return code, answer


@pytest.mark.parametrize(
    ("pods", "added"), [pytest.param("0", 2, id="displaced alone"), pytest.param("2", 4, id="and replicas")]
)
def test_what_is_displaced_gets_nodes(folder: Path, pods: str, added: int) -> None:
    """Pods that lose their node and fit nowhere get nodes, then those of the queue; one answer has both."""
    code, answer = _drained(folder, pods)
    nodes = [node["name"] for node in answer["autoscaled"]["nodes"]]
    moved = [pod["node"] for pod in answer["whatIf"]["displaced"]]

    assert 0 == code
    assert (added, added) == (len(nodes), len(set(nodes)))
    assert set(moved) <= set(nodes)
    assert answer["newNodes"][0].startswith(f"Cluster Autoscaler adds {added} nodes: ")


def test_reasons_of_displaced_pods_stay(folder: Path) -> None:
    """Displaced pods and those of the queue both have the reason why no node comes for them."""
    _resized(folder, "9")
    code, answer = _drained(folder, "2")
    unhelped = [name for each in answer["autoscaled"]["unhelped"] for name in each["pods"]]
    pending = [pod["name"] for pod in (*answer["whatIf"]["displaced"], *answer["steps"])]

    assert 1 == code
    assert 4 == len(unhelped)
    assert {f"shop/{name}" for name in pending} == set(unhelped)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("rollout", ()), ("scale", ("--replicas", "6"))],
    ids=["rollout", "scale"],
)
def test_rollout(folder: Path, command: str, arguments: tuple[str, ...]) -> None:
    """Pods that would be pending at the end get nodes; the nodes that there were are counted apart."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    web["spec"]["replicas"] = 2
    web["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    given = (*arguments, "--autoscale", "groups.yaml")
    without, text, _ = _run(folder, *arguments, command=command)
    code, with_nodes, _ = _run(folder, *given, command=command)
    _, out, _ = _run(folder, *given, "-o", "json", command=command)
    answer = json.loads(out)

    assert (1, 0) == (without, code)
    assert "Nodes that Cluster Autoscaler adds" not in text
    assert "Nodes that Cluster Autoscaler adds" in with_nodes
    assert (2, 0) == (answer["nodes"], answer["pending"])
    assert answer["autoscaled"]["nodes"]
    assert "nodes that an autoscaler adds" not in answer["notLookedAt"]


@pytest.mark.parametrize(("price", "cost"), [(0.19, 0.76), (None, None)])
def test_cost_of_new_nodes(folder: Path, node_pool: Path, price: float | None, cost: float | None) -> None:
    """What an hour of the new nodes costs is said where all prices are known, of each and in all."""
    pool, types, _ = yaml.safe_load_all(node_pool.read_text())
    pool["spec"]["template"]["spec"]["requirements"][0]["values"] = ["a", "b"]
    types["instanceTypes"][0]["offerings"][0] |= {} if price is None else {"price": price}
    node_pool.write_text(yaml.safe_dump_all([pool, types]))
    scaled = _answer(folder, str(node_pool))["autoscaled"]
    _, text, _ = _run(folder, "--autoscale", str(node_pool))

    assert (cost, {price}) == (scaled["costPerHour"], {each["price"] for each in scaled["nodes"]})
    assert ("an hour" in text) == (cost is not None)
