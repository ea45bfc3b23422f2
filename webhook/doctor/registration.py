"""Whether the webhooks are registered, can deadlock with themselves, and time out soon. Pure.

The pods of a controller show whether one was called for each: it injects into all of them or into none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from policies.manifests.words import IN_SENTENCE, plural
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload_kinds import KNOWN_KINDS
from policies.model.workload_ref import WorkloadRef
from webhook.doctor.installed import RegisteredWebhook
from webhook.doctor.observations import (
    CheckResult,
    Missing,
    Object,
    Observations,
    Observed,
    ok,
    pod_labels,
    problem,
    skipped,
    warning,
)
from webhook.doctor.reader import probed
from webhook.registration import OPERATIONS, compare, is_sent

#: The longest timeout that is not reported: Kubernetes' default.
LONGEST_TIMEOUT_S: Final = 10
#: The timeout of the shipped manifests.
_USUAL_TIMEOUT_S: Final = 3


def _registered(observed: Observations) -> Iterator[CheckResult]:
    """Both configurations exist, call the Service, and send all that this release installs webhooks for."""
    names = observed.names
    for kind, webhooks in observed.webhooks.get().items():
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
        fields = None if webhooks is None else [webhook.fields for webhook in webhooks]
        found = compare(kind, names.webhooks, fields, observed.surroundings)
        suggestion = f"{webhooks[0].edit}, or {observed.install}" if webhooks else observed.install
        yield from (problem(gap, suggestion) for gap in found.gaps)
        yield from map(ok, found.notes)
        if isinstance(observed.all_namespaces, Missing):
            yield skipped(f"which namespaces it leaves out: {observed.all_namespaces.reason}")
        elif not found.gaps:
            yield ok(f"{kind} {names.webhooks} sends all that this release installs it for")


def _called(observed: Observations) -> Iterator[CheckResult]:
    """The webhooks that should be called about a Deployment are, whatever the configurations say."""
    answer, service = observed.probe.get(), observed.through_service
    unreachable = service.value.unreachable if isinstance(service, Observed) else ""
    tried = f"for a Deployment in namespace {answer.namespace} (a dry run)"
    for webhook in probed(observed):
        if webhook.path in answer.answered:
            yield ok(f"{webhook.name} was called {tried}, and answered")
        elif answer.refusal and webhook.name not in answer.refusal:
            yield skipped(f"a dry run was refused before {webhook.name} answered: {answer.refusal}")
        elif unreachable:
            yield skipped(f"{webhook.name} did not answer {tried}, as no replica answers: {unreachable}")
        else:
            why = answer.refusal or "the API server would have stored it without a word"
            yield problem(
                f"{webhook.name} gave no answer {tried}: {why}",
                f"{webhook.edit}: its matchConditions may leave everything out; or {observed.install}",
            )


def _fail_open(observed: Observations) -> Iterator[CheckResult]:
    """Policies and namespaces can be changed while no replica answers."""
    webhooks = [webhook for found in observed.webhooks.get().values() for webhook in found or ()]
    for webhook in webhooks:
        if any(is_sent(webhook.fields, kind, OPERATIONS[webhook.path]) for kind in KNOWN_KINDS):
            continue
        if webhook.fails_closed:
            yield warning(
                f"{webhook.name} has failurePolicy Fail: while no replica answers, what it reviews cannot be "
                "changed, not even to repair that",
                webhook.set_field("failurePolicy", "Ignore"),
            )
        else:
            yield ok(f"{webhook.name} has failurePolicy Ignore")


def _own_namespaces(observed: Observations) -> Iterator[CheckResult]:
    """The webhooks exclude kube-system and Evenkeel's own pods, which otherwise wait for themselves."""
    namespaces = observed.namespaces.get()
    names = " and ".join(namespace["metadata"]["name"] for namespace in namespaces)
    for webhook in observed.all_webhooks():
        found = [_inclusion(webhook, namespace, observed) for namespace in namespaces]
        yield from list(filter(None, found)) or [ok(f"{webhook.name} does not match pods of {names}")]


def _inclusion(webhook: RegisteredWebhook, namespace: Object, observed: Observations) -> CheckResult | None:
    """Return the result for pods of a namespace that a webhook matches; None if it does not match them."""
    name, labels = namespace["metadata"]["name"], namespace["metadata"].get("labels") or {}
    own = name == observed.names.namespace
    if not webhook.matches_pods(labels, _own_pod_labels(observed) if own else None):
        return None
    if condition := webhook.condition_on(name):
        return ok(f"{webhook.name} excludes {name} by matchCondition {condition}, as far as its text says")
    whose = "Evenkeel's own pods" if own else "pods"
    suggestion = f"{webhook.edit}, and exclude {name} in its namespaceSelector"
    if webhook.fails_closed:
        return problem(
            f"{webhook.name} matches {whose} in {name} with failurePolicy Fail: once no replica answers, "
            "none of them can start",
            suggestion,
        )
    return warning(
        f"{webhook.name} matches {whose} in {name}: each waits {webhook.timeout_s} s if no replica answers",
        suggestion,
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
    "webhooks-answer": _called,
    "policies-fail-open": _fail_open,
    "own-namespaces-excluded": _own_namespaces,
    "timeout-own": _timeouts,
}


def _partly(observed: Observations) -> Iterator[CheckResult]:
    """Controllers have no pods that the webhook has missed."""
    counts = observed.injection.get()
    for controller, missed, injected, _ in counts.partly[:IN_SENTENCE]:
        who = f"{controller.kind} {controller.namespace}/{controller.name}"
        what = f"{who}: {missed} of {missed + injected} pods have no annotation {INJECTED_ANNOTATION}"
        why = (
            "created before that, while the webhook did not answer, or before it knew their owner (metric "
            "evenkeel_cache_misses_total)"
        )
        if isinstance(observed.selecting, Missing):
            reason = f"whether a policy selects them now is not known ({observed.selecting.reason}): {why}"
        elif policy := observed.selecting.value.get(controller):
            reason = f"SpreadPolicy {policy} selects them now: {why}"
        else:
            reason = (
                "no policy of the cluster and no built-in one gives them defaults now: the others have "
                "theirs from one that was deleted or changed, or from a policy in a file"
            )
        yield warning(f"{what}, and {reason}", restart_command(controller))
    if rest := counts.partly[IN_SENTENCE:]:
        missed_pods = plural(sum(each.missed for each in rest), "pod")
        yield warning(
            f"{plural(len(rest), 'more controller')} with {missed_pods} without the annotation",
            "run doctor again when these are fixed",
        )
    if not counts.partly:
        yield ok(
            f"no controller has pods with and without {INJECTED_ANNOTATION}, of {plural(counts.pods, 'pod')}"
        )


def restart_command(controller: WorkloadRef) -> str:
    """Return the command that recreates the pods of a controller.

    >>> restart_command(WorkloadRef("shop", "ReplicaSet", "web-5d4"))
    'recreate the pods, such as with kubectl -n shop rollout restart deployment/web'
    """
    match controller.kind:
        case "ReplicaSet":
            what = f"rollout restart deployment/{controller.name.rpartition('-')[0] or controller.name}"
        case "StatefulSet":
            what = f"rollout restart statefulset/{controller.name}"
        case _:
            what = "delete pod …, one after the other"
    return f"recreate the pods, such as with kubectl -n {controller.namespace} {what}"


INJECTION_CHECKS: Final = {"injected-in-part": _partly}
