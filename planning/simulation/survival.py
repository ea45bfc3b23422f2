"""What is left of a workload when the fullest domain of a key goes, before events and after them.

Counts the workload's own pods, whatever any selector says: a constraint that selects others, or none, may
be satisfied while all pods of the workload are in one zone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from planning.simulation.cluster_simulation import UNREACHABLE
from planning.simulation.outcome import MOST_DOMAINS, Survival
from policies.model.pod import Pod
from policies.model.taints import SCHEDULING_EFFECTS, TRANSIENT_TAINTS, Taint, first_untolerated
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest

#: Taints that pass, and with which a node still runs the pods that it has.
_PASSING = TRANSIENT_TAINTS - {taint.key for taint in UNREACHABLE}


def no_domains(_key: str) -> Collection[str] | None:
    """Return no domain: nothing adds nodes."""
    return ()


def survivals(
    request: SchedulingRequest,
    before: Mapping[str, int] | None,
    after: Mapping[str, int],
    cluster_before: ClusterIndex,
    cluster_after: ClusterIndex,
    *,
    extra_domains: Callable[[str], Collection[str] | None] = no_domains,
) -> tuple[Survival, ...]:
    """Return what is left of a workload, for each key of its constraints, and for zone and host.

    Args:
        request: Its next pod.
        before: How many of its pods run on each node before the events; None for a workload that is new.
        after: The same at the end.
        cluster_before: The cluster before the events.
        cluster_after: The cluster at the end.
        extra_domains: Returns the domains of a key in which nodes may be added; None where that is not known.
    """
    was = None if before is None else _Domains(request.pod, before, cluster_before)
    now = _Domains(request.pod, after, cluster_after)
    keys = dict.fromkeys(applied.constraint.topology_key for applied in request.constraints)
    carried = cluster_before.nodes.label_keys() | cluster_after.nodes.label_keys()
    keys |= dict.fromkeys(key for key in (ZONE, HOSTNAME) if key in carried)
    return tuple(_survival(key, was, now, extra_domains(key)) for key in keys)


def most_populated(
    before: Mapping[str, int] | None, after: Mapping[str, int] | None
) -> tuple[dict[str, int] | None, dict[str, int] | None, int]:
    """Return counts by domain, sorted, of as many domains as are shown, and how many others there are.

    Args:
        before: The counts before; None for none.
        after: The counts after; None for none.
    """
    was, now = before or {}, after or {}
    both = was.keys() | now.keys()
    shown = sorted(both if len(both) <= MOST_DOMAINS else _most_populated(was, now, both))

    def of(counts: Mapping[str, int] | None) -> dict[str, int] | None:
        return None if counts is None else {value: counts[value] for value in shown if value in counts}

    return of(before), of(after), len(both) - len(shown)


def _most_populated(was: Mapping[str, int], now: Mapping[str, int], both: Collection[str]) -> list[str]:
    """Return the domains with most pods at either time, as many as are shown; most have none."""
    held = {value for counts in (was, now) for value, pods in counts.items() if pods}
    most = sorted(held, key=lambda value: (-max(was.get(value, 0), now.get(value, 0)), value))
    empty = sorted(set(both) - held) if len(held) < MOST_DOMAINS else []
    return [*most, *empty][:MOST_DOMAINS]


class _Domains:
    """The nodes of a cluster for the pods of one workload, and how many it has on each."""

    def __init__(self, pod: Pod, running: Mapping[str, int], cluster: ClusterIndex) -> None:
        self.running = sum(running.values())
        self._pod, self._on, self._cluster = pod, running, cluster

    def allowed(self, key: str) -> frozenset[str]:
        """Return the domains with a node that affinity and tolerations allow, cordoned or not."""
        with self._cluster.reading():
            view = NodeView(self._cluster, self._pod)
            asked = ("allowed domains", key, self._pod.affinity, self._pod.tolerations)
            return view.derive(asked, lambda: self._find_allowed(view, key))

    def _find_allowed(self, view: NodeView, key: str) -> frozenset[str]:
        tolerated = view.derive(("lasting", self._pod.tolerations), self._tolerated)
        label = view.label(key)
        nodes = view.matches_affinity & tolerated[view.taint_numbers] & label.present
        return frozenset(label.texts[number] for number in np.unique(label.numbers[nodes]).tolist())

    def _tolerated(self) -> NDArray[np.bool_]:
        """Return which lists of taints keep the pods away for good."""

        def is_tolerated(taints: Iterable[Taint]) -> bool:
            lasting = (taint for taint in taints if taint.key not in _PASSING)
            return first_untolerated(lasting, self._pod.tolerations, SCHEDULING_EFFECTS) is None

        return np.array(self._cluster.nodes.map_taints(is_tolerated), np.bool_)

    def held(self, key: str) -> dict[str, int]:
        """Return the pods by domain; those on nodes without the key are in none."""
        found = dict[str, int]()
        for name, pods in self._on.items():
            node = self._cluster.nodes.find(name)
            if pods and node is not None and (value := node.labels.get(key)) is not None:
                found[value] = found.get(value, 0) + pods
        return found


def _survival(key: str, was: _Domains | None, now: _Domains, extra: Collection[str] | None) -> Survival:
    held = now.held(key)
    allowed = now.allowed(key) | set(extra or ())
    after = dict.fromkeys(allowed, 0) | held
    held_before = {} if was is None else was.held(key)
    before = None if was is None else dict.fromkeys(was.allowed(key), 0) | held_before
    shown_before, shown, others = most_populated(before, after)
    fullest, fullest_before = _fullest(held), _fullest(held_before)
    left = now.running - held.get(fullest or "", 0)
    another = extra is None or bool(allowed - {fullest})
    return Survival(
        topology_key=key,
        possible=None if extra is None else len(allowed),
        before=shown_before,
        after=shown or {},
        other_domains=others,
        fullest_before=fullest_before,
        fullest=fullest,
        left_before=None if was is None else was.running - held_before.get(fullest_before or "", 0),
        left=left,
        stops=now.running > 1 and not left and another,
    )


def _fullest(held: Mapping[str, int]) -> str | None:
    return min(held, key=lambda value: (-held[value], value), default=None)
