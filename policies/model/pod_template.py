"""Whether two pod templates are one and the same to a controller, told from digests of them.

A Deployment's pods belong to the ReplicaSet whose template equals its own (``FindNewReplicaSet``,
``pkg/controller/deployment/util/deployment_util.go``). In a file a template lacks what the API server fills
in, so each is brought into one form first: without the label that tells revisions apart, without what is at
its default, quantities as numbers. All defaults of a template are below; Kubernetes adds none, because a
field that appears in a stored template would roll out every workload (``SetDefaults_PodSpec``). Of a template
a digest is kept: a cluster has many.

Sources, Kubernetes 1.36: ``SetDefaults_*`` of ``pkg/apis/core/v1/defaults.go``,
``SetObjectDefaults_Deployment`` of ``pkg/apis/apps/v1/zz_generated.defaults.go``, and for what is left out
where it is zero ``staging/src/k8s.io/api/core/v1/types.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from policies.manifests.fields import object_items
from policies.model.quantity import BILLION, parse_quantity
from policies.model.workload_kinds import REVISION_OWNERS

#: Marks an object that got constraints, with the name of the policy that gave them.
INJECTED_ANNOTATION: Final = "evenkeel.dev/injected-by"
#: What ``kubectl rollout restart`` changes in a template. ``kubectl apply`` leaves it where it is.
RESTARTED_ANNOTATION: Final = "kubectl.kubernetes.io/restartedAt"
#: What `kubectl apply` sent last.
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: Bytes of a digest. The chance that two of a million are equal by accident is one in 10^26.
DIGEST_BYTES: Final = 16
#: How deep a template is looked into. What is in a pod template ends at 12.
_MAX_DEPTH: Final = 32

_OF_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_OF_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_OF_FILES: Final = {"defaultMode": 0o644}
#: Defaults, by the field that holds them. A probe's numbers that are 0 stand for them as well.
_DEFAULTS: Final[dict[str, Mapping[str, Any]]] = {
    "spec": {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        # Of the claim of an ephemeral volume, whose fields have other names.
        "volumeMode": "Filesystem",
    },
    "containers": _OF_CONTAINER,
    "initContainers": _OF_CONTAINER,
    "ephemeralContainers": _OF_CONTAINER,
    "livenessProbe": _OF_PROBE,
    "readinessProbe": _OF_PROBE,
    "startupProbe": _OF_PROBE,
    "ports": {"protocol": "TCP"},
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "fieldRef": {"apiVersion": "v1"},
    "fileKeyRef": {"optional": False},
    "secret": _OF_FILES,
    "configMap": _OF_FILES,
    "downwardAPI": _OF_FILES,
    "projected": _OF_FILES,
    "serviceAccountToken": {"expirationSeconds": 3600},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
#: Fields in which false, 0 or an empty text is a value: pointers in Go. Everywhere else it means absent.
_POINTERS: Final = frozenset(
    {
        "allowPrivilegeEscalation", "automountServiceAccountToken", "defaultMode", "enableServiceLinks",
        "expirationSeconds", "fsGroup", "hostnameOverride", "hostProcess", "hostUsers", "mode", "optional",
        "priority", "privileged", "readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser",
        "setHostnameAsFQDN", "shareProcessNamespace", "storageClassName", "terminationGracePeriodSeconds",
        "tolerationSeconds",
    }
)  # fmt: skip
#: Maps whose keys people choose: every entry counts.
_MAPS: Final = frozenset(
    {"annotations", "labels", "matchLabels", "nodeSelector", "options", "userAnnotations", "volumeAttributes"}
)
#: Maps of quantities.
_QUANTITY_MAPS: Final = frozenset({"limits", "requests", "overhead"})
#: Single quantities.
_QUANTITIES: Final = frozenset({"divisor", "sizeLimit"})
#: Objects that mean nothing when they are empty. Not among them is an empty selector, which selects all, or
#: an empty volume source, which says of which type the volume is.
_NOTHING_IF_EMPTY: Final = frozenset(
    {*_MAPS, *_QUANTITY_MAPS, "affinity", "dnsConfig", "metadata", "resources", "securityContext", "spec"}
)
#: The API server rounds amounts up to thousandths: ``SetDefaults_ResourceList``.
_THOUSANDTH: Final = BILLION // 1000
#: The name of an image: ``ParseImageName``, ``pkg/util/parsers``.
_IMAGE: Final = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?[a-z0-9]+(?:(?:[._-]+|/)[a-z0-9]+)*"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?P<digest>@.+)?"
)


class TemplateKey(NamedTuple):
    """The key that equal templates share."""

    digest: bytes  #: Of everything but when the workload was restarted; empty for what is no template.
    restarted_at: str  #: When ``kubectl rollout restart`` was called last, as it wrote it; empty if never.


def template_key(template: Mapping[str, Any], *, injected: bool = False) -> TemplateKey:
    """Return by what a pod template is compared with others.

    Args:
        template: The template, of any shape; not changed.
        injected: Whether Evenkeel gave it its constraints. They do not count then, because the manifest in a
            repository lacks them, and applying it does not remove them.

    >>> one = {"spec": {"containers": [{"name": "c", "image": "web:1"}]}}
    >>> other = {"spec": {"containers": one["spec"]["containers"], "restartPolicy": "Always"}}
    >>> template_key(one) == template_key(other)
    True
    """
    try:
        canonical = _object(template, "template", 0)
    except RecursionError:
        return TemplateKey(b"", "")
    metadata, spec = canonical.get("metadata"), canonical.get("spec")
    restarted_at = _without_own_marks(metadata) if isinstance(metadata, dict) else ""
    if isinstance(metadata, dict) and not metadata:
        del canonical["metadata"]
    if injected and isinstance(spec, dict):
        spec.pop("topologySpreadConstraints", None)
    try:
        text = orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # No JSON of 64 bits and Unicode.
        return TemplateKey(b"", "")
    return TemplateKey(blake2b(text, digest_size=DIGEST_BYTES).digest(), restarted_at)


def _without_own_marks(metadata: dict[str, Any]) -> str:
    """Remove the labels that tell revisions apart, and the time of a restart; return that time."""
    restarted_at: object = ""
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if isinstance(labels, dict):
        metadata["labels"] = {key: value for key, value in labels.items() if key not in REVISION_OWNERS}
    if isinstance(annotations, dict):
        kept = dict(annotations)
        restarted_at = kept.pop(RESTARTED_ANNOTATION, "")
        metadata["annotations"] = kept
    for name in ("labels", "annotations"):
        if metadata.get(name) == {}:
            del metadata[name]
    return restarted_at if isinstance(restarted_at, str) else ""


def _object(raw: Mapping[str, Any], name: str, depth: int) -> dict[str, Any]:
    """Return an object that stands at a field, or in its list, without what the API server would fill in.

    Raises:
        RecursionError: It is deeper than any pod template.
    """
    if depth > _MAX_DEPTH:
        raise RecursionError
    defaults = _DEFAULTS.get(name, {})
    found: dict[str, Any] = {}
    for key, value in raw.items():
        canonical = _value(value, key, depth + 1)
        if canonical is not None and (key not in defaults or canonical != defaults[key]):
            found[key] = canonical
    special = _SPECIAL.get(name)
    if special is not None:
        special(found)
    return found


def _value(raw: Any, name: str, depth: int) -> Any:
    """Return the value of a field in its one form; None for what is as good as absent."""
    if name in _QUANTITIES:
        return _quantity(raw)
    if isinstance(raw, dict):
        if name in _QUANTITY_MAPS:
            found: Any = {key: _quantity(amount, rounded=True) or "0" for key, amount in raw.items()}
        elif name in _MAPS:
            found = raw
        else:
            found = _object(raw, name, depth)
        return found if found or name not in _NOTHING_IF_EMPTY else None
    if isinstance(raw, list):
        return [_object(item, name, depth) if isinstance(item, dict) else item for item in raw] or None
    return raw if raw or name in _POINTERS else None


def _quantity(raw: object, *, rounded: bool = False) -> object:
    """Return an amount as text that is the same however the amount was written; None for 0."""
    quantity = parse_quantity(raw)
    if quantity is None:
        return raw
    if rounded:
        quantity = -(-quantity // _THOUSANDTH) * _THOUSANDTH
    return str(quantity) if quantity else None


def _of_pod(spec: dict[str, Any]) -> None:
    # The API server writes both names of the one field.
    alias = spec.pop("serviceAccount", None)
    if alias is not None:
        spec.setdefault("serviceAccountName", alias)
    if spec.get("hostNetwork") is not True:
        return
    for member in ("containers", "initContainers"):
        for container in object_items(spec.get(member)):
            for port in object_items(container.get("ports")):
                # Filled in up to Kubernetes 1.27, for templates too.
                if port.get("hostPort") == port.get("containerPort"):
                    port.pop("hostPort", None)


def _of_container(container: dict[str, Any]) -> None:
    _drop_pull_policy(container, "image", "imagePullPolicy")


def _of_volume(volume: dict[str, Any]) -> None:
    if volume.get("emptyDir") == {}:
        del volume["emptyDir"]
    image = volume.get("image")
    if isinstance(image, dict):
        _drop_pull_policy(image, "reference", "pullPolicy")


def _drop_pull_policy(parent: dict[str, Any], image: str, policy: str) -> None:
    """Drop a pull policy that is the one which the image's tag stands for: ``SetDefaults_Container``."""
    name = parent.get(image)
    usual = "Always" if _is_latest(name if isinstance(name, str) else "") else "IfNotPresent"
    if parent.get(policy) == usual:
        del parent[policy]


def _is_latest(image: str) -> bool:
    """Return whether an image's tag is latest, as it is without a tag and a digest; never of an invalid name.

    >>> [_is_latest(image) for image in ("web", "host:5000/web", "web:latest", "web:1", "web@sha256:0", "ko://x")]
    [True, True, True, False, False, False]
    """
    match = _IMAGE.fullmatch(image)
    return match is not None and match["tag"] in ((None, "latest") if not match["digest"] else ("latest",))


#: What is more than a table can say.
_SPECIAL: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "spec": _of_pod,
    "containers": _of_container,
    "initContainers": _of_container,
    "ephemeralContainers": _of_container,
    "volumes": _of_volume,
}
