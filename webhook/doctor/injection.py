"""Whether the webhook has seen all pods of a controller: it injects into all of them or into none. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.manifests.words import IN_SENTENCE, plural
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.workload_ref import WorkloadRef
from webhook.doctor.check_result import CheckResult, ok, warning
from webhook.doctor.observations import Observations


def _partly(observed: Observations) -> Iterator[CheckResult]:
    """Controllers have no pods that the webhook has missed."""
    counts = observed.injection.get()
    for controller, missed, injected in counts.partly[:IN_SENTENCE]:
        yield warning(
            f"{controller.kind} {controller.namespace}/{controller.name}: {missed} of {missed + injected} "
            f"pods have no annotation {INJECTED_ANNOTATION}: created before the policy, while the webhook "
            "did not answer, or before it knew their owner (metric evenkeel_cache_misses_total)",
            restart_command(controller),
        )
    if rest := counts.partly[IN_SENTENCE:]:
        missed_pods = plural(sum(missed for _, missed, _ in rest), "pod")
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


CHECKS: Final = {"injected-in-part": _partly}
