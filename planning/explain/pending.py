"""The pods of a cluster that wait for a node: a sentence for each controller, or for each of its reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import orjson
from rich.console import RenderableType
from rich.text import Text

from planning.simulation.verdicts import pending_sentence
from policies.config.context import AdmissionContext
from policies.manifests.fields import member
from policies.manifests.sanitize import one_line
from policies.manifests.wire import INLINE, Count, Keywords
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.model.cluster_workloads import ClusterWorkloads, PendingPods, WaitingPod
from policies.model.version import KubernetesVersion
from policies.model.workload_ref import WorkloadRef
from policies.pods.placement import PlacementError, evaluate_manifest
from policies.reports.terminal import print_all

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/pending/v1"
#: Pods with different specs that are evaluated: with 5,000 nodes each takes some 6 ms.
MOST_EVALUATED: Final = 1_000
#: Names of pods that an answer has of each reason.
MOST_NAMED: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPending:
    """Pending pods of one controller that wait for the same reason."""

    workload: Annotated[WorkloadRef, INLINE]  #: The controller, or the pod itself where it has none.
    count: Count  #: How many pods.
    pods: tuple[str, ...]  #: The first of their names.
    feasible_nodes: Count | None  #: How many nodes one fits; null if it was not evaluated.
    sentence: str  #: Why it is pending.
    message: str = ""  #: The same in the scheduler's words; empty for a pod that fits.


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPodsAnswer:
    """The pods of a cluster that wait for a node.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)] = SCHEMA  #: The form's name and version.
    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    nodes: Count  #: How many nodes there are.
    pods: Count  #: How many pods are pending.
    reasons: Sequence[ControllerPending]  #: By controller: those that fit no node first.
    not_tried: Count  #: How many pods were not evaluated, because they are too many or the work was ended.
    unread: Sequence[str]  #: What could not be read of the cluster, a line each.

    @property
    def all_fit(self) -> bool:
        """Whether each of them fits some node, as far as all were evaluated."""
        return not self.not_tried and all(each.feasible_nodes for each in self.reasons)


def find_reasons(
    pending: PendingPods,
    workloads: ClusterWorkloads,
    context: AdmissionContext,
    *,
    namespace: str = "",
    unread: Sequence[str] = (),
    stop: Callable[[], bool],
) -> PendingPodsAnswer:
    """Return why each pending pod is pending.

    Args:
        pending: The pods.
        workloads: The workloads, by which their controllers are known.
        context: What the pods are evaluated by; it must have a cluster.
        namespace: The only namespace that is looked at; empty for all.
        unread: What could not be read of the cluster.
        stop: Whether to evaluate no more.
    """
    if context.cluster is None:
        raise ValueError("there is no cluster to place anything in")
    pods = [pod for pod in pending.each() if namespace in ("", pod.namespace)]
    known: dict[tuple[WorkloadRef, bytes], ControllerPending] = {}
    found: dict[tuple[WorkloadRef, str], ControllerPending] = {}
    tried = 0
    for pod in pods:
        obj, ref = orjson.loads(pod.text), _controller(pod, workloads)
        # Pods of one template differ in their names alone, those of a StatefulSet in their claims as well.
        alike = ref, orjson.dumps([obj.get("spec"), member(obj, "metadata").get("labels")])
        if alike not in known:
            if stop() or len(known) == MOST_EVALUATED:
                break
            known[alike] = _evaluated(obj, ref, context)
        reason, tried = known[alike], tried + 1
        before = found.get((ref, reason.sentence), reason)
        names = (*before.pods, pod.name)[:MOST_NAMED]
        found[ref, reason.sentence] = replace(before, count=before.count + 1, pods=names)
    return PendingPodsAnswer(
        kubernetes_version=context.kubernetes_version,
        nodes=context.cluster.node_count,
        pods=pending.count if not namespace else len(pods),
        reasons=sorted(
            found.values(), key=lambda each: (bool(each.feasible_nodes), -each.count, each.workload)
        ),
        not_tried=len(pods) - tried + (0 if namespace else pending.count - len(pods)),
        unread=unread,
    )


def _controller(pod: WaitingPod, workloads: ClusterWorkloads) -> WorkloadRef:
    if pod.owner is None:
        return WorkloadRef(pod.namespace, "Pod", pod.name)
    return workloads.controller(WorkloadRef(pod.namespace, pod.owner.kind, pod.owner.name))


def _evaluated(obj: dict[str, Any], ref: WorkloadRef, context: AdmissionContext) -> ControllerPending:
    """Return the reason of a pod, so far of none."""
    reason = ControllerPending(workload=ref, count=0, pods=(), feasible_nodes=None, sentence="")
    try:
        placement = evaluate_manifest(obj, context)
    except PlacementError as error:
        return replace(reason, sentence=f"not evaluated: {one_line(str(error))}")
    result = placement.result
    fits, size = result.feasible_count, plural(len(result.names), "node")
    sentence = f"fits {fits:,} of {size} now" if fits else pending_sentence(result, placement.cluster)
    return replace(reason, feasible_nodes=fits, sentence=sentence, message=result.message)


def render_text(answer: PendingPodsAnswer, *, width: int, color: bool) -> str:
    """Return the answer as text, as ``print_all`` does."""
    return print_all(_parts(answer), width=width, color=color)


def headline(answer: PendingPodsAnswer) -> str:
    """Return how many pods are pending, and how many of them fit nowhere."""
    if not answer.pods:
        return "No pod is pending"
    stuck = sum(each.count for each in answer.reasons if not each.feasible_nodes)
    pending = f"{plural(answer.pods, 'pod')} {'is' if answer.pods == 1 else 'are'} pending"
    if not stuck:
        return f"{pending}, and each fits a node now"
    return f"{pending}, and no node takes {'it' if answer.pods == 1 else f'{stuck:,} of them'}"


def _parts(answer: PendingPodsAnswer) -> Iterator[RenderableType]:
    style = "bold green" if answer.all_fit else "bold red"
    yield Text.assemble((headline(answer), style), f" (Kubernetes {answer.kubernetes_version})")
    for each in answer.reasons:
        ref = each.workload
        count = plural(each.count, "pod")
        if ref.kind == "Pod":
            count = "a pod without a controller"
        elif each.count <= IN_PHRASE:
            count += f" ({listed(map(one_line, each.pods))})"
        title = one_line(f"{ref.namespace}/{ref.name}")
        yield ""
        yield Text.assemble((title, "bold"), f", {count}: {each.sentence}.")
    if answer.not_tried:
        yield from ("", Text(f"{plural(answer.not_tried, 'pod')} not evaluated.", "yellow"))
    yield from (Text(line, "yellow") for line in answer.unread)
