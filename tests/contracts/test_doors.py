"""Whichever door is asked what happens to a cluster says the same.

Doors are commands and routes; each one of them either answers with an outcome, or it is said why it does not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import Phase, given
from hypothesis import strategies as st

from planning.simulation.outcome import RANK, Cause
from policies.config.context import AdmissionContext
from policies.manifests.wire import dumps
from policies.model.snapshot import kind_of
from policies.scheduler.indexed_objects import READERS
from tests.contracts.random_scenarios import Case, a_case
from tests.contracts.test_contradictions import is_possible, played
from tests.examples import examples
from tests.webhook.cli.in_process import evenkeel
from webhook.cli.main import APART, COMMANDS
from webhook.http.api_routes import API_ROUTES, ApiCall

Object = dict[str, Any]
#: Returns what a door says of a case, which is in the files of a folder, too; None where it cannot be asked.
Door = Callable[[Case, Path], Object | None]


def _play(case: Case, _folder: Path) -> Object:
    there = {kind_of(obj) for obj in case.items}
    answer: Object = json.loads(dumps(played(case, frozenset(READERS.keys() - there))))
    return answer


def _what_if(case: Case, folder: Path) -> Object | None:
    words = [_words(position, event, folder) for position, event in enumerate(case.events)]
    if not words or None in words:
        return None
    given = [word for each in words if each is not None for word in each]
    done = evenkeel(
        "what-if", *given, "--cluster", "cluster.json", "--runs", "1", "-o", "json", folder=folder
    )
    assert done.returncode in {0, 1}, done.stderr
    answer: Object = json.loads(done.stdout)
    # The exit code is the verdict, too.
    cause = Cause(answer["verdict"]["cause"])
    fails = cause.holds is None or RANK[cause] <= RANK[Cause.INTERRUPTED]
    assert done.returncode == fails, answer["verdict"]
    return answer


def _words(position: int, event: Object, folder: Path) -> list[str] | None:
    """Return the option of an event; None where there is none for everybody."""
    ((name, value),) = event.items()
    match name:
        case "apply":
            (folder / f"{position}.json").write_text(json.dumps(value))
            return ["-f", f"{position}.json"]
        case "lose" if not value.get("unreachable"):
            return ["--lose", f"{value['topologyKey']}={value['value']}"]
        case "drain" | "cordon" | "uncordon":
            return [f"--{name}", value]
        case "taint":
            return ["--taint", f"{value['node']} {value['key']}={value['value']}:{value['effect']}"]
        case "label":
            return ["--label", f"{value['node']} {value['key']}={value['value']}"]
        case "add":
            return ["--add", f"{value['count']} like {value['like']}"]
        case "delete":
            return ["--delete", f"{value['namespace']}/{value['name']}"]
    return None


def _v1_what_if(case: Case, _folder: Path) -> Object:
    cluster = {"kind": "List", "items": deepcopy(case.items)}
    body = json.dumps({"events": case.events, "cluster": cluster, "runs": 1}).encode()
    server, now = AdmissionContext(policies=()), datetime(2026, 11, 20, tzinfo=UTC)
    call = ApiCall(body, server, now, None, wide=False, workloads=None, deadline=time.monotonic() + 60)
    answer: Object = json.loads(API_ROUTES["/v1/what-if"].compute(call).body)
    return answer


#: Every door that answers with an outcome.
DOORS: Final[Mapping[str, Door]] = {
    "play": _play,
    "what-if": _what_if,
    "/v1/what-if": _v1_what_if,
}
#: What each says in the same words, and the doors that are asked.
QUESTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "verdict": ("play", "what-if", "/v1/what-if"),
    "workloads": ("play", "what-if", "/v1/what-if"),
    "steps": ("play", "what-if", "/v1/what-if"),
    "nodes": ("play", "what-if", "/v1/what-if"),
    "others": ("play", "what-if", "/v1/what-if"),
    "complete": ("play", "what-if", "/v1/what-if"),
}
#: Commands and routes that take a cluster and answer something else than what becomes of it.
WITHOUT_OUTCOME: Final[Mapping[str, str]] = {
    "/v1/advise": "searches for constraints",
    "/v1/audit": "nothing happens",
    "/v1/explain": "explains one pod",
    "/v1/lint": "judges manifests",
    "/v1/score": "nothing is played",
    "/v1/simulate": "schedules pods beside those that run",
    "advise": "searches for constraints",
    "audit": "nothing happens",
    "explain": "explains one pod; what it says of a changed workload is held in test_one_verdict",
    "lint": "judges manifests",
    "plan": "compares manifests; what it says of a changed workload is held in test_one_verdict",
    "serve": "its routes are doors of their own",
    "ui": "its routes are doors of their own",
}


def _takes_cluster(command: str) -> bool:
    module = import_module(f"webhook.cli.{command.replace('-', '_')}")
    return any(parameter.name == "cluster" for parameter in module.command.params)


def differences(case: Case) -> Iterator[str]:
    """Yield what doors answer otherwise than others."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        snapshot = {"apiVersion": "v1", "kind": "List", "items": case.items}
        (folder / "cluster.json").write_text(json.dumps(snapshot))
        answers = {door: ask(case, folder) for door, ask in DOORS.items()}
    for question, doors in QUESTIONS.items():
        said = {door: answer[question] for door in doors if (answer := answers[door]) is not None}
        if any(each != said["play"] for each in said.values()):
            yield f"{question}: {said}"


class TestDoors:
    """Every door says the same of the same."""

    @examples(25, phases=(Phase.explicit, Phase.generate))
    @given(seed=st.integers(0, 2**32 - 1))
    def test_of_random_clusters(self, seed: int) -> None:
        """No door answers otherwise than another one."""
        case = a_case(seed)
        assert not is_possible(case) or not list(differences(case)), seed

    def test_each_is_asked(self) -> None:
        """No door drops out by not being asked: each answers one of a few cases, each question has two."""
        cases = [case for case in map(a_case, range(8)) if is_possible(case)]
        with TemporaryDirectory() as name:
            folder = Path(name)
            for case in cases:
                snapshot = {"apiVersion": "v1", "kind": "List", "items": case.items}
                (folder / "cluster.json").write_text(json.dumps(snapshot))
                answered = {door for door, ask in DOORS.items() if ask(case, folder) is not None}
                if answered == DOORS.keys():
                    break
        assert answered == DOORS.keys()
        assert all(len(doors) > 1 and set(doors) <= DOORS.keys() for doors in QUESTIONS.values())

    def test_none_is_forgotten(self) -> None:
        """What takes a cluster answers with an outcome, or it is said why it does not."""
        takes = {command for command in COMMANDS if command not in APART and _takes_cluster(command)}
        takes |= API_ROUTES.keys()

        assert takes == (DOORS.keys() | WITHOUT_OUTCOME.keys()) - {"play"}
        assert not DOORS.keys() & WITHOUT_OUTCOME.keys()
