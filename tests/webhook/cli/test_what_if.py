"""``evenkeel what-if``, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planning.simulation.outcome import FAILING
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.webhook.cli.in_process import evenkeel

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SHOP = ("--cluster", "shop.json")


def _run(*arguments: str, folder: Path = EXAMPLES) -> tuple[int, str, str]:
    done = evenkeel("what-if", *arguments, folder=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _answer(*arguments: str, folder: Path = EXAMPLES) -> Any:
    code, out, errors = _run(*arguments, "-o", "json", folder=folder)
    assert out, errors
    return json.loads(out) | {"code": code}


@pytest.mark.parametrize("arguments", [(), SHOP, ("deploy/web",), ("--autoscale", "deduced", *SHOP)])
def test_nothing_happens(arguments: tuple[str, ...]) -> None:
    """Three examples show what may be asked."""
    code, out, errors = _run(*arguments)

    assert (2, "") == (code, out)
    assert 3 == errors.count("evenkeel what-if")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("--drain", "n9", *SHOP), "--drain: ", id="no such node"),
        pytest.param(("--lose-each", "rack", *SHOP), "--lose-each: ", id="no such label"),
        pytest.param(("deploy/no", "--drain", "node-a1", *SHOP), "no Deployment default/no", id="no object"),
        pytest.param(("--replicas", "3", *SHOP), "KIND/NAME", id="whose replicas"),
        pytest.param(("--taint", "n1", "x:NoSchedule", *SHOP), "--taint 'n1 x:NoSchedule'", id="words"),
        pytest.param(("--drain", "node-a1", "--fail-on", "dwn", *SHOP), 'did you mean "down"', id="a cause"),
        pytest.param(("--drain", "node-a1", "--runs", "0", *SHOP), "--runs: ", id="no run"),
        pytest.param(("--drain", "node-a1"), "--live or --cluster FILE", id="no cluster"),
        pytest.param(("--drain", "n1", "-n", "no", *SHOP), "no workload in namespace no", id="none there"),
        pytest.param(("--drain", "node-a1", "--diff", "1", *SHOP), "no suggestion 1", id="no suggestion"),
    ],
)  # fmt: skip
def test_bad_usage(arguments: tuple[str, ...], problem: str) -> None:
    """It is exit code 2, and names the option or the object."""
    code, out, errors = _run(*arguments)

    assert (2, "") == (code, out)
    assert problem in errors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Deployment of three pods in three zones, and manifests that change it."""
    web = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=1)]})
    web["spec"]["replicas"] = 3
    replica_set = a_replica_set(web, "5d9")
    replica_set["spec"]["replicas"] = 3
    labels = replica_set["spec"]["template"]["metadata"]["labels"]
    owner = ("apps/v1", "ReplicaSet", "web-5d9")
    pods = [
        a_pod(name=f"web-{node}", labels=labels, owner=owner, spec={"nodeName": node})
        for node in ("na", "nb", "nc")
    ]
    nodes = [a_node(f"n{zone}", zone) for zone in "abc"]
    for name, items in {
        "cluster": [*nodes, web, replica_set, *pods],
        "one": [nodes[0], web, replica_set, *pods[:1]],
    }.items():
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
        )
    changed = json.loads(json.dumps(web))
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
    broken = json.loads(json.dumps(web))
    broken["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["maxSkew"] = 0
    other = a_workload(name="other")
    both = {"kind": "List", "apiVersion": "v1", "items": [changed, other]}
    for name, obj in {"web": changed, "same": web, "broken": broken, "both": both}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(obj))
    return tmp_path


CLUSTER = ("--cluster", "cluster.json")


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        pytest.param(("-f", "web.json"), {"web": "changed"}, id="a new template"),
        pytest.param(("-f", "both.json"), {"web": "changed", "other": "added"}, id="every object of a file"),
        pytest.param(("-f", "both.json", "deploy/other"), {"other": "added"}, id="one of them"),
        pytest.param(("deploy/web", "-n", "shop", "--restart"), {"web": "restarted"}, id="a restart"),
        pytest.param(
            ("deployment", "web", "-n", "shop", "--replicas", "+1"), {"web": "scaled"}, id="a scale"
        ),
        pytest.param(
            ("-f", "same.json", "--replicas", "4"), {"web": "scaled"}, id="a scale of a file's object"
        ),
    ],
)
def test_objects(folder: Path, arguments: tuple[str, ...], changes: dict[str, str]) -> None:
    """What a command line names is what changes."""
    answer = _answer(*arguments, *CLUSTER, folder=folder)

    assert changes == {found["name"]: found["change"] for found in answer["workloads"]}


