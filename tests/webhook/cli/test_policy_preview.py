"""``evenkeel policy preview``: what is compared with what, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click.testing
import pytest
import yaml

from policies.manifests.errors import EvenkeelError
from tests.builders import a_constraint, a_node, a_policy, a_replica_set, a_workload
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.cli.policy import command

RULE = "selector-misses-own-pod"
DENY: dict[str, Any] = {"rules": {RULE: {"enforcement": "deny"}}}
AUDIT: dict[str, Any] = {"rules": {RULE: {"enforcement": "audit"}}}
MISSES = a_workload(
    name="web",
    spec={"topologySpreadConstraints": [a_constraint(labelSelector={"matchLabels": {"app": "other"}})]},
)


def _file(folder: Path, name: str, *documents: dict[str, Any]) -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def _cluster(folder: Path, *objects: dict[str, Any]) -> str:
    items = [a_node("n1", "a"), a_replica_set(MISSES, "5d9"), *objects]
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def _run(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(command, ["preview", *arguments])


def _report(*arguments: str) -> dict[str, Any]:
    result = _run(*arguments, "-o", "json")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    ("in_force", "of_cluster", "names", "changes"),
    [
        pytest.param([], [], ["default"], ["denied"], id="builtin:default, where there is none"),
        pytest.param([{}], [], ["a"], ["denied"], id="a file"),
        pytest.param([AUDIT], [], ["a"], [], id="a file that decides the rule"),
        pytest.param([], [AUDIT], ["b"], ["denied"], id="an object of the cluster"),
        pytest.param([DENY], [AUDIT], ["a", "b"], [], id="both: the first that says something counts"),
    ],
)
def test_what_is_compared(
    in_force: list[dict[str, Any]],
    of_cluster: list[dict[str, Any]],
    names: list[str],
    changes: list[str],
    tmp_path: Path,
) -> None:
    """With the policies of files and of the cluster."""
    files = [a_policy("a", **spec) for spec in in_force]
    cluster = _cluster(tmp_path, *(a_policy("b", **spec) for spec in of_cluster))
    given = ["--policy", _file(tmp_path, "a.yaml", *files)] if files else []
    new = _file(tmp_path, "new.yaml", a_policy("b", **DENY))
    report = _report("-f", new, "--cluster", cluster, *given)

    assert names == report["inForce"]
    assert ["--policy" in text for text in report["notLookedAt"]] == ([] if files else [True])
    found = [entry["change"] for workload in report["workloads"] for entry in workload["changes"]]
    assert changes == [change for change in found if change == "denied"]


@pytest.mark.parametrize(
    ("spec", "options", "code"),
    [
        (DENY, [], 1),
        (DENY, ["--fail-on-change", "never"], 0),
        (AUDIT, [], 0),
        (AUDIT, ["--fail-on-change", "changed"], 1),
    ],
)
def test_exit_codes(spec: dict[str, Any], options: list[str], code: int, tmp_path: Path) -> None:
    """1 if a workload would be denied that is not now, or if anything changes."""
    new = _file(tmp_path, "new.yaml", a_policy("b", **spec))

    assert code == _run("-f", new, "--cluster", _cluster(tmp_path), *options).exit_code


def test_a_broken_policy_of_the_cluster(tmp_path: Path) -> None:
    """One with errors is not in force, and that is said."""
    new = _file(tmp_path, "new.yaml", a_policy("b", **DENY))
    report = _report("-f", new, "--cluster", _cluster(tmp_path, a_policy("c", enforcement="x")))

    assert "SpreadPolicy c" in report["notLookedAt"][0]
    assert ["default"] == report["inForce"]


def test_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds that the user may not list are reported; the others are evaluated."""
    unread = {f"/apis/{path}" for path in ("apps/v1/deployments", "apps/v1/daemonsets", "batch/v1/cronjobs")}
    with serving(FakeApiServer(undefined=unread)) as server:
        server.put(a_replica_set(MISSES, "5d9"))
        server.put(a_policy("b", **AUDIT))
        monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path, server.url)))
        report = _report("-f", _file(tmp_path, "new.yaml", a_policy("b", **DENY)), "--live")

    assert (["b"], 1) == (report["inForce"], report["lookedAt"])
    assert 1 == report["counts"]["denied"]
    assert 3 == sum(" objects: " in text for text in report["notLookedAt"])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["-f", "new.yaml"], id="no cluster"),
        pytest.param(["--cluster", "x.json"], id="no policy"),
        pytest.param(["-f", "no-such-file", "--cluster", "{cluster}"], id="a missing file"),
        pytest.param(["-f", "{broken}", "--cluster", "{cluster}"], id="a policy with errors"),
        pytest.param(["-f", "{scheduler}", "--cluster", "{cluster}"], id="no configuration of the scheduler"),
        pytest.param(["-f", "{cluster}", "--cluster", "{cluster}"], id="no policy"),
    ],
)
def test_bad_input(arguments: list[str], tmp_path: Path) -> None:
    """A clear error, and no preview."""
    places = {
        "cluster": _cluster(tmp_path),
        "broken": _file(tmp_path, "broken.yaml", a_policy("b", enforcement="x")),
        "scheduler": _file(tmp_path, "s.yaml", a_policy("b", defaults={"source": "scheduler"})),
    }
    result = _run(*(argument.format(**places) for argument in arguments))

    assert 2 == result.exit_code or isinstance(result.exception, EvenkeelError | OSError)
