"""``--autoscale`` of what-if and explain, as a person and as a program uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import a_constraint, a_node, a_workload
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


def _run(folder: Path, *arguments: str, command: str = "what-if") -> tuple[int, str, str]:
    given = (command, "-f", "web.yaml", "--cluster", "cluster.json", *arguments)
    result = evenkeel(*given, folder=folder)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def _answer(folder: Path, source: str, *arguments: str) -> dict[str, Any]:
    _, out, _ = _run(folder, "--autoscale", source, "-o", "json", *arguments)
    answer: dict[str, Any] = json.loads(out)
    return answer


def test_pending_replicas_get_nodes(folder: Path) -> None:
    """Nodes come for those that fit nowhere, and count, unless the verdict must not lean on them."""
    source = str(folder / "groups.yaml")
    code, text, _ = _run(folder, "--autoscale", source)
    strict, _, _ = _run(folder, "--autoscale", source, "--fail-on", "needs-nodes")
    answer = _answer(folder, source)
    (web,) = answer["workloads"]

    assert (0, 1) == (code, strict)
    assert "Added: 4 nodes" in text
    assert (6, 4, 0, "needs-nodes") == (
        web["after"], web["onNewNodes"], web["pending"], answer["verdict"]["cause"]
    )  # fmt: skip
    assert ["a", "a", "b", "b"] == sorted(node["zone"] for node in answer["nodes"]["added"])
    assert [0] == [each["skew"] for each in web["constraints"]]


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
            1,
            "The 3rd new pod: web-next-3 fits none of 2 nodes (Kubernetes 1.36), scheduled as a new "
            "revision; if Cluster Autoscaler adds 1 node, it goes to a-new-1",
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
    """The line on the pod says what is added for it; the exit code is that without it."""
    _resized(folder, cpu)
    if cpu == "3900m":
        full = [a_node(name, zone) for name, zone in (("n1", "a"), ("n2", "b"))]
        for each in full:
            each["status"]["allocatable"]["cpu"] = "1"
        (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": full}))
    source = str(folder / "groups.yaml")
    found, text, _ = _run(folder, "--autoscale", source, command="explain")
    _, out, _ = _run(folder, "--autoscale", source, "-o", "json", command="explain")
    told, scaled = " ".join(text.split()), json.loads(out)["autoscaled"]

    assert code == found
    assert expected in told
    assert ("Cluster Autoscaler" in told) is (cpu != "500m") is (scaled is not None)
    assert node == (None if scaled is None else scaled["step"].get("node"))


def test_explain_of_a_daemon_set(folder: Path) -> None:
    """No node is added for the pods of one, which is an error."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    del web["spec"]["replicas"]
    (folder / "web.yaml").write_text(yaml.safe_dump({**web, "kind": "DaemonSet"}))
    code, _, errors = _run(folder, "--autoscale", "deduced", command="explain")

    assert (2, True) == (code, "no node is added for its pods" in errors)


@pytest.mark.parametrize(
    ("sizes", "running"),
    [
        pytest.param({"a": 2, "b": 2}, {"a": 2, "b": 2}, id="both groups may grow"),
        pytest.param({"a": 0, "b": 2}, {"a": 2, "b": 1}, id="what is lost with a gets nodes in b alone"),
        pytest.param({"a": 0, "b": 0}, {"a": 1, "b": 1}, id="no group may grow"),
    ],
)
def test_lost_zones(folder: Path, sizes: dict[str, int], running: dict[str, int]) -> None:
    """Pods get nodes in the zones that are left."""
    web = yaml.safe_load((folder / "web.yaml").read_text())
    web["spec"]["replicas"] = 2
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    document = yaml.safe_load((folder / "groups.yaml").read_text())
    for group in document["groups"]:
        group["maxSize"] = sizes[group["name"]]
    (folder / "groups.yaml").write_text(yaml.safe_dump(document))
    losses = {
        loss["scenario"]["events"][0]["lose"]["value"]: loss
        for loss in _answer(folder, "groups.yaml", "--lose-each", "zone")["outcomes"]
    }

    assert running == {lost: loss["workloads"][0]["after"] for lost, loss in losses.items()}
    for lost, loss in losses.items():
        assert lost not in [node["zone"] for node in loss["nodes"]["added"]]


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
    constraint["whenUnsatisfiable"] = "ScheduleAnyway"
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    soft = _answer(folder, str(node_pool))

    assert (4, []) == (answer["workloads"][0]["pending"], answer["nodes"]["added"])
    assert (0, 4) == (soft["workloads"][0]["pending"], len(soft["nodes"]["added"]))


