"""The messages to a person who applies objects with kubectl."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import Installation
from tests.e2e.kubectl import Kubectl, Manifest
from tests.e2e.objects import HOSTNAME_KEY, ZONE_KEY, constraint, deployment, namespace, pod, service
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("installed")

#: The fields of the injected constraint, without its selectors.
INJECTED = {"maxSkew": 1, "topologyKey": ZONE_KEY, "whenUnsatisfiable": "ScheduleAnyway"}
#: A constraint that counts no pod, not even its own: the API server takes it.
WITHOUT_SELECTOR = constraint(labelSelector=None)
#: One that holds each revision to pods of its own name: the API server takes it.
PINNED = constraint(
    topologyKey=HOSTNAME_KEY, labelSelector={"matchLabels": {"app": "web", "pod-template-hash": "5d4f8c7b9"}}
)
#: One whose selector selects another application.
ELSEWHERE = constraint(labelSelector={"matchLabels": {"app": "api"}}, whenUnsatisfiable="ScheduleAnyway")

ROLLOUTS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "rollouts.argoproj.io"},
    "spec": {
        "group": "argoproj.io",
        "scope": "Namespaced",
        "names": {"kind": "Rollout", "plural": "rollouts", "singular": "rollout", "listKind": "RolloutList"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


def _constraints(obj: Manifest) -> list[Manifest]:
    spec = obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]
    return list(spec.get("topologySpreadConstraints", []))


def _without_selectors(obj: Manifest) -> list[Manifest]:
    return [
        {name: value for name, value in entry.items() if name not in {"labelSelector", "matchLabelKeys"}}
        for entry in _constraints(obj)
    ]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("create", "-f", "-"), id="create"),
        pytest.param(("apply", "-f", "-"), id="apply"),
        pytest.param(("apply", "--server-side", "-f", "-"), id="server-side-apply"),
        pytest.param(("apply", "--server-side", "--force-conflicts", "-f", "-"), id="forced"),
    ],
)
def test_plain_deployment_is_injected(kubectl: Kubectl, space: str, command: tuple[str, ...]) -> None:
    """Whichever way a Deployment is made, the defaults of the policy are in its template, once."""
    kubectl.do(*command, stdin=deployment())
    made = kubectl.get("deployment", "web")

    assert [INJECTED] == _without_selectors(made)
    assert {"matchLabels": {"app": "web"}} == _constraints(made)[0]["labelSelector"]
    assert "e2e" == made["metadata"]["annotations"]["evenkeel.dev/injected-by"]


@pytest.mark.parametrize("way", ["apply", "server-side-apply"])
def test_applying_again_changes_nothing(kubectl: Kubectl, space: str, way: str) -> None:
    """Injected fields are no difference to the manifest, and applying it again starts no rollout."""
    command = ["apply", "-f", "-"] + (["--server-side"] if way == "server-side-apply" else [])
    kubectl.do(*command, stdin=deployment())
    first = kubectl.get("deployment", "web")
    kubectl.do(*command, stdin=deployment())
    diff = kubectl("diff", *command[1:], stdin=deployment())
    second = kubectl.get("deployment", "web")

    assert (0, "") == (diff.code, diff.out)
    assert first["metadata"]["generation"] == second["metadata"]["generation"]
    assert [INJECTED] == _without_selectors(second)


def test_own_constraints_stay_as_they_are(kubectl: Kubectl, space: str) -> None:
    """A workload that says how it spreads is stored as it was written, without a word."""
    told = kubectl("apply", "-f", "-", stdin=deployment(constraints=[constraint()]))

    assert (0, []) == (told.code, told.warnings)
    assert [constraint()] == _constraints(kubectl.get("deployment", "web"))


def test_dry_run_shows_what_would_be_stored(kubectl: Kubectl, space: str) -> None:
    """A server-side dry run prints the injected defaults and stores nothing."""
    shown = json.loads(kubectl.do("apply", "--dry-run=server", "-f", "-", "-o", "json", stdin=deployment()))

    assert [INJECTED] == _without_selectors(shown)
    assert 0 != kubectl("get", "deployment", "web").code


@pytest.mark.parametrize("scheduler", ["default-scheduler", "other"])
def test_denial_tells_all_errors(kubectl: Kubectl, space: str, scheduler: str) -> None:
    """Who applies what cannot work sees every error with its path, whoever schedules it; none is stored."""
    obj = deployment(constraints=[WITHOUT_SELECTOR, PINNED])
    obj["spec"]["template"]["spec"]["schedulerName"] = scheduler
    told = kubectl("apply", "-f", "-", stdin=obj)
    first, *others = [line for line in told.err.splitlines() if not line.startswith("Warning: ")]
    path = "spec.template.spec.topologySpreadConstraints"

    assert 1 == told.code
    assert first.startswith(
        'Error from server (Forbidden): error when creating "STDIN": '
        'admission webhook "validate.evenkeel.dev" denied the request: '
    )
    text = "\n".join([first, *others])
    assert f"{path}[0].labelSelector" in text
    assert f"{path}[1].labelSelector" in text
    assert 0 != kubectl("get", "deployment", "web").code


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("create", "-f", "-"), id="create"),
        pytest.param(("apply", "--server-side", "-f", "-"), id="server-side-apply"),
        pytest.param(("apply", "--dry-run=server", "-f", "-"), id="dry-run"),
    ],
)
def test_denied(kubectl: Kubectl, space: str, command: tuple[str, ...]) -> None:
    """A Deployment that cannot work is refused whichever way it comes."""
    told = kubectl(*command, stdin=deployment(constraints=[WITHOUT_SELECTOR]))

    assert 1 == told.code
    assert 'admission webhook "validate.evenkeel.dev" denied the request' in told.err


@pytest.mark.parametrize("kind", ["strategic", "merge", "json"])
def test_patch_is_held_to_the_rules(kubectl: Kubectl, space: str, kind: str) -> None:
    """A patch that breaks a workload is refused, one that does not is applied."""
    kubectl.do("apply", "-f", "-", stdin=deployment(constraints=[constraint()]))
    path, bad, good = (
        "/spec/template/spec/topologySpreadConstraints",
        [WITHOUT_SELECTOR],
        [constraint(maxSkew=2)],
    )

    def patch(entries: list[Manifest]) -> str:
        if kind == "json":
            return json.dumps([{"op": "replace", "path": path, "value": entries}])
        # The strategic merge goes by topologyKey, and null takes a field away.
        entries = [{"labelSelector": None, **entry} for entry in entries]
        return json.dumps({"spec": {"template": {"spec": {"topologySpreadConstraints": entries}}}})

    refused = kubectl("patch", "deployment", "web", "--type", kind, "-p", patch(bad))
    accepted = kubectl("patch", "deployment", "web", "--type", kind, "-p", patch(good))

    assert (1, 0) == (refused.code, accepted.code)
    assert "denied the request" in refused.err
    assert [constraint(maxSkew=2)] == _constraints(kubectl.get("deployment", "web"))


def test_what_was_stored_before_can_still_be_changed(
    kubectl: Kubectl, space: str, installed: Installation
) -> None:
    """An edit elsewhere passes, though the stored workload breaks a rule: it is no new mistake."""
    with installed.unregistered():
        kubectl.do("apply", "-f", "-", stdin=deployment(constraints=[WITHOUT_SELECTOR]))

    image = kubectl("set", "image", "deployment/web", "main=registry.example/web:2")
    label = kubectl("label", "deployment", "web", "team=shop")

    assert (0, 0) == (image.code, label.code), image.err + label.err


def test_scale(kubectl: Kubectl, space: str) -> None:
    """Scaling asks no webhook about the template, and changes the replicas alone."""
    kubectl.do("apply", "-f", "-", stdin=deployment())
    before = kubectl.get("deployment", "web")["spec"]
    kubectl.do("scale", "deployment", "web", "--replicas=3")
    after = kubectl.get("deployment", "web")["spec"]

    assert {**before, "replicas": 3} == after


@pytest.mark.parametrize(
    ("obj", "about"),
    [
        pytest.param(deployment(constraints=[ELSEWHERE]), "labelSelector", id="selector-misses-own-pod"),
        pytest.param(
            deployment(constraints=[constraint(topologyKey="example.com/rack")]),
            "example.com/rack",
            id="topology-key-on-no-node",
        ),
    ],
)
@pytest.mark.parametrize("dry_run", ["none", "server"])
def test_warned(kubectl: Kubectl, space: str, obj: Manifest, about: str, dry_run: str) -> None:
    """Possible mistakes are admitted, with at most three short warnings."""
    told = kubectl("apply", "-f", "-", f"--dry-run={dry_run}", stdin=obj)

    assert 0 == told.code, told.err
    assert 1 <= len(told.warnings) <= 3
    assert all(len(line) <= len("Warning: ") + 256 for line in told.warnings), told.err
    assert any(about in line for line in told.warnings)


def test_pod_that_would_pend_is_foretold(kubectl: Kubectl, space: str) -> None:
    """Who applies a workload whose next pod fits on no node reads so, with the numbers of the nodes."""
    obj = deployment(constraints=[constraint()])
    obj["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/gpu": "true"}
    told = kubectl("apply", "-f", "-", stdin=obj)

    assert 0 == told.code
    assert any("0 of 4 nodes" in line for line in told.warnings), told.err


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"maxSkew": 0}, "must be greater than zero", id="maxSkew 0"),
        pytest.param({"whenUnsatisfiable": "Never"}, "Never", id="whenUnsatisfiable Never"),
        pytest.param({"topologyKey": ""}, "topologyKey", id="topologyKey empty"),
    ],
)
def test_invalid_fields_stay_the_business_of_the_api_server(
    kubectl: Kubectl, space: str, fields: dict[str, object], message: str
) -> None:
    """A field that the API server itself refuses is told in its own words."""
    told = kubectl("apply", "-f", "-", stdin=deployment(constraints=[constraint(**fields)]))

    assert 1 == told.code
    assert 'The Deployment "web" is invalid' in told.err
    assert message in told.err


def test_invalid_fields_of_a_custom_resource(kubectl: Kubectl, space: str) -> None:
    """Nobody else looks into the pod template of a custom resource: every error is told, with its path."""
    kubectl.do("apply", "-f", "-", stdin=ROLLOUTS)
    kubectl.do("wait", "--for=condition=Established", "crd/rollouts.argoproj.io", "--timeout=60s")
    rollout = deployment(constraints=[constraint(maxSkew=0), constraint(whenUnsatisfiable="Never")])
    rollout |= {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    told = eventually(lambda: _answered(kubectl("create", "-f", "-", stdin=rollout)))
    path = "spec.template.spec.topologySpreadConstraints"

    assert 'admission webhook "validate.evenkeel.dev" denied the request' in told.err
    assert f"{path}[0].maxSkew" in told.err
    assert f"{path}[1].whenUnsatisfiable" in told.err


def _answered(told: object) -> object:
    """Return the output once the API server knows the new kind."""
    return None if "no matches for kind" in str(told) or "could not find" in str(told) else told


def test_exempt_workload(kubectl: Kubectl, space: str) -> None:
    """An annotation keeps the defaults out, but lets nobody pass what is refused."""
    ignored = deployment("ignored", constraints=[WITHOUT_SELECTOR])
    ignored["metadata"]["annotations"] = {"evenkeel.dev/ignore": "selector-missing: the chart is not ours"}
    plain = deployment("plain", annotations={"evenkeel.dev/inject": "false"})
    told = kubectl("apply", "-f", "-", stdin=[ignored, plain])

    assert 1 == told.code
    assert f"Deployment.apps {space}/ignored breaks 1 rule:" in told.err
    assert "evenkeel.dev/ignore: selector-missing has no effect" in told.err
    assert [] == _constraints(kubectl.get("deployment", "plain"))


def test_exempt_namespace(kubectl: Kubectl, space: str) -> None:
    """In a namespace with the annotation nothing is injected, as soon as it is known."""
    kubectl.do("apply", "-f", "-", stdin=service("web", app="web"))
    kubectl.do("apply", "-f", "-", stdin=namespace(space, {"evenkeel.dev/inject": "false"}))
    dry_run = ("create", "--dry-run=server", "-o", "json", "-f", "-")

    def left_alone(obj: Manifest) -> bool:
        return _constraints(json.loads(kubectl.do(*dry_run, stdin=obj))) == []

    assert eventually(lambda: left_alone(deployment()))
    assert eventually(lambda: left_alone(pod("web")))


@pytest.mark.parametrize("opted_out", ["", "ReplicaSet", "Namespace"])
def test_first_pods_of_new_workloads(kubectl: Kubectl, space: str, opted_out: str) -> None:
    """Pods that are made in the same moment as their ReplicaSet and namespace get what is for them."""
    fresh = f"{space}-new"
    notes = {kind: {"evenkeel.dev/inject": "false"} if kind == opted_out else {} for kind in _MADE_TOGETHER}
    made: list[Manifest] = [namespace(fresh, notes["Namespace"]), service("web", app="web")]
    for number in range(20):
        owner, owned = _first_pod(f"web-{number}", notes["ReplicaSet"])
        made += [owner, owned]
    for obj in made[1:]:
        obj["metadata"]["namespace"] = fresh
    kubectl.do("create", "-f", "-", stdin=made)
    # A controller may make another for each, and remove ours, whose owner has another uid.
    pods = kubectl.get("pods", "-n", fresh)["items"]
    expected = [] if opted_out else [INJECTED]

    assert 20 == len({obj["metadata"]["labels"]["set"] for obj in pods})
    assert [expected] * len(pods) == [_without_selectors(obj) for obj in pods]
    assert opted_out or {obj["metadata"]["labels"]["set"] for obj in pods} == {
        _constraints(obj)[0]["labelSelector"]["matchLabels"]["set"] for obj in pods
    }


#: The kinds that may be annotated when a pod is made in the same moment.
_MADE_TOGETHER = ("Namespace", "ReplicaSet")


def _first_pod(name: str, annotations: dict[str, str]) -> tuple[Manifest, Manifest]:
    """Return a ReplicaSet and its first pod, as a controller makes them."""
    labels = {"app": "web", "set": name}
    spec = pod("")["spec"]
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }, {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [reference]},
        "spec": spec,
    }


def test_kube_system_is_left_alone(kubectl: Kubectl) -> None:
    """Workloads of the cluster itself are neither injected into, nor rejected, nor warned about."""
    in_system = ("-n", "kube-system", "--dry-run=server", "-o", "json", "-f", "-")
    plain = kubectl("apply", *in_system, stdin=deployment())
    broken = kubectl("apply", *in_system, stdin=deployment(constraints=[WITHOUT_SELECTOR]))
    ours = [line for line in plain.warnings + broken.warnings if "null labelSelector" not in line]

    assert ([], 0) == (_constraints(json.loads(plain.out)), broken.code)
    assert [] == ours


def test_pods_of_a_service_are_injected(kubectl: Kubectl, space: str) -> None:
    """A pod that a Service selects gets the defaults with that Service's selector; another one nothing."""
    kubectl.do("apply", "-f", "-", stdin=service("web", app="web"))
    dry_run = ("create", "--dry-run=server", "-o", "json", "-f", "-")
    made = eventually(
        lambda: _constraints(json.loads(kubectl.do(*dry_run, stdin=pod("web")))),
        what=lambda: "the Service is not known",
    )
    other = _constraints(json.loads(kubectl.do(*dry_run, stdin=pod("api", app="api"))))

    assert [INJECTED | {"labelSelector": {"matchLabels": {"app": "web"}}}] == made
    assert [] == other


