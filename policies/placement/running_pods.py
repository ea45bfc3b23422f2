"""The pods of a workload that run in a cluster, and the revisions that they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.model.controller_labels import REVISION_HASH
from policies.model.deletion_facts import DeletionFacts
from policies.model.pod_template import RESTARTED_ANNOTATION
from policies.model.workload import Workload
from policies.placement.placement import PreparedPod, prepare, read_workload
from policies.placement.stateful_set_controller import ordinal_of
from policies.placement.victims import Replica

#: Stands for the revision of pods that are placed before a rollout begins: none of it runs.
PREVIOUS: Final = "previous"
#: What is known of pods by namespace and name.
KnownPods: TypeAlias = Mapping[tuple[str, str], DeletionFacts]


@dataclass(frozen=True, slots=True)
class RunningPods:
    """The bound pods of a workload.

    Attributes:
        pods: The pods, by name.
        label: The label that marks their revision; None for kinds without revisions.
    """

    pods: tuple[Replica, ...]
    label: str | None

    @property
    def revisions(self) -> list[str]:
        """The revisions that run, the one with most pods first."""
        counts = Counter(pod.revision for pod in self.pods)
        return sorted(counts, key=lambda revision: (-counts[revision], revision))


def find_running(prepared: PreparedPod, known: KnownPods) -> RunningPods:
    """Return the bound pods that a workload's selector selects; those being deleted are not among them."""
    workload = prepared.workload
    label, selector = revision_label(workload), workload.selector
    is_set = workload.kind.kind == "StatefulSet"
    selected = [] if selector is None else prepared.cluster.selected_pods(workload.namespace, selector)
    pods = []
    for pod in selected:
        if is_set and ordinal_of(pod.name, workload.name) is None:
            continue
        revision = "" if label is None else dict(pod.labels).get(label, "")
        facts = known.get((workload.namespace, pod.name))
        # A StatefulSet's controller waits for a pod that is not ready; here it has become so.
        ready = facts is None or facts.ready or is_set
        pods.append(Replica(pod.name, revision, pod.labels, pod.node, ready, facts))
    return RunningPods(tuple(pods), label)


def revision_label(workload: Workload) -> str | None:
    """Return the label with which the workload's controller marks the revision of a pod."""
    return REVISION_HASH if workload.kind.kind == "StatefulSet" else workload.kind.revision_label


def prepare_revision(
    workload: Workload, context: AdmissionContext, revision: str | None, tolerated: frozenset[str]
) -> PreparedPod:
    """Return the next pod of a workload as one of a revision, whatever the cluster has.

    Args:
        workload: The workload.
        context: What it is placed by.
        revision: The value of the label that marks the revision; None for one that the cluster does not have.
        tolerated: Rules of the API server that the object may break.

    Raises:
        PlacementError: Kubernetes would refuse the object or its pods.
    """
    metadata, label = workload.pod_path.child("metadata"), revision_label(workload)
    # As ``kubectl rollout restart`` makes a revision of its own of an unchanged template.
    edits = [Edit(metadata.child("annotations", RESTARTED_ANNOTATION), None, PREVIOUS)]
    if revision is not None and label is not None:
        edits.append(Edit(metadata.child("labels", label), None, revision))
    return prepare(_edited(workload, context, edits), context, tolerated=tolerated)


def _edited(workload: Workload, context: AdmissionContext, edits: Sequence[Edit]) -> Workload:
    return read_workload(apply_edits(workload.obj, edits), context, namespace=workload.namespace)
