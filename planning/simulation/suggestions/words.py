"""The words of suggestions: what is done in the cluster, and what each change costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planning.simulation.events import NamedPod
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_MESSAGE, listed, plural
from policies.model.constraint import NodeInclusionPolicy
from policies.pods.placement import Placement
from policies.scheduler.changes import LOSES_DATA, Change, ChangeKind, ClusterChange, RemadeClaims

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


def _key(change: Change, placement: Placement) -> str:
    results = placement.result.results
    position = change.constraint
    known = position is not None and position < len(results)
    return (
        one_line(results[position].applied.constraint.topology_key) if known and position is not None else ""
    )


def delete_command(pod: NamedPod) -> str:
    """Return the command that deletes a pod."""
    return f"kubectl delete pod {one_line(pod.name)} -n {one_line(pod.namespace)}"


def in_cluster(change: ClusterChange) -> str:
    """Return the action in the cluster, with the command where there is one."""
    if change.what in LOSES_DATA:
        return _remade(change.remade)
    names = ", ".join(map(one_line, change.nodes))
    key, value = one_line(change.key), None if change.value is None else one_line(change.value)
    match change.what:
        case ChangeKind.TERMINATION:
            which = (
                f"{plural(change.count, 'node')}{': ' if change.count == len(change.nodes) else ', such as '}"
            )
            return f"wait until pods that are being deleted are gone from {which}{names}"
        case ChangeKind.CORDON:
            return f"uncordon {names}, or wait until its drain is over: kubectl uncordon {names}"
        case ChangeKind.NODE_LABEL:
            command = f"kubectl label node {names} {key}={value}"
            return f"give {names} the label {key} that it lacks; if {value} is true: {command}"
    without = f", without {taints_text(change.without)}" if change.without else ""
    if change.key and value is None:
        each = "a new domain" if change.count == 1 else "a new domain each"
        return f"add {plural(change.count, 'node')} like {names}, in {each} of {key}{without}"
    return f"add a node like {names}{f' with {key} {value}' if key else ''}{without}"


def _remade(claims: RemadeClaims) -> str:
    """Return how claims are made again, elsewhere."""
    names, space = " ".join(map(one_line, claims.names)), one_line(claims.namespace)
    which = listed(claims.names)
    new, old = one_line(claims.storage_class), one_line(claims.like)
    how = ""
    if new:
        how = f" in StorageClass {new}, which waits for the pod (name it where the claim is declared)"
    if old:
        how += (
            f"; create it like {old} with volumeBindingMode WaitForFirstConsumer, "
            f"since {old} itself cannot be changed"
        )
    return (
        f"delete the volume of {which} with its data, and make the claim again{how}: "
        f"kubectl delete pvc {names} -n {space}, then kubectl delete pod {one_line(claims.pod)} -n {space}; "
        "a StatefulSet makes both again by itself"
    )


def taints_text(keys: Sequence[str]) -> str:
    """Return taints by their keys.

    >>> taints_text(["team"]), taints_text(["team", "gpu"])
    ('the taint team', 'the taints team, gpu')
    """
    return f"the {'taint' if len(keys) == 1 else 'taints'} {listed(keys, IN_MESSAGE)}"
