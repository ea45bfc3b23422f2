"""The object of a file that score and explain mean, and the errors before it is scheduled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from policies.manifests.errors import DocumentError, UsageError
from policies.pods import placement
from tests.builders import a_constraint, a_node, a_pod, a_workload
from webhook.cli.main import command as main
from webhook.cli.manifest import read_objects
from webhook.cli.placement import evaluate_object
from webhook.cli.placement_options import PlacementOptions

SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}},
}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
WEB, DATABASE = a_workload(), a_workload("StatefulSet", name="db")


def _evaluate(obj: Any, context: Any, _known: Any, /, *, namespace: str) -> placement.Placement:
    return placement.evaluate_manifest(obj, context, namespace=namespace)


@pytest.fixture
def place(tmp_path: Path) -> Any:
    """Return a function that places the object of a manifest in a cluster of one node."""

    def place(*documents: Any, **options: Any) -> Any:
        manifest, cluster = tmp_path / "web.yaml", tmp_path / "cluster.yaml"
        manifest.write_text(yaml.safe_dump_all(documents))
        cluster.write_text(yaml.safe_dump(a_node("n1", "a")))
        given = PlacementOptions(files=(str(manifest),), cluster=str(cluster), **options)
        return evaluate_object(given, _evaluate).found

    return place


@pytest.mark.parametrize(
    ("documents", "name", "kind"),
    [
        pytest.param([WEB], "", "Deployment", id="the only object"),
        pytest.param([SERVICE, CONFIG, WEB], "", "Deployment", id="the only one that makes pods"),
        pytest.param([{"kind": "List", "items": [SERVICE, DATABASE]}], "", "StatefulSet", id="in a List"),
        pytest.param([WEB, DATABASE], "StatefulSet/db", "StatefulSet", id="by kind and name"),
        pytest.param([WEB, DATABASE], "statefulset/db", "StatefulSet", id="in lower case"),
        pytest.param([WEB, DATABASE], "StatefulSet.apps/db", "StatefulSet", id="with its group"),
        pytest.param([WEB, DATABASE], "db", "StatefulSet", id="by name alone"),
    ],
)
def test_choice(place: Any, documents: list[Any], name: str, kind: str) -> None:
    """One object must be meant, alone or by name."""
    assert kind == place(*documents, name=name).workload.kind.kind


@pytest.mark.parametrize(
    ("documents", "name", "told"),
    [
        pytest.param([CONFIG], "", "ConfigMap/web (line 1)", id="nothing that makes pods"),
        pytest.param([], "", "holds no Kubernetes object", id="nothing at all"),
        pytest.param([WEB, DATABASE], "", "StatefulSet/db (line", id="two"),
        pytest.param([WEB, DATABASE], "Job/db", "Deployment/web (line 1)", id="none of the name"),
        pytest.param([WEB, a_workload(namespace="b")], "web", "KIND/NAME", id="two of the name"),
    ],
)
def test_no_choice(place: Any, documents: list[Any], name: str, told: str) -> None:
    """Otherwise the candidates are listed with their lines."""
    with pytest.raises(DocumentError, match=r"web\.yaml: holds") as caught:
        place(*documents, name=name)

    assert told in str(caught.value)


def test_a_list_with_what_is_no_object(place: Any) -> None:
    """Nothing of it is left out without a word."""
    with pytest.raises(DocumentError, match=r'web\.yaml:.*: items\[1\]: Invalid value: "text"'):
        place({"apiVersion": "v1", "kind": "List", "items": [WEB, "text"]})


def test_a_folder(tmp_path: Path) -> None:
    """Its own manifests are read, in their order; files of other kinds and folders in it are not."""
    for name in ("b.yaml", "a.yml", "c.txt", "d/e.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name[0]}}}}}\n")

    names = [entry.value["metadata"]["name"] for entry in read_objects((str(tmp_path),))]
    assert ["a", "b"] == names


@pytest.mark.parametrize(
    ("file", "told"), [("https://a.example/web.yaml", "no addresses"), ("folder", "Is a directory")]
)
def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, told: str) -> None:
    """Neither an address nor a folder without manifests is passed over."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(DocumentError, match=told):
        read_objects((file,))


def test_services_along(place: Any) -> None:
    """A Service in the same file is in the cluster by then, in the namespace that the pod goes to."""
    pod = a_pod(namespace="")
    origins = {
        "with": [result.applied.origin for result in place(SERVICE, pod, namespace="x").result.results],
        "without": [result.applied.origin for result in place(pod, namespace="x").result.results],
    }

    assert origins == {"with": ["scheduler-system"] * 2, "without": []}


