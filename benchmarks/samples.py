"""The reviews and the cluster that every benchmark uses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import orjson

from tests.recorded import recorded_reviews
from webhook.admission.review import Phase

#: Bytes of the pod in a review, as the project's targets name it; the API server sends 1 to 12 KB in all.
POD_BYTES = 2048

#: The labels of the pod.
_LABELS = {"app": "web", "pod-template-hash": "5b6d4f7c9"}
#: The ReplicaSet that made the pod.
_OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web-5b6d4f7c9",
    "uid": "0c0d1f5e-6f0e-4d4c-9a53-1d0c5a2b9a11",
    "controller": True,
    "blockOwnerDeletion": True,
}

#: A policy that injects; a cluster is needed for the selector.
POLICY = "builtin:soft-spread"

#: The cluster that the injected selector comes from.
CLUSTER = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"selector": {"app": "web"}},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web-5b6d4f7c9", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": _LABELS}},
        },
    ],
}

#: What the validated pod asks for.
_CONSTRAINTS = [
    {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    },
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    },
]


def review(phase: Phase) -> bytes:
    """Return a review of a 2 KiB pod: to be injected when mutating, with two constraints when validating."""
    constraints = _CONSTRAINTS if phase is Phase.VALIDATE else []
    return _review(_pod(constraints), group="", kind="Pod")


def applied() -> bytes:
    """Return a review of a Deployment around the same pod, as a person applies it: rules are asked of it."""
    pod = _pod(_CONSTRAINTS)
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod["spec"]}
    deployment = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    return _review(deployment, group="apps", kind="Deployment")


def deployments() -> Iterator[bytes]:
    """Yield reviews of Deployments as the API server sends what people apply to ``clusters.Cluster``.

    Each has names and requests of its own.
    """
    recorded = recorded_reviews()["deployment-apply.validate.CREATE-deployments"].decode()
    for number in count():
        own = recorded
        for end in ('"', '\\"'):  # Within the annotation of kubectl, too.
            own = own.replace(f'"dep{end}', f'"web-{number}{end}').replace(
                f'"shop{end}', f'"team-{number % 50:02}{end}'
            )
        yield own.replace("100m", f"{100 + number % 90 * 10}m").encode()


def _review(obj: dict[str, Any], *, group: str, kind: str) -> bytes:
    resource = {"group": group, "version": "v1", "resource": f"{kind.lower()}s"}
    named = {"group": group, "version": "v1", "kind": kind}
    request = {
        "uid": "105e2a77-8705-4fe7-8887-47df85f462bd",
        "kind": named,
        "resource": resource,
        "requestKind": named,
        "requestResource": resource,
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def _pod(constraints: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a ReplicaSet's pod, filled up to ``POD_BYTES`` with environment variables as real ones are."""
    environment: list[dict[str, str]] = []
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "web-5b6d4f7c9-",
            "namespace": "shop",
            "labels": _LABELS,
            "ownerReferences": [_OWNER],
        },
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "registry.k8s.io/pause:3.10",
                    "env": environment,
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{condition}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for condition in ("not-ready", "unreachable")
            ],
            **({"topologySpreadConstraints": constraints} if constraints else {}),
        },
        "status": {},
    }
    while len(orjson.dumps(pod)) < POD_BYTES:
        number = len(environment)
        environment.append({"name": f"SETTING_{number}", "value": f"value of setting {number}"})
    return pod
