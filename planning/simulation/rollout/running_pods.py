"""The pods of a workload in a cluster, and the revisions that they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from planning.simulation.rollout.victims import Replica
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import ErrorList
from policies.model.controller_labels import REVISION_HASH, ordinal_of
from policies.model.pod_template import RESTARTED_ANNOTATION
from policies.model.storage_readers import read_claim_templates
from policies.model.workload import Workload
from policies.pods.known_pods import KnownPods
from policies.pods.placement import PlacementError, PreparedPod, prepare, read_workload
from policies.scheduler.pod_claims import with_claims, with_known_claims

#: Stands for the revision of pods that are placed before a rollout begins: none of it runs.
PREVIOUS: Final = "previous"


@dataclass(frozen=True, slots=True)
class RunningPods:
    """The pods of a workload."""

    #: The bound pods by name, then those without a node as far as they are known, oldest first.
    pods: tuple[Replica, ...]
    label: str | None  #: The label that marks their revision; None for kinds without revisions.

    @property
    def revisions(self) -> list[str]:
        """The revisions that there are, the one with most pods first."""
        counts = Counter(pod.revision for pod in self.pods)
        return sorted(counts, key=lambda revision: (-counts[revision], revision))

    @property
    def bound(self) -> int:
        """How many have a node."""
        return sum(pod.node is not None for pod in self.pods)


def find_running(
    prepared: PreparedPod, known: KnownPods, without: frozenset[str] = frozenset()
) -> RunningPods:
    """Return the pods that a workload's selector selects; those being deleted are not among them.

    Args:
        prepared: The workload, and its cluster.
        known: What is known of pods.
        without: The names of pods that are taken to be deleted.
    """
    workload = prepared.workload
    label, selector = revision_label(workload), workload.own_pods
    if selector is None:
        return RunningPods((), label)
    is_set = workload.kind.kind == "StatefulSet"
    pods = []
    for pod in prepared.cluster.selected_pods(workload.namespace, selector):
        revision = "" if label is None else dict(pod.labels).get(label, "")
        facts = known.facts(workload.namespace, pod.name)
        # A StatefulSet's controller waits for a pod that is not ready; here it has become so.
        ready = facts is None or facts.ready or is_set
        pods.append(Replica(pod.name, revision, pod.labels, pod.node, ready, facts))
    bound = {pod.name for pod in pods}
    for waiting in known.pending(workload.namespace, selector):
        if waiting.name not in bound:
            revision = "" if label is None else waiting.labels.get(label, "")
            facts = known.facts(workload.namespace, waiting.name)
            labels = frozenset(waiting.labels.items())
            pods.append(Replica(waiting.name, revision, labels, facts=facts))
    return RunningPods(
        tuple(
            pod
            for pod in pods
            if pod.name not in without and not (is_set and ordinal_of(pod.name, workload.name) is None)
        ),
        label,
    )


def revision_label(workload: Workload) -> str | None:
    """Return the label with which the workload's controller marks the revision of a pod."""
    return REVISION_HASH if workload.kind.kind == "StatefulSet" else workload.kind.revision_label


def prepare_revision(workload: Workload, context: AdmissionContext, revision: str | None) -> PreparedPod:
    """Return the next pod of a workload as one of a revision, whatever the cluster has.

    Args:
        workload: The workload.
        context: What it is placed by.
        revision: The value of the label that marks the revision; None for one that the cluster does not have.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods.
    """
    metadata, label = workload.pod_path.child("metadata"), revision_label(workload)
    # As ``kubectl rollout restart`` makes a revision of its own of an unchanged template.
    edits = [Edit(metadata.child("annotations", RESTARTED_ANNOTATION), None, PREVIOUS)]
    if revision is not None and label is not None:
        edits.append(Edit(metadata.child("labels", label), None, revision))
    return prepare(_edited(workload, context, edits), context)


def prepare_sample(
    workload: Workload, context: AdmissionContext, known: KnownPods, revision: str, name: str
) -> PreparedPod | None:
    """Return the next pod of a revision as the cluster has one; None if none is known, or it is refused.

    Args:
        workload: The workload.
        context: What it is placed by.
        known: What is known of pods.
        revision: The value of the label that marks the revision.
        name: What the pod is called.
    """
    selector = workload.own_pods
    pod = None if selector is None else known.sample(workload.namespace, revision, selector)
    if pod is None:
        return None
    pod["metadata"]["name"] = name
    try:
        # A pod of the cluster breaks no rule, whatever a request may.
        prepared = prepare(read_workload(pod, context), replace(context, tolerated=frozenset()))
    except PlacementError:
        return None
    return _with_own_claims(prepared, workload, name)


def _with_own_claims(prepared: PreparedPod, workload: Workload, name: str) -> PreparedPod:
    """Return a pod of a StatefulSet with the claims of its own name, not those of the pod that it is like."""
    templates = read_claim_templates(workload.obj, ErrorList())
    if not templates:
        return prepared
    pod, made = prepared.request.pod, tuple(f"{each.name}-{workload.name}-" for each in templates)
    claims = tuple(
        claim
        for claim in pod.volumes.claims
        if not (claim.name.startswith(made) and claim.name.rpartition("-")[2].isdecimal())
    )
    pod = pod._replace(claim_templates=templates, volumes=pod.volumes._replace(claims=claims))
    pod = with_known_claims(with_claims(pod, name), prepared.cluster.storage)
    return replace(prepared, request=replace(prepared.request, pod=pod))


def _edited(workload: Workload, context: AdmissionContext, edits: Sequence[Edit]) -> Workload:
    return read_workload(apply_edits(workload.obj, edits), context, namespace=workload.namespace)
