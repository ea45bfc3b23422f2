"""Calls the webhooks themselves: a dry run of a Deployment, which is not stored.

Whatever a configuration says, only a webhook that is called answers. The API server passes warnings on,
also those of a webhook before another one that refuses.
"""

from __future__ import annotations

from typing import Any, Final

from policies.model.workload_kinds import KNOWN_KINDS
from webhook.doctor.installed import RegisteredWebhook
from webhook.doctor.observations import DryRunAnswer, MissingError, Observations, Observed
from webhook.kube.api_server import ApiServer
from webhook.registration import PROBE_ANNOTATION, answers, is_sent, labels_for, probe_answer

#: Where people try things, if the webhooks look at it.
_USUAL_NAMESPACE: Final = "default"
_NAME: Final = "evenkeel-probe"
_DEPLOYMENT: Final = next(kind for kind in KNOWN_KINDS if kind.name == "Deployment.apps")
#: The start of what it says of a caller who lacks the right.
_NO_RIGHT: Final = "forbidden: User"


def probe(api: ApiServer, observed: Observations) -> DryRunAnswer:
    """Create a Deployment as a dry run where the webhooks of workloads look, and return which were called.

    Raises:
        ClusterError: There is no answer.
        MissingError: No webhook should be called, or it is not known where.
    """
    asked = probed(observed)
    if not asked:
        raise MissingError("no webhook should be called for a Deployment")
    labels = labels_for(webhook.object_selector for webhook in asked)
    namespace = _namespace(observed, asked)
    if labels is None or not namespace:
        raise MissingError("no Deployment is looked at by all webhooks")
    answer = api.send(
        "POST",
        f"/apis/apps/v1/namespaces/{namespace}/deployments",
        params={"dryRun": "All"},
        body=_deployment(labels),
    )
    refusal = "" if answer.ok else str(answer.error())
    if _NO_RIGHT in refusal:
        raise MissingError(f"a dry run needs the right to create it: {refusal}")
    told = answer.headers.get("warning", "")
    paths = {webhook.path for webhook in asked if probe_answer(webhook.path) in told}
    return DryRunAnswer(namespace, frozenset(paths), refusal)


def probed(observed: Observations) -> list[RegisteredWebhook]:
    """Return the webhooks that should be called about a new Deployment."""
    return [
        webhook
        for webhook in observed.all_webhooks()
        if is_sent(webhook.fields, _DEPLOYMENT, ["CREATE"])
        and answers(webhook.fields, webhook.kind, observed.surroundings)
    ]


def _namespace(observed: Observations, asked: list[RegisteredWebhook]) -> str:
    """Return a namespace that all webhooks select; where none can be read, the usual one."""
    if not isinstance(observed.all_namespaces, Observed):
        return _USUAL_NAMESPACE
    found = [
        metadata["name"]
        for metadata in (namespace["metadata"] for namespace in observed.all_namespaces.value)
        if not metadata.get("deletionTimestamp")
        and all(webhook.namespace_selector.matches(metadata.get("labels") or {}) for webhook in asked)
    ]

    def rank(name: str) -> tuple[bool, bool, str]:
        needed = name.startswith("kube-") or name == observed.names.namespace
        return name != _USUAL_NAMESPACE, needed, name

    return min(found, key=rank, default="")


def _deployment(labels: dict[str, str]) -> dict[str, Any]:
    pod = {"app.kubernetes.io/name": _NAME}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _NAME, "labels": labels, "annotations": {PROBE_ANNOTATION: ""}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": pod},
            "template": {
                "metadata": {"labels": {**labels, **pod}},
                "spec": {"containers": [{"name": "probe", "image": "registry.example/probe"}]},
            },
        },
    }
