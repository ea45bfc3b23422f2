"""Pod templates that are one and the same to a controller, and those that are not."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from policies.model.pod_template import LAST_APPLIED, RESTARTED_ANNOTATION, TemplateKey, template_key
from tests.recorded import recorded_reviews

#: A field below a field, a list or whatever else, often enough to be no pod template.
DEEP: Any = {}
for _ in range(2000):
    DEEP = {"a": DEEP}


def a_template(*, labels: Any = None, container: Any = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": "web", **(labels or {})}},
        "spec": {"containers": [{"name": "c", "image": "web:1", **(container or {})}], **spec},
    }


def with_volume(**source: Any) -> dict[str, Any]:
    return a_template(volumes=[{"name": "v", **source}])


PROBE = {"httpGet": {"port": 80}}
FULL_PROBE = {
    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            a_template(),
            a_template(
                restartPolicy="Always",
                dnsPolicy="ClusterFirst",
                schedulerName="default-scheduler",
                terminationGracePeriodSeconds=30,
                securityContext={},
            ),
            id="5 defaults of a pod",
        ),
        pytest.param(
            a_template(),
            a_template(
                container={
                    "imagePullPolicy": "IfNotPresent",
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "resources": {},
                }
            ),
            id="4 defaults of a container",
        ),
        pytest.param(
            a_template(container={"image": "h:5000/web"}),
            a_template(container={"image": "h:5000/web", "imagePullPolicy": "Always"}),
            id="an image without a tag is always pulled",
        ),
        pytest.param(
            a_template(container={"livenessProbe": PROBE}),
            a_template(container={"livenessProbe": FULL_PROBE}),
            id="6 defaults of a probe",
        ),
        pytest.param(
            a_template(container={"livenessProbe": {"grpc": {"port": 1}, "timeoutSeconds": 0}}),
            a_template(
                container={"livenessProbe": {"grpc": {"port": 1, "service": ""}, "timeoutSeconds": 1}}
            ),
            id="0 s is 1 s; a service without a name",
        ),
        pytest.param(
            a_template(container={"ports": [{"containerPort": 80}]}),
            a_template(container={"ports": [{"containerPort": 80, "protocol": "TCP", "hostPort": 0}]}),
            id="a port is TCP",
        ),
        pytest.param(
            a_template(hostNetwork=True, container={"ports": [{"containerPort": 80}]}),
            a_template(hostNetwork=True, container={"ports": [{"containerPort": 80, "hostPort": 80}]}),
            id="a port of the host's network",
        ),
        pytest.param(
            a_template(
                container={
                    "env": [
                        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                        {"name": "C"},
                    ]
                }
            ),
            a_template(
                container={
                    "env": [
                        {
                            "name": "A",
                            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                        },
                        {
                            "name": "B",
                            "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
                        },
                        {"name": "C", "value": ""},
                    ]
                }
            ),
            id="3 defaults of variables",
        ),
        pytest.param(
            a_template(container={"resources": {"requests": {"cpu": "1000m", "memory": "1Gi"}}}),
            a_template(container={"resources": {"requests": {"cpu": 1, "memory": "1024Mi"}, "limits": {}}}),
            id="1000m is 1, 1Gi is 1024Mi",
        ),
        pytest.param(
            a_template(container={"resources": {"limits": {"cpu": "100u"}}}),
            a_template(container={"resources": {"limits": {"cpu": "1m"}}}),
            id="100u is rounded up to 1m",
        ),
        pytest.param(with_volume(), with_volume(emptyDir={}), id="a volume is an emptyDir"),
        pytest.param(
            with_volume(emptyDir={"sizeLimit": "1Gi"}),
            with_volume(emptyDir={"sizeLimit": "1024Mi", "medium": ""}),
            id="1Gi of emptyDir",
        ),
        pytest.param(
            with_volume(configMap={"name": "x"}),
            with_volume(configMap={"name": "x", "defaultMode": 420}),
            id="files of mode 420",
        ),
        pytest.param(
            with_volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
            with_volume(
                projected={
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                }
            ),
            id="a token of 3600 s",
        ),
        pytest.param(
            with_volume(hostPath={"path": "/x"}),
            with_volume(hostPath={"path": "/x", "type": ""}),
            id="any path",
        ),
        pytest.param(
            with_volume(image={"reference": "x"}),
            with_volume(image={"reference": "x", "pullPolicy": "Always"}),
            id="an image as volume",
        ),
        pytest.param(
            a_template(serviceAccountName="x"),
            a_template(serviceAccountName="x", serviceAccount="x"),
            id="a service account under two names",
        ),
        pytest.param(a_template(), a_template(labels={"pod-template-hash": "5d9"}), id="the hash"),
        pytest.param(
            a_template(), a_template(labels={"rollouts-pod-template-hash": "5d9"}), id="the hash of a Rollout"
        ),
        pytest.param(
            a_template(),
            a_template(hostNetwork=False, nodeSelector={}, tolerations=[], hostname="", affinity=None),
            id="what Go leaves out",
        ),
        pytest.param(
            a_template(),
            a_template() | {"metadata": {"labels": {"app": "web"}, "creationTimestamp": None}},
            id="null",
        ),
        pytest.param({}, {"metadata": {"annotations": {}, "labels": {}}, "spec": {}}, id="nothing"),
    ],
)
def test_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Defaults that the API server fills in, or writes otherwise, make no other template, and stay."""
    before = deepcopy((one, other))

    assert template_key(one) == template_key(other)
    assert before == (one, other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(a_template(container={"image": "web:2"}), id="another image"),
        pytest.param(a_template(labels={"tier": ""}), id="an empty label more"),
        pytest.param(a_template(terminationGracePeriodSeconds=0), id="0 s of grace"),
        pytest.param(a_template(container={"securityContext": {"runAsUser": 0}}), id="user 0"),
        pytest.param(a_template(automountServiceAccountToken=False), id="no token"),
        pytest.param(a_template(container={"imagePullPolicy": "Always"}), id="another pull policy"),
        pytest.param(a_template(container={"restartPolicy": "Always"}), id="a restart policy of a container"),
        pytest.param(a_template(container={"args": [""]}), id="an empty argument"),
        pytest.param(a_template(container={"resources": {"requests": {"cpu": "0"}}}), id="a request of 0"),
        pytest.param(a_template(topologySpreadConstraints=[{"maxSkew": 1}]), id="a constraint"),
        pytest.param(a_template(tolerations=[{"key": "x"}]), id="a toleration"),
        pytest.param(with_volume(), id="a volume"),
        pytest.param({}, id="nothing"),
    ],
)
def test_unequal(other: dict[str, Any]) -> None:
    """Every change that starts a rollout makes another template."""
    assert template_key(a_template()) != template_key(other)


