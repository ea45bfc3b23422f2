"""Objects of the API → facts. Pure; an API server has validated them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, Final

from policies.config.exemptions import opts_out
from policies.manifests.errors import UsageError
from policies.model.labels import LabelSelector
from policies.model.topology_keys import ZONE
from webhook.doctor.facts import (
    DEFAULT_SERVICE_PORT,
    Budget,
    Configuration,
    Endpoints,
    Namespace,
    Place,
    Replica,
    Rule,
    ServicePort,
    Webhook,
    Workload,
)
from webhook.serving.listener import parse_bind
from webhook.settings import Option, options

#: Where replicas serve, if their pods do not say. The port of the shipped manifests.
DEFAULT_PORT: Final = 8443
#: The name of that port in the shipped manifests.
_PORT_NAME: Final = "https"

Object = Mapping[str, Any]


def name_of(obj: Object) -> str:
    """Return an object's name."""
    return str(obj["metadata"]["name"])


def labels_of(obj: Object) -> dict[str, str]:
    """Return an object's labels."""
    return dict(obj["metadata"].get("labels") or {})


def annotations_of(obj: Object) -> dict[str, str]:
    """Return an object's annotations."""
    return dict(obj["metadata"].get("annotations") or {})


def read_configuration(obj: Object, kind: str) -> Configuration:
    """Read a webhook configuration."""
    name = name_of(obj)
    webhooks = tuple(
        _webhook(entry, kind, name, position) for position, entry in enumerate(obj.get("webhooks") or ())
    )
    return Configuration(kind, name, webhooks)


def _webhook(entry: Object, kind: str, configuration: str, position: int) -> Webhook:
    client = entry.get("clientConfig") or {}
    service = client.get("service")
    return Webhook(
        kind=kind,
        configuration=configuration,
        position=position,
        name=entry["name"],
        service=(service["namespace"], service["name"]) if service else (),
        port=(service or {}).get("port", DEFAULT_SERVICE_PORT),
        ca_bundle=_decoded(client.get("caBundle")),
        failure_policy=entry.get("failurePolicy", "Fail"),
        match_policy=entry.get("matchPolicy", "Equivalent"),
        reinvocation_policy=entry.get("reinvocationPolicy", "Never"),
        side_effects=entry.get("sideEffects", "Unknown"),
        timeout_s=entry.get("timeoutSeconds", 10),
        namespace_selector=LabelSelector.parse(entry.get("namespaceSelector") or {}),
        object_selector=LabelSelector.parse(entry.get("objectSelector") or {}),
        rules=tuple(
            Rule(
                operations=tuple(rule.get("operations") or ()),
                groups=tuple(rule.get("apiGroups") or ()),
                versions=tuple(rule.get("apiVersions") or ()),
                resources=tuple(rule.get("resources") or ()),
            )
            for rule in entry.get("rules") or ()
        ),
        conditions={
            condition["name"]: condition["expression"] for condition in entry.get("matchConditions") or ()
        },
    )


def _decoded(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "")
    except binascii.Error:
        return (text or "").encode()


def read_namespace(obj: Object) -> Namespace:
    """Read a Namespace."""
    return Namespace(name_of(obj), labels_of(obj), exempt=opts_out(annotations_of(obj)))


def read_workload(obj: Object) -> Workload:
    """Read a Deployment."""
    template = obj["spec"]["template"]
    # Absent means 1 in a Deployment.
    replicas = obj["spec"].get("replicas")
    return Workload(
        name=name_of(obj),
        replicas=1 if replicas is None else replicas,
        labels=dict((template.get("metadata") or {}).get("labels") or {}),
    )


def read_service_ports(obj: Object) -> tuple[ServicePort, ...]:
    """Return the ports of a Service; a targetPort that is not given is the same number."""
    return tuple(
        ServicePort(entry["port"], entry.get("targetPort") or entry["port"])
        for entry in obj["spec"].get("ports") or ()
    )


def read_slices(slices: Iterable[Object]) -> Endpoints:
    """Count the addresses of EndpointSlices; what does not say whether it is ready is."""
    ready = [
        (endpoint.get("conditions") or {}).get("ready") is not False
        for slice_ in slices
        for endpoint in slice_.get("endpoints") or ()
    ]
    return Endpoints(ready.count(True), ready.count(False))


def read_endpoints(obj: Object) -> Endpoints:
    """Count the addresses of Endpoints."""
    subsets = obj.get("subsets") or ()
    return Endpoints(
        sum(len(subset.get("addresses") or ()) for subset in subsets),
        sum(len(subset.get("notReadyAddresses") or ()) for subset in subsets),
    )