def test_pods_of_a_deployment(kubectl: Kubectl, space: str, control_plane: ControlPlane) -> None:
    """Pods have the constraints of their ReplicaSet, which are those of the Deployment: no second rollout."""
    kubectl.do("apply", "-f", "-", stdin=service("web", app="web"))
    kubectl.do("apply", "-f", "-", stdin=deployment(replicas=3))
    if not control_plane.has_controllers:
        _make_replica_set(kubectl, pods=3)
    pods = eventually(_whole(kubectl, "pods", count=3))
    sets = kubectl.get("replicasets")["items"]

    assert [[INJECTED]] == [_without_selectors(made) for made in sets]
    assert [[INJECTED]] * 3 == [_without_selectors(made) for made in pods]


def _make_replica_set(kubectl: Kubectl, *, pods: int) -> None:
    """Do by hand what the controllers do for a Deployment."""

    def owned(kind: str, by: Manifest, spec: Manifest, labels: dict[str, str], name: str) -> Manifest:
        owner = {field: by[field] for field in ("apiVersion", "kind")}
        owner |= {"name": by["metadata"]["name"], "uid": by["metadata"]["uid"], "controller": True}
        metadata = {"name": name, "labels": labels, "ownerReferences": [owner]}
        version = "v1" if kind == "Pod" else "apps/v1"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    made = kubectl.get("deployment", "web")
    labels = {"app": "web", "pod-template-hash": "5d4f8c7b9"}
    template = {**made["spec"]["template"], "metadata": {"labels": labels}}
    spec = {"replicas": pods, "selector": {"matchLabels": labels}, "template": template}
    kubectl.do("create", "-f", "-", stdin=owned("ReplicaSet", made, spec, labels, "web-1"))
    owner = kubectl.get("replicaset", "web-1")
    kubectl.do(
        "create",
        "-f",
        "-",
        stdin=[owned("Pod", owner, template["spec"], labels, f"web-1-{number}") for number in range(pods)],
    )


