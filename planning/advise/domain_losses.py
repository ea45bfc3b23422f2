"""The replicas that the loss of each domain takes, and how many of these fit elsewhere then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from planning.simulation.survive.loss import LossOptions
from planning.simulation.survive.survive import SingleLosses
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath
from policies.manifests.wire import Count, SentAs
from policies.model.workload import Workload
from policies.pods.known_pods import KnownPods
from policies.pods.placement import read_workload

#: Losses that are tried, those of most replicas first.
MOST_LOSSES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLoss:
    """The replicas that the loss of a domain takes, and how many of those fit elsewhere."""

    replicas: Count  #: How many run before.
    domain: str  #: The domain.
    lost: Count  #: How many are lost at once.
    back: Annotated[Count, SentAs("fitElsewhere")]  #: How many fit elsewhere once its nodes are removed.
    #: The same while its nodes are still there, tainted as unreachable.
    back_in_outage: Annotated[Count, SentAs("fitInOutage")]


def domain_losses(
    workload: Workload,
    replicas: int,
    key: str,
    context: AdmissionContext,
    known: KnownPods,
    *,
    stop: Callable[[], bool],
) -> Iterator[DomainLoss]:
    """Yield the loss of each domain that has replicas.

    Args:
        workload: The workload, of which no pod runs.
        replicas: How many there are before a loss.
        key: The topology key of the domains.
        context: What they are placed by; its cluster stays as it is.
        known: What is known of the cluster's pods.
        stop: Whether to place no more; called before each pod.
    """
    edited = apply_edits(workload.obj, [Edit(FieldPath(workload.kind.replicas or ()), None, replicas)])
    placed = read_workload(edited, context, namespace=workload.namespace)
    removed, unreachable = (
        _displaced(SingleLosses([placed], context, options, known.running, stop=stop))
        for options in (LossOptions(key, unreachable=outage, others=0) for outage in (False, True))
    )
    for domain, (lost, back) in removed.items():
        _, in_outage = unreachable.get(domain, (0, 0))
        yield DomainLoss(replicas=replicas, domain=domain, lost=lost, back=back, back_in_outage=in_outage)


def _displaced(survival: SingleLosses) -> dict[str, tuple[int, int]]:
    """Return, by domain, how many replicas are lost with it and how many of those fit elsewhere."""
    (deployed,) = survival.deployed
    found: dict[str, tuple[int, int]] = {}
    for loss in survival.losses():
        (entry,) = loss.workloads
        if not entry.displaced or len(found) == MOST_LOSSES:
            break
        found[loss.domain] = entry.displaced, entry.displaced - (deployed.running - entry.running)
    return found
