"""An explanation as a program reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from planning.explain import json as explain_json
from planning.explain import text as explain_text
from planning.explain.explain import Explained
from policies.scheduler.configuration import SchedulerConfig, build_profile
from tests.builders import a_constraint, a_pod, a_workload
from tests.planning.explain.explanations import MANY, SOFT, UNEVEN, a_spread_pod, an_explanation


def report_of(explained: Explained) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(explain_json.render(explained))
    return report


def test_fits_nowhere() -> None:
    """The facts of the text are values, and the text itself is there in lines."""
    explained = an_explanation(a_spread_pod(a_constraint()), *UNEVEN)
    report = report_of(explained)
    (standing,) = report["constraints"]

    assert {"kind": "Pod", "namespace": "shop", "name": "web-0"} == report["object"]
    assert (False, 3, 0) == (report["fits"], report["nodes"], report["feasibleNodes"])
    assert ("app=web", True, 0, 3, True) == (
        standing["selector"],
        standing["selfMatch"],
        standing["globalMinimum"],
        standing["domainCount"],
        standing["allDomains"],
    )
    assert {
        "value": "a",
        "matching": 2,
        "nodes": 1,
        "counted": True,
        "skew": 3,
        "fits": False,
        "feasibleNodes": 0,
    } == standing["domains"][0]
    assert [(2, ["n1", "n2"]), (1, ["n3"])] == [
        (group["nodes"], group["examples"]) for group in report["rejections"]
    ]
    assert {"key": "team", "value": "x", "effect": "NoSchedule"} == report["rejections"][1]["rejections"][0][
        "taint"
    ]
    assert explain_text.render(explained, width=80, color=False).splitlines() == report["text"]


def test_changes() -> None:
    """A change is an edit of a field, with its way and its old value, and what it opens."""
    report = report_of(an_explanation(a_spread_pod(a_constraint()), *UNEVEN))
    first, second, _, fourth, *_ = report["changes"]
    way = ["spec", "topologySpreadConstraints", 0]
    field = "spec.topologySpreadConstraints[0]"

    assert {
        "kinds": ["nodeTaintsPolicy"],
        "edits": [
            {
                "field": f"{field}.nodeTaintsPolicy",
                "path": [*way, "nodeTaintsPolicy"],
                "old": None,
                "new": "Honor",
            }
        ],
        "elsewhere": [],
        "inCluster": None,
        "feasibleNodes": 2,
        "examples": ["n1", "n2"],
        "replicasBefore": None,
        "replicasAfter": None,
        "enough": True,
        "costs": ["domains whose nodes are all tainted for the pod may stay empty"],
        "givenUp": [],
        "caution": False,
    } == first
    assert {
        "text": "add a node like n3 with topology.kubernetes.io/zone c, without the taint team",
        "nodes": ["n3"],
        "count": 1,
        "key": "topology.kubernetes.io/zone",
        "value": "c",
        "withoutTaints": ["team"],
        "claims": [],
        "storageClass": None,
        "classLike": None,
    } == second["inCluster"]
    assert [{"field": f"{field}.maxSkew", "path": [*way, "maxSkew"], "old": 1, "new": 3}] == fourth["edits"]
    assert [
        {"topologyKey": "topology.kubernetes.io/zone", "field": "maxSkew", "before": "1", "after": "3"}
    ] == fourth["givenUp"]
    assert report["changesComplete"]


def test_changes_elsewhere() -> None:
    """A constraint that stands in no manifest is named by its key and action."""
    constraint = {key: value for key, value in a_constraint().items() if key != "labelSelector"}
    profile = build_profile({"defaultingType": "List", "defaultConstraints": [constraint]})
    scheduler = SchedulerConfig({}, fallback=profile)
    report = report_of(an_explanation(a_workload("StatefulSet", uid="u"), *UNEVEN, scheduler=scheduler))

    assert ("scheduler-list", []) == (report["constraints"][0]["origin"], report["changes"][0]["edits"])
    assert [
        {
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "field": "nodeTaintsPolicy",
            "new": "Honor",
        }
    ] == report["changes"][0]["elsewhere"]


def test_fits() -> None:
    """Feasible nodes by score and points; nothing to change."""
    report = report_of(an_explanation(a_spread_pod(SOFT), *MANY))

    assert [(100, 200, 15)] == [
        (tier["score"], tier["points"], tier["nodes"]) for tier in report["ranking"][:1]
    ]
    assert report["ranking"][0]["points"] - report["ranking"][1]["points"] == report["lead"]
    assert (True, "", []) == (report["fits"], report["message"], report["changes"])


@pytest.mark.parametrize(("node", "expected"), [("n1", "n1"), ("", None)])
def test_runs_on(node: str, expected: str | None) -> None:
    """A pod that runs is placed as if it were scheduled again; the answer itself says where it is."""
    explained = replace(an_explanation(a_spread_pod(SOFT), *MANY), node=node)

    assert expected == report_of(explained)["runsOn"]


def test_why_no_constraint() -> None:
    """Without constraints it says why."""
    report = report_of(an_explanation(a_pod(), *UNEVEN))

    assert ([], True) == (report["constraints"], "no Service" in report["whyNoConstraints"])


@pytest.mark.parametrize("old", [10**400, "\ud800"])
def test_values_that_are_no_json_of_64_bits(old: Any) -> None:
    """An edit may remove any value; one that JSON cannot express is reported as text."""
    gated = a_pod(spec={"schedulingGates": [{"name": old}]})
    report = report_of(an_explanation(gated, *UNEVEN))

    assert isinstance(report["changes"][0]["edits"][0]["old"], str)


def test_revision() -> None:
    """Which revision was judged is told as in a score, and in the headline of the text if it is new."""
    report = report_of(an_explanation(a_workload(), *UNEVEN))

    assert {"hash": None, "new": True} == report["revision"]
    assert 4 == report["replaced"]
    assert "scheduled as a new revision" in " ".join(report["text"])