def _whole(kubectl: Kubectl, kind: str, *, count: int) -> Callable[[], list[Manifest] | None]:
    """Return a condition: the objects of a kind, once there are as many."""

    def found() -> list[Manifest] | None:
        items: list[Manifest] = kubectl.get(kind)["items"]
        return items if len(items) == count else None

    return found


@pytest.mark.kubernetes(since="1.27")
def test_key_that_is_merged_into_its_own_selector(kubectl: Kubectl, space: str) -> None:
    """The Deployment whose pods the API server would refuse one by one is refused itself."""
    told = kubectl("apply", "-f", "-", stdin=deployment(constraints=[constraint(matchLabelKeys=["app"])]))

    assert 1 == told.code
    assert "spec.template.spec.topologySpreadConstraints[0].matchLabelKeys[0]" in told.err


@pytest.mark.kubernetes(since="1.34")
def test_merged_key(kubectl: Kubectl, space: str) -> None:
    """Requirements that the API server itself adds to a pod's selector are no mistake of the pod."""
    made = pod("web", constraints=[constraint(matchLabelKeys=["release"])])
    made["metadata"]["labels"]["release"] = "r1"
    told = kubectl("apply", "-f", "-", stdin=made)
    selector = _constraints(kubectl.get("pod", "web"))[0]["labelSelector"]
    labeled = kubectl("label", "pod", "web", "team=shop")

    assert (0, []) == (told.code, told.warnings)
    assert [{"key": "release", "operator": "In", "values": ["r1"]}] == selector["matchExpressions"]
    assert 0 == labeled.code, labeled.err