def test_all_errors_with_their_lines(place: Any) -> None:
    """Errors of the object, and of those given with it, are reported together."""
    broken = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
    with pytest.raises(DocumentError) as caught:
        place({**SERVICE, "spec": {"selector": 3}}, broken)

    fields = [problem.split(": ")[1] for problem in caught.value.problems]
    assert fields == ["spec.selector", "spec.template.spec.topologySpreadConstraints[0].maxSkew"]
    assert all(problem.split(":")[1].isdecimal() for problem in caught.value.problems)


@pytest.mark.parametrize("command", [["explain"], ["what-if"], ["advise", "--one-a-node"]], ids=" ".join)
@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param("{replicas: -3}", "spec.replicas", id="fewer replicas than none"),
        pytest.param("{replicas: 99999999999999999999}", "spec.replicas", id="more than 32 bits"),
        pytest.param("null", "spec", id="null"),
        pytest.param("{}", "spec", id="nothing in it"),
    ],
)
def test_what_the_api_server_refuses_of_a_workload(
    tmp_path: Path, command: list[str], spec: str, field: str
) -> None:
    """Every command refuses a workload that the API server would refuse, with field and line."""
    manifest, cluster = tmp_path / "web.yaml", tmp_path / "cluster.yaml"
    manifest.write_text(f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {spec}\n")
    cluster.write_text(yaml.safe_dump(a_node("n1", "a")))
    done = CliRunner().invoke(main, [*command, "-f", str(manifest), "--cluster", str(cluster)])

    # Of an object that is refused what-if says who, and that is its answer.
    assert (1 if command == ["what-if"] else 2) == done.exit_code
    assert f"web.yaml:4: {field}: " in done.stderr


@pytest.mark.parametrize(
    ("pod", "namespace", "expected"),
    [
        pytest.param(a_pod(namespace=""), "", "default", id="none: default"),
        pytest.param(a_pod(namespace=""), "shop", "shop", id="the option's"),
        pytest.param(a_pod(namespace="shop"), "", "shop", id="its own"),
        pytest.param(a_pod(namespace="shop"), "shop", "shop", id="both the same"),
    ],
)
def test_namespace(place: Any, pod: dict[str, Any], namespace: str, expected: str) -> None:
    """The object's own namespace counts, then the option's, then default."""
    assert expected == place(pod, namespace=namespace).workload.namespace


def test_two_namespaces(place: Any) -> None:
    """Two that contradict each other are refused, as kubectl does."""
    with pytest.raises(DocumentError, match=r"metadata\.namespace"):
        place(a_pod(namespace="shop"), namespace="other")


@pytest.mark.parametrize("cluster", ["", "-"])
def test_usage(cluster: str) -> None:
    """A cluster must be given, and standard input is read once."""
    with pytest.raises(UsageError):
        evaluate_object(PlacementOptions(files=("-",), cluster=cluster), _evaluate)


_SCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"minReplicas": 4, "maxReplicas": 9, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
}


@pytest.mark.parametrize(
    ("scalers", "running", "expected"),
    [
        pytest.param([_SCALER], 6, 6, id="6-run"),
        pytest.param([_SCALER], 0, 4, id="4-at-least"),
        pytest.param([], 0, 1, id="1-by-default"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [["what-if"], ["explain"]],
    ids=" ".join,
)
def test_replicas_that_no_manifest_states(
    tmp_path: Path, command: list[str], scalers: list[Any], running: int, expected: int
) -> None:
    """All commands mean the same number of replicas, and say what says so."""
    web = a_workload()
    pods = [a_pod(name=f"web-{number}", spec={"nodeName": "n1"}) for number in range(running)]
    nodes = [a_node("n1", "a"), a_node("n2", "b")]
    (tmp_path / "web.yaml").write_text(yaml.safe_dump_all([web, *scalers]))
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, *pods]))
    arguments = [*command, "-f", str(tmp_path / "web.yaml"), "--cluster", str(tmp_path / "cluster.yaml")]
    answer = json.loads(CliRunner().invoke(main, [*arguments, "-o", "json"]).stdout)
    if command == ["what-if"]:
        assert expected == answer["workloads"][0]["wanted"]
        return
    origin = "cluster" if running else "autoscaler" if scalers else "default"
    found = answer["replicas"]
    assert (found["wanted"], found["wantedFrom"]["origin"]) == (expected, origin)
