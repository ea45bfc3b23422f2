"""The choices that Kubernetes leaves open: one of several best nodes, some of equal pods.

Kubernetes chooses at random, or by what no snapshot has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

from planning.simulation.rollout.victims import Replica
from policies.scheduler.binding import TieBreaker, first_by_name
from policies.scheduler.domain_tally import DomainTally


class PodsOfCourse(Protocol):
    """The pods of a workload while one course of events is taken: ``ReplicaPods``."""

    tally: DomainTally

    @property
    def state(self) -> Hashable:
        """The key of the state: courses with the same key go on alike."""

    def __iter__(self) -> Iterator[Replica]:
        """Iterate over the pods."""


class Choices(Protocol):
    """Makes the choices of one course of events."""

    is_likely: bool  #: Whether they are those of the likely course.

    @property
    def were_free(self) -> bool:
        """Whether there was anything to choose."""

    def begin(self, pods: PodsOfCourse) -> None:
        """Learn what the choices are about."""

    def node(self, tied: Sequence[str]) -> str:
        """Choose one of the nodes with the best total, sorted by name."""

    def victims(self, tied: Sequence[Replica], picks: int) -> list[Replica]:
        """Choose so many of some pods, fewer than all, sorted by name, to be deleted."""


class UsualChoices:
    """Chooses the first by name, or as a tie breaker does."""

    is_likely = True

    def __init__(self, choose: TieBreaker = first_by_name) -> None:
        self._choose = choose
        self.were_free = False

    def begin(self, pods: PodsOfCourse) -> None:
        """Look at nothing else."""

    def node(self, tied: Sequence[str]) -> str:
        """Choose a node."""
        self.were_free = self.were_free or len(tied) > 1
        return self._choose(tied)

    def victims(self, tied: Sequence[Replica], picks: int) -> list[Replica]:
        """Choose pods."""
        self.were_free = True
        left = {pod.name: pod for pod in tied}
        return [left.pop(self._choose(list(left))) for _ in range(picks)]


class SkewingChoices:
    """Chooses what leaves the domains of one constraint as unequal as it can, looking at one step only.

    A pod goes to the fullest domain. Old pods leave the domain that has most new ones: there it makes room
    for yet another.
    """

    is_likely = False
    were_free = True

    def __init__(self, position: int) -> None:
        self._position = position
        self._pods: PodsOfCourse | None = None

    def begin(self, pods: PodsOfCourse) -> None:
        """Learn what the choices are about."""
        self._pods = pods

    def node(self, tied: Sequence[str]) -> str:
        """Choose a node."""
        return max(tied, key=self._count)

    def victims(self, tied: Sequence[Replica], picks: int) -> list[Replica]:
        """Choose pods."""
        old = {pod.revision for pod in tied}
        newer = Counter(self._domain(pod) for pod in self._pods or () if pod.revision not in old)

        in_domain = Counter(map(self._domain, tied))

        def kept(pod: Replica) -> tuple[int, int, int, str, str]:
            domain, count = self._domain(pod), self._count(pod.node)
            emptied = count - min(picks, in_domain[domain])
            return -newer[domain], emptied, count, domain or "", pod.name

        return sorted(tied, key=kept)[:picks]

    def _domain(self, pod: Replica) -> str | None:
        if self._pods is None or pod.node is None:
            return None
        return self._pods.tally.domain(self._position, pod.node)

    def _count(self, node: str | None) -> int:
        if self._pods is None or node is None:
            return 0
        return self._pods.tally.count(self._position, node)


class Explored(Exception):  # noqa: N818 - it ends a course, and is no error.
    """A state that an earlier course has reached: what follows has been seen."""


class ScriptedChoices:
    """Follows one of all ways to choose; ``next_script`` returns the one after it."""

    is_likely = False
    were_free = True

    def __init__(self, script: list[int], seen: set[Hashable]) -> None:
        self._script = script
        self._seen = seen
        self._options: list[int] = []
        self._pods: PodsOfCourse | None = None

    def begin(self, pods: PodsOfCourse) -> None:
        """Learn what the choices are about."""
        self._pods = pods

    def node(self, tied: Sequence[str]) -> str:
        """Choose a node."""
        return tied[self._choose(("node", tuple(tied)), len(tied))]

    def victims(self, tied: Sequence[Replica], picks: int) -> list[Replica]:
        """Choose pods; of those that are alike the first."""
        groups: dict[Hashable, list[Replica]] = {}
        for pod in tied:
            groups.setdefault((pod.node, pod.labels), []).append(pod)
        lots, chosen = list(groups.values()), list[Replica]()
        left = len(tied)
        # Of each group in turn it is chosen how many of its pods go.
        for lot in lots:
            left -= len(lot)
            missing = picks - len(chosen)
            least, most = max(missing - left, 0), min(missing, len(lot))
            where = ("victims", picks, tuple(pod.name for pod in chosen), lot[0].name)
            chosen += lot[: least + self._choose(where, most - least + 1)]
        return chosen

    @property
    def is_scripted(self) -> bool:
        """Whether it is not the first of the ways to choose."""
        return bool(self._script)

    def next_script(self) -> list[int] | None:
        """Return the script of the next course; None after the last one."""
        script = (self._script + [0] * len(self._options))[: len(self._options)]
        for turn in reversed(range(len(script))):
            if script[turn] + 1 < self._options[turn]:
                return [*script[:turn], script[turn] + 1]
        return None

    def _choose(self, where: Hashable, options: int) -> int:
        if options == 1:
            return 0
        turn = len(self._options)
        if turn >= len(self._script):
            state = (where, None if self._pods is None else self._pods.state)
            if state in self._seen:
                raise Explored
            self._seen.add(state)
        self._options.append(options)
        return self._script[turn] if turn < len(self._script) else 0