@pytest.mark.kubernetes(since="1.27")
def test_injected_revision_key(kubectl: Kubectl, space: str) -> None:
    """A Deployment's injected constraint counts the pods of one revision."""
    kubectl.do("apply", "-f", "-", stdin=deployment())

    assert ["pod-template-hash"] == _constraints(kubectl.get("deployment", "web"))[0]["matchLabelKeys"]


@pytest.mark.parametrize(
    ("user", "owner", "admitted"),
    [
        pytest.param("ci:deployer", ("argoproj.io/v1alpha1", "Rollout"), False, id="a pipeline"),
        pytest.param("ci:deployer", ("apps/v1", "ReplicaSet"), False, id="a pipeline and a ReplicaSet"),
        pytest.param(
            "argo-rollouts:argo-rollouts", ("argoproj.io/v1alpha1", "Rollout"), True, id="Argo Rollouts"
        ),
        pytest.param(
            "argo-rollouts:argo-rollouts", ("apps/v1", "ReplicaSet"), False, id="Argo Rollouts and others"
        ),
    ],
)
def test_who_is_believed_about_an_owner(
    kubectl: Kubectl, space: str, user: str, owner: tuple[str, str], *, admitted: bool
) -> None:
    """An owner that need not exist exempts nobody but the controller of its kind."""
    account = f"system:serviceaccount:{user}"
    kubectl.do("create", "role", "sender", "--verb=create", "--resource=pods")
    kubectl.do("create", "rolebinding", "sender", "--role=sender", f"--user={account}")
    reference = {"apiVersion": owner[0], "kind": owner[1], "name": "web", "uid": "1", "controller": True}
    made = pod("web-0", constraints=[WITHOUT_SELECTOR])
    made["metadata"]["ownerReferences"] = [reference]
    told = eventually(
        lambda: (
            told
            if "is forbidden: User"
            not in (told := kubectl(f"--as={account}", "create", "-f", "-", stdin=made)).err
            else None
        )
    )

    assert admitted == (told.code == 0), told.err
    assert admitted == (f"{account} is not a trusted controller" not in told.err)