@pytest.mark.parametrize(("price", "cost"), [(0.19, 0.76), (None, None)])
def test_cost_of_new_nodes(folder: Path, node_pool: Path, price: float | None, cost: float | None) -> None:
    """What an hour of the new nodes costs is said where all prices are known, of each and in all."""
    pool, types, _ = yaml.safe_load_all(node_pool.read_text())
    pool["spec"]["template"]["spec"]["requirements"][0]["values"] = ["a", "b"]
    types["instanceTypes"][0]["offerings"][0] |= {} if price is None else {"price": price}
    node_pool.write_text(yaml.safe_dump_all([pool, types]))
    nodes = _answer(folder, str(node_pool))["nodes"]
    _, text, _ = _run(folder, "--autoscale", str(node_pool))

    assert (cost, {price}) == (nodes["costPerHour"], {each["price"] for each in nodes["added"]})
    assert ("price of an hour" in text) == (cost is not None)


def test_karpenter_in_other_commands(folder: Path, node_pool: Path) -> None:
    """A pod and a lost zone have its name; advice refuses what it cannot tell beforehand."""
    _, explained, _ = _run(folder, "--autoscale", str(node_pool), command="explain")
    given = ("-f", "web.yaml", "--cluster", "cluster.json", "--autoscale", str(node_pool))
    advised = evenkeel("advise", *given, "--one-a-node", folder=folder)

    assert "; Karpenter adds no node for" in " ".join(explained.split())
    assert advised.returncode == 2
    assert b"which nodes Karpenter adds depends on the pods" in b" ".join(advised.stderr.split())


def test_a_group_that_may_not_grow(folder: Path) -> None:
    """What gets no node stays pending."""
    document = yaml.safe_load((folder / "groups.yaml").read_text())
    for group in document["groups"]:
        group["maxSize"] = 1
    (folder / "small.yaml").write_text(yaml.safe_dump(document))
    answer = _answer(folder, str(folder / "small.yaml"))

    assert (2, "pending") == (answer["workloads"][0]["pending"], answer["verdict"]["cause"])


def test_deduced_groups(folder: Path) -> None:
    """Nodes that are alike make groups."""
    answer = _answer(folder, "deduced")

    assert (0, 4) == (answer["workloads"][0]["pending"], len(answer["nodes"]["added"]))
    assert answer["scenario"]["autoscaler"]


def test_without_the_option_nothing_is_added(folder: Path) -> None:
    """The replicas stay pending."""
    code, out, _ = _run(folder, "-o", "json")
    answer = json.loads(out)

    assert (1, 4, []) == (code, answer["workloads"][0]["pending"], answer["nodes"]["added"])
    assert answer["scenario"]["autoscaler"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--autoscale", "missing.yaml"), id="no such file"),
        pytest.param(("--autoscale", "web.yaml"), id="no node groups"),
    ],
)
@pytest.mark.parametrize("command", ["what-if", "explain"])
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
    web = yaml.safe_load((folder / "web.yaml").read_text())
    web["spec"]["replicas"] = 0
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    answer = _answer(folder, source, "--scale-down")
    code, _, errors = _run(folder, "--scale-down")

    assert ["n1", "n2"] == sorted(answer["nodes"]["removed"])
    assert (2, True) == (code, "--scale-down needs --autoscale" in errors)
