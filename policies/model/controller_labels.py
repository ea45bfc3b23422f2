"""Whether a selector selects the pods of the workload that has it, with the labels that controllers add."""

from __future__ import annotations

from collections.abc import Mapping

from policies.manifests.fields import ErrorList
from policies.model.declared import Workload
from policies.model.labels import LabelSelector, Operator
from policies.model.next_pod import controller_labels
from policies.model.workload import descend

#: The groups whose controllers are known to add no labels but those of ``controller_labels``.
KNOWN_GROUPS = frozenset({"", "apps", "batch", "argoproj.io"})
#: Where a Rollout keeps the labels that its pods have for a while: ``spec.strategy``, Argo Rollouts 1.8.
PASSING_LABELS = (
    ("canary", "canaryMetadata"),
    ("canary", "stableMetadata"),
    ("blueGreen", "activeMetadata"),
    ("blueGreen", "previewMetadata"),
)


def own_mismatch(selector: LabelSelector, workload: Workload) -> str:
    """Return what a selector asks for that the workload's pods surely lack, in words; empty for nothing."""
    if _surely_matches(selector, workload.labels):
        return ""
    added = controller_labels(workload.obj, workload.kind)
    judged = _judged(selector, workload, added)
    return judged.mismatch({**added, **workload.labels})


def _surely_matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Tell whether a selector matches whatever labels are added: without looking at what that would be."""
    return not selector.match_expressions and selector.matches(labels)


def _judged(selector: LabelSelector, workload: Workload, added: Mapping[str, str]) -> LabelSelector:
    """Return the part of a selector that can be judged before there is a pod.

    What it asks of a value that the controller makes is left out (``selector-names-revision-label``), and of
    kinds that are not known well enough all labels that the template lacks.
    """
    open_keys = _passing_keys(workload)
    if workload.kind.group not in KNOWN_GROUPS or workload.kind.kind == "PodTemplate":
        open_keys |= selector.keys - workload.labels.keys()
    made = (added.keys() - workload.labels.keys()) | open_keys
    by_presence = {Operator.EXISTS, Operator.DOES_NOT_EXIST}
    return LabelSelector(
        tuple(pair for pair in selector.match_labels if pair[0] not in made),
        tuple(
            entry
            for entry in selector.match_expressions
            if entry.key not in (open_keys if entry.operator in by_presence else made)
        ),
    )


def _passing_keys(workload: Workload) -> set[str]:
    """Return the labels that Argo Rollouts puts on pods and takes away again."""
    if workload.kind.kind != "Rollout":
        return set()
    found = ErrorList()
    ways = (("spec", "strategy", *way, "labels") for way in PASSING_LABELS)
    return {key for way in ways for key in descend(workload.obj, way, found)}