def read_replica(obj: Object) -> Replica:
    """Read a pod that serves: of its containers, the one with our port, else the first."""
    spec, status = obj["spec"], obj.get("status") or {}
    container = next((entry for entry in spec["containers"] if _port(entry)), spec["containers"][0])
    told = {entry["name"]: entry for entry in status.get("containerStatuses") or ()}.get(
        container["name"], {}
    )
    conditions = {entry["type"]: entry["status"] for entry in status.get("conditions") or ()}
    settings = read_settings(container)
    return Replica(
        name=name_of(obj),
        node=spec.get("nodeName", ""),
        labels=labels_of(obj),
        ready=conditions.get("Ready") == "True",
        state=_state(obj, told),
        restarts=told.get("restartCount", 0),
        image=container.get("image", ""),
        image_id=told.get("imageID", ""),
        port=_bound(settings) or _port(container) or DEFAULT_PORT,
        named_ports={
            port["name"]: port["containerPort"]
            for entry in spec["containers"]
            for port in entry.get("ports") or ()
            if port.get("name")
        },
        service_account=spec.get("serviceAccountName", "default"),
        settings=settings,
        secrets=tuple(
            volume["secret"]["secretName"]
            for volume in spec.get("volumes") or ()
            if (volume.get("secret") or {}).get("secretName")
        ),
    )


def _bound(settings: Mapping[str, str]) -> int:
    """Return the port that a container is told to listen on; 0 if it is not told."""
    try:
        return parse_bind(settings["bind"])[1]
    except (KeyError, UsageError):
        return 0


def _port(container: Object) -> int:
    ports = container.get("ports") or ()
    return next(
        (port["containerPort"] for port in ports if port.get("name") == _PORT_NAME),
        next((port["containerPort"] for port in ports if port["containerPort"] == DEFAULT_PORT), 0),
    )


def _state(obj: Object, told: Object) -> str:
    """Return why a pod's container waits, or ended; else why the pod is on no node."""
    waiting = (told.get("state") or {}).get("waiting") or {}
    ended: Object = next(
        (
            state["terminated"]
            for state in (told.get("state"), told.get("lastState"))
            if state and state.get("terminated")
        ),
        {},
    )
    unscheduled = next(
        (
            entry.get("reason", "")
            for entry in (obj.get("status") or {}).get("conditions") or ()
            if entry["type"] == "PodScheduled" and entry["status"] == "False"
        ),
        "",
    )
    reason = str(ended.get("reason") or "")
    if reason == "Error":
        # It says nothing by itself; 137 is SIGKILL, 143 SIGTERM.
        reason = f"Error, exit code {ended.get('exitCode')}"
    # That it ended for lack of memory says more than that it is waited with.
    return reason or str(waiting.get("reason") or unscheduled)


def read_settings(container: Object) -> dict[str, str]:
    """Return the options of ``evenkeel serve`` that a container is given; arguments win over environment.

    >>> read_settings({"args": ["serve", "--live"], "env": [{"name": "EVENKEEL_LEASE", "value": "a"}]})
    {'lease': 'a', 'live': 'true'}
    """
    known = {option.flag: option for option in options()}
    by_variable = {option.env: option for option in known.values()}
    found: dict[str, str] = {}
    for entry in container.get("env") or ():
        option = by_variable.get(entry["name"])
        if option and _given(option, entry.get("value", "")):
            found[_key(option)] = entry.get("value", "")
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    for position, word in enumerate(words):
        flag, equals, value = word.partition("=")
        option = known.get(flag)
        if option is None:
            continue
        following = words[position + 1] if position + 1 < len(words) else ""
        found[_key(option)] = value if equals else "true" if _is_switch(option) else following
    return found


def _key(option: Option) -> str:
    return option.flag.removeprefix("--")


def _is_switch(option: Option) -> bool:
    return isinstance(option.default, bool)


def _given(option: Option, value: str) -> bool:
    """Tell whether a variable sets anything: a switch only by a word that click takes for yes."""
    return value.lower() in ("1", "true", "t", "yes", "y", "on") if _is_switch(option) else bool(value)


def read_budget(obj: Object) -> Budget:
    """Read a PodDisruptionBudget."""
    spec, status = obj["spec"], obj.get("status") or {}
    field = "minAvailable" if spec.get("minAvailable") is not None else "maxUnavailable"
    expected, desired = status.get("expectedPods", 0), status.get("desiredHealthy", 0)
    raw = spec.get("selector")
    return Budget(
        name_of(obj),
        None if raw is None else LabelSelector.parse(raw),
        allows=status.get("disruptionsAllowed", 0),
        asks=f"{field} {spec.get(field)}",
        blocking=0 < expected <= desired,
    )


def read_place(obj: Object) -> Place | None:
    """Read a Node; None if no pod would be put there."""
    conditions = {
        entry["type"]: entry["status"] for entry in (obj.get("status") or {}).get("conditions") or ()
    }
    spec = obj.get("spec") or {}
    hard = any(taint["effect"] != "PreferNoSchedule" for taint in spec.get("taints") or ())
    if spec.get("unschedulable") or hard or conditions.get("Ready", "True") != "True":
        return None
    return Place(name_of(obj), labels_of(obj).get(ZONE, ""))
