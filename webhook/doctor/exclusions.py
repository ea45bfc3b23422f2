"""Whether a webhook can keep itself, or the cluster, from starting: selectors against real labels. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.doctor.facts import Facts, Known, Namespace, Webhook
from webhook.doctor.finding import Check, Verdict, listed, ok, problem, warning
from webhook.doctor.registration import edit

#: The label with a namespace's own name; the API server sets it since Kubernetes 1.21.
NAME_LABEL: Final = "kubernetes.io/metadata.name"
#: Where the cluster's own pods run.
SYSTEM: Final = "kube-system"


def _exclusions(facts: Facts) -> Iterator[Verdict]:
    """Tell whether our webhooks leave out kube-system and our own pods."""
    namespaces = facts.protected.get()
    for webhook in facts.webhooks():
        if not webhook.takes("CREATE", "", "pods"):
            yield ok(f"{webhook.name} asks for no pods")
            continue
        caught = [
            namespace for namespace in namespaces if _reaches(webhook, namespace, _labels(facts, namespace))
        ]
        sure = [namespace for namespace in caught if not _condition(webhook, namespace)]
        for namespace in sure:
            yield _caught(webhook, namespace, facts)
        for namespace in caught:
            if namespace not in sure:
                yield ok(
                    f"{webhook.name} leaves out {namespace.name} by its matchCondition "
                    f"{_condition(webhook, namespace)}, as far as its text says"
                )
        if not caught:
            yield ok(
                f"{webhook.name} leaves out {' and '.join(namespace.name for namespace in namespaces)}"
                if namespaces
                else f"{webhook.name}: neither namespace exists"
            )


def _labels(facts: Facts, namespace: Namespace) -> Mapping[str, str] | None:
    """Return the labels of pods that matter in a namespace; None if they may be any."""
    if namespace.name != facts.names.namespace or not isinstance(facts.workload, Known):
        return None
    workload = facts.workload.value
    return workload.labels if workload else None


def _reaches(webhook: Webhook, namespace: Namespace, labels: Mapping[str, str] | None) -> bool:
    """Tell whether a webhook is called for pods of a namespace."""
    if not webhook.namespace_selector.matches(namespace.labels):
        return False
    return labels is None or webhook.object_selector.matches(labels)


def _condition(webhook: Webhook, namespace: Namespace) -> str:
    """Return the matchCondition that names a namespace of the request; nobody here can evaluate CEL."""
    for name, expression in webhook.conditions.items():
        quoted = (f"'{namespace.name}'", f'"{namespace.name}"')
        if "request.namespace" in expression and any(text in expression for text in quoted):
            return name
    return ""


def _caught(webhook: Webhook, namespace: Namespace, facts: Facts) -> Verdict:
    unlabeled = NAME_LABEL in webhook.namespace_selector.keys and NAME_LABEL not in namespace.labels
    why = (
        f": its selector excludes by the label {NAME_LABEL}, which the namespace does not have "
        "(the API server sets it since Kubernetes 1.21)"
        if unlabeled
        else ""
    )
    remedy = (
        f"kubectl label namespace {namespace.name} {NAME_LABEL}={namespace.name}"
        if unlabeled
        else f"{edit(webhook)}, and exclude {namespace.name} in its namespaceSelector"
    )
    whose = "its own pods" if namespace.name == facts.names.namespace else "pods"
    if webhook.fails_closed:
        return problem(
            f"{webhook.name} fails closed and matches {whose} in {namespace.name}: once no replica answers, "
            f"none can start{why}",
            remedy,
        )
    return warning(
        f"{webhook.name} matches {whose} in {namespace.name}: each waits {webhook.timeout_s} s "
        f"while no replica answers{why}",
        remedy,
    )


def _foreign(facts: Facts) -> Iterator[Verdict]:
    """Find other webhooks whose outage keeps our pods from starting."""
    own = [namespace for namespace in facts.protected.get() if namespace.name == facts.names.namespace]
    found = [
        webhook
        for configuration in facts.others.get()
        for webhook in configuration.webhooks
        if webhook.fails_closed
        and webhook.takes("CREATE", "", "pods")
        and any(
            _reaches(webhook, namespace, _labels(facts, namespace)) and not _condition(webhook, namespace)
            for namespace in own
        )
    ]
    if not found:
        yield ok(f"no other webhook can keep pods in {facts.names.namespace} from starting")
        return
    yield warning(
        f"while they do not answer, no pod starts in {facts.names.namespace}: "
        + listed([f"{webhook.name} of {webhook.kind} {webhook.configuration}" for webhook in found]),
        f"exclude {facts.names.namespace} from {'its' if len(found) == 1 else 'their'} namespaceSelector, "
        f"such as with {edit(found[0])}",
    )


CHECKS: Final = (Check("own-namespaces-excluded", _exclusions), Check("other-webhooks-block", _foreign))
