"""Objects that are named as kubectl names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policies.manifests.errors import DocumentError, UsageError
from policies.model.workload_kinds import WorkloadKinds, parse_workload_kind
from tests.builders import a_pod, a_workload
from webhook.cli.targets import SHORT_NAMES, Finder, parse_target

KINDS = WorkloadKinds([parse_workload_kind("acme.io/Widget=spec.template")])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["deploy/web"], ("Deployment.apps", "web")),
        (["deployment", "web"], ("Deployment.apps", "web")),
        (["Deployments.apps/web"], ("Deployment.apps", "web")),
        (["po/web-1"], ("Pod", "web-1")),
        (["pods/web-1"], ("Pod", "web-1")),
        (["sts/db"], ("StatefulSet.apps", "db")),
        (["statefulset.apps.kruise.io/db"], ("StatefulSet.apps.kruise.io", "db")),
        (["cj/night"], ("CronJob.batch", "night")),
        (["jobs/once"], ("Job.batch", "once")),
        (["rollout/web"], ("Rollout.argoproj.io", "web")),
        (["ksvc/web"], ("Service.serving.knative.dev", "web")),
        (["widget/x"], ("Widget.acme.io", "x")),
    ],
    ids=lambda value: "/".join(value) if isinstance(value, list) else "",
)
def test_kinds_by_any_name(words: list[str], expected: tuple[str, str]) -> None:
    """Short names, plurals and groups are kubectl's, in any case."""
    target = parse_target(tuple(words), KINDS)

    assert target is not None
    assert expected == (target.kind.name, target.name)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["deploy"], "KIND/NAME: Invalid value"),
        (["deploy/"], "KIND/NAME: Invalid value"),
        (["deploy/a/b"], "KIND/NAME: Invalid value"),
        (["deploy", "a", "b"], "KIND/NAME: Invalid value"),
        (["node/n1"], 'KIND/NAME: Unsupported value: "node": supported kinds: po, '),
        (["/web"], "KIND/NAME: Unsupported value"),
    ],
    ids=str,
)
def test_what_names_no_object(words: list[str], told: str) -> None:
    """A mistake is told with what would be right."""
    with pytest.raises(UsageError) as error:
        parse_target(tuple(words), KINDS)

    assert told in str(error.value)


@pytest.mark.parametrize("line", [["web.yaml"], ["deploy/web.yaml"], ["deploy", "web.yaml"]], ids=str)
def test_a_file_is_none(line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an argument of lint, and of these commands an option, which the error names."""
    monkeypatch.chdir(tmp_path)
    Path("deploy").mkdir()
    for file in ("web.yaml", "deploy/web.yaml"):
        Path(file).touch()
    with pytest.raises(UsageError) as error:
        parse_target(tuple(line), KINDS)

    assert str(error.value).endswith(f"is a file: give it with -f {line[-1]}")


def test_short_names_are_of_known_kinds() -> None:
    """None is of a kind that is not looked at, and no two are alike."""
    known = {(kind.group, kind.kind) for kind in KINDS.values()}

    assert known >= SHORT_NAMES.keys()
    assert len(SHORT_NAMES) == len(set(SHORT_NAMES.values()))


def _found(word: str, *objects: dict[str, Any], namespace: str = "shop") -> dict[str, Any]:
    target = parse_target((word,), KINDS)
    assert target is not None
    finder = Finder(target, namespace)
    for obj in objects:
        finder(obj)
    return finder.entry("cluster.json").value


def test_an_object_of_a_snapshot() -> None:
    """It is found by group, kind, namespace and name; without a namespace it is in default."""
    web, other = a_workload(name="web", namespace="shop"), a_workload(name="web", namespace="other")
    nowhere = a_workload(name="web", namespace="")

    assert web == _found("deploy/web", other, web, a_pod(name="web"))
    assert nowhere == _found("deploy/web", web, nowhere, namespace="default")


def test_a_deployment_that_only_its_replica_sets_show() -> None:
    """It is made from the largest in that namespace; the Deployment itself is better."""

    def replica_set(name: str, replicas: int, owner: str = "web", namespace: str = "shop") -> dict[str, Any]:
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "controller": True}
        made = a_workload("ReplicaSet", name=name, namespace=namespace, ownerReferences=[reference])
        made["spec"]["replicas"] = replicas
        return made

    old, new = replica_set("web-1", 0), replica_set("web-2", 3)
    others = replica_set("api-1", 9, "api"), replica_set("web-1", 9, namespace="other")
    deployment = a_workload(name="web", namespace="shop")

    made = _found("deploy/web", old, new, *others)
    assert ("Deployment", "web", "shop") == (
        made["kind"],
        made["metadata"]["name"],
        made["metadata"]["namespace"],
    )
    assert (3, new["spec"]["template"]) == (made["spec"]["replicas"], made["spec"]["template"])
    assert deployment == _found("deploy/web", new, deployment)


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        pytest.param(
            [a_workload(name="api", namespace="shop")],
            'no Deployment "web" in namespace shop; it holds shop/api; --namespace',
            id="others",
        ),
        pytest.param([a_workload(name="web", namespace="x")], "it holds x/web", id="another namespace"),
        pytest.param(
            [a_pod()],
            "add them with kubectl get nodes,pods,services,rc,rs,sts,ns,deploy -A",
            id="no such kind",
        ),
        pytest.param([{"kind": "Deployment", "apiVersion": 7, "metadata": []}], "add them", id="rubbish"),
    ],
)
def test_an_object_that_is_not_there(objects: list[dict[str, Any]], told: str) -> None:
    """The error names the objects that the file has instead, or the kubectl command that gets it."""
    with pytest.raises(DocumentError) as error:
        _found("deploy/web", *objects)

    assert told in error.value.problems[0]
