"""``evenkeel explain`` of a live cluster, as people use them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from policies.config.context import AdmissionContext
from policies.model.version import KubernetesVersion
from tests.builders import a_constraint, a_pod, a_workload
from tests.planning.explain.explanations import UNEVEN
from tests.policies.scheduler.clusters import an_index
from tests.webhook.cli.live import Commands
from tests.webhook.http.authorization.control_plane import CLIENT, ControlPlane, a_control_plane
from tests.webhook.http.client import a_client
from webhook.admission.current_context import CurrentContext
from webhook.http.authorization.authorizer import DecisionCache, KubernetesAuthorizer
from webhook.http.authorization.token_reviewer import TokenReviewer
from webhook.http.state import ServerState
from webhook.workload_store import UNWATCHED_KINDS

#: The release that the cluster says it is.
VERSION = "1.33.1"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a picture of the cluster, a pod that fits it, and one that does not."""
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": UNEVEN}))
    for name, skew in (("fits", 3), ("nowhere", 1), ("broken", 0)):
        pod = a_pod(spec={"topologySpreadConstraints": [a_constraint(maxSkew=skew)]})
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(pod))
    (tmp_path / "beside.yaml").write_text(yaml.safe_dump_all([SERVICE, a_pod()]))
    return tmp_path


@pytest.fixture
def plane(state: ServerState, folder: Path) -> Iterator[ControlPlane]:
    """The cluster, with an Evenkeel that asks who calls."""
    with a_control_plane() as plane:
        guard = KubernetesAuthorizer(
            TokenReviewer(plane.api(folder)), DecisionCache(), places=4, count=lambda _result: None
        )
        context = AdmissionContext(
            policies=(), cluster=an_index(UNEVEN), kubernetes_version=KubernetesVersion.parse(VERSION)
        )
        plane.app = a_client(replace(state, access=guard, current=CurrentContext(context)))
        plane.objects = [{**obj} for obj in UNEVEN]
        plane.version = f"v{VERSION}"
        plane.rights.add((CLIENT, "create", "placements.evenkeel.dev"))
        yield plane


@pytest.fixture
def commands(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    """Runs commands in the folder."""
    return Commands(folder, monkeypatch, capsysbinary)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["explain", "-f", "nowhere.yaml"], 1, id="explain: it fits nowhere"),
        pytest.param(["explain", "-f", "fits.yaml", "-o", "scores"], 0, id="explain: scores"),
    ],
)
@pytest.mark.parametrize("way", ["asked", "read"])
def test_the_same_as_from_a_file(
    plane: ControlPlane, commands: Commands, arguments: list[str], code: int, way: str
) -> None:
    """Evenkeel in the cluster says what the command says of a picture; without it the cluster is read."""
    installed = way == "asked"
    plane.app = plane.app if installed else None
    live = commands.run(*arguments, "--live")
    picture = commands.run(
        *arguments, "-n", "shop", "--cluster", "cluster.json", "--kubernetes-version", VERSION
    )

    assert (code, picture.stdout) == (live.code, live.stdout), live.stderr
    assert installed == (b"" == live.stderr)
    route = "score" if "scores" in arguments else arguments[0]
    assert installed == (f"/v1/{route}" in "".join(plane.paths()))
    assert installed or b"not installed" in live.stderr


def test_what_must_know_every_pod(plane: ControlPlane, folder: Path, commands: Commands) -> None:
    """The cluster is read then, although Evenkeel could be asked: it knows no objects of pods."""
    (folder / "replicas.yaml").write_text(yaml.safe_dump(a_workload()))
    arguments = ["what-if", "-f", "replicas.yaml", "--drain", "n1", "-o", "json"]
    live = commands.run(*arguments, "--live")
    picture = commands.run(
        *arguments, "-n", "shop", "--cluster", "cluster.json", "--kubernetes-version", VERSION
    )
    there, here = (json.loads(each.stdout) for each in (live, picture))

    assert (here["steps"], here["nodes"]) == (there["steps"], there["nodes"])
    # The file has no budgets, which a drain asks for.
    assert ("not-read", "one-domain") == (here["verdict"]["cause"], there["verdict"]["cause"])
    assert set(here["scenario"]["cluster"]["unread"]) > set(there["scenario"]["cluster"]["unread"])
    assert "/proxy/" not in "".join(plane.paths())


@pytest.mark.parametrize("way", ["asked", "read"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "Pod other/", id="its own, though the context has another"),
        pytest.param(["-n", "shop"], 'is "other", but --namespace says "shop"', id="two are given"),
    ],
)
def test_namespace_of_the_object(
    plane: ControlPlane, commands: Commands, way: str, arguments: list[str], told: str
) -> None:
    """Only a namespace that the user typed can contradict it, not that of the context."""
    plane.app = plane.app if way == "asked" else None
    pod = yaml.safe_dump(a_pod(namespace="other"))
    done = commands.run("explain", "-f", "-", "--live", *arguments, stdin=pod.encode())

    assert told in (done.stdout + done.stderr).decode()


