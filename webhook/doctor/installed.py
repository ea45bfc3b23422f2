"""Two objects of an installation, read by name: a webhook as its configuration registers it, and a pod.

The API server has set every field that has a default.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from policies.model.labels import LabelSelector
from policies.model.workload_kinds import POD_KIND
from webhook.registration import PATHS, is_sent
from webhook.settings import options

#: The port of the shipped manifests, and its name.
_PORT, _PORT_NAME = 8443, "https"
#: What click takes for yes in the environment variable of a switch.
_YES: Final = frozenset({"1", "true", "t", "yes", "y", "on"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredWebhook:
    """One webhook of a configuration."""

    kind: str  #: The kind of the configuration.
    configuration: str  #: The name of the configuration.
    position: int  #: The index of the webhook there.
    fields: Mapping[str, Any]  #: The webhook as the API server returns it.

    @property
    def name(self) -> str:
        """Its own name."""
        return str(self.fields["name"])

    @property
    def service(self) -> tuple[str, int] | None:
        """NAMESPACE/NAME of the Service that the API server calls, and its port; None if it calls a URL."""
        service = self.fields["clientConfig"].get("service")
        return (f"{service['namespace']}/{service['name']}", service.get("port", 443)) if service else None

    @property
    def path(self) -> str:
        """The path at which webhooks of such a configuration are answered."""
        return PATHS[self.kind]

    @property
    def namespace_selector(self) -> LabelSelector:
        """The namespaces whose objects it is sent."""
        return LabelSelector.parse(self.fields.get("namespaceSelector") or {})

    @property
    def object_selector(self) -> LabelSelector:
        """The objects that it is sent."""
        return LabelSelector.parse(self.fields.get("objectSelector") or {})

    @property
    def fails_closed(self) -> bool:
        """Whether requests fail while no replica answers."""
        return bool(self.fields["failurePolicy"] == "Fail")

    @property
    def timeout_s(self) -> int:
        """Seconds that the API server waits for an answer."""
        return int(self.fields["timeoutSeconds"])

    @property
    def ca_bundle(self) -> bytes:
        """PEM as a rule; empty if there is none."""
        return base64.b64decode(self.fields["clientConfig"].get("caBundle") or "")

    @property
    def edit(self) -> str:
        """The command that opens the configuration in an editor."""
        return f"kubectl edit {self.kind.lower()}/{self.configuration}"

    def set_field(self, field: str, value: int | str) -> str:
        """Return the command that sets a field."""
        return (
            f"kubectl patch {self.kind.lower()} {self.configuration} --type=json -p "
            f'\'[{{"op":"add","path":"/webhooks/{self.position}/{field}","value":{json.dumps(value)}}}]\''
        )

    def matches_pods(self, namespace_labels: Mapping[str, str], pod_labels: Mapping[str, str] | None) -> bool:
        """Return whether rules and selectors match the creation of a pod; of any pod without pod_labels."""
        return (
            is_sent(self.fields, POD_KIND, ["CREATE"])
            and self.namespace_selector.matches(namespace_labels)
            and (pod_labels is None or self.object_selector.matches(pod_labels))
        )

    def condition_on(self, namespace: str) -> str:
        """Return the matchCondition that names a namespace, empty if none does. CEL is not evaluated."""
        for condition in self.fields.get("matchConditions") or ():
            text = condition["expression"].replace('"', "'")
            if "request.namespace" in text and f"'{namespace}'" in text:
                return str(condition["name"])
        return ""


@dataclass(frozen=True, slots=True)
class ReplicaPod:
    """A pod behind the Service, as the API server returns it."""

    pod: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.pod["metadata"]["name"])

    @property
    def node(self) -> str:
        """Its node; empty if it has none."""
        return str(self.pod["spec"].get("nodeName", ""))

    @property
    def service_account(self) -> str:
        """Its ServiceAccount."""
        return str(self.pod["spec"].get("serviceAccountName", "default"))

    @property
    def ready(self) -> bool:
        """Whether its condition Ready is true."""
        return self._condition("Ready").get("status") == "True"

    @property
    def restarts(self) -> int:
        """Restarts of the container that serves."""
        return int(self._container_status.get("restartCount", 0))

    @property
    def state(self) -> str:
        """Why its container ended, else why it waits or the pod has no node; empty if nothing of that."""
        states = self._container_status.get("state") or {}
        ended = states.get("terminated") or (self._container_status.get("lastState") or {}).get("terminated")
        # That it ended for lack of memory says more than that it waits for its restart.
        if ended and ended.get("reason", "Error") != "Error":
            return str(ended["reason"])
        if ended:
            return f"exit code {ended.get('exitCode')}"
        waiting = states.get("waiting") or self._condition("PodScheduled")
        return str(waiting.get("reason") or "")

    @property
    def port(self) -> int:
        """Where it listens: as --bind says, else as the container declares."""
        bound = self.settings.get("bind", "").rpartition(":")[2]
        return int(bound) if bound.isdecimal() else _serving_port(self._container) or _PORT

    @property
    def named_ports(self) -> dict[str, int]:
        """The ports of its containers that have a name."""
        ports = [
            port for container in self.pod["spec"]["containers"] for port in container.get("ports") or ()
        ]
        return {port["name"]: port["containerPort"] for port in ports if port.get("name")}

    @property
    def settings(self) -> dict[str, str]:
        """The options of ``evenkeel serve`` that its container is started with, by field of ``Settings``."""
        return dict(_settings(self._container))

    @property
    def policies(self) -> list[str]:
        """Its policies of files, and the built-in ones."""
        return [value for name, value in _settings(self._container) if name == "policy"]

    @property
    def secret(self) -> str:
        """The Secret of its serving certificate: the one that it renews, else the first that it mounts."""
        volumes = [volume.get("secret") or {} for volume in self.pod["spec"].get("volumes") or ()]
        mounted = next((volume["secretName"] for volume in volumes if volume.get("secretName")), "")
        return self.settings.get("cert_secret") or mounted

    @property
    def _container(self) -> Mapping[str, Any]:
        """The container with the port of the shipped manifests, else the first."""
        containers = self.pod["spec"]["containers"]
        serving: Mapping[str, Any] = next(filter(_serving_port, containers), containers[0])
        return serving

    @property
    def _container_status(self) -> Mapping[str, Any]:
        statuses = (self.pod.get("status") or {}).get("containerStatuses") or ()
        return next((status for status in statuses if status["name"] == self._container["name"]), {})

    def _condition(self, kind: str) -> Mapping[str, Any]:
        conditions = (self.pod.get("status") or {}).get("conditions") or ()
        return next((condition for condition in conditions if condition["type"] == kind), {})


def _serving_port(container: Mapping[str, Any]) -> int:
    """Return the port that a container declares for serving, 0 if it declares none."""
    ports = container.get("ports") or ()
    named = [port["containerPort"] for port in ports if port.get("name") == _PORT_NAME]
    usual = [port["containerPort"] for port in ports if port["containerPort"] == _PORT]
    return int(next(iter(named or usual), 0))


def _settings(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the options of a container's environment, then those of its command line, which win."""
    variables = {entry["name"]: entry.get("value") or "" for entry in container.get("env") or ()}
    words = [*(container.get("command") or ()), *(container.get("args") or ()), ""]
    for option in options():
        is_switch = isinstance(option.default, bool)
        value = variables.get(option.env, "")
        if value and (not is_switch or value.lower() in _YES):
            yield option.name, value
        for word, following in pairwise(words):
            flag, equals, value = word.partition("=")
            if flag == option.flag:
                yield option.name, value if equals else "true" if is_switch else following
