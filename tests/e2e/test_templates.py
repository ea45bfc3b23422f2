"""The pod templates that a real API server makes of manifests, which are the same to ``template_key``."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.pod_template import template_key
from tests.builders import a_workload
from tests.e2e.control_plane import ControlPlane

PROBES = (
    {"httpGet": {"port": 80}},
    {"exec": {"command": ["true"]}, "timeoutSeconds": 0, "initialDelaySeconds": 0},
)
#: A volume of every source that has a default, and some that have none.
SOURCES: tuple[dict[str, Any], ...] = (
    {},
    {"emptyDir": {"sizeLimit": "1000Mi"}},
    {"secret": {"secretName": "x"}},
    {"configMap": {"name": "x", "optional": False}},
    {"hostPath": {"path": "/x"}},
    {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "t"}},
                {"secret": {"name": "x"}},
                {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            ]
        }
    },
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}},
    {"rbd": {"monitors": ["10.0.0.1:6789"], "image": "x"}},
    {"azureDisk": {"diskName": "x", "diskURI": "https://example.com/x"}},
    {"scaleIO": {"gateway": "https://x", "system": "x", "secretRef": {"name": "x"}, "volumeName": "x"}},
    {"persistentVolumeClaim": {"claimName": "x", "readOnly": False}},
    {"csi": {"driver": "example.com", "readOnly": True}},
    {"nfs": {"server": "x", "path": "/x"}},
)


def a_container(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "registry.example/web:1", **fields}


SPECS: dict[str, dict[str, Any]] = {
    "nothing but a container": {},
    "every probe": {
        "containers": [
            a_container(f"c{n}", livenessProbe=probe, readinessProbe=probe, startupProbe=probe)
            for n, probe in enumerate(PROBES)
        ]
    },
    "images": {
        "containers": [
            a_container(f"c{n}", image=image)
            for n, image in enumerate(
                (
                    *("web", "web:latest", "h:5000/web", "h:5000/a/web:1", "Reg.io/web"),
                    *("ko://example.com/web", "${IMAGE}", "a//b", "a__b", "a/b-c.d"),
                    f"web@sha256:{'0' * 64}",
                )
            )
        ]
    },
    "resources": {
        "overhead": None,
        "containers": [
            a_container(
                "a", resources={"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": 2}}
            ),
            a_container(
                "b", resources={"limits": {"cpu": "0.1", "memory": "1e9", "ephemeral-storage": "1G"}}
            ),
            a_container("c", resources={"requests": {"cpu": "100u"}}),
            a_container("d", resources={}),
        ],
        "initContainers": [a_container("j", securityContext={})],
    },
    "variables and hooks": {
        "containers": [
            a_container(
                "c",
                env=[
                    {"name": "A", "value": ""},
                    {"name": "B"},
                    {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                    {"name": "E", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}},
                ],
                ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "hostPort": 0}],
                lifecycle={"preStop": {"httpGet": {"port": 80}}},
                stdin=False,
                args=[],
            )
        ]
    },
    "on the host's network": {
        "hostNetwork": True,
        "hostPID": False,
        "containers": [a_container("c", ports=[{"containerPort": 80}])],
    },
    "volumes": {"volumes": [{"name": f"v{n}", **source} for n, source in enumerate(SOURCES)]},
    "scheduling": {
        "serviceAccountName": "x",
        "nodeSelector": {},
        "tolerations": [{"operator": "Exists"}, {"key": "a", "tolerationSeconds": 0, "effect": "NoExecute"}],
        "securityContext": {"runAsUser": 0, "sysctls": []},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {}}
                ]
            }
        },
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
    },
}


#: Fields that older API servers drop.
NEWER: dict[str, Any] = {
    "containers": [
        a_container(
            "c",
            livenessProbe={"grpc": {"port": 80}},
            lifecycle={"preStop": {"sleep": {"seconds": 1}}},
        )
    ],
    "initContainers": [a_container("i", restartPolicy="Always")],
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {}}
            ]
        }
    },
    "volumes": [
        {
            "name": "v",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1024Mi"}},
                    }
                }
            },
        }
    ],
}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize(
    "spec",
    [
        *(pytest.param(spec, id=name) for name, spec in SPECS.items()),
        pytest.param(NEWER, id="newer fields", marks=pytest.mark.kubernetes(since="1.30")),
    ],
)
def test_a_manifest_is_what_is_stored(
    control_plane: ControlPlane, space: str, spec: dict[str, Any], kind: str
) -> None:
    """No default that the API server fills in is missing from the table."""
    # The Evenkeel of other tests may inject into every workload of this control plane.
    manifest = a_workload(kind, spec=spec, namespace=space, annotations={"evenkeel.dev/inject": "false"})
    if kind == "StatefulSet":
        manifest["spec"]["serviceName"] = "web"
    with control_plane.client() as client:
        path = f"/apis/apps/v1/namespaces/{space}/{kind.lower()}s?dryRun=All"
        stored = client.call("POST", path, manifest)

    assert template_key(manifest["spec"]["template"]) == template_key(stored["spec"]["template"])
