"""The form of a survival in JSON: ``survive.schema.json`` is made from these types."""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.reports.score_answer import ReplicasFrom
from policies.reports.suggestion_answer import SuggestedChange

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/survive/v1"


class PendingMessages(TypedDict):
    """What the scheduler says of the first replica that fits nowhere.

    Attributes:
        message: Its FitError; empty if all fit.
        condition: The message of its PodScheduled condition; empty if all fit.
    """

    message: str
    condition: str


class NamedWorkload(TypedDict):
    """A workload.

    Attributes:
        kind: Its kind, with its group.
        namespace: Its namespace.
        name: Its name.
    """

    kind: str
    namespace: str
    name: str


class SurvivalChange(SuggestedChange, TypedDict):
    """Changes that together help a workload after one loss.

    Attributes:
        survives: Whether the workload then survives every single loss; null if not tried.
    """

    survives: bool | None


class SurvivingWorkload(NamedWorkload, PendingMessages, TypedDict):
    """A workload as it runs before anything is lost, and whether it survives.

    Attributes:
        replicas: How many replicas it asks for.
        replicasFrom: What says so.
        required: How many must run.
        running: How many run before a loss.
        used: Pods of the cluster that were taken as they are.
        placed: Replicas that were placed besides, as its controller and the scheduler would.
        replaced: Pods of other revisions that were left out, as after a rollout.
        survives: Whether enough run before any loss, and after each that was tried.
        margin: How many replicas fit beyond those that must run, whatever is lost; null for a workload that
            does not survive, or where no loss was tried.
        marginIsLeast: Whether no more were tried, so that more may fit.
        changesFor: The lost domain that the changes are for; null without any.
        changes: What would help, each verified.
    """

    replicas: Count
    replicasFrom: ReplicasFrom | None
    required: Count
    running: Count
    used: Count
    placed: Count
    replaced: Count
    survives: bool
    margin: Count | None
    marginIsLeast: bool
    changesFor: str | None
    changes: list[SurvivalChange]


class LostReplicas(PendingMessages, TypedDict):
    """What one loss does to one workload.

    Attributes:
        displaced: How many of its replicas lose their node.
        running: How many run in the end.
        missing: How many of those that must run do not.
        survives: Whether none is missing.
    """

    displaced: Count
    running: Count
    missing: Count
    survives: bool


class DisplacedOthers(TypedDict):
    """What a loss does to pods of other workloads.

    Attributes:
        displaced: How many lose their node.
        pending: How many of those fit nowhere then.
        notTried: How many of those were not scheduled again, though something replaces them.
    """

    displaced: Count
    pending: Count
    notTried: Count


class SingleLoss(TypedDict):
    """What the loss of one domain does.

    Attributes:
        domain: The domain.
        nodes: How many nodes it has.
        survives: Whether every workload survives it.
        workloads: What it does to each workload, in the order of ``workloads`` of the answer.
        otherPods: What it does to other pods; null where it displaces no replica and was not tried.
    """

    domain: str
    nodes: Count
    survives: bool
    workloads: list[LostReplicas]
    otherPods: DisplacedOthers | None


class UnjudgedWorkload(NamedWorkload, TypedDict):
    """A workload without a number of replicas that could survive.

    Attributes:
        why: Why there is none.
    """

    why: str


class SurviveAnswer(TypedDict):
    """Whether workloads survive the loss of any single domain.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        kubernetesVersion: The release that the scheduler behaves as.
        topologyKey: The node label whose values are the domains.
        domains: How many domains there are.
        nodes: How many nodes there are.
        nodesWithoutKey: How many of them do not have the label.
        unreachable: Whether lost nodes stay in the API, as in an outage.
        allowMissing: How many replicas of each workload may be missing after a loss.
        survives: Whether every workload survives every loss; null where none failed but not all were tried.
        complete: Whether every domain was lost once.
        workloads: The workloads.
        losses: What each loss does, of those that were tried.
        notJudged: Workloads without a number of replicas that could survive.
        notModeled: What else a scheduler looks at, which may refuse more nodes.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    kubernetesVersion: str
    topologyKey: str
    domains: Count
    nodes: Count
    nodesWithoutKey: Count
    unreachable: bool
    allowMissing: Count
    survives: bool | None
    complete: bool
    workloads: list[SurvivingWorkload]
    losses: list[SingleLoss]
    notJudged: list[UnjudgedWorkload]
    notModeled: list[str]
