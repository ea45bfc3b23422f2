"""Why the pods of a cluster are pending, by their controllers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from docs.generator.published import report_schemas
from planning.explain import pending as explain_pending
from tests.builders import a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.planning.verdicts import on
from tests.webhook.cli.in_process import evenkeel

SPREAD = {"topologySpreadConstraints": [a_constraint()]}
WEB = a_workload(name="web", namespace="shop", spec=SPREAD)
OWNED = a_replica_set(WEB, "5d9")
NODES = [a_node("n1", "a"), a_node("n2", "b", unschedulable=True)]


def _pending(name: str, namespace: str = "shop", **given: Any) -> dict[str, Any]:
    return a_pod(name=name, namespace=namespace, **given)


def _of_web(name: str) -> dict[str, Any]:
    owner = ("apps/v1", "ReplicaSet", OWNED["metadata"]["name"])
    return _pending(name, owner=owner, spec=SPREAD)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with clusters: pods that are stuck, one that fits, and none that is pending."""
    stuck = [_of_web("web-1"), _of_web("web-2")]
    fits = _pending("alone", "other")
    clusters = {
        "mixed": [*NODES, *on("n1", 1), WEB, OWNED, *stuck, fits],
        "fits": [*NODES, *on("n1", 1), WEB, fits],
        "none": [*NODES, *on("n1", 1), WEB],
    }
    for name, items in clusters.items():
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
        )
    return tmp_path


@pytest.mark.parametrize(
    ("cluster", "options", "code", "groups"),
    [
        pytest.param(
            "mixed", [], 1, [("Deployment", "web", 2, 0), ("Pod", "alone", 1, 1)], id="1: some fit nowhere"
        ),
        pytest.param("mixed", ["-n", "shop"], 1, [("Deployment", "web", 2, 0)], id="1: of one namespace"),
        pytest.param("mixed", ["-A"], 1, [("Deployment", "web", 2, 0), ("Pod", "alone", 1, 1)], id="-A"),
        pytest.param("fits", [], 0, [("Pod", "alone", 1, 1)], id="0: it fits now"),
        pytest.param("none", [], 0, [], id="0: none is pending"),
    ],
)
def test_by_controller(
    folder: Path, cluster: str, options: list[str], code: int, groups: list[tuple[str, str, int, int]]
) -> None:
    """Those that fit nowhere come first, and are the exit code."""
    done = evenkeel(
        "explain", "--pending", "--cluster", f"{cluster}.json", "-o", "json", *options, folder=folder
    )
    answer = json.loads(done.stdout)

    assert code == done.returncode, done.stderr
    assert groups == [
        (each["kind"], each["name"], each["count"], each["feasibleNodes"]) for each in answer["reasons"]
    ]
    schema = report_schemas()["planning/schemas/pending.schema.json"]
    jsonschema.Draft202012Validator(schema).validate(answer)
    assert sum(count for *_, count, _ in groups) == answer["pods"]


def test_a_sentence_each(folder: Path) -> None:
    """A person reads whose pods, which they are, and why."""
    text = evenkeel("explain", "--pending", "--cluster", "mixed.json", folder=folder).stdout.decode()
    lines = " ".join(text.split())

    assert lines.startswith("3 pods are pending, and no node takes 2 of them (Kubernetes ")
    assert "shop/web, 2 pods (web-1, web-2): zone b has none of these pods" in lines
    assert "other/alone, a pod without a controller: fits 1 of 2 nodes now." in lines


@pytest.mark.parametrize(
    "options",
    [["deploy/web"], ["-f", "web.yaml"], ["--diff", "1"], ["-o", "html"], ["-n", "gone"]],
    ids=" ".join,
)
def test_bad_usage(folder: Path, options: list[str]) -> None:
    """What is about one object is refused, and a namespace where nothing is."""
    done = evenkeel("explain", "--pending", "--cluster", "mixed.json", *options, folder=folder)

    assert (2, b"") == (done.returncode, done.stdout)


def test_more_than_are_evaluated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not tried is not green."""
    monkeypatch.setattr(explain_pending, "MOST_EVALUATED", 0)
    done = evenkeel("explain", "--pending", "--cluster", "fits.json", folder=folder)

    assert 1 == done.returncode
    assert b"1 pod not evaluated." in done.stdout
