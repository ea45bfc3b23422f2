"""A search for contradictions: a changed workload has one verdict and one number, whichever door is asked.

The clusters have pods of the old revision that wait, StatefulSets of both kinds, and pods of others. What the
search once found is in ``tests/data/contradictions.jsonl``, one cluster a line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath
from policies.manifests.wire import Received
from tests.builders import HOSTNAME, ZONE, a_constraint, a_node, a_pod, a_replica_set, a_workload
from tests.examples import examples
from tests.webhook.cli.in_process import evenkeel
from tests.webhook.ui.pages import a_page_cluster
from webhook.http.api_routes import API_ROUTES, ApiCall
from webhook.requests.frame import read_request
from webhook.ui import placing, what_if
from webhook.ui.bodies import ManifestBody

FOUND: Final = Path(__file__).parents[1] / "data" / "contradictions.jsonl"
#: The parts of an outcome that say what comes of a change.
PARTS: Final = ("complete", "verdict", "workloads", "others", "steps", "nodes", "branches", "assumed")

Object = dict[str, Any]


class Case(NamedTuple):
    """A cluster, and a workload that is changed in it."""

    items: list[Object]
    manifest: Object


class Said(NamedTuple):
    """What a door says; None for what it does not say."""

    succeeds: bool | None = None  #: Whether the change ends well.
    fitting: tuple[int, int] | None = None  #: How many replicas of how many are as they should be.
    pending: int | None = None  #: How many pods of the workload have no node in the end.
    likely: bool | None = None  #: Whether its likely way ends well, whatever others do that were played.


#: Asks one door about a case, which is in the files of a folder, too.
Door = Callable[[Case, Path], Said]
Reader = Callable[[Mapping[str, Any]], Said]


def _explained(answer: Mapping[str, Any]) -> Said:
    # One way is played.
    replicas, outcome = answer["replicas"], answer.get("outcome")
    if outcome is None:
        return Said(None, (replicas["fitting"], replicas["wanted"]), None, answer["fits"])
    succeeds = outcome["verdicts"][0]["value"] is True
    return Said(None, (replicas["fitting"], replicas["wanted"]), outcome["pending"], succeeds)


def _played(answer: Mapping[str, Any]) -> Said:
    found = next(each for each in answer["workloads"] if each["name"] == "web")
    updated = found["after"] if found["updated"] is None else found["updated"]
    likely, branches = answer["verdict"]["value"], answer["branches"]
    worst = likely if branches is None else branches["worst"]["value"]
    return Said(worst, (updated, found["wanted"]), found["pending"], likely)


def _shown(answer: Mapping[str, Any]) -> Said:
    """Read what the page is sent; other ways in which it may end worse stand beside its verdict."""
    said, branches = _played(answer["outcome"]), answer["outcome"]["branches"]
    return said._replace(succeeds=None if branches else said.succeeds)


def _likely(answer: Mapping[str, Any]) -> Said:
    """Read the outcome of events after which other ways are not looked for."""
    return _played(answer)._replace(succeeds=None)


def _planned(answer: Mapping[str, Any]) -> Said:
    return _played(answer["outcome"])._replace(succeeds=not answer["summary"]["failed"])


def _command(reader: Reader, *words: str) -> Door:
    def ask(_: Case, folder: Path) -> Said:
        given = ["web.json"] if words[0] == "plan" else [] if "-f" in words else ["-f", "web.json"]
        done = evenkeel(*words, *given, "--cluster", "cluster.json", "-o", "json", folder=folder)
        assert done.returncode in {0, 1}, done.stderr
        # The answer for programs and the exit code are one verdict, too.
        said = reader(json.loads(done.stdout))
        assert (said.likely if said.succeeds is None else said.succeeds) is (not done.returncode), words
        return said

    return ask


def _route(reader: Reader, path: str, asked: Callable[[Object], Object]) -> Door:
    def ask(case: Case, _: Path) -> Said:
        cluster = {"kind": "List", "items": deepcopy(case.items)}
        return reader(json.loads(_asked(path, {"cluster": cluster, **asked(case.manifest)})))

    return ask


def _asked(path: str, body: Object) -> bytes:
    server, now = AdmissionContext(policies=()), datetime(2026, 11, 20, tzinfo=UTC)
    deadline = time.monotonic() + 60
    call = ApiCall(
        json.dumps(body).encode(), server, now, None, wide=False, workloads=None, deadline=deadline
    )
    answer = API_ROUTES[path].compute(call).body
    return answer if isinstance(answer, bytes) else answer.encode()


def _page(
    reader: Reader,
    answer: Callable[..., bytes],
    body: type[Received],
    **fields: Any,
) -> Door:
    def ask(case: Case, _: Path) -> Said:
        cluster = a_page_cluster(*deepcopy(case.items))
        return reader(
            json.loads(
                answer(
                    cluster,
                    read_request(body, json.dumps({"manifest": json.dumps(case.manifest)} | fields).encode()),
                )
            )
        )

    return ask


#: Everything that says what becomes of a changed workload.
DOORS: Final[Mapping[str, Door]] = {
    "what-if": _command(_played, "what-if", "--fail-on", "waits-for-deletion"),
    "what-if, then nothing": _command(
        _likely, "what-if", "--fail-on", "waits-for-deletion", "-f", "web.json", "--uncordon", "n0"
    ),
    "explain": _command(_explained, "explain"),
    "plan": _command(_planned, "plan"),
    "/v1/explain": _route(_explained, "/v1/explain", lambda obj: {"pod": obj}),
    "/v1/what-if": _route(_played, "/v1/what-if", lambda obj: {"events": [{"apply": obj}]}),
    "page explain": _page(_explained, placing.explain, ManifestBody),
    "page what-if": _page(_shown, what_if.what_if, what_if.WhatIfBody),
}


def _written(case: Case, folder: Path) -> Path:
    """Return a folder, with the files of a case in it."""
    snapshot = {"apiVersion": "v1", "kind": "List", "items": case.items}
    (folder / "cluster.json").write_text(json.dumps(snapshot))
    (folder / "web.json").write_text(json.dumps(case.manifest))
    return folder


def contradictions(case: Case) -> Iterator[str]:
    """Yield what doors say of a case that others contradict."""
    with TemporaryDirectory() as name:
        folder = _written(case, Path(name))
        said = {door: ask(case, folder) for door, ask in DOORS.items()}
    for field in Said._fields:
        values = {door: value for door, each in said.items() if (value := getattr(each, field)) is not None}
        if len(set(values.values())) > 1:
            yield f"{field}: {values}"


def broken_promises(case: Case) -> Iterator[str]:
    """Yield the suggestions that promise what applying them does not say."""
    before = _what_if(case, [{"apply": case.manifest}])
    for each in before["suggestions"] or ():
        edits = [Edit(FieldPath(tuple(edit["path"])), edit["old"], edit["new"]) for edit in each["edits"]]
        applied = {"apply": apply_edits(case.manifest, edits)}
        after = _what_if(case, [*each["events"], applied, *each["then"]])
        found = next(workload for workload in after["workloads"] if workload["name"] == "web")
        promised, said = (each["verdict"], each["after"]), (found["verdicts"][0], found["after"])
        if promised != said or said[0]["value"] is not True:
            yield f"{each['text']}: {promised}, but {said}"


def _what_if(case: Case, events: list[Object]) -> Object:
    cluster = {"kind": "List", "items": case.items}
    asked = {"events": events, "cluster": cluster, "runs": 1, "suggest": True}
    answer: Object = json.loads(_asked("/v1/what-if", deepcopy(asked)))
    return answer


_CPU = st.sampled_from(["", "1", "2"])


@st.composite
def _constraints(draw: st.DrawFn) -> list[Object]:
    keys = draw(st.lists(st.sampled_from([ZONE, HOSTNAME]), max_size=2, unique=True))
    return [
        a_constraint(
            topologyKey=key,
            maxSkew=draw(st.integers(1, 2)),
            whenUnsatisfiable=draw(st.sampled_from(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"])),
        )
        for key in keys
    ]


@st.composite
def _nodes(draw: st.DrawFn) -> list[Object]:
    taint = {"taints": [{"key": "spot", "effect": "NoSchedule"}]}
    spec = st.sampled_from(list[Object]([{}, {}, {}, taint, {"unschedulable": True}]))
    return [
        a_node(f"n{number}", draw(st.sampled_from("abc")), cpu=draw(st.sampled_from("124")), **draw(spec))
        if number
        else a_node("n0", "a")
        for number in range(draw(st.integers(2, 5)))
    ]


def _bound(pod: Object, node: str) -> Object:
    if not node:
        return pod | {"status": {"phase": "Pending"}}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return pod | {"spec": pod["spec"] | {"nodeName": node}, "status": status}


def _containers(cpu: str, image: str) -> list[Object]:
    return [{"name": "c", "image": image, "resources": {"requests": {"cpu": cpu} if cpu else {}}}]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A cluster with a workload of which some pods may wait, and the workload with a changed template."""
    nodes, kind = draw(_nodes()), draw(st.sampled_from(["Deployment", "StatefulSet"]))
    spread, cpu, replicas = draw(_constraints()), draw(_CPU), draw(st.integers(1, 5))
    spec = {"containers": _containers(cpu, "web:1"), "topologySpreadConstraints": spread}
    stored = a_workload(kind, spec=spec, uid="u-web")
    stored["spec"]["replicas"] = replicas
    where = st.sampled_from(["", *(node["metadata"]["name"] for node in nodes)])
    if kind == "StatefulSet":
        stored["spec"]["podManagementPolicy"] = draw(st.sampled_from(["OrderedReady", "Parallel"]))
        label, owner = {"controller-revision-hash": "web-1"}, ("apps/v1", "StatefulSet", "web")
        made = [stored]
        if draw(st.integers(0, 4)) == 0:
            stored["spec"]["updateStrategy"] = {"type": "OnDelete"}
    else:
        limits = draw(st.sampled_from([(1, 0), (0, 1), (1, 1)]))
        rolling = dict(zip(("maxSurge", "maxUnavailable"), limits, strict=True))
        stored["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
        label, owner = {"pod-template-hash": "old"}, ("apps/v1", "ReplicaSet", "web-old")
        revision = a_replica_set(stored, "old")
        revision["spec"]["replicas"] = replicas
        made = [stored, revision]
    pods = [
        _bound(
            a_pod(name=f"web-{number}", labels={"app": "web", **label}, owner=owner, spec=deepcopy(spec)),
            draw(where),
        )
        for number in range(replicas)
    ]
    others = [
        _bound(
            a_pod(name=f"other-{number}", labels={"app": "x"}, spec={"containers": _containers("1", "x:1")}),
            draw(where),
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    manifest = deepcopy(stored)
    del manifest["metadata"]["uid"]
    template = manifest["spec"]["template"]["spec"]
    template["containers"] = _containers(draw(_CPU), "web:2")
    edits = st.sampled_from([{}, {"maxSkew": 3}, {"nodeTaintsPolicy": "Honor"}, {"minDomains": 2}])
    for constraint in template["topologySpreadConstraints"]:
        if constraint["whenUnsatisfiable"] == "DoNotSchedule":
            constraint.update(draw(edits))
    return Case([*nodes, *made, *pods, *others], manifest)


def _found() -> Iterator[Case]:
    """Yield what was found of a workload that is changed, and nothing else."""
    for line in FOUND.read_text().splitlines():
        found = json.loads(line)
        if [*map(list, found["events"])] == [["apply"]]:
            yield Case(found["items"], found["events"][0]["apply"])


class TestOneVerdict:
    """Whoever is asked what becomes of a changed workload says the same."""

    @examples(15)
    @given(case=cases())
    def test_of_random_clusters(self, case: Case) -> None:
        """No door contradicts another one."""
        assert not list(contradictions(case))
        assert not list(broken_promises(case))

    @examples(40)
    @given(case=cases())
    def test_a_plan_is_a_what_if(self, case: Case) -> None:
        """A plan of one change has the whole outcome of what-if, also the ways in which it may go."""
        on, form = ("--cluster", "cluster.json"), ("-o", "json")
        with TemporaryDirectory() as name:
            folder = _written(case, Path(name))
            asked = evenkeel("what-if", "-f", "web.json", *on, *form, folder=folder)
            planned = evenkeel("plan", "web.json", *on, *form, folder=folder)
        played, answer = json.loads(asked.stdout), json.loads(planned.stdout)
        outcome = answer["outcome"]

        assert {part: played[part] for part in PARTS} == {part: outcome[part] for part in PARTS}
        found = [*answer["newFindings"], *answer["raisedFindings"]]
        # An error that lint finds fails a plan, too.
        errors = any(each["severity"] == "error" for each in found)
        assert int(asked.returncode or errors) == planned.returncode

    @pytest.mark.parametrize("case", list(_found()), ids=lambda case: case.manifest["kind"])
    def test_of_what_was_found(self, case: Case) -> None:
        """What once was a contradiction is none, and what is suggested comes true."""
        assert not list(contradictions(case))
        assert not list(broken_promises(case))
