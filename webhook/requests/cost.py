"""The cost of a request that schedules pods: how many they may be for the nodes that there are."""

from __future__ import annotations

from typing import Final, NamedTuple

from planning.simulation.limits import MOST_ROLLED_OUT
from planning.simulation.node_source import NodeSource
from planning.simulation.rollout.rollout import MOST_AGAIN
from policies.config.context import AdmissionContext
from policies.manifests.fields import VALUE_INVALID, ErrorList, FieldPath, invalid_value
from policies.manifests.words import plural

#: What one request may cost: each pod costs its nodes, and besides as much as ``POD_COST`` of them. It takes
#: some seconds on a machine that does nothing else, which is less than the timeout of a request.
MOST_WORK: Final = 10_000_000
POD_COST: Final = 1_000
#: How often each replica of a rollout is scheduled as a rule: of the old revision, and in three courses.
COURSES: Final = 4
#: What each pod costs besides for each node group that may get nodes, as ``POD_COST``.
GROUP_COST: Final = 500


class PodLimit(NamedTuple):
    """The limit on the pods of one request."""

    nodes: int  #: How many nodes there are.
    groups: int = 0  #: How many node groups may get some.
    runs: int = 1  #: How often the pods are scheduled.

    @property
    def most(self) -> int:
        """The most pods that are scheduled in bounded time."""
        return MOST_WORK // (self.nodes + POD_COST + self.groups * GROUP_COST) // self.runs

    def refuses(self, pods: int, path: FieldPath, found: ErrorList) -> bool:
        """Return whether this many pods at a place of the request are too many, which is recorded."""
        if pods <= self.most:
            return False
        counts = [
            plural(self.nodes, "node"),
            *([plural(self.groups, "node group")] if self.groups else ()),
            *([plural(self.runs, "run")] if self.runs > 1 else ()),
        ]
        text = f"must be at most {self.most:,} pods for one request with {' and '.join(counts)}"
        found.add(invalid_value(path, pods, text, VALUE_INVALID))
        return True


def most_rolled_out(context: AdmissionContext, autoscaler: NodeSource | None = None) -> int:
    """Return the most replicas of a rollout or a scale that one request may have.

    One for which nodes are added is simulated again with them, and the nodes are chosen among the groups.
    """
    cost = (nodes_of(context) + POD_COST) * COURSES
    if autoscaler is not None:
        cost = (cost + autoscaler.width * GROUP_COST) * (1 + MOST_AGAIN)
    return min(MOST_WORK // cost, MOST_ROLLED_OUT)


def nodes_of(context: AdmissionContext) -> int:
    """Return how many nodes the cluster of a request has; 0 without one."""
    return 0 if context.cluster is None else context.cluster.node_count
