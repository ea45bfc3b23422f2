"""The goal for a workload: how many replicas may be lost with one domain, and one a node."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Final, TypeAlias

from policies.manifests.errors import UsageError
from policies.manifests.fields import shown
from policies.manifests.wire import INTERNAL, SentAs, sent
from policies.model.scaling import ReplicaRange
from policies.model.topology_keys import HOSTNAME

#: How many replicas may be lost: a share of those that run, or a number.
LossLimit: TypeAlias = Fraction | int

_SHARE: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,4})|([0-9]{1,3})%")
_NUMBER: Final = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A condition that must hold at every number of replicas of a range."""

    key: Annotated[str, SentAs("topologyKey")]  #: The topology key of which one domain is lost.
    #: How many replicas may be lost with it; None for any number.
    limit: Annotated[LossLimit | None, INTERNAL] = None
    #: Whether no node may have two replicas more than another node that could take one, of the same domain
    #: where there is a limit.
    one_a_node: Annotated[bool, SentAs("oneANode")] = False
    #: Whether a DoNotSchedule constraint must reach the limit: what only happens to be so in the cluster as
    #: it is does not count.
    enforced: bool = False
    allow_soft: bool = False  #: Whether DoNotSchedule constraints that are there may be weakened.
    replicas: ReplicaRange  #: The range.
    #: With how many domains it has to be reached: what those cannot do is not wanted; None where it is wanted
    #: in any case.
    domains: Annotated[int | None, INTERNAL] = None

    @property
    @sent
    def lose_at_most(self) -> str | None:
        """A share of the replicas such as "1/3", or a number of them; None for any number."""
        return None if self.limit is None else str(self.limit)

    def allowed(self, replicas: int) -> int:
        """Return how many of so many replicas one domain may have.

        A share is rounded up to whole replicas, as the percentages of a PodDisruptionBudget are: a third of 4
        is 2, since 3 domains cannot have less.

        >>> goal = Goal(key="zone", limit=Fraction(1, 3), replicas=ReplicaRange(3, 12))
        >>> goal.allowed(3), goal.allowed(4), goal.within(2).allowed(12)
        (1, 2, 6)
        """
        if self.limit is None:
            return replicas
        share = isinstance(self.limit, Fraction)
        wanted = -(-(self.limit * replicas) // 1) if share else self.limit
        least = 0 if self.domains is None else -(-replicas // max(self.domains, 1))
        return min(max(int(wanted), least), replicas)

    @property
    def range(self) -> range:
        """The numbers of replicas."""
        return range(self.replicas.least, self.replicas.most + 1)

    @property
    def domains_needed(self) -> int:
        """With fewer domains the goal is missed at some number of replicas."""
        return max(-(-replicas // self.allowed(replicas)) for replicas in self.range)

    @property
    def compares_within_domains(self) -> bool:
        """Whether nodes are compared with those of their own domain alone: the limit goes before."""
        return self.limit is not None and self.key != HOSTNAME

    def within(self, domains: int) -> Goal:
        """Return the part of the goal that so many domains can reach: with two of them half is lost."""
        return replace(self, domains=domains)


def parse_limit(text: str) -> LossLimit:
    """Read how many replicas may be lost.

    >>> parse_limit("1/3"), parse_limit("33%"), parse_limit("2")
    (Fraction(1, 3), Fraction(33, 100), 2)

    Raises:
        UsageError: It is neither a share between 0 and 1 nor a number from 1.
    """
    if _NUMBER.fullmatch(text) and int(text):
        return int(text)
    if (parts := _SHARE.fullmatch(text)) is not None:
        above, below = (int(parts[3]), 100) if parts[3] else (int(parts[1]), int(parts[2]))
        # A share of 1 allows every loss, and would read as one replica.
        if 0 < above < below:
            return Fraction(above, below)
    wanted = "must be a share of the replicas below 1 such as 1/3 or 33%, or a number of replicas from 1"
    raise UsageError(f"Invalid value: {shown(text)}: {wanted}")


def parse_range(text: str, most: int) -> ReplicaRange:
    """Read a range of replicas.

    >>> parse_range("3..12", 100), parse_range("3", 100)
    (ReplicaRange(least=3, most=12, source=''), ReplicaRange(least=3, most=3, source=''))

    Raises:
        UsageError: It is none, or goes beyond so many.
    """
    least, dots, highest = text.partition("..")
    highest = highest if dots else least
    if _NUMBER.fullmatch(least) and _NUMBER.fullmatch(highest) and 1 <= int(least) <= int(highest) <= most:
        return ReplicaRange(int(least), int(highest))
    wanted = f"must be a number from 1 to {most:,} or a range of those, such as 3..12"
    raise UsageError(f"Invalid value: {shown(text)}: {wanted}")
