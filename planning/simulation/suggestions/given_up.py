"""The guarantees of DoNotSchedule constraints that changes give up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, NamedTuple

from policies.manifests.wire import SentAs
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.scheduler.changes import Change, ChangeKind, ClusterChange
from policies.scheduler.request import SchedulingRequest

#: What weakens a constraint; other changes say better what it is to count.
WEAKENING: Final = frozenset(
    {ChangeKind.MIN_DOMAINS, ChangeKind.MAX_SKEW, ChangeKind.WHEN_UNSATISFIABLE, ChangeKind.CONSTRAINT}
)


class GivenUp(NamedTuple):
    """A part of a constraint that is given up."""

    key: Annotated[str, SentAs("topologyKey")]  #: The topology key of the constraint.
    field: str = ""  #: Its field; empty where all of it goes.
    before: str = ""  #: What it is, as written.
    after: str = ""  #: What it becomes; empty where all of it goes.


def is_hard(constraint: Constraint) -> bool:
    """Return whether a constraint can leave pods pending."""
    return constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE


def weakened(before: Constraint, after: Constraint) -> Iterator[GivenUp]:
    """Yield the guarantees given up where a constraint becomes another; none if it was not hard before."""
    if not is_hard(before):
        return
    key = before.topology_key
    if not is_hard(after):
        yield GivenUp(key, "whenUnsatisfiable", before.when_unsatisfiable, after.when_unsatisfiable)
    elif after.max_skew > before.max_skew:
        yield GivenUp(key, "maxSkew", str(before.max_skew), str(after.max_skew))
    if after.min_domains < before.min_domains:
        yield GivenUp(key, "minDomains", str(before.min_domains), str(after.min_domains))


def given_up_by(changes: Iterable[Change | ClusterChange], request: SchedulingRequest) -> Iterator[GivenUp]:
    """Yield the guarantees that changes of a pod, made one after the other, give up of its constraints.

    Args:
        changes: The changes; the position of a constraint is that after the changes before.
        request: The pod before any.
    """
    for change in changes:
        if isinstance(change, ClusterChange) or change.constraint is None or change.what not in WEAKENING:
            continue
        after = change.apply(request)
        before = request.constraints[change.constraint].constraint
        if change.what is ChangeKind.CONSTRAINT:
            yield GivenUp(before.topology_key)
        else:
            yield from weakened(before, after.constraints[change.constraint].constraint)
        request = after
