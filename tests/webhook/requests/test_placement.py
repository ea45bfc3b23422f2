"""Score requests: what is read of them, and what is refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from policies.config.context import AdmissionContext
from policies.config.form import read
from policies.config.loader import load_policies
from policies.manifests.fields import ErrorList
from policies.model.version import KubernetesVersion
from tests.builders import a_node, a_policy
from tests.planning.verdicts import an_index
from tests.webhook.requests.bodies import a_body
from webhook.requests.frame import read_request
from webhook.requests.score import ScoreRequest

LIST = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({}, [], id="nothing wrong"),
        pytest.param({"pods": []}, ["pods"], id="an unknown field"),
        pytest.param({"pod": None}, ["pod"], id="no pod"),
        pytest.param({"pod": {}}, ["pod"], id="an empty pod"),
        pytest.param({"pod": 3}, ["pod"], id="a pod that is none"),
        pytest.param({"kubernetesVersion": "1.20"}, ["kubernetesVersion"], id="a release before 1.24"),
        pytest.param({"kubernetesVersion": "new"}, ["kubernetesVersion"], id="no release"),
        pytest.param({"kubernetesVersion": 1.36}, ["kubernetesVersion"], id="a number as release"),
        pytest.param({"defaults": 3}, ["defaults"], id="defaults of the wrong type"),
        pytest.param({"defaults": {}}, [], id="empty defaults mean System"),
        pytest.param({"defaults": {"kind": "x"}}, ["defaults.kind"], id="an unknown field of defaults"),
        pytest.param(
            {"defaults": {"defaultConstraints": [LIST]}}, ["defaults.defaultingType"], id="System with a list"
        ),
        pytest.param(
            {"defaults": {"defaultingType": "List", "defaultConstraints": [{**LIST, "maxSkew": 0}]}},
            ["defaults.defaultConstraints[0].maxSkew"],
            id="a bad constraint",
        ),
        pytest.param(
            {"x": 1, "pod": 3, "cluster": 3, "defaults": 3, "kubernetesVersion": 3},
            ["cluster", "defaults", "kubernetesVersion", "pod", "x"],
            id="everything wrong",
        ),
        pytest.param(
            {"cluster": 3, "kubernetesVersion": "new"},
            ["cluster", "kubernetesVersion"],
            id="the form of one field, the meaning of another",
        ),
        pytest.param(
            {f"x{number:03}": 1 for number in range(200)} | {"defaults": 3, "kubernetesVersion": "new"},
            [f"x{number:03}" for number in range(100)],
            id="more errors than anyone fixes",
        ),
    ],
)
def test_errors(fields: dict[str, Any], paths: list[str]) -> None:
    """Everything wrong is told at once, with its path."""
    found = ErrorList()
    read(ScoreRequest, orjson.loads(a_body(**fields)), found)

    assert paths == [str(error.path) for error in found.errors]


def test_what_is_left_out_is_the_servers() -> None:
    """A request that says nothing is judged by the server's own context."""
    server = AdmissionContext(policies=(), cluster=an_index(a_node("n1")))

    request = read_request(ScoreRequest, a_body(cluster=None))

    assert server == request.context(server, ErrorList())


def test_what_is_given_takes_its_place() -> None:
    """Defaults take the place of policies too, for whatever scheduler the pod asks."""
    server = AdmissionContext(policies=_policies(), cluster=an_index())
    defaults = {"defaultingType": "List", "defaultConstraints": [LIST]}
    request = read_request(ScoreRequest, a_body(defaults=defaults, kubernetesVersion="v1.30.4"))
    context = request.context(server, ErrorList())

    assert KubernetesVersion(1, 30) == context.kubernetes_version
    assert () == context.policies
    assert context.cluster is not None
    assert 2 == context.cluster.node_count
    assert context.scheduler is not None
    assert ["rack"] == [c.topology_key for c in context.scheduler.constraints_for("any-scheduler")]


def _policies() -> Any:
    return tuple(load_policies(["p"], lambda _: orjson.dumps(a_policy())))
