"""Whether the webhooks are registered, can deadlock with themselves, and time out soon. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from certs.inject import CONFIGURATION_KINDS
from webhook.doctor.check_result import CheckResult, ok, problem, warning
from webhook.doctor.observations import Object, Observations, Observed, pod_labels
from webhook.doctor.registered_webhook import RegisteredWebhook

#: What it means that a configuration is missing.
_MISSED: Final = dict(zip(CONFIGURATION_KINDS, ("nothing is injected", "nothing is validated"), strict=True))
#: The longest timeout that is not reported: Kubernetes' default.
LONGEST_TIMEOUT_S: Final = 10
#: The timeout of the shipped manifests.
_USUAL_TIMEOUT_S: Final = 3


def _registered(observed: Observations) -> Iterator[CheckResult]:
    """Both configurations exist and call the Service."""
    names = observed.names
    for kind, webhooks in observed.webhooks.get().items():
        if not webhooks:
            what = "does not exist" if webhooks is None else "has no webhooks"
            yield problem(f"{kind} {names.webhooks} {what}: {_MISSED[kind]}", observed.install)
        for webhook in webhooks or ():
            if webhook.service is None:
                yield warning(f"{webhook.name} calls a URL, not Service {names.service_path}", webhook.edit)
            elif webhook.service[0] != names.service_path:
                yield warning(
                    f"{webhook.name} calls Service {webhook.service[0]}, not {names.service_path}",
                    f"{webhook.edit}, or run doctor with the -n and --service that it calls",
                )
            else:
                policy = webhook.fields["failurePolicy"]
                yield ok(f"{webhook.name} calls Service {names.service_path}, failurePolicy {policy}")


def _own_namespaces(observed: Observations) -> Iterator[CheckResult]:
    """The webhooks exclude kube-system and Evenkeel's own pods, which otherwise wait for themselves."""
    namespaces = observed.namespaces.get()
    names = " and ".join(namespace["metadata"]["name"] for namespace in namespaces)
    for webhook in observed.all_webhooks():
        found = [_inclusion(webhook, namespace, observed) for namespace in namespaces]
        yield from list(filter(None, found)) or [ok(f"{webhook.name} does not match pods of {names}")]


def _inclusion(webhook: RegisteredWebhook, namespace: Object, observed: Observations) -> CheckResult | None:
    """Return what happens to pods of a namespace that are sent to a webhook; None if they are not."""
    name, labels = namespace["metadata"]["name"], namespace["metadata"].get("labels") or {}
    own = name == observed.names.namespace
    if not webhook.matches_pods(labels, _own_pod_labels(observed) if own else None):
        return None
    if condition := webhook.condition_on(name):
        return ok(f"{webhook.name} excludes {name} by matchCondition {condition}, as far as its text says")
    whose = "Evenkeel's own pods" if own else "pods"
    remedy = f"{webhook.edit}, and exclude {name} in its namespaceSelector"
    if webhook.fails_closed:
        return problem(
            f"{webhook.name} matches {whose} in {name} with failurePolicy Fail: once no replica answers, "
            "none of them can start",
            remedy,
        )
    return warning(
        f"{webhook.name} matches {whose} in {name}: each waits {webhook.timeout_s} s if no replica answers",
        remedy,
    )


def _own_pod_labels(observed: Observations) -> Mapping[str, str] | None:
    deployment = observed.deployment.value if isinstance(observed.deployment, Observed) else None
    return pod_labels(deployment) or None


def _timeouts(observed: Observations) -> Iterator[CheckResult]:
    """The API server does not wait long for a replica that does not answer."""
    for webhook in observed.all_webhooks():
        if webhook.timeout_s > LONGEST_TIMEOUT_S:
            yield warning(
                f"{webhook.name} has timeoutSeconds {webhook.timeout_s}: writes wait that long for a replica "
                "that does not answer",
                webhook.set_field("timeoutSeconds", _USUAL_TIMEOUT_S),
            )
        else:
            yield ok(f"{webhook.name} has timeoutSeconds {webhook.timeout_s}")


CHECKS: Final = {
    "webhooks-registered": _registered,
    "own-namespaces-excluded": _own_namespaces,
    "timeout-own": _timeouts,
}
