"""A scenario: a cluster as it is, what happens to it, and what is assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planning.simulation.cluster_simulation import never
from planning.simulation.events import Event
from planning.simulation.node_source import NodeSource
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload import Workload
from policies.model.workload_ref import WorkloadRef
from policies.pods.known_pods import KnownPods
from policies.scheduler.binding import TieBreaker, first_by_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """A cluster as it is, always whole: index, pods with and without a node, workloads."""

    context: AdmissionContext  #: What pods are prepared by; its cluster must be there, and stays as it is.
    known: KnownPods  #: What is known of its pods besides.
    workloads: ClusterWorkloads  #: Its workloads.
    unread: tuple[str, ...] = ()  #: The kinds that were not read, as kubectl names them.
    #: Objects that were applied to it, by workloads without their group, where it is not known to have them.
    applied: Mapping[WorkloadRef, Workload] = field(default_factory=dict)
    #: What its workloads were prepared by before the events; None for the same as after them.
    before: AdmissionContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is asked: ``play`` answers it."""

    cluster: ClusterState  #: The cluster as it is.
    #: What happens, in order; without any only what is pending is tried. Events on nodes that follow one
    #: another are one moment: all of them happen, and then pods are scheduled.
    events: tuple[Event, ...] = ()
    each: str | None = None  #: The topology key of which each domain is lost after the events; None for none.
    #: Whom the verdict is about; None for all that are changed or hit.
    workloads: tuple[WorkloadRef, ...] | None = None
    nodes_from: NodeSource | None = None  #: What adds nodes for pods that stay pending; None for nothing.
    scale_down: bool = False  #: Whether that then removes the nodes that are not needed.
    unreachable: bool = False  #: Whether nodes that ``each`` loses stay in the API, tainted.
    allow_missing: int = 0  #: How many replicas of each workload may be missing after events on nodes.
    #: How many ways are played; None for all, within a limit, of a last moment that rolls out or scales, and
    #: for one way otherwise.
    runs: int | None = None
    searches: int = 1  #: Of how many of the last events all ways are played where that is not said.
    choose: TieBreaker = first_by_name  #: Makes the choices of the likely way.
    #: Makes those of another way, by its number, of several runs.
    choose_otherwise: Callable[[int], TieBreaker] = lambda _number: first_by_name
    stop: Callable[[], bool] = never  #: Whether to end with what is done; called before each pod.
    progress: Callable[[float], None] = lambda _share: (
        None
    )  #: Called with the share of the work that is done.

    @property
    def upgrade(self) -> str:
        """The release of Kubernetes where nothing but another one is asked; empty otherwise."""
        releases = [event.release for event in self.events]
        return releases[-1] or "" if releases and all(releases) and self.each is None else ""