def test_order(folder: Path) -> None:
    """The steps come in the order of the options."""
    answer = _answer("--lose", "zone=a", "-f", "web.json", "--cordon", "nb", *CLUSTER, folder=folder)

    assert [["lose"], ["apply"], ["cordon"]] == [list(event) for event in answer["scenario"]["events"]]
    positions = [step["event"] for step in answer["steps"] if step["event"] is not None]
    assert sorted(positions) == positions
    assert {"kind": "Deployment", "namespace": "shop", "name": "web"} == answer["scenario"]["events"][1][
        "apply"
    ]


def test_refused(folder: Path) -> None:
    """Who refuses what is the answer, and stderr has file and line."""
    code, out, errors = _run("-f", "broken.json", *CLUSTER, folder=folder)
    answer = _answer("-f", "broken.json", *CLUSTER, folder=folder)

    assert 1 == code
    assert out.startswith("✗ The API server refuses shop/web")
    assert "maxSkew: Invalid value: 0" in out
    assert "broken.json:1: spec.template.spec.topologySpreadConstraints[0].maxSkew" in errors
    assert (False, "refused") == (answer["verdict"]["value"], answer["verdict"]["cause"])


@pytest.mark.parametrize(
    ("fail_on", "code"), [("down", 0), ("pending", 1), ("interrupted", 1), ("uneven", 1), ("never", 0)]
)
def test_fail_on(fail_on: str, code: int) -> None:
    """A verdict fails that has the cause, or a worse one."""
    answer = _answer("--lose", "zone=a", "--fail-on", fail_on, *SHOP)

    assert "pending" == answer["verdict"]["cause"]
    assert code == answer["code"]


def test_every_cause_may_be_too_much() -> None:
    """But those of what is undecided, which always fails."""
    assert {"not-read", "not-tried", "stopped", "fits"}.isdisjoint(FAILING)
    for cause in FAILING:
        assert _run("--drain", "node-c3", "--fail-on", cause, *SHOP)[0] in {0, 1}


def test_whom() -> None:
    """The verdict is about those that are named, or those of a namespace."""
    everyone = _answer("--lose", "zone=b", *SHOP)
    cart = _answer("deploy/cart", "-n", "shop", "--lose", "zone=b", *SHOP)
    shop = _answer("-n", "shop", "--lose", "zone=b", *SHOP)

    assert [False, True, True] == [each["verdict"]["value"] for each in (everyone, cart, shop)]
    assert {"shop"} == {ref["namespace"] for ref in shop["scenario"]["workloads"]}


def test_missing_replicas() -> None:
    """So many may be missing after a loss."""
    strict, lenient = (
        _answer("deploy/indexer", "-n", "search", "--lose", "zone=a", "--allow-missing", missing, *SHOP)
        for missing in ("0", "4")
    )

    assert (False, True) == (strict["verdict"]["value"], lenient["verdict"]["value"])


def test_nodes_that_cannot_be_reached() -> None:
    """They stay, tainted, whether one domain is lost or each in turn."""
    gone, *stay = (
        _answer(*happens, "-n", "shop", *SHOP)["verdict"]["value"]
        for happens in (
            ("deploy/web", "--lose", "zone=a"),
            ("deploy/web", "--lose", "zone=a", "--unreachable"),
            ("deploy/web", "--lose-each", "zone", "--unreachable"),
        )
    )

    assert (True, [False, False]) == (gone, stay)


def test_losses_are_those_of_single_ones() -> None:
    """Each domain alone has the outcome that it has among others."""
    each = _answer("--lose-each", "zone", *SHOP)["outcomes"]
    for loss in each:
        domain = loss["scenario"]["events"][-1]["lose"]["value"]
        alone = _answer("--lose", f"zone={domain}", *SHOP)
        assert loss["verdict"] == alone["verdict"]
        assert [found["after"] for found in loss["workloads"]] == [w["after"] for w in alone["workloads"]]


@pytest.mark.parametrize("form", ["text", "wide", "json", "yaml", "markdown", "junit"])
def test_formats(form: str) -> None:
    """None names a folder of this machine, and all have one exit code."""
    code, out, _ = _run("--lose-each", "zone", "--cluster", str(EXAMPLES / "shop.json"), "-o", form)

    assert 1 == code
    assert str(EXAMPLES) not in out
    assert "indexer" in out
