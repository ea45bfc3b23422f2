"""``-o html`` of every command that has it: a page with what ``-o json`` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from click.testing import CliRunner

from webhook.cli.main import command
from webhook.ui import recording

EXAMPLES: Final = Path(__file__).parents[3] / "docs/examples"
CLUSTER: Final = ("--cluster", "cluster.yaml")
#: The fields that differ between two runs.
MOMENTARY: Final = ("generatedAt",)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["explain", "-f", "web.yaml", *CLUSTER], id="explain"),
        pytest.param(["what-if", "-f", "web.yaml", *CLUSTER], id="what-if"),
        pytest.param(["what-if", "--lose-each", "zone", *CLUSTER], id="losses"),
        pytest.param(["plan", "--from", "checkout.yaml", "web.yaml", *CLUSTER], id="plan"),
        pytest.param(["lint", "--config", "none", "checkout.yaml", *CLUSTER], id="lint"),
    ],
)
def test_a_page_has_what_json_has(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """The exit code is the same, too."""
    monkeypatch.chdir(EXAMPLES)
    report, answer = _written(arguments)

    assert (arguments[0], 1) == (report["kind"], report["version"])
    assert _lasting(answer) == _lasting(report["document"])
    assert report["about"]["verdict"]


def _written(arguments: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the report in the page of a command, and its JSON; both end with the same exit code."""
    page, answer = (CliRunner().invoke(command, [*arguments, "-o", form]) for form in ("html", "json"))
    assert answer.exit_code == page.exit_code, page.output
    found = re.search(
        r'<script type="application/json" id="evenkeel-report">(.*?)</script>', page.stdout, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1]), json.loads(answer.stdout)


class Recorded(NamedTuple):
    """The data in the file of a command on a whole cluster."""

    fragment: str
    withheld: list[str]
    answers: dict[str, Any]
    about: dict[str, Any]
    printed: dict[str, Any]

    def asked(self, path: str) -> dict[str, Any]:
        """Return the answers to what begins with a path, by the rest."""
        return {key[len(path) :]: value for key, value in self.answers.items() if key.startswith(path)}


def _recorded(monkeypatch: pytest.MonkeyPatch, words: str) -> Recorded:
    monkeypatch.chdir(EXAMPLES)
    report, printed = _written([*words.split(), "--cluster", "shop.json"])
    assert "page" == report["kind"]
    document = report["document"]
    return Recorded(document["fragment"], document["withheld"], document["answers"], report["about"], printed)


@pytest.mark.parametrize(
    ("options", "title", "unaudited"),
    [
        pytest.param("", "Audit of all namespaces", 1, id="8 of 9 workloads, 1 without replicas"),
        pytest.param(
            "-n shop", "Audit of namespace shop", 0, id="a namespace: others were not to be audited"
        ),
        pytest.param("-l app=web", "Audit of all namespaces, workloads with app=web", 0, id="a selector"),
        pytest.param("--top 2", "Audit of all namespaces", 0, id="the worst 2"),
    ],
)
def test_an_audit_is_the_page_opened_at_its_workloads(
    monkeypatch: pytest.MonkeyPatch, options: str, title: str, unaudited: int
) -> None:
    """They are those of -o json, each opens, and what the command leaves out is said."""
    found = _recorded(monkeypatch, f"audit {options}")
    audited = found.answers["/api/workloads?after=0"]
    entries = [dict(each) for each in audited["workloads"]]
    ranks = [(each.pop("rank"), each.pop("workload")) for each in entries]

    assert ("#/workloads", title) == (found.fragment, found.about["title"])
    assert found.printed["workloads"] == entries
    assert sorted(ranks) == ranks
    assert (True, "", unaudited) == (audited["done"], audited["error"], audited["unaudited"])
    assert set(found.printed["notes"]) <= set(found.withheld)
    opened = [f"kind={e['kind']}&namespace={e['namespace']}&name={e['name']}" for e in entries]
    assert set(opened) == found.asked("/api/workload?").keys()


def _lasting(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in MOMENTARY}


def test_what_a_file_cannot_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes and workloads beyond their number, and what is beyond the bytes of a file."""
    monkeypatch.setattr(recording, "MOST_SENT", 2)
    few = _recorded(monkeypatch, "audit")
    monkeypatch.setattr(recording, "MOST_BYTES", recording._SPARE_BYTES + 6_000)
    small = _recorded(monkeypatch, "audit")

    assert "What is on 10 nodes: evenkeel ui shows it." in few.withheld
    assert any("What is known of the next pod of" in each for each in few.withheld)
    assert "/api/cluster" in small.answers
    assert any("too large for a file" in each for each in small.withheld)


def test_a_file_has_no_environment_of_containers(tmp_path: Path) -> None:
    """Workloads open without what their containers are started with, as in a snapshot, and say so."""
    objects = json.loads((EXAMPLES / "shop.json").read_text())
    for each in objects["items"]:
        if each["kind"] == "ReplicaSet":
            each["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "KEY", "value": "hunter2"}]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(objects))
    page = CliRunner().invoke(command, ["audit", "--cluster", str(file), "-o", "html"])

    assert "hunter2" not in page.stdout
    assert "is left out of this file" in page.stdout
