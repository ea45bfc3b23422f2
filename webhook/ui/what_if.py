"""What if: something happens to the cluster, or an edited manifest is applied, and all of it is played.

Every tab takes its verdict and its numbers from this one answer, that of ``POST /v1/what-if``; beside
it stands where each pod goes, for the map.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, NamedTuple

import orjson

from planning.simulation.events import Event, Events, Name, TargetWorkload
from planning.simulation.outcome import Did, Outcome
from planning.simulation.scenario import ClusterState
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import ErrorList
from policies.manifests.wire import Count, Form, Keywords, Received, dumps
from policies.model.workload_ref import WorkloadRef
from webhook.requests.frame import RequestError
from webhook.requests.placement import AutoscaleField, unread_kinds
from webhook.requests.what_if import WhatIfRequest, Work, run
from webhook.ui.bodies import check_text
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, as_json, field_problems, read_manifest
from webhook.ui.placing import named_object
from webhook.ui.readings import PROCESSOR_S

#: The share of a request's processor time after which what is done is answered.
_ENOUGH: Final = 0.8
#: Where the object of the manifest is in the request.
_APPLIED: Final = ("events", 0, "apply")
#: How a pod leaves its node.
_LEAVES: Final = frozenset({Did.LOST, Did.EVICTED, Did.DELETED})
#: Where pods are that get no node.
_PENDING, _GONE = -1, -2


@dataclass(frozen=True, kw_only=True)
class WhatIfBody(Received):
    """What happens, and what is assumed; all but the manifest as in ``POST /v1/what-if``."""

    manifest: str | None = None  #: One object, YAML or JSON, which is applied first.
    events: Events | None = None  #: What happens then, in this order.
    each: Name | None = None  #: A topology key of which each domain is lost after that, each on its own.
    unreachable: bool | None = None  #: Whether the nodes that ``each`` loses stay in the API.
    #: Whom the verdict is about; left out, all that are changed or hit.
    workloads: Annotated[list[TargetWorkload], Keywords(maxItems=1)] | None = None
    autoscale: AutoscaleField | None = None  #: What adds nodes for pods that are pending.

    def check(self, found: ErrorList) -> None:
        """Record a text that is empty or too long."""
        super().check(found)
        if self.manifest is not None:
            check_text("manifest", self.manifest, found)

    def request(self, applied: Iterable[Event]) -> WhatIfRequest:
        """Return the request of ``/v1/what-if``, in which objects are applied first."""
        return WhatIfRequest(
            events=[*applied, *(self.events or ())],
            each=self.each,
            unreachable=self.unreachable,
            workloads=self.workloads,
            autoscale=self.autoscale,
        )


class MovedPods(NamedTuple):
    """The pods that lose their node, in the order in which they do."""

    #: The position of each one's workload in the columns of the cluster; -1 without a controller.
    workload: Sequence[int]
    origin: Sequence[Count]  #: The position of the node that it was on.
    #: That of the node where its replacement goes: one of the cluster, or behind those a new one; -1 if it
    #: stays pending, -2 if there is none.
    node: Sequence[int]


class OwnSteps(NamedTuple):
    """The part that pods of the workload have in the steps."""

    steps: Sequence[Count]  #: The positions of their steps.
    waiting: Sequence[str]  #: The names of those that have no node before.


class PlayedWhatIf(NamedTuple):
    """What comes of a what-if."""

    outcome: Annotated[orjson.Fragment, Form(Outcome)]  #: It, as ``POST /v1/what-if`` has it.
    #: Where each pod goes that loses its node: of the outcome, or of each of its outcomes. Empty where it is
    #: about one workload.
    moved: Sequence[MovedPods]
    own: OwnSteps | None  #: Of the workload that it is about; null without one.


def what_if(cluster: PageCluster, body: WhatIfBody) -> bytes:
    """Play what happens.

    Raises:
        ProblemsError: Something is not in the cluster, or the manifest is wrong.
    """
    entry, applied = _applied(cluster, body)
    state = ClusterState(
        context=cluster.context,
        known=cluster.objects.known,
        workloads=cluster.objects.workloads,
        unread=unread_kinds(cluster.index),
    )
    ends = time.process_time() + _ENOUGH * PROCESSOR_S
    work = Work(stop=lambda: time.process_time() > ends)
    found = ErrorList()
    try:
        outcome = run(body.request(applied), state, found, work)
    except RequestError as error:
        raise ProblemsError(field_problems(error.errors, entry, below=_APPLIED)) from error
    return dumps(_answer(cluster, body, outcome))


def remote_what_if(cluster: PageCluster, body: WhatIfBody) -> bytes:
    """Return the request of ``/v1/what-if`` for the Evenkeel of a cluster."""
    _, applied = _applied(cluster, body)
    return as_json(body.request(applied))


def remote_answer(outcome: bytes) -> bytes:
    """Return what the Evenkeel of a cluster answered as this route has it; the page has no map then."""
    return dumps(PlayedWhatIf(orjson.Fragment(outcome), (), None))


def _applied(cluster: PageCluster, body: WhatIfBody) -> tuple[ManifestObject | None, list[Event]]:
    if body.manifest is None:
        return None, []
    entry = read_manifest(body.manifest, cluster.context)
    return entry, [Event(apply=named_object(cluster, entry))]


def _answer(cluster: PageCluster, body: WhatIfBody, outcome: Outcome) -> PlayedWhatIf:
    own, moved = None, list[MovedPods]()
    if body.workloads:
        target = body.workloads[0]
        own = _own(cluster, WorkloadRef(target.namespace, target.kind, target.name), outcome)
    else:
        moved = [_moved(cluster, each) for each in outcome.outcomes or (outcome,)]
    # Each pod of a large cluster has some steps, and those of a loss are looked at once it is opened.
    sent = replace(outcome, outcomes=tuple(replace(each, steps=()) for each in outcome.outcomes))
    return PlayedWhatIf(orjson.Fragment(dumps(sent)), moved, own)


def _moved(cluster: PageCluster, outcome: Outcome) -> MovedPods:
    """Return where the pods go that lose their nodes."""
    nodes = _positions(cluster, outcome)
    entries: dict[str, list[int]] = {}
    for step in outcome.steps:
        if step.pod is None:
            continue
        if step.did in _LEAVES and step.node is not None:
            if step.pod not in entries:
                namespace, _, name = step.pod.partition("/")
                workload = cluster.workload_of_pod(namespace, name)
                entries[step.pod] = [workload, nodes[step.node], _GONE]
            entries[step.pod][2] = _GONE
        elif step.pod in entries and step.did is Did.BOUND:
            entries[step.pod][2] = nodes[step.node or ""]
        elif step.pod in entries and step.did is Did.PENDING:
            entries[step.pod][2] = _PENDING
    columns = list(zip(*entries.values(), strict=True)) or [(), (), ()]
    return MovedPods(*columns)


def _positions(cluster: PageCluster, outcome: Outcome) -> Mapping[str, int]:
    """Return the positions of nodes by name; new ones are behind those that there are."""
    known = dict(cluster.index.nodes.positions())
    new = [*outcome.nodes.created, *(node.name for node in outcome.nodes.added)]
    return known | {name: len(known) + number for number, name in enumerate(new)}


def _own(cluster: PageCluster, ref: WorkloadRef, outcome: Outcome) -> OwnSteps:
    """Return which steps are of a workload's pods: of those that it has, and those that events make of it."""
    waiting, events = cluster.pending_of(ref), outcome.scenario.events
    names = {f"{ref.namespace}/{name}" for name in (*waiting, *(name for name, _ in cluster.pods_of(ref)))}
    steps = []
    for position, step in enumerate(outcome.steps):
        if step.pod is None:
            continue
        if step.pod not in names and step.event is not None and not _is_there(cluster, step.pod):
            event = events[step.event]
            if event.apply is not None or event.scale is not None or event.restart is not None:
                names.add(step.pod)
        if step.pod in names:
            steps.append(position)
    return OwnSteps(steps, waiting)


def _is_there(cluster: PageCluster, pod: str) -> bool:
    """Return whether the cluster has a pod before anything happens."""
    namespace, _, name = pod.partition("/")
    objects = cluster.objects
    return (
        objects.running.find(namespace, name) is not None or objects.pending.find(namespace, name) is not None
    )
