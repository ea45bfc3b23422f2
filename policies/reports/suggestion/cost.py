"""The cost of a suggestion, and its effect once the manifest is edited: in a sentence each."""

from __future__ import annotations

from typing import Final

from policies.manifests.sanitize import one_line
from policies.manifests.words import listed, plural
from policies.model.constraint import NodeInclusionPolicy
from policies.model.next_pod import SELECTING_KINDS
from policies.placement.core.given_up import GivenUp
from policies.placement.core.placement import Placement
from policies.scheduler.changes import LOSES_DATA, Change, ChangeKind, ClusterChange

_COSTS: Final = {
    ChangeKind.SCHEDULING_GATES: "nothing waits any more for what the gates were set for",
    ChangeKind.TOPOLOGY_KEY: "nothing: it is what the label is called",
    ChangeKind.LABEL_SELECTOR: "pods of other workloads no longer count",
    ChangeKind.MATCH_LABEL_KEYS: "pods of earlier revisions no longer count",
    ChangeKind.TERMINATION: "time",
    ChangeKind.CORDON: "the node may still be under maintenance",
    ChangeKind.NODE_LABEL: "nothing if the label is true; pods count where it says",
    ChangeKind.REQUESTS: "less is set aside for the pod",
    ChangeKind.WHEN_UNSATISFIABLE: "spreading becomes a preference, which other scores can outweigh",
    ChangeKind.TOLERATIONS: "the pod may take room on nodes that are reserved",
    ChangeKind.NODE_SELECTOR: "the pod may go to nodes that it was kept off",
    ChangeKind.NODE_AFFINITY: "the pod may go to nodes that it was kept off",
    ChangeKind.NODE_NAME: "the pod may go to nodes that it was kept off",
}
#: Kinds that replace the pods that run once their template changes.
_ROLLED_OUT: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Rollout", "CloneSet", "Service"})


def cost_of(change: Change | ClusterChange, placement: Placement) -> str:
    """Return the cost of a change, in words.

    Args:
        change: The change.
        placement: Of the pod before it.
    """
    if isinstance(change, ClusterChange):
        if change.what in LOSES_DATA:
            of = listed(change.remade.names)
            return f"CAUTION: the data of {of} are lost, unless they are restored from a backup"
        return plural(change.count, "node") if change.what is ChangeKind.NEW_NODE else _COSTS[change.what]
    match change.what:
        case ChangeKind.NODE_TAINTS_POLICY:
            return "domains whose nodes are all tainted for the pod may stay empty"
        case ChangeKind.NODE_AFFINITY_POLICY if change.value == NodeInclusionPolicy.HONOR:
            return "domains outside the pod's node affinity may stay empty"
        case ChangeKind.NODE_AFFINITY_POLICY:
            return "domains that the pod cannot use count for minDomains"
        case ChangeKind.MIN_DOMAINS:
            enough = "1 domain is" if change.value == 1 else f"{change.value:,} domains are"
            return f"{enough} enough: no autoscaler is made to add another"
        case ChangeKind.MAX_SKEW:
            return f"a domain may hold {change.value:,} pods more than another"
        case ChangeKind.CONSTRAINT:
            return f"nothing spreads the pods by {_key(change, placement)} any more"
        case ChangeKind.TOLERATIONS if change.hollow:
            return "CAUTION: the pod runs beside the control plane, and can starve it"
    return _COSTS[change.what]


def given_up_text(given_up: GivenUp) -> str:
    """Return the guarantee of a constraint that is given up, in a line."""
    field, before, after = given_up.field, given_up.before, given_up.after
    what = f" {field} {before}, which becomes {after}" if field else ", all of it"
    return f"Given up: {one_line(given_up.key)}{what}"


def _key(change: Change, placement: Placement) -> str:
    results = placement.result.results
    position = change.constraint
    known = position is not None and position < len(results)
    return (
        one_line(results[position].applied.constraint.topology_key) if known and position is not None else ""
    )


def how_edited(placement: Placement) -> str:
    """Return the effect of an edited manifest on the running pods, in a sentence."""
    kind, owner = placement.workload.kind, placement.workload.owner
    if kind.is_pod:
        text = "A Pod's constraints and requests cannot be edited"
        if owner is None:
            return f"{text}: delete it, and create it again with the change."
        return f"{text}: change the template of {_titled(owner.kind, owner.name)}, which replaces it."
    if owner is not None:
        title = _titled(owner.kind, owner.name)
        return f"{kind.kind} belongs to {title}: change the template there, which rolls out every pod."
    if kind.kind in _ROLLED_OUT:
        return "Editing the template rolls out every pod again."
    if (kind.group, kind.kind) == ("batch", "Job"):
        return "The template of a Job cannot be edited: delete the Job, and create it again with the change."
    if (kind.group, kind.kind) in SELECTING_KINDS:
        return (
            "Editing the template changes pods that are made from then on; those that run stay as they are."
        )
    return "Editing the template changes pods that are made from then on."


def _titled(kind: str, name: str) -> str:
    return f"{one_line(kind)} {one_line(name)}"
