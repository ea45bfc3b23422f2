"""The selector that a constraint should most likely have: that of its own workload, if the manifest tells."""

from __future__ import annotations

from policies.manifests.edits import Edit
from policies.model.declared import DeclaredConstraint, Workload

#: The label of applications that belong together: who selects by it means all of them.
TOGETHER = "app.kubernetes.io/part-of"


def own_selector_edits(workload: Workload, declared: DeclaredConstraint) -> tuple[Edit, ...]:
    """Return the edit that gives a constraint the selector of its workload.

    Returns:
        Nothing where the workload has no selector of its own, where that does not select the template's
        labels, or where it names a key that ``matchLabelKeys`` lists: the API server would refuse the pods.
    """
    selector = workload.selector
    if selector is None or selector.empty or not selector.matches(workload.labels):
        return ()
    if not selector.keys.isdisjoint(declared.constraint.match_label_keys):
        return ()
    path = declared.path.child("labelSelector")
    return (Edit(path, declared.raw.get("labelSelector"), selector.to_dict()),)


def is_patch(workload: Workload) -> bool:
    """Tell whether a manifest is only a part of a workload, as Kustomize's patches are.

    It says nothing of the labels of the pods then: the API demands labels where a kind has a selector, and
    containers of every pod.
    """
    return not workload.labels and (workload.kind.selector is not None or "containers" not in workload.spec)