def test_standard_input_is_read_once(plane: ControlPlane, folder: Path, commands: Commands) -> None:
    """The object on standard input is still there when the cluster has to be read after all."""
    plane.app = None
    done = commands.run("explain", "-f", "-", "--live", stdin=(folder / "nowhere.yaml").read_bytes())

    assert (1, 1) == (done.code, done.stdout.count(b"What would make it fit"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["-f", "broken.yaml"], 2, id="2: the line of a mistake"),
        pytest.param(["-f", "fits.yaml", "--cluster", "x"], 2, id="2: a file, too"),
        pytest.param(["-f", "fits.yaml", "--context", "gone"], 3, id="3: no context"),
        pytest.param(["-f", "beside.yaml"], 0, id="0: a Service beside"),
        pytest.param(["-f", "fits.yaml", "--policy", "builtin:default"], 0, id="0: a policy"),
    ],
)
@pytest.mark.usefixtures("plane")
def test_messages(
    folder: Path, commands: Commands, arguments: list[str], code: int, wording: Callable[[str], str]
) -> None:
    """A mistake ends with its line; what differs from a picture is said."""
    done = commands.run("explain", "--live", *arguments)
    told = done.stderr.decode().replace(str(folder), "FOLDER")

    assert code == done.code, done.stderr
    assert wording(told) == told


@pytest.mark.parametrize("way", ["asked", "read"])
@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        pytest.param(["explain", "deploy/web"], 1, "Deployment.apps shop/web fits none", id="explain"),
        pytest.param(["explain", "deploy", "web", "-o", "scores"], 1, "RAW", id="scores"),
        pytest.param(["explain", "pod/n1-0"], 0, "as if it were scheduled again", id="a pod that runs"),
        pytest.param(
            ["explain", "deploy/web", "--diff", "1"], 0, "kubectl patch deployment.apps/web", id="patch"
        ),
        pytest.param(["explain", "rollout/web"], 1, "Rollout.argoproj.io shop/web", id="a custom resource"),
        pytest.param(
            ["explain", "deploy/gone"], 3, "cannot read deployment/gone in namespace shop", id="3: gone"
        ),
        pytest.param(
            ["explain", "clone/web"], 3, "cannot find CloneSet.apps.kruise.io", id="3: no such kind"
        ),
        pytest.param(["explain", "foo/web"], 2, "Unsupported value", id="2: no kind"),
    ],
)
def test_objects_of_the_cluster(
    plane: ControlPlane, commands: Commands, *, way: str, arguments: list[str], code: int, told: str
) -> None:
    """Without --cluster an object is one of the live cluster, of the context's namespace."""
    plane.app = plane.app if way == "asked" else None
    spec = {"topologySpreadConstraints": [a_constraint()]}
    namespaced = "/namespaces/shop/"
    plane.gets = {
        f"/apis/apps/v1{namespaced}deployments/web": a_workload(
            name="web", namespace="shop", spec=spec, uid="u1"
        ),
        f"/api/v1{namespaced}pods/n1-0": next(obj for obj in UNEVEN if obj["metadata"]["name"] == "n1-0"),
        "/apis/argoproj.io": {"preferredVersion": {"groupVersion": "argoproj.io/v1alpha1"}},
        "/apis/argoproj.io/v1alpha1": {"resources": [{"name": "rollouts", "kind": "Rollout"}]},
        f"/apis/argoproj.io/v1alpha1{namespaced}rollouts/web": a_workload(
            "Rollout", "argoproj.io", name="web", namespace="shop", spec=spec, uid="u2"
        ),
    }
    done = commands.run(*arguments)

    assert code == done.code, done.stderr
    assert told in (done.stdout + done.stderr).decode()


def test_forbidden(plane: ControlPlane, commands: Commands) -> None:
    """Who may not ask Evenkeel gets no answer from the cluster either, and is told what is lacking."""
    plane.forbidden.add("/api/v1/namespaces/evenkeel/serviceaccounts/evenkeel-client/token")
    done = commands.run("explain", "-f", "fits.yaml", "--live")

    assert (3, b"") == (done.code, done.stdout)
    assert b"serviceaccounts/token" in done.stderr


def test_requests_line_by_line(plane: ControlPlane, folder: Path, commands: Commands) -> None:
    """Requests without a cluster are about the live one, read once."""
    line = json.dumps({"pod": yaml.safe_load((folder / "fits.yaml").read_text())}).encode() + b"\n"
    done = commands.run("score", "--jsonl", "--live", stdin=line * 2)

    assert 0 == done.code, done.stderr
    assert [2, 2] == [json.loads(answer)["feasibleNodes"] for answer in done.stdout.splitlines()]
    assert 1 == len([path for path in plane.paths() if path.startswith("/api/v1/pods?")])


def test_budgets_that_are_not_read(plane: ControlPlane, commands: Commands) -> None:
    """A plan that respects no PodDisruptionBudget says why."""
    for scope in ("", "namespaces/shop/"):
        plane.forbidden.add(f"/apis/policy/v1/{scope}poddisruptionbudgets")

    spec = {"topologySpreadConstraints": [a_constraint()]}
    plane.gets["/apis/apps/v1/namespaces/shop/deployments/web"] = a_workload(
        name="web", namespace="shop", spec=spec
    )
    answer = json.loads(commands.run("audit", "deploy/web", "--evictions", "-o", "json").stdout)

    assert ({}, 1) == (answer["budgets"], len(answer["notes"]))
    assert "PodDisruptionBudgets are left out" in answer["notes"][0]


@pytest.mark.parametrize("arguments", [["audit"]])
def test_workloads_that_are_not_read(plane: ControlPlane, commands: Commands, arguments: list[str]) -> None:
    """Commands that look at every workload say which kinds they do not look at."""
    plane.objects = [*plane.objects, a_workload("StatefulSet")]

    answer = json.loads(commands.run(*arguments, "--live", "-o", "json").stdout)

    assert UNWATCHED_KINDS in answer["notes"]
