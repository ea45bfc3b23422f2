"""A webhook as its configuration registers it. The API server has set every field that has a default."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.model.labels import LabelSelector
from policies.model.workload_kinds import POD_KIND
from webhook.registration import PATHS, is_sent


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredWebhook:
    """One webhook of a configuration.

    Attributes:
        kind: The kind of the configuration.
        configuration: The name of the configuration.
        position: The index of the webhook there.
        fields: The webhook as the API server returns it.
    """

    kind: str
    configuration: str
    position: int
    fields: Mapping[str, Any]

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