def test_an_empty_selector_is_not_none() -> None:
    """``labelSelector: {}`` selects all pods, none selects nothing."""
    selecting = a_template(topologySpreadConstraints=[{"topologyKey": "zone", "labelSelector": {}}])
    not_selecting = a_template(topologySpreadConstraints=[{"topologyKey": "zone"}])

    assert template_key(selecting) != template_key(not_selecting)


def test_order_counts() -> None:
    """Go compares lists by position, maps not."""
    one, other = (a_template(tolerations=[{"key": key} for key in keys]) for keys in ("ab", "ba"))

    assert template_key(one) != template_key(other)
    assert template_key(one) == template_key(dict(reversed(one.items())))


def test_a_restart() -> None:
    """A restart leaves the digest alone and is told beside it."""
    restarted = a_template()
    restarted["metadata"]["annotations"] = {RESTARTED_ANNOTATION: "2026-01-01T00:00:00Z"}

    assert template_key(a_template())._replace(restarted_at="2026-01-01T00:00:00Z") == template_key(restarted)


def test_injected_constraints_do_not_count() -> None:
    """The manifest of a workload that Evenkeel gave constraints lacks them."""
    injected = a_template(topologySpreadConstraints=[{"maxSkew": 1}])

    assert template_key(a_template()) == template_key(injected, injected=True)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({"spec": {"priority": 2**70}}, id="2^70"),
        pytest.param({"spec": {1: 2}}, id="a number as key"),
        pytest.param({"metadata": {"labels": {"a": "\ud800"}}}, id="no Unicode"),
        pytest.param(DEEP, id="2000 deep"),
    ],
)
def test_what_no_api_server_stores(raw: Any) -> None:
    """It equals nothing that is stored."""
    assert TemplateKey(b"", "") == template_key(raw)


@pytest.mark.parametrize(
    "raw", [{"spec": 3, "metadata": []}, {"spec": {"containers": [7, None], "volumes": {}}}]
)
def test_rubbish_is_read(raw: Any) -> None:
    """A template with fields of the wrong type has a digest all the same."""
    assert template_key(raw).digest


def recorded(kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a kind that a real API server sent, with the step in which it did."""
    reviews = {
        name: json.loads(body)["request"].get("object") or {} for name, body in recorded_reviews().items()
    }
    return [(name.partition(".")[0], obj) for name, obj in reviews.items() if obj.get("kind") == kind]


def test_recorded_replica_sets() -> None:
    """Every ReplicaSet that a real controller made has the template of a revision of its Deployment."""
    deployments = {
        (obj["metadata"]["name"], template_key(obj["spec"]["template"])) for _, obj in recorded("Deployment")
    }
    replica_sets = {
        (obj["metadata"]["ownerReferences"][0]["name"], template_key(obj["spec"]["template"]))
        for _, obj in recorded("ReplicaSet")
        if "ownerReferences" in obj["metadata"]
    }

    assert 3 <= len(replica_sets)
    assert replica_sets <= deployments


def test_recorded_manifests() -> None:
    """A manifest as it was applied equals what a real API server made of it, until it was patched there."""
    compared = [
        (step, template_key(json.loads(applied)["spec"]["template"]) == template_key(obj["spec"]["template"]))
        for step, obj in recorded("Deployment")
        if (applied := (obj["metadata"].get("annotations") or {}).get(LAST_APPLIED))
    ]
    patched = {"deployment-patch", "deployment-restart", "deployment-set-image"}

    assert 12 == len(compared)
    assert all(equal == (step not in patched) for step, equal in compared)
