"""``evenkeel audit``, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from policies.manifests.errors import UsageError
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from webhook.cli.audit import command


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A snapshot with a StatefulSet whose pods are all in one of two zones."""
    workload = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
    items = [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 3), workload]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param([], 1, id="an error"),
        pytest.param(["--fail-on", "never"], 0, id="nothing fails"),
        pytest.param(["-n", "other"], 2, id="another namespace"),
        pytest.param(["-l", "team=a"], 2, id="other labels"),
        pytest.param(["-l", "team=="], 2, id="an empty value"),
        pytest.param(["-l", "a b"], 2, id="no selector"),
        pytest.param(["--live"], 2, id="two clusters"),
        pytest.param(["--top", "0"], 2, id="top 0"),
    ],
)
def test_exit_codes(cluster: str, arguments: list[str], code: int) -> None:
    """1 where a workload has a problem that is bad enough, 2 for bad usage."""
    result = CliRunner().invoke(command, ["--cluster", cluster, *arguments])

    assert code == (
        2 if result.exception and not isinstance(result.exception, SystemExit) else result.exit_code
    )


def test_no_cluster() -> None:
    """Without a cluster there is nothing to audit."""
    assert CliRunner().invoke(command, []).exit_code != 0


def test_formats(cluster: str) -> None:
    """JSON and YAML say the same."""
    answer = json.loads(CliRunner().invoke(command, ["--cluster", cluster, "-o", "json"]).stdout)

    assert ["violated", "one-domain"] == [problem["risk"] for problem in answer["workloads"][0]["problems"]]
    assert "risk: violated" in CliRunner().invoke(command, ["--cluster", cluster, "-o", "yaml"]).stdout


def test_formats_for_others(cluster: str) -> None:
    """Markdown and the objects of both APIs of reports."""
    outputs = {
        form: CliRunner().invoke(command, ["--cluster", cluster, "-o", form]).stdout
        for form in ("markdown", "policyreport", "openreports")
    }
    kinds = [json.loads(outputs[form])["items"][0]["kind"] for form in ("policyreport", "openreports")]

    assert outputs["markdown"].startswith("### evenkeel audit: problems in 1 of 1 workload\n")
    assert ["PolicyReport", "Report"] == kinds


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["-n", "other"], "there are some in shop", id="another namespace"),
        pytest.param(["-l", "team=a"], "--selector", id="other labels"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "policyreport"])
def test_an_empty_scope(cluster: str, form: str, arguments: list[str], told: str) -> None:
    """A scope with no workload in it is no success in any format; it says where workloads are."""
    result = CliRunner().invoke(command, ["--cluster", cluster, "-o", form, *arguments])

    assert (True, "") == (isinstance(result.exception, UsageError), result.stdout)
    assert told in str(result.exception)


def test_what_is_left_out(tmp_path: Path) -> None:
    """An object that cannot be read is a note of the answer; text has it alone, for stderr is beside it."""
    broken = a_node("n1", "a") | {"status": {"allocatable": 3}}
    items = [broken, a_node("n2", "b"), *on("n1", 1), a_workload("StatefulSet")]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    results = {
        form: CliRunner().invoke(command, ["--cluster", str(path), "-o", form]) for form in ("json", "text")
    }
    (found,) = json.loads(results["json"].stdout)["notes"]

    assert "Node n1 is left out" in found
    assert found in results["json"].stderr
    assert ("", True) == (results["text"].stderr, "Node n1 is left out" in results["text"].stdout)


def test_ended_early(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the report has what was done, and says how much was not."""

    @contextmanager
    def pressed() -> Iterator[Callable[[], bool]]:
        yield lambda: True

    monkeypatch.setattr("webhook.cli.cluster_workloads.interruptible", pressed)
    result = CliRunner().invoke(command, ["--cluster", cluster, "-o", "json"])
    answer = json.loads(result.stdout)

    assert (130, 1, 0) == (result.exit_code, answer["left"], answer["total"])
    assert "not looked at: 1" in CliRunner().invoke(command, ["--cluster", cluster]).stdout
